-- lrun learn: the course, through a pipe and word by word.
local Course = require "course"
local files = require "files"
local lessons = require "lessons"
local process = require "process"
local random = require "random"
local World = require "world"

local function has(text, ...)
  for _, word in ipairs { ... } do assert.is_truthy(text:find(word, 1, true), word .. " is not in:\n" .. text) end
end

local function lacks(text, ...)
  for _, word in ipairs { ... } do assert.is_nil(text:find(word, 1, true), word .. " is in:\n" .. text) end
end

-- At lesson 02, which some of the specs know by heart.
local function at_02()
  local c = Course.new()
  c:ok("start", "02")
  return c
end

local LESSON = Course.lesson "02-created-date"

describe("lrun learn", function()
  it("leads a newcomer: a welcome, the first lesson's text, what can be typed", function()
    local c = Course.new()
    local r = c:learn()
    assert.equal(0, r.status, r.err)
    local first = Course.lesson(Course.list[1])
    has(r.out, "lrun learn: a course", "lrun-course/", first.title, "lrun-course/" .. first.id .. "/job.lua", "Type step")
    assert.equal(first.starter, c:read(first.id .. "/job.lua"))
    has(c:read(first.id .. "/README.txt"), first.title)
    local again = c:ok()
    lacks(again.out, "a course about")
    has(again.out, "You are here: step 0", first.id)
  end)

  it("plays one event after another, and asks for a prediction that is told and not graded", function()
    local c = at_02()
    has(c:ok("step").out, "step 1 of 3   2026-01-22   a run", "[2026-01-20, 2026-01-22) on order_date: rows 105 106",
        "statements", "added 105 106", "now 6 rows, amount 220.50", "watermark    2026-01-22, it was 2026-01-20")
    has(c:ok("step").out, "step 2 of 3", "the source changes", "amount 22.00, updated_at 2026-01-25")
    local r = c:learn("step", { stdin = "c\n221\n" })
    has(r.out, LESSON.predict[1].ask:sub(1, 30), "a) none", "You said 2. It is none.", "You said 221. It is 220.50.", "wrote        nothing",
        "That was the last event")
    assert.equal("2", c:kept "SELECT count(*) FROM predictions")
    assert.equal("2|221", c:kept "SELECT group_concat(answer, '|') FROM predictions")
    lacks(c:ok("step").out, "PREDICT")
    c:ok "back"
    lacks(c:ok("step").out, "PREDICT", "ANSWER")
    c:job(LESSON.id, LESSON.starter .. "print('hello', 40 + 2)\n")
    has(c:ok("goto", "1").out, "printed      hello 42")
  end)

  it("asks again where the question was left by another word, and takes step and Enter for no answer", function()
    local c = at_02()
    local r = c:lines("step", "step", "step", "list", "step", "step", "", "q")
    assert.equal(0, r.status, r.err)
    has(r.out, "your answer: list", "> 02-created-date", "It is none.")
    lacks(r.out, "You said")
    assert.equal("3", c:kept "SELECT step FROM lessons WHERE id = '02-created-date'")
  end)

  it("asks about the right job too, and does not hold it against the learner's", function()
    local c = Course.new()
    c:ok("start", "09")
    local l = Course.lesson "09-lookback"
    local r = c:lines("goto 2", "step", "NULL", "a", "q")
    has(r.out, l.predict[2].ask:sub(1, 30), "You said NULL, and so it is.", "You said NULL. It is 22.00.")
    lacks(r.out, "With your job")
    c:ok("reset", "--all")
    c:job(l.id, l.solution)
    r = c:lines("goto 2", "step", "22", "q")
    has(r.out, "You said 22, and so it is.")
    lacks(r.out, l.predict[1].ask:sub(1, 30))
  end)

  it("tells the first difference with its time line, its totals, its rule and the next hint", function()
    local c = at_02()
    local r = c:learn "check"
    assert.equal(1, r.status)
    has(r.out, "check 02-created-date                                     2 runs, 1 difference",
        "FIRST DIFFERENCE  after the run of 2026-01-26: STALE order_id 105", [[
    warehouse   amount NULL    updated_at 2026-01-20
    truth       amount 22.00   updated_at 2026-01-25

January      20      21      22      23      24      25      26
updated_at   o105    o106                            o105 paid 22.00
]], "WHY     the window is on order_date", "TOTALS  source 242.50   warehouse 220.50   short by 22.00",
        "RULE    R2 find rows that changed                 02-created-date, hint 1 of 3")
    has(c:ok("hint").out, "HINT 1 of 3")
    has(c:learn("check").out, "hint 2 of 3")
    c:ok "hint"
    has(c:ok("hint").out, "HINT 3 of 3")
    has(c:ok("hint").out, "HINT 1 of 3", "HINT 2 of 3", "HINT 3 of 3")
  end)

  it("passes a mended job, explains, and moves on only when it is told to", function()
    local c = at_02()
    c:job(LESSON.id, LESSON.solution)
    local r = c:ok "check"
    has(r.out, "PASSED", "no difference", "The rule: put the window on a column that moves", "lrun learn next")
    assert.equal("02-created-date", c:kept "SELECT value FROM course WHERE name = 'lesson'")
    has(c:ok("list").out, "passed")
    has(c:ok("next").out, "03-updated-at")
    assert.equal("03-updated-at", c:kept "SELECT value FROM course WHERE name = 'lesson'")
    has(c:ok("next").out, "03-updated-at is not passed yet")
  end)

  it("checks another file, and another lesson, and counts neither as a pass of this one", function()
    local c = at_02()
    c.world:write("mine.lua", LESSON.solution)
    has(c:ok("check", "-f", "mine.lua").out, "not counted")
    assert.equal("0", c:kept "SELECT count(*) FROM lessons WHERE passed_at IS NOT NULL")
    c.world:refused(2, { "05-half-open", "not been started" }, "learn", "check", "5")
    c:ok("start", "5")
    c:job(LESSON.id, LESSON.solution)
    has(c:ok("check", "02").out, "PASSED")
    assert.equal("02-created-date", c:kept "SELECT group_concat(id) FROM lessons WHERE passed_at IS NOT NULL")
  end)

  it("gives a check as one JSON object, and nothing but its status with -q", function()
    local c = at_02()
    local r = c:learn("check", "--json")
    assert.equal(1, r.status)
    local g = require("cjson").decode(r.out)
    assert.same({ "02-created-date", "R2", "MISSED", 1 }, { g.scenario, g.requirements[1].id, g.requirements[1].state, g.exit })
    r = c:learn("check", "-q")
    assert.same({ 1, "", "" }, { r.status, r.out, r.err })
    c.world:refused(2, { "--json" }, "learn", "step", "--json")
  end)

  it("shows a review at the end of a scenario: each requirement met, missed or not reached", function()
    local c = Course.new()
    c:ok("start", "s1")
    local r = c:learn "check"
    assert.equal(1, r.status)
    has(r.out, "REVIEW", "MISSED", "not reached", "R5", "R7")
    c:job("S1", Course.lesson("S1").solution)
    r = c:ok "check"
    for _, q in ipairs(Course.lesson("S1").requires) do has(r.out, q.id .. "   met") end
  end)

  it("finds its course from below, and takes another folder by --dir", function()
    local c = at_02()
    has(c:ok("list", { cwd = c:path "02-created-date" }).out, "> 02-created-date")
    assert.equal(1, c:learn("check", { cwd = c:path "02-created-date" }).status)
    c:ok("start", "05", "--dir", "elsewhere")
    has(c:ok("list", "--dir", "elsewhere").out, "> 05-half-open")
    has(c:ok("list").out, "> 02-created-date")
  end)

  it("says what is wrong with its use, and goes on", function()
    local c = Course.new()
    local w = c.world
    w:refused(2, { "no course", "lrun learn" }, "learn", "step")
    w:write("afile", "")
    w:refused(1, { "afile", "cannot be made", "--dir" }, "learn", "--dir", "afile")
    w:refused(2, { "chekc", "check" }, "learn", "chekc")
    c:ok("start", "02")
    w:refused(2, { "no scenario", "77" }, "learn", "start", "77")
    w:refused(2, { "show has no", "state" }, "learn", "show", "stat")
    w:refused(2, { "--at" }, "learn", "show", "state", "--at", "x")
    w:refused(2, { "goto" }, "learn", "goto", "x")
    w:refused(2, { "too many" }, "learn", "step", "2")
    w:refused(2, { "none.lua" }, "learn", "check", "-f", "none.lua")
    has(c:lines("lrun learn", "lrun learn list", "q").out, "You are here", "> 02-created-date")
    local r = c:lines("nonsense", "show foo", "check --at", "goto -1", "list", "q")
    has(r.out, "> 02-created-date")
    has(r.err, "nonsense", "foo", "--at needs a value", "goto takes")
    os.remove(c:path "02-created-date/job.lua")
    w:refused(2, { "job.lua is not there", "reset --file" }, "learn", "check")
    c:ok "reset"
    assert.equal(LESSON.starter, c:read "02-created-date/job.lua")
  end)

  it("is left by each of the words, and by the end of its input", function()
    local c = at_02()
    for _, word in ipairs { "q", "quit", "exit", ".exit", "\\q" } do
      local r = c:lines(word, "list")
      assert.equal(0, r.status, word)
      lacks(r.out, "05-half-open")
      assert.equal(0, c:learn(word).status)
    end
    assert.equal(0, c:learn({ stdin = "list" }).status)
  end)
end)

