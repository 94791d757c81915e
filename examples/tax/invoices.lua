-- invoices.lua: every invoice with the tax that the law asked for when it was written.
job { grain = "day" }

local invoices = extract { from = "invoices" }
local taxed = scd2_join { invoices, dim = "dim_tax", key = { "country", "kind" }, at = "written_at", take = "percent" }

full_load { taxed, into = "dw_invoices", key = "invoice_id" }
reconcile { invoices, with = "dw_invoices", sum = "net" }
