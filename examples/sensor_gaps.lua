-- A scenario for lrun learn, of a teacher: readings that a weather station keeps back
-- while its line is down.
--
--   lrun learn author check examples/sensor_gaps.lua      is it right?
--   lrun learn author preview examples/sensor_gaps.lua    as a learner sees it
--   lrun learn grade job.lua --scenario examples/sensor_gaps.lua
--
-- The file is data: it gets no functions but those of strings. What may be in it is told by
-- lrun learn author new FILE.lua, which writes a small one with comments.

-- A job in parts: which rows it takes, and what it does before it inserts them.
local function job(where, first)
  return ([=[
job { transaction = "manual" }

local saved = query { "SELECT watermark FROM wm" }[1].watermark
local window = { start = saved, stop = os.date "%%Y-%%m-%%d %%H:%%M:%%S" }

execute { "BEGIN" }
%sexecute { [[
  INSERT INTO dw_readings
  SELECT reading_id, taken_at, sent_at, celsius
  FROM   readings
  WHERE  %s
]], params = window }
execute { "UPDATE wm SET watermark = :mark", params = { mark = window.stop } }
execute { "COMMIT" }
]=]):format(first and ([=[
execute { [[
  DELETE FROM dw_readings
  WHERE  reading_id IN (
    SELECT reading_id FROM readings
    WHERE  %s)
]], params = window }
]=]):format(where) or "", where)
end

local SENT = "sent_at >= :start AND sent_at < :stop"
local TAKEN = "taken_at >= :start AND taken_at < :stop"

local READING = {
  { "reading_id", "INTEGER", "id" }, { "taken_at", "TEXT NOT NULL", "date" }, { "sent_at", "TEXT NOT NULL", "date" },
  { "celsius", "DECIMAL(5,2)", "amount" },
}

return {
  id = "sensor_gaps",
  title = "A weather station with a bad line",
  about = "Copy readings by the time they were sent, not by the time they were taken",
  text = [[
A weather station takes a reading every few hours, and sends it. Each reading
has two times. taken_at is when the thermometer was read. sent_at is when the
reading, in its present form, was sent: the station sends a reading again when
it was calibrated, with the same reading_id and a new sent_at.

Every midnight your job copies readings to dw_readings. It remembers how far
it got in the table wm.

On 2026-03-03 the line is down. The station goes on reading, and sends what it
has kept two days later, on 2026-03-05 at 08:00:00:

    reading    taken_at       sent_at
    12         03-03 06:00    03-05 08:00
    13         03-03 12:00    03-05 08:00
    11         03-02 06:00    03-05 08:00   again: 7.50 was 7.10

Complete the job so that after each night dw_readings is as the source.
]],
  predict = {
    { ask = "The starter takes the readings of a window on taken_at. How many of the three will it copy in the night of 2026-03-06?",
      before = 8, choices = { "none", "2", "3" }, sql = "SELECT COUNT(*) FROM dw_readings WHERE sent_at >= '2026-03-05'",
      on = "warehouse", after = 8, job = "starter", is = "0",
      why = "The three were taken on the 2nd and the 3rd. Those windows are over, and no later one goes back." },
  },
  hints = {
    "Which of the two times is new when something new has come?",
    "A window on sent_at finds what was kept back, and what was sent again. The latter is in dw_readings already.",
    "Take sent_at >= :start AND sent_at < :stop, and delete the rows with those reading_ids before the INSERT. Or with primitives: " ..
    "extract by sent_at with window { since = watermark() }, and merge by reading_id.",
  },
  explain = [[
The time at which something happened is not the time at which you could know
of it. The nights of the 4th and the 5th ended well with nothing to copy, and
a job that looks at taken_at would never have heard of the gap.

The rule: the window belongs on the time of the last change, and what was sent
again is written by its key.
]],
  source = {
    { name = "readings", key = "reading_id", columns = READING, rows = {
      { 10, "2026-03-01 18:00:00", "2026-03-01 18:00:00", 6.20 } } },
  },
  warehouse = {
    { name = "dw_readings", columns = READING, rows = { { 10, "2026-03-01 18:00:00", "2026-03-01 18:00:00", 6.20 } } },
    { name = "wm", columns = { { "watermark", "TEXT", "date" } }, rows = { { "2026-03-02 00:00:00" } } },
  },
  events = {
    { at = "2026-03-02 06:00:00", insert = "readings", row = { 11, "2026-03-02 06:00:00", "2026-03-02 06:00:00", 7.10 } },
    { run = "2026-03-03" },
    { run = "2026-03-04" },
    { run = "2026-03-05" },
    { at = "2026-03-05 08:00:00", insert = "readings", row = { 12, "2026-03-03 06:00:00", "2026-03-05 08:00:00", 5.40 }, label = "kept back" },
    { at = "2026-03-05 08:00:00", insert = "readings", row = { 13, "2026-03-03 12:00:00", "2026-03-05 08:00:00", 9.80 } },
    { at = "2026-03-05 08:00:00", update = "readings", set = { celsius = 7.50, sent_at = "2026-03-05 08:00:00" },
      where = { reading_id = 11 }, label = "again" },
    { run = "2026-03-06" },
    { run = "2026-03-07" },
  },
  truth = { table = "dw_readings", key = { "reading_id" }, columns = { "reading_id", "taken_at", "sent_at", "celsius" },
            source = "SELECT reading_id, taken_at, sent_at, celsius FROM readings", stamp = "sent_at", total = "celsius" },
  probe = { table = "readings", target = "dw_readings", key = "reading_id", columns = { "sent_at", "taken_at" },
            row = { celsius = 1.00 }, times = true },
  window = { column = "sent_at" },
  requires = {
    { id = "R2", text = "find what was sent, not what was taken", night = 4 },
    { id = "R3", text = "a reading that is sent again is there once", night = 4 },
    { id = "R4", text = "windows half-open, no gap, no overlap", night = 5 },
  },
  starter = job(TAKEN),
  solution = job(SENT, true),
  others = {
    { name = "merge, the watermark kept by lrun", job = [[
job { grain = "day" }
local sent = extract { from = "readings", by = "sent_at", window = window { since = watermark() } }
merge { sent, into = "dw_readings", key = "reading_id" }
]] },
  },
  mutants = {
    { name = "taken_at, by key", rule = "R2", class = "STALE", key = 11, job = job(TAKEN, true) },
    { name = "sent_at, added", rule = "R3", class = "DUPLICATE", key = 11, job = job(SENT) },
    { name = "BETWEEN, by key", rule = "R4", class = "SILENT", job = job("sent_at BETWEEN :start AND :stop", true) },
  },
  figures = {
    { "SELECT COUNT(*) FROM dw_readings", "warehouse", is = "4" },
    { "SELECT COUNT(*) FROM dw_readings", "warehouse", is = "2", job = "starter" },
  },
}
