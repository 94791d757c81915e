-- E2: overwrite one day of a table that is kept by days, and nothing else.
local HEAD = [[
job { transaction = "manual" }
local day = tostring(logical_date)

]]

local DELETE = [[
execute { "DELETE FROM target WHERE load_date = :day", params = { day = day } }
]]

local INSERT = [[
execute { "INSERT INTO target(id, load_date, amount) SELECT id, load_date, amount FROM source_rows WHERE load_date = :day",
          params = { day = day } }
]]

local function atomic(body) return HEAD .. 'execute { "BEGIN" }\n' .. body .. 'execute { "COMMIT" }\n' end

local ROW = { { "id", "INTEGER", "id" }, { "load_date", "TEXT NOT NULL", "date" }, { "amount", "INTEGER" } }

return {
  id = "E2",
  title = "Overwrite one day",
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
  requires = {
    { id = "R11", text = "one whole day in one transaction, the others untouched", night = 2 },
    { id = "R10", text = "the logical date, not the clock", night = 2 },
    { id = "R17", text = "rows gone from the source go from the day", night = 2 },
    { id = "R7", text = "the same run twice leaves the same rows", night = 3 },
  },
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
    { "SELECT SUM(amount) FROM target WHERE load_date = '2026-03-05'", "warehouse", is = "350" },
    { "SELECT COUNT(*) FROM target WHERE load_date = '2026-03-05'", "warehouse", is = "2" },
  },
}
