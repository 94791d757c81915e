-- S4, the wrong tax week: seven days again, with a day that differs, a crash, and a
-- nightly run in between.
local common = require "lesson.common"

local CHECKED = [[
local function totals(table_name, connection)
  return query { "SELECT COUNT(*) AS n, round(SUM(tax) * 100) AS tax FROM " ..
                 table_name .. " WHERE sold_on = :day",
                 params = { day = day }, connection = connection }[1]
end
local books, here = totals("receipts", "source"), totals("dw_tax")
]]

local STOP = [[
if books.n ~= here.n or books.tax ~= here.tax then
  error("the day " .. day .. " differs")
end
]]

local COPY = [[
execute { "DELETE FROM dw_tax WHERE sold_on = :day", params = { day = day } }
execute { "INSERT INTO dw_tax(receipt_id, sold_on, tax) " ..
          "SELECT receipt_id, sold_on, tax FROM tax_lines " ..
          "WHERE sold_on = :day",
          params = { day = day } }
]]

local BEGIN, COMMIT = 'execute { "BEGIN" }\n', 'execute { "COMMIT" }\n'

local DONE = [[
execute { "INSERT INTO finished(day) VALUES (:day)", params = { day = day } }
]]

local SKIP = [[
local done = query { "SELECT day FROM finished WHERE day = :day",
                     params = { day = day } }
if #done > 0 then return end
]]

local DAY = [[
job { transaction = "manual" }
local day = tostring(logical_date)
]]

local function by_lrun(o)
  return ([[
job { grain = "day" }
%slocal lines = extract { from = "tax_lines", by = "sold_on", window = window() }
local printed = extract { from = "receipts", by = "sold_on", window = window() }
overwrite_partition { lines, into = "dw_tax" }
%s%s]]):format(o.skip or "", o.check or 'reconcile { printed, with = "dw_tax", sum = "tax" }\n', o.done or "")
end

local MY_DAY = "local day = tostring(logical_date)\n"
local ROW = { { "receipt_id", "INTEGER", "id" }, { "sold_on", "TEXT NOT NULL", "date" }, { "tax", "DECIMAL(10,2)", "amount" } }

-- The right tax of each receipt, and what stands in the warehouse: the old rate's.
local RECEIPTS = {
  { 400, "2026-01-11", 3.00 }, { 401, "2026-01-12", 2.40 }, { 402, "2026-01-12", 5.00 }, { 403, "2026-01-13", 1.80 },
  { 404, "2026-01-14", 7.20 }, { 405, "2026-01-14", 0.60 }, { 406, "2026-01-15", 4.40 }, { 407, "2026-01-16", 3.60 },
  { 408, "2026-01-16", 2.00 }, { 409, "2026-01-17", 9.00 }, { 410, "2026-01-17", 1.20 }, { 411, "2026-01-18", 6.80 },
  { 412, "2026-01-19", 2.60 }, { 413, "2026-01-20", 8.40 },
}

