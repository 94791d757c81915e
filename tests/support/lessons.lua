-- lessons.lua: the lessons that are built in, asked of the binary.
local assert = require "luassert"
local World = require "world"

local M = {}

-- Their names in their order, as a wrong name is answered; of those that fit a pattern.
function M.list(pattern)
  local list = {}
  local w = World.new { source = false, warehouse = false }
  local r = w:lrun("learn", "author", "check", "no lesson is named so, nor nearly so")
  for id in r.err:match("known: ([^\n]*)"):gmatch "[^, ]+" do
    if id:find(pattern or "") then list[#list + 1] = id end
  end
  return list
end

-- The same; with a sanitizer, which makes each five times as slow, every fifth of them:
-- they run the same C.
function M.some(pattern)
  local list = {}
  for i, id in ipairs(M.list(pattern)) do
    if not World.sanitized or i % 5 == 0 then list[#list + 1] = id end
  end
  return list
end

-- author check finds nothing wrong: the starter fails, the solutions pass on 20 seeds,
-- each mutant fails as it says, texts and figures are right.
function M.proves_itself(id)
  local w = World.new { source = false, warehouse = false }
  local r = w:lrun("learn", "author", "check", id)
  assert.equal(0, r.status, r.err)
  assert.equal("", r.err)
end

return M
