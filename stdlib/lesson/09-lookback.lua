-- A payment is saved after the run that should have read it: a lookback finds it.
local common = require "lesson.common"

local function manual(o)
  o = o or {}
  o.window = [=[
local back = query { "SELECT date(:mark, '-2 days') AS day", params = { mark = saved } }[1].day
local window = { start = back, stop = os.date "%Y-%m-%d" }
]=]
  return common.job(o)
end

return {
  id = "09-lookback",
  title = "A late row, and a lookback that finds it",
  about = "A late row is older than the watermark: a lookback reaches back for it",
  text = [[
A late row reaches the source after the run whose window it belongs to. Its
stamp, the time in updated_at, is old, so the next window begins after it.

Order 105 again. A slow system takes the payment on 2026-01-25, and saves it
in the source on 2026-01-26 at 10:00, with updated_at 2026-01-25. From now on
the job runs every night. The run of 2026-01-26 began at midnight, ten hours
before the row was there.

    January       23    24    25    26    27    28
    stamp                     o105
    saved                             ^ 01-26 10:00
    run 01-26                 [=====)          too early to see it
    run 01-27                       [=====)    begins after its stamp

A lookback starts each window some days before the watermark. Rows are read
again that were read before. A write by key makes that harmless.

From this lesson on a job may leave SQL to lrun. The job of this lesson says:

    job       grain = "day": run_start is the midnight of the run's day
    extract   which rows: a table, the column of the window, the window
    window    { since = watermark() } is [watermark, run_start)
    merge     write them by key

lrun opens one transaction for the run, and saves the watermark in it, in a
table of its own. Its first run finds none there, and reads everything before
run_start. Such words are called primitives. "lrun help window" is one page
about one of them.
]],
  source = common.source { { 104, "2026-01-19", 35.00, "2026-01-19" }, { 105, "2026-01-20", false, "2026-01-20" },
                           { 106, "2026-01-21", 70.00, "2026-01-21" } },
  warehouse = common.warehouse({ { 104, "2026-01-19", 35.00, "2026-01-19" }, { 105, "2026-01-20", false, "2026-01-20" },
                                 { 106, "2026-01-21", 70.00, "2026-01-21" } }, "2026-01-25"),
  events = {
    { run = "2026-01-26" },
    common.paid("2026-01-26 10:00:00", 105, 22.00, "2026-01-25"),
    { run = "2026-01-27" },
    { run = "2026-01-28" },
    { at = "2026-01-28 10:00:00", update = "orders", set = { amount = 71.00, updated_at = "2026-01-26" }, where = { order_id = 106 },
      label = "corrected" },
    { run = "2026-01-29" },
  },
  predict = {
    { ask = "The watermark is 2026-01-26. Which amount has the copy of order 105 after the run of 2026-01-27?", before = 3,
      choices = { "NULL", "22.00" },
      sql = "SELECT coalesce(amount, 'NULL') FROM dw_orders WHERE order_id = 105", on = "warehouse", after = 3, job = "starter",
      is = "NULL", why = "The window is [2026-01-26, 2026-01-27), and the row is stamped 2026-01-25." },
    { ask = "With a lookback of two days, which amount has the copy of order 105 after the run of 2026-01-27?", before = 3,
      choices = { "NULL", "22.00" },
      sql = "SELECT printf('%.2f', amount) FROM dw_orders WHERE order_id = 105", on = "warehouse", after = 3, job = "solution",
      is = "22.00", why = "The window begins at 2026-01-24, two days before the watermark, and holds 2026-01-25." },
  },
  truth = common.TRUTH,
  probe = common.probe { times = true },
  window = { column = "updated_at", only = true },
  requires = { { id = "R8", night = 4 }, { id = "R2", night = 2 }, { id = "R3", night = 4 } },
  hints = {
    "How far before the watermark is the stamp of the late row? The window has to begin there, or earlier.",
    "window { since = watermark() } takes one more word, lookback. It is a span, such as days(1). Some rows here are two days late.",
    "Write window { since = watermark(), lookback = days(2) }. The watermark itself stays as it is.",
  },
  explain = [[
The payment was saved ten hours after the run that should have read it, with
the stamp of the day before. Every later window of the plain job began after
it.
No night was wrong by itself: each one read what was there.

With two days of lookback the run of 2026-01-27 asks for [2026-01-24,
2026-01-27) and finds it. The run of 01-28 reads it once more, and writes
nothing, since nothing differs. That is the price: some rows are read again
each night. Only a write by key makes it safe. With a plain INSERT each night
would add them again.

The lookback moves the start of the window. The watermark is not moved by it.

The rule: begin some days before the watermark, and write by key.
]],
  starter = common.merge(),
  solution = common.merge(2),
  others = { { name = "SQL with a lookback of two days", job = manual() } },
  mutants = {
    { name = "a lookback of one day", rule = "R8", class = "STALE", key = 106, job = common.merge(1) },
    { name = "a lookback on the created date", rule = "R2", class = "STALE", key = 105, job = common.merge(2, "order_date") },
    { name = "a lookback with a plain INSERT", rule = "R3", class = "DUPLICATE", key = 105,
      job = manual { told = "-- 3. Write the rows.\n", write = common.INSERT } },
    { name = "the watermark is never saved", rule = "R1", class = "SILENT", job = manual { save = "" } },
    { name = "no lookback, in SQL", rule = "R8", class = "STALE", key = 105, job = common.job() },
  },
  figures = {
    { "SELECT printf('%.2f', SUM(amount)) FROM dw_orders", "warehouse", is = "128.00" },
    { "SELECT printf('%.2f', SUM(amount)) FROM dw_orders", "warehouse", is = "105.00", job = "starter" },
    { "SELECT date('2026-01-26', '-2 days')", "source", is = "2026-01-24" },
  },
}
