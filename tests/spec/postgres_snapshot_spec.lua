-- Snapshots, late commits (S06), row versions, and what a run leaves behind.
local pairs_of = require "pairs"
local files = require "files"
local process = require "process"

local by_name = pairs_of.by_name

local JOB = [[
job {}
local rows = extract { from = "s", by = "updated_at", window = window { since = watermark()%s } }
merge { rows, into = "t", key = "id" }
]]

-- A psql that goes on until it is told to: statements before, then after.
local function session(w, before, after)
  local fifo = w:path "session.fifo"
  os.remove(fifo)
  os.remove(w:path "in_session")
  assert(os.execute("mkfifo '" .. fifo .. "'"))
  local p = process.start({ "sh", "-c", [[exec 3<>"$1"
    { printf '%s\n\\! touch in_session\n' "$2"; head -n 1 <&3 >/dev/null; printf '%s\n' "$3"; } | psql -X -q -v ON_ERROR_STOP=1 "$4"]],
    "sh", fifo, before, after, w.from:url() }, { cwd = w.dir })
  w:wait_for "in_session"
  return function()
    os.execute("echo >'" .. fifo .. "'")
    local r = p:wait(20)
    if r.status ~= 0 or r.err ~= "" then error(r.err) end
  end
end

for _, name in ipairs { "postgresql->sqlite", "postgresql->postgresql", "postgresql same database" } do
  local pair = by_name[name]
  describe("a transaction that commits late (S06), " .. name .. ",", function()
    it("is found by the lookback, and named by reconcile without one", function()
      local w = pair.with()
      local commit = session(w, "BEGIN; INSERT INTO s VALUES (1, 'late', timestamp '2026-01-01 10:00:00');", "COMMIT;")
      w:source "INSERT INTO s VALUES (2, 'early', timestamp '2026-01-01 10:00:01')"
      w:job("j", JOB:format ""):ok("j.lua", "--run-start", "2026-01-01 10:00:05")
      assert.same({ "2" }, w:rows "SELECT id FROM t ORDER BY id")
      commit()
      -- Without a lookback its time is behind the mark.
      w:ok("j.lua", "--run-start", "2026-01-01 10:00:10")
      assert.same({ "2" }, w:rows "SELECT id FROM t ORDER BY id")
      w:job("check", 'job {}\nreconcile { extract { from = "s", by = "updated_at", window = window "2026-01-01" }, with = "t" }')
      w:refused(3, { "check.lua:2", "2", "1", hint = false }, "check.lua")
      -- So does the weekly check of the job itself, over the days.
      w:job("j", JOB:format "" .. 'reconcile { rows, with = "t" }')
      local r = w:lrun("reconcile", "j.lua", "--from", "2025-12-31", "--to", "2026-01-01", "--run-start", "2026-01-02")
      assert.equal(3, r.status, r.out .. r.err)
      assert.is_truthy((r.out .. r.err):find "2026%-01%-01[^\n]*DIFFERS[^\n]*2 <> 1", r.out .. r.err)
      w:job("j", JOB:format ", lookback = minutes(1)"):ok("j.lua", "--run-start", "2026-01-01 10:00:15")
      assert.same({ "1", "2" }, w:rows "SELECT id FROM t ORDER BY id")
      w:ok "check.lua"
    end)
  end)

  describe("a source that another session changes, " .. name .. ",", function()
    it("is read as it was at one instant, and the next run picks the change up", function()
      local w = pair.new { source = [[CREATE TABLE s(id int PRIMARY KEY, v int, updated_at timestamp);
        INSERT INTO s SELECT i, 1, '2026-01-01 10:00:00' FROM generate_series(1, 5000) i;]] }
      w:job("j", [[
job {}
local rows = extract { from = "s" }
local n = 0
local mapped = rows:map(function(row)
  n = n + 1
  if n == 100 then
    io.open("ready", "w"):close()
    while not io.open "go" do end
  end
  return row
end)
merge { mapped, into = "t", key = "id" }
reconcile { rows, with = "t", sum = { v = "v", id = "id" } }
]])
      local p = w:start "j.lua"
      w:wait_for "ready"
      w:source "UPDATE s SET v = 2, updated_at = '2026-01-01 11:00:00'; INSERT INTO s VALUES (9999, 2, now()); DELETE FROM s WHERE id = 3"
      w:write("go", "")
      local r = p:wait(60)
      assert.equal(0, r.status, r.err)
      assert.equal("5000|5000|5000", w:one "SELECT count(*), sum(v), max(id) FROM t")
      assert.equal("5000", w:last_run().rows_read)
      w:source "INSERT INTO s VALUES (3, 2, now())" -- merge deletes nothing, and reconcile would say so
      w:ok "j.lua"
      assert.equal("5001|10002|9999", w:one "SELECT count(*), sum(v), max(id) FROM t")
      assert.equal("5001 1 5000", ("%s %s %s"):format(w:last_run().rows_read, w:last_run().rows_inserted, w:last_run().rows_updated))
    end)

    it("cannot have its columns shifted while it is read", function()
      local w = pair.new { source = "CREATE TABLE s(id int PRIMARY KEY, a text, b text); INSERT INTO s VALUES (1, 'a', 'b');" }
      w:job("j", [[
job {}
local rows = extract { from = "s" }
assert(rows:count() == 1)
io.open("ready", "w"):close()
while not io.open "go" do end
merge { rows, into = "t", key = "id" }
]])
      local p = w:start "j.lua"
      w:wait_for "ready"
      local alter = process.start({ "psql", "-X", "-q", "-c", "ALTER TABLE s DROP COLUMN a", w.from:url() }, { cwd = w.dir })
      process.sleep(0.3)
      w:write("go", "")
      local r = p:wait(30)
      assert.equal(0, alter:wait(30).status)
      if r.status == 0 then
        assert.same({ "1|a|b" }, w:rows "SELECT id, a, b FROM t")
      else
        assert.equal(1, r.status)
        assert.is_false(w:has "t")
      end
    end)
  end)
