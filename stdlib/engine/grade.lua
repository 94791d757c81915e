-- Grading a job: each requirement met, MISSED or not reached, with its evidence.
-- The same file and seed give the same words.
local data = require "engine.data"
local diverge = require "engine.diverge"
local timeline = require "engine.timeline"
local grade = {}

-- How many runs there were up to a step.
local function nights(play, upto)
  local n = 0
  for _, s in ipairs(play.steps) do
    if upto and s.number > upto.number then break end
    if timeline.RUNS[s.kind] then n = n + 1 end
  end
  return n
end

grade.nights = nights

local function count(n, word) return ("%d %s%s"):format(n, word, n == 1 and "" or "s") end

local function met(play)
  local last
  for _, s in ipairs(play.steps) do if s.have then last = s end end
  local n = 0
  for _, entry in pairs(last and last.have or {}) do n = n + #entry.rows end
  return ("after %s: %s, all equal to the source"):format(count(nights(play), "run"), count(n, "row"))
end

function grade.evidence(found)
  local key = found.key ~= nil and found.key ~= false and (" key %s"):format(tostring(found.key)) or ""
  return ("%s%s %s: %s"):format(found.class, key, timeline.place(found.step), found.evidence)
end

-- Was a requirement proved before the step at which the play ended?
local function proved(play, r, ended)
  if r.event then return r.event < ended.place end
  return r.night and r.night < nights(play, ended)
end

local function seen(play, r)
  local e = r.event and play.history.events[r.event]
  if not e then return ("seen in run %d"):format(r.night) end
  return "seen by " .. play.variant:date(e.at or e.run or e.twice or e.retry or e.skip)
end

-- One seed: { requirements, cause, failed, limit, play }. The box stays as it is.
-- rows_only leaves out what is rehearsed where the rows are right.
function grade.one(lesson, job, seed, box, shown, rows_only)
  local play = timeline.play(lesson, job, { variant = data.variant(seed), box = box, shown = shown, rows_only = rows_only })
  local out = { requirements = {}, play = play, seed = seed }
  if play.failed then
    out.failed = play.failed.result.error
    out.limit = play.failed.result.limit
  end
  local cause = not play.failed and (diverge.first(play) or not rows_only and diverge.silent(play)) or nil
  out.cause = cause
  local ended = cause and cause.step or play.failed
  local named = false
  for _, r in ipairs(lesson.requires) do
    local state, why = "met"
    if cause and cause.rule == r.id then
      state, why, named = "MISSED", grade.evidence(cause), true
    elseif ended and not proved(play, r, ended) then
      state = "not reached"
      why = cause and "the play ends with what is wrong " .. timeline.place(cause.step) or "the job has an error"
    else
      why = ended and seen(play, r) or met(play)
    end
    out.requirements[#out.requirements + 1] = { id = r.id, state = state, evidence = why }
  end
  if cause and not named then
    out.requirements[#out.requirements + 1] = { id = cause.rule or "rows", state = "MISSED", evidence = grade.evidence(cause) }
  end
  out.status = out.limit and 4 or play.failed and 5 or cause and 1 or 0
  return out
end

-- A job in a sandbox. Without a seed the lesson as it is written is played, and when it
-- passes one variant, so that a job that knows the figures by heart does not. With a seed
-- that one; variants is how many more come after it: of these the rows are looked at. The
-- first that does not pass is given.
function grade.within(box, lesson, job, seed, shown, variants)
  local first = seed or 0
  local result = grade.one(lesson, job, first, box, shown)
  for n = 1, variants or (seed and 0 or 1) do
    if result.status ~= 0 then return result end
    local other = grade.one(lesson, job, first + n, box, shown, true)
    if other.status ~= 0 then
      other.variant = true
      return other
    end
  end
  return result
end

return grade
