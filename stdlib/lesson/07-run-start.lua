-- Rows arrive while a run is at work: its end is fixed before it reads.
local common = require "lesson.common"

local OPEN = "updated_at >= :start"
local NO_END = "local window = { start = saved }\n"
local ASK_AGAIN = [=[
execute { [[
  UPDATE wm SET watermark = (SELECT MAX(updated_at) FROM orders)
  WHERE job = 'orders'
]] }
]=]
local CLOCK = common.SAVE:gsub("window%.stop", 'os.date "%%Y-%%m-%%d"')

return {
  id = "07-run-start",
  title = "One run_start for the whole run",
  about = "The end of the window is fixed before the run reads anything",
  text = [[
A run takes time. It reads, then it writes, and the app goes on working
meanwhile. Rows arrive in the source after the run has read, and before it
has ended.

The job of this lesson reads everything since the watermark, with no end to
the window. When it has written, it asks the source for the newest updated_at
and saves that as the watermark:

    step 2   read    updated_at >= watermark
    step 3   write
    step 4   save    the newest updated_at in the source

On 2026-01-26 the run begins at midnight. It reads. At 00:00:02 order 107 is
placed, and at 00:00:05 order 108. Then the run writes, and saves.

    clock      00:00:00        00:00:02  00:00:05
    run        read                                 write  save
    source                     o107      o108

run_start is the moment at which a run begins. It is looked up once, before
anything is read, and stays the same until the run has ended.
]],
  source = common.source(common.orders()),
  warehouse = common.warehouse(common.orders(), "2026-01-25"),
  events = {
    common.paid("2026-01-25 15:00:00", 105, 22.00),
    { run = "2026-01-26", during = { common.placed("2026-01-26 00:00:02", 107, 21.00), common.placed("2026-01-26 00:00:05", 108, 9.50) } },
    { run = "2026-01-27" },
  },
  predict = {
    { ask = "Which watermark does the run of 2026-01-26 save?", before = 2,
      choices = { "2026-01-25", "2026-01-26", "2026-01-26 00:00:02", "2026-01-26 00:00:05" },
      sql = "SELECT watermark FROM wm", on = "warehouse", after = 2, job = "starter", is = "2026-01-26 00:00:05",
      why = "That is the time of order 108, the newest. It was not there yet when the run read." },
    { ask = "Which of the orders 107 and 108 will the run of 2026-01-27 read?", before = 3, choices = { "both", "107", "108", "none" },
      sql = "SELECT group_concat(order_id) FROM staged", on = "warehouse", after = 3, job = "starter", is = "108",
      why = "Order 107 is older than the watermark that was saved, and it came too late for the run before." },
  },
  truth = common.TRUTH,
  probe = common.probe { times = true },
  window = { column = "updated_at" },
  requires = { { id = "R5", night = 2 }, { id = "R4", night = 2 }, { id = "R3", night = 2 } },
  hints = {
    "The source is asked two times: in step 2 and in step 4. What may happen between the two?",
    "Fix the end of the window in step 1, before anything is read, and use that same value in step 2 and in step 4.",
    "Step 1: window = { start = saved, stop = os.date \"%Y-%m-%d\" }. Step 2: AND updated_at < :stop. Step 4: SET watermark = :mark, " ..
    "params = { mark = window.stop }.",
  },
  explain = [[
Step 4 asked a question that step 2 had already answered, and in between the
answer had changed. The watermark passed order 107 before anybody had read it.
21.00 is missing, and the newer order 108 is there, so a glance at the newest
rows shows nothing wrong.

With a fixed end, what arrives during the run belongs to the next window.
Nothing has to be hurried, and a run may take as long as it needs.

Four steps, in this order: read the watermark; fix run_start; read the window
[watermark, run_start) and write it by key; save run_start as the watermark.

The rule: ask the clock once. One run has one run_start.
]],
  starter = common.job { window = NO_END, where = OPEN, save = ASK_AGAIN, each = true },
  solution = common.job(),
  others = {
    { name = "merge, the watermark kept by lrun", job = common.MERGE },
    { name = "lrun's run_start", job = common.job { window = "local window = { start = saved, stop = tostring(run_start) }\n" } },
    { name = "each statement by itself", job = common.job { each = true } },
    { name = "an upsert with an index of its own", job = common.job { write = common.UPSERT } },
  },
  mutants = {
    { name = "no end, and the run's date is saved", rule = "R5", class = "SILENT",
      job = common.job { window = NO_END, where = OPEN, save = CLOCK } },
    { name = "the window ends tomorrow", rule = "R5", class = "MISSING", key = 107,
      job = common.job { window = 'local window = { start = saved, stop = os.date("%Y-%m-%d", os.time() + 86400) }\n' } },
    { name = "the newest row is asked for after the write", rule = "R5", class = "MISSING", key = 107,
      job = common.job { window = NO_END, where = OPEN, save = ASK_AGAIN, each = true } },
  },
  figures = {
    { "SELECT group_concat(order_id) FROM staged", "warehouse", is = "105", job = "starter", after = 2 },
    { "SELECT COUNT(*) FROM dw_orders WHERE order_id = 107", "warehouse", is = "0", job = "starter" },
    { "SELECT watermark FROM wm", "warehouse", is = "2026-01-26", after = 2 },
  },
}
