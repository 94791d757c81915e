-- Instants and times without a zone, in a job of UTC.
job { grain = "day" }
local events = extract { from = "events" }
merge { events, into = "dw_times", key = "at" }
insert_new { events, into = "dw_times_new", key = { "id", "at" } }
overwrite_partition { extract { from = "events", by = "at", window = window() }, into = "dw_times_day" }
reconcile { events, with = "dw_times", key = "id", deep = true }
