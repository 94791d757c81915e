-- A window on the created date finds new rows and misses the ones that changed.
local HEAD = [[
job { transaction = "manual" }

local saved = query { "SELECT watermark FROM wm WHERE job = 'orders'" }[1].watermark
local run_date = os.date "%Y-%m-%d"
local window = { start = saved, stop = run_date }

]]

local TAIL = [[
execute { "UPDATE wm SET watermark = :stop WHERE job = 'orders'", params = { stop = run_date } }
]]

local INSERT = [[
execute { "INSERT INTO dw_orders(order_id, order_date, amount, updated_at) " ..
          "SELECT order_id, order_date, amount, updated_at FROM orders " ..
          "WHERE %s >= :start AND %s < :stop", params = window }
]]

local DELETE = [[
execute { "DELETE FROM dw_orders WHERE order_id IN " ..
          "(SELECT order_id FROM orders WHERE %s >= :start AND %s < :stop)", params = window }
]]

local function on(text, column) return (text:gsub("%%s", column)) end
local function by_key(column)
  return HEAD .. 'execute { "BEGIN" }\n' .. on(DELETE, column) .. on(INSERT, column) .. TAIL .. 'execute { "COMMIT" }\n'
end

local ORDER = { { "order_id", "INTEGER", "id" }, { "order_date", "TEXT NOT NULL", "date" },
                { "amount", "DECIMAL(10,2)", "amount" }, { "updated_at", "TEXT NOT NULL", "date" } }

