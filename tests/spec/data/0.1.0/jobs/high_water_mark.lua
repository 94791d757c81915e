-- Transfers above the high water mark, by key; the mark goes to the newest one
-- loaded. Then one partition anew, for the row that landed below the mark.
job { name = "high_water_mark" }

local newer = extract {
  from = "transfers", by = "updated_at",
  window = window { since = watermark { start = "2026-03-02 10:00", advance = "newest" } },
}
merge { newer, into = "dw_transfers", key = "id" }

local day = extract { from = "transfers", by = "load_date", window = window "2026-03-02" }
overwrite_partition { day, into = "dw_transfers" }
reconcile { day, with = "dw_transfers", sum = "amount" }
