-- What lrun learn author new writes: a small scenario that passes author check.
return [==[
-- A scenario for lrun learn: one file of data. It gets no functions but those of strings.
--
--   lrun learn author check FILE      is it right? Run it after each change
--   lrun learn author preview FILE    as a learner sees it
--   lrun learn grade job.lua --scenario FILE
--
-- This one is small and whole: parcels change their place, and each night a job copies
-- those that changed. Change one thing at a time, and check.

-- The job in parts, so that the wrong ones differ from the right one in one place.
local function job(where, first)
  return ([=[
job { transaction = "manual" }

local saved = query { "SELECT watermark FROM wm" }[1].watermark
local window = { start = saved, stop = os.date "%%Y-%%m-%%d %%H:%%M:%%S" }

execute { "BEGIN" }
%sexecute { [[
  INSERT INTO dw_parcels SELECT parcel_id, place, moved_at FROM parcels
  WHERE  %s
]], params = window }
execute { "UPDATE wm SET watermark = :mark", params = { mark = window.stop } }
execute { "COMMIT" }
]=]):format(first or "", where)
end

local HALF_OPEN = "moved_at >= :start AND moved_at < :stop"

-- Write by key: the old copy of a parcel goes before the new one comes.
local DELETE = [=[
execute { [[
  DELETE FROM dw_parcels WHERE parcel_id IN (
    SELECT parcel_id FROM parcels
    WHERE  moved_at >= :start AND moved_at <= :stop)
]], params = window }
]=]

-- { name, declaration, kind }. The kind says what a variant may change: "id" is
-- renumbered, "date" is moved by whole weeks, "amount" is changed; without one, nothing.
local PARCEL = { { "parcel_id", "INTEGER", "id" }, { "place", "TEXT" }, { "moved_at", "TEXT", "date" } }

return {
  id = "@ID@",
  title = "Parcels on the move",
  about = "Copy the parcels that moved since the last run",

  -- What the learner reads first. Paragraphs are wrapped; indented lines stay as they are,
  -- within 78 columns. Amounts with two decimals must be a row's or a figure's.
  text = [[
A depot keeps its parcels in the table parcels: parcel_id, place, and moved_at,
the time of the last move. Each midnight your job copies the parcels that
moved to dw_parcels. It keeps how far it got in wm.

    parcel 1    depot, then van    moved on 05-02 at 09:00

Complete the job, so that no parcel is there two times.
]],

  -- Asked before step `before` of the time line; `is` is what the SQL gives after step
  -- `after` of the job named. author check proves it.
  predict = {
    { ask = "How many rows has dw_parcels after the second run of the starter?", before = 3, choices = { "1", "2", "3" },
      sql = "SELECT COUNT(*) FROM dw_parcels", on = "warehouse", after = 3, job = "starter", is = "2",
      why = "Parcel 1 is there as it was, and once more as it is now." },
  },
  hints = {
    "What is in dw_parcels already, when a parcel moves again?",
    "The INSERT adds a row. The old row of the same parcel must be gone before it, in the same transaction.",
    "Before the INSERT: DELETE FROM dw_parcels WHERE parcel_id IN (the parcels of the same window).",
  },
  explain = [[
The run ended well, and the parcel was there two times. A job that only adds
cannot copy rows that change.

The rule: write by key.
]],

  -- The tables before the first event. A row is a list in the columns' order; NULL is false.
  source = { { name = "parcels", key = "parcel_id", columns = PARCEL, rows = { { 1, "depot", "2026-05-01 08:00:00" } } } },
  warehouse = {
    { name = "dw_parcels", columns = PARCEL },
    { name = "wm", columns = { { "watermark", "TEXT", "date" } }, rows = { { "2026-05-01 00:00:00" } } },
  },

  -- What happens, in order. Also: skip, twice, retry, delete, backfill, check, and in a run
  -- fail = "in_write" (the machine stops there) or during = { events }.
  events = {
    { run = "2026-05-02" },
    { at = "2026-05-02 09:00:00", update = "parcels", set = { place = "van", moved_at = "2026-05-02 09:00:00" },
      where = { parcel_id = 1 }, label = "moved" },
    { run = "2026-05-03" },
    { run = "2026-05-04" },
  },

  -- What the warehouse must hold after each run: a query on the source. stamp is the column
  -- that tells when a row changed; what is stamped after the run may be missing still.
  truth = { table = "dw_parcels", key = { "parcel_id" }, columns = { "parcel_id", "place", "moved_at" },
            source = "SELECT parcel_id, place, moved_at FROM parcels", stamp = "moved_at" },

  -- For the X-ray, which plants rows to see a run's window: the time columns, and a row.
  probe = { table = "parcels", target = "dw_parcels", key = "parcel_id", columns = { "moved_at" }, row = { place = "x" }, times = true },
  window = { column = "moved_at" }, -- the windows are graded too: half-open, to the run's start

  -- What is graded, by the rules R1 to R18: night = N is the run that proves it (or event = N).
  requires = {
    { id = "R3", text = "write by key, no second copy", night = 2 },
    { id = "R4", text = "windows half-open, no gap, no overlap", night = 3 },
  },

  starter = job(HALF_OPEN),
  solution = job(HALF_OPEN, DELETE),

  -- Right answers in another form: they must pass, on 20 variants, as the solution must.
  others = {
    { name = "merge", job = [[
job { grain = "day" }
local moved = extract { from = "parcels", by = "moved_at", window = window { since = watermark() } }
merge { moved, into = "dw_parcels", key = "parcel_id" }
]] },
  },

  -- Wrong answers: each must fail as it says here, by rule, class and key.
  mutants = {
    { name = "added", rule = "R3", class = "DUPLICATE", key = 1, job = job(HALF_OPEN) },
    { name = "both ends included", rule = "R4", class = "SILENT", job = job("moved_at BETWEEN :start AND :stop", DELETE) },
    { name = "only what is new", rule = "R3", class = "STALE", key = 1,
      job = job(HALF_OPEN .. " AND parcel_id NOT IN (SELECT parcel_id FROM dw_parcels)") },
  },

  -- What a query gives after the last step, or after = N, of the solution or job = "starter".
  figures = {
    { "SELECT COUNT(*) FROM dw_parcels", "warehouse", is = "1" },
  },
}
]==]
