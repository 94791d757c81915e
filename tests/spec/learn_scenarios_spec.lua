-- The scenarios of learn prove themselves; a random history is one more.
local World = require "world"
local lessons = require "lessons"
local random = require "random"

describe("learn's scenarios", function()
  for _, id in ipairs(lessons.some "^%u") do
    it(id .. ": the starter fails, the solutions pass on 20 seeds, each mutant fails as it says", function() lessons.proves_itself(id) end)
  end

  it("have mutants that break each of the rules R1 to R18", function()
    local broken = {}
    local path = package.path
    package.path = World.root .. "/stdlib/?.lua;" .. path
    for _, id in ipairs(lessons.list()) do
      for _, m in ipairs(require("lesson." .. id).mutants) do broken[m.rule] = (broken[m.rule] or 0) + 1 end
    end
    package.path = path
    for n = 1, 18 do assert.is_true((broken["R" .. n] or 0) > 0, ("no mutant breaks R%d"):format(n)) end
  end)
end)

-- A scenario of a teacher, right as it stands.
local SENSOR = [=[
local ROW = { { "id", "INTEGER", "id" }, { "seen", "TEXT", "date" }, { "value", "DECIMAL(10,2)", "amount" } }
local function job(where, first)
  return 'job { transaction = "manual" }\nlocal one = { day = tostring(logical_date) }\n' .. (first or "") ..
    'execute { "INSERT INTO readings SELECT * FROM sensor WHERE ' .. where .. '",\n  params = one }\n'
end
local DELETE = 'execute { "DELETE FROM readings WHERE seen = :day", params = one }\n'
return {
  id = "sensor", title = "A day of readings", about = "A day is written as a whole",
  text = [[
A sensor sends a reading of 20.50 on one day and
is read again later.

    seen   03-01   20.50
]],
  hints = { "one", "two", "three" },
  explain = "The day had 2 rows.",
  predict = { { ask = "How many rows?", choices = { "1", "2" }, sql = "SELECT COUNT(*) FROM readings", on = "warehouse", after = 2,
                job = "starter", is = "2", why = "The run adds its row again." } },
  source = { { name = "sensor", key = "id", columns = ROW, rows = { { 1, "2026-03-01", 20.50 }, { 2, "2026-03-02", 21.00 } } } },
  warehouse = { { name = "readings", columns = ROW } },
  events = { { backfill = { "2026-03-01", "2026-03-01" }, at = "2026-03-03" }, { backfill = { "2026-03-01", "2026-03-01" }, at = "2026-03-03" } },
  truth = { table = "readings", key = { "id" }, columns = { "id", "seen", "value" }, source = "SELECT * FROM sensor", partition = "seen",
            total = "value" },
  requires = { { id = "R3", night = 2 }, { id = "R11", night = 1 } },
  starter = job "seen = :day",
  solution = job("seen = :day", DELETE),
  mutants = {
    { name = "added again", rule = "R3", class = "DUPLICATE", key = 1, job = job "seen = :day" },
    { name = "from that day on", rule = "R11", class = "ORPHAN", key = 2, job = job("seen >= :day", DELETE) },
    { name = "the next day", rule = "R10", class = "MISSING", key = 1, job = job("seen > :day", DELETE) },
  },
  figures = { { "SELECT printf('%.2f', SUM(value)) FROM readings", "warehouse", is = "20.50" } },
}
]=]

