-- A payment is saved after the run that should have read it: a lookback finds it.
local function merge(lookback, by)
  return ([[
job { grain = "day" }
local changed = extract { from = "orders", by = "%s", window = window { since = watermark()%s } }
merge { changed, into = "dw_orders", key = "order_id" }
]]):format(by or "updated_at", lookback and ", lookback = days(" .. lookback .. ")" or "")
end

local MANUAL = [[
job { transaction = "manual" }
local saved = query { "SELECT watermark FROM wm WHERE job = 'orders'" }[1].watermark
local window = { start = query { "SELECT date(:d, '-2 days') AS d", params = { d = saved } }[1].d, stop = os.date "%Y-%m-%d" }
execute { "BEGIN" }
execute { "DELETE FROM dw_orders WHERE order_id IN (SELECT order_id FROM orders WHERE updated_at >= :start AND updated_at < :stop)",
          params = window }
execute { "INSERT INTO dw_orders SELECT order_id, order_date, amount, updated_at FROM orders " ..
          "WHERE updated_at >= :start AND updated_at < :stop", params = window }
execute { "UPDATE wm SET watermark = :stop WHERE job = 'orders'", params = { stop = window.stop } }
execute { "COMMIT" }
]]

local ORDER = { { "order_id", "INTEGER", "id" }, { "order_date", "TEXT NOT NULL", "date" },
                { "amount", "DECIMAL(10,2)", "amount" }, { "updated_at", "TEXT NOT NULL", "date" } }

local ROWS = { { 104, "2026-01-19", 35.00, "2026-01-19" }, { 105, "2026-01-20", false, "2026-01-20" },
               { 106, "2026-01-21", 70.00, "2026-01-21" } }

return {
  id = "09-lookback",
  title = "A late row, and a lookback that finds it",
  source = { { name = "orders", key = "order_id", columns = ORDER, rows = ROWS } },
  warehouse = {
    { name = "dw_orders", columns = ORDER, rows = ROWS },
    { name = "wm", columns = { { "job", "TEXT PRIMARY KEY" }, { "watermark", "TEXT", "date" } },
      rows = { { "orders", "2026-01-25" } } },
  },
  events = {
    { run = "2026-01-26" },
    { run = "2026-01-27" },
    { at = "2026-01-27 10:00:00", update = "orders", set = { amount = 22.00, updated_at = "2026-01-25" }, where = { order_id = 105 },
      label = "paid" },
    { run = "2026-01-28" },
    { run = "2026-01-29" },
  },
  truth = { table = "dw_orders", key = { "order_id" }, columns = { "order_id", "order_date", "amount", "updated_at" },
            source = "SELECT order_id, order_date, amount, updated_at FROM orders", stamp = "updated_at", total = "amount" },
  probe = { table = "orders", target = "dw_orders", key = "order_id", columns = { "updated_at", "order_date" }, row = { amount = 1.00 } },
  requires = {
    { id = "R8", text = "late rows within two days are found", night = 3 },
    { id = "R2", text = "find rows that changed", night = 3 },
    { id = "R3", text = "write by key, no second copy", night = 4 },
  },
  starter = merge(nil),
  solution = merge(2),
  others = { { name = "SQL with a lookback of two days", job = MANUAL } },
  mutants = {
    { name = "a lookback of one day", rule = "R8", class = "STALE", key = 105, job = merge(1) },
    { name = "a lookback on the created date", rule = "R2", class = "STALE", key = 105, job = merge(2, "order_date") },
    { name = "a lookback with a plain INSERT", rule = "R3", class = "DUPLICATE", key = 105,
      job = (MANUAL:gsub('execute { "DELETE .-params = window }\n', "")) },
  },
  figures = {
    { "SELECT printf('%.2f', SUM(amount)) FROM dw_orders", "warehouse", is = "127.00" },
    { "SELECT printf('%.2f', SUM(amount)) FROM dw_orders", "warehouse", is = "105.00", job = "starter" },
  },
}
