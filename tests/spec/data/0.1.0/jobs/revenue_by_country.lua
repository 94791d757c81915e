-- Revenue of a day by the country each customer lived in on that day.
job { grain = "day" }

local orders = extract { from = "orders", by = "order_date", window = window() }
local placed = scd2_join { orders, dim = "dim_customer", key = "customer_id", at = "order_date", take = "country" }
local revenue = group { placed, by = { "order_date", "country" }, revenue = "SUM(amount)" }

overwrite_partition { revenue, into = "dw_revenue_by_country" }
reconcile { orders, with = "dw_revenue_by_country", sum = { amount = "revenue" }, rows = false }
