job {}
merge { extract { from = "shop.orders" }, into = "orders", key = "order_id" }
