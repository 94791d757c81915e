-- The machine: source, window, target, watermark, ledger; two nights, one word to mend.
local common = require "lesson.common"

local STILL = common.SAVE:gsub("window%.stop", "window.start")

return {
  id = "00-machine",
  title = "The machine",
  about = "A run's window begins where the window before it ended",
  text = [[
An app writes orders into its database. The people who read reports need a
copy of them in another place. A pipeline makes that copy, night after night.
This is the whole machine in one night:

    January       19    20    21    22
    source        o104  o105  o106
    window              [===========)
    watermark           ^ saved by the run before
    target        o101 o102 o103 o104  + o105 o106
    ledger        run 01-22: read 2, wrote 2, watermark 01-22

The source is the app's table, orders. o105 is order 105. It stands under the
day of its last change.

The target is the copy, a table named dw_orders. It lies in the warehouse, the
database that the analysts ask.

A job is the program that copies: here the file job.lua. A run is one
execution of it. In this course a run begins at midnight.

The window is the span of time that one run reads. [2026-01-20, 2026-01-22)
holds all of 01-20 and 01-21. The square bracket says that its start belongs
to it, the round one that its end does not.

The watermark says how far the runs have come. It is a date in the table wm of
the warehouse. The next window begins there.

The ledger is the diary of the runs: what each one read and wrote.

The job has four steps: 1 find the window, 2 read it into a table named
staged, 3 write those rows to the target, 4 save the watermark. One word in
step 4 is wrong. Let the job run for two nights first, and see what it does.
]],
  source = common.source(common.orders()),
  warehouse = common.warehouse(common.orders(4), "2026-01-20"),
  events = {
    { run = "2026-01-22" },
    { run = "2026-01-23" },
    common.placed("2026-01-23", 107, 18.00),
    { run = "2026-01-24" },
  },
  predict = {
    { ask = "After the run of 2026-01-22 the target has 6 rows. Nothing changes in the source that day. How many rows will the " ..
            "target have after the run of 2026-01-23?", before = 2, choices = { "6", "7", "8" },
      sql = "SELECT COUNT(*) FROM dw_orders", on = "warehouse", after = 2, job = "starter", is = "8",
      why = "The second run begins at 2026-01-20 again, since that is what the first run saved. It reads orders 105 and " ..
            "106 once more and adds them once more." },
  },
  truth = common.TRUTH,
  probe = common.probe(),
  window = { column = "updated_at", only = true },
  requires = { { id = "R4", night = 3 }, { id = "R3", night = 3 }, { id = "R1", night = 3 } },
  hints = {
    "Look at the two windows on the time line. Both begin on the same day. Which date should the second one begin with?",
    "The last step of job.lua, under \"-- 4.\", saves the watermark. It saves the start of the window.",
    "In step 4, write window.stop where window.start stands, and save the file.",
  },
  explain = [[
The run of 2026-01-22 read 2 rows, 105 and 106, and wrote both. Then it saved
the start of its window as the watermark, so the mark stayed at 2026-01-20. The
next run began there again, read the same rows, and added them again. The
target had 8 rows for 6 orders, and its total was 290.50 where the source has
220.50. No run failed. A report was too high, and nobody was told.

The watermark is the memory of the machine. The ledger tells you afterwards
what each run did; the watermark tells the next run where to begin.

The rule: a run's window begins where the window before it ended.
]],
  starter = common.adding { save = STILL },
  solution = common.adding(),
  others = {
    { name = "merge, the watermark kept by lrun", job = common.MERGE },
    { name = "written by key", job = common.job() },
    { name = "each statement by itself", job = common.adding { each = true } },
  },
  mutants = {
    { name = "the watermark is not saved at all", rule = "R4", class = "DUPLICATE", key = 105, job = common.adding { save = "" } },
    { name = "the start is saved, the rows written by key", rule = "R1", class = "SILENT", job = common.job { save = STILL } },
    { name = "both ends excluded", rule = "R4", class = "MISSING", key = 105,
      job = common.adding { where = "updated_at > :start AND updated_at < :stop" } },
    { name = "every row is added", rule = "R3", class = "DUPLICATE", key = 101,
      job = common.adding { read = 'execute { "DELETE FROM staged" }\nexecute { "INSERT INTO staged SELECT * FROM orders" }\n\n' } },
  },
  figures = {
    { "SELECT group_concat(order_id) FROM (SELECT order_id FROM staged ORDER BY 1)", "warehouse", is = "105,106",
      job = "starter", after = 1 },
    { "SELECT COUNT(*) FROM dw_orders", "warehouse", is = "6", job = "starter", after = 1 },
    { "SELECT printf('%.2f', SUM(amount)) FROM dw_orders", "warehouse", is = "290.50", job = "starter", after = 2 },
    { "SELECT printf('%.2f', SUM(amount)) FROM orders", "source", is = "220.50", after = 2 },
    { "SELECT COUNT(*) FROM orders", "source", is = "6", after = 2 },
    { "SELECT watermark FROM wm", "warehouse", is = "2026-01-20", job = "starter", after = 1 },
    { "SELECT watermark FROM wm", "warehouse", is = "2026-01-22", after = 1 },
  },
}
