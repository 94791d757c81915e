-- The customers of a day into a type 2 dimension: one row for each version of a
-- customer, true in [valid_from, valid_to).
job { grain = "day" }

local customers = extract { from = "customers" }

scd2_merge { customers, into = "dim_customer", key = "customer_id", track = { "name", "country" }, absent = "close" }
