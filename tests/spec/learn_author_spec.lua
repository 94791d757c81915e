-- A teacher's scenario: a new file, its check, and how a learner sees it.
local World = require "world"
local files = require "files"

local function world() return World.new { source = false, warehouse = false } end

describe("learn author new", function()
  it("writes a scenario with comments that its check passes", function()
    local w = world()
    local r = w:ok("learn", "author", "new", "depot.lua")
    assert.truthy(r.out:find("lrun learn author check depot.lua", 1, true), r.out)
    assert.truthy(files.read(w.dir .. "/depot.lua"):find('id = "depot"', 1, true))
    r = w:ok("learn", "author", "check", "depot.lua")
    assert.truthy(r.out:find("ok  depot", 1, true), r.out)
    assert.equal("", r.err)
  end)

  it("writes over no file, and takes the name of a Lua file only", function()
    local w = world()
    w:write("mine.lua", "return {}")
    w:refused(2, { "mine.lua is there already" }, "learn", "author", "new", "mine.lua")
    assert.equal("return {}", files.read(w.dir .. "/mine.lua"))
    w:refused(2, { "ends with .lua" }, "learn", "author", "new", "mine")
    w:refused(2, { "none/mine.lua" }, "learn", "author", "new", "none/mine.lua")
    w:refused(2, { "needs a scenario's file" }, "learn", "author", "new")
    w:refused(2, { "learn author has no \"make\"" }, "learn", "author", "make", "mine.lua")
  end)
end)

describe("learn author check", function()
  it("finds what is graded and is no rule, or is proved by a night or an event that never comes", function()
    local w = world()
    w:ok("learn", "author", "new", "depot.lua")
    local text = files.read(w.dir .. "/depot.lua")
    local function wrong(from, to, ...)
      local at, stop = text:find(from, 1, true)
      w:write("depot.lua", text:sub(1, at - 1) .. to .. text:sub(stop + 1))
      local r = w:refused(1, { "depot: requires, entry 1: ", hint = false, ... }, "learn", "author", "check", "depot.lua")
      assert.is_nil(r.out:find("ok  depot", 1, true))
    end
    local R3 = 'id = "R3", text = "write by key, no second copy", night = 2'
    wrong(R3, 'id = "R99", night = 2', "R99 is no rule")
    wrong(R3, 'id = "R3", night = 9', "night = 9, and the story has 3 runs")
    wrong(R3, 'id = "R3", event = 40', "event = 40, and the story has")
    wrong(R3, 'id = "R3"', "neither the night nor the event")
  end)

  it("names what a teacher has, where a field is missing", function()
    local w = world()
    w:write("empty.lua", "return {}")
    local r = w:refused(2, { "id is missing", "lrun learn author new" }, "learn", "author", "check", "empty.lua")
    assert.is_nil(r.err:find("stdlib", 1, true))
  end)
end)

describe("learn author preview", function()
  it("shows text, prediction, time line, first difference, review, hints and end, in this order", function()
    local w = world()
    w:ok("learn", "author", "new", "depot.lua")
    local r = w:ok("learn", "author", "preview", "depot.lua")
    local at = 1
    for _, words in ipairs { "depot   Parcels on the move", "A depot keeps its parcels", "PREDICT  How many rows", "ANSWER   It is 2",
                             "  3  2026-05-03           a run: wrote changed 1 (2 times)", "run 05-03            [=======)  wrote 1",
                             "FIRST DIFFERENCE  after the run of 2026-05-03: DUPLICATE parcel_id 1", "REVIEW", "R3   MISSED", "R4   not reached",
                             "1. What is in dw_parcels", "The rule: write by key." } do
      local from, to = r.out:find(words, at, true)
      assert.truthy(from, words .. " in\n" .. r.out)
      at = to
    end
    for line in r.out:gmatch "[^\n]+" do assert.is_true(#line <= 80, line) end
  end)

  it("shows the built-in ones too, and an error of the starter", function()
    local w = world()
    assert.truthy(w:ok("learn", "author", "preview", "S4").out:find("R15 ", 1, true))
    w:ok("learn", "author", "new", "depot.lua")
    local text = files.read(w.dir .. "/depot.lua")
    w:write("depot.lua", (text:gsub("starter = job%(HALF_OPEN%)", "starter = 'error \"no\"'")))
    assert.truthy(w:ok("learn", "author", "preview", "depot.lua").out:find("ERROR   starter:1: no", 1, true))
    w:refused(2, { "nowhere.lua" }, "learn", "author", "preview", "nowhere.lua")
  end)
end)

describe("the example of a teacher's scenario", function()
  it("passes its check", function()
    local r = world():lrun("learn", "author", "check", World.root .. "/examples/sensor_gaps.lua")
    assert.equal(0, r.status, r.err)
    assert.equal("", r.err)
  end)
end)
