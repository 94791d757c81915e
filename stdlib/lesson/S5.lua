-- S5, revenue by country: past days with the customer's country and the currency's rate
-- of each day, and a check that a total alone would pass.
local function job(o)
  local rate = o.rate or 'r.valid_from <= o.order_date " ..\n          "AND o.order_date < r.valid_to'
  local dim = o.dim or 'd.valid_from <= o.order_date " ..\n          "AND o.order_date < d.valid_to'
  local day = o.day or "tostring(logical_date)"
  local join = o.join or "LEFT JOIN"
  local text = [[
job { transaction = "manual" }

local day = DAY

execute { "BEGIN" }
execute { "DELETE FROM dw_revenue WHERE order_date = :day",
          params = { day = day } }
execute { "INSERT INTO dw_revenue(order_date, country, revenue) " ..
          "SELECT o.order_date, d.country, SUM(o.amount * r.rate) " ..
          "FROM orders o " ..
          "JOIN TABLE d ON d.customer_id = o.customer_id " ..
          "AND DIM " ..
          "JOINRATE rates r ON r.currency = o.currency " ..
          "AND RATE " ..
          "WHERE o.order_date = :day GROUP BY o.order_date, d.country",
          params = { day = day } }
]]
  text = text:gsub("DAY", (day:gsub("%%", "%%%%"))):gsub("JOINRATE", join):gsub("RATE", rate)
             :gsub("TABLE", o.table or "dim_customer"):gsub("DIM", dim)
  return text .. (o.check or "") .. 'execute { "COMMIT" }\n'
end

local TOTALS = [[

-- What the books say of the day, against what was written.
local books = query {
  "SELECT revenue FROM day_totals WHERE order_date = :day",
  params = { day = day }, connection = "source",
}
local here = query {
  "SELECT SUM(revenue) AS revenue FROM dw_revenue WHERE order_date = :day",
  params = { day = day },
}[1].revenue
]]

local CHECK = TOTALS .. [[
if #books > 0 and books[1].revenue ~= here then
  error("revenue of " .. day .. " differs from the books")
end
]]

