-- The warehouse's connection is cut before each statement of a run in turn, as
-- many as there are: the run is committed once or not at all, and its exit
-- status says which.
local pairs_of = require "pairs"
local servers = require "servers"

local JOB = [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window { since = watermark() } }
merge { rows, into = "t", key = "id" }
reconcile { rows, with = "t", sum = "id" }
]]

for _, pair in ipairs(pairs_of.all) do
  if pair.name == "sqlite->postgresql" or pair.same then
    it("a warehouse that is lost at any statement keeps the run once or not at all, " .. pair.name, function()
      local w = pair.with "INSERT INTO s VALUES (1, 'a', '2026-01-01 10:00:00');"
      w:job("j", JOB):ok("j.lua", "--run-start", "2026-01-02")
      w:source "INSERT INTO s VALUES (2, 'b', '2026-01-02 10:00:00');"
      local from, to = w.from:url(), w.to:url()
      local points = 0
      for n = 1, 1000 do
        local proxy = servers.proxy { "statement", n, "" }
        w:connect(pair.same and proxy:url(from) or from, proxy:url(to))
        local r = w:lrun("j.lua", "--run-start", "2026-01-03")
        local cut = proxy:cut()
        proxy:close()
        local kept = w:one [[SELECT (SELECT count(*) FROM t), (SELECT value FROM lrun_watermarks),
          (SELECT count(*) FROM lrun_runs WHERE status = 'succeeded')]]
        local what = ("statement %d: status %d, %s"):format(n, r.status, r.err)
        if r.status == 0 then
          assert.equal("2|2026-01-03|2", kept, what)
          w:warehouse "DELETE FROM t WHERE id = 2; UPDATE lrun_watermarks SET value = '2026-01-02'; DELETE FROM lrun_runs WHERE run_id > 1"
        else
          assert.is_true(r.status == 1 or r.status == 5, what)
          assert.is_truthy(r.err:find "hint: %S", what)
          assert.equal("1|2026-01-02|1", kept, what)
        end
        if not cut then
          assert.equal(0, r.status, what)
          break
        end
        points = n
      end
      print(("%d statements, cut at each"):format(points))
      assert.is_true(points > 15)
      w:connect(from, to)
      w:ok("j.lua", "--run-start", "2026-01-04")
      assert.equal("2|2|0", w:one "SELECT count(*), count(DISTINCT id), (SELECT count(*) FROM lrun_runs WHERE status = 'running') FROM t")
    end)
  end
end

-- Every COMMIT of a backfill in turn: its own rows', and each date's.
it("a backfill whose COMMITs are cut goes on where it is, and no date is done twice", function()
  local pair = pairs_of.by_name["sqlite->postgresql"]
  for _, point in ipairs { "before-commit", "after-commit" } do
    local n, cut = 0, true
    while cut do
      n = n + 1
      assert.is_true(n < 20)
      local w = pair.with "INSERT INTO s VALUES (1, 'a', '2026-01-01 10:00:00'), (2, 'b', '2026-01-02 10:00:00'), (3, 'c', '2026-01-03 10:00:00');"
      w:job("j", [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window() }
overwrite_partition { rows, into = "t" }
execute { "INSERT INTO log VALUES ('" .. tostring(logical_date) .. "')" }
reconcile { rows, with = "t", sum = "id" }
]])
      w:warehouse "CREATE TABLE log(d text)"
      local to = w.to:url()
      local proxy = servers.proxy { point, n }
      w:connect(w.from:url(), proxy:url(to))
      local r = w:lrun("backfill", "j.lua", "--from", "2026-01-01", "--to", "2026-01-03")
      cut = proxy:cut()
      proxy:close()
      local what = ("%s %d: status %d, %s%s"):format(point, n, r.status, r.out, r.err)
      assert.is_true(r.status == 0 or r.status == 1, what)
      w:connect(w.from:url(), to)
      w:ok("backfill", "j.lua", "--from", "2026-01-01", "--to", "2026-01-03")
      assert.same({ "2026-01-01", "2026-01-02", "2026-01-03" }, w:rows "SELECT d FROM log ORDER BY d", what)
      assert.equal("3|3", w:one "SELECT count(*), count(DISTINCT id) FROM t", what)
      assert.equal("3", w:one "SELECT count(*) FROM lrun_runs WHERE status = 'succeeded'", what)
    end
    print(("a backfill of three days, %s at each of %d"):format(point, n - 1))
    assert.is_true(n > 3)
  end
end)
