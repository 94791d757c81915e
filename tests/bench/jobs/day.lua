job { grain = "day" }
local orders = extract { from = "orders", by = "order_date", window = window() }
overwrite_partition { orders, into = "orders" }
reconcile { orders, with = "orders", sum = "amount" }
