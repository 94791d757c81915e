-- lrun learn on a terminal of 80x24.
local Course = require "course"

local function has(text, ...)
  for _, word in ipairs { ... } do assert.is_truthy(text:find(word, 1, true), word .. " is not in:\n" .. text) end
end

local LEAVE = "\\004"

describe("lrun learn on a terminal", function()
  it("shows a page at a time, and a page is no longer than the terminal", function()
    local c = Course.new()
    local r = c:keys { "\\n", "\\n", "\\n", LEAVE }
    assert.equal(0, r.status, r.out)
    local pages, page = {}, 0
    for line in (r.out:gsub("\r", "") .. "\n"):gmatch "(.-)\n" do
      page = page + 1
      if line:find("-- Enter for more", 1, true) then
        pages[#pages + 1] = page
        page = 0
      end
    end
    assert.is_true(#pages >= 1, r.out)
    for _, n in ipairs(pages) do assert.is_true(n <= 24, r.out) end
    has(r.out, "Type step", "learn> ")
  end)

  it("drops the half-typed line at Ctrl-C, at a question too, and leaves at Ctrl-D", function()
    local c = Course.new()
    c:ok("start", "02")
    local r = c:keys { "nonsen", "\\003", "step\\n", "step\\n", "step\\n", "no", "\\003", "list\\n", LEAVE }
    assert.equal(0, r.status, r.out)
    has(r.out, "step 1 of 3", "step 2 of 3", "PREDICT", "> 02-created-date")
    assert.is_nil(r.out:find("no word of the course", 1, true), r.out)
    assert.equal("2|0", c:kept "SELECT step || '|' || (SELECT count(*) FROM predictions) FROM lessons")
  end)

  it("plays no step where it is left at the question", function()
    local c = Course.new()
    c:ok("start", "02")
    c:ok("goto", "2")
    local r = c:keys { "step\\n", LEAVE }
    assert.equal(0, r.status, r.out)
    has(r.out, "PREDICT")
    assert.equal("2", c:kept "SELECT step FROM lessons")
  end)

  it("paints words, and leaves it with --plain and NO_COLOR", function()
    local c = Course.new()
    c:ok("start", "02")
    has(c:keys({ "\\n", "\\n" }, "check").out, "\27[31mFIRST DIFFERENCE\27[0m")
    assert.is_nil(c:keys({ "\\n", "\\n" }, "check", "--plain").out:find "\27%[%d")
    assert.is_nil(c:learn("check").out:find "\27")
  end)

  it("lists the time line where it has no room, and wraps its words to the width", function()
    local c = Course.new()
    c:ok("start", "02")
    local r = c:keys({ "\\n", "\\n", columns = 60 }, "check")
    has(r.out, "order_date: o105 on 2026-01-20")
    assert.is_nil(r.out:find("[==", 1, true), r.out)
    local text = c:keys({ "\\n", "\\n", "\\n", columns = 60 }, "text").out
    for line in text:gsub("\r", ""):gmatch "[^\n]+" do
      assert.is_true(#line <= 60 or line:find "^%s" ~= nil or line:find "-- Enter" ~= nil, line)
    end
  end)

  it("asks before it shows the solution", function()
    local c = Course.new()
    c:ok("start", "02")
    local r = c:keys { "solution\\n", "n\\n", LEAVE }
    has(r.out, "counts as seen")
    assert.equal("0", c:kept "SELECT count(*) FROM lessons WHERE solution_at IS NOT NULL")
    r = c:keys { "solution\\n", "y\\n", "\\n", "\\n", LEAVE }
    has(r.out, "Others are as good")
    assert.equal("1", c:kept "SELECT count(*) FROM lessons WHERE solution_at IS NOT NULL")
  end)

  it("stops a job that loops at Ctrl-C, and goes on", function()
    local c = Course.new()
    c:ok("start", "02")
    c:job("02-created-date", "local x = ('a'):rep(50):find(('a?'):rep(50) .. ('a'):rep(50))\n")
    local r = c:keys { "check\\n", "\\003", "\\n", "\\n", "\\n", "list\\n", LEAVE }
    assert.equal(0, r.status, r.out)
    has(r.out, "> 02-created-date")
  end)
end)
