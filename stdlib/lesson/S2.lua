-- S2, the slow branch: rows come one, three and six days late. The lookback is measured;
-- what it cannot reach must be named by the weekly check.
local common = require "lesson.common"

local TIMES = 'os.date "%Y-%m-%d %H:%M:%S"'

local function lookback(n)
  return ([=[
local early = tostring(instant(saved) - days(%d))
local window = { start = early, stop = %s }
]=]):format(n, TIMES)
end

local COUNT_ONLY = [=[
local since = param("check", "")
if since ~= "" then
  local there = query { "SELECT COUNT(*) AS n FROM orders", connection = "source" }[1].n
  local here = query { "SELECT COUNT(*) AS n FROM dw_orders" }[1].n
  if there ~= here then error("source " .. there .. " rows, warehouse " .. here) end
  return
end
]=]

-- They name what differs, and do more than that.
local REPAIRS = common.CHECK:gsub("error(%b())", [=[
    execute { "DELETE FROM dw_orders WHERE updated_at >= :since", params = { since = since } }
    execute { "INSERT INTO dw_orders SELECT * FROM orders WHERE updated_at >= :since", params = { since = since } }
    print%1]=])
local GOES_ON = common.CHECK:gsub("error%(", "print("):gsub("\n  return\n", "\n")

local function sql(o)
  return common.job { where = o.where, write = o.write, window = (o.check or common.CHECK) .. (o.window or lookback(3)) }
end

local function primitives(days, check)
  return common.merge(days) .. (check or 'reconcile { changed, with = "dw_orders", sum = "amount" }\n')
end

-- What came in January, and when: of 24 rows two came two days late or more, none three.
local ARRIVALS = {}
for i = 1, 24 do
  local day = ("2026-01-%02d"):format(i)
  local late = i == 9 and 2 or i == 17 and 2 or i % 4 == 0 and 1 or 0
  ARRIVALS[i] = { 250 + i, day .. " 09:00:00", ("2026-01-%02d %s"):format(i + late, late == 2 and "20:00:00" or "09:30:00") }
end

local function late(at, id, amount, stamp, label)
  return { at = at, insert = "orders", row = { id, stamp:sub(1, 10), amount, stamp }, label = label }
end

local ROWS = { { 300, "2026-02-01", 14.00, "2026-02-01 12:00:00" }, { 301, "2026-02-02", false, "2026-02-02 16:00:00" } }
local source = common.source(ROWS)
source[2] = { name = "arrivals", rows = ARRIVALS,
              columns = { { "order_id", "INTEGER", "id" }, { "updated_at", "TEXT", "date" }, { "arrived_at", "TEXT", "date" } } }

