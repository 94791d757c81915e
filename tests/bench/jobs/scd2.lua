job {}
local changed = extract { from = param("schema", "") .. "customers", where = "changed_at >= '2026-01-15'" }
scd2_merge { changed, into = "dim", key = "customer_id", track = { "name", "country" }, at = "changed_at" }
