-- A closed end at 23:59:59 has a gap of one second behind it.
local common = require "lesson.common"

local CLOSED = "updated_at >= :start AND updated_at <= :stop"

-- The window of yesterday's date up to a time of that day; what is saved is today's midnight.
local function up_to(clock, o)
  o = o or {}
  o.where = o.where or CLOSED
  o.window = ([=[
local yesterday = os.date("%%Y-%%m-%%d", os.time() - 86400)
local window = { start = saved, stop = yesterday .. " %s" }
]=]):format(clock)
  o.save = common.SAVE:gsub("window%.stop", 'os.date "%%Y-%%m-%%d"')
  return common.job(o)
end

return {
  id = "06-last-half-second",
  title = "The last half second",
  about = "An end at 23:59:59 loses the rows of the day's last second",
  text = [[
In the pictures so far updated_at was a date. Real ones hold a time as well,
such as 2026-01-21 09:30:00.500, half a second after half past nine.

A team wants the whole day, and knows that BETWEEN takes too much. So it lets
the window end at the last second of the day:

    WHERE  updated_at >= '2026-01-21 00:00:00'
      AND  updated_at <= '2026-01-21 23:59:59'

The next window begins at 2026-01-22 00:00:00. It looks as if nothing could
fall between the two. A clock that counts fractions shows the gap:

                         23:59:59   .500      00:00:00
    run of 01-22   ======]
    run of 01-23                              [=======
    order 107                       ^

On 2026-01-21 at 23:59:59.500 a customer places order 107, for 12.00.
]],
  source = common.source { { 104, "2026-01-19", 35.00, "2026-01-19 14:10:00" }, { 105, "2026-01-20", false, "2026-01-20 11:00:00" } },
  warehouse = common.warehouse({ { 104, "2026-01-19", 35.00, "2026-01-19 14:10:00" } }, "2026-01-20"),
  events = {
    { run = "2026-01-21" },
    common.placed("2026-01-21 09:30:00.500", 106, 70.00),
    common.placed("2026-01-21 23:59:59.500", 107, 12.00),
    { run = "2026-01-22" },
    common.placed("2026-01-22", 108, 8.00, "2026-01-22 00:00:00"),
    { run = "2026-01-23" },
  },
  predict = {
    { ask = "How many copies of order 107 has the target after the run of 2026-01-23?", before = 4, choices = { "none", "1", "2" },
      sql = "SELECT COUNT(*) FROM dw_orders WHERE order_id = 107", on = "warehouse", after = 6, job = "starter", is = "0",
      why = "23:59:59.500 is after 23:59:59, so the first window ends before it. The next one begins at midnight." },
  },
  truth = common.TRUTH,
  probe = common.probe { times = true },
  window = { column = "updated_at", only = true },
  requires = { { id = "R4", night = 3 }, { id = "R3", night = 3 } },
  hints = {
    "How long is the time between the end of one window and the start of the next? Does a clock have a value in there?",
    "Step 1 makes the end: 23:59:59 of yesterday. A half-open window can end at the midnight itself.",
    "In step 1 write stop = os.date \"%Y-%m-%d\". In step 2 write < :stop in place of <= :stop. Both are needed.",
  },
  explain = [[
The window ended at 23:59:59, and the next one began at 00:00:00. A whole
second lay between them. Order 107 fell into it, and no run will ever ask for
that second again. 12.00 is missing, with no error.

23:59:59.999 only makes the gap smaller. Some databases keep a millionth of a
second, and a job that is right for the clock of today is wrong for the next.
A half-open end has no gap, however fine the clock is:

    WHERE  updated_at >= '2026-01-21' AND updated_at < '2026-01-22'

The rule: do not name the last moment of a day. Name the first moment of the
next day, and exclude it.
]],
  starter = up_to "23:59:59",
  solution = common.job(),
  others = {
    { name = "merge, the watermark kept by lrun", job = common.MERGE },
    { name = "lrun's run_start", job = common.job { window = "local window = { start = saved, stop = tostring(run_start) }\n" } },
    { name = "seconds are cut off before they are compared", job = up_to("23:59:59", {
      where = "updated_at >= :start AND substr(updated_at, 1, 19) <= :stop" }) },
    { name = "the new ones are added", job = common.adding() },
  },
  mutants = {
    { name = "23:59:59.900, which holds this row", rule = "R4", class = "SILENT", job = up_to "23:59:59.900" },
    { name = "23:59:00", rule = "R4", class = "MISSING", key = 107, job = up_to "23:59:00" },
    { name = "the midnight is included at both ends", rule = "R4", class = "SILENT",
      job = common.job { where = CLOSED, window = 'local window = { start = saved, stop = os.date "%Y-%m-%d 00:00:00" }\n' } },
    { name = "the midnight is excluded at both ends", rule = "R4", class = "MISSING", key = 108,
      job = common.job { where = "updated_at > :start || ' 00:00:00' AND updated_at < :stop" } },
  },
  figures = {
    { "SELECT printf('%.2f', (SELECT SUM(amount) FROM orders))", "source", is = "125.00" },
    { "SELECT printf('%.2f', SUM(amount)) FROM dw_orders", "warehouse", is = "113.00", job = "starter" },
    { "SELECT '2026-01-21 23:59:59.500' <= '2026-01-21 23:59:59'", "source", is = "0" },
    { "SELECT '2026-01-21 23:59:59.500' < '2026-01-22'", "source", is = "1" },
  },
}
