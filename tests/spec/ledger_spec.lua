-- The ledger: public names and columns; what it says is what happened (S37).
local world = require "world"

local JOB = [[
job { grain = "day" }
local rows = extract { from = "t", by = "updated_at", window = window { since = watermark() }, nulls = "skip" }
merge { rows, into = "t", key = "id" }
reconcile { rows, with = "t", sum = "id" }
]]
local ROWS = "INSERT INTO t VALUES (1,'a','2026-01-01 10:00:00'), (2,'b','2026-01-01 11:00:00');"

describe("the ledger", function()
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
end)
