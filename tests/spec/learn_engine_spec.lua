-- The engine of learn: the sandbox, lessons that catch the faults they teach.
local World = require "world"
local cjson = require "cjson"

-- A job with its own watermark table: window and statements are the parts.
local function manual(body)
  return [[
job { transaction = "manual" }
local saved = query { "SELECT watermark FROM wm WHERE job = 'orders'" }[1].watermark
local stop = os.date "%Y-%m-%d"
]] .. body .. [[
execute { "UPDATE wm SET watermark = :stop WHERE job = 'orders'", params = { stop = stop } }
]]
end

local function load(where)
  return ([[
execute { "INSERT INTO dw_orders SELECT order_id, order_date, amount, updated_at FROM orders WHERE %s",
          params = { start = saved, stop = stop } }
]]):format(where)
end

local CREATED = manual(load "order_date >= :start AND order_date < :stop")

local function world(job)
  local w = World.new { source = false, warehouse = false }
  w:write("job.lua", job)
  return w
end

local function grade(job, scenario, ...)
  return world(job):lrun("learn", "grade", "job.lua", "--scenario", scenario, ...)
end

describe("learn's sandbox", function()
  it("is the only place where a job may commit by itself", function()
    local w = World.with_t()
    w:job("j", 'job { transaction = "manual" }\nexecute { "DELETE FROM t" }\n')
    w:refused(2, { "j.lua:1", "manual", "sandbox" }, "j.lua")
    w:job("j", 'job { transaction = "each" }\n')
    w:refused(2, { "j.lua:1", "each", "not known" }, "j.lua")
  end)

  local refusals = {
    { "reads a file", 'local f = io.open "/etc/passwd"', "io.open" },
    { "leaves", "os.exit(0)", "os.exit" },
    { "runs a program", 'os.execute "true"', "os.execute" },
    { "removes a file", 'os.remove "job.lua"', "os.remove" },
    { "reads the environment", 'os.getenv "HOME"', "os.getenv" },
    { "loads a file", 'dofile "job.lua"', "dofile" },
    { "loads a module", 'require "x"', "require" },
    { "loads a library", 'package.loadlib("x", "y")', "package.loadlib" },
    { "takes the limits away", "debug.sethook()", "debug.sethook" },
    { "writes to the source", 'execute { "DELETE FROM orders" }', "source" },
    { "writes to the source by its name", 'execute { "UPDATE source.orders SET amount = 1" }', "source" },
    { "raises a table", "error({})", "table" },
    { "raises nothing", "error()", "nil" },
    { "writes by a primitive", 'full_load { extract { from = "orders" }, into = "dw_orders" }', "manual" },
    { "asks for lrun's watermark", "local w = watermark()", "manual" },
  }
  for _, r in ipairs(refusals) do
    it("names the line of a job that " .. r[1], function()
      local got = grade('job { transaction = "manual" }\n' .. r[2] .. "\n", "02-created-date")
      assert.equal(5, got.status, got.err)
      assert.truthy(got.err:find("job.lua:2", 1, true), got.err)
      assert.truthy(got.err:find(r[3], 1, true), got.err)
      assert.truthy(got.out:find("not reached", 1, true), got.out)
    end)
  end

  it("runs text only", function()
    local got = grade('job { transaction = "manual" }\nassert(load(string.dump(function() end)))\n', "02-created-date")
    assert.equal(5, got.status)
    assert.truthy(got.err:find("attempt to load a binary chunk", 1, true), got.err)
  end)

  it("ends a loop, and one that catches its end", function()
    for _, body in ipairs { "\nwhile true do end", "\nwhile true do pcall(function() while true do end end) end",
                            "\nlocal c = coroutine.wrap(function() while true do end end)\nwhile true do pcall(c) end" } do
      local got = grade(body, "02-created-date", "--json")
      assert.equal(4, got.status, got.err)
      assert.truthy(got.err:find("job.lua:[23]"), got.err)
      assert.equal("instructions", cjson.decode(got.out).limit)
    end
  end)

  it("ends a statement that does not end", function()
    local got = grade('job { transaction = "manual" }\nexecute { "INSERT INTO wm ' ..
      'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT \'x\', count(*) FROM n" }\n', "02-created-date")
    assert.equal(4, got.status, got.err)
    assert.truthy(got.err:find("job.lua:2", 1, true), got.err)
    assert.truthy(got.err:find("5 seconds", 1, true), got.err)
  end)

  it("ends a job that eats memory", function()
    local got = grade("local t = {}\nfor i = 1, 1e9 do t[i] = (\"x\"):rep(1000) .. i end\n", "02-created-date")
    assert.equal(4, got.status, got.err)
    assert.truthy(got.err:find("job.lua:2", 1, true), got.err)
    assert.truthy(got.err:find("memory", 1, true), got.err)
  end)

  it("takes back a BEGIN that is left open", function()
    local got = grade(manual('execute { "BEGIN" }\n' .. load "updated_at >= :start AND updated_at < :stop") ..
                      'execute { "UPDATE wm SET watermark = watermark" }\n', "02-created-date")
    assert.equal(1, got.status, got.err)
    assert.truthy(got.out:find("MISSING order_id 105", 1, true), got.out)
  end)

  it("names the line at which the job drops its table, or takes a column away", function()
    for _, sql in ipairs { "DROP TABLE IF EXISTS dw_orders", "ALTER TABLE dw_orders DROP COLUMN amount",
                           "ALTER TABLE dw_orders RENAME TO other" } do
      local got = grade(('job { transaction = "manual" }\n\nexecute { "%s" }\n'):format(sql), "02-created-date")
      assert.equal(1, got.status, got.err)
      assert.truthy(got.out:find("WHY     job.lua:3: the job takes away what is compared", 1, true), got.out)
    end
  end)
end)

