job {}
local facts = extract { from = param("schema", "") .. "facts" }
full_load { scd2_join { facts, dim = "versions", key = "customer_id", at = "at", take = "country" }, into = "placed" }
