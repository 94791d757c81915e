-- A window is half-open: it includes its start and excludes its stop, whatever
-- form the column's times have.
local world = require "world"

local DAY_JOB = [[
job { grain = "day" }
local rows = extract { from = "s", by = "at", window = window() %s }
insert_new { rows, into = "t", key = "id" }
]]

local FORMS = {
  ["a space"] = { "'2026-01-20 00:00:00'", "'2026-01-21 23:59:59.999999'", "'2026-01-22 00:00:00'" },
  ["a T"] = { "'2026-01-20T00:00:00'", "'2026-01-21T23:59:59.999999'", "'2026-01-22T00:00:00'" },
  ["a T and a Z"] = { "'2026-01-20T00:00:00Z'", "'2026-01-21T23:59:59.999999Z'", "'2026-01-22T00:00:00Z'" },
  ["an offset"] = { "'2026-01-20 00:00:00+00:00'", "'2026-01-21 23:59:59.999999+00:00'", "'2026-01-22 00:00:00+00:00'" },
  ["no seconds"] = { "'2026-01-20 00:00'", "'2026-01-21 23:59'", "'2026-01-22 00:00'" },
  ["seven digits"] = { "'2026-01-20 00:00:00.0000000'", "'2026-01-21 23:59:59.9999999'", "'2026-01-22 00:00:00.0000000'" },
  ["half a second"] = { "'2026-01-20 00:00:00.000'", "'2026-01-21 23:59:59.500'", "'2026-01-22 00:00:00.000'" },
  ["the date only"] = { "'2026-01-20'", "'2026-01-21'", "'2026-01-22'" },
  ["forms mixed"] = { "'2026-01-20'", "'2026-01-21T23:59:59.999999'", "'2026-01-22 00:00:00'" },
  ["epoch seconds"] = { "1768867200", "1769039999", "1769040000", time = "unix" },
  ["epoch milliseconds"] = { "1768867200000", "1769039999999", "1769040000000", time = "unix_ms" },
}
local DAYS = { "2026-01-20", "2026-01-21", "2026-01-22" }

local function day_world(times, type)
  local w = world.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, at " .. (type or "") .. ");" }
  for i, time in ipairs(times) do w:source(("INSERT INTO s VALUES (%d, %s)"):format(i, time)) end
  w:job("j", DAY_JOB:format(times.time and ', time = "' .. times.time .. '"' or ""))
  return w
end

describe("midnight", function()
  for name, times in pairs(FORMS) do
    it("is in exactly one day, with " .. name, function()
      for _, order in ipairs { { 1, 2, 3 }, { 3, 2, 1 } } do
        local w = day_world(times)
        for _, i in ipairs(order) do
          w:ok("j.lua", "--logical-date", DAYS[i])
          local run = w:last_run()
          assert.equal("1 1", run.rows_read .. " " .. run.rows_inserted, DAYS[i])
          assert.equal("1", w:one("SELECT count(*) FROM t WHERE id = " .. i))
        end
        -- Copied as they were.
        assert.same(w:source_rows "SELECT id, quote(at) FROM s ORDER BY 1", w:rows "SELECT id, quote(at) FROM t ORDER BY 1")
      end
    end)
  end

  it("bounds S01 and S02 too", function()
    local w = world.with_t [[INSERT INTO t VALUES (1, 'a', '2024-01-01 00:00:00'),
      (2, 'b', '2024-01-01 23:59:59.999999'), (3, 'c', '2024-01-02 00:00:00');]]
    w:job("j", [[
      job {}
      local rows = extract { from = "t", by = "updated_at", window = window(param "a", param "b") }
      insert_new { rows, into = "t", key = "id" }
    ]])
    local function run(a, b)
      w:ok("j.lua", "--param", "a=" .. a, "--param", "b=" .. b)
      return w:last_run().rows_inserted
    end
    assert.equal("2", run("2024-01-01", "2024-01-02"))
    assert.equal("1", run("2024-01-02", "2024-01-03"))
    assert.same({ "1", "2", "3" }, w:rows "SELECT id FROM t ORDER BY 1")

    w:source "UPDATE t SET v = 'x' WHERE id = 1"
    w:job("o", [[
      job { grain = "day" }
      local rows = extract { from = "t", by = "updated_at", window = window() }
      overwrite_partition { rows, into = "t" }
    ]]):ok("o.lua", "--logical-date", "2024-01-01")
    assert.same({ "1|x", "2|b", "3|c" }, w:rows "SELECT id, v FROM t ORDER BY 1")
  end)
end)

