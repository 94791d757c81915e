-- One day of a table is a slice of its own: running it again leaves the others alone.
local common = require "lesson.common"

-- The app has moved the oldest three orders to an archive; order 105 was paid.
local SOURCE = { { 104, "2026-01-19", 35.00, "2026-01-19" }, { 105, "2026-01-20", 22.00, "2026-01-25" },
                 { 106, "2026-01-21", 70.00, "2026-01-21" } }

return {
  id = "11-partitions",
  title = "Partitions: one day is a slice",
  about = "A day of the target can be written again without touching the others",
  text = [[
A partition is one slice of a table. Here it is all rows with the same
order_date: one day. The target has six of them:

    SELECT order_date, COUNT(*), SUM(amount) FROM dw_orders
    GROUP  BY order_date ORDER BY order_date

    2026-01-03   1   40.00        2026-01-19   1   35.00
    2026-01-08   1   25.50        2026-01-20   1   NULL
    2026-01-10   1   50.00        2026-01-21   1   70.00

The day 2026-01-20 is wrong: order 105 has been paid since, and this copy came
from the job that looks at the created date. That day is to be copied again.

A colleague says: run a full load, then everything is right. But the app
moves orders that are older than two weeks into an archive. On 2026-01-26 its
table holds the orders 104, 105 and 106, and no others.

A run can be told a day. The job then asks for that day's window:

    window()   [2026-01-20, 2026-01-21)

overwrite_partition deletes the rows of that window in the target, and inserts
those that were read, both in the run's one transaction.
]],
  source = common.source(SOURCE),
  warehouse = common.warehouse(common.orders(), "2026-01-22"),
  events = {
    { backfill = { "2026-01-20", "2026-01-20" }, at = "2026-01-26" },
    { backfill = { "2026-01-20", "2026-01-20" }, at = "2026-01-27" },
  },
  predict = {
    { ask = "The target has 6 rows. How many has it after the full load?", choices = { "3", "6", "9" },
      sql = "SELECT COUNT(*) FROM dw_orders", on = "warehouse", after = 1, job = "starter", is = "3",
      why = "The source has no more. The copies of 101, 102 and 103 are gone, and there is nothing to get them back from." },
  },
  truth = common.BY_DAY,
  probe = common.probe(),
  window = { column = "order_date", day = true },
  requires = { { id = "R11", night = 2 }, { id = "R10", night = 2 }, { id = "R7", night = 2 } },
  hints = {
    "Which days should this run touch, and which does full_load touch?",
    "The extract needs the column of the partition and a window: by = \"order_date\", window = window(). Then the write can be " ..
    "told to keep to that window.",
    "Give the extract by and window as above, and write overwrite_partition { orders, into = \"dw_orders\" } in place of full_load.",
  },
  explain = [[
The full load put the payment right, and took 115.50 of older orders away. It
was asked for one day and wrote all of them. The source can no longer give
back what it has archived.

The target's days are slices. A run for one day may touch the rows of that day
and no others, whatever the source looks like today. Then it can be run again
at any time, for any day, and nobody has to think about the rest.

That a day is a slice is also what lets a long repair go one day at a time.

The rule: write the day that was asked for, whole, and leave the others alone.
]],
  starter = [=[
job { grain = "day" }

local orders = extract { from = "orders" }

full_load { orders, into = "dw_orders" }
]=],
  solution = common.day(),
  others = {
    { name = "DELETE and INSERT of one day", job = common.day_in_sql() },
    { name = "the day by its name", job = common.day(nil, "window(tostring(logical_date))") },
    { name = "by key, where no row of the day has gone", job = common.day 'merge { orders, into = "dw_orders", key = "order_id" }' },
  },
  mutants = {
    { name = "every order, by key", rule = "R11", class = "SILENT", job = [=[
job { grain = "day" }
local orders = extract { from = "orders" }
merge { orders, into = "dw_orders", key = "order_id" }
]=] },
    { name = "the day and the next, with BETWEEN", rule = "R11", class = "SILENT", job = common.day_in_sql {
      delete = "order_date BETWEEN :day AND :next_day", insert = "order_date BETWEEN :day AND :next_day" } },
    { name = "all days from then on go, and one comes", rule = "R11", class = "MISSING", key = 106,
      job = (common.day_in_sql { delete = "order_date >= :day" }:gsub('day }\n', 'day.day and { day = one_day.day } }\n', 1)) },
    { name = "added", rule = "R3", class = "DUPLICATE", key = 105,
      job = (common.day_in_sql():gsub('execute { "DELETE[^\n]*\n', "")) },
  },
  figures = {
    { "SELECT COUNT(*) FROM (SELECT DISTINCT order_date FROM dw_orders)", "warehouse", is = "6", after = 0 },
    { "SELECT printf('%.2f', SUM(amount)) FROM dw_orders WHERE order_date < '2026-01-12'", "warehouse", is = "115.50", after = 0 },
    { "SELECT printf('%.2f', SUM(amount)) FROM dw_orders", "warehouse", is = "242.50" },
    { "SELECT printf('%.2f', SUM(amount)) FROM dw_orders", "warehouse", is = "127.00", job = "starter" },
  },
}
