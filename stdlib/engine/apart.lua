-- Work with somebody's job in a process of its own, so that whatever it does, the
-- program that asked goes on. What fn returns is copied: plain tables only.
local cjson = require "cjson"

-- JSON has one kind of number.
local function whole(v)
  if type(v) == "number" then return math.tointeger(v) or v end
  if type(v) == "table" then
    for name, item in pairs(v) do v[name] = whole(item) end
  end
  return v
end

-- fn's table; or nil, "forced" and the line where it hung, "stopped", or "died" and
-- the signal. An error of fn is raised here.
return function(fn)
  local text, how, detail = core.apart(function() return cjson.encode(fn()) end)
  if text then return whole(cjson.decode(text)) end
  if how == "raised" then error(detail, 0) end
  return nil, how, detail
end
