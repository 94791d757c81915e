-- The end of one window is the start of the next: who owns the row on the edge?
local common = require "lesson.common"

local BETWEEN = "updated_at BETWEEN :start AND :stop"

return {
  id = "05-half-open",
  title = "Half-open windows against BETWEEN",
  about = "BETWEEN takes both ends, so a row on the edge is read twice",
  text = [[
The end of one window is the start of the next. Which of the two reads a row
that stands exactly on that edge?

BETWEEN includes both of its ends. Run X reads from 2026-01-20 to 2026-01-21,
run Y from 2026-01-21 to 2026-01-22. Order 106 was placed on 2026-01-21:

    January         20    21    22
    updated_at      o105  o106
    BETWEEN  run X  [=====]           105 106
             run Y        [=====]         106

A half-open window includes its start and excludes its end. It is written
[start, end), with a square bracket for "included" and a round one for "not
included". In SQL: >= for the start, < for the end.

    half-open  X    [=====)           105
               Y          [=====)         106

Windows that are half-open fit together like bricks. Every row falls into
exactly one of them.

The job of this lesson asks with BETWEEN, and writes with a plain INSERT.
]],
  source = common.source { { 104, "2026-01-19", 35.00, "2026-01-19" }, { 105, "2026-01-20", false, "2026-01-20" } },
  warehouse = common.warehouse({ { 104, "2026-01-19", 35.00, "2026-01-19" } }, "2026-01-20"),
  events = {
    common.placed("2026-01-21", 106, 70.00),
    { run = "2026-01-21" },
    common.placed("2026-01-21 23:59:59.500", 107, 12.00),
    { run = "2026-01-22" },
    { run = "2026-01-23" },
  },
  predict = {
    { ask = "Which orders will the run of 2026-01-21 read, from the watermark 2026-01-20 on?", before = 2,
      choices = { "105", "106", "105,106" },
      sql = "SELECT group_concat(order_id) FROM (SELECT order_id FROM staged ORDER BY 1)", on = "warehouse", after = 2,
      job = "starter", is = "105,106", why = "Order 106 stands on the end of the window, and BETWEEN includes the end." },
    { ask = "How many copies of order 106 has the target after the run of 2026-01-22?", before = 4, choices = { "0", "1", "2" },
      sql = "SELECT COUNT(*) FROM dw_orders WHERE order_id = 106", on = "warehouse", after = 4, job = "starter", is = "2",
      why = "Order 106 stands on the start of that window too, and the start is included as well." },
  },
  truth = common.TRUTH,
  probe = common.probe(),
  window = { column = "updated_at", only = true },
  requires = { { id = "R4", night = 3 }, { id = "R3", night = 3 }, { id = "R5", night = 3 } },
  hints = {
    "Look at the brackets on the time line. On which day do two windows meet, and who stands there?",
    "BETWEEN a AND b means >= a AND <= b. One of these two signs must lose its \"equals\".",
    "In step 2, write updated_at >= :start AND updated_at < :stop in place of the BETWEEN.",
  },
  explain = [[
Run X and run Y both held 2026-01-21, so both read order 106, and the target
had it 2 times. Its 70.00 stood twice in the report of that day.

A write by key hides this fault: the second copy replaces the first, and the
rows are right. The windows still overlap, each edge is read twice, and the
day somebody writes with a plain INSERT the copies are back. That is why the
check of this lesson looks at the windows too, not only at the rows.

Do not mend it with > for the start. Then no window holds the row on the edge,
and it is lost without a word.

The rule: the start with >=, the end with <, and each end is the next start.
]],
  starter = common.adding { where = BETWEEN },
  solution = common.adding(),
  others = {
    { name = "written by key", job = common.job() },
    { name = "merge, the watermark kept by lrun", job = common.MERGE },
    { name = "an upsert with an index of its own", job = common.job { write = common.UPSERT } },
  },
  mutants = {
    { name = "BETWEEN with a write by key", rule = "R4", class = "SILENT", job = common.job { where = BETWEEN } },
    { name = "BETWEEN with a plain INSERT", rule = "R4", class = "DUPLICATE", key = 106, job = common.adding { where = BETWEEN } },
    { name = "both ends excluded", rule = "R4", class = "MISSING", key = 105,
      job = common.job { where = "updated_at > :start AND updated_at < :stop" } },
    { name = "the day ends at 23:59:59", rule = "R4", class = "MISSING", key = 107,
      job = common.job { where = "updated_at >= :start AND updated_at <= datetime(:stop, '-1 second')" } },
    { name = "the start by the created date", rule = "R2", class = "SILENT",
      job = common.job { where = "order_date >= :start AND updated_at < :stop" } },
    { name = "the watermark is not saved, written by key", rule = "R1", class = "SILENT", job = common.job { save = "" } },
    { name = "no end at all", rule = "R5", class = "SILENT",
      job = common.job { where = "updated_at >= :start AND :stop IS NOT NULL" } },
  },
  figures = {
    { "SELECT group_concat(order_id) FROM (SELECT order_id FROM staged ORDER BY 1)", "warehouse", is = "105", after = 2 },
    { "SELECT COUNT(*) FROM dw_orders", "warehouse", is = "4" },
    { "SELECT printf('%.2f', SUM(amount)) FROM dw_orders", "warehouse", is = "117.00" },
  },
}