local function with(change)
  local out = {}
  for _, r in ipairs(RECEIPTS) do
    local row = change(r[1], r[2], r[3])
    if row then out[#out + 1] = row end
  end
  return out
end

return {
  id = "S4",
  title = "The wrong tax week",
  about = "Do a week again, day by day: check, stop, write down, go on",
  closed = true,
  text = [[
From 2026-01-12 to 2026-01-18 the warehouse has the wrong tax: the old rate
was used. Make each of these seven days again. It is 2026-01-20.

    receipts    receipt_id, sold_on, tax: what the tills have printed. This
                is the truth
    tax_lines   receipt_id, sold_on, tax: what the tax service has computed.
                This is what you copy
    dw_tax      receipt_id, sold_on, tax: the copy in the warehouse
    finished    day: a table of the warehouse for you, empty

The scheduler calls your job once for each day, oldest first, with the day as
logical_date. It stops at the first call that fails. It forgets what was done:
when the command is given again, it calls all seven days again, from the
first. So write down each finished day in finished, and leave out the days
that stand there. A finished day must not be touched again.

On one of the days the tax service has left a hole: the number of lines is
right, and a tax is NULL. Compare each day with the receipts, rows and total,
before you call it finished. Raise an error where they differ, so that no
later day is done. Somebody fills the hole, and the command is given again.

Then the machine stops two times in the middle of a day, and between the two
the nightly run comes, the same job for 2026-01-20. At the end the week is
right, and no other day has changed.

You may also drive the days yourself. A job that reads param "from" and
param "to" is called once for the whole range, and must go from the one to the
other, one day at a time.
]],
  hints = {
    "A day has four parts: is it written down? write it, compare it, write it down. Which of them belong into one transaction?",
    "Compare COUNT(*) and SUM(tax) of the day in receipts with the same in dw_tax. SUM of nothing but NULL is NULL, and = and <> " ..
    "with NULL are neither true nor false. In Lua, two values that come from query can be compared with ~=, NULL included.",
    "BEGIN; DELETE and INSERT of the day; compare, and error(...) if they differ; INSERT the day into finished; COMMIT. Before all " ..
    "that: return if the day is in finished. Primitives: overwrite_partition, reconcile with an extract of receipts, execute.",
  },
  explain = [[
The day with the hole had one line, as it should. So a check that counts says
equal. And SUM of one NULL is NULL: a check with <> asks whether 4.40 differs
from NULL, gets neither yes nor no, and lets the day pass. The backfill would
have run to its end, and somebody would have signed a wrong tax.

The stop at that day kept the damage to one day, and left a place from which
to go on. What was written down with the rows, in one transaction, was true
after every crash. The newest finished day alone would not have been enough:
the nightly run had finished a later one.

The rule: oldest first, one day at a time, by overwrite; compare each day with
the source; stop at the first that differs; write down what is finished.
]],
  source = {
    { name = "receipts", key = "receipt_id", columns = ROW, rows = RECEIPTS },
    { name = "tax_lines", key = "receipt_id", columns = ROW,
      rows = with(function(id, day, tax) return { id, day, id ~= 406 and tax } end) },
  },
  warehouse = {
    { name = "dw_tax", columns = ROW, rows = with(function(id, day, tax)
      if day == "2026-01-20" then return nil end
      return { id, day, day >= "2026-01-12" and day <= "2026-01-18" and tax / 2 or tax }
    end) },
    { name = "finished", columns = { { "day", "TEXT PRIMARY KEY", "date" } } },
  },
  events = {
    { backfill = { "2026-01-12", "2026-01-18" }, at = "2026-01-20 09:00:00" },
    { at = "2026-01-20 11:00:00", update = "tax_lines", set = { tax = 4.40 }, where = { receipt_id = 406 }, label = "filled" },
    { backfill = { "2026-01-12", "2026-01-18" }, at = "2026-01-20 12:00:00", resume = true, fail_on = "2026-01-16", fail = "after_write" },
    { run = "2026-01-21", day = "2026-01-20" },
    { backfill = { "2026-01-12", "2026-01-18" }, at = "2026-01-21 09:00:00", resume = true, fail_on = "2026-01-17", fail = "in_write" },
    { backfill = { "2026-01-12", "2026-01-18" }, at = "2026-01-21 10:00:00", resume = true },
    { backfill = { "2026-01-12", "2026-01-18" }, at = "2026-01-21 11:00:00", resume = true },
  },
  record = "finished",
  truth = { table = "dw_tax", key = { "receipt_id" }, columns = { "receipt_id", "sold_on", "tax" },
            source = "SELECT receipt_id, sold_on, tax FROM tax_lines", partition = "sold_on", total = "tax",
            books = {
              name = "receipts", copied = "tax_lines", days = "SELECT sold_on, COUNT(*), SUM(tax) FROM receipts GROUP BY sold_on",
              bad = "SELECT r.sold_on FROM receipts r WHERE NOT EXISTS (SELECT 1 FROM tax_lines t " ..
                    "WHERE t.receipt_id = r.receipt_id AND t.sold_on = r.sold_on AND t.tax IS NOT DISTINCT FROM r.tax)",
              mend = "UPDATE tax_lines SET tax = (SELECT r.tax FROM receipts r WHERE r.receipt_id = tax_lines.receipt_id) " ..
                     "WHERE sold_on = :day",
              rows = "DELETE FROM tax_lines WHERE sold_on = :day",
              amount = "UPDATE tax_lines SET tax = tax + 1 WHERE sold_on = :day" } },
  requires = {
    { id = "R12", event = 1 }, { id = "R13", event = 1 }, { id = "R14", event = 1 }, { id = "R15", event = 6 },
    { id = "R11", event = 6 }, { id = "R7", event = 7 },
  },
  starter = DAY .. COPY,
  solution = DAY .. SKIP .. BEGIN .. COPY .. CHECKED .. STOP .. DONE .. COMMIT,
  others = {
    { name = "overwrite_partition and reconcile, the day written down with them",
      job = by_lrun { skip = MY_DAY .. SKIP, done = DONE } },
    { name = "a job that drives its days", job = common.driver(SKIP .. BEGIN .. COPY .. CHECKED .. STOP .. DONE .. COMMIT) },
    { name = "either way: from and to where they are given, else one day", job = common.driver(SKIP .. BEGIN .. COPY .. CHECKED .. STOP ..
      DONE .. COMMIT):gsub('param "from", param "to"', 'param("from", tostring(logical_date)), param("to", tostring(logical_date))') },
    { name = "a day that differs is left as it is written", job = DAY .. SKIP .. BEGIN .. COPY .. COMMIT .. CHECKED .. STOP .. DONE },
    { name = "a day that differs is emptied", job = DAY .. SKIP .. CHECKED:gsub('"dw_tax"', '"tax_lines", "source"') ..
      STOP:gsub("then error", 'then\n  execute { "DELETE FROM dw_tax WHERE sold_on = :day", params = { day = day } }\n  error') ..
      BEGIN .. COPY .. DONE .. COMMIT },
    { name = "checked before anything is written", job = DAY .. SKIP .. CHECKED:gsub('"dw_tax"', '"tax_lines", "source"') .. STOP ..
      BEGIN .. COPY .. COMMIT .. DONE },
  },
  mutants = {
    { name = "newest first", rule = "R12", class = "SILENT",
      job = common.driver(SKIP .. BEGIN .. COPY .. CHECKED .. STOP .. DONE .. COMMIT, "to", "from", "-1 day") },
    { name = "the whole range in one transaction", rule = "R12", class = "SILENT", job = [[
job { grain = "day" }
local days_ = window(param "from", tostring(date(param "to") + days(1)))
local lines = extract { from = "tax_lines", by = "sold_on", window = days_ }
overwrite_partition { lines, into = "dw_tax" }
reconcile { extract { from = "receipts", by = "sold_on", window = days_ }, with = "dw_tax", sum = "tax" }
]] },
    { name = "no check", rule = "R13", class = "SILENT", job = DAY .. SKIP .. BEGIN .. COPY .. DONE .. COMMIT },
    { name = "overwrite_partition, compared with what it has read", rule = "R13", class = "SILENT",
      job = by_lrun { skip = MY_DAY .. SKIP, check = 'reconcile { lines, with = "dw_tax", sum = "tax" }\n', done = DONE } },
    { name = "counts only", rule = "R13", class = "SILENT",
      job = DAY .. SKIP .. BEGIN .. COPY .. CHECKED .. STOP:gsub(" or books.tax ~= here.tax", "") .. DONE .. COMMIT },
    { name = "totals compared with <>", rule = "R13", class = "SILENT", job = DAY .. SKIP .. BEGIN .. COPY .. [[
local books = query { "SELECT SUM(tax) AS tax FROM receipts WHERE sold_on = :day", params = { day = day },
                      connection = "source" }[1].tax
local differs = query { "SELECT SUM(tax) <> :books AS d FROM dw_tax WHERE sold_on = :day", params = { day = day, books = books } }[1].d
if differs == 1 then error("the day " .. day .. " differs") end
]] .. DONE .. COMMIT },
    { name = "says that a day differs, and goes on", rule = "R14", class = "SILENT",
      job = DAY .. SKIP .. BEGIN .. COPY .. CHECKED .. STOP:gsub("error%(", "print(") .. DONE .. COMMIT },
    { name = "reconcile with fail = false", rule = "R14", class = "SILENT",
      job = by_lrun { skip = MY_DAY .. SKIP, check = 'reconcile { printed, with = "dw_tax", sum = "tax", fail = false }\n', done = DONE } },
    { name = "leaves out the day that differs", rule = "R14", class = "SILENT",
      job = common.driver(SKIP .. BEGIN .. COPY .. CHECKED .. [[
  if books.n ~= here.n or books.tax ~= here.tax then
    execute { "ROLLBACK" }
    print("the day " .. day .. " differs")
    return
  end
]] .. DONE .. COMMIT) },
    { name = "goes on, and raises the error at the end", rule = "R14", class = "SILENT",
      job = common.driver(SKIP .. BEGIN .. COPY .. CHECKED .. [[
  if books.n ~= here.n or books.tax ~= here.tax then differs = day end
]] .. DONE .. COMMIT):gsub("local function work", "local differs\n%0") ..
      'if differs then error("the day " .. differs .. " differs") end\n' },
    { name = "no day is written down", rule = "R15", class = "SILENT", job = DAY .. BEGIN .. COPY .. CHECKED .. STOP .. COMMIT },
    { name = "overwrite_partition and reconcile, nothing written down", rule = "R15", class = "SILENT", job = by_lrun {} },
    { name = "written down before the work", rule = "R15", class = "STALE", key = 407,
      job = DAY .. SKIP .. CHECKED:gsub('"dw_tax"', '"tax_lines", "source"') .. STOP .. DONE .. BEGIN .. COPY .. COMMIT },
    { name = "goes on after the newest day written down", rule = "R15", class = "STALE", key = 407,
      job = DAY .. SKIP:gsub("WHERE day = :day", "WHERE day >= :day") .. BEGIN .. COPY .. CHECKED .. STOP .. DONE .. COMMIT },
    { name = "DELETE and INSERT, each committed by itself", rule = "R11", class = "TORN", key = 409,
      job = DAY .. SKIP .. COPY .. CHECKED .. STOP .. DONE },
    { name = "a plain INSERT", rule = "R3", class = "DUPLICATE", key = 401,
      job = DAY .. SKIP .. BEGIN .. COPY:gsub("^[^\n]*\n", "") .. DONE .. COMMIT },
  },
  figures = {
    { "SELECT printf('%.2f', SUM(tax)) FROM dw_tax WHERE sold_on BETWEEN '2026-01-12' AND '2026-01-18'", "warehouse", is = "44.00" },
    { "SELECT COUNT(*) FROM dw_tax", "warehouse", is = "14" },
    { "SELECT COUNT(*) FROM tax_lines WHERE sold_on = '2026-01-15'", "source", is = "1" },
  },
}
