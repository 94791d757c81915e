-- A scenario as a learner sees it, from the first word to the last: its text, the time
-- line of the starter, what a check says of the starter, and what is kept for later.
local check = require "course.check"
local predict = require "course.predict"
local prose = require "course.prose"
local stage = require "course.stage"
local talk = require "course.talk"
local tell = require "course.tell"
local views = require "course.views"
local width = require "show.width"
local wrap = require "show.wrap"

local function heading(text)
  return ("\n-- %s %s\n\n"):format(text, ("-"):rep(math.max(0, math.min(78, width()) - #text - 4)))
end

-- In the process of the play.
local function played(o, l, box)
  local play = stage.play(l, l.starter, box, math.maxinteger, "starter")
  local lines = {}
  for _, step in ipairs(play.steps) do lines[#lines + 1] = tell.line(play, step) end
  local drawn = play.history.probe and not play.failed and views.timeline(play, o) or nil
  local answers = {}
  for i, p in ipairs(l.predict or {}) do answers[i] = predict.tell(p, "", nil) end
  local result = check.result(o, l, l.starter, "starter", box)
  return { steps = table.concat(lines, "\n") .. "\n", drawn = drawn, answers = answers, result = result }
end

-- The status, after all is written.
return function(o, l)
  local function say(text) core.write(text) end
  local got = stage.apart("starter", function(box) return played(o, l, box) end)
  if got.problem then
    core.warn(got.problem .. "\n")
    return got.status
  end
  say(talk.title(l) .. "\n" .. prose.text(l.text or "There is no text.\n"))
  for i, p in ipairs(l.predict or {}) do
    say(heading(("prediction %d, before step %d"):format(i, p.before or stage.first_run(l))))
    say(predict.question(p) .. "\n" .. got.answers[i])
  end
  say(heading "the starter, step by step" .. got.steps)
  if got.drawn then say("\n" .. got.drawn) end
  say(heading "what a check says of the starter")
  local r = got.result
  if r.failed then say(wrap(r.failed, "ERROR   ", 8) .. "\n") end
  if r.status == 0 then say "It passes, so there is nothing to learn from it.\n" end
  say((r.text or "") .. (r.review and "\n" .. r.review or ""))
  say(heading "hints")
  for i, hint in ipairs(l.hints or {}) do say(wrap(hint, ("%d. "):format(i), 3) .. "\n") end
  if l.explain then say(heading "after the pass" .. prose.text(l.explain)) end
  return 0
end
