-- bare.lua ROWS: what a map costs in Lua alone: a loop over a table of rows that
-- makes a fresh table for each. A table of 10,000 rows is gone over as often as
-- needed, which spares the collector a large heap.
local rows, n = {}, tonumber(arg[1])
for i = 1, 10000 do
  rows[i] = { order_id = i, customer_id = i % 997, order_date = "2025-01-01", amount = "12.34", status = "new",
              note = "note " .. i, updated_at = "2025-01-01 10:00:00.000000" }
end

local function fresh(row)
  return { order_id = row.order_id, customer_id = row.customer_id, order_date = row.order_date, amount = row.amount,
           status = "seen", note = row.note, updated_at = row.updated_at }
end

local last
for i = 0, n - 1 do last = fresh(rows[i % 10000 + 1]) end
assert(last.status == "seen")
