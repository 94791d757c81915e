-- The learner's job on a lesson's timeline. A play is the same each time for the
-- same job, so a step is gone to by playing up to it; and it is played in a
-- process of its own, so that nothing a job does ends the course.
local apart = require "engine.apart"
local data = require "engine.data"
local sandbox = require "engine.sandbox"
local timeline = require "engine.timeline"
local xray = require "engine.xray"
local stage = {}

-- fn(box) in a process of its own. What it returns; or { status =, problem = }
-- where the process came to its end before.
function stage.within(box, shown, fn)
  local got, how, detail = apart(function() return fn(box) end)
  if got then return got end
  if how == "stopped" then return { status = 130, problem = "stopped" } end
  if how == "forced" then
    local at, to = detail:find(box.job, 1, true)
    local where = at and shown .. detail:sub(to + 1) or shown
    return { status = 4, problem = where .. ": this call did not end, and nothing could stop it\n" ..
                                   "  hint: a string pattern may take for ever; match in steps, or let SQL do it" }
  end
  return { status = 5, problem = ("%s: the process of the job died%s"):format(shown,
    detail and detail ~= 0 and " of signal " .. tostring(detail) or "") }
end

-- The same on a fresh sandbox.
function stage.apart(shown, fn)
  local box <close> = setmetatable({ box = sandbox.new() }, { __close = function(b) b.box:close() end })
  return stage.within(box.box, shown, fn)
end

-- Up to a step, or to the end of the events.
function stage.play(l, job, box, upto, shown)
  return timeline.play(l, job, { variant = data.variant(0), box = box, shown = shown, to_the_end = true, upto = upto })
end

-- The window of one run, found from outside.
function stage.window(play, step)
  local from
  for _, s in ipairs(play.steps) do
    if s.number < step.number and timeline.RUNS[s.kind] then from = data.ms(s.run_start) end
  end
  step.window = step.window or xray.of(play, step, from) or { none = true }
  return step.window
end

-- ---- the steps of a lesson, known before anything is played ----

local function days(from, to)
  return (data.ms(to) - data.ms(from)) // 86400000 + 1
end

-- How many steps there are, and the number of the first run.
function stage.count(l)
  local n, run = 0, nil
  for _, e in ipairs(l.events) do
    local before = n
    if e.twice then n = n + 2
    elseif e.backfill then n = n + days(e.backfill[1], e.backfill[2])
    else n = n + 1 end
    if not run and (e.run or e.twice or e.backfill or e.retry) then run = before + 1 end
  end
  return n, run or 1
end

return stage
