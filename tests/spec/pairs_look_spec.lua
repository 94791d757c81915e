-- partitions and lateness on every pair: what a table holds by day, and how late
-- its rows come.
local pairs_of = require "pairs"
local process = require "process"
local random = require "random"
local world = require "world"

-- The rows that a primitive gives in a job, each as one line.
local function rows_of(w, code, columns, ...)
  local names = {}
  for i, name in ipairs(columns) do names[i] = ("tostring(r.%s)"):format(name) end
  w:job("look", ("job {}\nfor _, r in ipairs(%s) do print('row: ' .. table.concat({ %s }, '|')) end\n"):format(code, table.concat(names, ", ")))
  local list = {}
  for line in w:ok("look.lua", ...).out:gmatch "row: ([^\n]*)" do list[#list + 1] = line end
  return list
end

local SIDES = { "partition", "source_rows", "warehouse_rows", "source_sum", "warehouse_sum", "state" }

pairs_of.each("partitions", function(pair)
  local function days()
    return pair.new {
      source = [[CREATE TABLE s(id INTEGER PRIMARY KEY, d DATE, at TIMESTAMP, a DECIMAL(10,2));
        INSERT INTO s VALUES (1, '2026-01-01', '2026-01-01 00:00:00', 1.5), (2, '2026-01-01', '2026-01-01 23:59:59.999999', 2),
          (3, '2026-01-02', '2026-01-02 00:00:00', 3), (4, '2026-01-04', '2026-01-04 12:00:00', NULL), (5, NULL, NULL, 7), (6, '2026-02-01', '2026-02-01 00:00:00', 0);]],
      warehouse = [[CREATE TABLE t(id INTEGER PRIMARY KEY, day DATE, at TIMESTAMP, total DECIMAL(10,2));
        INSERT INTO t VALUES (1, '2026-01-01', '2026-01-01 00:00:00', 1.50), (2, '2026-01-01', '2026-01-01 23:59:59.999999', 2),
          (3, '2026-01-03', '2026-01-03 00:00:00', 3), (4, '2026-01-04', '2026-01-04 12:00:00', 0), (5, NULL, NULL, 7), (6, '2026-02-01', '2026-02-01 00:00:00', 0);]] }
  end

  it("puts source and warehouse side by side, and marks what differs", function()
    assert.same({ "null|1|1|7.00|7.00|equal", "2026-01-01|2|2|3.50|3.50|equal", "2026-01-02|1|0|3.00|null|missing",
                  "2026-01-03|0|1|null|3.00|extra", "2026-01-04|1|1|null|0.00|differs", "2026-02-01|1|1|0.00|0.00|equal" },
      (function()
        local list = rows_of(days(), 'partitions { "t", by = { d = "day" }, from = "s", sum = { a = "total" } }', SIDES)
        for i, line in ipairs(list) do list[i] = line:gsub("userdata: [^|]*", "null") end
        return list
      end)())
  end)

  it("counts the warehouse alone, by any grain and in a window", function()
    local w = days()
    assert.same({ "2026-01-01|2", "2026-01-03|1", "2026-01-04|1", "2026-02-01|1" },
      rows_of(w, 'partitions { "t", by = "day", window = window("2026-01-01", "2026-03-01") }', { "partition", "rows" }))
    assert.same({ "2026-01-01|4", "2026-02-01|1" },
      rows_of(w, 'partitions { "t", by = "at", grain = "month", window = window("2026-01-01", "2026-03-01") }', { "partition", "rows" }))
    assert.same({ "2025-12-29|4", "2026-01-26|1" },
      rows_of(w, 'partitions { "t", by = "at", grain = "week", window = window("2026-01-01", "2026-03-01") }', { "partition", "rows" }))
    assert.same({ "2026-01-01T00|1", "2026-01-01T23|1" },
      rows_of(w, 'partitions { "t", by = "at", grain = "hour", window = window "2026-01-01" }', { "partition", "rows" }))
  end)

  it("cuts days in the job's zone", function()
    local w = pair.new { warehouse = [[CREATE TABLE t(id INTEGER, z TIMESTAMPTZ);
      INSERT INTO t VALUES (1, '2026-01-01 22:59:59+00'), (2, '2026-01-01 23:00:00+00'), (3, '2026-07-01 22:00:00+00');]] }
    w:job("look", [[
job { zone = "Europe/Berlin" }
for _, r in ipairs(partitions { "t", by = "z" }) do print("row: " .. r.partition .. "|" .. r.rows) end
]])
    local list = {}
    for line in w:ok("look.lua").out:gmatch "row: ([^\n]*)" do list[#list + 1] = line end
    assert.same({ "2026-01-01|1", "2026-01-02|1", "2026-07-02|1" }, list)
  end)

  it("groups by a column that is no time", function()
    local w = pair.new { warehouse = "CREATE TABLE t(id INTEGER, region TEXT); INSERT INTO t VALUES (1, 'EU'), (2, 'EU'), (3, 'US');" }
    assert.same({ "EU|2", "US|1" }, rows_of(w, 'partitions { "t", by = "region" }', { "partition", "rows" }))
  end)

  it("names what it does not find", function()
    local w = days()
    for code, word in pairs { ['partitions { "tt", by = "day" }'] = "tt", ['partitions { "t", by = "dy" }'] = "dy",
                              ['partitions { "t", by = "day", from = "ss" }'] = "ss", ['partitions { "t", by = "day", grain = "dag" }'] = "dag",
                              ['partitions { "t", by = "day", time = "sec" }'] = "sec" } do
      w:job("j", "job {}\n" .. code)
      w:refused(1, { "j.lua:2", word }, "j.lua")
    end
    w:job("j", 'job {}\npartitions { "t", by = { day = "day", region = "region" } }')
    w:refused(1, { "j.lua:2", "partitions: by names more than one column", hint = false }, "j.lua")
  end)
end)

pairs_of.each("lateness", function(pair)
  local LATE = { "share", "days", "lookback", "rows", "missed" }

  it("says what share of rows which lookback would have caught", function()
    random.seed()
    local delays, values = {}, {}
    for i = 1, 400 do
      -- minutes: most rows come at once, some hours later, few days later
      local kind = math.random(100)
      delays[i] = kind <= 70 and math.random(0, 50) or kind <= 96 and math.random(60, 1400) or math.random(1500, 9000)
      values[i] = ("(%d, '2026-01-01 00:00:00', '%s')"):format(i, os.date("!%Y-%m-%d %H:%M:%S", 1767225600 + delays[i] * 60))
    end
    local w = pair.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, at TIMESTAMP, came TIMESTAMP); INSERT INTO s VALUES " ..
      table.concat(values, ", ") .. ";" }
    table.sort(delays)
    local expected = {}
    for i, share in ipairs { { "p50", 50 }, { "p95", 95 }, { "p99", 99 }, { "max", 100 } } do
      local minutes = delays[math.ceil(400 * share[2] / 100)]
      local unit = minutes > 1440 and 1440 or 60
      local n = math.ceil(minutes / unit)
      local caught = 0
      for _, d in ipairs(delays) do if d <= n * unit then caught = caught + 1 end end
      expected[i] = ("%s|%s(%d)|%d|%d"):format(share[1], unit == 60 and "hours" or "days", n, caught, 400 - caught)
    end
    assert.same(expected, rows_of(w, 'lateness { from = "s", by = "at", arrived = "came" }', { "share", "lookback", "rows", "missed" }))
  end)

  it("measures dates from their midnight, and leaves out and tells of rows without a time", function()
    local w = pair.new { source = [[CREATE TABLE s(id INTEGER PRIMARY KEY, d DATE, came TIMESTAMP);
      INSERT INTO s VALUES (1, '2026-01-01', '2026-01-02 12:00:00'), (2, '2026-01-01', NULL), (3, NULL, '2026-01-01 00:00:00');]] }
    local lines = rows_of(w, 'lateness { from = "s", by = "d", arrived = "came" }', LATE)
    assert.same({ "p50|1.5|days(2)|1|0", "p95|1.5|days(2)|1|0", "p99|1.5|days(2)|1|0", "max|1.5|days(2)|1|0" }, lines)
    local r = w:ok "look.lua"
    assert.is_truthy(r.out:find("2 of 3 rows", 1, true), r.out)
  end)

  it("gives no rows for an empty table or window, and names a column that is not there", function()
    local w = pair.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, at TIMESTAMP, came TIMESTAMP); INSERT INTO s VALUES (1, '2026-01-01 00:00:00', '2026-01-01 00:00:00');" }
    assert.same({}, rows_of(w, 'lateness { from = "s", by = "at", arrived = "came", window = window "2026-01-05" }', LATE))
    assert.same({ "p50|0.0|hours(0)|1|0" }, { rows_of(w, 'lateness { from = "s", by = "at", arrived = "came" }', LATE)[1] })
    w:job("j", 'job {}\nlateness { from = "s", by = "at", arrived = "cane" }')
    w:refused(1, { "j.lua:2", "cane", "came" }, "j.lua")
  end)
