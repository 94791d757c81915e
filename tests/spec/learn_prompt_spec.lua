-- What a learner looks up beside the lesson: rows at try, a primitive's page.
local Course = require "course"

local function has(text, ...)
  for _, word in ipairs { ... } do assert.is_truthy(text:find(word, 1, true), word .. " is not in:\n" .. text) end
end

local function at_02()
  local c = Course.new()
  c:ok("start", "02")
  return c
end

describe("the course's prompt", function()
  it("reads source and warehouse at try by their tables' names", function()
    local c = at_02()
    local r = c.world:lrun("learn", "try", { stdin = "SELECT count(*) AS there FROM orders;\nSELECT count(*) AS here FROM dw_orders;\n" ..
      "DELETE FROM orders;\nSELECT count(*) AS still FROM orders;\nq\n" })
    has(r.out, "there", "here", "still")
    has(r.out .. r.err, "a source is never written")
  end)

  it("tells of a primitive at its prompt", function()
    local c = at_02()
    has(c:lines("help window", "lrun help merge", "q").out, "half-open window", "update where the key matches")
  end)
end)
