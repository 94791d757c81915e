-- A dimension by the time of the change; late ones and those that change nothing.
job {}
scd2_merge { extract { from = "moves", columns = { "customer_id", "country", "moved_at" } }, into = "dim_moves", key = "customer_id", at = "moved_at" }
