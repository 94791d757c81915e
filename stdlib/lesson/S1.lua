-- S1, the corner shop: eight nights, with what happens to a nightly job in them.
local HEAD = [[
job { transaction = "manual" }

local saved = query { "SELECT watermark FROM wm WHERE job = 'orders'" }[1].watermark
local run_start = os.date "%Y-%m-%d %H:%M:%S"
local window = { start = saved, stop = run_start }

]]

local SAVE = [[
execute { "UPDATE wm SET watermark = :stop WHERE job = 'orders'", params = { stop = run_start } }
]]

local INSERT = [[
execute { "INSERT INTO dw_orders(order_id, order_date, amount, updated_at) " ..
          "SELECT order_id, order_date, amount, updated_at FROM orders WHERE %s", params = window }
]]

local DELETE = [[
execute { "DELETE FROM dw_orders WHERE order_id IN (SELECT order_id FROM orders WHERE %s)", params = window }
]]

local UPSERT = [[
execute { "CREATE UNIQUE INDEX IF NOT EXISTS dw_orders_key ON dw_orders(order_id)" }
execute { "INSERT INTO dw_orders SELECT order_id, order_date, amount, updated_at FROM orders WHERE %s " ..
          "ON CONFLICT(order_id) DO UPDATE SET order_date = excluded.order_date, amount = excluded.amount, " ..
          "updated_at = excluded.updated_at", params = window }
]]

local HALF_OPEN = "updated_at >= :start AND updated_at < :stop"

local function where(text, condition) return (text:gsub("%%s", condition)) end
local function atomic(condition)
  return HEAD .. 'execute { "BEGIN" }\n' .. where(DELETE, condition) .. where(INSERT, condition) .. SAVE .. 'execute { "COMMIT" }\n'
end

local ORDER = { { "order_id", "INTEGER", "id" }, { "order_date", "TEXT NOT NULL", "date" },
                { "amount", "DECIMAL(10,2)", "amount" }, { "updated_at", "TEXT NOT NULL", "date" } }

local function placed(at, id, amount) return { at = at, insert = "orders", row = { id, at:sub(1, 10), amount, at } } end
local function paid(at, id, amount)
  return { at = at, update = "orders", set = { amount = amount, updated_at = at }, where = { order_id = id }, label = "paid" }
end

