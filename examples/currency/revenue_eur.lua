-- revenue_eur.lua: a day's sales in euros, each at the rate of its own day.
job { grain = "day" }

local sales = extract { from = "sales", by = "sold_on", window = window() }
local priced = scd2_join { sales, dim = "dim_rate", key = "currency", at = "sold_on", take = "rate" }
local day = group { priced, by = "sold_on", amount = "SUM(amount)", eur = "ROUND(SUM(amount * rate), 2)" }

overwrite_partition { day, into = "dw_revenue_eur" }
reconcile { sales, with = "dw_revenue_eur", sum = "amount", rows = false }
