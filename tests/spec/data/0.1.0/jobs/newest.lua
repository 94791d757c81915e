-- A watermark at the newest value, of a time and of a number.
job {}
local late = extract { from = "events", by = "at", window = window { since = watermark { advance = "newest" }, lookback = hours(1) } }
merge { late, into = "dw_events", key = "id" }
local numbered = extract { from = "changes", by = "seq", window = window { since = watermark { name = "seq", advance = "newest" } } }
insert_new { numbered, into = "dw_changes_seen", key = "seq" }
