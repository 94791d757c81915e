-- Revenue by country for past days: the country a customer lived in on that day.
local function revenue(country, join, day)
  return ([=[
job { transaction = "manual" }

local one = { day = %s }

execute { "BEGIN" }
execute { "DELETE FROM dw_revenue WHERE order_date = :day", params = one }
execute { [[
  INSERT INTO dw_revenue(order_date, country, revenue)
  SELECT o.order_date, %s, SUM(o.amount)
  FROM   orders o
  %s
  WHERE  o.order_date = :day
  GROUP  BY o.order_date, %s
]], params = one }
execute { "COMMIT" }
]=]):format(day or "tostring(logical_date)", country, join, country)
end

-- The version of each customer, by a condition on the order's day.
local function version(condition, day) return revenue("d.country", [=[
JOIN   dim_customer d
    ON   d.customer_id = o.customer_id
   AND   ]=] .. condition, day) end

local ON_THAT_DAY = version "o.order_date >= d.valid_from AND o.order_date < d.valid_to"
local TODAY = revenue("c.country", "JOIN   customers c ON c.customer_id = o.customer_id")

local CUSTOMER = { { "customer_id", "INTEGER", "id" }, { "name", "TEXT" }, { "country", "TEXT" } }

return {
  id = "16-dimension-trap",
  title = "The dimension trap",
  about = "A backfill uses the values of the day it is about, not today's",
  text = [[
A dimension is a table of descriptions, such as the name and the country of
each customer. The rows that carry numbers, such as orders, are called facts.
A report joins the two: revenue by country.

A dimension changes. Asha, customer 1, lived in IN until 2026-01-08. On that
day she moved to DE. The table customers knows only today: DE.

A type 2 dimension keeps each value with its dates. Such a row is a version.
valid_from is the first day on which it was true, valid_to the first day on
which it was not any more. It is a half-open window. 9999-12-31 means: still
true. SCD is the name for it in books, slowly changing dimension.

    dim_customer      valid_from   valid_to
    1  IN             2025-06-01   2026-01-08
    1  DE             2026-01-08   9999-12-31

    January    03    04    05    06    07    08    09    10
    Asha IN    ==============================)
    Asha DE                                  [==============
    orders     o101 40.00                    o102 25.50  o103 50.00 (Ravi, IN)

The revenue of 2026-01-03 to 2026-01-10 is to be made again, day by day. The
job of this lesson joins the orders with customers. You want the version that
was true on the day of the order.
]],
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
  events = {
    { backfill = { "2026-01-03", "2026-01-10" }, at = "2026-01-22" },
    { backfill = { "2026-01-08", "2026-01-08" }, at = "2026-01-23" },
  },
  predict = {
    { ask = "Which revenue has IN for all eight days, with today's customers?", choices = { "50.00", "90.00", "115.50" },
      sql = "SELECT printf('%.2f', SUM(revenue)) FROM dw_revenue WHERE country = 'IN'", on = "warehouse", job = "starter",
      is = "50.00", why = "That is Ravi's order alone. Asha's 40.00 was spent in IN, and today's table says DE." },
    { ask = "And which total do both countries have together?", choices = { "75.50", "115.50", "155.50" },
      sql = "SELECT printf('%.2f', SUM(revenue)) FROM dw_revenue", on = "warehouse", job = "starter",
      is = "115.50", why = "That is right. The money is all there. It stands in the wrong country." },
  },
  truth = { table = "dw_revenue", key = { "order_date", "country" }, columns = { "order_date", "country", "revenue" },
            partition = "order_date", group = true, total = "revenue",
            source = "SELECT o.order_date, d.country, SUM(o.amount) AS revenue FROM orders o JOIN dim_customer d " ..
                     "ON d.customer_id = o.customer_id AND o.order_date >= d.valid_from AND o.order_date < d.valid_to " ..
                     "GROUP BY o.order_date, d.country" },
  requires = { { id = "R16", night = 8 }, { id = "R11", night = 8 }, { id = "R10", night = 1 }, { id = "R7", night = 9 } },
  hints = {
    "In which country did customer 1 live on 2026-01-03? Which table can tell you that?",
    "Join dim_customer in place of customers. The customer alone gives two versions of Asha; the date of the order must choose one.",
    "JOIN dim_customer d ON d.customer_id = o.customer_id AND o.order_date >= d.valid_from AND o.order_date < d.valid_to. " ..
    "Then take d.country in SELECT and in GROUP BY.",
  },
  explain = [[
With today's customers the eight days gave DE 65.50 and IN 50.00. The truth is
DE 25.50 and IN 90.00. The total is 115.50 in both, so a check of the total
says that all is well. Only a check for each country would see it, and only
if it knew the country of that day.

Nobody noticed it when the report was first made, since on that day "today"
was right. The trap is in the past: the job is the same, and the table that
it joins has moved on.

The end of a version is not included. With BETWEEN the order 102, placed on
the day of the move, would be counted in both countries.

The same happens with currency rates, tax rules and product categories.

The rule: a run for a past day uses the values of that day. In a job that
leaves SQL to lrun, scd2_join picks the version.
]],
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
      job = version "o.order_date > d.valid_from AND o.order_date <= d.valid_to" },
    { name = "both ends of the version, with BETWEEN", rule = "R16", class = "ORPHAN", key = "2026-01-08",
      job = version "o.order_date BETWEEN d.valid_from AND d.valid_to" },
    { name = "added, without a DELETE", rule = "R3", class = "DUPLICATE", key = "2026-01-08",
      job = (ON_THAT_DAY:gsub('execute { "DELETE[^\n]*\n', "")) },
    { name = "all days again", rule = "R11", class = "ORPHAN", key = "2026-01-08",
      job = (ON_THAT_DAY:gsub("order_date = :day", "order_date IS NOT :day || ' '")) },
    { name = "five days after", rule = "R10", class = "MISSING", key = "2026-01-03",
      job = version("o.order_date >= d.valid_from AND o.order_date < d.valid_to", "tostring(logical_date + days(5))") },
  },
  figures = {
    { "SELECT printf('%.2f', SUM(revenue)) FROM dw_revenue WHERE country = 'IN'", "warehouse", is = "90.00" },
    { "SELECT printf('%.2f', SUM(revenue)) FROM dw_revenue WHERE country = 'DE'", "warehouse", is = "25.50" },
    { "SELECT printf('%.2f', SUM(revenue)) FROM dw_revenue", "warehouse", is = "115.50" },
    { "SELECT printf('%.2f', SUM(revenue)) FROM dw_revenue WHERE country = 'DE'", "warehouse", is = "65.50", job = "starter" },
  },
}
