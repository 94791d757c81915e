-- A full load reads everything to find the one row that changed.
local common = require "lesson.common"

local EVERYTHING = [=[
execute { "DELETE FROM staged" }
execute { [[
  INSERT INTO staged
  SELECT order_id, order_date, amount, updated_at
  FROM   orders
]] }

]=]

local REFILL = 'execute { "DELETE FROM dw_orders" }\n' .. common.INSERT

return {
  id = "01-full-load",
  title = "A full load, and a load of what is new",
  about = "A full load is easy to trust, and reads everything to find little",
  text = [[
There are two ways to keep a copy. A full load empties the target and copies
every row, in every run. An incremental load reads only what is new since the
last run.

The full load is easy to trust. It needs no memory: if last night went wrong,
tonight puts it right. For a table of a few thousand rows it is a good choice.

Its price is that it reads everything. The source has 6 orders. Last night's
run, on 2026-01-21, copied the first five of them. Since then there is one
change: order 106 was placed.

    January       19    20    21    22
    source        o104  o105  o106            101 to 106: 6 orders
    full load     every row, from the first
    new                       [=====)         since the run of 01-21

With six million orders it would be six million rows for that one, every
night, and the app's database does that work while people shop.

The job of this lesson is a full load. It knows the watermark in step 1, and
does not use it. Make it an incremental load: let step 2 read the window
only, and let step 3 take away only the copies of the orders just read. The
job of lesson 00 shows how a window is asked for.
]],
  source = common.source(common.orders()),
  warehouse = common.warehouse(common.orders(5), "2026-01-21"),
  events = {
    { run = "2026-01-22" },
    { run = "2026-01-23" },
    common.placed("2026-01-23", 107, 18.00),
    { run = "2026-01-24" },
  },
  predict = {
    { ask = "How many rows will the full load of 2026-01-22 read?", choices = { "1", "5", "6" },
      sql = "SELECT COUNT(*) FROM staged", on = "warehouse", after = 1, job = "starter", is = "6",
      why = "It reads every row of the source, as in every night." },
    { ask = "How many of the source's orders have changed since the run of 2026-01-21?", choices = { "1", "2", "6" },
      sql = "SELECT COUNT(*) FROM orders WHERE updated_at >= '2026-01-21' AND updated_at < '2026-01-22'", on = "source", after = 1,
      job = "starter", is = "1", why = "That is order 106. The other five are in the target already, and are as they were." },
  },
  truth = common.TRUTH,
  probe = common.probe(),
  window = { column = "updated_at", only = true },
  requires = { { id = "R1", night = 2 }, { id = "R3", night = 3 }, { id = "R4", night = 3 } },
  hints = {
    "Two things make this a full load: what step 2 reads, and what step 3 takes away.",
    "Step 2 needs a WHERE on updated_at with :start and :stop, and params = window behind the SQL. Then the DELETE in step 3 " ..
    "must not take away what was not read again.",
    "Step 2 ends with: WHERE updated_at >= :start AND updated_at < :stop ]], params = window }. Step 3 begins with: DELETE FROM " ..
    "dw_orders WHERE order_id IN (SELECT order_id FROM staged).",
  },
  explain = [[
The rows were right in every night of the full load. The fault was the price:
6 rows read to find 1. Such a job works for a year. Then the table has grown,
the night is too short, and somebody is woken.

An incremental load reads 1 row for 1 change. For that it needs a memory, the
watermark, and with a memory come new ways to be wrong: a row may be missed,
or read twice. The lessons that follow are about those.

The rule: read the window, and leave the rest alone. Where a table is small,
a full load is right, and simpler.
]],
  starter = common.job { read = EVERYTHING, told = "-- 3. Empty the copy and fill it again.\n", write = REFILL },
  solution = common.job(),
  others = {
    { name = "merge, the watermark kept by lrun", job = common.MERGE },
    { name = "UPDATE, then INSERT where it is not there", job = common.job { write = common.UPDATE_THEN_INSERT } },
    { name = "the new ones are added", job = common.adding() },
  },
  mutants = {
    { name = "every row, by key", rule = "R1", class = "SILENT", job = common.job { read = EVERYTHING } },
    { name = "everything before today", rule = "R1", class = "SILENT",
      job = common.job { where = ":start < :stop AND updated_at < :stop" } },
    { name = "the window, and the copy emptied", rule = "R3", class = "MISSING", key = 101, job = common.job { write = REFILL } },
    { name = "the watermark is not saved", rule = "R1", class = "SILENT", job = common.job { save = "" } },
  },
  figures = {
    { "SELECT COUNT(*) FROM orders", "source", is = "6", after = 1 },
    { "SELECT COUNT(*) FROM staged", "warehouse", is = "1", after = 1 },
    { "SELECT group_concat(order_id) FROM staged", "warehouse", is = "106", after = 1 },
    { "SELECT printf('%.2f', SUM(amount)) FROM dw_orders", "warehouse", is = "220.50", job = "starter", after = 1 },
    { "SELECT MAX(updated_at) FROM orders", "source", is = "2026-01-21", after = 1 },
  },
}
