-- How long is the lookback? Measured, with a margin; and a check for what comes later still.
local common = require "lesson.common"

local CHECK = [=[
reconcile { changed, with = "dw_orders", sum = "amount" }
]=]

local function checked(lookback, by) return common.merge(lookback, by) .. CHECK end

-- In SQL: the same window, and a comparison of every order since a day, which names them.
local function in_sql(n, check)
  return common.job { window = (check or common.CHECK) .. ([=[
local back = query { "SELECT date(:mark, '-%d days') AS day", params = { mark = saved } }[1].day
local window = { start = back, stop = os.date "%%Y-%%m-%%d" }
]=]):format(n) }
end

local function arrival(id, stamp, came) return { id, stamp, came } end

local function late(came, id, amount, stamp)
  return { at = came, insert = "orders", row = { id, stamp:sub(1, 10), amount, stamp } }
end

-- Too late for any lookback.
local function beyond(event)
  event.beyond = true
  return event
end

return {
  id = "10-choosing-n",
  title = "How many days of lookback",
  about = "Measure how late rows come, add a margin, and check for the rest",
  text = [[
How many days should the lookback have? Call that number N. If it is too
small, rows are lost. If it is too large, each night reads more than it needs.
Do not guess: measure.

The source of this lesson keeps a second table, arrivals: for 20 changes of
January it has the stamp, updated_at, and the time when the row was there for
others to read, arrived_at. The difference is how late it came. In the prompt
("try") ask:

    lateness { from = "arrivals", by = "updated_at", arrived = "arrived_at" }

    share   days  lookback  rows  missed
    -----  -----  --------  ----  ------
    p50    0.083  hours(2)    10      10
    p95    1.917  days(2)     19       1
    p99    2.833  days(3)     20       0
    max    2.833  days(3)     20       0

p95, the 95th percentile, says: 95 of 100 rows came no later than 1.917 days
after their stamp. max is the latest of all. lookback is what would have been
enough.

Twenty rows are a small sample. Next month one will be a little later than the
latest that you have seen. So add a margin: one day more than the measured
need.

And one row will be later than any N. No lookback finds it. A check finds it:
once a week compare a longer range with the source, row by row. Here that is
the last event. It uses the last line of the job: reconcile compares the
target with the source.
]],
  source = {
    { name = "orders", key = "order_id", columns = common.ORDER, rows = {
      { 301, "2026-01-30", 20.00, "2026-01-30 09:00:00" }, { 302, "2026-01-31", 15.50, "2026-01-31 17:00:00" } } },
    { name = "arrivals", key = "order_id",
      columns = { { "order_id", "INTEGER", "id" }, { "updated_at", "TEXT", "date" }, { "arrived_at", "TEXT", "date" } },
      rows = {
        arrival(201, "2026-01-05 10:00:00", "2026-01-05 10:30:00"), arrival(202, "2026-01-06 11:00:00", "2026-01-06 11:30:00"),
        arrival(203, "2026-01-06 15:00:00", "2026-01-06 16:00:00"), arrival(204, "2026-01-07 09:00:00", "2026-01-07 10:00:00"),
        arrival(205, "2026-01-08 12:00:00", "2026-01-08 13:00:00"), arrival(206, "2026-01-09 08:00:00", "2026-01-09 09:30:00"),
        arrival(207, "2026-01-10 14:00:00", "2026-01-10 15:30:00"), arrival(208, "2026-01-11 16:00:00", "2026-01-11 18:00:00"),
        arrival(209, "2026-01-12 10:00:00", "2026-01-12 12:00:00"), arrival(210, "2026-01-13 11:00:00", "2026-01-13 13:00:00"),
        arrival(211, "2026-01-14 09:00:00", "2026-01-14 15:00:00"), arrival(212, "2026-01-15 10:00:00", "2026-01-15 20:00:00"),
        arrival(213, "2026-01-16 10:00:00", "2026-01-16 22:00:00"), arrival(214, "2026-01-17 12:00:00", "2026-01-18 06:00:00"),
        arrival(215, "2026-01-18 12:00:00", "2026-01-19 08:00:00"), arrival(216, "2026-01-19 09:00:00", "2026-01-20 09:00:00"),
        arrival(217, "2026-01-20 10:00:00", "2026-01-21 14:00:00"), arrival(218, "2026-01-22 08:00:00", "2026-01-23 20:00:00"),
        arrival(219, "2026-01-24 12:00:00", "2026-01-26 10:00:00"), arrival(220, "2026-01-26 14:00:00", "2026-01-29 10:00:00") } },
  },
  warehouse = common.warehouse({ { 301, "2026-01-30", 20.00, "2026-01-30 09:00:00" },
                                 { 302, "2026-01-31", 15.50, "2026-01-31 17:00:00" } }, "2026-02-01"),
  events = {
    { run = "2026-02-04" },
    late("2026-02-05 01:00:00", 303, 30.00, "2026-02-03 23:00:00"),
    { run = "2026-02-05" },
    { at = "2026-02-05 12:00:00", update = "orders", set = { amount = 16.50, updated_at = "2026-02-05 12:00:00" },
      where = { order_id = 302 }, label = "corrected" },
    { run = "2026-02-06" },
    late("2026-02-06 18:00:00", 304, 12.25, "2026-02-03 22:00:00"),
    { run = "2026-02-07" },
    late("2026-02-07 08:00:00", 305, 44.00, "2026-02-03 23:30:00"),
    { run = "2026-02-08" },
    beyond(late("2026-02-10 09:00:00", 306, 9.75, "2026-01-27 12:00:00")),
    { run = "2026-02-11" },
    { check = { "2026-01-25", "2026-02-07" }, at = "2026-02-11", names = { 306 } },
  },
  predict = {
    { ask = "How many of the 20 changes came more than two days after their stamp?", choices = { "0", "1", "5" },
      sql = "SELECT COUNT(*) FROM arrivals WHERE julianday(arrived_at) - julianday(updated_at) > 2", on = "source", after = 0,
      job = "starter", is = "1", why = "That one took 2.833 days. A lookback of two days would have lost it." },
    { ask = "Order 306 comes two weeks after its stamp. How many copies has the target after the run of 2026-02-11, with a lookback " ..
            "of four days?", before = 11, choices = { "0", "1" },
      sql = "SELECT COUNT(*) FROM dw_orders WHERE order_id = 306", on = "warehouse", after = 11, job = "solution", is = "0",
      why = "No lookback of a few days reaches back so far. It is the weekly check that names it." },
  },
  truth = common.TRUTH,
  probe = common.probe { times = true },
  window = { column = "updated_at", only = true },
  requires = { { id = "R8", event = 9 }, { id = "R9", event = 12 }, { id = "R3", event = 11 }, { id = "R2", event = 5 } },
  hints = {
    "Read the line \"max\" of lateness. Its lookback is what was needed so far. What was the margin to be?",
    "The number to change is in lookback = days(...). Leave the reconcile: the weekly check needs it.",
    "Three days were needed, and one day is the margin: lookback = days(4).",
  },
  explain = [[
The latest of 20 rows came 2.833 days after its stamp, so three days would
have found all of them. In February a row came 3.354 days late. Three days
lose it; four find it. A margin is for the row that you have not seen yet.

A longer lookback costs a read of some more days each night, and no write,
because what is equal is not written.

Order 306 came two weeks late. No sensible N finds it, and the nightly run
cannot know about it. The check compared each day of two weeks with the source,
and named it. Then somebody can run that day again; the lessons from
here on show how.

The rule: N is what you measured, and a margin. What comes later still is
found by a check over a longer range, not by a longer lookback.
]],
  starter = checked(1),
  solution = checked(4),
  others = {
    { name = "SQL with a check of its own", job = in_sql(4) },
    { name = "a week of lookback", job = checked(7) },
  },
  mutants = {
    { name = "two days", rule = "R8", class = "MISSING", key = 304, job = checked(2) },
    { name = "three days, and no margin", rule = "R8", class = "MISSING", key = 305, job = checked(3) },
    { name = "by the created date", rule = "R2", class = "STALE", key = 302, job = checked(4, "order_date") },
    { name = "no check", rule = "R9", class = "SILENT", key = 306, job = common.merge(4) },
    { name = "SQL, and no check", rule = "R9", class = "SILENT", key = 306,
      job = in_sql(4, "") },
  },
  figures = {
    { "SELECT COUNT(*) FROM arrivals", "source", is = "20" },
    { "SELECT printf('%.3f', MAX(julianday(arrived_at) - julianday(updated_at))) FROM arrivals", "source", is = "2.833" },
    { "SELECT printf('%.3f', julianday('2026-02-07 08:00:00') - julianday('2026-02-03 23:30:00'))", "source", is = "3.354" },
  },
}
