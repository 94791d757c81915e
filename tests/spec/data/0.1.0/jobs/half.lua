-- A backfill that stops at its third date: dw_half takes no amount of 60 or more.
job { grain = "day" }
local orders = extract { from = "orders", by = "order_date", window = window() }
overwrite_partition { orders, into = "dw_half", key = "order_id" }
reconcile { orders, with = "dw_half", sum = "amount" }
