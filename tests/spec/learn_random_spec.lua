-- Histories at random. Backfills: days with and without rows, days that differ, stops at any
-- point, nightly runs in between. Slow branches: rows that come late, and later than that,
-- nights missed and doubled, weekly checks. Right jobs pass each, wrong ones are found.
local World = require "world"
local random = require "random"

-- The jobs of a scenario, by name.
local function jobs(id)
  local path = package.path
  package.path = World.root .. "/stdlib/?.lua;" .. path
  local l = require("lesson." .. id)
  package.path = path
  local right, wrong = { { name = "solution", job = l.solution } }, {}
  for _, o in ipairs(l.others) do right[#right + 1] = o end
  for _, m in ipairs(l.mutants) do wrong[#wrong + 1] = m end
  return right, wrong
end

local function day(n) return ("2026-05-%02d"):format(n) end

local POINTS = { "before_read", "after_read", "in_write", "after_write", "before_commit", "at_commit" }

-- A scenario's file about S4's tables.
local function history(rnd)
  local receipts, lines, here, bad, id = {}, {}, {}, {}, 0
  local first, last = 3, 3 + rnd(5)
  for d = 1, 10 do
    for _ = 1, rnd(4) - 1 do
      id = id + 1
      local tax = rnd(900) / 4
      local holed = d >= first and d <= last and #bad < 2 and rnd(5) == 1 and (bad[#bad] or {}).day ~= d
      receipts[#receipts + 1] = ("{ %d, %q, %.2f }"):format(id, day(d), tax)
      lines[#lines + 1] = ("{ %d, %q, %s }"):format(id, day(d), holed and "false" or ("%.2f"):format(tax))
      if holed then bad[#bad + 1] = { day = d, id = id, tax = tax } end
      if d < 9 and rnd(5) > 1 then here[#here + 1] = ("{ %d, %q, %.2f }"):format(id, day(d), d < first and tax or tax + 1) end
    end
  end
  -- days beside the range are right, so that a nightly run changes nothing there
  local events, hour = {}, 0
  local function at()
    hour = hour + 1
    return ("2026-05-12 %02d:00:00"):format(hour)
  end
  local function command(resume)
    local fail = rnd(3) == 1 and (", fail_on = %q, fail = %q"):format(day(first + rnd(last - first + 1) - 1), POINTS[rnd(#POINTS)]) or ""
    if #bad > 0 then fail = "" end
    events[#events + 1] = ("{ backfill = { %q, %q }, at = %q%s%s }"):format(day(first), day(last), at(), resume and ", resume = true" or "", fail)
  end
  command(false)
  while #bad > 0 do
    local b = table.remove(bad, 1)
    events[#events + 1] = ("{ at = %q, update = 'tax_lines', set = { tax = %.2f }, where = { receipt_id = %d } }"):format(at(), b.tax, b.id)
    command(true)
  end
  for _ = 1, rnd(3) do
    command(true)
    if rnd(2) == 1 then events[#events + 1] = ("{ run = %q, day = %q }"):format(at(), day(10)) end
  end
  for _ = 1, 2 do
    events[#events + 1] = ("{ backfill = { %q, %q }, at = %q, resume = true }"):format(day(first), day(last), at())
  end
  return ([[
local ROW = { { "receipt_id", "INTEGER" }, { "sold_on", "TEXT" }, { "tax", "DECIMAL(10,2)" } }
return { id = "random", title = "random", starter = "", solution = "", mutants = {}, requires = { { id = "R12", event = 1 } },
  record = "finished",
  source = { { name = "receipts", key = "receipt_id", columns = ROW, rows = { %s } },
             { name = "tax_lines", key = "receipt_id", columns = ROW, rows = { %s } } },
  warehouse = { { name = "dw_tax", columns = ROW, rows = { %s } }, { name = "finished", columns = { { "day", "TEXT PRIMARY KEY" } } } },
  truth = { table = "dw_tax", key = { "receipt_id" }, columns = { "receipt_id", "sold_on", "tax" },
            source = "SELECT receipt_id, sold_on, tax FROM tax_lines", partition = "sold_on", total = "tax",
            books = { bad = "SELECT r.sold_on FROM receipts r JOIN tax_lines t ON t.receipt_id = r.receipt_id WHERE t.tax IS NOT r.tax",
                      mend = "UPDATE tax_lines SET tax = (SELECT r.tax FROM receipts r WHERE r.receipt_id = tax_lines.receipt_id) WHERE sold_on = :day",
                      rows = "DELETE FROM tax_lines WHERE sold_on = :day", amount = "UPDATE tax_lines SET tax = tax + 1 WHERE sold_on = :day" } },
  events = { %s } }
]]):format(table.concat(receipts, ", "), table.concat(lines, ", "), table.concat(here, ", "), table.concat(events, ",\n    "))
end

-- A scenario's file about S2's tables: nothing is later than three days but what is beyond.
local function branch(rnd)
  local events, there, id, open = {}, {}, 300, false
  local function at(d, clock) return ("2026-05-%02d %s"):format(d, clock) end
  local function change(d, n)
    local days = rnd(4) == 1 and rnd(4) - 1 or 0
    local beyond = d > 6 and not open and rnd(8) == 1
    if beyond then days, open = 6, true end
    local came, stamp = at(d, ("%02d:30:00"):format(n * 4 + 2)), at(d - days, days > 0 and "09:15:00" or ("%02d:30:00"):format(n * 4 + 2))
    local extra = beyond and ", beyond = true" or ""
    local at_hand = #there > 0 and rnd(#there)
    -- the time of a row's last change does not go back
    if at_hand and there[at_hand].stamp < stamp and rnd(2) == 1 then
      local key = table.remove(there, at_hand).id
      events[#events + 1] = ("{ at = %q, update = 'orders', set = { amount = %d, updated_at = %q }, where = { order_id = %d }%s }"):format(
        came, rnd(90), stamp, key, extra)
    else
      id = id + 1
      there[#there + 1] = { id = id, stamp = stamp }
      events[#events + 1] = ("{ at = %q, insert = 'orders', row = { %d, %q, %d, %q }%s }"):format(came, id, stamp:sub(1, 10), rnd(90), stamp, extra)
    end
  end
  for d = 5, 18 do
    for n = 1, rnd(3) - 1 do change(d, n) end
    local night, what = at(d + 1, "00:00:00"), rnd(8)
    events[#events + 1] = ("{ %s = %q }"):format(what == 1 and d < 18 and "skip" or what == 2 and "twice" or "run", night)
    if d == 11 or d == 18 then
      events[#events + 1] = ("{ check = { %q, %q }, at = %q }"):format(("2026-05-%02d"):format(d - 9), ("2026-05-%02d"):format(d - 1), at(d + 1, "06:00:00"))
    end
  end
  return ([[
local ORDER = { { "order_id", "INTEGER" }, { "order_date", "TEXT" }, { "amount", "DECIMAL(10,2)" }, { "updated_at", "TEXT" } }
return { id = "random", title = "random", starter = "", solution = "", mutants = {}, requires = { { id = "R9", event = 1 } },
  source = { { name = "orders", key = "order_id", columns = ORDER } },
  warehouse = { { name = "dw_orders", columns = ORDER }, { name = "staged", columns = ORDER },
                { name = "wm", columns = { { "job", "TEXT" }, { "watermark", "TEXT" } }, rows = { { "orders", "2026-05-05 00:00:00" } } } },
  truth = { table = "dw_orders", key = { "order_id" }, columns = { "order_id", "order_date", "amount", "updated_at" },
            source = "SELECT order_id, order_date, amount, updated_at FROM orders", stamp = "updated_at", total = "amount" },
  probe = { table = "orders", target = "dw_orders", key = "order_id", columns = { "updated_at", "order_date" }, row = { amount = 1 }, times = true },
  window = { column = "updated_at" },
  events = { %s } }
]]):format(table.concat(events, ",\n    "))
end

-- How often each wrong job is found in n histories; right ones must pass all of them.
local function play(id, n, make)
  local seed = random.seed()
  local right, wrong = jobs(id)
  local w = World.new { source = false, warehouse = false }
  assert(os.execute(("mkdir %s/right %s/wrong"):format(w.dir, w.dir)))
  for kind, list in pairs { right = right, wrong = wrong } do
    for i, j in ipairs(list) do
      assert(os.execute(("mkdir %s/%s/%02d"):format(w.dir, kind, i)))
      w:write(("%s/%02d/job.lua"):format(kind, i), j.job)
    end
  end
  local found = {}
  for h = 1, n do
    local text = make(math.random)
    w:write("history.lua", text)
    local function grade(kind) return w:lrun("learn", "grade", kind, "--scenario", "history.lua", "--seed", "0") end
    local r = grade "right"
    assert.equal(0, r.status, ("seed %d, history %d: %s%s\n%s"):format(seed, h, r.out, r.err, text))
    for i, word in grade("wrong").out:gmatch "wrong/(%d+)/job%.lua  (%u+)" do
      found[tonumber(i)] = (found[tonumber(i)] or 0) + (word == "MISSED" and 1 or 0)
    end
  end
  local missing = {}
  for i, m in ipairs(wrong) do if (found[i] or 0) == 0 then missing[#missing + 1] = m.name end end
  -- a history without the day, the row or the stop that a fault needs does not show it
  assert.is_true(#missing <= #wrong // 2, ("seed %d: never found: %s"):format(seed, table.concat(missing, ", ")))
end

describe("a random history", function()
  it("of a backfill is passed by jobs that are right, in each form, and wrong ones are found", function() play("S4", 8, history) end)
  it("of a slow branch is passed by jobs that are right, in each form, and wrong ones are found", function() play("S2", 8, branch) end)
end)