end)

describe("partitions at the prompt", function()
  local function shop()
    local w = world.new { source = "CREATE TABLE s(id INTEGER, d DATE); INSERT INTO s VALUES (1, '2026-02-01'), (2, '2026-02-02'), (3, '2026-02-03');",
      warehouse = "CREATE TABLE t(id INTEGER, d DATE); INSERT INTO t VALUES (1, '2026-02-01'), (2, '2026-02-02'), (5, '2026-02-02'), (4, '2026-02-28');" }
    w:write("typed", 'partitions { "t", by = "d", from = "s" }\n')
    return w
  end

  it("prints a table, and on a terminal a calendar below it", function()
    local w = shop()
    local piped = w:lrun("repl", { stdin = 'partitions { "t", by = "d", from = "s" }\n' })
    assert.is_truthy(piped.out:find("2026-02-02            1               2  differs", 1, true), piped.out)
    assert.is_nil(piped.out:find("February", 1, true))
    local command = "exec " .. process.quote(world.bin) .. " repl"
    local shown = process.sh(("{ sleep 0.7; cat typed; sleep 1; } | script -qec %s /dev/null"):format(process.quote(command)),
      { cwd = w.dir, env = { HOME = w.dir, TERM = "xterm", NO_COLOR = "1" }, timeout = 60 })
    -- 2026-02-01 is a Sunday
    local text = shown.out:gsub("\r", "")
    assert.is_truthy(text:find("February 2026\n Mo  Tu  We  Th  Fr  Sa  Su\n                          1\n  2!  3-  .   .   .   .   .\n", 1, true), text)
    assert.is_truthy(text:find(" 28+\n! differs   - not at the warehouse   + only at the warehouse   . no rows", 1, true), text)
  end)
end)
