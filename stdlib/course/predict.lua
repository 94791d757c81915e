-- Predictions: asked before a step, told after one, never graded.
local wrap = require "show.wrap"
local stage = require "course.stage"
local predict = {}

-- The step before which it is asked, and the one after which it is told.
local function asked_at(l, p)
  return p.before or stage.first_run(l)
end

-- The predictions that stand before step n and are not answered yet. One about the
-- lesson's own job makes sense only while the learner's is that; one about the right
-- job ("and with a lookback?") always does.
function predict.open(l, answers, n, job)
  local out = {}
  for i, p in ipairs(l.predict or {}) do
    local about = p.job == "solution" or job == l.starter
    if not answers[i] and asked_at(l, p) == n and about then out[#out + 1] = i end
  end
  return out
end

local function plain(text) return (text:gsub("{(.-)}", "%1")) end

function predict.question(p)
  local lines = { wrap(plain(p.ask), "PREDICT  ", 9) }
  for i, choice in ipairs(p.choices or {}) do lines[#lines + 1] = wrap(choice, ("         %s) "):format(string.char(96 + i)), 12) end
  return table.concat(lines, "\n") .. "\n"
end

-- What was typed, as an answer: a choice by its letter too.
function predict.answer(p, typed)
  local text = typed:match "^%s*(.-)%s*$"
  local letter = text:lower():match "^(%l)[).]?$"
  return letter and p.choices and p.choices[letter:byte() - 96] or text
end

-- Those to be told after step n of total: { number, ... }.
function predict.due(l, answers, n, total)
  local out = {}
  for i, p in ipairs(l.predict or {}) do
    if answers[i] and not answers[i].told and (p.after or total or math.huge) <= n then out[#out + 1] = i end
  end
  return out
end

local function same(a, b)
  if a:lower() == b:lower() then return true end
  if tonumber(a) and tonumber(a) == tonumber(b) then return true end
  local words = { none = "0", no = "0", one = "1", two = "2", three = "3" }
  return (words[a:lower()] or a) == (words[b:lower()] or b)
end

-- The answer as its choice says it: none, where the SQL gives 0.
local function said_as(p)
  for _, choice in ipairs(p.choices or {}) do
    if same(choice, p.is) then return choice end
  end
  return p.is
end

-- is: what the learner's own play gives, or nil where it was not asked.
function predict.tell(p, answer, is)
  local right = said_as(p)
  local text = ("You said %s. It is %s. "):format(core.visible(answer), right)
  if answer == "" then text = ("It is %s. "):format(right)
  elseif same(answer, p.is) then text = ("You said %s, and so it is. "):format(core.visible(answer)) end
  text = text .. plain(p.why)
  if is and not same(is, p.is) then text = text .. (" (With your job it is %s.)"):format(is) end
  return wrap(text, "ANSWER   ", 9) .. "\n"
end

-- What its SQL gives in the sandbox as it stands; nil where it is not about this job.
function predict.ask(p, box)
  if p.job == "solution" then return nil end
  local rows = box:rows(p.on, p.sql)
  local v = rows and rows[1] and rows[1][1]
  return v ~= nil and v ~= false and tostring(v) or nil
end

return predict
