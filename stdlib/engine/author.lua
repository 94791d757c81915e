-- author check: does a lesson do what it says? The starter fails, right jobs
-- pass on every seed, each mutant fails as it is said to; every figure and every
-- prediction is what the engine gives; the texts are whole and fit a terminal.
local data = require "engine.data"
local grade = require "engine.grade"
local rules = require "engine.rules"
local sandbox = require "engine.sandbox"
local timeline = require "engine.timeline"
local truth = require "engine.truth"
local author = {}

-- On how many seeds right jobs are played, and on which mutants are; on these the windows are
-- looked at too, on the others the rows.
local SEEDS, LOOKED_AT = 20, { 0, 7 }
local WIDTH, HINTS, MUTANTS = 78, 3, 3

-- ---- jobs ----

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
  if #wrong > 0 then return false, "found " .. table.concat(wrong, ", ") .. ": " .. grade.evidence(cause) end
  return true
end

-- What is graded must be a rule, and be proved by something that happens: runs is how many
-- runs the solution's play has.
local function required(lesson, runs, problem)
  for i, r in ipairs(lesson.requires) do
    local id = type(r) == "table" and r.id
    local where = ("requires, entry %d"):format(i)
    if type(r) ~= "table" then
      problem(where .. ": it is no table")
    elseif not rules[id] then
      problem(("%s: %s is no rule; the rules are R1 to R18"):format(where, id == nil and "it has no id, and nothing" or tostring(id)))
    elseif not r.night and not r.event then
      problem(("%s: %s names neither the night nor the event that proves it"):format(where, id))
    end
    local function within(name, most, of)
      local n = type(r) == "table" and r[name]
      if not n then return end
      if math.type(n) ~= "integer" or n < 1 or n > most then
        problem(("%s: %s = %s, and the story has %d %s"):format(where, name, tostring(n), most, of))
      end
    end
    within("night", runs, runs == 1 and "run" or "runs")
    within("event", #lesson.events, #lesson.events == 1 and "event" or "events")
  end
end

local function jobs(lesson, box, say, problem)
  local starter = grade.one(lesson, lesson.starter, 0, box, "starter")
  if starter.status == 0 then problem "the starter passes" end
  if starter.status > 1 then problem("the starter has an error: " .. starter.failed.text) end
  say("starter", starter.cause and grade.evidence(starter.cause) or starter.failed and starter.failed.text or "passes")
  local good = { { name = "solution", job = lesson.solution } }
  for _, other in ipairs(lesson.others or {}) do good[#good + 1] = other end
  local looked = {}
  for _, seed in ipairs(LOOKED_AT) do looked[seed] = true end
  for _, g in ipairs(good) do
    for seed = 0, SEEDS - 1 do
      local r = grade.one(lesson, g.job, seed, box, g.name, not looked[seed])
      if r.status ~= 0 then
        problem(("%s fails with seed %d: %s"):format(g.name, seed, r.cause and grade.evidence(r.cause) or r.failed.text))
        break
      end
      if seed == 0 and g.job == lesson.solution then required(lesson, grade.nights(r.play), problem) end
      if seed == SEEDS - 1 then say("passes", ("%s, %d seeds"):format(g.name, SEEDS)) end
    end
  end
  if #lesson.mutants < MUTANTS then problem(("there are fewer than %d mutants"):format(MUTANTS)) end
  for _, m in ipairs(lesson.mutants) do
    for _, seed in ipairs(LOOKED_AT) do
      local r = grade.one(lesson, m.job, seed, box, m.name)
      local ok, why = matches(r, m)
      if not ok then problem(("mutant \"%s\", seed %d: %s"):format(m.name, seed, why)) break end
      if seed == 0 then say("fails", ("%s: %s"):format(m.name, grade.evidence(r.cause))) end
    end
  end
end

-- ---- figures and predictions ----

-- What a query gives after a step of one of the lesson's jobs, each job played once.
local function asker(lesson, box)
  local plays = {}
  return function(job, step, database, sql)
    local name = job or "solution"
    if not plays[name] then
      plays[name] = timeline.play(lesson, lesson[name], { variant = data.variant(0), box = box, to_the_end = true })
    end
    plays[name]:go(step or #plays[name].steps)
    local rows, why = box:rows(database, sql)
    if not rows then return nil, why end
    return rows[1] and tostring(rows[1][1]) or "nothing"
  end
end

local function offered(p)
  for _, choice in ipairs(p.choices) do
    if choice == p.is or choice == "none" and p.is == "0" then return true end
  end
end

local function figures(lesson, box, problem)
  local ask = asker(lesson, box)
  for _, f in ipairs(lesson.figures or {}) do
    local is, why = ask(f.job, f.after, f[2], f[1])
    if is ~= f.is then problem(("the figure %s of \"%s\" is %s"):format(f.is, f[1], is or why)) end
  end
  for n, p in ipairs(lesson.predict or {}) do
    local is, why = ask(p.job, p.after, p.on, p.sql)
    if is ~= p.is then problem(("the answer %s of predict %d is %s"):format(p.is, n, is or why)) end
    if p.why:sub(1, #p.is) == p.is then problem(("the why of predict %d begins with the answer, which is told before it"):format(n)) end
    if p.choices and not offered(p) then problem(("the answer %s of predict %d is not among its choices"):format(p.is, n)) end
  end
end

-- ---- texts ----

-- Every text that a learner reads: { name, text }.
local function texts(lesson)
  local out = { { "about", lesson.about or "" }, { "text", lesson.text or "" }, { "explain", lesson.explain or "" } }
  for i, hint in ipairs(lesson.hints or {}) do out[#out + 1] = { "hint " .. i, hint } end
  for i, p in ipairs(lesson.predict or {}) do
    out[#out + 1] = { "predict " .. i, p.ask }
    out[#out + 1] = { "the answer of predict " .. i, p.why }
  end
  return out
end

local function amounts(text, take)
  -- neither the end of a time of day nor a part of a longer number
  for before, amount in (" " .. text .. " "):gmatch "([^%d.])(%d+%.%d%d)%f[^%d]" do
    if before ~= ":" then take(amount) end
  end
end

-- The amounts that a text may have: those of rows and events, and those proved.
local function known_amounts(lesson)
  local known = {}
  local function add(amount) known[amount] = true end
  local function walk(t)
    for _, v in pairs(t) do
      if type(v) == "table" then walk(v) elseif type(v) == "number" then add(("%.2f"):format(v)) end
    end
  end
  for _, side in ipairs { lesson.source, lesson.warehouse } do
    for _, table_ in ipairs(side) do walk(table_.rows or {}) end
  end
  walk(lesson.events)
  for _, list in ipairs { lesson.figures or {}, lesson.predict or {} } do
    for _, proved in ipairs(list) do amounts(proved.is, add) end
  end
  return known
end

local function squeezed(text) return (text:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")) end

local function prose(lesson, problem)
  for _, name in ipairs { "about", "text", "explain" } do
    if squeezed(lesson[name] or "") == "" then problem("there is no " .. name) end
  end
  if #(lesson.hints or {}) < HINTS then problem(("there are fewer than %d hints"):format(HINTS)) end
  if #lesson.title > WIDTH - #lesson.id - 2 then problem "the title does not fit beside the id" end
  if #(lesson.about or "") > WIDTH then problem(("about is over %d columns"):format(WIDTH)) end
  local known, answer = known_amounts(lesson), squeezed(lesson.solution)
  for _, t in ipairs(texts(lesson)) do
    local name, text = t[1], t[2]
    for line in text:gmatch "[^\n]+" do
      local kept = line:find "^%s"
      if kept and utf8.len(line) > WIDTH then problem(("%s has a line over %d columns: %s"):format(name, WIDTH, line)) end
      if kept and line:find "\t" then problem(("%s has a tab: %s"):format(name, line)) end
    end
    amounts(text, function(amount)
      if not known[amount] then problem(("%s says %s, which is no figure, no answer and no row"):format(name, amount)) end
    end)
    if squeezed(text):find(answer, 1, true) then problem(name .. " has the solution in it") end
  end
  for _, name in ipairs { "starter", "solution" } do -- they are read in an editor beside the text
    for line in lesson[name]:gmatch "[^\n]+" do
      if utf8.len(line) > WIDTH then problem(("the %s has a line over %d columns: %s"):format(name, WIDTH, line)) end
    end
  end
end

-- The problems of a lesson, as lines; none where it is right.
function author.check(lesson, say)
  local problems = {}
  local function problem(text) problems[#problems + 1] = text end
  local box <close> = setmetatable({ box = sandbox.new() }, { __close = function(b) b.box:close() end })
  prose(lesson, problem)
  jobs(lesson, box.box, say, problem)
  figures(lesson, box.box, problem)
  return problems
end

return author