return {
  id = "S2",
  title = "The slow branch",
  about = "Choose a lookback from data, and have a check name what comes later",
  closed = true,
  text = [[
A shop has a branch outside the town. Its line is slow. An order that is made
or paid there keeps the time at which it happened in updated_at, but it
reaches the source later: the same day, or a day, or some days after.

Your job runs every midnight. It copies the orders that changed to dw_orders.
The last run was on 2026-02-03, so that is the saved watermark.

The branch has kept a record of January in the source's table arrivals: the
updated_at of each order, and when it arrived. Ask it how late rows come,
before you choose a lookback. In lrun learn try:

    lateness { from = "arrivals", by = "updated_at", arrived = "arrived_at" }

Two of its rows came more than two days late. Take the next whole day, so
that rows up to three days late are found by the nightly run.

A few will come later still. For them there is a check once a week, over the
last ten days. It must name the order_id of each order that is not in the
warehouse as it is in the source, and say nothing where all are equal.

    with primitives   reconcile { ... } in the job; the check is then
                      lrun reconcile --rows, for each day
    with SQL          the job is run with the parameter check, the first day
                      of the ten; read it with param("check", ""), compare,
                      print or raise the ids, and write nothing

One night the scheduler runs the job twice. No order may be there two times.
]],
  hints = {
    "How far back must the window of a run begin, so that a row stamped three days before it arrives is still inside?",
    "The window starts at the saved watermark minus the lookback, and ends at run_start, which it does not include. What was read " ..
    "before is read again, so write by key. The watermark itself does not go back.",
    "Primitives: window { since = watermark(), lookback = days(3) }, then merge by order_id, then reconcile with sum = \"amount\". " ..
    "SQL: tostring(instant(saved) - days(3)) is the start; the check compares each order's amount and updated_at on both sides.",
  },
  explain = [[
No late row raises an error. The run that should have read it ended well, days
before the row was there. So the lookback is a bet on how late rows come, and
the record of January tells what to bet.

The order that came six days late was outside of every window. A longer
lookback would have found this one, and not the next. What remains is found by
comparing, and the check is of use only if it names the row.

The rule: measure how late rows come, add a margin, and compare with the
source for what comes later still.
]],
  source = source,
  warehouse = common.warehouse(ROWS, "2026-02-03 00:00:00"),
  events = {
    common.placed("2026-02-03 10:00:00", 302, 21.50),
    { run = "2026-02-04" },
    common.placed("2026-02-04 11:00:00", 303, false),
    { run = "2026-02-05" },
    { run = "2026-02-06" },
    late("2026-02-06 08:00:00", 304, 17.25, "2026-02-05 08:30:00", "1 day late"),
    { run = "2026-02-07" },
    { run = "2026-02-08" },
    { at = "2026-02-08 09:00:00", update = "orders", set = { amount = 30.00, updated_at = "2026-02-05 10:00:00" },
      where = { order_id = 301 }, label = "paid, 3 days late" },
    { twice = "2026-02-09" },
    { check = { "2026-01-31", "2026-02-08" }, at = "2026-02-09 06:00:00" },
    common.placed("2026-02-09 15:00:00", 305, 9.00),
    { run = "2026-02-10" },
    { at = "2026-02-10 12:00:00", insert = "orders", row = { 306, "2026-02-04", 48.00, "2026-02-04 13:00:00" },
      label = "6 days late", beyond = true },
    { run = "2026-02-11" },
    { check = { "2026-02-02", "2026-02-10" }, at = "2026-02-11 06:00:00" },
  },
  truth = common.TRUTH,
  probe = common.probe { times = true },
  window = { column = "updated_at", only = true },
  requires = {
    { id = "R2", event = 10 }, { id = "R4", event = 15 }, { id = "R7", event = 10 }, { id = "R8", event = 10 },
    { id = "R9", event = 16 },
  },
  starter = common.job { window = ("local window = { start = saved, stop = %s }\n"):format(TIMES) },
  solution = sql {},
  others = {
    { name = "merge and reconcile", job = primitives(3) },
    { name = "a lookback of a week", job = primitives(7) },
    { name = "an upsert", job = sql { write = common.UPSERT } },
  },
  mutants = {
    { name = "no lookback", rule = "R8", class = "MISSING", key = 304, job = primitives(nil) },
    { name = "a lookback of two days", rule = "R8", class = "STALE", key = 301, job = sql { window = lookback(2) } },
    { name = "a window on the created date", rule = "R2", class = "STALE", key = 301,
      job = sql { where = "order_date >= substr(:start, 1, 10) AND order_date < substr(:stop, 1, 10)" } },
    { name = "BETWEEN, written by key", rule = "R4", class = "SILENT", job = sql { where = "updated_at BETWEEN :start AND :stop" } },
    { name = "a plain INSERT", rule = "R3", class = "DUPLICATE", key = 300, job = common.adding { window = common.CHECK .. lookback(3) } },
    { name = "no check", rule = "R9", class = "SILENT", key = 306, job = primitives(3, "") },
    { name = "a check that counts", rule = "R9", class = "SILENT", key = 306, job = sql { check = COUNT_ONLY } },
    { name = "a check that names every order", rule = "R9", class = "SILENT",
      job = sql { check = common.CHECK:gsub("if not d or [^\n]+ then", "if d or not d then"):gsub("error%(", "print(") } },
    { name = "a check that always differs", rule = "R9", class = "SILENT",
      job = sql { check = common.CHECK:gsub("if #wrong > 0 then", "do") } },
    { name = "a check that repairs", rule = "R9", class = "SILENT", job = sql { check = REPAIRS } },
    { name = "a check that moves the watermark", rule = "R9", class = "SILENT", job = sql { check = GOES_ON } },
  },
  figures = {
    { "SELECT COUNT(*) FROM dw_orders", "warehouse", is = "6" },
    { "SELECT printf('%.2f', SUM(amount)) FROM dw_orders", "warehouse", is = "91.75" },
    { "SELECT COUNT(*) FROM arrivals WHERE julianday(arrived_at) - julianday(updated_at) > 2", "source", is = "2" },
    { "SELECT COUNT(*) FROM arrivals WHERE julianday(arrived_at) - julianday(updated_at) > 3", "source", is = "0" },
  },
}