describe("learn grade", function()
  it("draws the first difference, right to the column", function()
    local r = grade(CREATED, "02-created-date")
    assert.equal(1, r.status, r.err)
    assert.truthy(r.out:find([[
January      20      21      22      23      24      25      26
updated_at   o105    o106                            o105 paid 22.00
order_date   o105    o106
run 01-22    [===============)  wrote 105 106
run 01-26                    [===============================)  wrote nothing
                                                     ^ STALE, 2026-01-25
]], 1, true), r.out)
    assert.truthy(r.out:find("short by 22.00", 1, true))
    for line in r.out:gmatch "[^\n]+" do assert.is_true(#line <= 80, line) end
  end)

  it("finds a window that begins far back, and draws it open on the left", function()
    local r = grade([[
job { transaction = "manual" }
local w = { start = "2009-03-04 05:06:07", stop = os.date "%Y-%m-%d" }
execute { "BEGIN" }
execute { "DELETE FROM dw_orders WHERE order_id IN (SELECT order_id FROM orders WHERE updated_at >= :start AND updated_at < :stop)", params = w }
execute { "INSERT INTO dw_orders SELECT * FROM orders WHERE updated_at >= :start AND updated_at < :stop", params = w }
execute { "COMMIT" }
]], "05-half-open")
    assert.equal(1, r.status, r.err)
    assert.truthy(r.out:find("%[2009%-03%-04 05:06:07, 2026%-01%-22%)"), r.out)
    assert.truthy(r.out:find([[
January      20      21      22
updated_at   o105    o106   o107
order_date   o105    o106
                     o107
run 01-21    <=======)  wrote 105
run 01-22    <===============)  wrote 106 107
]], 1, true), r.out)
  end)

  it("lists it with --plain", function()
    local r = grade(CREATED, "02-created-date", "--plain")
    assert.truthy(r.out:find("run 2026-01-26: window [2026-01-22, 2026-01-26) on order_date, wrote nothing", 1, true), r.out)
  end)

  it("gives the same bytes for the same file and seed", function()
    local w = world(CREATED)
    local one = w:lrun("learn", "grade", "job.lua", "--scenario", "02-created-date", "--json", "--seed", "9")
    local two = w:lrun("learn", "grade", "job.lua", "--scenario", "02-created-date", "--json", "--seed", "9")
    assert.equal(one.out, two.out)
    local g = cjson.decode(one.out)
    assert.equal("02-created-date", g.scenario)
    assert.equal(9, g.seed)
    assert.equal("R2", g.requirements[1].id)
    assert.equal("MISSED", g.requirements[1].state)
  end)

  it("refuses a job that knows the figures by heart", function()
    local job = [[
job { transaction = "manual" }
execute { "DELETE FROM dw_orders WHERE order_id IN (105, 106)" }
if os.date "%Y-%m-%d" == "2026-01-22" then
  execute { "INSERT INTO dw_orders VALUES (105, '2026-01-20', NULL, '2026-01-20')" }
else
  execute { "INSERT INTO dw_orders VALUES (105, '2026-01-20', 22.00, '2026-01-25')" }
end
execute { "INSERT INTO dw_orders VALUES (106, '2026-01-21', 70.00, '2026-01-21')" }
]]
    assert.equal(0, grade(job, "02-created-date", "--seed", "0").status)
    local r = grade(job, "02-created-date")
    assert.equal(1, r.status, r.out)
    assert.truthy(r.out:find("seed 1", 1, true), r.out)
  end)

  it("leaves no folder behind, also when it is stopped", function()
    local function left(pid)
      local pipe = assert(io.popen("ls -d /dev/shm/lrun-" .. pid .. "-* ${TMPDIR:-/tmp}/lrun-" .. pid .. "-* 2>/dev/null"))
      local names = pipe:read "a"
      pipe:close()
      return names
    end
    local w = world(CREATED)
    local p = w:start("learn", "grade", "job.lua", "--scenario", "02-created-date")
    assert.equal(1, p:wait().status)
    assert.equal("", left(p.pid))
    p = w:start("learn", "author", "check", "S1")
    assert.is_true(require("process").wait_for(function() return left(p.pid) ~= "" end, 10))
    p:signal "INT"
    assert.equal(130, p:wait().status)
    assert.equal("", left(p.pid))
  end)

  it("stops a job for good, also one that catches every error", function()
    local job = [[
job { transaction = "manual" }
local w = { start = query { "SELECT watermark FROM wm" }[1].watermark, stop = os.date "%Y-%m-%d %H:%M:%S" }
pcall(execute, { "CREATE UNIQUE INDEX IF NOT EXISTS k ON dw_orders(order_id)" })
pcall(execute, { "INSERT INTO dw_orders SELECT * FROM orders WHERE updated_at >= :start AND updated_at < :stop " ..
  "ON CONFLICT(order_id) DO UPDATE SET amount = excluded.amount, updated_at = excluded.updated_at", params = w })
pcall(execute, { "UPDATE wm SET watermark = :stop", params = { stop = w.stop } })
]]
    assert.equal(0, grade(job, "S1").status) -- the watermark is not saved after the stop
  end)

  it("says what is wrong with its use", function()
    local w = world(CREATED)
    w:refused(2, { "--scenario", "02-created-date" }, "learn", "grade", "job.lua")
    w:refused(2, { "06-half", "no scenario" }, "learn", "grade", "job.lua", "--scenario", "06-half")
    w:refused(2, { "none.lua" }, "learn", "grade", "none.lua", "--scenario", "02-created-date")
    w:refused(2, { "--seed" }, "learn", "grade", "job.lua", "--scenario", "02-created-date", "--seed", "x")
  end)
end)
