-- One day of orders, by the day they were placed. Safe to run again for any day.
job { grain = "day" }

local orders = extract { from = "orders", by = "order_date", window = window() }

overwrite_partition { orders, into = "dw_orders" }
reconcile { orders, with = "dw_orders", sum = "amount" }
