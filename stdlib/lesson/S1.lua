-- S1, the corner shop: eight nights, with what happens to a nightly job in them.
local common = require "lesson.common"

local NOW = 'os.date "%Y-%m-%d %H:%M:%S"'

-- Runs begin at midnight; the source's times have seconds.
local function job(o)
  o = o or {}
  o.window = o.window or ("local window = { start = saved, stop = %s }\n"):format(NOW)
  return common.job(o)
end

local WM_DAY = [=[
job { transaction = "manual" }
local stop = os.date "%Y-%m-%d"
local window = { start = os.date("%Y-%m-%d", os.time() - 86400), stop = stop }
execute { [[
  UPDATE dw_orders SET (amount, updated_at) =
    (SELECT s.amount, s.updated_at FROM orders s WHERE s.order_id = dw_orders.order_id)
  WHERE order_id IN (SELECT order_id FROM orders WHERE updated_at >= :start AND updated_at < :stop)
]], params = window }
execute { [[
  INSERT INTO dw_orders SELECT order_id, order_date, amount, updated_at FROM orders
  WHERE order_date >= :start AND order_date < :stop
]], params = window }
]=]

local placed, paid = common.placed, common.paid

return {
  id = "S1",
  title = "The corner shop: eight nights",
  about = "Keep a nightly copy right through eight nights in which everything happens",
  closed = true,
  text = [[
A corner shop takes orders all day. An order is placed with or without its
payment; many are paid hours or days later. The app writes each order to the
source's table orders, with the time of its last change in updated_at.

Your job runs every midnight, from 2026-02-02 to 2026-02-09. It keeps the copy
dw_orders. What it must remember from night to night it keeps in the table wm:
the watermark, which is 2026-02-01 00:00:00 before the first run.

These nights are not all quiet:

    one order is stamped with a midnight, to the second
    one night the scheduler starts the job two times
    one order lands while the job is running
    one night the job stops after it has written the rows
    one night the job stops in the middle of writing them

After a stop the same job is started again. Each night must read what changed
since the last run that went well, and not the whole table. At the end no
order may be missing, old, or there two times; and at no moment, also after a
stop, may an order that was there be gone.
]],
  hints = {
    "Draw the eight windows one below the other. Where does each begin and end, and which of them holds an order that is stamped " ..
    "exactly at a midnight? What does each column tell you about a late payment?",
    "Read updated_at >= watermark AND updated_at < run_start, with run_start taken once. Write by key. Save run_start as the " ..
    "watermark only with the rows or after them.",
    "Put DELETE, INSERT and the UPDATE of wm between one BEGIN and one COMMIT. Or with primitives: extract by updated_at with " ..
    "window { since = watermark() }, and merge by order_id.",
  },
  explain = [[
Eight nights, and each of the faults that they provoke is silent: the run ends
well, and a row is missing, old, or doubled. The late payments need a window
on the last change. The order at midnight needs half-open windows. The run
that came twice, and the retries, need a write by key. The stops need a write
that happens whole or not at all, and the watermark in it or after it.

The rule: read [watermark, run_start) of the last change, write by key, and
move the watermark with the rows or after them.
]],
  source = common.source {
    { 200, "2026-01-31", 18.00, "2026-01-31 16:20:00" }, { 201, "2026-02-01", 12.50, "2026-02-01 09:00:00" },
    { 202, "2026-02-01", false, "2026-02-01 14:00:00" } },
  warehouse = common.warehouse({ { 200, "2026-01-31", 18.00, "2026-01-31 16:20:00" } }, "2026-02-01 00:00:00"),
  events = {
    { run = "2026-02-02" },
    placed("2026-02-02 10:00:00", 203, false),
    paid("2026-02-02 11:00:00", 202, 31.00),
    { run = "2026-02-03" },
    placed("2026-02-03 09:00:00", 204, 8.75),
    placed("2026-02-04 00:00:00", 205, 44.00),
    { twice = "2026-02-04" },
    placed("2026-02-04 12:00:00", 206, 15.25),
    { run = "2026-02-05" },
    placed("2026-02-05 17:30:00", 207, 60.00),
    { run = "2026-02-06", during = { placed("2026-02-06 00:00:02", 208, 21.00) } },
    paid("2026-02-06 15:00:00", 203, 27.00),
    { run = "2026-02-07", fail = "after_write" },
    { retry = "2026-02-07" },
    placed("2026-02-07 08:00:00", 209, 33.00),
    paid("2026-02-07 13:00:00", 206, 16.25),
    { run = "2026-02-08", fail = "in_write" },
    { retry = "2026-02-08" },
    placed("2026-02-08 19:00:00", 210, 5.50),
    { run = "2026-02-09" },
  },
  truth = common.TRUTH,
  probe = common.probe { times = true },
  window = { column = "updated_at", only = true },
  requires = {
    { id = "R1", night = 11 }, { id = "R2", night = 2 }, { id = "R3", night = 2 }, { id = "R4", night = 5 },
    { id = "R5", night = 7 }, { id = "R6", night = 10 }, { id = "R7", night = 8 },
  },
  starter = job { where = "order_date BETWEEN :start AND :stop", told = "-- 3. Write the rows.\n", write = common.INSERT, each = true },
  solution = job(),
  others = {
    { name = "merge, the watermark kept by lrun", job = common.MERGE },
    { name = "an upsert, then the watermark, each by itself", job = job { write = common.UPSERT, each = true } },
    { name = "UPDATE, then INSERT where it is not there", job = job { write = common.UPDATE_THEN_INSERT } },
    { name = "insert_new for the new, merge for all, and a table of its own", job = [[
job { grain = "day" }

local changed = extract { from = "orders", by = "updated_at", window = window { since = watermark() } }
execute { "CREATE TABLE IF NOT EXISTS my_notes(n INTEGER)" }
insert_new { changed, into = "dw_orders", key = "order_id" }
merge { changed, into = "dw_orders", key = "order_id" }
]] },
  },
  mutants = {
    { name = "a full load every night", rule = "R1", class = "SILENT", job = common.FULL_LOAD },
    { name = "the created date, by key", rule = "R2", class = "STALE", key = 202,
      job = job { where = "order_date >= substr(:start, 1, 10) AND order_date < substr(:stop, 1, 10)" } },
    { name = "a plain INSERT", rule = "R3", class = "DUPLICATE", key = 202, job = job { write = common.INSERT } },
    { name = "both ends excluded", rule = "R4", class = "MISSING", key = 205,
      job = job { where = "updated_at > :start AND updated_at < :stop" } },
    { name = "BETWEEN, by key", rule = "R4", class = "SILENT", job = job { where = "updated_at BETWEEN :start AND :stop" } },
    { name = "no end", rule = "R5", class = "SILENT",
      job = job { where = "updated_at >= :start", window = "local window = { start = saved }\n",
                  save = common.SAVE:gsub("window%.stop", (NOW:gsub("%%", "%%%%"))) } },
    { name = "the watermark is saved first", rule = "R6", class = "STALE", key = 206,
      job = job { write = common.UPSERT, first = true, each = true } },
    { name = "new orders by a plain INSERT of yesterday", rule = "R7", class = "DUPLICATE", key = 204, job = WM_DAY },
    { name = "DELETE and INSERT, each committed by itself", rule = "R11", class = "TORN", key = 206, job = job { each = true } },
    { name = "the watermark is never saved", rule = "R1", class = "SILENT", job = job { save = "" } },
  },
  figures = {
    { "SELECT printf('%.2f', SUM(amount)) FROM orders", "source", is = "277.00" },
    { "SELECT COUNT(*) FROM dw_orders", "warehouse", is = "11" },
  },
}
