-- reconcile compares contents with exact totals, and NULL is nothing else.
local world = require "world"

-- Rows in the source, other rows put into the warehouse after the load.
local function compare(type, source, warehouse, options)
  local create = "CREATE TABLE t(id INTEGER, v " .. type .. ", g TEXT);"
  local w = world.new { source = create }
  for i, v in ipairs(source) do w:source(("INSERT INTO t VALUES (%d, %s, '%s')"):format(i, v, i % 2 == 0 and "even" or "odd")) end
  local sql = {}
  for i, v in ipairs(warehouse) do sql[i] = ("(%d, %s, '%s')"):format(i, v, i % 2 == 0 and "even" or "odd") end
  w:job("j", ([[
job {}
local rows = extract { from = "t" }
full_load { rows, into = "t", allow_empty = true }
execute { "DELETE FROM t" }
%s
local report = reconcile { rows, with = "t", %s }
]]):format(#sql > 0 and ('execute { [==[INSERT INTO t VALUES ' .. table.concat(sql, ", ") .. ']==] }') or "", options or 'sum = "v"'))
  return w
end

local DIFFERENT = {
  ["one row less"] = { "INTEGER", { "1", "2" }, { "1" } },
  ["one row more"] = { "INTEGER", { "1" }, { "1", "0" } },
  ["5 and -5"] = { "INTEGER", { "5" }, { "-5" } },
  ["1.2 and 1.9"] = { "DECIMAL(10,2)", { "1.2" }, { "1.9" } },
  ["22.00 and NULL"] = { "DECIMAL(10,2)", { "22.00" }, { "NULL" } },
  ["NULL and 0"] = { "INTEGER", { "NULL" }, { "0" } },
  ["NULL and 22.00, beside others"] = { "DECIMAL(10,2)", { "1", "NULL" }, { "1", "22" } },
  ["NULL and 0, beside others"] = { "INTEGER", { "1", "NULL" }, { "1", "0" } },
  ["a cent in a billion"] = { "DECIMAL(20,2)", { "1000000000.00" }, { "1000000000.01" } },
}
local EQUAL = {
  ["another order"] = { "INTEGER", { "1", "2", "3" }, { "3", "1", "2" } },
  ["1.50 and 1.5"] = { "TEXT", { "'1.50'" }, { "'1.5'" } },
  ["no rows"] = { "INTEGER", {}, {} },
  ["only NULLs"] = { "INTEGER", { "NULL" }, { "NULL" } },
}

describe("reconcile", function()
  for what, case in pairs(DIFFERENT) do
    it("sees " .. what, function()
      local w = compare(table.unpack(case))
      local r = w:refused(3, { "j.lua:6", "t", hint = false }, "j.lua")
      assert.equal("differs", w:last_run().status)
      assert.is_truthy(r.err ~= "")
      assert.equal("0", w:one "SELECT count(*) FROM sqlite_master WHERE name = 't'")
    end)
  end

  for what, case in pairs(EQUAL) do
    it("takes as equal " .. what, function()
      local w = compare(table.unpack(case))
      w:ok "j.lua"
      assert.equal("1", w:one "SELECT min(equal) FROM lrun_checks")
    end)
  end

  it("says both numbers and the difference", function()
    local w = compare("DECIMAL(10,2)", { "242.50" }, { "220.50" })
    w:refused(3, { "j.lua:6", "242.50", "220.50", "22.00", hint = false }, "j.lua")
  end)

  it("takes NULL for no number where rows are not counted", function()
    for _, values in ipairs { { "NULL", "0" }, { "0", "NULL" } } do
      local w = compare("INTEGER", { values[1] }, { values[2] }, 'sum = "v", rows = false')
      w:refused(3, { "NULL", "0", hint = false }, "j.lua")
    end
  end)

  it("says NULL as NULL", function()
    local w = compare("DECIMAL(10,2)", { "22" }, { "NULL" })
    w:refused(3, { "22.00", "NULL", hint = false }, "j.lua")
  end)

  it("keeps the check of a run that differs in the ledger", function()
    local w = compare("INTEGER", { "5" }, { "6" })
    w:lrun "j.lua"
    assert.same({ "rows|1|1|1", "sum(v)|5|6|0" },
      w:rows "SELECT metric, source_value, warehouse_value, equal FROM lrun_checks ORDER BY 1")
  end)

  it("only reports with fail = false, and returns the report", function()
    local w = compare("INTEGER", { "5" }, { "6" }, 'sum = "v", fail = false')
    local text = require "files".read(w:path "j.lua") .. [[
assert(type(report) == "table" and report.equal == false)
]]
    w:job("j", text):ok "j.lua"
    assert.equal("6", w:one "SELECT v FROM t")
    assert.equal("succeeded", w:last_run().status)
  end)

  it("allows a tolerance, and not more", function()
    local w = compare("REAL", { "1.00" }, { "1.01" }, 'sum = "v", tolerance = "0.01"')
    w:ok "j.lua"
    w = compare("REAL", { "1.00" }, { "1.02" }, 'sum = "v", tolerance = "0.01"')
    assert.equal(3, w:lrun("j.lua").status)
    w = compare("REAL", { "1.00" }, { "NULL" }, 'sum = "v", tolerance = "10"')
    assert.equal(3, w:lrun("j.lua").status)
  end)

  it("leaves the count out with rows = false", function()
    local w = compare("INTEGER", { "1", "2" }, { "3" }, 'sum = "v", rows = false')
    w:ok "j.lua"
    assert.same({ "sum(v)" }, w:rows "SELECT metric FROM lrun_checks")
  end)

  it("compares group by group", function()
    -- odd: 1, even: 2; and the other way around: the same totals.
    local w = compare("INTEGER", { "1", "2" }, { "2", "1" })
    w:ok "j.lua"
    w = compare("INTEGER", { "1", "2" }, { "2", "1" }, 'sum = "v", by = "g"')
    w:refused(3, { "j.lua:6", "even", hint = false }, "j.lua")
    assert.is_true(tonumber(w:one "SELECT count(*) FROM lrun_checks WHERE group_value IN ('odd', 'even') AND equal = 0") >= 1)
  end)

  it("sees a group that one side lacks, and NULL as a group", function()
    local create = "CREATE TABLE t(id INTEGER, g TEXT);"
    local w = world.new { source = create .. "INSERT INTO t VALUES (1, NULL), (2, 'a');" }
    w:job("j", [[
job {}
local rows = extract { from = "t" }
full_load { rows, into = "t" }
reconcile { rows, with = "t", by = "g" }
execute { "UPDATE t SET g = 'b' WHERE id = 1" }
reconcile { rows, with = "t", by = "g" }
]])
    w:refused(3, { "j.lua:6", hint = false }, "j.lua")
  end)

  it("takes for mapped rows what came out of the map", function()
    local w = world.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, v INTEGER); INSERT INTO s VALUES (1,1),(2,2),(3,3);" }
    w:job("j", [[
      job {}
      local rows = extract { from = "s" }:map(function(row) if row.id < 3 then row.v = row.v * 10 return row end end)
      merge { rows, into = "t", key = "id" }
      reconcile { rows, with = "t", sum = "v" }
    ]]):ok "j.lua"
    assert.same({ "rows|2|2", "sum(v)|30|30" }, w:rows "SELECT metric, source_value, warehouse_value FROM lrun_checks ORDER BY 1")
  end)

  it("compares the window only", function()
    local w = world.with_t("INSERT INTO t VALUES (1,'a','2026-01-01'), (2,'b','2026-01-02');",
      "INSERT INTO t VALUES (8,'x','2025-12-31'), (9,'y','2026-01-02');")
    w:job("j", [[
      job { grain = "day" }
      local rows = extract { from = "t", by = "updated_at", window = window() }
      overwrite_partition { rows, into = "t" }
      reconcile { rows, with = "t", sum = "id" }
    ]]):ok("j.lua", "--logical-date", "2026-01-01")
    assert.same({ "rows|1|1", "sum(id)|1|1" }, w:rows "SELECT metric, source_value, warehouse_value FROM lrun_checks ORDER BY 1")
  end)

  it("with a key does not count a row that has moved on", function()
    local w = world.with_t([[INSERT INTO t VALUES (1,'a','2026-01-01'), (2,'b','2026-01-05');]],
      [[INSERT INTO t VALUES (1,'a','2026-01-01'), (2,'b','2026-01-01');]])
    w:job("j", [[
job { grain = "day" }
local rows = extract { from = "t", by = "updated_at", window = window() }
reconcile { rows, with = "t", key = "id" }
]])
    local r = w:ok("j.lua", "--logical-date", "2026-01-01")
    assert.is_truthy(r.out:find("moved on: 1", 1, true), r.out)
    w:source "DELETE FROM t WHERE id = 2"
    assert.equal(3, w:lrun("j.lua", "--logical-date", "2026-01-01").status)
  end)

  it("names what it does not find", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01');"
    for code, word in pairs { ['reconcile { rows, with = "tt" }'] = "tt", ['reconcile { rows, with = "t", sum = "vv" }'] = "vv",
                              ["reconcile { rows }"] = "with", ['reconcile { with = "t" }'] = "rows" } do
      w:job("j", 'job {}\nlocal rows = extract { from = "t" }\nfull_load { rows, into = "t" }\n' .. code)
      w:refused(1, { "j.lua:4", word, hint = false }, "j.lua")
    end
  end)
end)
