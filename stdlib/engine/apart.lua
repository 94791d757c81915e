-- Work with somebody's job in a process of its own, so that whatever it does, the
-- program that asked goes on. What fn returns is copied: plain tables only.
local cjson = require "cjson"
local apart = {}

-- JSON has one kind of number.
local function whole(v)
  if type(v) == "number" then return math.tointeger(v) or v end
  if type(v) == "table" then
    for name, item in pairs(v) do v[name] = whole(item) end
  end
  return v
end

-- Begin; a function that waits for the end. It gives fn's table; or { status =,
-- problem = } where the process came to its end before. An error of fn is raised
-- there. The box is the sandbox that it works in; shown stands for its job's path.
function apart.start(box, shown, fn)
  local job = box.job
  box:leave()
  local child = core.start(function() return cjson.encode(fn()) end)
  return function()
    local text, how, detail = child:answer()
    if text then return whole(cjson.decode(text)) end
    if how == "raised" then error(detail, 0) end
    if how == "stopped" then return { status = 130, problem = "stopped" } end
    if how == "forced" then
      local at, to = detail:find(job, 1, true)
      local where = at and shown .. detail:sub(to + 1) or shown
      return { status = 4, problem = where .. ": this call did not end, and nothing could stop it\n" ..
                                     "  hint: a string pattern may take for ever; match in steps, or let SQL do it" }
    end
    return { status = 5, problem = ("%s: the process of the job died%s"):format(shown,
      detail and detail ~= 0 and " of signal " .. tostring(detail) or "") }
  end
end

return apart
