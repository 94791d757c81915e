-- lrun learn author: a new scenario's file, its check, and how a learner sees it.
local author = require "engine.author"
local fail = require "show.fail"
local find = require "course.find"
local json = require "show.json"
local wrap = require "show.wrap"

local function new(o, path)
  local name = path:match "([^/]+)%.lua$"
  if not name then return fail.usage(o, ("%s: a scenario's file ends with .lua"):format(path), "lrun learn author new parcels.lua") end
  if core.stat(path) then return fail.usage(o, path .. " is there already", "take another name") end
  local text = require("course.template"):gsub("@ID@", (name:gsub("%%", "%%%%"))):gsub(" FILE", " " .. path:gsub("%%", "%%%%"))
  local f, why = io.open(path, "wb")
  if not f then return fail.usage(o, why, "name a file in a folder that is there") end
  local written, problem = f:write(text)
  local closed, later = f:close()
  if not written or not closed then return fail.show({ status = 1, message = problem or later }, o.json) end
  core.write(("%s: a small scenario that is right. Change it, and run lrun learn author check %s\n"):format(path, path))
  return 0
end

local function check(o, _, l)
  local problems = author.check(l, function(word, line)
    if not o.quiet and not o.json then core.write(wrap(line, ("%-8s "):format(word), 9) .. "\n") end
  end)
  if o.json then json.line("check", { scenario = l.id, problems = problems, exit = #problems > 0 and 1 or 0 }) end
  for _, text in ipairs(problems) do core.warn(("%s: %s\n"):format(l.id, text)) end
  if #problems == 0 and not o.quiet and not o.json then core.write(("ok  %s\n"):format(l.id)) end
  return #problems > 0 and 1 or 0
end

local function preview(o, _, l) return require "course.preview"(o, l) end

local WORDS = { new = new, check = check, preview = preview }

return function(o, cl)
  local word, path = cl.args[2], cl.args[3]
  local act = WORDS[word]
  if not act then
    return fail.usage(o, word and ("learn author has no \"%s\""):format(word) or "learn author needs a word",
                      "lrun learn author new | check | preview FILE.lua")
  end
  if not path then
    return fail.usage(o, ("learn author %s needs a scenario's file"):format(word), ("write lrun learn author %s FILE.lua"):format(word))
  end
  if act == new then return new(o, path) end
  local l, problem = find.lesson(path)
  if not l then return fail.show(problem, o.json) end
  return act(o, path, l)
end
