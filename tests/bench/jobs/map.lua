-- Every row through Lua, a fresh table for each, and all of them written.
job {}
local orders = extract { from = "orders" }
local seen = orders:map(function(row)
  return { order_id = row.order_id, customer_id = row.customer_id, order_date = row.order_date, amount = row.amount,
           status = "seen", note = row.note, updated_at = row.updated_at }
end)
full_load { seen, into = "orders" }