describe("author check", function()
  local function check(from, to)
    local w = World.new { source = false, warehouse = false }
    local a, b = SENSOR:find(from, 1, true)
    w:write("sensor.lua", SENSOR:sub(1, a - 1) .. to .. SENSOR:sub(b + 1))
    return w:lrun("learn", "author", "check", "sensor.lua", "-q")
  end

  it("passes a teacher's file that is right", function()
    local r = check("sensor", "sensor")
    assert.equal(0, r.status, r.err)
  end)

  local wrong = {
    { "mutant's key", "key = 2", "key = 1", "found key 2" },
    { "mutant's rule", 'rule = "R3"', 'rule = "R5"', "found rule R3" },
    { "mutant's class", 'class = "ORPHAN"', 'class = "STALE"', "found class ORPHAN" },
    { "starter that passes", 'starter = job "seen = :day"', 'starter = job("seen = :day", DELETE)', "the starter passes" },
    { "solution that fails", 'solution = job("seen = :day", DELETE)', 'solution = job "seen = :day"', "solution fails with seed 0" },
    { "figure", '"warehouse", is = "20.50"', '"warehouse", is = "20.60"', "the figure 20.60" },
    { "prediction", 'is = "2"', 'is = "1"', "the answer 1 of predict 1 is 2" },
    { "list of choices", 'choices = { "1", "2" }', 'choices = { "1", "3" }', "the answer 2 of predict 1 is not among its choices" },
    { "why of a prediction", "The run adds", "2: the run adds", "begins with the answer" },
    { "amount in the text", "reading of 20.50", "reading of 20.60", "text says 20.60" },
    { "amount in the answer", "The run adds", "The 7.00 adds", "the answer of predict 1 says 7.00" },
    { "long line", "    seen   03-01", "    seen" .. (" "):rep(70) .. "03-01", "text has a line over 78 columns" },
    { "tab", "    seen   03-01", "    seen\t03-01", "text has a tab" },
    { "number of hints", '"two", ', "", "fewer than 3 hints" },
    { "explanation, one that is not there", "explain = \"The day had 2 rows.\",", "", "there is no explain" },
    { "file with nothing about it", 'about = "A day is written as a whole",', "", "there is no about" },
    { "job that is too wide", "INSERT INTO readings SELECT", "INSERT INTO readings" .. (" "):rep(60) .. "SELECT", "the starter has a line over" },
    { "hint that is the answer", '"three"', 'job("seen = :day", DELETE)', "hint 3 has the solution in it" },
  }
  for _, c in ipairs(wrong) do
    it("finds a wrong " .. c[1], function()
      local r = check(c[2], c[3])
      assert.equal(1, r.status, r.err)
      assert.truthy(r.err:find(c[4], 1, true), r.err)
    end)
  end

  it("takes a line that is wrapped, and times of day that look like amounts", function()
    local r = check("one day and\nis read", "one day at 10:20:33.50, a long line of the prose that whoever shows it wraps at 78 columns and\nis read")
    assert.equal(0, r.status, r.err)
  end)

  for _, c in ipairs {
    { "hints =", "hints = 3, x =", "hints is a number" }, { '"two", ', "2, ", "hints: entry 2" },
    { 'ask = "How many rows?",', "", "predict: entry 1: ask is missing" }, { 'is = "2"', "is = 2", "predict: entry 1: is is a number" },
    { 'choices = { "1", "2" }', "choices = { 1 }", "choices: entry 1" }, { 'title = "A day of readings",', "", "title is missing" },
  } do
    it("names the field and the file: " .. c[3], function()
      local r = check(c[1], c[2])
      assert.equal(2, r.status, r.err)
      assert.truthy(r.err:find("sensor.lua: " .. c[3], 1, true) or r.err:find("sensor.lua: predict: entry 1: " .. c[3], 1, true), r.err)
    end)
  end
end)

