-- The ledger: public names and columns; what it says is what happened (S37).
local files = require "files"
local world = require "world"

local COLUMNS = {
  lrun_watermarks = "job name value run_id saved_at params",
  lrun_runs = "run_id job job_sha256 params logical_date run_start status rows_read rows_inserted rows_updated " ..
    "rows_deleted rows_skipped started_at finished_at backfill_id lrun_version host pid error attempt source warehouse",
  lrun_checks = "run_id target metric source_value warehouse_value equal group_value window_start window_stop",
  lrun_windows = "run_id source_table column_name window_start window_stop",
  lrun_backfills = "backfill_id job job_sha256 first_date last_date status started_at finished_at params",
  lrun_writes = "run_id target primitive rows_inserted rows_updated rows_deleted",
  lrun_schema = "version",
}

local JOB = [[
job { grain = "day" }
local rows = extract { from = "t", by = "updated_at", window = window { since = watermark() }, nulls = "skip" }
merge { rows, into = "t", key = "id" }
reconcile { rows, with = "t", sum = "id" }
]]
local ROWS = "INSERT INTO t VALUES (1,'a','2026-01-01 10:00:00'), (2,'b','2026-01-01 11:00:00');"

describe("the ledger", function()
  it("has the tables and columns that people query", function()
    local w = world.with_t(ROWS)
    w:job("j", JOB):ok("j.lua", "--run-start", "2026-01-02")
    for name, columns in pairs(COLUMNS) do
      local have = {}
      for _, c in ipairs(w:rows("SELECT name FROM pragma_table_info('" .. name .. "')")) do have[c] = true end
      for c in columns:gmatch "%S+" do assert.is_true(have[c] or false, name .. "." .. c) end
    end
    assert.same({ "job", "name" }, w:rows "SELECT name FROM pragma_table_info('lrun_watermarks') WHERE pk > 0 ORDER BY pk")
  end)

  it("tells a success whole", function()
    local w = world.with_t(ROWS)
    w:job("j", JOB):ok("j.lua", "--run-start", "2026-01-02", "--param", "a=1")
    local run = w:last_run()
    assert.equal("j", run.job)
    assert.equal("succeeded", run.status)
    assert.equal("2 2 0 0 0", table.concat({ run.rows_read, run.rows_inserted, run.rows_updated, run.rows_deleted, run.rows_skipped }, " "))
    assert.equal("NULL NULL", run.logical_date .. " " .. run.error)
    assert.equal("2026-01-02", run.run_start:sub(1, 10))
    assert.is_truthy(run.started_at:find "^%d%d%d%d%-%d%d%-%d%d[ T]%d%d:%d%d:%d%d")
    assert.is_true(run.finished_at >= run.started_at)
    assert.equal('{"a":"1"}', run.params)
    assert.is_truthy(run.job_sha256:find "^%x+$")
    assert.equal(64, #run.job_sha256)
    local pipe = io.popen("sha256sum < '" .. w:path "j.lua" .. "'")
    assert.equal(pipe:read(64), run.job_sha256)
    pipe:close()
    assert.is_truthy(run.lrun_version:find "^%d+%.%d+%.%d+$")
    assert.is_truthy(tonumber(run.pid) > 1 and run.host ~= "NULL")
    assert.is_truthy(run.warehouse:find "warehouse%.db" and run.source:find "source%.db")
    assert.same({ "t|updated_at|NULL|2026-01-02" }, w:rows "SELECT source_table, column_name, window_start, window_stop FROM lrun_windows")
    assert.same({ "t|merge|2|0|0" }, w:rows "SELECT target, primitive, rows_inserted, rows_updated, rows_deleted FROM lrun_writes")
    assert.same({ "t|rows|2|2|1", "t|sum(id)|3|3|1" },
      w:rows "SELECT target, metric, source_value, warehouse_value, equal FROM lrun_checks ORDER BY metric")
    assert.same({ "j|2026-01-02|" .. run.run_id }, w:rows "SELECT job, value, run_id FROM lrun_watermarks")
  end)

  it("counts what was updated and deleted, and what was already right", function()
    local w = world.with_t(ROWS, "INSERT INTO t VALUES (1,'a','2026-01-01 10:00:00'), (2,'old','2026-01-01 11:00:00'), (3,'c','2026-01-01 12:00:00');")
    w:job("j", 'job {}\nlocal r = merge { extract { from = "t" }, into = "t", key = "id" }\n' ..
      'print(r.read, r.inserted, r.updated, r.deleted, r.skipped)\n' ..
      'local f = full_load { extract { from = "t" }, into = "t" }\nprint(f.read, f.inserted, f.updated, f.deleted)')
    local r = w:ok "j.lua"
    assert.is_truthy(r.out:find "2\t0\t1\t0\t0")
    assert.is_truthy(r.out:find "2\t2\t0\t3")
    local run = w:last_run()
    assert.equal("4 2 1 3", table.concat({ run.rows_read, run.rows_inserted, run.rows_updated, run.rows_deleted }, " "))
  end)

  it("numbers runs upwards, never again", function()
    local w = world.new()
    w:job("j", "job {}")
    for _ = 1, 3 do w:ok "j.lua" end
    w:warehouse "DELETE FROM lrun_runs WHERE run_id = (SELECT max(run_id) FROM lrun_runs)"
    w:ok "j.lua"
    assert.same({ "1", "2", "4" }, w:rows "SELECT run_id FROM lrun_runs ORDER BY 1")
  end)

  for what, case in pairs {
    ["an error in the job"] = { "error 'the cause'", 1, "failed", "the cause" },
    ["a difference"] = { 'execute { "DELETE FROM t" } reconcile { rows, with = "t" }', 3, "differs", "t" },
    ["a refused write"] = { 'merge { extract { from = "t", columns = { "v" } }, into = "t", key = "id" }', 1, "failed", "id" },
    ["SQL that is wrong"] = { 'execute { "UPDATE nothing SET x = 1" }', 1, "failed", "nothing" },
    ["time that ran out"] = { "while true do end", 1, "failed", "max-seconds" },
    ["memory that ran out"] = { "local t = {} while true do t[#t + 1] = ('x'):rep(1000000) .. #t end", 1, "failed", "memory" },
  } do
    it("tells a failure whole: " .. what, function()
      local w = world.with_t(ROWS)
      w:job("j", 'job {}\nlocal rows = extract { from = "t", by = "updated_at", window = window "2026-01-01" }\n' ..
        'merge { rows, into = "t", key = "id" }\n' .. case[1])
      local r = w:lrun("j.lua", "--max-seconds", "2", "--max-memory", "64MB")
      assert.equal(case[2], r.status, r.err)
      local lines = {}
      for line in r.err:gmatch "[^\n]+" do if not line:find "^%s+hint:" then lines[#lines + 1] = line end end
      assert.equal(1, #lines, r.err)
      assert.is_truthy(lines[1]:find("j.lua:4", 1, true), r.err)
      local run = w:last_run()
      assert.equal(case[3], run.status)
      assert.is_truthy(run.error:find(case[4], 1, true), run.error)
      assert.is_truthy(run.finished_at ~= "NULL")
      assert.equal("0", w:one "SELECT count(*) FROM t")
      assert.equal("1", w:one "SELECT count(*) FROM lrun_windows WHERE window_start = '2026-01-01'")
    end)
  end

  it("does not take another table for its own", function()
    for _, other in ipairs { "CREATE TABLE lrun_runs(x)", "CREATE TABLE lrun_schema(version); INSERT INTO lrun_schema VALUES ('abc')" } do
      local w = world.with_t(ROWS, other)
      w:job("j", JOB)
      local state = w:state()
      local r = w:lrun("j.lua", "--run-start", "2026-01-02")
      world.says(r, r.status, { "lrun_", hint = false })
      assert.is_true(r.status == 1 or r.status == 5, r.err)
      assert.equal(state, w:state())
    end
  end)

  it("can live under another name", function()
    local w = world.with_t(ROWS)
    w:job("j", JOB)
    local r = w:lrun("j.lua", "--run-start", "2026-01-02", "--ledger-schema", "audit")
    -- SQLite has no schemas to make: either it is said, or done by name.
    if r.status ~= 0 then world.says(r, r.status, { "ledger-schema", hint = false }) end
    assert.is_true(r.status == 0 or r.status == 1 or r.status == 2)
  end)

  it("is not written by commands that only look", function()
    local w = world.with_t(ROWS)
    w:job("j", JOB):ok("j.lua", "--run-start", "2026-01-02")
    local bytes = w:bytes()
    for _, words in ipairs { { "status" }, { "status", "j.lua" }, { "runs" }, { "watermark", "j.lua" }, { "plan", "j.lua" }, { "help" } } do
      w:ok(table.unpack(words))
    end
    assert.equal(bytes, w:bytes())
  end)

  it("is there before a run's work and keeps a killed one as running, then interrupted", function()
    local w = world.with_t(ROWS)
    w:job("j", JOB .. 'io.open("ready", "w"):close() while true do end')
    local p = w:start("j.lua", "--run-start", "2026-01-02")
    assert.is_true(require "process".wait_for(function() return files.exists(w:path "ready") end))
    assert.equal("running " .. p.pid, w:one "SELECT status || ' ' || pid FROM lrun_runs")
    p:signal "KILL"
    p:wait()
    -- Another job does not touch it.
    w:job("k", "job {}"):ok "k.lua"
    assert.equal("running", w:last_run("j").status)
    w:job("j", JOB):ok("j.lua", "--run-start", "2026-01-02")
    assert.same({ "interrupted", "succeeded" }, w:rows "SELECT status FROM lrun_runs WHERE job = 'j' ORDER BY run_id")
  end)
end)
