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
--                   group = true, total = COLUMN where rows are sums by a group }
--   probe           for the X-ray: { table =, target =, key =, columns = { time columns },
--                   row = { values of the other columns }, times = true where no time is a bare date }
--   window          { column = } where the windows themselves are graded: half-open, to run_start;
--                   only = true: a run that reads everything again is none
--   requires        { { id = "R2", text =, night = N }, ... }: N is the number of the run that
--                   proves it
--   starter, solution   the job's text
--   others          more jobs that must pass: { { name =, job = }, ... }
--   mutants         jobs that must fail: { { name =, job =, rule = "R2", class = "STALE", key = 105 }, ... }
--   figures         { { "SQL", "source" or "warehouse", is = "242.50" }, ... }: what the solution leaves,
--                   or with job = "starter" that job; after = N: after that step
--
-- A history of engine/timeline.lua is the part source, warehouse, events, truth,
-- probe and window; a generator can make one without the rest.
local lesson = {}

local NEEDS = { "id", "title", "source", "warehouse", "events", "truth", "requires", "starter", "solution", "mutants" }

-- The lessons that are built in.
lesson.list = { "02-created-date", "05-half-open", "09-lookback", "16-dimension-trap", "E2", "S1" }

local function check(t, where)
  if type(t) ~= "table" then return nil, { status = 2, message = where .. " returns no table", hint = "see lrun help learn" } end
  for _, name in ipairs(NEEDS) do
    if t[name] == nil then return nil, { status = 2, message = ("%s: %s is missing"):format(where, name) } end
  end
  return t
end

function lesson.find(id)
  for _, known in ipairs(lesson.list) do
    if known == id then return require("lesson." .. id) end
  end
  local near = core.nearest(id, lesson.list)
  return nil, { status = 2, message = ("no scenario is named \"%s\""):format(id),
                hint = near and ("did you mean %s?"):format(near) or "known: " .. table.concat(lesson.list, ", ") }
end

-- A teacher's file: data only, so it gets nothing to do anything with.
function lesson.read(path)
  local chunk, why = loadfile(path, "t", {})
  if not chunk then return nil, { status = 2, message = why } end
  local ok, t = pcall(chunk)
  if not ok then return nil, { status = 2, message = tostring(t) } end
  return check(t, path)
end

return lesson
