-- E1: a high-water mark, kept by the job, and the day below it written again.
local HEAD = [[
job { transaction = "manual" }

local mark = query { "SELECT watermark FROM state" }[1].watermark
local day = mark:sub(1, 10)

]]

local NEWER = [[
execute { "CREATE TEMP TABLE IF NOT EXISTS newer AS " ..
          "SELECT * FROM target WHERE 1 = 0" }
execute { "DELETE FROM newer" }
execute { "INSERT INTO newer SELECT id, load_date, updated_at, amount " ..
          "FROM source_rows WHERE updated_at > :mark",
          params = { mark = mark } }
execute { "DELETE FROM target WHERE id IN (SELECT id FROM newer)" }
execute { "INSERT INTO target SELECT * FROM newer" }
]]

local SAVE = [[
execute { "UPDATE state SET watermark = " ..
          "(SELECT MAX(updated_at) FROM target)" }
]]

local DELETE = [[
execute { "DELETE FROM target WHERE load_date = :day",
          params = { day = day } }
]]

local INSERT = [[
execute { "INSERT INTO target SELECT id, load_date, updated_at, amount " ..
          "FROM source_rows WHERE load_date = :day",
          params = { day = day } }
]]

local function atomic(body) return HEAD .. 'execute { "BEGIN" }\n' .. body .. 'execute { "COMMIT" }\n' end

local ROW = { { "id", "INTEGER", "id" }, { "load_date", "TEXT NOT NULL", "date" }, { "updated_at", "TEXT NOT NULL", "date" },
              { "amount", "INTEGER" } }

