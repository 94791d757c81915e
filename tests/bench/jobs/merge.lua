job {}
merge { extract { from = "orders" }, into = "orders", key = "order_id" }
