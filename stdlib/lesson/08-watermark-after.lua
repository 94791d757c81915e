-- A run that fails between saving its watermark and writing loses its window.
local common = require "lesson.common"

return {
  id = "08-watermark-after",
  title = "The watermark after the write",
  about = "The watermark is saved with the write or after it, never before",
  text = [[
Machines stop. A disk is full, a network is gone, somebody restarts a server.
A run can stop between any two of its statements. The next run must put that
right by itself: a second try of the same night is called a retry.

The job of this lesson lets every statement commit by itself. To commit means
to keep a change for good. And it saves the watermark before it writes:

    step 2   read the window [2026-01-22, 2026-01-26)
    step 4   save 2026-01-26 as the watermark, committed
             ** the machine stops here **
    step 3   write: never reached

On 2026-01-25 order 105 was paid, 22.00. The run of 2026-01-26 reads it and
stops at that place. A few minutes later the retry begins. It reads the
watermark first, as every run does.

On 2026-01-27 the run stops later, between the DELETE and the INSERT of step 3,
and on 2026-01-28 when it has written. Each time there is a retry.
]],
  source = common.source(common.orders()),
  warehouse = common.warehouse(common.orders(), "2026-01-22"),
  events = {
    common.paid("2026-01-25 15:00:00", 105, 22.00),
    { run = "2026-01-26", fail = "after_read" },
    { retry = "2026-01-26" },
    common.placed("2026-01-26", 107, 18.00, "2026-01-26 08:00:00"),
    { at = "2026-01-26 09:00:00", update = "orders", set = { amount = 71.00, updated_at = "2026-01-26 09:00:00" },
      where = { order_id = 106 }, label = "corrected" },
    { run = "2026-01-27", fail = "in_write" },
    { retry = "2026-01-27" },
    common.placed("2026-01-27", 108, 12.00, "2026-01-27 08:00:00"),
    { run = "2026-01-28", fail = "after_write" },
    { retry = "2026-01-28" },
    { run = "2026-01-29" },
    { run = "2026-01-30" },
  },
  predict = {
    { ask = "How many rows does the retry of 2026-01-26 read?", before = 3, choices = { "none", "1", "6" },
      sql = "SELECT COUNT(*) FROM staged", on = "warehouse", after = 3, job = "starter", is = "0",
      why = "The watermark says 2026-01-26 already, so its window is [2026-01-26, 2026-01-26), and that is empty." },
    { ask = "Which amount has the copy of order 105 after the retry?", before = 3, choices = { "NULL", "22.00" },
      sql = "SELECT coalesce(amount, 'NULL') FROM dw_orders WHERE order_id = 105", on = "warehouse", after = 3, job = "starter",
      is = "NULL", why = "The payment of 22.00 was read, and never written. No later window goes back to it." },
  },
  truth = common.TRUTH,
  probe = common.probe { times = true },
  window = { column = "updated_at", only = true },
  requires = { { id = "R6", night = 2 }, { id = "R7", night = 6 }, { id = "R11", night = 3 }, { id = "R3", night = 2 } },
  hints = {
    "Put your finger on the line where the machine stops. Which statements are kept by then, and which never happen?",
    "Move step 4 behind step 3. Then ask what a stop between the DELETE and the INSERT of step 3 leaves behind.",
    "Write execute { \"BEGIN\" } before step 2 and execute { \"COMMIT\" } at the end. Then all statements are kept together, " ..
    "or none is.",
  },
  explain = [[
The watermark said that the window was done, and it was not. The retry trusted
it, had nothing to read, and ended well. The payment of 22.00 is lost, and the
ledger shows a failed run and a good one, which looks like a night that was
put right.

With the watermark after the write, a stop leaves the old watermark. The retry
reads the same window again. That is safe because the write is by key. Still,
between the DELETE and the INSERT of such a write the old rows are gone and the
new ones are not there yet.

One transaction ends all of that. In a transaction the statements between
BEGIN and COMMIT are kept together or not at all: rows and watermark alike.
It is what lrun does in every run, unless a lesson asks it not to.

The rule: the watermark moves with the rows, or after them.
]],
  starter = common.job { first = true, each = true },
  solution = common.job(),
  others = {
    { name = "merge, the watermark kept by lrun", job = common.MERGE },
    { name = "an upsert, then the watermark, each by itself", job = common.job { write = common.UPSERT, each = true } },
    { name = "the watermark first, in one transaction", job = common.job { first = true } },
  },
  mutants = {
    { name = "the watermark first, then an upsert", rule = "R6", class = "STALE", key = 105,
      job = common.job { write = common.UPSERT, first = true, each = true } },
    { name = "the watermark last, each statement by itself", rule = "R11", class = "TORN", key = 106, job = common.job { each = true } },
    { name = "the watermark between DELETE and INSERT", rule = "R11", class = "TORN", key = 106,
      job = common.job { write = common.DELETE .. common.SAVE .. common.INSERT, save = "", each = true } },
    { name = "written by key, and the watermark never saved", rule = "R1", class = "SILENT", job = common.job { save = "" } },
    { name = "added, then the watermark", rule = "R7", class = "DUPLICATE", key = 105, job = common.adding { each = true } },
  },
  figures = {
    { "SELECT watermark FROM wm", "warehouse", is = "2026-01-26", job = "starter", after = 2 },
    { "SELECT watermark FROM wm", "warehouse", is = "2026-01-22", after = 2 },
    { "SELECT COUNT(*) FROM staged", "warehouse", is = "1", after = 3 },
    { "SELECT printf('%.2f', amount) FROM dw_orders WHERE order_id = 105", "warehouse", is = "22.00", after = 3 },
  },
}
