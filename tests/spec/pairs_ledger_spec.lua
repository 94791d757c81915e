-- The ledger on every pair: the same columns, and what it says is what happened (S37).
local pairs_of = require "pairs"

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
local rows = extract { from = "s", by = "updated_at", window = window { since = watermark() }, nulls = "skip" }
merge { rows, into = "t", key = "id" }
reconcile { rows, with = "t", sum = "id" }
]]
local ROWS = "INSERT INTO s VALUES (1,'a','2026-01-01 10:00:00'), (2,'b','2026-01-01 11:00:00');"

pairs_of.each("the ledger", function(pair)
  it("has the tables and columns that people query", function()
    local w = pair.with(ROWS)
    w:job("j", JOB):ok("j.lua", "--run-start", "2026-01-02")
    for name, columns in pairs(COLUMNS) do
      local have = {}
      for _, c in ipairs(w.to:columns(name)) do have[c] = true end
      for c in columns:gmatch "%S+" do assert.is_true(have[c] or false, name .. "." .. c) end
    end
    assert.same({ "job", "name" }, w.to:key "lrun_watermarks")
  end)

  it("tells a success whole", function()
    local w = pair.with(ROWS)
    w:job("j", JOB):ok("j.lua", "--run-start", "2026-01-02", "--param", "a=1")
    local run = w:last_run()
    assert.equal("j succeeded 2 2 0 0 0", table.concat({ run.job, run.status, run.rows_read, run.rows_inserted, run.rows_updated,
      run.rows_deleted, run.rows_skipped }, " "))
    assert.equal("NULL NULL", run.logical_date .. " " .. run.error)
    assert.equal("2026-01-02", run.run_start:sub(1, 10))
    assert.is_truthy(run.started_at:find "^%d%d%d%d%-%d%d%-%d%d[ T]%d%d:%d%d:%d%d")
    -- The clock in UTC, whatever zone the server is in.
    assert.is_true(math.abs(os.time(os.date "!*t") - os.time {
      year = run.started_at:sub(1, 4), month = run.started_at:sub(6, 7), day = run.started_at:sub(9, 10),
      hour = run.started_at:sub(12, 13), min = run.started_at:sub(15, 16), sec = run.started_at:sub(18, 19) }) < 120, run.started_at)
    assert.is_true(run.finished_at >= run.started_at)
    assert.equal('{"a":"1"}', run.params)
    assert.equal(64, #run.job_sha256)
    assert.is_truthy(tonumber(run.pid) > 1 and run.host ~= "NULL")
    local names = { sqlite = "%.db$", postgresql = "^postgresql://" }
    assert.is_truthy(run.source:find(names[pair.source]) and run.warehouse:find(names[pair.warehouse]), run.source .. " " .. run.warehouse)
    assert.same({ "s|updated_at|NULL|2026-01-02" }, w:rows "SELECT source_table, column_name, window_start, window_stop FROM lrun_windows")
    assert.same({ "t|merge|2|0|0" }, w:rows "SELECT target, primitive, rows_inserted, rows_updated, rows_deleted FROM lrun_writes")
    assert.same({ "t|rows|2|2|1", "t|sum(id)|3|3|1" },
      w:rows "SELECT target, metric, source_value, warehouse_value, equal FROM lrun_checks ORDER BY metric")
    assert.same({ "j|2026-01-02|" .. run.run_id }, w:rows "SELECT job, value, run_id FROM lrun_watermarks")
  end)

  it("counts what was updated and deleted, and what was already right", function()
    local w = pair.with(ROWS, "INSERT INTO t VALUES (1,'a','2026-01-01 10:00:00'), (2,'old','2026-01-01 11:00:00'), (3,'c','2026-01-01 12:00:00');")
    w:job("j", 'job {}\nlocal r = merge { extract { from = "s" }, into = "t", key = "id" }\n' ..
      'print(r.read, r.inserted, r.updated, r.deleted, r.skipped)\n' ..
      'local f = full_load { extract { from = "s" }, into = "t" }\nprint(f.read, f.inserted, f.updated, f.deleted)')
    local r = w:ok "j.lua"
    assert.is_truthy(r.out:find "2\t0\t1\t0\t0", r.out)
    assert.is_truthy(r.out:find "2\t2\t0\t3", r.out)
    local run = w:last_run()
    assert.equal("4 2 1 3", table.concat({ run.rows_read, run.rows_inserted, run.rows_updated, run.rows_deleted }, " "))
    assert.same({ "merge|0|1|0", "full_load|2|0|3" }, w:rows "SELECT primitive, rows_inserted, rows_updated, rows_deleted FROM lrun_writes ORDER BY primitive DESC")
  end)

  it("numbers runs upwards", function()
    local w = pair.new()
    w:job("j", "job {}")
    for _ = 1, 3 do w:ok "j.lua" end
    w:warehouse "DELETE FROM lrun_runs WHERE run_id = (SELECT max(run_id) FROM lrun_runs)"
    w:ok "j.lua"
    assert.same({ "1", "2", "4" }, w:rows "SELECT run_id FROM lrun_runs ORDER BY run_id")
  end)

  for what, case in pairs {
    ["an error in the job"] = { "error 'the cause'", 1, "failed", "the cause" },
    ["a difference"] = { 'execute { "DELETE FROM t" } reconcile { rows, with = "t" }', 3, "differs", "t" },
    ["a refused write"] = { 'merge { extract { from = "s", columns = { "v" } }, into = "t", key = "id" }', 1, "failed", "id" },
    ["SQL that is wrong"] = { 'execute { "UPDATE nothing SET x = 1" }', 1, "failed", "nothing" },
    ["a source's SQL that is wrong"] = { 'extract { sql = "SELECT * FROM nowhere" }:count()', 1, "failed", "nowhere" },
    ["time that ran out"] = { "while true do end", 1, "failed", "max-seconds" },
  } do
    it("tells a failure whole: " .. what, function()
      local w = pair.with(ROWS)
      w:job("j", 'job {}\nlocal rows = extract { from = "s", by = "updated_at", window = window "2026-01-01" }\n' ..
        'merge { rows, into = "t", key = "id" }\n' .. case[1])
      local r = w:lrun("j.lua", "--max-seconds", "2")
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

  it("does not take another table for its own, nor one from the future", function()
    for _, other in ipairs { "CREATE TABLE lrun_runs(x INTEGER)", "CREATE TABLE lrun_schema(version INTEGER); INSERT INTO lrun_schema VALUES (999)" } do
      local w = pair.with(ROWS, other)
      w:job("j", JOB)
      local state = w:state()
      local r = w:lrun("j.lua", "--run-start", "2026-01-02")
      require "world".says(r, r.status, { other:find "999" and "version 999" or "lrun_", hint = false })
      assert.is_true(r.status == 1 or r.status == 5, r.err)
      assert.equal(state, w:state())
    end
  end)

  it("is there before a run's work and keeps a killed one as running, then interrupted", function()
    local w = pair.with(ROWS)
    w:job("j", JOB .. 'io.open("ready", "w"):close() while true do end')
    local p = w:start("j.lua", "--run-start", "2026-01-02")
    w:wait_for "ready"
    assert.equal("running " .. p.pid, w:one "SELECT status || ' ' || pid FROM lrun_runs")
    p:signal "KILL"
    p:wait()
    w:job("k", "job {}"):ok "k.lua"
    assert.equal("running", w:last_run("j").status)
    w:job("j", JOB):ok("j.lua", "--run-start", "2026-01-02")
    assert.same({ "interrupted", "succeeded" }, w:rows "SELECT status FROM lrun_runs WHERE job = 'j' ORDER BY run_id")
    assert.equal("2", w:one "SELECT count(*) FROM t")
  end)
end)

pairs_of.each("what only looks", function(pair)
  it("writes nothing: not rows, not the ledger, not a row's version", function()
    local w = pair.with(ROWS, "INSERT INTO t VALUES (1,'old','2026-01-01 10:00:00');")
    w:job("j", JOB):ok("j.lua", "--run-start", "2026-01-02")
    w:source "INSERT INTO s VALUES (3,'c','2026-01-02 11:00:00')"
    local bytes, source = w:bytes(), w.from:bytes()
    for _, words in ipairs { { "status" }, { "status", "j.lua" }, { "runs" }, { "runs", "j.lua" }, { "watermark", "j.lua" },
                             { "plan", "j.lua" }, { "j.lua", "--dry-run" }, { "status", "--json" } } do
      w:ok(table.unpack(words))
    end
    assert.equal(bytes, w:bytes())
    assert.equal(source, w.from:bytes())
  end)

  it("shows the window, the statements and the target, and finds what a run would find", function()
    local w = pair.with(ROWS)
    w:job("j", JOB):ok("j.lua", "--run-start", "2026-01-02")
    for _, words in ipairs { { "plan", "j.lua" }, { "j.lua", "--dry-run" } } do
      local r = w:ok(table.unpack(words), words[2], "--run-start", "2026-01-05")
      for _, word in ipairs { "[2026-01-02, 2026-01-05)", "INSERT", "merge", "reconcile", " t" } do
        assert.is_truthy(r.out:find(word, 1, true), word .. "\n" .. r.out)
      end
    end
    w:job("k", 'job {}\nassert(extract { from = "s" }:count() == 2)\nassert(query { "SELECT 5 AS n" }[1].n == 5)\n' ..
      'execute { "DELETE FROM t WHERE id = 5" }')
    assert.is_truthy(w:ok("plan", "k.lua").out:find("DELETE FROM t WHERE id = 5", 1, true))
    w:job("k", 'job {}\nmerge { extract { from = "ss" }, into = "t", key = "id" }')
    w:refused(1, { "k.lua:2", "ss", hint = false }, "plan", "k.lua")
    assert.equal("2", w:one "SELECT count(*) FROM t")
  end)

  it("makes no ledger and no target in a new warehouse", function()
    local w = pair.only(ROWS)
    w:job("j", JOB)
    w:ok("plan", "j.lua")
    w:ok("j.lua", "--dry-run")
    w:ok "status"
    assert.same(pair.same and { "s" } or {}, w.to:tables())
  end)

  it("shows runs and marks as JSON with the same names", function()
    local w = pair.with(ROWS)
    w:job("j", JOB):ok("j.lua", "--run-start", "2026-01-02", "--json")
    local found
    for line in w:ok("runs", "j.lua", "--json").out:gmatch "[^\n]+" do
      local object = require "cjson".decode(line)
      if object.run_id then found = object end
    end
    assert.equal("j succeeded 2 2 1", ("%s %s %d %d %d"):format(found.job, found.status, found.rows_read, found.rows_inserted, found.run_id))
  end)
end)
