-- A changed row is in the target already: an INSERT makes a second copy.
local common = require "lesson.common"

return {
  id = "04-write-by-key",
  title = "Write by key",
  about = "A changed row has a copy already: replace it, and do not add a second",
  text = [[
Now the window is on updated_at, and the run of 2026-01-26 reads one row:
order 105, paid, 22.00. The job of this lesson writes what it has read with a
plain INSERT.

    target before the run      read in the window
    105   NULL   01-20         105   22.00   01-25
    106   70.00  01-21

The target has an order 105 already. Nothing in the table forbids a second.

A key is the column, or the columns, by which you know that two rows are the
same thing. Here it is order_id. To write by key means: where the target has a
row with that key, change it; where it has none, add one.

There are several ways to say so in SQL:

    MERGE INTO ... WHEN MATCHED THEN UPDATE ... WHEN NOT MATCHED THEN INSERT
    INSERT ... ON CONFLICT (order_id) DO UPDATE SET ...
    DELETE the rows whose key was read, then INSERT the rows

PostgreSQL has MERGE from version 15 on: "lrun learn --pg URL" plays the
lessons there. SQLite, which plays otherwise, has none. ON CONFLICT works in
both, and needs a unique index on the key. DELETE and INSERT works everywhere,
and belongs into one transaction, so that the two happen together or not at
all. In a job that leaves the transaction to lrun, one word does it: merge.
]],
  source = common.source(common.orders()),
  warehouse = common.warehouse(common.orders(4), "2026-01-20"),
  events = {
    { run = "2026-01-22" },
    common.paid("2026-01-25", 105, 22.00),
    { run = "2026-01-26" },
    { run = "2026-01-27" },
  },
  predict = {
    { ask = "The source has 6 rows. How many has the target after the run of 2026-01-26?", before = 3, choices = { "6", "7" },
      sql = "SELECT COUNT(*) FROM dw_orders", on = "warehouse", after = 3, job = "starter", is = "7",
      why = "Order 105 stands there twice, once with NULL and once with 22.00." },
    { ask = "The total of the source is 242.50. What is the target's total after that run?", before = 3,
      choices = { "220.50", "242.50", "264.50" },
      sql = "SELECT printf('%.2f', SUM(amount)) FROM dw_orders", on = "warehouse", after = 3, job = "starter", is = "242.50",
      why = "It looks right. The older copy has the amount NULL, and SUM leaves NULL out. Only a count shows the fault." },
  },
  truth = common.TRUTH,
  probe = common.probe(),
  requires = { { id = "R3", night = 2 }, { id = "R2", night = 2 } },
  hints = {
    "Look at step 3. What does it do with an order that the target has already?",
    "Before the INSERT of step 3, the older copies of the orders just read must go, and no others. The orders just read are in staged.",
    "Step 3 becomes two statements: DELETE FROM dw_orders WHERE order_id IN (SELECT order_id FROM staged), and then the INSERT " ..
    "as it is.",
  },
  explain = [[
The plain INSERT made a second copy of order 105. The total was right by luck,
242.50, because the first copy had no amount. With two amounts the report would
be too high by one of them. The count was 7 for 6 orders.

A write by key has a second gift. The same rows written twice leave the same
table. Such a write is called idempotent: once or many times, the result is
the same. A run that failed can be run again without fear, and windows may
read a row twice. Several of the lessons that follow rest on this.

The rule: write by key, so that one thing is one row.
]],
  starter = common.adding(),
  solution = common.job(),
  others = {
    { name = "merge, the watermark kept by lrun", job = common.MERGE },
    { name = "an upsert with an index of its own", job = common.job { write = common.UPSERT } },
    { name = "UPDATE, then INSERT where it is not there", job = common.job { write = common.UPDATE_THEN_INSERT } },
  },
  mutants = {
    { name = "only what is not there is added", rule = "R3", class = "STALE", key = 105, job = common.job { write = [=[
execute { "INSERT INTO dw_orders SELECT * FROM staged WHERE order_id NOT IN (SELECT order_id FROM dw_orders)" }
]=] } },
    { name = "insert_new", rule = "R3", class = "STALE", key = 105, job = (common.MERGE:gsub("merge {", "insert_new {")) },
    { name = "all columns are the key", rule = "R3", class = "DUPLICATE", key = 105, job = common.job { write = [=[
execute { [[
  DELETE FROM dw_orders WHERE (order_id, order_date, amount, updated_at) IN
    (SELECT order_id, order_date, amount, updated_at FROM staged)
]] }
]=] .. common.INSERT } },
    { name = "the copy is emptied first", rule = "R3", class = "MISSING", key = 101,
      job = common.job { write = 'execute { "DELETE FROM dw_orders" }\n' .. common.INSERT } },
  },
  figures = {
    { "SELECT COUNT(*) FROM dw_orders WHERE order_id = 105", "warehouse", is = "2", job = "starter" },
    { "SELECT printf('%.2f', SUM(amount)) FROM orders", "source", is = "242.50" },
    { "SELECT COUNT(*) || '/' || printf('%.2f', SUM(amount)) FROM dw_orders", "warehouse", is = "6/242.50" },
    { "SELECT group_concat(order_id) FROM staged", "warehouse", is = "105", after = 3 },
  },
}
