-- The forms of the job language: extract, rows, query, stamp.
local world = require "world"

local function orders()
  return world.new { source = [[
    CREATE TABLE o(id INTEGER PRIMARY KEY, region TEXT, amount DECIMAL(10,2), status TEXT, at TEXT);
    INSERT INTO o VALUES (1,'EU',10.50,'paid','2026-01-01'), (2,'US',20,'sent','2026-01-01'),
      (3,'EU',30,'open','2026-01-02'), (4,NULL,NULL,'paid','2026-01-02');
    CREATE VIEW paid AS SELECT * FROM o WHERE status = 'paid';]] }
end
local function ids(w, extract, more)
  w:job("j", 'job {}\nlocal rows = extract { ' .. extract .. ' }\nfull_load { rows, into = "t", allow_empty = true }\n' .. (more or ""))
  w:ok "j.lua"
  return w:one "SELECT group_concat(id) FROM (SELECT id FROM t ORDER BY id)"
end

describe("extract", function()
  it("reads tables and views", function()
    assert.equal("1,2,3,4", ids(orders(), 'from = "o"'))
    assert.equal("1,4", ids(orders(), 'from = "paid"'))
  end)

  it("takes columns as a list, in its order", function()
    local w = orders()
    ids(w, 'from = "o", columns = { "status", "id" }')
    assert.same({ "status", "id" }, w:rows "SELECT name FROM pragma_table_info('t')")
  end)

  it("takes columns by new names and as expressions", function()
    local w = orders()
    ids(w, 'from = "o", columns = { id = "id", place = "region", cents = "amount * 100", kind = "\'x\'" }')
    assert.same({ "1|EU|1050.0|x" }, w:rows "SELECT id, place, cents, kind FROM t WHERE id = 1")
    -- By name, so sorted.
    assert.same({ "cents", "id", "kind", "place" }, w:rows "SELECT name FROM pragma_table_info('t')")
  end)

  it("names a column that is not there", function()
    local w = orders()
    for _, code in ipairs { 'columns = { "id", "amont" }', 'where = { amont = 1 }', 'where = "amont = 1"', 'by = "amont", window = window "2026-01-01"' } do
      w:job("j", 'job {}\nfull_load { extract { from = "o", ' .. code .. ' }, into = "t" }')
      w:refused(1, { "j.lua:2", "amont", hint = false }, "j.lua")
    end
  end)

  it("takes a where of values, lists, and SQL with params", function()
    assert.equal("1,4", ids(orders(), 'from = "o", where = { status = "paid" }'))
    assert.equal("1,2,4", ids(orders(), 'from = "o", where = { status = { "paid", "sent" } }'))
    assert.equal("1", ids(orders(), 'from = "o", where = { status = "paid", region = "EU" }'))
    assert.equal("4", ids(orders(), 'from = "o", where = { region = null }'))
    assert.equal("2,3", ids(orders(), 'from = "o", where = "amount >= :least", params = { least = 20 }'))
    assert.equal("2,3", ids(orders(), 'from = "o", where = "amount > 10.50 OR amount < 0"'))
    assert.equal("NULL", ids(orders(), 'from = "o", where = { status = {} }'))
    -- The where keeps to itself beside a window.
    assert.equal("1", ids(orders(), 'from = "o", by = "at", window = window "2026-01-01", where = "status = \'paid\' OR id = 3"'))
  end)

  it("takes SQL with :start, :stop and params", function()
    assert.equal("1", ids(orders(), [==[sql = [[SELECT id, at FROM o WHERE at >= :start AND at < :stop AND region = :r -- :stop
      ]], params = { r = "EU" }, window = window "2026-01-01"]==]))
    local w = orders()
    w:job("j", 'job {}\nfull_load { extract { sql = "SELECT * FROM o WHERE region = :nothing" }, into = "t" }')
    w:refused(1, { "j.lua:2", "nothing", hint = false }, "j.lua")
    w:job("j", 'job {}\nfull_load { extract { sql = "SELECT * FROM o", params = { unused = 1 } }, into = "t" }')
    w:refused(1, { "j.lua:2", "unused", hint = false }, "j.lua")
  end)

  it("reads nothing until something uses it", function()
    local w = orders()
    w:job("j", 'job {}\nlocal rows = extract { from = "o" }'):ok "j.lua"
    assert.equal("0", w:last_run().rows_read)
  end)

  it("iterates rows and counts them", function()
    orders():job("j", [[
      job {}
      local rows = extract { from = "o" }
      assert(rows:count() == 4)
      local seen = 0
      for row in rows:rows() do
        seen = seen + 1
        assert(row.id and row.status)
        if seen == 2 then break end
      end
      assert(seen == 2 and rows:count() == 4)
      assert(rows:filter(function(row) return row.region == null end):count() == 1)
      local n = 0
      for a in rows:rows() do for b in rows:rows() do n = n + (a.id == b.id and 1 or 0) end end
      assert(n == 4)
    ]]):ok "j.lua"
  end)

  it("is a row set with no other methods and no way to write to it", function()
    local w = orders()
    w:job("j", 'job {}\nlocal rows = extract { from = "o" }\nrows:mapp(print)')
    w:refused(1, { "j.lua:3", "mapp", hint = false }, "j.lua")
    w:job("j", 'job {}\nlocal rows = extract { from = "o" }\nrows:map()')
    w:refused(1, { "j.lua:3", "map", hint = false }, "j.lua")
  end)
end)

