-- Grading a job: each requirement met, MISSED or not reached, with its evidence.
-- The same file and seed give the same words.
local data = require "engine.data"
local diverge = require "engine.diverge"
local sandbox = require "engine.sandbox"
local timeline = require "engine.timeline"
local truth = require "engine.truth"
local when = timeline.when
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

local function count(n, word) return ("%d %s%s"):format(n, word, n == 1 and "" or "s") end

local function met(play)
  local last
  for _, s in ipairs(play.steps) do if s.have then last = s end end
  local n = 0
  for _, entry in pairs(last and last.have or {}) do n = n + #entry.rows end
  return ("after %s: %s, all equal to the source"):format(count(nights(play), "run"), count(n, "row"))
end

local function evidence(found)
  local key = found.key ~= nil and found.key ~= false and (" key %s"):format(tostring(found.key)) or ""
  return ("%s%s after the run of %s: %s"):format(found.class, key, when(found.step), found.evidence)
end

-- One seed: { requirements, cause, failed, limit, play }. The box stays as it is.
function grade.one(lesson, job, seed, box, shown)
  local play = timeline.play(lesson, job, { variant = data.variant(seed), box = box, shown = shown })
  local out = { requirements = {}, play = play, seed = seed }
  if play.failed then
    out.failed = play.failed.result.error
    out.limit = play.failed.result.limit
  end
  local cause = not play.failed and (diverge.first(play) or diverge.silent(play)) or nil
  out.cause = cause
  local done = cause and nights(play, cause.step) or play.failed and nights(play, play.failed) or math.huge
  local named = false
  for _, r in ipairs(lesson.requires) do
    local state, why = "met"
    if cause and cause.rule == r.id then
      state, why, named = "MISSED", evidence(cause), true
    elseif (r.night or math.huge) >= done and (cause or play.failed) then
      state = "not reached"
      why = cause and ("the rows differ after the run of %s"):format(when(cause.step)) or "the job has an error"
    else
      why = (cause or play.failed) and ("seen in run %d"):format(r.night) or met(play)
    end
    out.requirements[#out.requirements + 1] = { id = r.id, state = state, evidence = why }
  end
  if cause and not named then
    out.requirements[#out.requirements + 1] = { id = cause.rule or "rows", state = "MISSED", evidence = evidence(cause) }
  end
  out.status = out.limit and 4 or play.failed and 5 or cause and 1 or 0
  return out
end

-- A file. Without a seed the lesson as it is written is played, and when it
-- passes one variant, so that a job that knows the figures by heart does not.
function grade.job(lesson, job, seed, shown)
  local box <close> = setmetatable({ box = sandbox.new() }, { __close = function(b) b.box:close() end })
  local result = grade.one(lesson, job, seed or 0, box.box, shown)
  if seed or result.status ~= 0 then return result end
  local other = grade.one(lesson, job, 1, box.box, shown)
  if other.status == 0 then return result end
  other.variant = true
  return other
end

-- ---- author check ----

local function matches(result, mutant)
  local cause = result.cause
  if not cause then return false, result.failed and "the job has an error: " .. result.failed.text or "it passes" end
  local key = mutant.key
  if type(key) == "number" then key = result.play.variant:id(key) end
  if type(key) == "string" then key = result.play.variant:date(key) end
  local wrong = {}
  if cause.rule ~= mutant.rule then wrong[#wrong + 1] = ("rule %s"):format(cause.rule or "none") end
  if cause.class ~= mutant.class then wrong[#wrong + 1] = "class " .. cause.class end
  if key ~= nil and truth.canon(cause.key) ~= truth.canon(key) then wrong[#wrong + 1] = "key " .. tostring(cause.key) end
  if #wrong > 0 then return false, "found " .. table.concat(wrong, ", ") .. ": " .. evidence(cause) end
  return true
end

local SEEDS = 20

-- The problems of a lesson, as lines; none where it is right.
function grade.check(lesson, say)
  local problems = {}
  local function problem(text) problems[#problems + 1] = text end
  local box <close> = setmetatable({ box = sandbox.new() }, { __close = function(b) b.box:close() end })
  local starter = grade.one(lesson, lesson.starter, 0, box.box, "starter")
  if starter.status == 0 then problem "the starter passes" end
  if starter.status > 1 then problem("the starter has an error: " .. starter.failed.text) end
  say("starter", starter.cause and evidence(starter.cause) or "passes")
  local good = { { name = "solution", job = lesson.solution } }
  for _, other in ipairs(lesson.others or {}) do good[#good + 1] = other end
  for _, g in ipairs(good) do
    for seed = 0, SEEDS - 1 do
      local r = grade.one(lesson, g.job, seed, box.box, g.name)
      if r.status ~= 0 then
        problem(("%s fails with seed %d: %s"):format(g.name, seed, r.cause and evidence(r.cause) or r.failed.text))
        break
      end
      if seed == SEEDS - 1 then say("passes", ("%s, %d seeds"):format(g.name, SEEDS)) end
    end
  end
  if #lesson.mutants < 3 then problem "there are fewer than three mutants" end
  for _, m in ipairs(lesson.mutants) do
    for _, seed in ipairs { 0, 7 } do
      local r = grade.one(lesson, m.job, seed, box.box, m.name)
      local ok, why = matches(r, m)
      if not ok then problem(("mutant \"%s\", seed %d: %s"):format(m.name, seed, why)) break end
      if seed == 0 then say("fails", ("%s: %s"):format(m.name, evidence(r.cause))) end
    end
  end
  for _, f in ipairs(lesson.figures or {}) do
    local play = timeline.play(lesson, f.job and lesson[f.job] or lesson.solution,
                               { variant = data.variant(0), box = box.box, to_the_end = true })
    play:go(f.after or #play.steps)
    local rows, why = box.box:rows(f[2], f[1])
    local is = rows and rows[1] and tostring(rows[1][1])
    if is ~= f.is then problem(("the figure %s of \"%s\" is %s"):format(f.is, f[1], is or why or "nothing")) end
  end
  return problems
end

return grade
