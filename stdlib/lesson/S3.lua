-- S3, last Tuesday: one past day again, asked for a week later, with a crash in the middle.
local HEAD = [[
job { transaction = "manual" }

local day = tostring(logical_date)
local edges = { day = day, next_day = tostring(date(day) + days(1)) }

]]

local DELETE = [[
execute { "DELETE FROM dw_orders " ..
          "WHERE ordered_at >= :day AND ordered_at < :next_day",
          params = edges }
]]

local INSERT = [[
execute { "INSERT INTO dw_orders(order_id, ordered_at, amount) " ..
          "SELECT order_id, ordered_at, amount FROM orders " ..
          "WHERE ordered_at >= :day AND ordered_at < :next_day",
          params = edges }
]]

local function atomic(body) return HEAD .. 'execute { "BEGIN" }\n' .. body .. 'execute { "COMMIT" }\n' end
local RIGHT = atomic(DELETE .. INSERT)
local function swap(from, to) return (RIGHT:gsub(from:gsub("%p", "%%%0"), (to:gsub("%%", "%%%%")))) end

local ROW = { { "order_id", "INTEGER", "id" }, { "ordered_at", "TEXT NOT NULL", "date" }, { "amount", "DECIMAL(10,2)", "amount" } }
local AGAIN = { "2026-01-20", "2026-01-20" }

