-- The end of one window is the start of the next: who owns the row on the edge?
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
          "SELECT order_id, order_date, amount, updated_at FROM orders WHERE %s", params = window }
]]

local DELETE = [[
execute { "DELETE FROM dw_orders WHERE order_id IN (SELECT order_id FROM orders WHERE %s)", params = window }
]]

local function where(text, condition) return (text:gsub("%%s", condition)) end
local function by_key(condition)
  return HEAD .. 'execute { "BEGIN" }\n' .. where(DELETE, condition) .. where(INSERT, condition) .. TAIL .. 'execute { "COMMIT" }\n'
end

local ORDER = { { "order_id", "INTEGER", "id" }, { "order_date", "TEXT NOT NULL", "date" },
                { "amount", "DECIMAL(10,2)", "amount" }, { "updated_at", "TEXT NOT NULL", "date" } }

return {
  id = "05-half-open",
  title = "Half-open windows against BETWEEN",
  source = {
    { name = "orders", key = "order_id", columns = ORDER, rows = {
      { 104, "2026-01-19", 35.00, "2026-01-19" }, { 105, "2026-01-20", false, "2026-01-20" } } },
  },
  warehouse = {
    { name = "dw_orders", columns = ORDER, rows = { { 104, "2026-01-19", 35.00, "2026-01-19" } } },
    { name = "wm", columns = { { "job", "TEXT PRIMARY KEY" }, { "watermark", "TEXT", "date" } },
      rows = { { "orders", "2026-01-20" } } },
  },
  events = {
    { at = "2026-01-21", insert = "orders", row = { 106, "2026-01-21", 70.00, "2026-01-21" } },
    { run = "2026-01-21" },
    { at = "2026-01-21 23:59:59.500", insert = "orders", row = { 107, "2026-01-21", 12.00, "2026-01-21 23:59:59.500" } },
    { run = "2026-01-22" },
    { run = "2026-01-23" },
  },
  truth = { table = "dw_orders", key = { "order_id" }, columns = { "order_id", "order_date", "amount", "updated_at" },
            source = "SELECT order_id, order_date, amount, updated_at FROM orders", stamp = "updated_at", total = "amount" },
  probe = { table = "orders", target = "dw_orders", key = "order_id", columns = { "updated_at", "order_date" }, row = { amount = 1.00 } },
  window = { column = "updated_at" },
  requires = {
    { id = "R4", text = "windows half-open: no gap, no overlap", night = 3 },
    { id = "R3", text = "write by key, no second copy", night = 3 },
    { id = "R5", text = "the end is fixed once, at run_start", night = 3 },
  },
  starter = HEAD .. where(INSERT, "updated_at BETWEEN :start AND :stop") .. TAIL,
  solution = by_key "updated_at >= :start AND updated_at < :stop",
  others = {
    { name = "merge, the watermark kept by lrun", job = [[
job { grain = "day" }
local changed = extract { from = "orders", by = "updated_at", window = window { since = watermark() } }
merge { changed, into = "dw_orders", key = "order_id" }
]] },
    { name = "an upsert with an index of its own", job = HEAD .. [[
execute { "CREATE UNIQUE INDEX IF NOT EXISTS dw_orders_key ON dw_orders(order_id)" }
execute { "INSERT INTO dw_orders SELECT order_id, order_date, amount, updated_at FROM orders " ..
          "WHERE updated_at >= :start AND updated_at < :stop ON CONFLICT(order_id) DO UPDATE SET " ..
          "order_date = excluded.order_date, amount = excluded.amount, updated_at = excluded.updated_at", params = window }
]] .. TAIL },
  },
  mutants = {
    { name = "BETWEEN with a write by key", rule = "R4", class = "SILENT", job = by_key "updated_at BETWEEN :start AND :stop" },
    { name = "BETWEEN with a plain INSERT", rule = "R4", class = "DUPLICATE", key = 106,
      job = HEAD .. where(INSERT, "updated_at BETWEEN :start AND :stop") .. TAIL },
    { name = "both ends excluded", rule = "R4", class = "MISSING", key = 105,
      job = by_key "updated_at > :start AND updated_at < :stop" },
    { name = "the day ends at 23:59:59", rule = "R4", class = "MISSING", key = 107,
      job = by_key "updated_at >= :start AND updated_at <= datetime(:stop, '-1 second')" },
    { name = "no end at all", rule = "R5", class = "SILENT",
      job = (by_key "updated_at >= :start":gsub("window = { start = saved, stop = run_date }", "window = { start = saved }")) },
  },
  figures = {
    { "SELECT COUNT(*) FROM dw_orders WHERE order_id = 106", "warehouse", is = "2", job = "starter" },
    { "SELECT COUNT(*) FROM dw_orders", "warehouse", is = "4" },
  },
}
