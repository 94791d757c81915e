-- The learner's job on a lesson's timeline. A play is the same each time for the
-- same job, so a step is gone to by playing up to it; and it is played in a
-- process of its own, so that nothing a job does ends the course.
local apart = require "engine.apart"
local data = require "engine.data"
local diverge = require "engine.diverge"
local sandbox = require "engine.sandbox"
local timeline = require "engine.timeline"
local stage = {}

-- fn(box) in a process of its own; see engine/apart.lua for what comes back.
function stage.within(box, shown, fn)
  return apart.start(box, shown, function() return fn(box) end)()
end

-- The same on a fresh sandbox.
function stage.apart(shown, fn)
  local box <close> = setmetatable({ box = sandbox.new() }, { __close = function(b) b.box:close() end })
  return stage.within(box.box, shown, fn)
end

-- How many steps a lesson has, whatever the job does; nil where that is for the job to
-- decide: a backfill may be done a day at a time or as one, and may end early.
function stage.count(l)
  local n = 0
  for _, e in ipairs(l.events) do
    if e.backfill then return nil end
    n = n + (e.twice and 2 or 1)
  end
  return n
end

-- The number of the first step that is a run.
function stage.first_run(l)
  for i, e in ipairs(l.events) do
    if e.run or e.twice or e.backfill or e.retry then return i end
  end
  return 1
end

-- Played up to step n, or as far as it comes; play.total is the number of steps where
-- that is known.
function stage.play(l, job, box, n, shown)
  local total = stage.count(l)
  local play = timeline.play(l, job, { variant = data.variant(0), box = box, shown = shown, to_the_end = true, upto = total and n })
  if not total and not play.failed then total = #play.steps end
  play:go(n)
  while #play.steps > n do play.steps[#play.steps] = nil end
  if play.failed and play.failed.number > n then play.failed = nil end
  play.total = total
  return play
end

-- The window of one run, found from outside.
function stage.window(play, step)
  local from
  for _, s in ipairs(play.steps) do
    if s.number < step.number and timeline.RUNS[s.kind] then from = data.ms(s.run_start) end
  end
  return diverge.window(play, step, from)
end

return stage
