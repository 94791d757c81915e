-- lrun learn grade: a job against a scenario.
local difference = require "course.difference"
local fail = require "show.fail"
local find = require "course.find"
local grade = require "engine.grade"
local json = require "show.json"
local lesson = require "engine.lesson"
local wrap = require "show.wrap"

return function(o, cl)
  local path, id = cl.args[2], cl.given.scenario
  if not path then return fail.usage(o, "learn grade needs a job file", "write lrun learn grade FILE.lua --scenario 02-created-date") end
  if not id then return fail.usage(o, "learn grade needs --scenario ID", "known: " .. table.concat(lesson.list, ", ")) end
  local seed = cl.given.seed and math.tointeger(tonumber(cl.given.seed))
  if cl.given.seed and (not seed or seed < 0) then
    return fail.usage(o, ("--seed '%s' is no whole number"):format(cl.given.seed), "write --seed 7")
  end
  local l, problem = find.lesson(id)
  if not l then return fail.show(problem, o.json) end
  local text, why = find.text(path)
  if not text then return fail.usage(o, why, "name a job file, such as job.lua") end
  local r = grade.job(l, text, seed, path)
  if o.json then
    local e = r.failed
    json.line("grade", { file = path, scenario = l.id, seed = r.seed, requirements = r.requirements, exit = r.status,
                         error = e and e.text or nil, limit = r.limit },
              { "file", "scenario", "seed", "requirements", "exit", "limit", "error" })
    if e then core.warn(e.text .. "\n") end
    return r.status
  end
  core.write(("grade %s  %s%s\n"):format(path, l.id, r.seed ~= 0 and ("  seed %d"):format(r.seed) or ""))
  if r.variant then core.write "  it passes as written; this is the same story with other dates, ids and amounts\n" end
  for _, q in ipairs(r.requirements) do
    core.write(wrap(q.evidence, ("  %-4s %-11s  "):format(q.id, q.state), 20) .. "\n")
  end
  if r.cause then
    core.write "\n"
    core.write(difference.text(o, r))
  end
  if r.failed then core.warn(r.failed.text .. "\n") end
  return r.status
end
