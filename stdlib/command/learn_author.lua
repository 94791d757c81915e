-- lrun learn author: check a scenario's file.
local fail = require "show.fail"
local find = require "course.find"
local author = require "engine.author"
local json = require "show.json"
local wrap = require "show.wrap"

local function author_check(o, cl)
  local path = cl.args[3]
  if not path then return fail.usage(o, "learn author check needs a scenario's file", "write lrun learn author check FILE.lua") end
  local l, problem = find.lesson(path)
  if not l then return fail.show(problem, o.json) end
  local problems = author.check(l, function(word, line)
    if not o.quiet and not o.json then core.write(wrap(line, ("%-8s "):format(word), 9) .. "\n") end
  end)
  if o.json then json.line("check", { scenario = l.id, problems = problems, exit = #problems > 0 and 1 or 0 }) end
  for _, text in ipairs(problems) do core.warn(("%s: %s\n"):format(l.id, text)) end
  if #problems == 0 and not o.quiet and not o.json then core.write(("ok  %s\n"):format(l.id)) end
  return #problems > 0 and 1 or 0
end

return function(o, cl)
  if cl.args[2] == "check" then return author_check(o, cl) end
  return fail.usage(o, ("learn author has no \"%s\""):format(cl.args[2] or ""), "lrun learn author check FILE.lua")
end
