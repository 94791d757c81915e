-- learn --pg: the same lessons in schemas of a PostgreSQL that are gone afterwards.
local Course = require "course"
local World = require "world"
local cjson = require "cjson"
local lessons = require "lessons"
local postgres = require "postgres"
local process = require "process"

-- Each spec process has a database of its own, so nobody else's schemas are in it.
local database = postgres.create ""
local URL = postgres.url(database)
local function schemas()
  return postgres.rows(database, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'lrun\\_learn%' ORDER BY 1")
end

local function grade(w, job, id, ...)
  w:write("job.lua", job)
  local r = w:lrun("learn", "grade", "job.lua", "--scenario", id, "--seed", "0", "--json", ...)
  local states = {}
  for _, q in ipairs(r.status < 5 and cjson.decode(r.out).requirements or {}) do states[#states + 1] = q.id .. " " .. q.state end
  return r, table.concat(states, ", ")
end

describe("learn --pg", function()
  for _, id in ipairs(lessons.some()) do
    it("grades " .. id .. " as on SQLite", function()
      local l, w = Course.lesson(id), World.new { source = false, warehouse = false }
      for name, job in pairs { starter = l.starter, solution = l.solution } do
        local here, states = grade(w, job, id)
        local there, said = grade(w, job, id, "--pg", URL)
        assert.equal(here.status, there.status, name .. ": " .. there.err)
        assert.equal(states, said, name)
      end
      assert.same({}, schemas())
    end)
  end

  local HEAD = [[
job { transaction = "manual" }
local saved = query { "SELECT watermark FROM wm WHERE job = 'orders'" }[1].watermark
local window = { start = saved, stop = os.date "%Y-%m-%d" }
]]

  it("runs MERGE as it is taught", function()
    local r = grade(World.new { source = false, warehouse = false }, HEAD .. [==[
execute { "BEGIN" }
execute { [[
  MERGE INTO dw_orders AS t
  USING (SELECT * FROM orders WHERE updated_at >= :start AND updated_at < :stop) AS s ON t.order_id = s.order_id
  WHEN MATCHED THEN UPDATE SET order_date = s.order_date, amount = s.amount, updated_at = s.updated_at
  WHEN NOT MATCHED THEN INSERT (order_id, order_date, amount, updated_at) VALUES (s.order_id, s.order_date, s.amount, s.updated_at)
]], params = window }
execute { "UPDATE wm SET watermark = :stop WHERE job = 'orders'", params = { stop = window.stop } }
execute { "COMMIT" }
]==], "04-write-by-key", "--pg", URL)
    assert.equal(0, r.status, r.out .. r.err)
  end)

  for what, case in pairs {
    ["writes the source"] = { 'execute { "DELETE FROM orders" }', "job.lua:4" },
    ["drops a table of the source"] = { 'execute { "DROP TABLE orders" }', "source" },
    ["takes away the source's rows"] = { 'execute { "TRUNCATE orders" }', "job.lua:4" },
  } do
    it("says so when a job " .. what .. ", and goes on", function()
      local w = World.new { source = false, warehouse = false }
      local r = grade(w, HEAD .. case[1] .. "\n", "02-created-date", "--pg", URL)
      assert.equal(5, r.status, r.out)
      assert.truthy(r.err:find(case[2], 1, true), r.err)
      assert.truthy(r.err:find("source", 1, true), r.err)
      assert.equal(0, grade(w, Course.lesson("02-created-date").solution, "02-created-date", "--pg", URL).status)
    end)
  end

  it("answers now() with the virtual clock", function()
    local r = grade(World.new { source = false, warehouse = false },
      HEAD .. 'error(query { "SELECT CAST(now() AS date) AS d" }[1].d)\n',
      "02-created-date", "--pg", URL)
    assert.truthy(r.err:find("2026-01-22", 1, true), r.err)
  end)

  it("leads through a lesson: steps, back, what is there, a copy to try on", function()
    local w = World.new { source = false, warehouse = false }
    local function learn(...)
      local words = { ... }
      words[#words + 1] = "--pg"
      words[#words + 1] = URL
      return w:lrun("learn", table.unpack(words))
    end
    assert.equal(0, learn("start", "02-created-date").status)
    local first = learn("step")
    assert.equal(0, first.status, first.err)
    learn "step"
    assert.equal(0, learn("step").status)
    local state = learn("show", "state").out
    assert.truthy(state:find("22.00", 1, true), state)
    learn "back"
    learn "back"
    assert.falsy(learn("show", "state").out:find("22.00", 1, true))
    learn("goto", "3")
    assert.equal(state, learn("show", "state").out)
    local tried = w:lrun("learn", "try", "--pg", URL, { stdin = "DELETE FROM dw_orders;\nSELECT count(*) FROM dw_orders;\nq\n" })
    assert.equal(0, tried.status, tried.err)
    assert.equal(state, learn("show", "state").out)
    assert.same({}, schemas())
  end)

  it("shows the days and the books as on SQLite, and lets no weekly check write", function()
    local c = Course.new()
    for _, id in ipairs { "12", "14", "S4", "S5" } do
      c:ok("start", id)
      assert.equal(c:ok("show", "partitions").out, c:ok("show", "partitions", "--pg", URL).out)
    end
    local l = Course.lesson "S2"
    for _, m in ipairs(l.mutants) do
      if m.name == "a check that repairs" or m.name == "a check that moves the watermark" then
        local r, states = grade(c.world, m.job, "S2", "--pg", URL)
        assert.equal(1, r.status, r.err)
        assert.truthy(states:find("R9 MISSED", 1, true), states)
        assert.truthy(r.out:find("it must write nothing", 1, true), r.out)
      end
    end
  end)

  it("drops what a killed one left behind", function()
    local w = World.new { source = false, warehouse = false }
    w:write("job.lua", HEAD)
    local p = w:start("learn", "author", "check", "S1", "--pg", URL)
    assert.is_true(process.wait_for(function() return #schemas() > 0 end, 20))
    p:signal "KILL"
    p:wait()
    assert.is_true(#schemas() > 0)
    grade(w, Course.lesson("02-created-date").solution, "02-created-date", "--pg", URL)
    assert.same({}, schemas())
  end)

  it("says what is wrong with the URL, without the password", function()
    local w = World.new { source = false, warehouse = false }
    w:write("job.lua", HEAD)
    local r = w:lrun("learn", "grade", "job.lua", "--scenario", "02-created-date", "--pg", "postgresql://me:secretword@127.0.0.1:1/x")
    assert.equal(5, r.status)
    assert.truthy(r.err:find("127.0.0.1", 1, true), r.err)
    assert.falsy((r.out .. r.err):find("secretword", 1, true))
    assert.equal(2, w:lrun("learn", "grade", "job.lua", "--scenario", "02-created-date", "--pg", "sqlite:x.db").status)
  end)
end)
