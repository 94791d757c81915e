-- A day is written whole: rows that are gone from the source go, in one transaction.
local common = require "lesson.common"

local AT = { "2026-01-20", "2026-01-20" }

return {
  id = "13-overwrite-day",
  title = "Overwrite a day",
  about = "A write by key leaves rows behind that the source has deleted",
  text = [[
A day is copied again. The source and the target have for 2026-01-20:

    source                target
    105   22.00           105   NULL      paid since
    107    9.00                           came later
                          108   12.00     cancelled, and deleted

The job of this lesson reads the day and writes it by key, with merge. Order
105 gets its amount, and order 107 is added.

A row of the target that has no row in the source any more is called an
orphan.

There is another way to write a day. Delete the day's rows in the target, then
insert what the source has for it. What is gone from the source is gone from
the target then. Two statements, one transaction: between them the day is
empty, and nobody may see that, nor may a stop leave it so.

    DELETE FROM dw_orders WHERE order_date >= '2026-01-20'
                            AND order_date <  '2026-01-21'
    INSERT INTO dw_orders SELECT ... the same window ...

lrun has a word for it, overwrite_partition. In this lesson the machine stops
once in the middle of the write, and the day is run again.
]],
  source = common.source {
    { 104, "2026-01-19", 35.00, "2026-01-19" }, { 105, "2026-01-20", 22.00, "2026-01-25" },
    { 106, "2026-01-21", 70.00, "2026-01-21" }, { 107, "2026-01-20", 9.00, "2026-01-26" } },
  warehouse = common.warehouse({
    { 104, "2026-01-19", 35.00, "2026-01-19" }, { 105, "2026-01-20", false, "2026-01-22" },
    { 106, "2026-01-21", 70.00, "2026-01-21" }, { 108, "2026-01-20", 12.00, "2026-01-20" } }, "2026-01-22"),
  events = {
    { backfill = AT, at = "2026-01-27", fail = "in_write", fail_on = "2026-01-20" },
    { backfill = AT, at = "2026-01-27" },
    { backfill = AT, at = "2026-01-28" },
  },
  predict = {
    { ask = "The source has 2 orders of 2026-01-20. How many has the target, when the day is written by key?", before = 2,
      choices = { "2", "3", "4" },
      sql = "SELECT COUNT(*) FROM dw_orders WHERE order_date = '2026-01-20'", on = "warehouse", after = 2, job = "starter", is = "3",
      why = "They are 105, 107 and 108. A write by key changes and adds. It never asks what should not be there." },
  },
  truth = common.BY_DAY,
  probe = common.probe(),
  window = { column = "order_date", day = true },
  requires = { { id = "R17", night = 2 }, { id = "R11", night = 2 }, { id = "R7", night = 3 }, { id = "R10", night = 2 } },
  hints = {
    "Which of the three orders in the target does the job never read? What would have to happen to it?",
    "Do not ask row by row. Empty the day, and fill it from what was read. One primitive does both.",
    "The last line becomes overwrite_partition { orders, into = \"dw_orders\" }. It needs no key.",
  },
  explain = [[
The write by key left order 108 behind. A customer had cancelled it, and the
report of that day still counted its 12.00. The deleted row is not in the
source, so it was not read, so nothing was done about it. No window finds a
row that is not there.

An overwrite asks another question. It does not ask what changed, but what
the day is. Run it once or five times, the day is what the source says. That
makes it the right write for a backfill. A write by key is right for a window
of changes.

The rule: write a day whole, delete and insert, in one transaction.
]],
  starter = common.day 'merge { orders, into = "dw_orders", key = "order_id" }',
  solution = common.day(),
  others = {
    { name = "DELETE and INSERT in one transaction", job = common.day_in_sql() },
    { name = "merge, then what is missing", job = common.day [=[
merge { orders, into = "dw_orders", key = "order_id" }
delete_missing { orders, from = "dw_orders", key = "order_id" }]=] },
  },
  mutants = {
    { name = "DELETE and INSERT, each by itself", rule = "R11", class = "TORN", key = 105, job = common.day_in_sql { each = true } },
    { name = "a plain INSERT", rule = "R3", class = "DUPLICATE", key = 105,
      job = (common.day_in_sql():gsub('execute { "DELETE[^\n]*\n', "")) },
    { name = "what is deleted is found by updated_at", rule = "R3", class = "DUPLICATE", key = 105,
      job = common.day_in_sql { delete = "updated_at >= :day AND updated_at < :next_day" } },
    { name = "only what is new is inserted", rule = "R3", class = "STALE", key = 105,
      job = common.day 'insert_new { orders, into = "dw_orders", key = "order_id" }' },
    { name = "the day and the next are emptied", rule = "R11", class = "MISSING", key = 106,
      job = common.day_in_sql { delete = "order_date >= :day AND order_date <= :next_day" } },
  },
  figures = {
    { "SELECT printf('%.2f', SUM(amount)) FROM dw_orders WHERE order_date = '2026-01-20'", "warehouse", is = "31.00" },
    { "SELECT COUNT(*) FROM orders WHERE order_date = '2026-01-20'", "source", is = "2" },
    { "SELECT printf('%.2f', SUM(amount)) FROM dw_orders WHERE order_date = '2026-01-20'", "warehouse", is = "43.00", job = "starter" },
  },
}
