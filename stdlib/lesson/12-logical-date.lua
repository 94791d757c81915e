-- The day a run is about, not the day on which it runs.
local common = require "lesson.common"

local function clock(days)
  return common.day(nil, ('window(os.date("%%Y-%%m-%%d", os.time() - %d))'):format(days * 86400))
end

return {
  id = "12-logical-date",
  title = "The logical date",
  about = "The day a run is about is given to it, not taken from the clock",
  text = [[
"Run it for last Tuesday", says your manager. Today is Monday, 2026-01-26, so
that is 2026-01-20. A backfill is that: to run the job again for days in the
past, because a day is wrong or missing.

The job of this lesson writes one day, whole. Each night it writes yesterday,
and it asks the clock which day that is:

    os.date("%Y-%m-%d", os.time() - 86400)

    January        19    20    21    22    23    24    25    26
    asked for            [=====)
    written                                            [=====)
    now                                                      ^

The logical date of a run is the day that the run is about. It is not the day
on which it runs. Whoever starts the run gives it. At night that is the
scheduler, the program that starts jobs at their time: it gives yesterday. By
day it is you: you give last Tuesday.

    lrun job.lua --logical-date 2026-01-20

In the job, logical_date is that date, and window() is its whole day,
[2026-01-20, 2026-01-21). The start belongs to it, and the next midnight does
not.

In the target the copy of order 105 still has no amount. The source says
22.00.
]],
  source = common.source {
    { 104, "2026-01-19", 35.00, "2026-01-19" }, { 105, "2026-01-20", 22.00, "2026-01-25" }, { 106, "2026-01-21", 70.00, "2026-01-21" },
    { 107, "2026-01-25", 18.00, "2026-01-25" } },
  warehouse = common.warehouse(common.orders(), "2026-01-22"),
  events = {
    { run = "2026-01-26", day = "2026-01-25" },
    { backfill = { "2026-01-20", "2026-01-20" }, at = "2026-01-26 10:00:00" },
    common.placed("2026-01-26", 108, 5.00),
    { run = "2026-01-27", day = "2026-01-26" },
  },
  predict = {
    { ask = "Which amount has the copy of order 105, when the job has been run for 2026-01-20?", before = 2,
      choices = { "NULL", "22.00" },
      sql = "SELECT coalesce(amount, 'NULL') FROM dw_orders WHERE order_id = 105", on = "warehouse", after = 2, job = "starter",
      is = "NULL", why = "The job was told 2026-01-20 and did not listen. It wrote 2026-01-25 once more, and ended well." },
  },
  truth = common.BY_DAY,
  probe = common.probe(),
  window = { column = "order_date", day = true },
  requires = { { id = "R10", night = 3 }, { id = "R11", night = 3 } },
  hints = {
    "Which line of the job decides which day is written? Where does it get the day from?",
    "A run knows its own day already: logical_date. window() is the window of that day.",
    "Write window = window() in the extract.",
  },
  explain = [[
A job that asks the clock can make one day only: the one before today. Told to
make last Tuesday, it made yesterday again, without a word. If the night is
missed, that day is lost to it for ever.

With a logical date every day is alike. Last night and last Tuesday are the
same job with another date, and the nightly run is nothing but a backfill of
one day. What works every night is then known to work for the past.

The window that belongs to a date:

    2026-01-20   ->   [2026-01-20, 2026-01-21)

The rule: a run is told its day. It does not ask what day it is.
]],
  starter = clock(1),
  solution = common.day(),
  others = {
    { name = "the date as text", job = common.day(nil, "window(tostring(logical_date))") },
    { name = "DELETE and INSERT of one day", job = common.day_in_sql() },
    { name = "start and stop", job = common.day(nil, "window(logical_date, logical_date + days(1))") },
  },
  mutants = {
    { name = "six days before the clock", rule = "R10", class = "STALE", key = 105, job = clock(6) },
    { name = "the day after", rule = "R10", class = "MISSING", key = 107,
      job = common.day_in_sql { day = "(logical_date + days(1))" } },
    { name = "from the logical date to the clock", rule = "R11", class = "SILENT",
      job = common.day(nil, "window(tostring(logical_date), os.date \"%Y-%m-%d\")") },
  },
  figures = {
    { "SELECT printf('%.2f', amount) FROM dw_orders WHERE order_id = 105", "warehouse", is = "22.00" },
    { "SELECT strftime('%w', '2026-01-20') || strftime('%w', '2026-01-26')", "source", is = "21" },
  },
}
