-- A second look at the rows that may have changed is not the same as asking for what changed.
local common = require "lesson.common"

local CREATED = "order_date >= :start AND order_date < :stop"

local function look_again(condition)
  return common.BY_KEY .. [=[

-- Orders that were not paid when they were copied: look at them again.
execute { [[
  UPDATE dw_orders SET (amount, updated_at) =
    (SELECT s.amount, s.updated_at FROM orders s
     WHERE s.order_id = dw_orders.order_id)
  WHERE  ]=] .. condition .. "\n]] }\n"
end

return {
  id = "03-updated-at",
  title = "A window on updated_at",
  about = "A window on updated_at finds every change, new rows and old ones",
  text = [[
The job of the last lesson missed the payment of order 105. A colleague has
mended it in another way. The window is still on order_date. After the write,
the job looks once more at the orders whose copy has no amount:

    UPDATE dw_orders SET ... WHERE amount IS NULL

On 2026-01-25 order 105 is paid: 22.00. The run of 2026-01-26 finds it.

On 2026-01-26, in the morning, the shop corrects order 104. Two digits were
swapped when it was typed: it is 53.00, and not 35.00. The app writes the
new amount, and 2026-01-26 into updated_at.

    January       19    20    21    22    23    24    25    26    27
    order_date    o104  o105  o106
    updated_at                o106                    o105  o104
    run 01-27                                               [=====)

updated_at is the date of a row's last change. The app sets it whenever it
inserts a row or changes one. So a new order and a changed order look alike:
both have an updated_at that is newer than the watermark.
]],
  source = common.source(common.orders()),
  warehouse = common.warehouse(common.orders(4), "2026-01-20"),
  events = {
    { run = "2026-01-22" },
    common.paid("2026-01-25", 105, 22.00),
    { run = "2026-01-26" },
    { at = "2026-01-26 09:00:00", update = "orders", set = { amount = 53.00, updated_at = "2026-01-26" }, where = { order_id = 104 },
      label = "corrected" },
    { run = "2026-01-27" },
  },
  predict = {
    { ask = "Which amount has the copy of order 105 after the run of 2026-01-26?", before = 3, choices = { "NULL", "22.00" },
      sql = "SELECT printf('%.2f', amount) FROM dw_orders WHERE order_id = 105", on = "warehouse", after = 3, job = "starter",
      is = "22.00", why = "Its copy had no amount, so the second look took it. The totals are equal, 242.50." },
    { ask = "Which amount has the copy of order 104 after the run of 2026-01-27?", before = 5, choices = { "35.00", "53.00" },
      sql = "SELECT printf('%.2f', amount) FROM dw_orders WHERE order_id = 104", on = "warehouse", after = 5, job = "starter",
      is = "35.00", why = "The order was placed before the window, and its copy has an amount, so neither look finds it." },
  },
  truth = common.TRUTH,
  probe = common.probe(),
  requires = { { id = "R2", night = 3 }, { id = "R3", night = 2 } },
  hints = {
    "The second look finds one kind of change. What would the next kind need, and the one after it?",
    "One column moves with every change. Ask for that one in the WHERE of step 2.",
    "Write updated_at in both places where order_date stands in step 2. Then the second look, the UPDATE below step 3, has " ..
    "nothing left to do: take it out.",
  },
  explain = [[
The second look was made for one case, an amount that is missing. It worked
for order 105, so everybody believed in it. Order 104 changed from one amount
to another, and the total of the warehouse stayed at 242.50 where the source
has 260.50. Again there was no error.

A window on updated_at needs no list of the ways in which a row may change.

It needs one thing from the app: updated_at must be set in every insert and
every update. Somebody who repairs rows by hand and forgets it makes changes
that no window finds. Ask the people of the app, and keep a check on the
totals (lesson 14).

The rule: ask for what changed, by the one column that moves with each change.
]],
  starter = common.job { where = CREATED, write = look_again "amount IS NULL" },
  solution = common.job(),
  others = {
    { name = "merge, the watermark kept by lrun", job = common.MERGE },
    { name = "an upsert with an index of its own", job = common.job { write = common.UPSERT } },
    { name = "the second look stays, and does nothing", job = common.job { write = look_again "amount IS NULL" } },
  },
  mutants = {
    { name = "the created date alone", rule = "R2", class = "STALE", key = 105, job = common.job { where = CREATED } },
    { name = "the created date, three days back", rule = "R2", class = "STALE", key = 104,
      job = common.job { where = "order_date >= date(:start, '-3 days') AND order_date < :stop" } },
    { name = "updated_at, and rows that are there stay", rule = "R3", class = "STALE", key = 105, job = common.job { write = [=[
execute { "INSERT INTO dw_orders SELECT * FROM staged WHERE order_id NOT IN (SELECT order_id FROM dw_orders)" }
]=] } },
    { name = "updated_at, and rows are added", rule = "R3", class = "DUPLICATE", key = 105, job = common.adding() },
  },
  figures = {
    { "SELECT printf('%.2f', SUM(amount)) FROM orders", "source", is = "260.50" },
    { "SELECT printf('%.2f', SUM(amount)) FROM dw_orders", "warehouse", is = "242.50", job = "starter" },
    { "SELECT printf('%.2f', SUM(amount)) FROM orders", "source", is = "242.50", after = 3 },
    { "SELECT group_concat(order_id) FROM staged", "warehouse", is = "105", after = 3 },
    { "SELECT group_concat(order_id) FROM staged", "warehouse", is = "104" },
  },
}
