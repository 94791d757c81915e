-- Times of Berlin: a text or timestamp without a zone, and instants.
job { grain = "day", zone = "Europe/Berlin" }
local events = extract { from = "events", by = "local_at", window = window() }
overwrite_partition { events, into = "dw_zone_day" }
merge { events, into = "dw_zone", key = "id" }
merge { extract { from = "events" }, into = "dw_mixed", key = "id" }
