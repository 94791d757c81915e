-- check: the whole timeline from the start, and what it shows; watch: the same
-- whenever the job is saved.
local difference = require "course.difference"
local find = require "course.find"
local folder = require "course.folder"
local lesson = require "engine.lesson"
local grade = require "engine.grade"
local json = require "show.json"
local prose = require "course.prose"
local rules = require "engine.rules"
local stage = require "course.stage"
local timeline = require "engine.timeline"
local walk = require "course.walk"
local width = require "show.width"
local wrap = require "show.wrap"
local check = {}

local function count(n, word) return n == 0 and "no " .. word or ("%d %s%s"):format(n, word, n == 1 and "" or "s") end

local function runs(play)
  local n = 0
  for _, s in ipairs(play.steps) do if timeline.RUNS[s.kind] then n = n + 1 end end
  return n
end

-- A scenario ends with a review; a lesson is about one fault.
local function is_scenario(l) return l.closed or not l.id:find "^%d" end

local function review(r)
  local met, alike = nil, true
  for _, q in ipairs(r.requirements) do
    if q.state == "met" then
      alike = alike and (not met or met == q.evidence)
      met = met or q.evidence
    end
  end
  alike = alike and r.status == 0
  local out = { alike and wrap(met, "REVIEW  ", 8) or "REVIEW" }
  for _, q in ipairs(r.requirements) do
    local line = ("  %-4s %-11s  %s"):format(q.id, q.state, rules[q.id] or "")
    local why = q.state ~= "not reached" and not alike and q.evidence
    if why and #line + 2 + #why <= width() then line = line .. ": " .. why
    elseif why then line = line .. "\n" .. wrap(why, (" "):rep(20), 20) end
    out[#out + 1] = line
  end
  return table.concat(out, "\n") .. "\n"
end

-- In the process of the play: all that is shown of it, but for the lesson's end.
function check.result(o, l, job, shown, box)
  local r = grade.within(box, l, job, nil, shown)
  local n = r.cause and (r.cause.step.differences and #r.cause.step.differences or 1) or 0
  local found = r.failed and "the job has an error" or count(r.cause and math.max(n, 1) or 0, "difference")
  local out = { head = ("%s, %s"):format(count(runs(r.play), "run"), found),
                status = r.status, requirements = r.requirements, limit = r.limit,
                rule = r.cause and r.cause.rule or nil, failed = r.failed and r.failed.text or nil,
                variant = r.variant and true or false }
  if r.cause then out.text = difference.text(o, r) end
  if is_scenario(l) then out.review = review(r) end
  return out
end

local function rule_line(l, known, rule)
  local left = ("RULE    %s %s"):format(rule, rules[rule] or "")
  local hints = #(l.hints or {})
  local right, wide = l.id, width()
  if known and hints > 0 then
    right = right .. (known.hints < hints and (", hint %d of %d"):format(known.hints + 1, hints) or ", all hints seen")
  end
  if #left + 3 + #right > wide then return left .. "\n" .. (" "):rep(wide - #right) .. right .. "\n" end
  return left .. (" "):rep(wide - #left - #right) .. right .. "\n"
end

local function ending(l, known, first)
  local how = not first and ", again" or known.solution_at and ", after a look at the solution" or
              known.attempts <= 1 and " at the first check" or (" at check %d"):format(known.attempts)
  local out = { wrap(l.id .. how .. ", and once more with other dates, ids and amounts", "PASSED  ", 8) .. "\n" }
  if l.explain then out[#out + 1] = prose.text(l.explain) end
  return table.concat(out, "\n")
end

-- id: another lesson than the one where the learner is; file: another job.
function check.run(s, id, file)
  local l, known = s:here()
  if id then
    local problem
    l, problem = lesson.find(id)
    if not l then error(problem, 0) end
    known = s.progress:lesson(l.id)
    if not known and not file then return s.usage(l.id .. " has not been started", "start " .. l.id) end
  end
  local job, shown
  if file then
    local why
    job, why = find.text(file)
    if not job then return s.usage(why, "name a job's file") end
    shown = file
  else
    job, shown = s:job(l)
  end
  local o = s.o
  local r = stage.apart(shown, function(box) return check.result(o, l, job, shown, box) end)
  if not file and r.status ~= 130 then known.attempts = s.progress:add(l.id, "attempts") end
  local status = walk.finish(r)
  if status then return status end
  if o.json then
    if r.status == 0 and not file then s.progress:once(l.id, "passed_at") end
    json.line("check", { file = shown, scenario = l.id, requirements = r.requirements, exit = r.status, limit = r.limit,
                         error = r.failed },
              { "file", "scenario", "requirements", "exit", "limit", "error" })
    return r.status
  end
  local head = "check " .. l.id
  local text = { head .. (" "):rep(math.max(3, width() - #head - #r.head)) .. r.head .. "\n" }
  if r.variant then text[#text + 1] = "It passes as written. This is the same story with other dates, ids and amounts.\n" end
  if r.failed then text[#text + 1] = "ERROR   " .. r.failed .. "\n" end
  if r.text then text[#text + 1] = r.text end
  if r.rule then text[#text + 1] = rule_line(l, not file and known, r.rule) end
  if r.review then text[#text + 1] = "\n" .. r.review end
  if r.status == 0 and not file then
    local first = s.progress:once(l.id, "passed_at")
    text[#text + 1] = (r.review and "\n" or "") .. ending(l, known, first)
  elseif r.status == 0 then
    text[#text + 1] = ("PASSED  %s, and not counted: only %s is\n"):format(shown, folder.job(s.dir, l.id))
  end
  s:show(table.concat(text))
  return r.status
end

-- What to type after a check.
function check.footer(s, status)
  local l, known = s:here()
  if known.passed_at then return s:now() end
  local others = { "hint", "show diff", "step", "back", "text", "diff", "help", "q" }
  local path = folder.job(s.dir, l.id)
  if status ~= 0 then
    return wrap(("Mend %s in your editor and save it."):format(path), "", 0) .. "\n" .. s:footer("check", "again", others)
  end
  return s:now()
end

-- ---- watch ----

function check.watch(s)
  local l = s:here()
  local path = folder.job(s.dir, l.id)
  local status, seen
  while true do
    local kind, changed = core.stat(path)
    if kind and changed ~= seen then
      seen = changed
      if core.isatty(1) and status then core.write(os.date "\n-- %H:%M:%S, saved --\n") end
      status = check.run(s)
      if status == 130 then break end
      local _, known = s:here()
      if known.passed_at and status == 0 then break end
      core.write(wrap(("watching %s: each save is checked; q and Enter leaves"):format(path), "\n", 0) .. "\n")
      core.flush()
    end
    if core.typed(250) then
      local line = io.read "l"
      if not line or line:find "^%s*[%a\\.]" then break end
    end
    if core.signal() then break end
  end
  if core.signal() == 2 then core.clear_signal() end
  return status or 0
end

return check
