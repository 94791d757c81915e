-- A learner at work: the folder, the progress, the lesson, and how text is shown.
local folder = require "course.folder"
local progress = require "course.progress"
local reader = require "show.reader"
local stage = require "course.stage"
local wrap = require "show.wrap"
local lesson = require "engine.lesson"
local session = {}

local Session = {}
Session.__index = Session

-- o: of the command line. dir: the course's folder. Nothing is made yet.
function session.new(o, dir)
  return setmetatable({ o = o, dir = dir, terminal = core.isatty(0) and core.isatty(1) }, Session)
end

-- The progress, where there is some; with make, the folder is made.
function Session:open(make)
  if not self.progress then
    if not make and not folder.exists(self.dir) then
      error({ status = 2, message = "no course has been begun here", hint = "lrun learn begins one in " .. self.dir .. "/" }, 0)
    end
    folder.make(self.dir)
    self.progress = progress.open(self.dir)
  end
  return self.progress
end

-- The lesson where the learner is: its data, what is known of it.
function Session:here()
  local id = self:open():current()
  if not id then error({ status = 2, message = "no lesson has been started", hint = "lrun learn starts the first one" }, 0) end
  local l, problem = lesson.find(id)
  if not l then error(problem, 0) end
  return l, self.progress:lesson(id)
end

-- The text of the learner's job, and the name by which messages call it.
function Session:job(l)
  local path = folder.job(self.dir, l.id)
  local text, why, gone = folder.read(self.dir, l.id)
  if not text and gone then
    error({ status = 2, message = path .. " is not there", hint = "reset --file writes it as it was at first" }, 0)
  elseif not text then
    local folders = core.stat(path) == "directory"
    error({ status = 2, message = ("%s cannot be read: %s"):format(path, (why:gsub("^.*: ", ""))),
            hint = folders and "it is a folder: reset --file gives it another name, and writes the job as it was at first" or
                   ("chmod u+r %s gives its owner the right to read it"):format(path) }, 0)
  end
  return text, path
end

-- ---- the screen ----

local COLOURS = { { "PASSED", "32" }, { "MISSED", "31" }, { "FIRST DIFFERENCE", "31" }, { "ERROR", "31" }, { "STOPPED", "33" },
                  { "DIFFERS", "31" }, { "MISSING", "31" }, { "EXTRA", "31" }, { "PREDICT", "36" }, { "ANSWER", "36" }, { "HINT", "33" },
                  { "WHY", "1" }, { "TOTALS", "1" }, { "RULE", "1" } }

-- Words that stand for themselves get a colour too; none is told by colour alone.
function Session:paint(text)
  if not self.o.color or self.o.plain then return text end
  for _, c in ipairs(COLOURS) do
    text = text:gsub("%f[%u]" .. c[1] .. "%f[^%u]", ("\27[%sm%s\27[0m"):format(c[2], c[1]))
  end
  return text
end

local BELOW = 3 -- lines that follow a text: what can be typed

-- Rows of the screen that a line takes.
local function rows(line, width) return math.max(1, (#line:gsub("\27%[%d*m", "") + width - 1) // width) end

local function count_lines(text)
  local n, width = 0, core.width()
  for line in text:gmatch "([^\n]*)\n" do n = n + rows(line, width) end
  return n
end

-- Up to n lines of a text, rather to the end of a paragraph, and not between what
-- announces something and that; and the rest.
local function cut(text, n)
  local at, good, lines, width = 0, nil, 0, core.width()
  for line, stop in text:gmatch "([^\n]*)()\n" do
    lines = lines + rows(line, width)
    if lines > n then break end
    at = stop
    if text:sub(stop + 1, stop + 1) == "\n" and lines > n // 3 and not line:find "[:=]$" then good = stop end
  end
  at = good or at > 0 and at or #text
  return text:sub(1, at), text:sub(at + 1)
end

-- A page at a time on a terminal; whole: all at once.
function Session:show(text, whole)
  if self.o.quiet then return end
  text = self:paint(text)
  local height = core.height() - 1
  while self.terminal and not whole and count_lines(text) + BELOW > height do
    local page
    page, text = cut(text, height - 1)
    core.write(page)
    local line, why = self:read "-- Enter for more, q to stop -- "
    if line and self.o.color and not self.o.plain then core.write "\27[A\r\27[K" end -- the page reads on without a seam
    if not line or line:find "%S" then
      if why == "end" then self.ended = true end
      self.typed = line and not reader.leave[line:match "^%s*(.-)%s*$"] and line or nil
      if core.signal() == 2 then core.clear_signal() end
      return
    end
  end
  core.write(text)
  core.flush()
end

function Session:read(prompt)
  if not self.reader then
    self.reader, self.close_reader = reader.open(self.progress and folder.history(self.dir) or nil)
  end
  return self.reader(prompt)
end

function Session:close()
  if self.close_reader then self.close_reader() end
end

-- ---- what can be typed now ----

-- first: the word to type, and what it does.
function Session:footer(first, does, others)
  local list = others or { "check", "hint", "show", "try", "text", "list", "help", "q" }
  local words = {}
  for _, word in ipairs(list) do
    if word ~= first and (self.loop or word ~= "q") then words[#words + 1] = word end
  end
  return wrap(("%s (%s), %s."):format(self.loop and "Type " .. first or "Next: lrun learn " .. first, does, table.concat(words, ", ")),
              "", 0) .. "\n"
end

function Session:now()
  local l, known = self:here()
  local total = stage.count(l) or known.steps or math.huge
  if known.passed_at then return self:footer("next", "the next lesson", { "step", "check", "show", "try", "text", "list", "help", "q" }) end
  if known.step < total then return self:footer("step", known.step == 0 and "the first event" or "the next event") end
  return self:footer("check", "all, and compare")
end

return session
