-- The requirements, in the words that learn uses for them.
return {
  R1 = "read only the window", R2 = "find rows that changed", R3 = "write by key, no second copy",
  R4 = "windows half-open, no gap, no overlap", R5 = "run_start fixed once",
  R6 = "the watermark is saved only with or after the write", R7 = "the same run twice leaves the same rows",
  R8 = "late rows within N days are found", R9 = "rows later than N are noticed", R10 = "the logical date, not the clock",
  R11 = "one whole day in one transaction, the others untouched",
  R12 = "oldest first, one day at a time, the nightly job itself",
  R13 = "compare rows and totals with the source, NULL-safe", R14 = "stop at the first day that differs",
  R15 = "write down finished days, resume there", R16 = "the dimension value of that day",
  R17 = "rows gone from the source go from the day", R18 = "advance the mark to the newest value loaded",
}
