-- A scenario by its name, or a teacher's file; and the text of a job's file.
local lesson = require "engine.lesson"
local find = {}

-- Or nil, why, and whether nothing is there.
function find.text(path)
  local f, why, code = io.open(path, "rb")
  if not f then return nil, why, code == 2 end
  local text, problem = f:read "a"
  f:close()
  return text, path .. ": " .. (problem or "cannot be read")
end

-- A built-in scenario by its name, or a teacher's file.
function find.lesson(id)
  if id:find "%.lua$" then return lesson.read(id) end
  return lesson.find(id)
end

return find
