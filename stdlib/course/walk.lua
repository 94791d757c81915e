-- Moving along the timeline: step, back, goto, and what show draws there.
local predict = require "course.predict"
local stage = require "course.stage"
local tell = require "course.tell"
local views = require "course.views"
local walk = {}

-- A play up to step n in a process of its own; fn gives what is wanted of it.
local function at_step(s, l, n, fn)
  local job, shown = s:job(l)
  return stage.apart(shown, function(box)
    local play = stage.play(l, job, box, n, shown)
    play:go(n)
    while #play.steps > n do play.steps[#play.steps] = nil end
    return fn(play, box)
  end)
end
walk.at_step = at_step

local function finish(s, got)
  if not got.problem then return nil end
  if got.status ~= 130 then core.warn(got.problem .. "\n") end
  core.clear_signal()
  return got.status
end
walk.finish = finish

-- Ask what stands before step n. A word of the course leaves the question open
-- and is done next: false then.
local function ask(s, l, n)
  local job = s:job(l)
  for _, i in ipairs(predict.open(l, s.progress:predictions(l.id), n, job)) do
    local p = l.predict[i]
    s:show(predict.question(p))
    local typed, why = s:read "your answer, or Enter to skip: "
    if not core.isatty(0) then core.write "\n" end
    if not typed then
      if why == "interrupt" then
        core.clear_signal()
        return false
      end
      s.ended = true
      return true
    end
    local word = typed:match "^%s*(%S*)"
    if #word > 1 and s.is_command(word) then
      s.typed = typed
      return false
    end
    s.progress:predict(l.id, i, predict.answer(p, typed))
  end
  return true
end

-- What was predicted, once the step is there that decides it.
local function answers(l, play, box, known, n)
  local out = {}
  for _, i in ipairs(predict.due(l, known, n)) do
    local p = l.predict[i]
    local at = math.min(p.after or #play.steps, #play.steps)
    play:go(at)
    out[#out + 1] = { number = i, text = predict.tell(p, known[i].answer, predict.ask(p, box)) }
  end
  return out
end

local function go(s, l, n, quiet)
  local total = stage.count(l)
  local known = s.progress:predictions(l.id)
  local got = at_step(s, l, n, function(play, box)
    local step = play.steps[n]
    if not step then return { ended = play.failed.number, error = play.failed.result.error.text } end
    local failed = play.failed and play.failed.number == n
    local text = tell.step(play, step, total)
    return { text = text, failed = failed or false, limit = failed and play.failed.result.limit and true or false,
             answers = not failed and not quiet and answers(l, play, box, known, n) or {} }
  end)
  local status = finish(s, got)
  if status then return status end
  if got.ended then
    core.warn(("%s\n  hint: the job ends with this error in step %d, so step %d is not reached\n"):format(got.error, got.ended, n))
    return 5
  end
  local text = got.text
  for _, a in ipairs(got.answers) do
    text = text .. "\n" .. a.text
    s.progress:told(l.id, a.number)
  end
  if got.failed then
    s:show(text)
    return got.limit and 4 or 5
  end
  s.progress:set(l.id, "step", n)
  if n == total and not quiet then
    text = text .. "\nThat was the last event. check plays it all from the start, and compares.\n"
  end
  s:show(text)
  return 0
end

function walk.step(s)
  local l, known = s:here()
  local total = stage.count(l)
  if known.step >= total then
    s:show(("You are after the last of %d steps. check compares; back and goto 0 go back.\n"):format(total))
    return 0
  end
  local n = known.step + 1
  if not ask(s, l, n) then return 0 end
  return go(s, l, n)
end

local function start_text(l)
  return ("before the first of %d steps\n"):format(stage.count(l))
end

function walk.to(s, n)
  local l = s:here()
  local total = stage.count(l)
  if not n or n < 0 or n > total then
    return s.usage(("goto takes a step from 0 to %d"):format(total), "write goto 2")
  end
  if n > 0 then return go(s, l, n, true) end
  s.progress:set(l.id, "step", 0)
  s:show(start_text(l))
  return 0
end

function walk.back(s)
  local _, known = s:here()
  if known.step == 0 then
    s:show "You are before the first step already.\n"
    return 0
  end
  return walk.to(s, known.step - 1)
end

-- at: a step, or nil for where the learner is.
function walk.position(s, l, known, at)
  local total = stage.count(l)
  if at and (at < 0 or at > total) then
    s.usage(("--at takes a step from 0 to %d"):format(total), "write --at 2")
    return nil
  end
  return at or known.step
end

function walk.show(s, what, at)
  local l, known = s:here()
  local n = walk.position(s, l, known, at)
  if not n then return 2 end
  what = what or "timeline"
  if not views[what] or what == "order" then
    local near = core.nearest(what, views.order)
    return s.usage(("show has no \"%s\""):format(what), near and ("did you mean show %s?"):format(near) or "show " .. table.concat(views.order, "|"))
  end
  local o = s.o
  local got = at_step(s, l, n, function(play)
    return { text = views[what](play, o), failed = play.failed and play.failed.result.error.text or nil }
  end)
  local status = finish(s, got)
  if status then return status end
  local head = n == 0 and start_text(l) or ("after step %d of %d\n"):format(n, (stage.count(l)))
  s:show(head .. "\n" .. got.text .. (got.failed and "\nERROR  " .. got.failed .. "\n" or ""))
  return 0
end

return walk