describe("query and execute", function()
  it("read and write in the run's transaction", function()
    local w = orders()
    w:job("j", [[
      job {}
      execute { "CREATE TABLE t(id INTEGER, v TEXT)" }
      execute { "INSERT INTO t VALUES (1, :v), (2, NULL)", params = { v = "it's" } }
      local rows = query { "SELECT id, v FROM t WHERE id >= :id ORDER BY id", params = { id = 1 } }
      assert(#rows == 2 and rows[1].v == "it's" and rows[2].v == null)
      assert(query { "SELECT count(*) AS n FROM o", connection = "source" }[1].n == 4)
      assert(#query { "SELECT 1 WHERE 0" } == 0)
    ]]):ok "j.lua"
    assert.equal("2", w:one "SELECT count(*) FROM t")
  end)

  it("has exact SUM and AVG", function()
    local w = world.new()
    w:job("j", [[
      job {}
      local sql = "WITH RECURSIVE n(i, x) AS (SELECT 1, 0.1 UNION ALL SELECT i + 1, 0.1 FROM n WHERE i < 10) SELECT SUM(x) = 1 AS same FROM n"
      assert(query { sql }[1].same == 1)
    ]]):ok "j.lua"
  end)
end)

describe("stamp", function()
  it("is run_start where a row is inserted or changed, and nowhere else", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01'), (2,'b','2026-01-01');"
    w:warehouse "ALTER TABLE t ADD COLUMN loaded_at TEXT"
    w:job("j", 'job {}\nmerge { extract { from = "t" }, into = "t", key = "id", stamp = "loaded_at" }')
    w:ok("j.lua", "--run-start", "2026-01-05")
    w:source "UPDATE t SET v = 'new' WHERE id = 2; INSERT INTO t VALUES (3,'c','2026-01-01')"
    w:ok("j.lua", "--run-start", "2026-01-06")
    assert.same({ "1|2026-01-05", "2|2026-01-06", "3|2026-01-06" }, w:rows "SELECT id, substr(loaded_at, 1, 10) FROM t ORDER BY 1")
    assert.equal("1 1", w:last_run().rows_inserted .. " " .. w:last_run().rows_updated)
    w:ok("j.lua", "--run-start", "2026-01-07")
    assert.equal("0", w:one "SELECT count(*) FROM t WHERE loaded_at LIKE '2026-01-07%'")
  end)
end)

describe("a job in Lua", function()
  it("has all of Lua, and no use for require of anything of lrun's", function()
    local w = world.new()
    w:job("j", [[
      job {}
      assert(string.format("%d", math.maxinteger) == "9223372036854775807")
      local co = coroutine.wrap(function() coroutine.yield(1) end)
      assert(co() == 1)
      assert(select("#", table.unpack { 1, 2, 3 }) == 3)
      assert(utf8.len "ü" == 1)
      assert(type(io.open) == "function" and type(os.getenv) == "function")
      assert(null ~= nil and tostring(null) ~= "nil")
    ]]):ok "j.lua"
  end)

  it("may load a module that lies beside it", function()
    local w = world.new()
    w:write("helper.lua", "return { answer = 42 }")
    w:job("j", 'job {}\nassert(require "helper".answer == 42)')
    w:ok "j.lua"
    w:ok(w:path "j.lua", { cwd = "/" })
  end)

  it("calls primitives inside functions and coroutines, with the right line", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01');"
    w:job("j", [[
job {}
local function load(name)
  full_load { extract { from = name }, into = name }
end
coroutine.wrap(function() load "t" end)()
load "nowhere"
]])
    w:refused(1, { "j.lua:3", "nowhere", hint = false }, "j.lua")
  end)

  it("can loop over many writes without growing", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01');"
    w:job("j", 'job {}\nfor i = 1, 500 do merge { extract { from = "t" }, into = "t", key = "id" } end'):ok("j.lua", "--max-memory", "16MB")
    assert.equal("500", w:last_run().rows_read)
  end)
end)
