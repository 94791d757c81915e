-- A scenario by its name, or a teacher's file; and the text of a job's file.
local lesson = require "engine.lesson"
local find = {}

function find.text(path)
  local f, why = io.open(path, "rb")
  if not f then return nil, why end
  local text = f:read "a"
  f:close()
  return text or nil, path .. ": cannot be read"
end

-- A built-in scenario by its name, or a teacher's file.
function find.lesson(id)
  if id:find "%.lua$" then return lesson.read(id) end
  return lesson.find(id)
end

return find
