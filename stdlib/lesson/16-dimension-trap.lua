-- Revenue by country for past days: the country a customer lived in on that day.
local HEAD = [[
job { transaction = "manual" }
local day = tostring(logical_date)
execute { "BEGIN" }
execute { "DELETE FROM dw_revenue WHERE order_date = :day", params = { day = day } }
]]

local ON_THAT_DAY = HEAD .. [[
execute { "INSERT INTO dw_revenue(order_date, country, revenue) SELECT o.order_date, d.country, SUM(o.amount) FROM orders o " ..
          "JOIN dim_customer d ON d.customer_id = o.customer_id AND o.order_date >= d.valid_from AND o.order_date < d.valid_to " ..
          "WHERE o.order_date = :day GROUP BY o.order_date, d.country", params = { day = day } }
execute { "COMMIT" }
]]

local TODAY = HEAD .. [[
execute { "INSERT INTO dw_revenue(order_date, country, revenue) SELECT o.order_date, c.country, SUM(o.amount) FROM orders o " ..
          "JOIN customers c ON c.customer_id = o.customer_id WHERE o.order_date = :day GROUP BY o.order_date, c.country",
          params = { day = day } }
execute { "COMMIT" }
]]

local CUSTOMER = { { "customer_id", "INTEGER", "id" }, { "name", "TEXT" }, { "country", "TEXT" } }

return {
  id = "16-dimension-trap",
  title = "The dimension trap",
  source = {
    { name = "customers", key = "customer_id", columns = CUSTOMER, rows = {
      { 1, "Asha", "DE" }, { 2, "Ravi", "IN" }, { 3, "Lena", "DE" } } },
    { name = "orders", key = "order_id",
      columns = { { "order_id", "INTEGER", "id" }, { "customer_id", "INTEGER", "id" }, { "order_date", "TEXT", "date" },
                  { "amount", "DECIMAL(10,2)", "amount" } },
      rows = { { 101, 1, "2026-01-03", 40.00 }, { 102, 1, "2026-01-08", 25.50 }, { 103, 2, "2026-01-10", 50.00 } } },
    { name = "dim_customer", key = "customer_id, valid_from",
      columns = { { "customer_id", "INTEGER", "id" }, { "country", "TEXT" }, { "valid_from", "TEXT", "date" },
                  { "valid_to", "TEXT", "date" } },
      rows = { { 1, "IN", "2025-06-01", "2026-01-08" }, { 1, "DE", "2026-01-08", "9999-12-31" },
               { 2, "IN", "2025-06-01", "9999-12-31" }, { 3, "DE", "2025-06-01", "9999-12-31" } } },
  },
  warehouse = {
    { name = "dw_revenue",
      columns = { { "order_date", "TEXT", "date" }, { "country", "TEXT" }, { "revenue", "DECIMAL(10,2)", "amount" } } },
  },
  events = { { backfill = { "2026-01-03", "2026-01-10" }, at = "2026-01-22" } },
  truth = { table = "dw_revenue", key = { "order_date", "country" }, columns = { "order_date", "country", "revenue" },
            partition = "order_date", group = true, total = "revenue",
            source = "SELECT o.order_date, d.country, SUM(o.amount) AS revenue FROM orders o JOIN dim_customer d " ..
                     "ON d.customer_id = o.customer_id AND o.order_date >= d.valid_from AND o.order_date < d.valid_to " ..
                     "GROUP BY o.order_date, d.country" },
  requires = {
    { id = "R16", text = "the dimension value of that day", night = 8 },
    { id = "R11", text = "one whole day, the others untouched", night = 8 },
    { id = "R10", text = "the logical date, not the clock", night = 1 },
  },
  starter = TODAY,
  solution = ON_THAT_DAY,
  others = {
    { name = "scd2_join and group", job = [[
job { grain = "day" }
local orders = extract { from = "orders", by = "order_date", window = window() }
local versions = extract { from = "dim_customer" }
full_load { versions, into = "dim" }
local placed = scd2_join { orders, dim = "dim", key = "customer_id", at = "order_date", take = "country" }
local revenue = group { placed, by = { "order_date", "country" }, revenue = "SUM(amount)" }
overwrite_partition { revenue, into = "dw_revenue" }
]] },
  },
  mutants = {
    { name = "today's customers", rule = "R16", class = "WRONG GROUP", key = "2026-01-03", job = TODAY },
    { name = "the version's end is included", rule = "R16", class = "WRONG GROUP", key = "2026-01-08",
      job = (ON_THAT_DAY:gsub("o.order_date >= d.valid_from AND o.order_date < d.valid_to",
                              "o.order_date > d.valid_from AND o.order_date <= d.valid_to")) },
    { name = "all days again", rule = "R11", class = "ORPHAN", key = "2026-01-08",
      job = (ON_THAT_DAY:gsub("WHERE [o.]*order_date = :day", "WHERE :day IS NOT NULL")) },
    { name = "the day before", rule = "R10", class = "MISSING", key = "2026-01-03",
      job = (ON_THAT_DAY:gsub("tostring%(logical_date%)", 'os.date("%%Y-%%m-%%d", os.time() - 14 * 86400)')) },
  },
  figures = {
    { "SELECT printf('%.2f', SUM(revenue)) FROM dw_revenue WHERE country = 'IN'", "warehouse", is = "90.00" },
    { "SELECT printf('%.2f', SUM(revenue)) FROM dw_revenue WHERE country = 'DE'", "warehouse", is = "25.50" },
    { "SELECT printf('%.2f', SUM(revenue)) FROM dw_revenue", "warehouse", is = "115.50" },
  },
}
