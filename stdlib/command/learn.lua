-- lrun learn: grade a job against a scenario, check a scenario's file.
local fail = require "show.fail"
local json = require "show.json"
local grade = require "engine.grade"
local lesson = require "engine.lesson"
local picture = require "engine.picture"
local timeline = require "engine.timeline"
local truth = require "engine.truth"

local function usage(o, message, hint)
  return fail.show({ status = 2, message = message, hint = hint or "see lrun help learn" }, o.json)
end

local function wrap(text, first, indent)
  local lines, line = {}, first
  for word in text:gmatch "%S+" do
    if #line > indent and #line + 1 + #word > 78 then
      lines[#lines + 1] = line
      line = (" "):rep(indent) .. word
    else
      line = #line > 0 and not line:find "%s$" and line .. " " .. word or line .. word
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

local function row_text(t, entry)
  if not entry then return "no row" end
  local parts = {}
  local i = 0
  for cell in (entry.rows[1] .. "\0"):gmatch "(.-)%z" do
    i = i + 1
    if t.columns[i] == t.total and tonumber(cell) then cell = ("%.2f"):format(tonumber(cell)) end
    parts[i] = t.columns[i] .. "=" .. cell:gsub("^'(.*)'$", "%1")
  end
  return table.concat(parts, " ") .. (#entry.rows > 1 and (" (%d times)"):format(#entry.rows) or "")
end

local function show_cause(o, r)
  local found, play = r.cause, r.play
  local t = play.history.truth
  core.write(wrap(("after the run of %s: %s%s"):format(timeline.when(found.step), found.class,
    found.key and (" %s %s"):format(t.key[1], tostring(found.key)) or ""), "FIRST DIFFERENCE  ", 18) .. "\n")
  local d = found.difference
  if d and not d.why then
    core.write(wrap(row_text(t, d.have), "    warehouse     ", 18) .. "\n" .. wrap(row_text(t, d.want), "    truth         ", 18) .. "\n")
  end
  local lines = picture.lines(play, found, { width = core.width(), plain = o.plain })
  if #lines > 0 then core.write("\n" .. table.concat(lines, "\n") .. "\n\n") end
  core.write(wrap(found.evidence, "WHY     ", 8) .. "\n")
  if d and t.total and found.step.want and found.step.have then
    local s, w = truth.total(t, found.step.want, t.total), truth.total(t, found.step.have, t.total)
    core.write(("TOTALS  source %.2f   warehouse %.2f   %s\n"):format(s / 100, w / 100,
      s == w and "equal" or ("%s by %.2f"):format(w < s and "short" or "over", math.abs(s - w) / 100)))
  end
end

local function read(path)
  local f, why = io.open(path, "rb")
  if not f then return nil, why end
  local text = f:read "a"
  f:close()
  return text or nil, path .. ": cannot be read"
end

-- A built-in scenario by its name, or a teacher's file.
local function find(id)
  if id:find "%.lua$" then return lesson.read(id) end
  return lesson.find(id)
end

local function run_grade(o, cl)
  local path, id = cl.args[2], cl.given.scenario
  if not path then return usage(o, "learn grade needs a job file", "write lrun learn grade FILE.lua --scenario 02-created-date") end
  if not id then return usage(o, "learn grade needs --scenario ID", "known: " .. table.concat(lesson.list, ", ")) end
  local seed = cl.given.seed and math.tointeger(tonumber(cl.given.seed))
  if cl.given.seed and (not seed or seed < 0) then
    return usage(o, ("--seed '%s' is no whole number"):format(cl.given.seed), "write --seed 7")
  end
  local l, problem = find(id)
  if not l then return fail.show(problem, o.json) end
  local text, why = read(path)
  if not text then return usage(o, why, "name a job file, such as job.lua") end
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
    show_cause(o, r)
  end
  if r.failed then core.warn(r.failed.text .. "\n") end
  return r.status
end

local function author_check(o, cl)
  local path = cl.args[3]
  if not path then return usage(o, "learn author check needs a scenario's file", "write lrun learn author check FILE.lua") end
  local l, problem = find(path)
  if not l then return fail.show(problem, o.json) end
  local problems = grade.check(l, function(word, line)
    if not o.quiet and not o.json then core.write(wrap(line, ("%-8s "):format(word), 9) .. "\n") end
  end)
  if o.json then json.line("check", { scenario = l.id, problems = problems, exit = #problems > 0 and 1 or 0 }) end
  for _, text in ipairs(problems) do core.warn(("%s: %s\n"):format(l.id, text)) end
  if #problems == 0 and not o.quiet and not o.json then core.write(("ok  %s\n"):format(l.id)) end
  return #problems > 0 and 1 or 0
end

return function(o, cl)
  o.plain = cl.given.plain
  local what = cl.args[1]
  if what == "grade" and #cl.args <= 2 then return run_grade(o, cl) end
  if what == "author" and cl.args[2] == "check" then return author_check(o, cl) end
  return usage(o, ("learn has no \"%s\""):format(table.concat(cl.args, " ")),
               "lrun learn grade FILE --scenario ID, lrun learn author check FILE.lua")
end
