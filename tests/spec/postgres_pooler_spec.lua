-- Behind pgbouncer in transaction mode: a transaction may have any of its server
-- processes, so nothing may be kept in a session or left behind in one.
local pairs_of = require "pairs"
local process = require "process"
local servers = require "servers"

local pooler
setup(function() pooler = servers.pooler(2) end)
teardown(function() pooler:close() end)

local JOB = [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window { since = watermark(), lookback = days(5) } }
merge { rows, into = "t", key = "id" }
merge { rows:map(function(row) return row end), into = "t2", key = "id" }
overwrite_partition { rows, into = "t3" }
local count = 0
for _, row in ipairs(query { "SELECT id, d, i FROM typed", connection = "source" }) do
  assert(tostring(row.d) == "2026-02-03" and tostring(row.i) == "1 day 02:03:00", tostring(row.d) .. tostring(row.i))
  count = count + 1
end
assert(count == 1)
execute { "UPDATE t SET v = v WHERE id = 1" }
reconcile { rows, with = "t", sum = "id" }
reconcile { rows, with = "t2", sum = "id" }
]]
local SOURCE = [[INSERT INTO s SELECT i, 'v' || i, '2026-01-01 10:00:00' FROM generate_series(1, 12000) i;
CREATE TABLE typed(id int, d date, i interval); INSERT INTO typed VALUES (1, '2026-02-03', '1 day 2:3');]]

local function behind(pair)
  local w = pair.with(SOURCE)
  local function through(side) return side.database and pooler:url(side:url()) or side:url() end
  w:connect(through(w.from), through(w.to))
  return w, through
end

for _, pair in ipairs(pairs_of.all) do
  if pair.source == "postgresql" then
    it("a run works, " .. pair.name, function()
      local w, through = behind(pair)
      w:job("j", JOB):ok("j.lua", "--run-start", "2026-01-03")
      w:source "UPDATE s SET v = 'new' WHERE id = 7"
      w:ok("j.lua", "--run-start", "2026-01-04", "-v")
      assert.equal("12000|12000|1", w:one "SELECT count(*), count(DISTINCT id), sum(CASE WHEN v = 'new' THEN 1 ELSE 0 END) FROM t")
      w:ok("plan", "j.lua", "--run-start", "2026-01-04")
      w:ok("status", "j.lua")
      w:ok("watermark", "j", "--set", "2026-01-02")
      local r = w:ok("repl", "j.lua", { stdin = 'SELECT i FROM typed\nextract { from = "typed" }\n' })
      assert.is_truthy(r.out:find("1 day 02:03:00", 1, true), r.out)
      -- What another program gets from the pool is as the server sets it.
      for _, side in ipairs { w.from, w.to } do
        for _ = 1, side.database and 3 or 0 do
          local psql = process.run({ "psql", "-X", "-q", "-A", "-t", "-c", "SHOW lock_timeout", "-c", "SHOW timezone", "-c", "SHOW datestyle",
            "-c", "SHOW application_name", through(side) }, { tool = true })
          assert.equal("0\nAsia/Kathmandu\nISO, MDY\npsql\n", psql.out, psql.err)
        end
      end
    end)
  end
end

it("more runs than server processes wait and work", function()
  local w = behind(pairs_of.by_name["postgresql->postgresql"])
  local running = {}
  for i = 1, 5 do
    w:job("j" .. i, (JOB:gsub('"t(%d?)"', '"t%1_' .. i .. '"'):gsub("UPDATE t ", "UPDATE t_" .. i .. " ")))
    running[i] = w:start(("j%d.lua"):format(i), "--run-start", "2026-01-03")
  end
  for i, p in ipairs(running) do
    local r = p:wait()
    assert.equal(0, r.status, r.err)
    assert.equal("12000", w:one("SELECT count(*) FROM t_" .. i))
  end
end)

it("two runs of one job take turns, and the second is told of the first", function()
  local w = behind(pairs_of.by_name["postgresql same database"])
  w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }\nio.open("ready", "w"):close() while not io.open "go" do end')
  local p = w:start "j.lua"
  w:wait_for "ready"
  w:refused(4, { "run 1 of j", tostring(p.pid), "backend" }, "j.lua", "--lock-timeout", "200ms")
  w:write("go", "")
  assert.equal(0, p:wait().status)
  assert.equal("12000", w:one "SELECT count(*) FROM t")
end)

it("S47 a filtered read is refused through the pool, and the pool keeps the server's setting", function()
  local w, through = behind(pairs_of.by_name["postgresql->sqlite"])
  -- the pool's own role may do all, so the database gives its sessions another
  w:source [[CREATE ROLE lrun_pooled; GRANT SELECT ON s TO lrun_pooled; ALTER TABLE s ENABLE ROW LEVEL SECURITY;
    CREATE POLICY p ON s USING (id < 5); CREATE VIEW v WITH (security_invoker = true) AS SELECT * FROM s; GRANT SELECT ON v TO lrun_pooled;
    DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET role = lrun_pooled', current_database()); END $$;]]
  for _, name in ipairs { "s", "v" } do
    w:job("j", ('job {}\ndelete_missing { extract { from = "%s" }, from = "t", key = "id" }\n'):format(name))
    w:refused(1, { 'policy for table "s"', "row_security = true" }, "j.lua")
  end
  for _ = 1, 3 do
    local psql = process.run({ "psql", "-X", "-q", "-A", "-t", "-c", "SHOW row_security", through(w.from) }, { tool = true })
    assert.equal("on\n", psql.out, psql.err)
  end
  w:source [[SET ROLE NONE; DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET role', current_database()); END $$;
    DROP OWNED BY lrun_pooled; DROP ROLE lrun_pooled;]]
end)
