job {}
full_load { extract { from = "shop.orders" }, into = "orders" }
