-- orders_placed.lua: each order with where its customer lived and where its salesman worked.
job { grain = "day" }

local orders = extract { from = "orders" }
local where = scd2_join { orders, dim = "dim_customer", key = "customer", at = "placed_on", take = "country" }
local whole = scd2_join { where, dim = "dim_salesman", key = { salesman = "id" }, at = "placed_on",
                          from = "since", to = "till", take = "region" }

full_load { whole, into = "dw_orders_placed", key = "order_id" }
reconcile { orders, with = "dw_orders_placed", sum = "amount" }
