-- The lessons: the list, the text, hints, the solution, what was changed.
local compare = require "course.compare"
local folder = require "course.folder"
local lesson = require "engine.lesson"
local prose = require "course.prose"
local stage = require "course.stage"
local width = require "show.width"
local wrap = require "show.wrap"
local talk = {}

local WELCOME = [[
lrun learn: a course about jobs that load data

A shop keeps its orders in one database, the source. Each night a job copies
what is new into another, the warehouse. In each lesson that job has a fault.
You say what a run will do, run it, look, and mend the job in your own editor.

Nothing touches a database of yours. Everything can be undone. Your place is
kept: q leaves at any moment, and lrun learn comes back to it. The course is
in %s/.
]]

function talk.title(l) return ("%s   %s\n"):format(l.id, l.title) .. ("="):rep(math.min(width(), #l.id + 3 + #l.title)) .. "\n" end

local function whole(s, l)
  return talk.title(l) .. "\n" .. (l.text and prose.text(l.text) .. "\n" or "") ..
         wrap(("Your job is %s: open it in your editor, beside this. It is the only thing that is looked at."):format(
           folder.job(s.dir, l.id)), "", 0) .. "\n"
end

-- ---- where the learner is ----

local function begin(s, l, before)
  folder.start(s.dir, l)
  s.progress:start(l.id)
  s:show((before or "") .. whole(s, l))
  return 0
end

function talk.start(s, word)
  if not word then return s.usage("start needs a lesson", "list names them; start 02") end
  local l, problem = lesson.find(word)
  if not l then error(problem, 0) end
  s:open(true)
  return begin(s, l)
end

local function state(known, l)
  if not known then return l.closed and "texts closed" or "" end
  local words, total = {}, stage.count(l) or known.steps
  if known.passed_at then words[1] = "passed" .. (known.solution_at and " (solution seen)" or "")
  else words[1] = "step " .. known.step .. (total and " of " .. total or "") end
  if known.hints > 0 and not known.passed_at then words[2] = ("%d hint%s"):format(known.hints, known.hints == 1 and "" or "s") end
  return table.concat(words, ", ")
end

-- Go on: a welcome the first time.
function talk.on(s)
  s:open(true)
  if not s.progress:current() then
    local l = assert(lesson.find(lesson.list[1]))
    return begin(s, l, WELCOME:format(s.dir) .. "\n")
  end
  local l, known = s:here()
  folder.start(s.dir, l) -- a file that is gone is there again
  local text = talk.title(l)
  if l.about then text = text .. wrap(l.about .. ".", "", 0) .. "\n" end
  local checked = known.attempts == 0 and "not checked yet" or known.attempts == 1 and "checked once" or
                  ("checked %d times"):format(known.attempts)
  text = text .. wrap(("You are here: %s, %s. text tells the lesson again."):format(state(known, l), checked), "", 0) .. "\n" ..
    ("Your job: %s\n"):format(folder.job(s.dir, l.id))
  s:show(text)
  return 0
end

function talk.next(s)
  local l, known = s:here()
  local at
  for i, id in ipairs(lesson.list) do if id == l.id then at = i end end
  local id = at and lesson.list[at + 1]
  if not id then
    s:show "That was the last one. list shows them all; start ID goes to any of them.\n"
    return 0
  end
  local left = ("%s is not passed yet; start %s comes back to it.\n\n"):format(l.id, l.id)
  return begin(s, assert(lesson.find(id)), known.passed_at and "" or left)
end

function talk.list(s)
  local here, all = nil, {}
  if folder.exists(s.dir) then
    s:open()
    here, all = s.progress:current(), s.progress:all()
  end
  local out = {}
  for _, id in ipairs(lesson.list) do
    local l = assert(lesson.find(id))
    local left = ("%s %-20s %s"):format(id == here and ">" or " ", id, l.title)
    local right = state(all[id], l)
    local room = width() - #right - 2
    if #left > room then left = left:sub(1, room - 2) .. ".." end
    out[#out + 1] = right == "" and left or left .. (" "):rep(width() - #left - #right) .. right
  end
  s:show(table.concat(out, "\n") .. "\n", not s.loop)
  return 0
end

-- The text again; of another lesson too, but not while a scenario is played.
function talk.text(s, word)
  local l = s:here()
  local other = l
  if word then
    local found, problem = lesson.find(word)
    if not found then error(problem, 0) end
    other = found
    if l.closed and other.id ~= l.id then
      return s.usage(("the texts are closed while you are at %s"):format(l.id), "start " .. other.id .. " leaves it")
    end
  end
  s:show(whole(s, other))
  return 0
end

-- ---- help with it ----

function talk.hint(s)
  local l, known = s:here()
  local hints = l.hints or {}
  if #hints == 0 then
    s:show "This lesson has no hints.\n"
    return 0
  end
  local n = known.hints
  if n < #hints then n = s.progress:add(l.id, "hints") end
  local out = {}
  for i = known.hints < #hints and n or 1, n do
    out[#out + 1] = wrap(hints[i], ("HINT %d of %d   "):format(i, #hints), 14)
  end
  s:show(table.concat(out, "\n") .. "\n")
  return 0
end

-- Shown when it is asked for twice, or after a yes; it counts as seen.
function talk.solution(s)
  local l, known = s:here()
  if not known.solution_at and not known.passed_at and not s.o.yes then
    if s.loop and s.terminal then
      local line = s:read "The solution counts as seen. Show it? y or n: "
      core.clear_signal()
      if not line or not line:lower():find "^%s*y" then return 0 end
    elseif s.progress:once(l.id, "asked_at") then
      s:show "The solution counts as seen. Ask once more, and it is shown.\n"
      return 0
    end
  end
  if not known.passed_at then s.progress:once(l.id, "solution_at") end
  s:show(("One solution of %s. Others are as good.\n\n%s"):format(l.id, l.solution))
  return 0
end

function talk.diff(s)
  local l = s:here()
  local text, path = s:job(l)
  local lines = compare(l.starter, text)
  s:show(lines and table.concat(lines, "\n") .. "\n" or ("%s is as it was at first.\n"):format(path))
  return 0
end

-- ---- reset ----

-- what: the file, the place on the timeline; all: what is known of the lesson too.
function talk.reset(s, given)
  local l = s:here()
  local both = given.all or not given.file and not given.db
  local out = {}
  if both or given.file then
    local copy = folder.restore(s.dir, l)
    out[#out + 1] = ("%s is as it was at first.%s"):format(folder.job(s.dir, l.id), copy and " Yours is kept as " .. copy .. "." or "")
  end
  if given.all then
    s.progress:forget(l.id)
    out[#out + 1] = ("Predictions, hints, checks and the pass of %s are forgotten."):format(l.id)
  elseif both or given.db then
    s.progress:move(l.id, 0, nil, {})
  end
  if both or given.db then out[#out + 1] = "The databases are as they were before the first step." end
  for i, text in ipairs(out) do out[i] = wrap(text, "", 0) end
  s:show(table.concat(out, "\n") .. "\n")
  return 0
end

return talk