return {
  id = "S3",
  title = "Last Tuesday",
  about = "Make one past day again, a week later, and leave its neighbours alone",
  closed = true,
  text = [[
It is Tuesday, 2026-01-27. Your manager says: "Run it again for last Tuesday."
That is 2026-01-20. lrun gives your job that date as logical_date.

The table dw_orders holds each order with the time at which it was placed,
ordered_at. Since last Tuesday somebody has corrected the source. Of that day,
one order has another amount, one was added, and one was deleted. After your
run dw_orders must hold that day as the source has it now.

Only that day was asked for. Order 500 of the evening before and order 505 of
the midnight after have changed in the source as well. They belong to other
days, and other runs. Leave them as they are.

The first run crashes in the middle of its writes. It is started again. What
a reader sees after the crash must be the whole day, old or new. On the next
day, 2026-01-28, the manager wants the same Tuesday once more.
]],
  hints = {
    "Which day should the job write, if nobody may look at a clock? And which row would still be there, if you only added and " ..
    "changed rows?",
    "Delete the rows of the logical date, then insert the source's rows of that date, in one transaction. The day is half-open: " ..
    "from its midnight, up to the next midnight and not including it.",
    "Primitives: extract by ordered_at with window = window(), then overwrite_partition. SQL: BEGIN, DELETE and INSERT both with " ..
    "ordered_at >= :day AND ordered_at < :next_day, COMMIT.",
  },
  explain = [[
A day is a slice with two edges. The order at 23:59:59.500 is inside, the one
at midnight belongs to the next day. An upsert would have changed the order
that changed and added the one that was new, and the deleted order would have
stayed for ever: nothing in the source points to it any more.

The crash left no trace, because DELETE and INSERT were one transaction. And
the run of 2026-01-28 wrote the same Tuesday, because the job does not ask the
clock.

The rule: a past day is named, not computed; it is written as a whole, in one
transaction, and nothing else is touched.
]],
  source = {
    { name = "orders", key = "order_id", columns = ROW, rows = {
      { 500, "2026-01-19 23:59:59.500", 19.00 }, { 501, "2026-01-20 00:00:00", 26.00 }, { 502, "2026-01-20 11:15:00", 13.50 },
      { 504, "2026-01-20 23:59:59.500", 42.00 }, { 505, "2026-01-21 00:00:00", 8.00 } } },
  },
  warehouse = {
    { name = "dw_orders", columns = ROW, rows = {
      { 500, "2026-01-19 23:59:59.500", 18.00 }, { 501, "2026-01-20 00:00:00", 26.00 }, { 502, "2026-01-20 11:15:00", 12.50 },
      { 503, "2026-01-20 17:40:00", 31.00 }, { 505, "2026-01-21 00:00:00", 7.00 } } },
  },
  events = {
    { backfill = AGAIN, at = "2026-01-27 10:00:00", fail_on = "2026-01-20", fail = "in_write" },
    { backfill = AGAIN, at = "2026-01-27 10:05:00" },
    { backfill = AGAIN, at = "2026-01-27 10:10:00" },
    { backfill = AGAIN, at = "2026-01-28 10:00:00" },
  },
  truth = { table = "dw_orders", key = { "order_id" }, columns = { "order_id", "ordered_at", "amount" }, partition = "ordered_at",
            source = "SELECT order_id, ordered_at, amount FROM orders", total = "amount" },
  requires = { { id = "R11", event = 2 }, { id = "R17", event = 2 }, { id = "R7", event = 3 }, { id = "R10", event = 4 } },
  starter = HEAD .. INSERT,
  solution = RIGHT,
  others = {
    { name = "overwrite_partition", job = [[
job { grain = "day" }

local orders = extract { from = "orders", by = "ordered_at", window = window() }
overwrite_partition { orders, into = "dw_orders" }
]] },
    { name = "the date of each row", job = HEAD .. [[
execute { "BEGIN" }
execute { "DELETE FROM dw_orders WHERE date(ordered_at) = :day", params = { day = day } }
execute { "INSERT INTO dw_orders(amount, ordered_at, order_id) SELECT amount, ordered_at, order_id FROM orders " ..
          "WHERE date(ordered_at) = :day", params = { day = day } }
execute { "COMMIT" }
]] },
    { name = "an upsert, then a delete of what is gone", job = HEAD .. [[
execute { "CREATE UNIQUE INDEX IF NOT EXISTS dw_orders_key ON dw_orders(order_id)" }
execute { "BEGIN" }
execute { "INSERT INTO dw_orders SELECT order_id, ordered_at, amount FROM orders WHERE substr(ordered_at, 1, 10) = :day " ..
          "ON CONFLICT(order_id) DO UPDATE SET ordered_at = excluded.ordered_at, amount = excluded.amount", params = { day = day } }
execute { "DELETE FROM dw_orders WHERE substr(ordered_at, 1, 10) = :day AND order_id NOT IN (SELECT order_id FROM orders)",
          params = { day = day } }
execute { "COMMIT" }
]] },
  },
  mutants = {
    { name = "DELETE and INSERT, each committed by itself", rule = "R11", class = "TORN", key = 501, job = HEAD .. DELETE .. INSERT },
    { name = "BETWEEN two midnights", rule = "R11", class = "STALE", key = 505,
      job = swap("ordered_at >= :day AND ordered_at < :next_day", "ordered_at BETWEEN :day AND :next_day || ' 00:00:00'") },
    { name = "the day ends at 23:59:59", rule = "R11", class = "MISSING", key = 504,
      job = swap("ordered_at < :next_day", "ordered_at <= :day || ' 23:59:59' AND ordered_at < :next_day") },
    { name = "everything again", rule = "R11", class = "STALE", key = 500, job = atomic [[
execute { "DELETE FROM dw_orders" }
execute { "INSERT INTO dw_orders SELECT order_id, ordered_at, amount FROM orders" }
]] },
    { name = "an upsert", rule = "R17", class = "ORPHAN", key = 503, job = HEAD .. [[
execute { "CREATE UNIQUE INDEX IF NOT EXISTS dw_orders_key ON dw_orders(order_id)" }
execute { "INSERT INTO dw_orders SELECT order_id, ordered_at, amount FROM orders WHERE substr(ordered_at, 1, 10) = :day " ..
          "ON CONFLICT(order_id) DO UPDATE SET ordered_at = excluded.ordered_at, amount = excluded.amount", params = { day = day } }
]] },
    { name = "a week ago, by the clock", rule = "R10", class = "STALE", key = 505,
      job = swap("tostring(logical_date)", 'os.date("%Y-%m-%d", os.time() - 7 * 86400)') },
    { name = "a plain INSERT", rule = "R3", class = "DUPLICATE", key = 501, job = HEAD .. INSERT },
  },
  figures = {
    { "SELECT printf('%.2f', SUM(amount)) FROM dw_orders WHERE ordered_at >= '2026-01-20' AND ordered_at < '2026-01-21'", "warehouse",
      is = "81.50" },
    { "SELECT COUNT(*) FROM dw_orders", "warehouse", is = "5" },
    { "SELECT strftime('%w', '2026-01-20')", "source", is = "2" },
  },
}
