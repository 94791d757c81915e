-- lrun learn where something is wrong that no lesson is about: a check that writes, a file
-- or a folder that cannot be read or written.
local Course = require "course"

local function has(text, ...)
  for _, word in ipairs { ... } do assert.is_truthy(text:find(word, 1, true), word .. " is not in:\n" .. text) end
end

describe("a weekly check", function()
  it("that names what differs and writes all the same is not let pass, whichever table it writes", function()
    local c = Course.new()
    c:ok("start", "S2")
    local right = Course.lesson("S2").solution
    local from, to = right:find('if since ~= "" then\n', 1, true)
    assert.truthy(from)
    local function first(statement)
      c:job("S2", right:sub(1, to) .. ('  execute { "%s" }\n'):format(statement) .. right:sub(to + 1))
      local r = c:learn "check"
      assert.equal(1, r.status, r.out .. r.err)
      return r.out:gsub("%s+", " ")
    end
    has(first "UPDATE wm SET watermark = '2026-01-01'", "the check changed wm; it must write nothing", "R9 MISSED")
    has(first "INSERT INTO staged VALUES (1, 'x', 1, 'x')", "the check changed staged; it must write nothing")
    has(first "CREATE TABLE mine(a)", "the check changed mine; it must write nothing")
    has(first "UPDATE dw_orders SET amount = 1", "the check changed dw_orders; it must write nothing")
    c:job("S2", right)
    c:ok "check"
  end)
end)

describe("a course", function()
  local function at_02()
    local c = Course.new()
    c:ok("start", "02")
    return c
  end

  it("says in the head of a check that the job has an error, and counts no difference", function()
    local c = at_02()
    c:job("02-created-date", "error 'no'\n")
    local r = c:learn "check"
    assert.equal(5, r.status)
    has(r.out, "1 run, the job has an error\nERROR   ")
    assert.is_nil(r.out:find("no difference", 1, true))
  end)
end)
