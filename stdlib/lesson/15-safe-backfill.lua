-- Six steps by which three days are made again, whatever happens on the way.
local common = require "lesson.common"

local ORDERS = { { 104, "2026-01-19", 35.00, "2026-01-19" }, { 105, "2026-01-20", 22.00, "2026-01-25" },
                 { 106, "2026-01-21", 70.00, "2026-01-21" } }
local WEEK = { "2026-01-19", "2026-01-21" }

local SKIP = [=[
if #query { "SELECT day FROM finished WHERE day = :day", params = { day = day } } > 0 then return end
]=]

local DONE = [=[
execute { "INSERT INTO finished(day) VALUES (:day)", params = { day = day } }
]=]

local function driver(o, ...)
  o.done = o.done or DONE
  return common.driver((o.skip or SKIP) .. common.fed_in_sql(o), ...)
end

return {
  id = "15-safe-backfill",
  title = "A safe backfill in six steps",
  about = "Oldest first, one day at a time, checked, stopped, written down",
  text = [[
Three days are wrong: 2026-01-19, 2026-01-20 and 2026-01-21. The job of this
lesson takes them in one go. It asks for the first and the last day, with
param "from" and param "to", and writes the whole range in one run, without a
check.

Suppose that the middle day turns out wrong, or that the machine stops. What
has been done, and what has not? What do you run next? A safe backfill has an
answer at every moment. It takes six steps:

    1  choose the range of logical dates, oldest first
    2  run one day at a time, with the same job as every night
    3  write each day by overwrite, so that a second run adds nothing
    4  after each day compare rows and totals with the source
    5  stop at the first day that differs
    6  write down each finished day, so that you can go on after a stop

This is the plan for the three days, with what each check should show, source
against target:

    2026-01-19   rows 1 = 1   amount 35.00 = 35.00
    2026-01-20   rows 1 = 1   amount 22.00 = 22.00
    2026-01-21   rows 1 = 1   amount 70.00 = 70.00

lrun has a command for it, which does steps 1, 2, 5 and 6:

    lrun backfill job.lua --from 2026-01-19 --to 2026-01-21

It calls the job once for each date. Steps 3 and 4 are the job's: write the day
that it is told, and check it. As in lesson 14 the job reads the feed, where
order 105 has no amount yet, and is checked against orders.
]],
  source = common.with_feed(ORDERS, { ORDERS[1], { 105, "2026-01-20", false, "2026-01-20" }, ORDERS[3] }),
  warehouse = (function()
    local tables = common.warehouse({ { 104, "2026-01-19", 30.00, "2026-01-19" }, { 105, "2026-01-20", false, "2026-01-20" },
                                      { 106, "2026-01-21", 71.00, "2026-01-21" } }, "2026-01-22")
    tables[#tables + 1] = { name = "finished", columns = { { "day", "TEXT PRIMARY KEY", "date" } } }
    return tables
  end)(),
  events = {
    { backfill = WEEK, at = "2026-01-26 09:00:00" },
    { at = "2026-01-26 10:00:00", update = "feed", set = { amount = 22.00, updated_at = "2026-01-25" }, where = { order_id = 105 } },
    { backfill = WEEK, at = "2026-01-26 11:00:00", resume = true, fail_on = "2026-01-21", fail = "in_write" },
    { backfill = WEEK, at = "2026-01-26 12:00:00", resume = true },
    { backfill = WEEK, at = "2026-01-26 13:00:00", resume = true },
  },
  predict = {
    { ask = "Which amount has order 106 of 2026-01-21 in the target, when the day before it differs? It was 71.00 before the backfill.",
      choices = { "70.00", "71.00" },
      sql = "SELECT printf('%.2f', amount) FROM dw_orders WHERE order_id = 106", on = "warehouse", after = 2, job = "solution",
      is = "71.00", why = "A safe backfill stops at 2026-01-20. The days after it are as they were, and are done later." },
  },
  truth = common.FED,
  requires = {
    { id = "R12", event = 1 }, { id = "R13", event = 1 }, { id = "R14", event = 1 }, { id = "R15", event = 4 },
    { id = "R11", event = 4 },
  },
  hints = {
    "The job takes the range. What would it be, if it took one day, the day that it is told?",
    "window() in place of the range, for what is read. Then a second extract, from orders, to compare with.",
    "local placed = extract { from = \"orders\", by = \"order_date\", window = window() }, and as the last line " ..
    "reconcile { placed, with = \"dw_orders\", sum = \"amount\" }. The parameters from and to are not asked for any more.",
  },
  explain = [[
One big run is all or nothing. One bad day out of three throws two good ones
away, or, without a check, is kept with them. And it is a second program that
nobody has tried at night.

Day by day, the backfill did 2026-01-19, found that 2026-01-20 differs, and
stopped. 2026-01-21 was not touched. When the feed was good, the same command
went on with 2026-01-20. The machine stopped in the middle of 2026-01-21; that
day was as before, and the next call did it. A last call had nothing to do.
At each moment you could say which days are right.

The total of the three days is 127.00 on both sides now.

The rule: oldest first, one day at a time, checked; stop where it differs;
write down what is done.
]],
  starter = [=[
job { grain = "day" }

-- The whole range in one go.
local range = window(param "from", tostring(date(param "to") + days(1)))

local orders = extract { from = "feed", by = "order_date", window = range }

overwrite_partition { orders, into = "dw_orders" }
]=],
  solution = common.fed_day(),
  others = {
    { name = "SQL for one day", job = 'job { transaction = "manual" }\nlocal day = tostring(logical_date)\n' .. common.fed_in_sql() },
    { name = "a job that drives its days and writes them down", job = driver {} },
  },
  mutants = {
    { name = "newest first", rule = "R12", class = "SILENT", job = driver({}, "to", "from", "-1 day") },
    { name = "the range in one go, checked", rule = "R12", class = "SILENT", job = [=[
job { grain = "day" }
local range = window(param "from", tostring(date(param "to") + days(1)))
local orders = extract { from = "feed", by = "order_date", window = range }
overwrite_partition { orders, into = "dw_orders" }
reconcile { extract { from = "orders", by = "order_date", window = range }, with = "dw_orders", sum = "amount" }
]=] },
    { name = "one day, no check", rule = "R13", class = "SILENT", job = common.fed_day "" },
    { name = "one day, counts only", rule = "R13", class = "SILENT", job = common.fed_day 'reconcile { placed, with = "dw_orders" }' },
    { name = "says that a day differs, and goes on", rule = "R14", class = "SILENT",
      job = driver { stop = common.FED_STOP:gsub("error", "print") } },
    { name = "no day is left out after a stop", rule = "R15", class = "SILENT", job = driver { skip = "", done = "" } },
  },
  figures = {
    { "SELECT printf('%.2f', SUM(amount)) FROM dw_orders", "warehouse", is = "127.00" },
    { "SELECT printf('%.2f', SUM(amount)) FROM orders", "source", is = "127.00" },
  },
}
