-- Orders that changed since the last run, with two days of lookback for late rows.
job { grain = "day" }

local changed = extract {
  from = "orders", by = "updated_at",
  window = window { since = watermark(), lookback = days(2) },
}

merge { changed, into = "dw_orders", key = "order_id" }
