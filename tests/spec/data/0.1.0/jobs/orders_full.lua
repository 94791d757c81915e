-- Every order, every time: easy to trust, and it reads all of the table.
job { grain = "day" }

local orders = extract { from = "orders" }

full_load { orders, into = "dw_orders" }
reconcile { orders, with = "dw_orders", sum = "amount" }