-- A history at random, as a scenario's file: nights with rows that come, change,
-- land during the run; nights that are missed, run twice, or stop somewhere.
local function history(rnd)
  local events, id, there = {}, 100, {}
  local function at(day, clock) return ("2026-05-%02d %s"):format(day, clock) end
  local function change(day, clock)
    if #there > 0 and rnd(3) == 1 then
      local key = there[rnd(#there)]
      return ("{ at = %q, update = 'orders', set = { amount = %d, updated_at = %q }, where = { order_id = %d } }"):format(
        at(day, clock), rnd(90), at(day, clock), key)
    end
    id = id + 1
    there[#there + 1] = id
    return ("{ at = %q, insert = 'orders', row = { %d, '2026-05-%02d', %s, %q } }"):format(
      at(day, clock), id, day, rnd(4) == 1 and "false" or rnd(90), at(day, clock))
  end
  local points = { "before_read", "after_read", "in_write", "after_write", "before_commit", "at_commit" }
  for day = 2, 9 do
    for hour = 1, rnd(3) - 1 do events[#events + 1] = change(day - 1, ("%02d:30:00"):format(hour * 7)) end
    local night, what = ("2026-05-%02d"):format(day), rnd(8)
    if what == 1 then events[#events + 1] = ("{ skip = %q }"):format(night)
    elseif what == 2 then events[#events + 1] = ("{ twice = %q }"):format(night)
    elseif what <= 5 then
      events[#events + 1] = ("{ run = %q, fail = %q }"):format(night, points[rnd(#points)])
      events[#events + 1] = ("{ retry = %q }"):format(night)
    elseif what == 6 then events[#events + 1] = ("{ run = %q, during = { %s } }"):format(night, change(day, "00:00:01"))
    else events[#events + 1] = ("{ run = %q }"):format(night) end
  end
  events[#events + 1] = '{ run = "2026-05-20" }'
  return ([[
local ORDER = { { "order_id", "INTEGER" }, { "order_date", "TEXT" }, { "amount", "DECIMAL(10,2)" }, { "updated_at", "TEXT" } }
return { id = "random", title = "random", starter = "", solution = "", mutants = {}, requires = { { id = "R2", night = 99 } },
  source = { { name = "orders", key = "order_id", columns = ORDER } },
  warehouse = { { name = "dw_orders", columns = ORDER },
                { name = "wm", columns = { { "job", "TEXT" }, { "watermark", "TEXT" } }, rows = { { "orders", "2026-05-01" } } } },
  truth = { table = "dw_orders", key = { "order_id" }, columns = { "order_id", "order_date", "amount", "updated_at" },
            source = "SELECT * FROM orders", stamp = "updated_at" },
  probe = { table = "orders", target = "dw_orders", key = "order_id", columns = { "updated_at", "order_date" }, row = { amount = 1 }, times = true },
  window = { column = "updated_at" },
  events = { %s } }
]]):format(table.concat(events, ",\n    "))
end

describe("a scenario with a weekly check", function()
  -- the payment comes six days late: no lookback of two days finds it, the check must
  local HISTORY = [[
local ORDER = { { "order_id", "INTEGER" }, { "order_date", "TEXT" }, { "amount", "DECIMAL(10,2)" }, { "updated_at", "TEXT" } }
return { id = "weekly", title = "weekly", starter = "", solution = "", mutants = {}, requires = { { id = "R13", night = 9 } },
  source = { { name = "orders", key = "order_id", columns = ORDER, rows = { { 1, "2026-03-01", 5, "2026-03-01" } } } },
  warehouse = { { name = "dw_orders", columns = ORDER } },
  truth = { table = "dw_orders", key = { "order_id" }, columns = { "order_id", "amount" },
            source = "SELECT order_id, amount FROM orders WHERE order_id < 9" },
  events = { { run = "2026-03-02" }, { skip = "2026-03-03" }, { run = "2026-03-08" },
             { reconcile = "2026-03-01", at = "2026-03-08", expect = "equal" },
             { at = "2026-03-08 10:00", insert = "orders", row = { 9, "2026-03-02", 7, "2026-03-02" } },
             { run = "2026-03-09" },
             { reconcile = "2026-03-02", at = "2026-03-09", expect = "differs" } } }
]]
  local JOB = [[
job { grain = "day" }
local rows = extract { from = "orders", by = "updated_at", window = window { since = watermark(), lookback = days(2) }%s }
merge { rows, into = "dw_orders", key = "order_id" }
reconcile { rows, with = "dw_orders", sum = "amount" }
]]

  it("is met by a check of rows, and missed by one that looks at nothing", function()
    local w = World.new { source = false, warehouse = false }
    w:write("weekly.lua", HISTORY)
    w:write("good.lua", JOB:format '')
    w:write("bad.lua", JOB:format ', where = "order_id < 9"')
    local r = w:lrun("learn", "grade", "good.lua", "--scenario", "weekly.lua", "--seed", "0")
    assert.equal(0, r.status, r.out .. r.err)
    r = w:lrun("learn", "grade", "bad.lua", "--scenario", "weekly.lua", "--seed", "0")
    assert.equal(1, r.status, r.out .. r.err)
    assert.truthy(r.out:find("the check says equal, and it is not", 1, true), r.out)
  end)
end)

describe("a random history", function()
  local MERGE = [[
job { grain = "day" }
merge { extract { from = "orders", by = "updated_at", window = window { since = watermark() } }, into = "dw_orders", key = "order_id" }
]]
  local MANUAL = [[
job { transaction = "manual" }
local w = { start = query { "SELECT watermark FROM wm" }[1].watermark, stop = os.date "%Y-%m-%d" }
execute { "BEGIN" }
execute { "DELETE FROM dw_orders WHERE order_id IN (SELECT order_id FROM orders WHERE updated_at >= :start AND updated_at < :stop)", params = w }
execute { "INSERT INTO dw_orders SELECT * FROM orders WHERE updated_at >= :start AND updated_at < :stop", params = w }
execute { "UPDATE wm SET watermark = :stop", params = { stop = w.stop } }
execute { "COMMIT" }
]]
  local PLAIN = MANUAL:gsub('execute { "DELETE [^\n]*\n', "")
  local CREATED = MANUAL:gsub("updated_at >=", "order_date >="):gsub("updated_at <", "order_date <")

  it("keeps a row that landed while a run read, also past a stop that comes next", function()
    local w = World.new { source = false, warehouse = false }
    w:write("merge.lua", MERGE)
    w:write("history.lua", (history(function() return 1 end):gsub("events = {.*", [[
      events = {
        { at = "2026-05-02 10:00:00", insert = "orders", row = { 1, "2026-05-02", 5, "2026-05-02 10:00:00" } },
        { run = "2026-05-03", during = {
          { at = "2026-05-03 00:00:01", update = "orders", set = { amount = 6, updated_at = "2026-05-03 00:00:01" }, where = { order_id = 1 } } } },
        { run = "2026-05-04", fail = "at_commit" },
        { retry = "2026-05-04" },
        { run = "2026-05-05" } } }
]])))
    local r = w:lrun("learn", "grade", "merge.lua", "--scenario", "history.lua", "--seed", "0")
    assert.equal(0, r.status, r.out .. r.err)
  end)

  it("is passed by jobs that are right, and hardly by wrong ones", function()
    local seed = random.seed()
    local rnd = math.random
    math.randomseed(seed)
    local caught = { plain = 0, created = 0 }
    local w = World.new { source = false, warehouse = false }
    w:write("merge.lua", MERGE)
    w:write("manual.lua", MANUAL)
    w:write("plain.lua", PLAIN)
    w:write("created.lua", CREATED)
    for n = 1, 10 do
      local text = history(function(m) return rnd(m) end)
      w:write("history.lua", text)
      local function grade(job) return w:lrun("learn", "grade", job .. ".lua", "--scenario", "history.lua", "--seed", "0") end
      for _, job in ipairs { "merge", "manual" } do
        local r = grade(job)
        assert.equal(0, r.status, ("seed %s, history %d, %s: %s%s\n%s"):format(seed, n, job, r.out, r.err, text))
      end
      for _, job in ipairs { "plain", "created" } do
        local r = grade(job)
        assert.is_true(r.status <= 1, ("seed %s, history %d, %s: %s"):format(seed, n, job, r.err))
        caught[job] = caught[job] + r.status
      end
    end
    for job, n in pairs(caught) do assert.is_true(n >= 5, ("seed %s: %s was found %d times"):format(seed, job, n)) end
  end)
end)
