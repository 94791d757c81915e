-- The jobs that lrun ships, against the figures of the chapter.
local files = require "files"
local shop = require "shop"
local world = require "world"

local ORDER_105 = "SELECT order_id, customer_id, order_date, printf('%.2f', amount), updated_at FROM dw_orders WHERE order_id = 105"
local OTHERS = "SELECT * FROM dw_orders WHERE order_id <> 105 ORDER BY 1"

describe("jobs/", function()
  for _, name in ipairs { "orders", "orders_incremental", "orders_full", "high_water_mark", "revenue_by_country", "dim_customer" } do
    it(name .. " is under 20 lines of code", function()
      local code = 0
      for line in files.read(world.root .. "/jobs/" .. name .. ".lua"):gmatch "[^\n]+" do
        if not line:find "^%s*%-%-" then code = code + 1 end
      end
      assert.is_true(code > 0 and code < 20)
    end)
  end
end)

describe("jobs/orders.lua", function()
  it("repairs a past day with nothing set", function()
    local s = shop.new()
    local others = s:rows(OTHERS)
    assert.same({ "6|242.50", "6|220.50" }, { s:totals() })

    local r = s:ok("jobs/orders.lua", "--logical-date", "2026-01-20")
    assert.same({ "105|2|2026-01-20|22.00|2026-01-25" }, s:rows(ORDER_105))
    assert.same(others, s:rows(OTHERS))
    assert.same({ "6|242.50", "6|242.50" }, { s:totals() })
    -- The check shows both sides.
    assert.is_truthy(r.out:find "22%.00 = 22%.00")
    assert.is_truthy(r.out:find "1 = 1")
    assert.equal("", r.err)
  end)

  it("leaves the same rows when it is run again", function()
    local s = shop.new()
    s:ok("jobs/orders.lua", "--logical-date", "2026-01-20")
    local state = s:state()
    s:ok("jobs/orders.lua", "--logical-date", "2026-01-20")
    s:ok("jobs/orders.lua", "--logical-date", "2026-01-20")
    assert.equal(state, s:state())
    assert.equal("succeeded succeeded succeeded", s:statuses())
  end)

  it("writes both sides of its check into the ledger", function()
    local s = shop.new()
    s:ok("jobs/orders.lua", "--logical-date", "2026-01-20")
    assert.same({ "dw_orders|rows|1|1|1", "dw_orders|sum(amount)|22.00|22.00|1" },
      s:rows "SELECT target, metric, source_value, warehouse_value, equal FROM lrun_checks ORDER BY metric")
    assert.same({ "orders|order_date|2026-01-20|2026-01-21" },
      s:rows "SELECT DISTINCT source_table, column_name, window_start, window_stop FROM lrun_windows")
    local run = s:last_run()
    assert.equal("orders succeeded 2026-01-20 1 1 1",
      table.concat({ run.job, run.status, run.logical_date, run.rows_read, run.rows_inserted, run.rows_deleted }, " "))
  end)

  it("does not see a payment by the created date, and says nothing", function()
    local s = shop.new()
    s:ok("jobs/orders.lua", "--logical-date", "2026-01-25")
    assert.same({ "6|242.50", "6|220.50" }, { s:totals() })
    assert.equal("0", s:last_run().rows_read)
  end)

  it("needs a logical date", function()
    local s = shop.new()
    local state = s:state()
    s:refused(1, { "jobs/orders.lua:4", "logical date", "--logical-date" }, "jobs/orders.lua")
    assert.equal(state, s:state())
  end)

  it("works from any folder", function()
    local s = shop.new()
    s:ok("orders.lua", "--logical-date", "2026-01-20", { cwd = s:path "jobs" })
    s:ok(s:path "jobs/orders.lua", "--logical-date", "2026-01-20", { cwd = "/" })
    assert.same({ "105|2|2026-01-20|22.00|2026-01-25" }, s:rows(ORDER_105))
  end)
end)

describe("jobs/orders_full.lua", function()
  it("loads the six orders: 220.50 before the payment, 242.50 after it", function()
    local s = shop.new()
    s:unpaid()
    s:warehouse "DELETE FROM dw_orders WHERE order_id > 104"
    s:ok("jobs/orders_full.lua", "--run-start", "2026-01-22")
    assert.same({ "6|220.50", "6|220.50" }, { s:totals() })
    s:pay()
    s:ok("jobs/orders_full.lua", "--run-start", "2026-01-26")
    assert.same({ "6|242.50", "6|242.50" }, { s:totals() })
    assert.equal("6", s:last_run().rows_read)
  end)
end)

