-- Columns that a job remembers: one is gone on the second night.
job {}
merge { extract { from = "people" }, into = "dw_people", key = "id" }