local SKIPS_NULL = TOTALS .. [[
local differs = query { "SELECT :books <> :here AS d", params = { books = #books > 0 and books[1].revenue or 0, here = here } }[1].d
if differs == 1 then error("revenue of " .. day .. " differs from the books") end
]]

local PRIMITIVES = [[
job { grain = "day" }

local orders = extract { from = "orders", by = "order_date", window = window() }
full_load { extract { from = "dim_customer" }, into = "my_customers" }
full_load { extract { from = "rates" }, into = "my_rates" }

local placed = scd2_join { orders, dim = "my_customers", key = "customer_id", at = "order_date", take = "country" }
local rated = scd2_join { placed, dim = "my_rates", key = "currency", at = "order_date", take = "rate" }
local revenue = group { rated, by = { "order_date", "country" }, revenue = "SUM(amount * rate)" }
overwrite_partition { revenue, into = "dw_revenue" }
]]

local CUSTOMER = { { "customer_id", "INTEGER", "id" }, { "name", "TEXT" }, { "country", "TEXT" } }
local BETWEEN = { { "valid_from", "TEXT", "date" }, { "valid_to", "TEXT", "date" } }
local DAYS = { "2026-01-03", "2026-01-10" }
local RATE = " JOIN rates r ON r.currency = o.currency AND r.valid_from <= o.order_date AND o.order_date < r.valid_to "

return {
  id = "S5",
  title = "Revenue by country",
  about = "Fill past days with the values of each day, and check the total",
  closed = true,
  text = [[
The head office wants revenue by country for 2026-01-03 to 2026-01-10, in
rupees. It is 2026-01-22 now. lrun runs your job once for each of those days,
oldest first, with the day as logical_date, and stops at the first run that
fails. The same days may be asked for again.

The source has these tables.

    orders         order_id, customer_id, order_date, amount, currency
    customers      customer_id, name, country: as they are today
    dim_customer   customer_id, country, valid_from, valid_to: who lived
                   where, and when
    rates          currency, rate, valid_from, valid_to: rupees for one unit
    day_totals     order_date, revenue: the books, in rupees, for each day
                   that has orders

A row of dim_customer or rates is true from its valid_from up to, and not
including, its valid_to. Two customers have moved in January, one of them on
the very day of an order. The rate of the euro changed on 2026-01-06.

Write dw_revenue(order_date, country, revenue): the day's sum of amount times
rate, for each country. The past must come out as it was on its day.

Compare each day with the books before you let it pass, and raise an error
where they differ. On one of the days an order is in a currency that has no
rate yet. Somebody adds the rate when your job has said so, and the backfill
goes on.
]],
  hints = {
    "For an order of 2026-01-03, which country and which rate were true on that day? Which tables can tell you, and which one only " ..
    "knows today?",
    "Join dim_customer and rates by order_date: valid_from <= order_date and order_date < valid_to. Then compare the day's sum with " ..
    "day_totals. A sum can be NULL, and NULL compared with a number is neither true nor false.",
    "After the INSERT, before COMMIT: read the books' revenue and SUM(revenue) with query, and raise error(...) if they are not the " ..
    "same, NULL included. Primitives: scd2_join twice, group, overwrite_partition, then reconcile with rows = false.",
  },
  explain = [[
Today's customers table gives the right total and the wrong split. No check of
totals can see it, since every rupee is there, in the wrong country. So the
join must be right by itself: each order meets the one row that was true on
its day.

The rate is the same trap in another place, and there the total does differ.
An order without a rate gives NULL, SUM leaves NULL out, and a comparison with
NULL is never true, so a check written with <> or = lets the day pass.

The rule: a backfill uses the values of the day that it fills, and its check
treats NULL as different from every number.
]],
  source = {
    { name = "customers", key = "customer_id", columns = CUSTOMER, rows = {
      { 1, "Asha", "DE" }, { 2, "Ravi", "DE" }, { 3, "Lena", "DE" }, { 4, "Tom", "IN" } } },
    { name = "dim_customer", key = "customer_id, valid_from",
      columns = { { "customer_id", "INTEGER", "id" }, { "country", "TEXT" }, BETWEEN[1], BETWEEN[2] },
      rows = { { 1, "IN", "2025-06-01", "2026-01-08" }, { 1, "DE", "2026-01-08", "9999-12-31" },
               { 2, "IN", "2025-06-01", "2026-01-15" }, { 2, "DE", "2026-01-15", "9999-12-31" },
               { 3, "DE", "2025-06-01", "9999-12-31" }, { 4, "IN", "2025-06-01", "9999-12-31" } } },
    { name = "rates", key = "currency, valid_from",
      columns = { { "currency", "TEXT" }, { "rate", "INTEGER" }, BETWEEN[1], BETWEEN[2] },
      rows = { { "INR", 1, "2025-01-01", "9999-12-31" }, { "EUR", 90, "2025-01-01", "2026-01-06" },
               { "EUR", 100, "2026-01-06", "9999-12-31" } } },
    { name = "orders", key = "order_id",
      columns = { { "order_id", "INTEGER", "id" }, { "customer_id", "INTEGER", "id" }, { "order_date", "TEXT", "date" },
                  { "amount", "DECIMAL(10,2)" }, { "currency", "TEXT" } },
      rows = { { 601, 1, "2026-01-03", 40.00, "EUR" }, { 602, 3, "2026-01-05", 20.00, "EUR" }, { 603, 3, "2026-01-06", 12.00, "EUR" },
               { 604, 1, "2026-01-08", 25.50, "EUR" }, { 605, 2, "2026-01-08", 900.00, "INR" }, { 606, 4, "2026-01-09", 30.00, "GBP" },
               { 607, 2, "2026-01-10", 5000.00, "INR" } } },
    { name = "day_totals", key = "order_date", columns = { { "order_date", "TEXT", "date" }, { "revenue", "DECIMAL(12,2)" } },
      rows = { { "2026-01-03", 3600.00 }, { "2026-01-05", 1800.00 }, { "2026-01-06", 1200.00 }, { "2026-01-08", 3450.00 },
               { "2026-01-09", 3300.00 }, { "2026-01-10", 5000.00 } } },
  },
  warehouse = {
    { name = "dw_revenue",
      columns = { { "order_date", "TEXT", "date" }, { "country", "TEXT" }, { "revenue", "DECIMAL(12,2)" } },
      rows = { { "2026-01-02", "IN", 750.00 }, { "2026-01-11", "DE", 480.00 } } },
  },
  events = {
    { backfill = DAYS, at = "2026-01-22 09:00:00" },
    { at = "2026-01-22 11:00:00", insert = "rates", row = { "GBP", 110, "2026-01-01", "9999-12-31" } },
    { backfill = DAYS, at = "2026-01-22 12:00:00", resume = true },
    { backfill = DAYS, at = "2026-01-23 12:00:00" },
  },
  truth = { table = "dw_revenue", key = { "order_date", "country" }, columns = { "order_date", "country", "revenue" },
            partition = "order_date", group = true, total = "revenue",
            source = "SELECT o.order_date, d.country, SUM(o.amount * r.rate) AS revenue FROM orders o JOIN dim_customer d " ..
                     "ON d.customer_id = o.customer_id AND d.valid_from <= o.order_date AND o.order_date < d.valid_to LEFT" .. RATE ..
                     "GROUP BY o.order_date, d.country",
            books = {
              name = "day_totals", copied = "orders", days = "SELECT order_date, NULL, revenue FROM day_totals",
              bad = "SELECT b.order_date FROM day_totals b WHERE b.revenue IS DISTINCT FROM " ..
                    "(SELECT SUM(o.amount * r.rate) FROM orders o" .. RATE .. "WHERE o.order_date = b.order_date)",
              mend = "INSERT INTO rates(currency, rate, valid_from, valid_to) SELECT 'GBP', 110, :day, '9999-12-31'",
              amount = "UPDATE orders SET amount = amount + 1 WHERE order_date = :day" } },
  requires = { { id = "R16", event = 4 }, { id = "R10", event = 1 }, { id = "R11", event = 4 }, { id = "R13", event = 3 } },
  starter = job { table = "customers", dim = "true" },
  solution = job { check = CHECK },
  others = {
    { name = "scd2_join, group and reconcile", job = PRIMITIVES .. [[
reconcile { extract { from = "day_totals", by = "order_date", window = window() }, with = "dw_revenue", sum = "revenue", rows = false }
]] },
    { name = "an INNER JOIN of the rates, checked", job = job { join = "JOIN", check = CHECK } },
  },
  mutants = {
    { name = "today's customers, with a check", rule = "R16", class = "WRONG GROUP", key = "2026-01-03",
      job = job { table = "customers", dim = "true", check = CHECK } },
    { name = "today's rate", rule = "R16", class = "STALE", key = "2026-01-03",
      job = job { rate = "r.valid_to = '9999-12-31'" } },
    { name = "the version's end is included", rule = "R16", class = "STALE", key = "2026-01-08",
      job = job { dim = "o.order_date BETWEEN d.valid_from AND d.valid_to" } },
    { name = "no check", rule = "R13", class = "SILENT", job = job {} },
    { name = "a check with <>", rule = "R13", class = "SILENT", job = job { check = SKIPS_NULL } },
    { name = "says that the day differs, and goes on", rule = "R14", class = "SILENT",
      job = job { check = (CHECK:gsub("error%(", "print(")) } },
    { name = "the clock's day, nineteen days back", rule = "R10", class = "MISSING", key = "2026-01-05",
      job = job { day = 'os.date("%Y-%m-%d", os.time() - 19 * 86400)' } },
    { name = "all days again", rule = "R11", class = "MISSING", key = "2026-01-02",
      job = (job { check = CHECK }:gsub("DELETE FROM dw_revenue WHERE order_date = :day",
                                        "DELETE FROM dw_revenue WHERE :day IS NOT NULL")) },
  },
  figures = {
    { "SELECT printf('%.2f', SUM(revenue)) FROM dw_revenue WHERE country = 'IN' AND order_date BETWEEN '2026-01-03' AND '2026-01-10'",
      "warehouse", is = "12800.00" },
    { "SELECT printf('%.2f', SUM(revenue)) FROM dw_revenue WHERE country = 'DE' AND order_date BETWEEN '2026-01-03' AND '2026-01-10'",
      "warehouse", is = "5550.00" },
  },
}
