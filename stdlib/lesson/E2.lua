-- E2: overwrite one day of a table that is kept by days, and nothing else.
local HEAD = [[
job { transaction = "manual" }
local day = tostring(logical_date)

]]

local DELETE = [[
execute { "DELETE FROM target WHERE load_date = :day",
          params = { day = day } }
]]

local INSERT = [[
execute { "INSERT INTO target(id, load_date, amount) " ..
          "SELECT id, load_date, amount FROM source_rows " ..
          "WHERE load_date = :day",
          params = { day = day } }
]]

local function atomic(body) return HEAD .. 'execute { "BEGIN" }\n' .. body .. 'execute { "COMMIT" }\n' end

local ROW = { { "id", "INTEGER", "id" }, { "load_date", "TEXT NOT NULL", "date" }, { "amount", "INTEGER" } }

return {
  id = "E2",
  title = "Overwrite one day",
  about = "Write one day of a table again, so that a second run changes nothing",
  text = [[
The table target is kept by days: a row belongs to its load_date. The day
2026-03-05 was loaded with wrong amounts. In the meantime source_rows has been
corrected. The amounts of the ids 11 and 12 are right now, and id 14 is gone:
it should never have been there.

    target        id, load_date, amount: four rows
    source_rows   the same columns, as they should be

Your job is called for the logical date 2026-03-05. Write that day of target
again, from source_rows. The first call is stopped in the middle of the
writes, and called once more; then it is called a third time.

Two checks: after the run the day is as the source has it, and the days beside
it are as they were; and a second run leaves target as it is.
]],
  predict = {
    { ask = "The starter inserts the day and deletes nothing. How many rows of 2026-03-05 are in target after it was called again?",
      choices = { "2", "3", "5" }, sql = "SELECT COUNT(*) FROM target WHERE load_date = '2026-03-05'", on = "warehouse", after = 2,
      job = "starter", is = "5",
      why = "They are the three old rows, and the two of the source beside them. The first call was stopped before it had written." },
  },
  hints = {
    "What must be gone from target before the rows of the day come in? Think of id 14 as well.",
    "DELETE the rows of the day, then INSERT the day from source_rows, both with load_date = :day.",
    "A stop between the two would leave an empty day. Put execute { \"BEGIN\" } before the DELETE and execute { \"COMMIT\" } after " ..
    "the INSERT. Primitives: extract by load_date with window = window(), then overwrite_partition.",
  },
  explain = [[
The day had 3 rows with the total 355 before, and has 2 with the total 350
now. An upsert would have mended the ids 11 and 12, and kept id 14, which no
row of the source points to any more.

Since the day is deleted first, a second run finds the same day and leaves the
same rows. And since DELETE and INSERT are one transaction, a stop between the
two leaves the old day, whole.

The rule: a day is written as a whole, delete and insert, in one transaction.
]],
  source = {
    { name = "source_rows", key = "id", columns = ROW, rows = {
      { 10, "2026-03-04", 90 }, { 11, "2026-03-05", 150 }, { 12, "2026-03-05", 200 }, { 13, "2026-03-06", 80 } } },
  },
  warehouse = {
    { name = "target", columns = ROW, rows = {
      { 10, "2026-03-04", 90 }, { 11, "2026-03-05", 100 }, { 12, "2026-03-05", 180 }, { 14, "2026-03-05", 75 } } },
  },
  events = {
    { backfill = { "2026-03-05", "2026-03-05" }, at = "2026-03-07", fail_on = "2026-03-05", fail = "in_write" },
    { backfill = { "2026-03-05", "2026-03-05" }, at = "2026-03-07" },
    { backfill = { "2026-03-05", "2026-03-05" }, at = "2026-03-07" },
  },
  truth = { table = "target", key = { "id" }, columns = { "id", "load_date", "amount" },
            source = "SELECT id, load_date, amount FROM source_rows", partition = "load_date", total = "amount" },
  requires = { { id = "R11", night = 2 }, { id = "R10", night = 2 }, { id = "R17", night = 2 }, { id = "R7", night = 3 } },
  starter = HEAD .. INSERT,
  solution = atomic(DELETE .. INSERT),
  others = {
    { name = "overwrite_partition", job = [[
job { grain = "day" }
local rows = extract { from = "source_rows", by = "load_date", window = window() }
overwrite_partition { rows, into = "target" }
]] },
  },
  mutants = {
    { name = "an upsert", rule = "R17", class = "ORPHAN", key = 14, job = [[
job { transaction = "manual" }
local day = tostring(logical_date)
execute { "CREATE UNIQUE INDEX IF NOT EXISTS target_key ON target(id)" }
execute { "INSERT INTO target SELECT id, load_date, amount FROM source_rows WHERE load_date = :day " ..
          "ON CONFLICT(id) DO UPDATE SET load_date = excluded.load_date, amount = excluded.amount", params = { day = day } }
]] },
    { name = "the clock's yesterday", rule = "R10", class = "STALE", key = 11,
      job = (atomic(DELETE .. INSERT):gsub("tostring%(logical_date%)", 'os.date("%%Y-%%m-%%d", os.time() - 86400)')) },
    { name = "from that day on", rule = "R11", class = "ORPHAN", key = 13,
      job = (atomic(DELETE .. INSERT):gsub("load_date = :day", "load_date >= :day")) },
    { name = "DELETE and INSERT, each committed by itself", rule = "R11", class = "TORN", key = 11, job = HEAD .. DELETE .. INSERT },
    { name = "a plain INSERT", rule = "R3", class = "DUPLICATE", key = 11, job = HEAD .. INSERT },
  },
  figures = {
    { "SELECT COUNT(*) || '/' || SUM(amount) FROM target WHERE load_date = '2026-03-05'", "warehouse", is = "3/355", after = 0 },
    { "SELECT SUM(amount) FROM target WHERE load_date = '2026-03-05'", "warehouse", is = "350" },
    { "SELECT COUNT(*) FROM target WHERE load_date = '2026-03-05'", "warehouse", is = "2" },
  },
}