describe("the course's timeline", function()
  it("goes back and to any step exactly", function()
    local c = Course.new()
    c:ok("start", "S1")
    local function rows(n) return c:ok("show", "state", "--at", tostring(n)).out end
    local seen, told = {}, {}
    for n = 1, 12 do
      told[n] = c:ok("step").out
      seen[n] = c:ok("show", "state").out
    end
    lacks(seen[1], " 203 ") -- the order comes in step 2
    has(seen[2], " 203 ")
    has(seen[1], "orders  2026-02-02 00:00:00") -- the watermark that step 1 saved
    local rnd, seed = math.random, "seed " .. random.seed()
    for _ = 1, 8 do
      local n = rnd(12)
      assert.equal(told[n], c:ok("goto", tostring(n)).out, seed)
      assert.equal(seen[n], c:ok("show", "state").out, seed)
      assert.equal(seen[n], rows(n), seed)
    end
    c:ok("goto", "5")
    assert.equal(told[4], c:ok("back").out)
    assert.equal("4", c:kept "SELECT step FROM lessons WHERE id = 'S1'")
    has(c:ok("goto", "0").out, "before the first step")
    has(c:ok("back").out, "before the first step")
  end)

  it("counts nothing that is done at try", function()
    local c = at_02()
    c:ok "step"
    local before = c:ok("show", "state").out
    local r = c:learn("try", { stdin = "DELETE FROM dw_orders;\ncommit\nselect count(*) as n from dw_orders\n" ..
      "extract { from = 'orders' }:count()\nos.date '%Y-%m-%d'\nq\n" })
    assert.equal(0, r.status, r.err)
    has(r.out, "nothing here counts", "6 rows changed", "2026-01-22")
    assert.equal(before, c:ok("show", "state").out)
    has(c:learn("try", "--at", "0", { stdin = "select count(*) as n from dw_orders\n" }).out, "4")
    local inside = c:lines("try", "select 40 + 2 as answer;", "q", "list", "q")
    has(inside.out, "42", "> 02-created-date")
  end)

  it("draws each mark at its time, also where its label has no room", function()
    local c = Course.new()
    local function column(out, pattern)
      for line in out:gmatch "[^\n]+" do
        local at = line:find(pattern)
        if at then return at end
      end
    end
    c:ok("start", "07")
    local out = c:learn("check").out
    local day = out:match("\nJanuary[^\n]*"):find "26" - 1
    assert.equal(day, column(out, "o107")) -- it came two seconds after that midnight
    assert.equal(day, column(out, "%^"))
    c:ok("start", "03")
    c:ok("goto", "5")
    out = c:ok("show").out
    assert.equal(out:match("\nJanuary[^\n]*"):find "26" - 1, column(out, "o104 corrected"))
  end)

  it("shows a NULL total as NULL, and the books of a day beside what is copied", function()
    local c = Course.new()
    for _, id in ipairs { "14-check-day", "15-safe-backfill" } do
      c:ok("start", id)
      c:job(id, Course.lesson(id).solution)
      has(c:learn("step", { stdin = "\n\n" }).out, id == "14-check-day" and "22.00 <> NULL" or "a run for 2026-01-19")
      if id == "15-safe-backfill" then c:learn("step", { stdin = "\n\n" }) end
      local out = c:ok("show", "partitions").out
      has(out, "order_date  orders        feed          dw_orders",
          "2026-01-20  1 row, 22.00  1 row, NULL   1 row, NULL   DIFFERS", "orders, the books")
      lacks(out, "0.00  0.00", " 0.00")
    end
    c:ok("start", "12")
    has(c:ok("show", "partitions").out, "22.00              NULL  DIFFERS")
    c:ok("start", "S5")
    has(c:ok("show", "partitions").out, "2026-01-03  3600.00", "2026-01-11  no row ", "EXTRA")
  end)

  it("draws what show is asked for, within 80 columns", function()
    local c = at_02()
    for _ = 1, 3 do c:learn("step", { stdin = "\n\n" }) end
    has(c:ok("show").out, "January      19      20      21", [[
run 01-26                            [===============================)
             wrote nothing
]])
    has(c:ok("show", "partitions").out, "2026-01-20       1          1          22.00              NULL  DIFFERS",
        "2026-01-21       1          1          70.00             70.00  equal")
    has(c:ok("show", "diff").out, "STALE       order_id 105", "warehouse   amount NULL", "short by 22.00")
    has(c:ok("show", "state").out, "source: orders", "warehouse: dw_orders", "warehouse: wm", "2026-01-26")
    has(c:ok("show", "trace").out, "the run of 2026-01-26", "begin", "commit", "write  warehouse INSERT INTO staged")
    has(c:ok("show", "sql").out, "order_date >= '2026-01-22'", "'2026-01-26'")
    has(c:ok("show", "timeline", "--at", "0").out, "before the first of 3 steps", "o105")
    has(c:ok("show", "timeline", "--plain").out, "run 2026-01-26: window [2026-01-22, 2026-01-26) on order_date, wrote nothing")
    lacks(c:ok("show", "timeline", "--plain").out, "[==")
    c:ok("start", "16")
    has(c:ok("show", "scd").out, [[
            2025-06-01 2026-01-08
1           [IN=======)[DE=======>
2           [IN==================>
3           [DE==================>
]])
    has(c:ok("show", "scd", "--plain").out, "customer_id 1: IN, from 2025-06-01 to 2026-01-08")
  end)
end)

describe("what the course keeps", function()
  it("is set back, and the learner's file stays as a dated copy", function()
    local c = at_02()
    c:ok "step"
    c:ok "hint"
    c:job(LESSON.id, "-- mine\n")
    c:ok("reset", "--db")
    assert.equal("0", c:kept "SELECT step FROM lessons")
    assert.equal("-- mine\n", c:read "02-created-date/job.lua")
    local r = c:ok("reset", "--file")
    local copy = r.out:gsub("\n", " "):match "(lrun%-course/02%-created%-date/job%-%d+%-%d+[-%d]*%.lua)"
    assert.equal("-- mine\n", files.read(c.world:path(copy)))
    assert.equal(LESSON.starter, c:read "02-created-date/job.lua")
    assert.equal("1", c:kept "SELECT hints FROM lessons")
    c:ok("reset", "--all")
    assert.equal("0", c:kept "SELECT hints + step + attempts FROM lessons")
    has(c:ok("diff").out, "as it was at first")
  end)

  it("never writes over a learner's file", function()
    local c = at_02()
    c:job(LESSON.id, "-- mine\n")
    files.write(c:path "02-created-date/README.txt", "my notes\n")
    c:ok("start", "02")
    c:ok()
    assert.equal("-- mine\n", c:read "02-created-date/job.lua")
    assert.equal("my notes\n", c:read "02-created-date/README.txt")
    has(c:ok("diff").out, "+ -- mine")
  end)

  -- Lines of a job that are not known from elsewhere.
  local function lines_of(text, known, out)
    for line in text:gmatch "[^\n]+" do
      if #line > 30 and not known:find(line, 1, true) then out[#out + 1] = line end
    end
  end

  -- What must not be found: solution, truth, mutants, what a prediction is.
  local function secrets_of(l, known)
    local out = { l.truth.source, l.explain }
    lines_of(l.solution, known, out)
    for _, list in ipairs { l.others or {}, l.mutants } do
      for _, other in ipairs(list) do lines_of(other.job, known, out) end
    end
    for _, p in ipairs(l.predict or {}) do
      out[#out + 1] = p.why
      out[#out + 1] = p.sql
    end
    return out
  end

  it("holds no answer when every lesson has been walked from the first step to the last, and no line is too long", function()
    local c = Course.new()
    local known, list = "", lessons.some()
    for _, id in ipairs(Course.list) do
      local l = Course.lesson(id)
      known = known .. l.starter .. (l.text or "") .. table.concat(l.hints or {})
    end
    for _, id in ipairs(list) do
      local words = { "start " .. id, "show", "show partitions" }
      for _ = 1, 3 do words[#words + 1] = "step" end
      words[#words + 1] = "goto 99"
      for _, what in ipairs { "", " partitions", " scd", " state", " diff", " trace", " sql" } do words[#words + 1] = "show" .. what end
      local r = c:lines(table.unpack(table.move({ "hint", "solution", "solution", "try", "select 1;", "q", "q" }, 1, 7, #words + 1, words)))
      assert.equal("", r.err, id)
      has(r.out, "step 1")
      lacks(r.out, "nil", "table: 0x", ".0 steps")
      local l = Course.lesson(id)
      for line in r.out:gmatch "[^\n]+" do assert.is_true(#line <= 80 or l.solution:find(line, 1, true) ~= nil, id .. ": " .. line) end
    end
    local held = {}
    for _, path in ipairs(c:files()) do held[#held + 1] = files.read(path) end
    held = table.concat(held, "\0")
    for _, id in ipairs(list) do
      assert.truthy(held:find(Course.lesson(id).starter, 1, true), "the starter of " .. id .. " is not there")
      for _, secret in ipairs(secrets_of(Course.lesson(id), known)) do
        if not known:find(secret, 1, true) then assert.falsy(held:find(secret, 1, true), id .. ": the folder holds " .. secret) end
      end
    end
  end)

  it("survives a kill at any moment", function()
    local c = at_02()
    local rnd, seed = math.random, "seed " .. random.seed()
    local at = { step = 0, hints = 0 }
    for _ = 1, 25 do
      local word = ({ "step", "hint", "check", "back", "start" })[rnd(5)]
      local p = c.world:start("learn", word, word == "start" and "02" or nil)
      process.sleep(("%.3f"):format(rnd(60) / 1000))
      p:signal "KILL"
      p:wait()
      os.execute(("rm -rf /dev/shm/lrun-%d-* ${TMPDIR:-/tmp}/lrun-%d-*"):format(p.pid, p.pid)) -- what a kill leaves behind
      assert.equal("ok", c:kept "PRAGMA integrity_check", seed)
      local step, hints = tonumber(c:kept "SELECT step FROM lessons"), tonumber(c:kept "SELECT hints FROM lessons")
      assert.is_true(math.abs(step - at.step) <= 1, seed)
      assert.is_true(hints - at.hints <= 1 and hints >= at.hints, seed)
      at = { step = step, hints = hints }
      assert.equal(LESSON.starter, c:read "02-created-date/job.lua")
    end
    has(c:ok().out, "You are here: step " .. at.step)
  end)

  it("loses no file of a learner's to a kill in the middle of a reset", function()
    local c = at_02()
    local seed = "seed " .. random.seed()
    local mine = ("-- mine, and long enough to be cut in two\n"):rep(2000)
    for _ = 1, 12 do
      c:job(LESSON.id, mine)
      local p = c.world:start("learn", "reset", "--file")
      process.sleep(("%.3f"):format(math.random(25) / 1000))
      p:signal "KILL"
      p:wait()
      if c:read "02-created-date/job.lua" ~= mine then
        assert.equal(LESSON.starter, c:read "02-created-date/job.lua", seed)
        local kept = false
        for _, path in ipairs(c:files()) do kept = kept or path:find "/job%-[%d-]+%.lua$" and files.read(path) == mine end
        assert.is_true(kept, seed)
      end
      os.execute("rm -f " .. process.quote(c:path "02-created-date") .. "/job-*")
    end
  end)

  it("is refused by name where it is no database, and is left alone", function()
    local c = at_02()
    files.write(c:path ".learn/progress.db", ("no database "):rep(100))
    c.world:refused(5, { "progress.db", "move the file away" }, "learn", "step")
    assert.equal(("no database "):rep(100), c:read ".learn/progress.db")
  end)
end)

describe("a job that misbehaves in the course", function()
  local cases = {
    { "loops", "while true do end", 4, "more than" },
    { "eats memory", "local t = {}\nwhile true do t[#t + 1] = ('x'):rep(1e5) end", 4, "memory" },
    { "opens a file", "io.open '/etc/passwd'", 5, "io.open" },
    { "leaves", "os.exit(0)", 5, "os.exit" },
    { "drops its tables", "execute { 'DROP TABLE dw_orders' }\nquery { 'SELECT * FROM dw_orders' }", 5, "dw_orders" },
    { "writes to the source", "execute { 'DELETE FROM source.orders' }", 5, "source" },
    { "raises a table", "error({})", 5, "a table" },
    { "is no Lua", "if then", 5, "unexpected symbol" },
  }
  it("is told of with its line, and the course goes on", function()
    local c = at_02()
    for _, case in ipairs(cases) do
      c:job(LESSON.id, 'job { transaction = "manual" }\n' .. case[2] .. "\n")
      local r = c:learn "check"
      assert.equal(case[3], r.status, case[1] .. "\n" .. r.out .. r.err)
      has(r.out, "ERROR", "job.lua:", case[4])
      local on = c:lines("check", "step", "list", "q")
      has(on.out, "> 02-created-date")
      assert.equal("0", c:kept "SELECT step FROM lessons")
    end
  end)

  it("is stopped by SIGTERM, with nothing more to say", function()
    local c = at_02()
    c:job(LESSON.id, 'job { transaction = "manual" }\nlocal x = ("a"):rep(50):find(("a?"):rep(50) .. ("a"):rep(50))\n')
    local p = c.world:start("learn", "check")
    process.sleep(0.5)
    p:signal "TERM"
    local r = p:wait()
    assert.same({ 143, "", "" }, { r.status, r.out, r.err })
  end)

  it("that has dropped its table is told so, wherever the table is looked for", function()
    local c = at_02()
    c:job(LESSON.id, 'job { transaction = "manual" }\nexecute { "DROP TABLE IF EXISTS dw_orders" }\n')
    local gone = "the table dw_orders is gone or has other columns"
    local function told(...)
      local r = c:learn(...)
      has(r.out:gsub("%s+", " "), gone)
      return r.status
    end
    told "step"
    told("show", "partitions")
    told("show", "diff")
    assert.is_true(told "check" > 0)
  end)

  it("is ended with its line where it hangs in a pattern that nothing can stop", function()
    local c = at_02()
    c:job(LESSON.id, 'job { transaction = "manual" }\nlocal a = 50\nlocal x = ("a"):rep(a):find(("a?"):rep(a) .. ("a"):rep(a))\n')
    local on = c:lines("check", "list", "q")
    has(on.err, "lrun-course/02-created-date/job.lua:3", "pattern")
    has(on.out, "> 02-created-date")
  end)
end)

describe("lrun learn watch", function()
  it("checks again when the job is saved, and ends with the pass", function()
    local c = at_02()
    c.world:write("right.lua", LESSON.solution)
    local r = process.sh(("(sleep 1; cp right.lua lrun-course/02-created-date/job.lua; sleep 2) | %s learn watch"):format(
      process.quote(World.bin)), { cwd = c.world.dir })
    assert.equal(0, r.status, r.err)
    has(r.out, "FIRST DIFFERENCE", "watching lrun-course/02-created-date/job.lua", "PASSED")
  end)

  it("is left by q", function()
    local c = at_02()
    local r = process.sh(("(sleep 0.5; echo q; sleep 1) | %s learn watch"):format(process.quote(World.bin)), { cwd = c.world.dir })
    assert.equal(1, r.status)
    has(r.out, "FIRST DIFFERENCE")
  end)
end)
