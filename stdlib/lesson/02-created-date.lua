-- A window on the created date finds new rows and misses the ones that changed.
local common = require "lesson.common"

local CREATED = "order_date >= :start AND order_date < :stop"

-- The orders of the window that are not there yet; those that are stay as they are.
local ADD = [=[
execute { [[
  INSERT INTO dw_orders SELECT * FROM staged s
  WHERE NOT EXISTS (SELECT 1 FROM dw_orders d WHERE d.order_id = s.order_id)
]] }
]=]

return {
  id = "02-created-date",
  title = "A window on the created date",
  about = "A window on the created date misses rows that change later",
  text = [[
A created date says when a row was made. An order gets its order_date once,
when it is placed, and keeps it for ever. New orders have a new date, so a
window on order_date finds them. That is the job of this lesson:

    WHERE  order_date >= :start AND order_date < :stop

The run of 2026-01-22 begins at the watermark, 2026-01-20. It reads order 105,
which is not paid yet, so its amount is NULL, and order 106.

On 2026-01-25 order 105 is paid. The app sets the amount to 22.00. It also
keeps a second date, updated_at: the date of the row's last change. That
becomes 2026-01-25. The order_date stays 2026-01-20.

    January       20    21    22    23    24    25    26
    order_date    o105  o106
    updated_at          o106                    o105 paid 22.00
    run 01-22     [===========)
    run 01-26                 [=======================)

The next run is on 2026-01-26. Its window is [2026-01-22, 2026-01-26).
]],
  source = common.source(common.orders()),
  warehouse = common.warehouse(common.orders(4), "2026-01-20"),
  events = {
    { run = "2026-01-22" },
    common.paid("2026-01-25", 105, 22.00),
    { run = "2026-01-26" },
  },
  predict = {
    { ask = "How many rows will the run of 2026-01-26 read?", before = 3, choices = { "none", "1", "2" },
      sql = "SELECT COUNT(*) FROM staged", on = "warehouse", after = 3, job = "starter", is = "0",
      why = "The window asks for orders that were placed from 2026-01-22 on. Order 105 was placed on 2026-01-20, " ..
            "before the window begins, and no later window will go back there." },
    { ask = "The total of the source is 242.50 now. What is the total of the warehouse after that run?", before = 3,
      choices = { "242.50", "220.50", "22.00" },
      sql = "SELECT printf('%.2f', SUM(amount)) FROM dw_orders", on = "warehouse", after = 3, job = "starter", is = "220.50",
      why = "The copy of order 105 still has the amount NULL, and SUM leaves NULL out. 22.00 is missing." },
  },
  truth = common.TRUTH,
  probe = common.probe(),
  requires = { { id = "R2", night = 2 }, { id = "R3", night = 2 }, { id = "R13", night = 2 } },
  hints = {
    "Which of the two dates did the payment change? Look where \"paid\" stands on the time line, and where the window of " ..
    "01-26 is.",
    "The fault is in step 2 of job.lua, in the WHERE. It asks for order_date, and order_date never changes.",
    "In that WHERE, write updated_at in both places where order_date stands. Nothing else needs to change: step 3 takes " ..
    "the old copy of an order away before it writes the new one.",
  },
  explain = [[
The run of 2026-01-26 read no row, wrote no row, and ended well. Both tables
have 6 rows. So nobody was told: the job did not fail, and who compares the
counts sees 6 and 6. Only the total shows it, 242.50 against 220.50. The next
to notice is somebody who adds up the money.

A window finds a row by the date in it. If a change does not move that date,
no window sees the change.

The rule: put the window on a column that moves with every change.
]],
  starter = common.job { where = CREATED },
  solution = common.job(),
  others = {
    { name = "merge, the watermark kept by lrun", job = common.MERGE },
    { name = "UPDATE, then INSERT where it is not there", job = common.job { write = common.UPDATE_THEN_INSERT } },
    { name = "a full load, with a table of its own and a helper", job = [[
job { transaction = "manual" }
local function run(sql) return execute { sql } end
run "CREATE TABLE IF NOT EXISTS my_log(n INTEGER)"
run "BEGIN"
run "DELETE FROM dw_orders"
run "INSERT INTO dw_orders SELECT order_id, order_date, amount, updated_at FROM orders"
run "INSERT INTO my_log VALUES (1)"
run "COMMIT"
]] },
  },
  mutants = {
    { name = "created date with a plain INSERT", rule = "R2", class = "STALE", key = 105,
      job = common.adding { where = CREATED } },
    { name = "updated_at with a plain INSERT", rule = "R3", class = "DUPLICATE", key = 105, job = common.adding() },
    { name = "writes only when the counts differ", rule = "R13", class = "STALE", key = 105, job = common.job { write = [=[
local here = query { "SELECT COUNT(*) AS n FROM dw_orders" }[1].n
local there = query { "SELECT COUNT(*) AS n FROM orders", connection = "source" }[1].n
if here ~= there then
]=] .. common.BY_KEY .. "end\n" } },
    { name = "compares the amounts with <>", rule = "R13", class = "STALE", key = 105, job = common.job { write = [=[
execute { [[
  UPDATE dw_orders SET (amount, updated_at) =
    (SELECT s.amount, s.updated_at FROM orders s WHERE s.order_id = dw_orders.order_id)
  WHERE order_id IN
    (SELECT s.order_id FROM orders s JOIN dw_orders d ON d.order_id = s.order_id WHERE s.amount <> d.amount)
]] }
]=] .. ADD } },
    { name = "asks for amount = NULL", rule = "R13", class = "STALE", key = 105, job = common.job { write = [=[
execute { [[
  UPDATE dw_orders SET amount = (SELECT s.amount FROM orders s WHERE s.order_id = dw_orders.order_id)
  WHERE amount = NULL
]] }
]=] .. ADD } },
    { name = "adds the rows that are not there, and changes none", rule = "R3", class = "STALE", key = 105,
      job = common.job { write = ADD } },
  },
  figures = {
    { "SELECT printf('%.2f', SUM(amount)) FROM orders", "source", is = "242.50" },
    { "SELECT printf('%.2f', SUM(amount)) FROM dw_orders", "warehouse", is = "242.50" },
    { "SELECT printf('%.2f', SUM(amount)) FROM dw_orders", "warehouse", is = "220.50", job = "starter" },
    { "SELECT group_concat(order_id) FROM (SELECT order_id FROM staged ORDER BY 1)", "warehouse", is = "105,106",
      job = "starter", after = 1 },
    { "SELECT COUNT(*) FROM staged", "warehouse", is = "0", job = "starter" },
    { "SELECT COUNT(*) FROM dw_orders", "warehouse", is = "6", job = "starter" },
    { "SELECT COUNT(*) FROM orders", "source", is = "6", job = "starter" },
  },
}
