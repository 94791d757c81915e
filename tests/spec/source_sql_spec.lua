-- SQL that a job writes for the source reads the source, even where the
-- warehouse has tables of the same names; and it stays inside its clause.
local world = require "world"

local T = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, at TEXT); CREATE TABLE k(id INTEGER);"
local SOURCE = T .. [[INSERT INTO t VALUES (1,'a','2026-01-01'), (2,'b','2026-01-02'), (3,'c','2026-01-03'); INSERT INTO k VALUES (1);]]
local OTHER = T .. [[INSERT INTO t VALUES (100,'w','2026-01-01'); INSERT INTO k VALUES (2), (100);]]

-- The ids that come by every way: counted, iterated, written, mapped.
local function ids(extract, warehouse)
  local w = world.new { source = SOURCE, warehouse = warehouse }
  w:job("j", ([[
    job {}
    local rows = extract { %s }
    local ids = {}
    for row in rows:rows() do ids[#ids + 1] = row.id end
    assert(rows:count() == #ids, "count")
    full_load { rows, into = "o", allow_empty = true }
    reconcile { rows, with = "o", sum = "id" }
    full_load { rows:map(function(row) return row end), into = "o2", allow_empty = true }
    merge { rows, into = "t", key = "id" }
    table.sort(ids)
    print("ids " .. table.concat(ids, ","))
  ]]):format(extract))
  local out = w:ok "j.lua".out:match "ids ([%d,]*)"
  local list = "SELECT ifnull(group_concat(id), '') FROM (SELECT id FROM %s ORDER BY id)"
  assert.equal(out, w:one(list:format "o"))
  assert.equal(out, w:one(list:format "o2"))
  assert.equal(out, w:one(list:format "t WHERE id < 100"))
  return out
end

for what, warehouse in pairs { ["with the same tables in the warehouse"] = OTHER, ["with none in the warehouse"] = "" } do
  describe("SQL of the source, " .. what .. ",", function()
    for code, expected in pairs {
      ['from = "t", where = "id IN (SELECT id FROM t WHERE id > 1)"'] = "2,3",
      ['from = "t", where = "id IN (SELECT id FROM k)"'] = "1",
      ['from = "t", where = "id IN (SELECT id FROM k WHERE id < :x)", params = { x = 9 }'] = "1",
      ['from = "t", where = "t.id = 2"'] = "2",
      ['from = "t", columns = { id = "id * 10 + (SELECT count(*) FROM t)", v = "v", at = "at" }'] = "13,23,33",
      ['sql = "SELECT * FROM t WHERE id IN (SELECT id FROM k)"'] = "1",
      ['sql = "WITH x AS (SELECT * FROM t) SELECT * FROM x WHERE id > (SELECT count(*) FROM k)"'] = "2,3",
      ['sql = "SELECT * FROM main.t"'] = "1,2,3",
      ['from = "main.t"'] = "1,2,3",
      ['from = "t", by = "at", window = window("2026-01-01", "2026-01-03"), where = "id NOT IN (SELECT id FROM k)"'] = "2",
    } do
      it("reads the source: " .. code, function()
        assert.equal(expected, ids(code, warehouse))
      end)
    end

    it("by query reads the source", function()
      local w = world.new { source = SOURCE, warehouse = warehouse }
      w:job("j", [[
        job {}
        local n = query { "SELECT count(*) AS n, (SELECT count(*) FROM k) AS k FROM t", connection = "source" }[1]
        assert(n.n == 3 and n.k == 1, n.n)
      ]]):ok "j.lua"
    end)
  end)
end

describe("SQL of the warehouse", function()
  it("is read there", function()
    local w = world.new { source = SOURCE, warehouse = OTHER }
    w:job("j", [[
      job {}
      assert(query { "SELECT count(*) AS n FROM t" }[1].n == 1)
      assert(extract { from = "t", connection = "warehouse" }:count() == 1)
    ]]):ok "j.lua"
  end)
end)

describe("a where", function()
  local WINDOW = 'job {}\nlocal rows = extract { from = "t", by = "at", window = window "2026-01-01", nulls = "skip", where = [[%s]] }\n' ..
    'full_load { rows, into = "o", allow_empty = true }'
  for _, where in ipairs { "id = 1) OR (1 = 1", "1 = 1) --", "id = 1 --", "id = 1 /*", "(", ")", "'open", "1 = 1; SELECT 1",
                           "1 UNION SELECT 1", "id = 1 OR", "", "? = 1", ":x = 1", "count(*) > 1", "nosuch(1)" } do
    it("stays inside its clause: " .. where, function()
      local w = world.new { source = SOURCE }
      w:job("j", WINDOW:format(where))
      local r = w:lrun "j.lua"
      if r.status == 0 then
        -- A comment at its end harms nobody.
        assert.equal("1", w:one "SELECT ifnull(group_concat(id), '') FROM o")
      else
        world.says(r, 1, { "j.lua:", hint = false })
      end
    end)
  end
end)

describe("an expression", function()
  for code in pairs {
    ['extract { from = "t", columns = { id = "id, at" } }'] = 1,
    ['extract { from = "t", columns = { id = "id FROM t --" } }'] = 1,
    ['extract { from = "t", columns = { id = "1) FROM t WHERE (1" } }'] = 1,
    ['group { extract { from = "t" }, by = "v", n = "COUNT(*), 1" }'] = 1,
    ['group { extract { from = "t" }, by = { day = "at, v" }, n = "COUNT(*)" }'] = 1,
    ['group { extract { from = "t" }, by = "v", n = "COUNT(*) FROM t --" }'] = 1,
  } do
    it("is one value: " .. code, function()
      local w = world.new { source = SOURCE }
      w:job("j", 'job {}\nfull_load { ' .. code .. ', into = "o" }')
      w:refused(1, { "j.lua:2", hint = false }, "j.lua")
    end)
  end
end)
