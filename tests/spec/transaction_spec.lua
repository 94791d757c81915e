-- One transaction: rows, watermark and ledger commit together or not at all.
local files = require "files"
local process = require "process"
local world = require "world"

local ROWS = "INSERT INTO t VALUES (1, 'a', '2026-01-01 10:00:00'), (2, 'b', '2026-01-02 10:00:00');"
local JOB = [[
job { grain = "day" }
local rows = extract { from = "t", by = "updated_at", window = window { since = watermark() } }
merge { rows, into = "t", key = "id" }
]]

-- A world whose job has run once (watermark 2026-01-02, row 1 loaded); then the
-- job gets more lines and row 2 is there to be loaded.
local function started(more)
  local w = world.with_t(ROWS)
  w:job("j", JOB):ok("j.lua", "--run-start", "2026-01-02")
  assert.equal("2026-01-02", w:watermark())
  w:job("j", JOB .. more)
  return w
end

-- After the failure: as before; and the next run reads the same window.
local function unharmed(w, state)
  assert.equal(state, w:state())
  assert.equal("2026-01-02", w:watermark())
  assert.equal("1", w:one "SELECT count(*) FROM lrun_runs WHERE status = 'succeeded'")
  w:job("j", JOB):ok("j.lua", "--run-start", "2026-01-03")
  assert.same({ "1|a|2026-01-01 10:00:00", "2|b|2026-01-02 10:00:00" }, w:rows "SELECT * FROM t ORDER BY 1")
  local run = w:last_run()
  assert.equal("succeeded 1", run.status .. " " .. run.rows_read)
  assert.equal("2026-01-02|2026-01-03",
    w:one "SELECT window_start, window_stop FROM lrun_windows ORDER BY run_id DESC LIMIT 1")
  assert.equal("2026-01-03", w:watermark())
end

describe("a run that fails after its writes", function()
  it("by error() on the last line keeps nothing", function()
    local w = started 'error("the last line")\n'
    local state = w:state()
    w:refused(1, { "j.lua:4", "the last line", hint = false }, "j.lua", "--run-start", "2026-01-03")
    local run = w:last_run()
    assert.equal("failed", run.status)
    assert.is_truthy(run.error:find("the last line", 1, true))
    assert.is_truthy(run.finished_at ~= "NULL")
    unharmed(w, state)
  end)

  it("by an error that is no string keeps nothing", function()
    for _, what in ipairs { "error {}", "error()", "error(nil)", "local x = nil; x.y = 1",
                            "error(setmetatable({}, { __tostring = function() error 'again' end }))" } do
      local w = started(what .. "\n")
      local state = w:state()
      local r = w:lrun("j.lua", "--run-start", "2026-01-03")
      assert.equal(1, r.status)
      assert.is_truthy(r.err:find "j%.lua")
      unharmed(w, state)
    end
  end)

  it("by a statement that the database refuses keeps nothing", function()
    local w = started 'execute { "INSERT INTO t VALUES (1, NULL, NULL)" }\n'
    local state = w:state()
    w:refused(1, { "j.lua:4", "t.", hint = false }, "j.lua", "--run-start", "2026-01-03")
    unharmed(w, state)
  end)

  it("by a check that differs keeps nothing and ends with 3", function()
    local w = started [[
execute { "DELETE FROM t WHERE id = 2" }
reconcile { rows, with = "t" }
]]
    local state = w:state()
    local r = w:refused(3, { "j.lua:5", "t", "1", "0", hint = false }, "j.lua", "--run-start", "2026-01-03")
    assert.equal("differs", w:last_run().status)
    assert.is_truthy(r.err:find "1")
    unharmed(w, state)
  end)

  it("by a syntax error found before anything is opened ends with 2", function()
    local w = started "merge { rows,\n"
    local bytes = w:bytes()
    w:refused(2, { "j.lua:", hint = false }, "j.lua", "--run-start", "2026-01-03")
    assert.equal(bytes, w:bytes())
  end)

  it("by SIGKILL keeps nothing, and the next run calls it interrupted", function()
    local w = started 'io.open("written", "w"):close() while true do end\n'
    local state = w:state()
    local p = w:start("j.lua", "--run-start", "2026-01-03")
    assert.is_true(process.wait_for(function() return files.exists(w:path "written") end))
    p:signal "KILL"
    assert.equal(137, p:wait().status)
    assert.equal(state, w:state())
    assert.equal("succeeded running", w:statuses())
    unharmed(w, state)
    assert.equal("succeeded interrupted succeeded", w:statuses())
  end)

  for signal, status in pairs { INT = 130, TERM = 143 } do
    local endless = {
      ["in Lua"] = "while true do end",
      ["in Lua that catches errors"] = "while true do pcall(function() while true do end end) end",
      ["in SQL"] = 'query { "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n" }',
    }
    for where, code in pairs(endless) do
      it("by SIG" .. signal .. " " .. where .. " keeps nothing and ends with " .. status, function()
        local w = started('io.open("written", "w"):close() ' .. code .. "\n")
        local state = w:state()
        local p = w:start("j.lua", "--run-start", "2026-01-03")
        assert.is_true(process.wait_for(function() return files.exists(w:path "written") end))
        p:signal(signal)
        local r = p:wait(10)
        assert.equal(status, r.status)
        assert.is_truthy(r.err ~= "")
        assert.equal("interrupted", w:last_run().status)
        unharmed(w, state)
      end)
    end
  end
end)