return {
  id = "S1",
  title = "The corner shop: eight nights",
  source = {
    { name = "orders", key = "order_id", columns = ORDER, rows = {
      { 200, "2026-01-31", 18.00, "2026-01-31 16:20:00" }, { 201, "2026-02-01", 12.50, "2026-02-01 09:00:00" },
      { 202, "2026-02-01", false, "2026-02-01 14:00:00" } } },
  },
  warehouse = {
    { name = "dw_orders", columns = ORDER, rows = { { 200, "2026-01-31", 18.00, "2026-01-31 16:20:00" } } },
    { name = "wm", columns = { { "job", "TEXT PRIMARY KEY" }, { "watermark", "TEXT", "date" } },
      rows = { { "orders", "2026-02-01 00:00:00" } } },
  },
  events = {
    { run = "2026-02-02" },
    placed("2026-02-02 10:00:00", 203, false),
    paid("2026-02-02 11:00:00", 202, 31.00),
    { run = "2026-02-03" },
    placed("2026-02-03 09:00:00", 204, 8.75),
    placed("2026-02-04 00:00:00", 205, 44.00),
    { twice = "2026-02-04" },
    placed("2026-02-04 12:00:00", 206, 15.25),
    { run = "2026-02-05" },
    placed("2026-02-05 17:30:00", 207, 60.00),
    { run = "2026-02-06", during = { placed("2026-02-06 00:00:02", 208, 21.00) } },
    paid("2026-02-06 15:00:00", 203, 27.00),
    { run = "2026-02-07", fail = "after_write" },
    { retry = "2026-02-07" },
    placed("2026-02-07 08:00:00", 209, 33.00),
    paid("2026-02-07 13:00:00", 206, 16.25),
    { run = "2026-02-08", fail = "in_write" },
    { retry = "2026-02-08" },
    placed("2026-02-08 19:00:00", 210, 5.50),
    { run = "2026-02-09" },
  },
  truth = { table = "dw_orders", key = { "order_id" }, columns = { "order_id", "order_date", "amount", "updated_at" },
            source = "SELECT order_id, order_date, amount, updated_at FROM orders", stamp = "updated_at", total = "amount" },
  probe = { table = "orders", target = "dw_orders", key = "order_id", columns = { "updated_at", "order_date" }, row = { amount = 1.00 },
            times = true },
  window = { column = "updated_at", only = true },
  requires = {
    { id = "R1", text = "read only the window", night = 11 },
    { id = "R2", text = "find rows that changed", night = 2 },
    { id = "R3", text = "write by key, no second copy", night = 2 },
    { id = "R4", text = "windows half-open, no gap, no overlap", night = 5 },
    { id = "R5", text = "run_start fixed once", night = 7 },
    { id = "R6", text = "the watermark is saved only with or after the write", night = 10 },
    { id = "R7", text = "the same run twice leaves the same rows", night = 8 },
  },
  starter = HEAD .. where(INSERT, "order_date BETWEEN :start AND :stop") .. SAVE,
  solution = atomic(HALF_OPEN),
  others = {
    { name = "merge, the watermark kept by lrun", job = [[
job { grain = "day" }
local changed = extract { from = "orders", by = "updated_at", window = window { since = watermark() } }
merge { changed, into = "dw_orders", key = "order_id" }
]] },
    { name = "an upsert, then the watermark, each by itself", job = HEAD .. where(UPSERT, HALF_OPEN) .. SAVE },
  },
  mutants = {
    { name = "a full load every night", rule = "R1", class = "SILENT", job = [[
job { transaction = "manual" }
execute { "BEGIN" }
execute { "DELETE FROM dw_orders" }
execute { "INSERT INTO dw_orders SELECT order_id, order_date, amount, updated_at FROM orders" }
execute { "COMMIT" }
]] },
    { name = "the created date, by key", rule = "R2", class = "STALE", key = 202,
      job = atomic "order_date >= substr(:start, 1, 10) AND order_date < substr(:stop, 1, 10)" },
    { name = "a plain INSERT", rule = "R3", class = "DUPLICATE", key = 202, job = HEAD .. where(INSERT, HALF_OPEN) .. SAVE },
    { name = "both ends excluded", rule = "R4", class = "MISSING", key = 205, job = atomic "updated_at > :start AND updated_at < :stop" },
    { name = "BETWEEN, by key", rule = "R4", class = "SILENT", job = atomic "updated_at BETWEEN :start AND :stop" },
    { name = "no end", rule = "R5", class = "SILENT",
      job = (atomic "updated_at >= :start":gsub("window = { start = saved, stop = run_start }", "window = { start = saved }")) },
    { name = "the watermark is saved first", rule = "R6", class = "STALE", key = 206,
      job = HEAD .. SAVE .. where(UPSERT, HALF_OPEN) },
    { name = "new orders by a plain INSERT of yesterday", rule = "R7", class = "DUPLICATE", key = 204, job = [[
job { transaction = "manual" }
local stop = os.date "%Y-%m-%d"
local window = { start = os.date("%Y-%m-%d", os.time() - 86400), stop = stop }
execute { "UPDATE dw_orders SET (amount, updated_at) = " ..
          "(SELECT s.amount, s.updated_at FROM orders s WHERE s.order_id = dw_orders.order_id) " ..
          "WHERE order_id IN (SELECT order_id FROM orders WHERE updated_at >= :start AND updated_at < :stop)", params = window }
execute { "INSERT INTO dw_orders SELECT order_id, order_date, amount, updated_at FROM orders " ..
          "WHERE order_date >= :start AND order_date < :stop", params = window }
]] },
    { name = "DELETE and INSERT, each committed by itself", rule = "R11", class = "TORN", key = 206,
      job = HEAD .. where(DELETE, HALF_OPEN) .. where(INSERT, HALF_OPEN) .. SAVE },
  },
  figures = {
    { "SELECT printf('%.2f', SUM(amount)) FROM orders", "source", is = "277.00" },
    { "SELECT COUNT(*) FROM dw_orders", "warehouse", is = "11" },
  },
}