return {
  id = "E1",
  title = "A high-water mark",
  about = "Load what is above a saved mark, and write the day below it again",
  text = [[
The lessons so far saved the time of the run as the watermark. There is
another way. A high-water mark is the newest updated_at that was loaded. The
next run takes what is above it:

    WHERE  updated_at > :mark

A row that stands exactly on the mark is not read again, and nothing depends
on a clock. The price is that a row which lands below the mark is never above
it. So each run also writes one day again, by overwrite: the load_date on
which the mark stood when the run began.

    source_rows   id, load_date, updated_at, amount
    target        the same columns. Each id may be there once; nothing in the
                  table itself sees to that
    state         one row: the watermark, 2026-03-02 10:00:00

When the first run begins, target holds the ids 1 and 2. In source_rows there
are four: id 3 is new, and id 4 landed below the mark, with the load_date
2026-03-02.

Three checks: after each run target holds the rows of the source; the mark has
gone to the newest updated_at in target; the same run once more changes
nothing. Later a row changes, and one more comes late.
]],
  predict = {
    { ask = "The starter takes the rows above the mark, and no more. How many rows has target after its first run?",
      choices = { "2", "3", "4" }, sql = "SELECT COUNT(*) FROM target", on = "warehouse", after = 1, job = "starter", is = "3",
      why = "Id 3 is above the mark. Id 4 has the updated_at 2026-03-02 09:00:00, an hour below it, and no later run looks there." },
  },
  hints = {
    "Which of the four ids does updated_at > mark find? What would find the other one, without reading the whole table?",
    "Load what is above the mark by key. Save MAX(updated_at) of target as the mark. Then delete the rows of target with the " ..
    "load_date of the old mark, and insert that day from source_rows.",
    "Keep the old mark in a Lua variable first: mark:sub(1, 10) is its day. All of it stands between one BEGIN and one COMMIT. " ..
    "Primitives: watermark { start = mark, advance = \"newest\" }, merge, then overwrite_partition with window(mark:sub(1, 10)).",
  },
  explain = [[
Id 4 was there before the first run, an hour below the mark. No error, no
empty run: id 3 was loaded, so the job looked well. The overwritten day brought
id 4, and after the run the day 2026-03-02 has 2 rows with the total 450.

A mark that goes to the time of the run would have jumped over the day between
the newest row and the run, and the next overwrite would have written the
wrong day.

A row that comes later with exactly the time of the mark is not above it
either. A job that writes by key can read it with >=: a row that is read
twice stays one row. watermark { advance = "newest" } of lrun does so for
merge and overwrite_partition, and prints the window as [mark, newest].

The rule: move the mark to the newest value that was loaded, and no further;
and write again the days in which late rows land.
]],
  source = {
    { name = "source_rows", key = "id", columns = ROW, rows = {
      { 1, "2026-03-01", "2026-03-01 10:00:00", 100 }, { 2, "2026-03-02", "2026-03-02 10:00:00", 200 },
      { 3, "2026-03-03", "2026-03-03 10:00:00", 300 }, { 4, "2026-03-02", "2026-03-02 09:00:00", 250 } } },
  },
  warehouse = {
    { name = "target", columns = ROW, rows = {
      { 1, "2026-03-01", "2026-03-01 10:00:00", 100 }, { 2, "2026-03-02", "2026-03-02 10:00:00", 200 } } },
    { name = "state", columns = { { "id", "INTEGER PRIMARY KEY" }, { "watermark", "TEXT NOT NULL", "date" } },
      rows = { { 1, "2026-03-02 10:00:00" } } },
  },
  events = {
    { twice = "2026-03-04" },
    { at = "2026-03-04 09:00:00", insert = "source_rows", row = { 5, "2026-03-04", "2026-03-04 09:00:00", 500 } },
    { at = "2026-03-04 11:00:00", insert = "source_rows", row = { 6, "2026-03-03", "2026-03-03 08:00:00", 120 }, label = "late" },
    { at = "2026-03-04 12:00:00", update = "source_rows", set = { amount = 210, updated_at = "2026-03-04 12:00:00" }, where = { id = 2 },
      label = "changed" },
    { run = "2026-03-05" },
    { run = "2026-03-06" },
  },
  truth = { table = "target", key = { "id" }, columns = { "id", "load_date", "updated_at", "amount" },
            source = "SELECT id, load_date, updated_at, amount FROM source_rows", stamp = "updated_at", total = "amount" },
  probe = { table = "source_rows", target = "target", key = "id", columns = { "updated_at" },
            row = { load_date = "1999-01-01", amount = 1 }, times = true },
  window = { column = "updated_at", newest = true },
  requires = { { id = "R8", event = 1 }, { id = "R18", event = 6 }, { id = "R7", event = 2 } },
  starter = HEAD .. INSERT:gsub("load_date = :day", "updated_at > :mark"):gsub("day = day", "mark = mark") .. SAVE,
  solution = atomic(NEWER .. SAVE .. DELETE .. INSERT),
  others = {
    { name = "at or above the mark, an upsert", job = HEAD .. [[
execute { "CREATE UNIQUE INDEX IF NOT EXISTS target_key ON target(id)" }
execute { "BEGIN" }
execute { "INSERT INTO target SELECT id, load_date, updated_at, amount FROM source_rows WHERE updated_at >= :mark " ..
          "ON CONFLICT(id) DO UPDATE SET load_date = excluded.load_date, updated_at = excluded.updated_at, amount = excluded.amount",
          params = { mark = mark } }
]] .. SAVE .. DELETE .. INSERT .. 'execute { "COMMIT" }\n' },
    { name = "merge, overwrite_partition, the mark kept by lrun", job = [[
job { name = "high_water_mark" }

local mark = query { "SELECT watermark FROM state" }[1].watermark
local newer = extract {
  from = "source_rows", by = "updated_at",
  window = window { since = watermark { start = mark, advance = "newest" } },
}
merge { newer, into = "target", key = "id" }
execute { "UPDATE state SET watermark = (SELECT MAX(updated_at) FROM target)" }

local day = extract { from = "source_rows", by = "load_date", window = window(mark:sub(1, 10)) }
overwrite_partition { day, into = "target" }
]] },
  },
  mutants = {
    { name = "only what is above the mark", rule = "R8", class = "MISSING", key = 4, job = atomic(NEWER .. SAVE) },
    { name = "a plain INSERT above the mark", rule = "R3", class = "DUPLICATE", key = 2,
      job = atomic(NEWER:gsub("execute { \"DELETE FROM target[^\n]*\n", "") .. SAVE .. DELETE .. INSERT) },
    { name = "the day is added, not overwritten", rule = "R3", class = "DUPLICATE", key = 2, job = atomic(NEWER .. SAVE .. INSERT) },
    { name = "the mark goes to the time of the run", rule = "R18", class = "MISSING", key = 6,
      job = atomic(NEWER .. 'execute { "UPDATE state SET watermark = :now", params = { now = os.date "%Y-%m-%d %H:%M:%S" } }\n' ..
                   DELETE .. INSERT) },
    { name = "the mark stays", rule = "R18", class = "SILENT", job = atomic(NEWER .. DELETE .. INSERT) },
    { name = "everything again", rule = "R1", class = "SILENT", job = atomic(NEWER:gsub("updated_at > :mark", ":mark IS NOT NULL") ..
                                                                             SAVE .. DELETE .. INSERT) },
  },
  figures = {
    { "SELECT COUNT(*) || '/' || SUM(amount) FROM target WHERE load_date = '2026-03-02'", "warehouse", is = "2/450", after = 2 },
    { "SELECT group_concat(id || '=' || amount, ' ') FROM (SELECT * FROM target ORDER BY id)", "warehouse",
      is = "1=100 2=200 3=300 4=250", after = 1 },
    { "SELECT watermark FROM state", "warehouse", is = "2026-03-03 10:00:00", after = 1 },
    { "SELECT COUNT(*) || '/' || SUM(amount) FROM target", "warehouse", is = "6/1480" },
  },
}