describe("times whose forms are mixed", function()
  local MIXED = { "'2024-01-02 00:00:00'", "'2024-01-02T00:00:00Z'", "'2024-01-02 00:00:00.000'", "'2024-01-02'" }

  it("are all in the day whose midnight they are", function()
    local w = day_world(MIXED)
    w:ok("j.lua", "--logical-date", "2024-01-02")
    assert.equal("4", w:one "SELECT count(*) FROM t")
    w:ok("j.lua", "--logical-date", "2024-01-01")
    assert.equal("4", w:one "SELECT count(*) FROM t")
  end)

  for what, value in pairs { ["an integer"] = "1704153600", ["milliseconds"] = "1704153600000", ["zero"] = "0",
                             ["an empty text"] = "''", ["a word"] = "'yesterday'", ["a blob"] = "x'32303234'" } do
    it("are refused when one is " .. what, function()
      local w = day_world { "'2024-01-02 00:00:00'", value }
      local shown = value:gsub("^'(.+)'$", "%1")
      if value:find "^x" then shown = "blob" end
      w:refused(1, { "j.lua:", "s", "at", shown, hint = false }, "j.lua", "--logical-date", "2024-01-02")
      assert.equal("0", w:one "SELECT count(*) FROM sqlite_master WHERE name = 't'")
    end)
  end

  it("with a time of day as bound are in the right hour or refused", function()
    local w = day_world { "'2026-01-20T11:59:59'", "'2026-01-20 12:00:00'", "'2026-01-20T12:30:00'", "'2026-01-20T13:00:00'" }
    w:job("j", [[
      job { grain = "hour" }
      local rows = extract { from = "s", by = "at", window = window() }
      insert_new { rows, into = "t", key = "id" }
    ]])
    local r = w:lrun("j.lua", "--logical-date", "2026-01-20T12")
    if r.status == 0 then
      assert.same({ "2", "3" }, w:rows "SELECT id FROM t ORDER BY 1")
    else
      world.says(r, 1, { "j.lua:", "at", "2026-01-20", hint = false })
    end
  end)

  for name, mark in pairs { ["a T"] = "T", ["a space"] = " " } do
    it("are no problem with a time of day when all have " .. name, function()
      local w = day_world { "'2026-01-20" .. mark .. "11:59:59.9'", "'2026-01-20" .. mark .. "12:00:00'",
        "'2026-01-20" .. mark .. "12:59:59.999'", "'2026-01-20" .. mark .. "13:00:00'" }
      w:job("j", [[
        job { grain = "hour" }
        local rows = extract { from = "s", by = "at", window = window() }
        insert_new { rows, into = "t", key = "id" }
      ]]):ok("j.lua", "--logical-date", "2026-01-20T12")
      assert.same({ "2", "3" }, w:rows "SELECT id FROM t ORDER BY 1")
    end)
  end

  it("count an offset", function()
    -- 23:30 at +02:00 is 21:30 UTC of the same day; 01:30 at +02:00 is the day before.
    local w = day_world { "'2026-01-20T23:30:00+02:00'", "'2026-01-21T01:30:00+02:00'", "'2026-01-20T23:30:00-02:00'" }
    local r = w:lrun("j.lua", "--logical-date", "2026-01-20")
    if r.status == 0 then
      assert.same({ "1", "2" }, w:rows "SELECT id FROM t ORDER BY 1")
    else
      world.says(r, 1, { "j.lua:", "at", "+02:00", hint = false })
    end
  end)

  it("are asked for in epoch seconds only when the column has them", function()
    local w = day_world { "'2026-01-20 00:00:00'", time = "unix" }
    w:refused(1, { "j.lua:", "at", "2026-01-20 00:00:00", hint = false }, "j.lua", "--logical-date", "2026-01-20")
  end)
end)