-- The late payment: stamped 01-25, in the source on the 26th (or the 27th) at ten.
local function nights(s, job, pay_before)
  s:unpaid()
  s:ok(job, "--run-start", "2026-01-25")
  local read, updated = {}, {}
  for _, night in ipairs { "2026-01-26", "2026-01-27", "2026-01-28", "2026-01-29" } do
    if night == pay_before then s:pay() end
    s:ok(job, "--run-start", night)
    local run = s:last_run()
    read[#read + 1], updated[#updated + 1] = run.rows_read, run.rows_updated
  end
  return table.concat(read, ","), table.concat(updated, ",")
end

local function with_lookback(s, days)
  s:write("jobs/nightly.lua", ([[
    job { grain = "day" }
    local changed = extract { from = "orders", by = "updated_at",
      window = window { since = watermark(), lookback = days(%d) } }
    merge { changed, into = "dw_orders", key = "order_id" }
  ]]):format(days))
  return "jobs/nightly.lua"
end

describe("jobs/orders_incremental.lua", function()
  it("finds the late payment with two days of lookback: -, 105, 105, -", function()
    local s = shop.new()
    local read, updated = nights(s, "jobs/orders_incremental.lua", "2026-01-27")
    assert.equal("0,1,1,0", read)
    assert.equal("0,1,0,0", updated)
    assert.same({ "6|242.50", "6|242.50" }, { s:totals() })
    assert.same({ "105|2|2026-01-20|22.00|2026-01-25" }, s:rows(ORDER_105))
    assert.equal("2026-01-29", s:watermark())
    assert.same({ "2026-01-23|2026-01-26", "2026-01-24|2026-01-27", "2026-01-25|2026-01-28", "2026-01-26|2026-01-29" },
      s:rows "SELECT window_start, window_stop FROM lrun_windows WHERE window_start > '2026-01-22' ORDER BY run_id")
  end)

  it("never finds it without lookback", function()
    local s = shop.new()
    local read = nights(s, with_lookback(s, 0), "2026-01-27")
    assert.equal("0,0,0,0", read)
    assert.same({ "6|242.50", "6|220.50" }, { s:totals() })
  end)

  it("tells one day of lookback from two when the payment is two days late", function()
    local s = shop.new()
    assert.equal("0,0,0,0", (nights(s, with_lookback(s, 1), "2026-01-28")))
    s = shop.new()
    assert.equal("0,0,1,0", (nights(s, with_lookback(s, 2), "2026-01-28")))
  end)

  it("reads everything on its first run", function()
    local s = shop.new()
    s:warehouse "DELETE FROM dw_orders"
    s:ok("jobs/orders_incremental.lua", "--run-start", "2026-01-26")
    assert.same({ "6|242.50", "6|242.50" }, { s:totals() })
  end)

  it("takes the start of today as run_start when none is given", function()
    local s = shop.new()
    s:ok "jobs/orders_incremental.lua"
    assert.equal(os.date "!%Y-%m-%d", s:watermark())
  end)
end)

describe("jobs/high_water_mark.lua", function()
  local TARGET = "SELECT group_concat(id || '=' || amount, ' ') FROM (SELECT * FROM dw_transfers ORDER BY id)"

  it("loads what is newer than the mark, moves it, and overwrites 2026-03-02", function()
    local s = shop.new()
    s:ok("jobs/high_water_mark.lua", "--run-start", "2026-03-04")
    assert.equal("1=100 2=200 3=300 4=250", s:one(TARGET))
    assert.equal("2026-03-03 10:00", s:watermark())
    assert.equal("2|450", s:one "SELECT count(*), sum(amount) FROM dw_transfers WHERE load_date = '2026-03-02'")
    -- Only transfer 3 is above the mark.
    assert.same({ "merge|1|0|0" },
      s:rows "SELECT primitive, rows_inserted, rows_updated, rows_deleted FROM lrun_writes WHERE primitive = 'merge'")
  end)

  it("changes nothing on a second run", function()
    local s = shop.new()
    s:ok("jobs/high_water_mark.lua", "--run-start", "2026-03-04")
    local state = s:state()
    s:ok("jobs/high_water_mark.lua", "--run-start", "2026-03-05")
    assert.equal("1=100 2=200 3=300 4=250", s:one(TARGET))
    assert.equal("2026-03-03 10:00", s:watermark())
    assert.equal(state:gsub("INSERT INTO lrun_watermarks[^\n]*", ""), (s:state():gsub("INSERT INTO lrun_watermarks[^\n]*", "")))
  end)

  it("does not bring the late row by its mark alone", function()
    local s = shop.new()
    local text = files.read(s:path "jobs/high_water_mark.lua")
    s:write("jobs/high_water_mark.lua", text:match "^(.-)\nlocal day")
    s:ok("jobs/high_water_mark.lua", "--run-start", "2026-03-04")
    assert.equal("1=100 2=200 3=300", s:one(TARGET))
  end)
end)

describe("jobs/revenue_by_country.lua", function()
  it("takes the country of the order's day: IN 90.00, DE 25.50", function()
    local s = shop.new()
    for day = 3, 10 do
      s:ok("jobs/revenue_by_country.lua", "--logical-date", ("2026-01-%02d"):format(day))
    end
    assert.same({ "DE|25.50", "IN|90.00" },
      s:rows "SELECT country, printf('%.2f', sum(revenue)) FROM dw_revenue_by_country GROUP BY 1 ORDER BY 1")
    -- With today's customers the split is another and the total the same.
    assert.same({ "DE|65.50", "IN|50.00" }, s:source_rows [[
      SELECT country, printf('%.2f', sum(amount)) FROM orders JOIN customers USING (customer_id)
      WHERE order_date >= '2026-01-03' AND order_date < '2026-01-11' GROUP BY 1 ORDER BY 1]])
    assert.equal("115.50", s:one "SELECT printf('%.2f', sum(revenue)) FROM dw_revenue_by_country")
    local state = s:state()
    for day = 10, 3, -1 do
      s:ok("jobs/revenue_by_country.lua", "--logical-date", ("2026-01-%02d"):format(day))
    end
    assert.equal(#state, #s:state())
  end)
end)

describe("jobs/dim_customer.lua", function()
  local BY_COUNTRY = "SELECT country, printf('%.2f', sum(revenue)) FROM dw_revenue_by_country GROUP BY 1 ORDER BY 1"
  local function day(n) return ("2026-01-%02d"):format(n) end

  -- Night after night from the table of today's customers; Asha moves on the 8th.
  local function built()
    local s = shop.new()
    s:warehouse "DROP TABLE dim_customer"
    s:source "UPDATE customers SET country = 'IN' WHERE customer_id = 1"
    for n = 1, 10 do
      if n == 8 then s:source "UPDATE customers SET country = 'DE' WHERE customer_id = 1" end
      s:ok("jobs/dim_customer.lua", "--logical-date", day(n), "--run-start", day(n + 1))
    end
    return s
  end

  it("builds the chapter's dimension day by day, and the facts of past days join it as then", function()
    local s = built()
    assert.same({ "1|Asha|IN|2026-01-01|2026-01-08", "1|Asha|DE|2026-01-08|9999-12-31", "2|Ravi|IN|2026-01-01|9999-12-31",
      "3|Lena|DE|2026-01-01|9999-12-31" }, s:rows "SELECT * FROM dim_customer ORDER BY customer_id, valid_from")
    local state = s:rows "SELECT * FROM dim_customer ORDER BY customer_id, valid_from"
    s:ok("jobs/dim_customer.lua", "--logical-date", day(10), "--run-start", day(11))
    assert.same(state, s:rows "SELECT * FROM dim_customer ORDER BY customer_id, valid_from")
    s:ok("backfill", "jobs/revenue_by_country.lua", "--from", day(3), "--to", day(10))
    assert.same({ "DE|25.50", "IN|90.00" }, s:rows(BY_COUNTRY))
  end)

  it("takes a late correction, which moves exactly the facts of its days", function()
    local s = shop.new()
    s:ok("backfill", "jobs/revenue_by_country.lua", "--from", day(3), "--to", day(10))
    local others = s:rows "SELECT * FROM dw_revenue_by_country WHERE order_date <> '2026-01-03' ORDER BY 1, 2"
    s:write("jobs/correct.lua", [[job {}
      local rows = extract { sql = "SELECT 1 AS customer_id, 'Asha' AS name, 'DE' AS country, '2026-01-03' AS moved " ..
        "UNION ALL SELECT 1, 'Asha', 'IN', '2026-01-04'" }
      scd2_merge { rows, into = "dim_customer", key = "customer_id", track = { "name", "country" }, at = "moved" }]])
    s:ok "jobs/correct.lua"
    assert.same({ "IN|2025-06-01|2026-01-03", "DE|2026-01-03|2026-01-04", "IN|2026-01-04|2026-01-08", "DE|2026-01-08|9999-12-31" },
      s:rows "SELECT country, valid_from, valid_to FROM dim_customer WHERE customer_id = 1 ORDER BY valid_from")
    s:ok("backfill", "jobs/revenue_by_country.lua", "--from", day(3), "--to", day(3))
    assert.same({ "DE|65.50", "IN|50.00" }, s:rows(BY_COUNTRY))
    assert.same(others, s:rows "SELECT * FROM dw_revenue_by_country WHERE order_date <> '2026-01-03' ORDER BY 1, 2")
  end)

  it("refuses the latest day when it says something else now", function()
    local s = built()
    s:source "UPDATE customers SET country = 'FR' WHERE customer_id = 1"
    local r = s:lrun("jobs/dim_customer.lua", "--logical-date", day(10), "--run-start", day(11))
    assert.equal(1, r.status)
    assert.is_truthy(r.err:find("run before with other values, or without the key, for (key, time): (1, 2026-01-10)", 1, true), r.err)
  end)

  it("refuses a past day, whose values today's table does not hold (S80)", function()
    local s = built()
    s:refused(1, { "2026-01-03", "was run for 2026-01-10 already", "backdate = true" }, "jobs/dim_customer.lua",
      "--logical-date", day(3), "--run-start", day(4))
    s:refused(1, { "read at 2026-01-11", "as those of 2026-01-03", "at = \"updated_at\"" }, "jobs/dim_customer.lua",
      "--logical-date", day(3), "--run-start", day(11))
    s:refused(1, { "as those of 2026-01-03" }, "plan", "jobs/dim_customer.lua", "--logical-date", day(3))
  end)
end)