describe("an error that the job catches", function()
  it("still rolls the run back, and its cause is told", function()
    local w = started [[
local ok, message = pcall(merge, { rows, into = "no_such", key = "id", create = false })
assert(not ok and tostring(message):find("no_such", 1, true))
]]
    w:refused(1, { "j.lua", "no_such", hint = false }, "j.lua", "--run-start", "2026-01-03")
    assert.equal("1", w:one "SELECT count(*) FROM t")
  end)

  it("of a write leaves neither half of it nor what follows", function()
    local w = world.new {
      source = "CREATE TABLE s(id INTEGER PRIMARY KEY, v); INSERT INTO s VALUES (1,'a'),(2,'b'),(3,NULL),(4,'d');",
      warehouse = "CREATE TABLE t(id INTEGER PRIMARY KEY, v NOT NULL);",
    }
    w:job("j", [[
      job {}
      local ok = pcall(merge, { extract { from = "s" }, into = "t", key = "id" })
      assert(not ok)
      pcall(merge, { extract { from = "s", where = { id = 1 } }, into = "t", key = "id" })
    ]])
    w:refused(1, { "j.lua:2", "t.v", hint = false }, "j.lua")
    assert.same({}, w:rows "SELECT * FROM t")
  end)

  it("of a difference still ends with 3", function()
    local w = world.with_t(ROWS)
    w:job("j", 'job {}\nlocal r = extract { from = "t" }\nfull_load { r, into = "t" }\nexecute { "DELETE FROM t" }\n' ..
      'pcall(reconcile, { r, with = "t" })')
    w:refused(3, { "j.lua:5", "t", hint = false }, "j.lua")
  end)
end)

describe("a source's snapshot", function()
  it("is one for the whole run", function()
    local w = world.with_t("PRAGMA journal_mode = WAL;" .. ROWS)
    w:job("j", [[
      job {}
      local rows = extract { from = "t" }
      local before = rows:count()
      io.open("ready", "w"):close()
      while not io.open "go" do end
      assert(rows:count() == before)
      full_load { rows, into = "t" }
      reconcile { rows, with = "t" }
    ]])
    local p = w:start "j.lua"
    assert.is_true(process.wait_for(function() return files.exists(w:path "ready") end))
    w:source "INSERT INTO t VALUES (3, 'during', '2026-01-02 11:00:00'); DELETE FROM t WHERE id = 1"
    w:write("go", "")
    local r = p:wait()
    assert.equal(0, r.status, r.err)
    assert.same({ "1", "2" }, w:rows "SELECT id FROM t ORDER BY 1")
    w:job("k", 'job {} full_load { extract { from = "t" }, into = "t" }'):ok "k.lua"
    assert.same({ "2", "3" }, w:rows "SELECT id FROM t ORDER BY 1")
  end)
end)

