-- A lesson: one Lua file of data that returns a table.
--
--   id, title       "02-created-date", and a line for people
--   source          tables: { { name =, columns = { { NAME, DECLARATION, KIND }, ... },
--   warehouse       key = COLUMNS or nil, rows = { { values in the columns' order }, ... } }, ... }
--                   KIND says what a variant (--seed) may change: "id" is renumbered, "date" is
--                   shifted by whole weeks, "amount" is changed; without one nothing is.
--                   A NULL is false.
--   events          the timeline: see engine/timeline.lua. Dates are shifted with the rows.
--   truth           { table =, key = { ... }, columns = { ... }, source = "SELECT ... on the source",
--                   stamp = the column that tells when a row changed,
--                   partition = the day's column of a table that is written by days,
--                   group = true, total = COLUMN where rows are sums by a group,
--                   books = { bad =, mend =, rows =, amount = } where a day can differ: see engine/backfill.lua;
--                   name =, copied =, days = "SELECT day, number of rows or NULL, total on the source" show
--                   the books beside what is copied }
--   probe           for the X-ray: { table =, target =, key =, columns = { time columns },
--                   row = { values of the other columns }, times = true where no time is a bare date }
--   window          { column = } where the windows themselves are graded: half-open, to run_start;
--                   only = true: a run that reads everything again is none; newest = true: the
--                   windows begin at the newest value loaded, and have no end; day = true:
--                   the window of a run for a logical date is that day
--   record          the table in which the job writes down finished days: engine/backfill.lua
--   requires        { { id = "R2", night = N }, ... }: N is the number of the run that
--                   proves it; or event = N, the number of the event
--   starter, solution   the job's text
--   others          more jobs that must pass: { { name =, job = }, ... }
--   mutants         jobs that must fail: { { name =, job =, rule = "R2", class = "STALE", key = 105 }, ... }
--   figures         { { "SQL", "source" or "warehouse", is = "242.50" }, ... }: what the solution leaves,
--                   or with job = "starter" that job; after = N: after that step
--
-- What a learner reads; a history for grade alone may leave it out:
--
--   about           one line: what the lesson teaches
--   text            told before the first run. Paragraphs are divided by a blank line, and
--                   wrapped by who shows them; lines that begin with blanks stay as they are
--   predict         { { ask = "How many rows will the run read?", before = N or nil, choices = { TEXT, ... } or nil,
--                   sql = "SELECT ...", on = "source" or "warehouse", after = N or nil, job = "starter" or "solution",
--                   is = "0", why = TEXT }, ... }: asked before step N of the timeline, or before the
--                   first; the answer is what the SQL gives after step `after`, 0 being before the first.
--                   `why` is told behind the answer
--   hints           { first nudge, where to look, nearly the code }
--   explain         told after the pass: what happened, why it was silent, the rule
--   closed          true: the lessons' texts are not shown while it is played
--
-- An amount with two decimals in a text is a row's, a figure's or an answer's: author
-- check looks (engine/author.lua).
--
-- A history of engine/timeline.lua is the part source, warehouse, events, truth,
-- probe and window; a generator can make one without the rest.
local lesson = {}

local NEEDS = { "id", "title", "source", "warehouse", "events", "truth", "requires", "starter", "solution", "mutants" }

-- The lessons that are built in, in the order in which they are learned.
lesson.list = {
  "00-machine",
  "01-full-load",
  "02-created-date",
  "03-updated-at",
  "04-write-by-key",
  "05-half-open",
  "06-last-half-second",
  "07-run-start",
  "08-watermark-after",
  "09-lookback",
  "10-choosing-n",
  "11-partitions",
  "12-logical-date",
  "13-overwrite-day",
  "14-check-day",
  "15-safe-backfill",
  "16-dimension-trap",
  "E1",
  "E2",
  "S1",
  "S2",
  "S3",
  "S4",
  "S5",
}

-- ---- a teacher's file ----

local TEXT, FLAG, NUMBER = { string = true }, { boolean = true }, { number = true }
local FIELDS = { about = TEXT, text = TEXT, explain = TEXT, closed = FLAG, hints = { table = true }, predict = { table = true } }
local PREDICT = { ask = TEXT, sql = TEXT, on = TEXT, job = TEXT, is = TEXT, why = TEXT }
local PREDICT_MAY = { before = NUMBER, after = NUMBER, choices = { table = true } }

-- What is wrong with the types of a table's fields, or nil.
local function wrong_type(t, fields, must)
  local names = {}
  for name in pairs(fields) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local v = t[name]
    if v == nil then
      if must then return name .. " is missing" end
    elseif not fields[name][type(v)] then
      return ("%s is a %s, and must be a %s"):format(name, type(v), (next(fields[name])))
    end
  end
end

local function wrong_list(list, name)
  for i, v in ipairs(list or {}) do
    if type(v) ~= "string" then return ("%s: entry %d is no text"):format(name, i) end
  end
end

local function wrong_predict(list)
  for i, p in ipairs(list or {}) do
    local why = type(p) ~= "table" and "is no table" or wrong_type(p, PREDICT, true) or wrong_type(p, PREDICT_MAY) or
                wrong_list(p.choices, "choices")
    if why then return ("predict: entry %d: %s"):format(i, why) end
  end
end

local AN_EXAMPLE = "lrun learn author new FILE.lua writes a whole one, with what each field means"

local function check(t, where)
  if type(t) ~= "table" then return nil, { status = 2, message = where .. " returns no table", hint = AN_EXAMPLE } end
  local why
  for _, name in ipairs(NEEDS) do
    if t[name] == nil then why = name .. " is missing" break end
  end
  why = why or wrong_type(t, FIELDS) or wrong_list(t.hints, "hints") or wrong_predict(t.predict)
  if why then return nil, { status = 2, message = ("%s: %s"):format(where, why), hint = AN_EXAMPLE } end
  return t
end

-- By its name, the beginning of one that no other has, or its number: 05, s1, 5.
function lesson.find(id)
  local low, begun = id:lower(), nil
  if low:find "^%d$" then low = "0" .. low end
  for _, known in ipairs(lesson.list) do
    if known:lower() == low then return require("lesson." .. known) end
    if known:lower():sub(1, #low) == low then begun = begun == nil and known or false end
  end
  if begun then return require("lesson." .. begun) end
  local near = core.nearest(id, lesson.list)
  return nil, { status = 2, message = ("no scenario is named \"%s\""):format(id),
                hint = near and ("did you mean %s?"):format(near) or "known: " .. table.concat(lesson.list, ", ") }
end

-- A teacher's file: data only, so it gets nothing to do anything with.
function lesson.read(path)
  local chunk, why = loadfile(path, "t", {})
  if not chunk then return nil, { status = 2, message = why, hint = "lrun learn author new FILE.lua writes one to begin with" } end
  local ok, t = pcall(chunk)
  if not ok then return nil, { status = 2, message = tostring(t) } end
  return check(t, path)
end

return lesson
