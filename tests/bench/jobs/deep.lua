job {}
reconcile { extract { from = "orders" }, with = "orders", deep = true, key = "order_id", fail = false }
