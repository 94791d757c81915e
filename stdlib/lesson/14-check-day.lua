-- A day is compared with the source: rows and totals, and NULL is not equal to anything.
local common = require "lesson.common"

local ORDERS = { { 104, "2026-01-19", 35.00, "2026-01-19" }, { 105, "2026-01-20", 22.00, "2026-01-25" },
                 { 106, "2026-01-21", 70.00, "2026-01-21" } }

local MINE = 'job { transaction = "manual" }\n\nlocal day = tostring(logical_date)\n\n'

local function in_sql(o) return MINE .. common.fed_in_sql(o) end

return {
  id = "14-check-day",
  title = "Check one day against the source",
  about = "A check compares counts and totals, and knows that NULL equals nothing",
  text = [[
How do you know that a day has been copied right? You ask both sides, and
compare. In data work that is called to reconcile.

The app's team does not want its table to be read at night. It makes a copy
for others, a table named feed, and the job reads that. In the feed the amount
of order 105 is missing: it was made before the payment.

    2026-01-20        orders    feed      target
    rows              1         1         1
    SUM(amount)       22.00     NULL      NULL

The job writes the day as a whole and then reconciles it with orders, the
app's own table. It compares the number of rows.

Two traps lie in such a check. A count alone does not look at the amounts. And
a total may be NULL, as it is here: then a comparison in SQL is neither true
nor false.

    22.00 = NULL             gives NULL
    22.00 <> NULL            gives NULL, and a WHERE takes that for "no"
    22.00 IS NOT NULL        gives true

SQLite compares two values with IS and IS NOT, PostgreSQL with IS DISTINCT
FROM. A comparison that treats NULL as a value like others is NULL-safe.

A run whose check finds a difference must fail, so that nothing of it is kept.
]],
  source = common.with_feed(ORDERS, { ORDERS[1], { 105, "2026-01-20", false, "2026-01-20" }, ORDERS[3] }),
  warehouse = common.warehouse({ { 104, "2026-01-19", 35.00, "2026-01-19" }, { 105, "2026-01-20", false, "2026-01-20" },
                                 { 106, "2026-01-21", 71.00, "2026-01-21" } }, "2026-01-22"),
  events = {
    { backfill = { "2026-01-20", "2026-01-20" }, at = "2026-01-26 09:00:00" },
    { at = "2026-01-26 10:00:00", update = "feed", set = { amount = 22.00, updated_at = "2026-01-25" }, where = { order_id = 105 } },
    { backfill = { "2026-01-20", "2026-01-21" }, at = "2026-01-26 11:00:00" },
  },
  predict = {
    { ask = "orders has 1 row of 2026-01-20. How many has the target after the run?", choices = { "0", "1", "2" },
      sql = "SELECT COUNT(*) FROM dw_orders WHERE order_date = '2026-01-20'", on = "warehouse", after = 1, job = "starter",
      is = "1", why = "The check compares 1 with 1 and is content. It does not look at the amount, which is NULL." },
    { ask = "What does 22.00 <> NULL give?", choices = { "true", "false", "NULL" },
      sql = "SELECT coalesce(22.00 <> NULL, 'NULL')", on = "source", after = 0, job = "starter", is = "NULL",
      why = "A WHERE or an IF takes that for \"not true\", so a check that is written so finds no difference." },
  },
  truth = common.FED,
  requires = { { id = "R13", event = 1 }, { id = "R14", event = 1 }, { id = "R11", event = 3 } },
  hints = {
    "The check passes while 22.00 is missing. What does it compare, and what does it leave out?",
    "reconcile compares the number of rows, unless it is told a column to add up.",
    "reconcile { placed, with = \"dw_orders\", sum = \"amount\" } compares the totals too, and is NULL-safe.",
  },
  explain = [[
The check said 1 = 1. It was true, and of no use: the row was there and its
amount was not. A check of counts finds rows that are missing or double. It
says nothing about what stands in them.

With the total in it, the check has 22.00 on one side and NULL on the other.
The run fails, and the target keeps what it had before. When the feed had been
made good, the same run for the same day passed.

Compare with what you do not copy from. A check against the feed would have
found NULL and NULL, and called it equal.

The rule: after each day compare the number of rows and the totals with the
source, NULL-safe, and let a difference be an error.
]],
  starter = common.fed_day 'reconcile { placed, with = "dw_orders" }',
  solution = common.fed_day(),
  others = {
    { name = "SQL, with a check of its own", job = in_sql() },
    { name = "checked in SQL, NULL-safe", job = in_sql { stop = [=[
local same = query { "SELECT :there IS :here AS same", params = { there = there.cents, here = here.cents } }[1].same
if there.n ~= here.n or same == 0 then error("the day " .. day .. " differs") end
]=] } },
    { name = "every row", job = common.fed_day 'reconcile { placed, with = "dw_orders", sum = "amount", deep = true, key = "order_id" }' },
  },
  mutants = {
    { name = "no check", rule = "R13", class = "SILENT", job = common.fed_day "" },
    { name = "compared with what was read", rule = "R13", class = "SILENT",
      job = common.fed_day 'reconcile { orders, with = "dw_orders", sum = "amount" }' },
    { name = "counts only, in SQL", rule = "R13", class = "SILENT",
      job = in_sql { stop = common.FED_STOP:gsub(" or there.cents ~= here.cents", "") } },
    { name = "totals with <>", rule = "R13", class = "SILENT", job = in_sql { stop = [=[
local differs = query { "SELECT :there <> :here AS differs", params = { there = there.cents, here = here.cents } }[1].differs
if there.n ~= here.n or differs == 1 then error("the day " .. day .. " differs") end
]=] } },
    { name = "a difference is told and kept", rule = "R14", class = "SILENT",
      job = common.fed_day 'reconcile { placed, with = "dw_orders", sum = "amount", fail = false }' },
    { name = "a difference is printed", rule = "R14", class = "SILENT",
      job = in_sql { stop = common.FED_STOP:gsub("error", "print") } },
  },
  figures = {
    { "SELECT COUNT(*) || ' ' || printf('%.2f', SUM(amount)) FROM orders WHERE order_date = '2026-01-20'", "source", is = "1 22.00" },
    { "SELECT coalesce(SUM(amount), 'NULL') FROM dw_orders WHERE order_date = '2026-01-20'", "warehouse", is = "NULL",
      job = "starter", after = 1 },
    { "SELECT 22.00 IS NOT NULL", "source", is = "1" },
  },
}