describe("window", function()
  local function says(code, ...)
    local w = world.new()
    w:job("j", 'job { grain = "day" }\nprint(' .. code .. ")")
    return w:ok("j.lua", "--run-start", "2026-06-01", ...).out
  end

  it("prints half-open", function()
    assert.is_truthy(says('window "2026-01-20"'):find("[2026-01-20, 2026-01-21)", 1, true))
    assert.is_truthy(says('window("2026-01-19", "2026-01-22")'):find("[2026-01-19, 2026-01-22)", 1, true))
    assert.is_truthy(says('window("2026-01-19 10:00:00", "2026-01-19 11:30:00")')
      :find("[2026-01-19 10:00:00, 2026-01-19 11:30:00)", 1, true))
    assert.is_truthy(says('window().start, window().stop', "--logical-date", "2026-02-28")
      :find "2026%-02%-28%s+2026%-03%-01")
  end)

  it("is the logical date's grain", function()
    local expected = {
      day = { "2026-01-20", "[2026-01-20, 2026-01-21)" },
      week = { "2026-01-19", "[2026-01-19, 2026-01-26)" },
      month = { "2026-02", "[2026-02-01, 2026-03-01)" },
      year = { "2025-01-01", "[2025-01-01, 2026-01-01)" },
      hour = { "2026-01-20T05", "[2026-01-20 05:00:00, 2026-01-20 06:00:00)" },
    }
    for grain, case in pairs(expected) do
      local w = world.new()
      w:job("j", 'job { grain = "' .. grain .. '" }\nprint(window())')
      local out = w:ok("j.lua", "--logical-date", case[1], "--run-start", "2026-06-01").out
      assert.is_truthy(out:find(case[2], 1, true), out)
    end
  end)

  it("names the right date of a grain", function()
    for grain, case in pairs { week = { "2026-01-21", "2026-01-19" }, month = { "2026-02-10", "2026-02" },
                               year = { "2025-03-01", "2025-01-01" } } do
      local w = world.new { warehouse = false }
      w:job("j", 'job { grain = "' .. grain .. '" }')
      w:refused(2, { case[1], case[2], hint = false }, "j.lua", "--logical-date", case[1], "--run-start", "2026-06-01")
    end
  end)

  it("that ends before it starts is refused before any read", function()
    local w = world.new()
    w:job("j", 'job {}\nlocal w = window("2026-01-22", "2026-01-20")\nfull_load { extract { from = "nowhere", window = w }, into = "t" }')
    w:refused(1, { "j.lua:2", "2026-01-22", "2026-01-20", hint = false }, "j.lua")
  end)

  it("that holds nothing is allowed", function()
    assert.is_truthy(says('window("2026-01-22", "2026-01-22")'):find("[2026-01-22, 2026-01-22)", 1, true))
  end)

  it("with a time of day on a column of dates is refused", function()
    local w = world.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, d DATE); INSERT INTO s VALUES (1, '2026-01-20');" }
    w:job("j", [[
job { grain = "hour" }
local rows = extract { from = "s", by = "d", window = window() }
merge { rows, into = "t", key = "id" }
]])
    w:refused(1, { "j.lua:", "s", "d", hint = false }, "j.lua", "--logical-date", "2026-01-20T05")
  end)

  for what, call in pairs { ["no date"] = 'window "toto"', ["SQL"] = [[window "2026-01-20'); DROP TABLE t;--"]],
                            ["29 February"] = 'window "2026-02-29"', ["one digit"] = 'window "2026-1-5"',
                            ["a number"] = "window(5)", ["a wrong name"] = "window { sinc = watermark() }" } do
    it("of " .. what .. " is refused", function()
      local w = world.new()
      w:job("j", "job {}\nlocal w = " .. call)
      w:refused(1, { "j.lua:2", hint = false }, "j.lua")
    end)
  end

  it("counts spans in calendar units", function()
    local w = world.new()
    w:job("j", [[
      job {}
      local d = date "2026-01-31"
      assert(tostring(d + days(1)) == "2026-02-01")
      assert(tostring(d - weeks(1)) == "2026-01-24")
      assert(tostring(date "2024-02-28" + days(1)) == "2024-02-29")
      assert(tostring(d + months(1)) == "2026-02-28", tostring(d + months(1)))
      assert(d < date "2026-02-01" and d == date "2026-01-31" and d <= d)
      local i = instant "2026-01-20 09:30:00"
      assert(tostring(i + hours(15)) == "2026-01-21 00:30:00", tostring(i + hours(15)))
      assert(tostring(i - minutes(31)) == "2026-01-20 08:59:00")
      assert(tostring(window("2026-01-20", "2026-01-22").stop - days(1)) == "2026-01-21")
    ]]):ok "j.lua"
  end)
end)

describe("a logical date", function()
  for _, bad in ipairs { "2026-02-29", "2026-1-5", "20260105", "yesterday", "", "2026-01-20x", "2026-13-01", "'; DROP TABLE t" } do
    it("of " .. (bad == "" and "nothing" or bad) .. " is refused before anything is opened", function()
      local w = world.new { warehouse = false, source = false }
      w:job("j", 'job { grain = "day" }')
      w:refused(2, { bad, hint = false }, "j.lua", "--logical-date", bad)
      assert.is_false(require "files".exists(w.warehouse_file))
    end)
  end

  it("whose window is not over is refused, unless --allow-open", function()
    local w = world.new()
    w:job("j", 'job { grain = "day" }\nprint(window())')
    w:refused(2, { "2026-01-20", "--allow-open" }, "j.lua", "--logical-date", "2026-01-20", "--run-start", "2026-01-20 18:00")
    w:ok("j.lua", "--logical-date", "2026-01-20", "--run-start", "2026-01-20 18:00", "--allow-open")
    w:ok("j.lua", "--logical-date", "2026-01-20", "--run-start", "2026-01-21")
  end)

  it("that was not given is an error where it is read", function()
    local w = world.new()
    w:job("j", "job {}\nlocal d = logical_date")
    w:refused(1, { "j.lua:2", "logical", "--logical-date" }, "j.lua")
    w:job("j", "job {}\nassert(tostring(logical_date) == '2026-01-20' and logical_date + days(1) == date '2026-01-21')")
    w:ok("j.lua", "--logical-date", "2026-01-20")
  end)
end)
