-- The same, but no row stays: what passing through Lua costs without a write.
job {}
local orders = extract { from = "orders" }
local last
local none = orders:map(function(row)
  last = { order_id = row.order_id, customer_id = row.customer_id, order_date = row.order_date, amount = row.amount,
           status = "seen", note = row.note, updated_at = row.updated_at }
end)
assert(none:count() == 0 and last.status == "seen")