return {
  id = "02-created-date",
  title = "A window on the created date",
  source = {
    { name = "orders", key = "order_id", columns = ORDER, rows = {
      { 101, "2026-01-03", 40.00, "2026-01-03" }, { 102, "2026-01-08", 25.50, "2026-01-08" },
      { 103, "2026-01-10", 50.00, "2026-01-10" }, { 104, "2026-01-19", 35.00, "2026-01-19" },
      { 105, "2026-01-20", false, "2026-01-20" }, { 106, "2026-01-21", 70.00, "2026-01-21" } } },
  },
  warehouse = {
    { name = "dw_orders", columns = ORDER, rows = {
      { 101, "2026-01-03", 40.00, "2026-01-03" }, { 102, "2026-01-08", 25.50, "2026-01-08" },
      { 103, "2026-01-10", 50.00, "2026-01-10" }, { 104, "2026-01-19", 35.00, "2026-01-19" } } },
    { name = "wm", columns = { { "job", "TEXT PRIMARY KEY" }, { "watermark", "TEXT", "date" } },
      rows = { { "orders", "2026-01-20" } } },
  },
  events = {
    { run = "2026-01-22" },
    { at = "2026-01-25", update = "orders", set = { amount = 22.00, updated_at = "2026-01-25" }, where = { order_id = 105 },
      label = "paid" },
    { run = "2026-01-26" },
  },
  truth = { table = "dw_orders", key = { "order_id" }, columns = { "order_id", "order_date", "amount", "updated_at" },
            source = "SELECT order_id, order_date, amount, updated_at FROM orders", stamp = "updated_at", total = "amount" },
  probe = { table = "orders", target = "dw_orders", key = "order_id", columns = { "updated_at", "order_date" }, row = { amount = 1.00 } },
  requires = {
    { id = "R2", text = "find rows that changed", night = 2 },
    { id = "R3", text = "write by key, no second copy", night = 2 },
    { id = "R13", text = "compare more than counts", night = 2 },
  },
  starter = HEAD .. on(INSERT, "order_date") .. TAIL,
  solution = by_key "updated_at",
  others = {
    { name = "merge, the watermark kept by lrun", job = [[
job { grain = "day" }
local changed = extract { from = "orders", by = "updated_at", window = window { since = watermark() } }
merge { changed, into = "dw_orders", key = "order_id" }
]] },
    { name = "UPDATE, then INSERT where it is not there", job = HEAD .. [[
execute { "UPDATE dw_orders SET (order_date, amount, updated_at) = " ..
          "(SELECT s.order_date, s.amount, s.updated_at FROM orders s WHERE s.order_id = dw_orders.order_id) " ..
          "WHERE order_id IN (SELECT order_id FROM orders WHERE updated_at >= :start AND updated_at < :stop)", params = window }
execute { "INSERT INTO dw_orders(updated_at, order_id, amount, order_date) " ..
          "SELECT updated_at, order_id, amount, order_date FROM orders s " ..
          "WHERE updated_at >= :start AND updated_at < :stop " ..
          "AND NOT EXISTS (SELECT 1 FROM dw_orders d WHERE d.order_id = s.order_id)", params = window }
]] .. TAIL },
    { name = "a full load, with a table of its own and a helper", job = [[
job { transaction = "manual" }
local function run(sql) return execute { sql } end
run "CREATE TABLE IF NOT EXISTS my_log(n INTEGER)"
run "BEGIN"
run "DELETE FROM dw_orders"
run "INSERT INTO dw_orders SELECT order_id, order_date, amount, updated_at FROM orders"
run "INSERT INTO my_log VALUES (1)"
run "COMMIT"
]] },
  },
  mutants = {
    { name = "created date, written by key", rule = "R2", class = "STALE", key = 105, job = by_key "order_date" },
    { name = "updated_at with a plain INSERT", rule = "R3", class = "DUPLICATE", key = 105,
      job = HEAD .. on(INSERT, "updated_at") .. TAIL },
    { name = "loads only when the counts differ", rule = "R13", class = "STALE", key = 105, job = HEAD .. [[
local here = query { "SELECT COUNT(*) AS n FROM dw_orders" }[1].n
local there = query { "SELECT COUNT(*) AS n FROM orders", connection = "source" }[1].n
if here ~= there then
]] .. on(DELETE, "updated_at") .. on(INSERT, "updated_at") .. "end\n" .. TAIL },
    { name = "compares the amounts with <>", rule = "R13", class = "STALE", key = 105, job = HEAD .. [[
execute { "UPDATE dw_orders SET amount = (SELECT s.amount FROM orders s WHERE s.order_id = dw_orders.order_id), " ..
          "updated_at = (SELECT s.updated_at FROM orders s WHERE s.order_id = dw_orders.order_id) WHERE order_id IN " ..
          "(SELECT s.order_id FROM orders s JOIN dw_orders d ON d.order_id = s.order_id WHERE s.amount <> d.amount)" }
execute { "INSERT INTO dw_orders SELECT order_id, order_date, amount, updated_at FROM orders s " ..
          "WHERE updated_at >= :start AND updated_at < :stop " ..
          "AND NOT EXISTS (SELECT 1 FROM dw_orders d WHERE d.order_id = s.order_id)", params = window }
]] .. TAIL },
    { name = "asks for amount = NULL", rule = "R13", class = "STALE", key = 105, job = HEAD .. [[
execute { "UPDATE dw_orders SET amount = (SELECT s.amount FROM orders s WHERE s.order_id = dw_orders.order_id) WHERE amount = NULL" }
execute { "INSERT INTO dw_orders SELECT order_id, order_date, amount, updated_at FROM orders s " ..
          "WHERE updated_at >= :start AND updated_at < :stop " ..
          "AND NOT EXISTS (SELECT 1 FROM dw_orders d WHERE d.order_id = s.order_id)", params = window }
]] .. TAIL },
    { name = "adds the rows that are not there, and changes none", rule = "R3", class = "STALE", key = 105, job = HEAD .. [[
execute { "INSERT INTO dw_orders SELECT order_id, order_date, amount, updated_at FROM orders s " ..
          "WHERE updated_at >= :start AND updated_at < :stop " ..
          "AND NOT EXISTS (SELECT 1 FROM dw_orders d WHERE d.order_id = s.order_id)", params = window }
]] .. TAIL },
  },
  figures = {
    { "SELECT printf('%.2f', SUM(amount)) FROM orders", "source", is = "242.50" },
    { "SELECT printf('%.2f', SUM(amount)) FROM dw_orders", "warehouse", is = "220.50", job = "starter" },
    { "SELECT COUNT(*) FROM dw_orders", "warehouse", is = "6", job = "starter" },
  },
}
