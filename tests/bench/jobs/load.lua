job {}
full_load { extract { from = "orders" }, into = "orders" }
