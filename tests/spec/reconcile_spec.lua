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
end)
