-- reconcile on every pair: contents with exact totals, and NULL is nothing else.
local pairs_of = require "pairs"

-- Rows in the source, other rows put into the warehouse after the load.
local function compare(pair, type, source, warehouse, options)
  local function rows(values)
    local list = {}
    for i, v in ipairs(values) do list[i] = ("(%d, %s, '%s')"):format(i, v, i % 2 == 0 and "even" or "odd") end
    return table.concat(list, ", ")
  end
  local w = pair.new { source = ("CREATE TABLE s(id INTEGER, v %s, g TEXT);"):format(type) ..
    (#source > 0 and "INSERT INTO s VALUES " .. rows(source) or "") }
  w:job("j", ([[
job {}
local rows = extract { from = "s" }
full_load { rows, into = "t", allow_empty = true }
execute { "DELETE FROM t" }
%s
local report = reconcile { rows, with = "t", %s }
]]):format(#warehouse > 0 and ("execute { [==[INSERT INTO t VALUES " .. rows(warehouse) .. "]==] }") or "", options or 'sum = "v"'))
  return w
end

local DIFFERENT = {
  { "one row less", "INTEGER", { "1", "2" }, { "1" } },
  { "one row more", "INTEGER", { "1" }, { "1", "0" } },
  { "5 and -5", "INTEGER", { "5" }, { "-5" } },
  { "1.2 and 1.9", "DECIMAL(10,2)", { "1.2" }, { "1.9" } },
  { "22.00 and NULL", "DECIMAL(10,2)", { "22.00" }, { "NULL" } },
  { "NULL and 0", "INTEGER", { "NULL" }, { "0" } },
  { "NULL and 22.00, beside others", "DECIMAL(10,2)", { "1", "NULL" }, { "1", "22" } },
  { "NULL and 0, beside others", "INTEGER", { "1", "NULL" }, { "1", "0" } },
  { "a cent in a billion", "DECIMAL(20,2)", { "1000000000.00" }, { "1000000000.01" } },
}
local EQUAL = {
  { "another order", "INTEGER", { "1", "2", "3" }, { "3", "1", "2" } },
  { "no rows", "INTEGER", {}, {} },
  { "only NULLs", "INTEGER", { "NULL" }, { "NULL" } },
  { "floats", "{double}", { "0.1", "0.2" }, { "0.2", "0.1" } },
}

pairs_of.each("reconcile", function(pair)
  for _, case in ipairs(DIFFERENT) do
    it("sees " .. case[1], function()
      local w = compare(pair, table.unpack(case, 2))
      local r = w:refused(3, { "j.lua:6", "t", hint = false }, "j.lua")
      assert.equal("differs", w:last_run().status)
      assert.is_truthy(r.err ~= "")
      assert.is_false(w:has "t")
    end)
  end

  for _, case in ipairs(EQUAL) do
    it("takes as equal " .. case[1], function()
      local w = compare(pair, table.unpack(case, 2))
      w:ok "j.lua"
      assert.equal("1", w:one "SELECT min(equal) FROM lrun_checks")
    end)
  end

  it("says both numbers and the difference, and NULL as NULL", function()
    local w = compare(pair, "DECIMAL(10,2)", { "242.50" }, { "220.50" })
    w:refused(3, { "j.lua:6", "242.50", "220.50", "22.00", hint = false }, "j.lua")
    assert.same({ "rows|1|1|1", "sum(v)|242.50|220.50|0" },
      w:rows "SELECT metric, source_value, warehouse_value, equal FROM lrun_checks ORDER BY metric")
    w = compare(pair, "DECIMAL(10,2)", { "22" }, { "NULL" })
    w:refused(3, { "22.00", "NULL", hint = false }, "j.lua")
  end)

  it("only reports with fail = false, and returns the report", function()
    local w = compare(pair, "INTEGER", { "5" }, { "6" }, 'sum = "v", fail = false')
    local text = require "files".read(w:path "j.lua") .. 'assert(type(report) == "table" and report.equal == false)\n'
    w:job("j", text):ok "j.lua"
    assert.equal("6", w:one "SELECT v FROM t")
    assert.equal("succeeded", w:last_run().status)
  end)

  it("allows a tolerance, and not more", function()
    compare(pair, "{double}", { "1.00" }, { "1.01" }, 'sum = "v", tolerance = "0.01"'):ok "j.lua"
    assert.equal(3, compare(pair, "{double}", { "1.00" }, { "1.02" }, 'sum = "v", tolerance = "0.01"'):lrun("j.lua").status)
    assert.equal(3, compare(pair, "{double}", { "1.00" }, { "NULL" }, 'sum = "v", tolerance = "10"'):lrun("j.lua").status)
  end)

  it("leaves the count out with rows = false", function()
    local w = compare(pair, "INTEGER", { "1", "2" }, { "3" }, 'sum = "v", rows = false')
    w:ok "j.lua"
    assert.same({ "sum(v)" }, w:rows "SELECT metric FROM lrun_checks")
  end)

  it("compares group by group", function()
    compare(pair, "INTEGER", { "1", "2" }, { "2", "1" }):ok "j.lua"
    local w = compare(pair, "INTEGER", { "1", "2" }, { "2", "1" }, 'sum = "v", by = "g"')
    w:refused(3, { "j.lua:6", "even", hint = false }, "j.lua")
    assert.same({ "even|2|1", "odd|1|2" },
      w:rows "SELECT group_value, source_value, warehouse_value FROM lrun_checks WHERE equal = 0 ORDER BY group_value")
  end)

  it("sees a group that one side lacks, and NULL as a group", function()
    local w = pair.new { source = "CREATE TABLE s(id INTEGER, g TEXT); INSERT INTO s VALUES (1, NULL), (2, 'a'), (3, '');" }
    w:job("j", [[
job {}
local rows = extract { from = "s" }
full_load { rows, into = "t" }
reconcile { rows, with = "t", by = "g" }
execute { "UPDATE t SET g = 'b' WHERE id = 1" }
reconcile { rows, with = "t", by = "g" }
]])
    w:refused(3, { "j.lua:6", hint = false }, "j.lua")
  end)

  it("groups by numbers, dates and booleans alike on both sides", function()
    local w = pair.new { source = [[CREATE TABLE s(id INTEGER PRIMARY KEY, n INTEGER, d DATE, b {boolean}, a DECIMAL(10,2), at TIMESTAMP);
      INSERT INTO s VALUES (1, 1, '2026-01-01', {yes}, 1.50, '2026-01-01 10:00:00.5'), (2, 10, '2026-01-02', {no}, 2, '2026-01-01 10:00:00'),
        (3, 2, NULL, NULL, NULL, NULL);]] }
    w:job("j", [[
job {}
local rows = extract { from = "s" }
full_load { rows, into = "t" }
for _, by in ipairs { "n", "d", "b", "a", "at", "id" } do reconcile { rows, with = "t", by = by } end
]]):ok "j.lua"
    assert.equal("1", w:one "SELECT min(equal) FROM lrun_checks")
  end)

  it("takes for mapped rows what came out of the map", function()
    local w = pair.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, v INTEGER); INSERT INTO s VALUES (1,1),(2,2),(3,3);" }
    w:job("j", [[
      job {}
      local rows = extract { from = "s" }:map(function(row) if row.id < 3 then row.v = row.v * 10 return row end end)
      merge { rows, into = "t", key = "id" }
      reconcile { rows, with = "t", sum = "v" }
    ]]):ok "j.lua"
    assert.same({ "rows|2|2", "sum(v)|30|30" }, w:rows "SELECT metric, source_value, warehouse_value FROM lrun_checks ORDER BY metric")
  end)

  it("compares the window only, and with a key does not count a row that has moved on", function()
    local w = pair.with("INSERT INTO s VALUES (1,'a','2026-01-01 00:00:00'), (2,'b','2026-01-05 00:00:00');",
      "INSERT INTO t VALUES (1,'a','2026-01-01 00:00:00'), (2,'b','2026-01-01 00:00:00'), (9,'y','2026-01-02 00:00:00');")
    w:job("j", [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window() }
reconcile { rows, with = "t", key = "id", sum = "id" }
]])
    local r = w:ok("j.lua", "--logical-date", "2026-01-01")
    assert.is_truthy(r.out:find("moved on: 1", 1, true), r.out)
    assert.same({ "rows|1|1", "sum(id)|1|1" },
      w:rows "SELECT metric, source_value, warehouse_value FROM lrun_checks WHERE metric IN ('rows', 'sum(id)') ORDER BY metric")
    w:source "DELETE FROM s WHERE id = 2"
    assert.equal(3, w:lrun("j.lua", "--logical-date", "2026-01-01").status)
  end)

  it("names what it does not find", function()
    local w = pair.with "INSERT INTO s VALUES (1,'a','2026-01-01 00:00:00');"
    for code, word in pairs { ['reconcile { rows, with = "tt" }'] = "tt", ['reconcile { rows, with = "t", sum = "vv" }'] = "vv" } do
      w:job("j", 'job {}\nlocal rows = extract { from = "s" }\nfull_load { rows, into = "t" }\n' .. code)
      w:refused(1, { "j.lua:4", word, hint = false }, "j.lua")
    end
  end)
end)
