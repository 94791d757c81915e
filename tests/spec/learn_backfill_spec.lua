-- Backfills at random: days with and without rows, days that differ, stops at any point,
-- nightly runs in between. Right jobs pass each history, wrong ones are found.
local World = require "world"
local random = require "random"

-- The jobs of S4, by name.
local function jobs()
  local path = package.path
  package.path = World.root .. "/stdlib/?.lua;" .. path
  local l = require "lesson.S4"
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

describe("a random backfill", function()
  it("is passed by jobs that are right, in each form, and wrong ones are found", function()
    local seed = random.seed()
    local right, wrong = jobs()
    local w = World.new { source = false, warehouse = false }
    assert(os.execute(("mkdir %s/right %s/wrong"):format(w.dir, w.dir)))
    for kind, list in pairs { right = right, wrong = wrong } do
      for i, j in ipairs(list) do
        assert(os.execute(("mkdir %s/%s/%02d"):format(w.dir, kind, i)))
        w:write(("%s/%02d/job.lua"):format(kind, i), j.job)
      end
    end
    local found = {}
    for n = 1, 12 do
      local text = history(math.random)
      w:write("history.lua", text)
      local function grade(kind) return w:lrun("learn", "grade", kind, "--scenario", "history.lua", "--seed", "0") end
      local r = grade "right"
      assert.equal(0, r.status, ("seed %d, history %d: %s%s\n%s"):format(seed, n, r.out, r.err, text))
      for i, word in grade("wrong").out:gmatch "wrong/(%d+)/job%.lua  (%u+)" do
        found[tonumber(i)] = (found[tonumber(i)] or 0) + (word == "MISSED" and 1 or 0)
      end
    end
    local missing = {}
    for i, m in ipairs(wrong) do if (found[i] or 0) == 0 then missing[#missing + 1] = m.name end end
    -- a history without the day or the stop that a fault needs does not show it
    assert.is_true(#missing <= #wrong // 2, ("seed %d: never found: %s"):format(seed, table.concat(missing, ", ")))
  end)
end)