end

for _, name in ipairs { "sqlite->postgresql", "postgresql->postgresql", "postgresql same database" } do
  local pair = by_name[name]
  describe("row versions, " .. name .. ",", function()
    local VERSIONS = "SELECT id, xmin, ctid FROM t ORDER BY id"

    it("are not written by a merge of rows that are there unchanged", function()
      local w = pair.new { source = [[CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT, n DECIMAL(10,2), r {double}, b {blob}, k {boolean}, d DATE, updated_at TIMESTAMP);
        INSERT INTO s VALUES (1, 'a', 1.50, 0.1, {bytes 00ff}, {yes}, '2026-01-01', '2026-01-01 10:00:00.000001'),
          (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (3, '', 0, -1.5, {bytes }, {no}, '1969-12-31', '2026-01-01 10:00:00');]] }
      for _, rows in ipairs { 'extract { from = "s" }', 'extract { from = "s" }:map(function(row) return row end)',
                              'extract { sql = "SELECT * FROM s" }' } do
        for _, write in ipairs { 'merge { %s, into = "t", key = "id" }', 'insert_new { %s, into = "t", key = "id" }',
                                 'merge { %s, into = "t", key = "id", newest = "updated_at" }' } do
          w:job("j", "job {}\n" .. write:format(rows)):ok "j.lua"
          local versions = w:rows(VERSIONS)
          assert.equal(3, #versions)
          w:ok "j.lua"
          assert.same(versions, w:rows(VERSIONS))
          assert.equal("3 0 0", ("%s %s %s"):format(w:last_run().rows_read, w:last_run().rows_inserted, w:last_run().rows_updated))
        end
      end
      -- Only the changed row gets one.
      local before = w:rows(VERSIONS)
      w:source "UPDATE s SET n = 1.51 WHERE id = 1"
      w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }'):ok "j.lua"
      assert.equal("1", w:last_run().rows_updated)
      local after = w:rows(VERSIONS)
      assert.same({ before[2], before[3] }, { after[2], after[3] })
      assert.is_truthy(before[1] ~= after[1])
    end)

    it("are written where only a NULL, a case or a trailing blank differs", function()
      local w = pair.with("INSERT INTO s VALUES (1, 'a', '2026-01-01 10:00:00'), (2, '', '2026-01-01 10:00:00'), (3, 'b ', '2026-01-01 10:00:00');",
        "INSERT INTO t VALUES (1, 'A', '2026-01-01 10:00:00'), (2, NULL, '2026-01-01 10:00:00'), (3, 'b', '2026-01-01 10:00:00');")
      w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }'):ok "j.lua"
      assert.equal("3", w:last_run().rows_updated)
      assert.same({ "1|a|f", "2||f", "3|b |f" }, w:rows "SELECT id, v, v IS NULL FROM t ORDER BY id")
    end)
  end)

  describe("a run, " .. name .. ",", function()
    it("leaves nothing behind: no staging, no lock, no connection", function()
      local w = pair.only "INSERT INTO s VALUES (1, 'a', '2026-01-01 10:00:00');"
      local job = [[
job {}
local rows = extract { from = "s" }
merge { rows:map(function(row) return row end), into = "t", key = "id" }
merge { rows, into = "t2", key = "id" }
full_load { rows, into = "t3" }
]]
      local function nothing_left(tables)
        assert.same(tables, w:tables())
        assert.equal("0|0|0|0", w:one [[SELECT
          (SELECT count(*) FROM pg_class WHERE relpersistence = 't'), (SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid() AND database = (SELECT oid FROM pg_database WHERE datname = current_database())),
          (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()),
          (SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database())]])
      end
      w:job("j", job):ok "j.lua"
      nothing_left { "t", "t2", "t3" }
      w:job("j", job .. "error 'stop'"):lrun "j.lua"
      nothing_left { "t", "t2", "t3" }
      w:job("j", job .. 'io.open("ready", "w"):close() while true do end')
      local p = w:start "j.lua"
      w:wait_for "ready"
      p:signal "KILL"
      p:wait()
      -- The lock of a killed process goes with it.
      assert.is_true(process.wait_for(function()
        return w:one "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()" == "0"
      end, 10))
      nothing_left { "t", "t2", "t3" }
      w:job("j", job):ok "j.lua"
      assert.is_true(files.exists(w:path "ready"))
    end)

    it("shows no reader a half of it", function()
      local w = pair.with("INSERT INTO s VALUES (1,'a','2026-01-01 10:00:00'), (2,'b','2026-01-01 11:00:00');",
        "INSERT INTO t VALUES (1,'old','2026-01-01 10:00:00'), (7,'old','2026-01-01 10:00:00');")
      w:job("j", 'job {}\nlocal rows = extract { from = "s", by = "updated_at", window = window "2026-01-01" }\n' ..
        'overwrite_partition { rows, into = "t" }\nio.open("ready", "w"):close() while not io.open "go" do end')
      local p = w:start "j.lua"
      w:wait_for "ready"
      assert.same({ "1|old", "7|old" }, w:rows "SELECT id, v FROM t ORDER BY id")
      w:write("go", "")
      assert.equal(0, p:wait().status)
      assert.same({ "1|a", "2|b" }, w:rows "SELECT id, v FROM t ORDER BY id")
    end)
  end)
end

describe("two jobs into one table of PostgreSQL", function()
  it("take turns and do not see each other's staging", function()
    local pair = by_name["sqlite->postgresql"]
    local w = pair.with [[WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
      INSERT INTO s SELECT i, 'v' || i, '2026-01-01 10:00:00' FROM n;]]
    local map = 'job {}\nmerge { extract { from = "s", where = "id %% 2 = %d OR id < 50" }:map(function(r) return r end), into = "t", key = "id" }'
    w:job("a", map:format(0)):job("b", map:format(1))
    for _ = 1, 5 do
      w:warehouse "DELETE FROM t"
      local a, b = w:start "a.lua", w:start "b.lua"
      local ra, rb = a:wait(), b:wait()
      assert.equal("0 0", ra.status .. " " .. rb.status, ra.err .. rb.err)
      assert.equal("500|500", w:one "SELECT count(*), count(DISTINCT id) FROM t")
    end
  end)
end)
