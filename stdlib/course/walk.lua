-- Moving along the timeline: step, back, goto, and what show draws there.
local predict = require "course.predict"
local stage = require "course.stage"
local tell = require "course.tell"
local views = require "course.views"
local walk = {}

-- A play up to step n in a process of its own; fn gives what is wanted of it.
local function at_step(s, l, n, fn)
  local job, shown = s:job(l)
  return stage.apart(shown, function(box) return fn(stage.play(l, job, box, n, shown)) end)
end

-- The status where the process came to no end of its own; nil where it did.
local function finish(got)
  if not got.problem then return nil end
  if got.status ~= 130 and not core.signal() then core.warn(got.problem .. "\n") end
  if core.signal() == 2 then core.clear_signal() end
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
    if not core.isatty(0) then core.write("your answer: " .. (typed or "") .. "\n") end
    if not typed then
      if why == "interrupt" then
        core.clear_signal()
        return false
      end
      s.ended = true
      return not s.terminal -- who leaves at the question has not asked for the step
    end
    local word = typed:match "^%s*(%S*)"
    if word == "step" then typed = "" end -- who wants to go on need not answer
    if typed ~= "" and #word > 1 and s.is_command(word) then
      s.typed = typed
      return false
    end
    s.progress:predict(l.id, i, predict.answer(p, typed))
  end
  return true
end

-- What was predicted, once the step is there that decides it.
local function answers(l, play, known, n)
  local out = {}
  for _, i in ipairs(predict.due(l, known, n, play.total)) do
    local p = l.predict[i]
    play:go(p.after or n)
    out[#out + 1] = { number = i, text = predict.tell(p, known[i].answer, predict.ask(p, play.box)) }
  end
  return out
end

-- In the process of the play: step n told, or why it is not there.
local function arrive(l, play, known, n)
  local step = play.steps[n]
  if not step then
    local failed = play.failed
    return { missing = true, total = play.total, at = failed and failed.number, error = failed and failed.result.error.text }
  end
  local failed = play.failed == step
  return { text = tell.step(play, step, play.total), total = play.total, failed = failed,
           limit = failed and play.failed.result.limit ~= nil, answers = failed and {} or answers(l, play, known, n) }
end

-- known: the predictions to be told.
local function go(s, l, n, known)
  local got = at_step(s, l, n, function(play) return arrive(l, play, known, n) end)
  local status = finish(got)
  if status then return status end
  if got.error then
    core.warn(("%s\n  hint: the job ends with this error in step %d, and step %d is not reached\n"):format(got.error, got.at, n))
    return 5
  end
  if got.missing then
    s.progress:move(l.id, got.total, got.total, {})
    s:show(("You are after the last of %d steps. check compares; back and goto 0 go back.\n"):format(got.total))
    return 0
  end
  local text, told = got.text, {}
  for i, a in ipairs(got.answers) do
    text = text .. "\n" .. a.text
    told[i] = a.number
  end
  if not got.failed then s.progress:move(l.id, n, got.total, told) end
  if n == got.total and not got.failed then
    text = text .. "\nThat was the last event. check plays it all from the start, and compares.\n"
  end
  s:show(text)
  return got.limit and 4 or got.failed and 5 or 0
end

function walk.step(s)
  local l, known = s:here()
  local n = known.step + 1
  if not ask(s, l, n) then return 0 end
  return go(s, l, n, s.progress:predictions(l.id))
end

local START = "You are before the first step. The databases are as they were.\n"

function walk.to(s, n)
  local l = s:here()
  if not n or n < 0 then return s.usage("goto takes the number of a step", "write goto 2; 0 is before the first") end
  if n > 0 then return go(s, l, n, s.progress:predictions(l.id)) end
  s.progress:move(l.id, 0, nil, {})
  s:show(START)
  return 0
end

function walk.back(s)
  local _, known = s:here()
  return walk.to(s, math.max(0, known.step - 1))
end

function walk.show(s, what, at)
  local l, known = s:here()
  local n = at or known.step
  what = what or "timeline"
  if not views[what] or what == "order" then
    local near = core.nearest(what, views.order)
    return s.usage(("show has no \"%s\""):format(what),
                   near and ("did you mean show %s?"):format(near) or "show " .. table.concat(views.order, "|"))
  end
  local o = s.o
  local got = at_step(s, l, n, function(play)
    local failed = play.failed and play.failed.result.error.text or nil
    return { text = views[what](play, o), failed = failed, n = #play.steps, total = play.total }
  end)
  local status = finish(got)
  if status then return status end
  local of = got.total and (" of %d"):format(got.total) or ""
  local head = got.n == 0 and ("before the first%s steps\n"):format(of) or ("after step %d%s\n"):format(got.n, of)
  s:show(head .. "\n" .. got.text .. (got.failed and "\nERROR  " .. got.failed .. "\n" or ""))
  return 0
end

return walk
