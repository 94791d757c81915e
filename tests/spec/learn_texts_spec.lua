-- What a learner reads: every lesson's text through the binary, on a terminal of 80 columns.
local World = require "world"
local lessons = require "lessons"

local function narrow(id, text)
  for line in text:gmatch "[^\n]+" do
    assert.is_true(utf8.len(line) <= 78, ("%s: %d columns: %s"):format(id, utf8.len(line), line))
  end
end

describe("the texts of learn", function()
  for _, id in ipairs(lessons.some()) do
    it(id .. ": text, hints, starter and solution stay within 78 columns", function()
      local w = World.new { source = false, warehouse = false }
      local r = w:lrun("learn", "start", id)
      assert.equal(0, r.status, r.err)
      assert.truthy(r.out:find(id, 1, true))
      narrow(id, r.out)
      for n = 1, 3 do
        local hint = w:lrun("learn", "hint")
        assert.truthy(hint.out:find(("HINT %d of 3"):format(n), 1, true), hint.out)
        narrow(id, hint.out)
      end
      w:lrun("learn", "solution")
      local solution = w:lrun("learn", "solution")
      assert.truthy(solution.out:find("job {", 1, true), solution.out)
      narrow(id, solution.out)
      narrow(id, require("files").read(w:path("lrun-course/" .. id .. "/job.lua")))
      narrow(id, require("files").read(w:path("lrun-course/" .. id .. "/README.txt")))
    end)
  end

  -- What the last hint of a lesson says, done to the job that the lesson begins with.
  local HALF_OPEN = "updated_at >= :start AND updated_at < :stop"
  local BY_KEY = 'execute { "DELETE FROM dw_orders WHERE order_id IN (SELECT order_id FROM staged)" }'
  local mended = {
    ["00-machine"] = { { "window.start", "window.stop" } },
    ["01-full-load"] = { { "FROM   orders\n]] }", "FROM orders WHERE " .. HALF_OPEN .. "\n]], params = window }" },
                         { 'execute { "DELETE FROM dw_orders" }', BY_KEY } },
    ["02-created-date"] = { { "order_date >=", "updated_at >=" }, { "order_date <", "updated_at <" } },
    ["03-updated-at"] = { { "order_date >=", "updated_at >=" }, { "order_date <", "updated_at <" } },
    ["04-write-by-key"] = { { 'execute { "INSERT INTO dw', BY_KEY .. '\nexecute { "INSERT INTO dw' } },
    ["05-half-open"] = { { "updated_at BETWEEN :start AND :stop", HALF_OPEN } },
    ["06-last-half-second"] = { { 'yesterday .. " 23:59:59"', 'os.date "%Y-%m-%d"' }, { "<= :stop", "< :stop" } },
    ["07-run-start"] = { { "start = saved", 'start = saved, stop = os.date "%Y-%m-%d"' }, { ">= :start", ">= :start AND updated_at < :stop" },
                         { "(SELECT MAX(updated_at) FROM orders)", ":mark" }, { "= 'orders'\n]]", "= 'orders'\n]], params = { mark = window.stop }" } },
    ["08-watermark-after"] = { { "-- 2.", 'execute { "BEGIN" }\n-- 2.' }, { "%s*$", '\nexecute { "COMMIT" }\n' } },
    ["09-lookback"] = { { "watermark()", "watermark(), lookback = days(2)" } },
    ["10-choosing-n"] = { { "days(1)", "days(4)" } },
    ["11-partitions"] = { { 'from = "orders"', 'from = "orders", by = "order_date", window = window()' }, { "full_load", "overwrite_partition" } },
    ["12-logical-date"] = { { 'window(os.date("%Y-%m-%d", os.time() - 86400))', "window()" } },
    ["13-overwrite-day"] = { { 'merge { orders, into = "dw_orders", key = "order_id" }', 'overwrite_partition { orders, into = "dw_orders" }' } },
    ["14-check-day"] = { { 'with = "dw_orders"', 'with = "dw_orders", sum = "amount"' } },
    ["15-safe-backfill"] = { { "window = range", "window = window()" }, { "local range[^\n]*", "" },
      { "%s*$", '\nlocal placed = extract { from = "orders", by = "order_date", window = window() }\n' ..
                'reconcile { placed, with = "dw_orders", sum = "amount" }\n' } },
    ["16-dimension-trap"] = { { "c.country", "d.country" }, { "c.country", "d.country" },
      { "JOIN   customers c ON c.customer_id = o.customer_id", "JOIN dim_customer d ON d.customer_id = o.customer_id " ..
        "AND o.order_date >= d.valid_from AND o.order_date < d.valid_to" } },
  }

  for _, id in ipairs(lessons.some()) do
    if id:find "^%d" then
      it(id .. ": the change that the last hint names makes the job right", function()
        local w = World.new { source = false, warehouse = false }
        w:lrun("learn", "start", id)
        local path = "lrun-course/" .. id .. "/job.lua"
        local job = require("files").read(w:path(path))
        for _, change in ipairs(mended[id]) do
          local a, b = job:find(change[1], 1, not change[1]:find "%%s%*%$" and not change[1]:find "%[%^")
          assert.truthy(a, change[1] .. " is not in " .. job)
          job = job:sub(1, a - 1) .. change[2] .. job:sub(b + 1)
        end
        assert.equal(1, w:lrun("learn", "check").status)
        w:write(path, job)
        local r = w:lrun("learn", "check")
        assert.equal(0, r.status, r.out .. r.err)
        narrow(id, r.out)
      end)
    end
  end

  it("name a group by all columns of its key", function()
    local w = World.new { source = false, warehouse = false }
    w:lrun("learn", "start", "16-dimension-trap")
    local r = w:lrun("learn", "check")
    assert.truthy(r.out:find("WRONG GROUP order_date%s+2026%-01%-03, country DE"), r.out)
  end)

  it("show of lateness what lateness shows", function()
    local w = World.new { source = false, warehouse = false }
    local text = w:lrun("learn", "start", "10-choosing-n").out
    local r = w:lrun("learn", "try", { stdin = 'lateness { from = "arrivals", by = "updated_at", arrived = "arrived_at" }\n' })
    local n = 0
    for line in r.out:gmatch "[^\n]+" do
      if line:find "^p%d%d " or line:find "^max " or line:find "^share " then
        n = n + 1
        assert.truthy(text:find("    " .. line .. "\n", 1, true), line .. " is not in:\n" .. text)
      end
    end
    assert.equal(5, n, r.out .. r.err)
  end)
end)