describe("run_start", function()
  it("is fixed, and is all that a job sees of the clock", function()
    local w = world.new()
    w:job("j", [[
      job {}
      assert(os.time() == 1774958400, os.time())
      assert(os.date("!%Y-%m-%d %H:%M:%S") == "2026-03-31 12:00:00", os.date())
      assert(os.date("!%Y-%m-%d", 0) == "1970-01-01")
      assert(tostring(run_start) == "2026-03-31 12:00:00", tostring(run_start))
      local t = os.time()
      for i = 1, 3000000 do end
      assert(os.time() == t)
    ]]):ok("j.lua", "--run-start", "2026-03-31 12:00:00")
    assert.equal("2026-03-31 12:00:00", w:last_run().run_start)
  end)

  it("is the clock when nothing is said and the start of the grain where one is named", function()
    local w = world.new()
    local before = os.date "!%Y-%m-%d %H:%M:%S"
    w:job("j", "job {}"):ok "j.lua"
    local at = w:last_run().run_start
    assert.is_true(at >= before and at <= os.date "!%Y-%m-%d %H:%M:%S" .. "z", at)
    for grain, form in pairs { day = "!%Y-%m-%d", month = "!%Y-%m-01", year = "!%Y-01-01" } do
      w:job(grain, 'job { grain = "' .. grain .. '" }'):ok(grain .. ".lua")
      assert.equal(os.date(form), w:last_run().run_start:sub(1, 10))
    end
  end)
end)

describe("one database as source and warehouse", function()
  local function both(mode)
    local w = world.new {
      warehouse = "PRAGMA journal_mode = " .. mode .. ";" .. world.T .. ROWS,
      connections = 'return { source = "sqlite:warehouse.db", warehouse = "sqlite:warehouse.db" }',
    }
    return w
  end
  for _, mode in ipairs { "WAL", "DELETE" } do
    it("is one transaction, in journal mode " .. mode, function()
      local w = both(mode)
      w:job("j", [[
        job {}
        local rows = extract { from = "t" }
        full_load { rows, into = "copy" }
        reconcile { rows, with = "copy" }
        assert(extract { from = "copy" }:count() == 2)
        execute { "DELETE FROM copy WHERE id = 1" }
        assert(extract { from = "copy" }:count() == 1)
      ]]):ok "j.lua"
      assert.same({ "2" }, w:rows "SELECT id FROM copy")
    end)
  end

  it("is found to be one through a link and another spelling of its path", function()
    local w = both "DELETE"
    os.execute("cd '" .. w.dir .. "' && ln -s warehouse.db link.db")
    w:job("j", 'job {} full_load { extract { from = "t" }, into = "copy" }')
    w:ok("j.lua", "--source", "sqlite:link.db")
    w:ok("j.lua", "--source", "sqlite:./../" .. w.dir:match "[^/]+$" .. "/warehouse.db")
  end)

  it("refuses to write into the table that is read", function()
    local w = both "WAL"
    local state = w:state()
    w:job("j", 'job {}\nfull_load { extract { from = "t" }, into = "t" }')
    w:refused(1, { "j.lua:2", "t", hint = false }, "j.lua")
    w:job("j", 'job {}\nlocal r = extract { sql = "SELECT * FROM (SELECT * FROM t)" }\nfull_load { r, into = "T" }')
    w:refused(1, { "j.lua:3", "t", hint = false }, "j.lua")
    assert.equal(state, w:state())
  end)
end)
