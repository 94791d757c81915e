-- Nothing changes its value on the way; what cannot be kept exactly is refused.
local sqlite = require "sqlite"
local world = require "world"

local INTEGERS = { "9223372036854775807", "-9223372036854775808", "9007199254740993", "0", "-1" }

-- Every way in which rows reach a table.
local WAYS = {
  merge = 'merge { rows, into = "t", key = "id" }',
  insert_new = 'insert_new { rows, into = "t", key = "id" }',
  full_load = 'full_load { rows, into = "t" }',
  ["merge of mapped rows"] = 'merge { rows:map(function(row) return row end), into = "t", key = "id" }',
  ["full_load of mapped rows"] = 'full_load { rows:map(function(row) return row end), into = "t" }',
}
local function copy(w, way, more)
  w:job("j", 'job {}\nlocal rows = extract { from = "s" }\n' .. WAYS[way] .. "\n" .. (more or ""))
  return w:ok "j.lua"
end

-- What a column holds, by bytes and storage class.
local HELD = "SELECT id, typeof(v), hex(v), length(v) FROM %s ORDER BY id"
local function same_values(w)
  assert.same(w:source_rows(HELD:format "s"), w:rows(HELD:format "t"))
end

for way in pairs(WAYS) do
  describe("by " .. way, function()
    it("integers are exact to 64 bits, as value and as key (S19)", function()
      local w = world.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, v INTEGER);" }
      for _, n in ipairs(INTEGERS) do w:source(("INSERT INTO s VALUES (%s, %s)"):format(n, n)) end
      copy(w, way)
      copy(w, way)
      assert.same(w:source_rows "SELECT id, v, typeof(v) FROM s ORDER BY 1", w:rows "SELECT id, v, typeof(v) FROM t ORDER BY 1")
    end)

    it("text keeps every byte (S25)", function()
      local w = world.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT);" }
      local values = { "a\0b", "\252", "\240\159\146\150 e\204\129", "", "\0", "\0\0x", ("x"):rep(1000000), "\r\n\t'\"\\", "\239\187\191bom" }
      for i, v in ipairs(values) do w:source(("INSERT INTO s VALUES (%d, %s)"):format(i, sqlite.text(v))) end
      w:source "INSERT INTO s VALUES (100, NULL)"
      copy(w, way)
      same_values(w)
      assert.equal("text||0", w:one "SELECT typeof(v), v, length(CAST(v AS BLOB)) FROM t WHERE id = 4")
    end)

    it("each value goes by its storage class (S21)", function()
      local w = world.new { source = [[CREATE TABLE s(id INTEGER PRIMARY KEY, v INTEGER, n, f FOO BAR(3), b BLOB, r REAL);
        INSERT INTO s VALUES (1,1,'1',x'00',x'00ff',1.0), (2,'toto',1,'x','text',0.1), (3,12.3,1.0,NULL,7,-0.0),
          (4,'',x'',0,NULL,1e308), (5,NULL,NULL,2.5,'',NULL), (6,x'00ff','007',x'ff',x'',5e-324);]] }
      copy(w, way)
      local all = "SELECT id, quote(v), typeof(v), quote(n), typeof(n), quote(f), typeof(f), quote(b), typeof(b), printf('%!.17g', r) FROM "
      assert.same(w:source_rows(all .. "s ORDER BY 1"), w:rows(all .. "t ORDER BY 1"))
      -- The declared type word for word.
      assert.same(w:source_rows "SELECT name, type FROM pragma_table_info('s')", w:rows "SELECT name, type FROM pragma_table_info('t')")
    end)

    it("blobs stay blobs and reals stay reals", function()
      local w = world.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, v);" }
      w:source "INSERT INTO s VALUES (1, x'00'), (2, x''), (3, zeroblob(100000)), (4, 0.1), (5, 1e300), (6, 123456789.123456789), (7, 1.0)"
      copy(w, way)
      same_values(w)
    end)
  end)
end

describe("values in Lua", function()
  it("are what the column holds", function()
    local w = world.new { source = [[CREATE TABLE s(id INTEGER PRIMARY KEY, i INTEGER, t TEXT, d DECIMAL(10,2), r REAL, n TEXT, b BLOB);
      INSERT INTO s VALUES (1, 9007199254740993, 'x', 22.5, 0.1, NULL, x'00ff');]] }
    w:job("j", [[
      job {}
      for row in extract { from = "s" }:rows() do
        assert(math.type(row.i) == "integer" and row.i == 9007199254740993)
        assert(row.t == "x")
        assert(row.d == "22.50" or row.d == "22.5", tostring(row.d))
        assert(row.r == 0.1)
        assert(row.n == null)
        assert(#row.b == 2 and row.b == "\0\255")
      end
    ]]):ok "j.lua"
  end)

  it("may be changed, dropped and added by map", function()
    local w = world.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT, n INTEGER); INSERT INTO s VALUES (1,'a',5),(2,'b',6),(3,'c',NULL);" }
    w:job("j", [[
      job {}
      local rows = extract { from = "s" }
      local mapped = rows:map(function(row)
        if row.id == 2 then return nil end
        row.v = row.v:upper()
        row.total = "12345678901234567890.10"
        row.raw = blob("\0\1")
        if row.id == 3 then row.v = nil end
        return row
      end, { total = "numeric(30,2)", raw = "blob" })
      merge { mapped, into = "t", key = "id" }
      reconcile { mapped, with = "t", sum = "n" }
    ]]):ok "j.lua"
    assert.same({ "1|A|5|12345678901234567890.10|x'0001'", "3|NULL|NULL|12345678901234567890.10|x'0001'" },
      w:rows "SELECT id, v, n, total, raw FROM t ORDER BY 1")
  end)

  it("filter keeps what the function says", function()
    local w = world.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY); INSERT INTO s VALUES (1),(2),(3),(4);" }
    w:job("j", [[
      job {}
      merge { extract { from = "s" }:filter(function(row) return row.id % 2 == 0 end), into = "t", key = "id" }
    ]]):ok "j.lua"
    assert.same({ "2", "4" }, w:rows "SELECT id FROM t ORDER BY 1")
  end)

  it("of a kind that no column takes are refused with the line", function()
    for _, value in ipairs { "{}", "print", "coroutine.create(print)" } do
      local w = world.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO s VALUES (1,'a');" }
      w:job("j", 'job {}\nlocal rows = extract { from = "s" }:map(function(row) row.v = ' .. value ..
        ' return row end)\nmerge { rows, into = "t", key = "id" }')
      w:refused(1, { "j.lua:", "v", hint = false }, "j.lua")
    end
  end)

  it("in a column that nobody declared are refused with its name", function()
    local w = world.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY); INSERT INTO s VALUES (1);" }
    w:job("j", 'job {}\nlocal rows = extract { from = "s" }:map(function(row) row.fresh = 1 return row end)\nmerge { rows, into = "t", key = "id" }')
    w:refused(1, { "j.lua:", "fresh", hint = false }, "j.lua")
  end)

  it("that are no row are refused with the line of the write", function()
    for _, value in ipairs { "5", "true", "false", "'x'" } do
      local w = world.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY); INSERT INTO s VALUES (1);" }
      w:job("j", 'job {}\nlocal rows = extract { from = "s" }:map(function() return ' .. value .. ' end)\nmerge { rows, into = "t", key = "id" }')
      w:refused(1, { "j.lua:3", "row", hint = false }, "j.lua")
    end
  end)

  it("cannot be read by a map of itself, nor yielded from one", function()
    local w = world.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY); INSERT INTO s VALUES (1);" }
    w:job("j", [[
job {}
local rows
rows = extract { from = "s" }:map(function(row) return rows:count() and row end)
merge { rows, into = "t", key = "id" }
]])
    w:refused(1, { "j.lua:", hint = false }, "j.lua", "--max-seconds", "20")
    w:job("j", [[
job {}
local rows = extract { from = "s" }:map(function(row) coroutine.yield(row) return row end)
coroutine.wrap(function() merge { rows, into = "t", key = "id" } end)()
]])
    w:refused(1, { "j.lua:3", "yield", hint = false }, "j.lua")
  end)

  it("pass an error in the function on, with its line", function()
    local w = world.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY); INSERT INTO s VALUES (1);" }
    w:job("j", 'job {}\nlocal rows = extract { from = "s" }:map(function(row)\n  error("bad row " .. row.id)\nend)\nmerge { rows, into = "t", key = "id" }')
    w:refused(1, { "j.lua:3", "bad row 1", hint = false }, "j.lua")
  end)
end)

describe("a column that would bend a value", function()
  local function into(source_type, target_type, value)
    local w = world.new {
      source = ("CREATE TABLE s(id INTEGER PRIMARY KEY, v %s); INSERT INTO s VALUES (1, NULL), (77, %s);"):format(source_type, value),
      warehouse = ("CREATE TABLE t(id INTEGER PRIMARY KEY, v %s);"):format(target_type),
    }
    w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }')
    return w
  end
  for _, case in ipairs {
    { "TEXT", "NUMERIC", "'12345678901234567890.123456789'", "12345678901234567890.123456789" },
    { "TEXT", "DECIMAL(40,10)", "'0.1234567890123456789'", "0.1234567890123456789" },
    { "TEXT", "INTEGER", "'9223372036854775808'", "9223372036854775808" },
    { "TEXT", "INTEGER", "'007'", "007" },
    { "TEXT", "REAL", "'9007199254740993'", "9007199254740993" },
    { "INTEGER", "REAL", "9007199254740993", "9007199254740993" },
  } do
    it("refuses it: " .. case[3] .. " into " .. case[2], function()
      local w = into(case[1], case[2], case[3])
      w:refused(1, { "j.lua:2", "t", "v", "77", case[4], hint = false }, "j.lua")
      assert.equal("0", w:one "SELECT count(*) FROM t")
    end)
  end

  it("takes it where it survives", function()
    for _, case in ipairs { { "TEXT", "NUMERIC", "'22.50'", "22.5" }, { "TEXT", "INTEGER", "'7'", "7" },
                            { "TEXT", "INTEGER", "'toto'", "toto" }, { "INTEGER", "REAL", "7", "7.0" },
                            { "DECIMAL(10,2)", "TEXT", "22.5", "22.5" } } do
      local w = into(case[1], case[2], case[3])
      w:ok "j.lua"
      assert.equal(case[4], w:one "SELECT v FROM t WHERE id = 77")
    end
  end)
end)

describe("NaN and infinity", function()
  local REAL = "CREATE TABLE t(id INTEGER PRIMARY KEY, v REAL); INSERT INTO t VALUES (7, 1.5);"
  local function written(expression, target)
    local w = world.new { source = REAL, warehouse = ("CREATE TABLE t(id INTEGER PRIMARY KEY, v %s);"):format(target) }
    w:job("j", 'job {}\nlocal rows = extract { from = "t" }:map(function(row) row.v = ' .. expression ..
      ' return row end)\nmerge { rows, into = "t", key = "id" }')
    return w
  end

  for _, expression in ipairs { "0/0", "-(0/0)", "1/0", "-1/0" } do
    it("of a map are refused by a column of numbers: " .. expression, function()
      local w = written(expression, "REAL")
      w:refused(1, { "j.lua:3", "t", "v", "7", hint = false }, "j.lua")
      assert.equal("0", w:one "SELECT count(*) FROM t")
    end)

    it("never become NULL in a column of text: " .. expression, function()
      local w = written(expression, "TEXT")
      local r = w:lrun "j.lua"
      if r.status == 0 then
        assert.equal("text", w:one "SELECT typeof(v) FROM t")
      else
        world.says(r, 1, { "j.lua:3", "v", hint = false })
      end
    end)
  end

  it("in the source stay what they are between two SQLite files", function()
    local w = world.new { source = REAL .. "UPDATE t SET v = -9e999;", warehouse = "CREATE TABLE t(id INTEGER PRIMARY KEY, v REAL);" }
    w:job("j", 'job {}\nmerge { extract { from = "t" }, into = "t", key = "id" }')
    w:ok "j.lua"
    assert.equal("-Inf|real", w:one "SELECT v, typeof(v) FROM t")
  end)
end)

describe("exact totals (S20)", function()
  local function total(type, values, warehouse)
    local create = "CREATE TABLE %s(id INTEGER PRIMARY KEY, v " .. type .. ");"
    local w = world.new { source = create:format "s" }
    for i, v in ipairs(values) do w:source(("INSERT INTO s VALUES (%d, %s)"):format(i, v)) end
    w:job("j", 'job {}\nlocal rows = extract { from = "s" }\nfull_load { rows, into = "t" }\n' ..
      (warehouse and 'execute { "' .. warehouse .. '" }\n' or "") .. 'reconcile { rows, with = "t", sum = "v" }\n')
    local r = w:lrun "j.lua"
    return w:one "SELECT source_value, warehouse_value FROM lrun_checks WHERE metric = 'sum(v)'", r.status, r
  end
  local TENTHS = { "0.1", "0.1", "0.1", "0.1", "0.1", "0.1", "0.1", "0.1", "0.1", "0.1" }

  it("ten times 0.1 is 1.0", function()
    for type, expected in pairs { REAL = "1.0", ["DECIMAL(10,2)"] = "1.00", NUMERIC = "1.0", [""] = "1.0", TEXT = "1.0" } do
      local sum, status = total(type, TENTHS)
      assert.equal(0, status, type)
      local a, b = sum:match "^(.*)|(.*)$"
      assert.equal(a, b)
      assert.equal(tonumber(expected), tonumber(a), type)
      assert.is_truthy(a == "1" or a:find "^1%.0+$", type .. " " .. a)
    end
  end)

  it("of thirty digits are exact", function()
    local sum, status = total("TEXT", { "'123456789012345678901234567890.12'", "'0.00000000000000000000000000001'", "'-123456789012345678901234567890.11'" })
    assert.equal(0, status)
    assert.equal("0.01000000000000000000000000001|0.01000000000000000000000000001", sum)
  end)

  it("of integers do not overflow", function()
    local sum, status = total("INTEGER", { "9223372036854775807", "9223372036854775807", "1" })
    assert.equal(0, status)
    assert.equal("18446744073709551615|18446744073709551615", sum)
  end)

  it("see one in the last of thirty digits", function()
    local sum, status = total("TEXT", { "'123456789012345678901234567890.12'" }, "UPDATE t SET v = '123456789012345678901234567890.13'")
    assert.equal("123456789012345678901234567890.12|123456789012345678901234567890.13", sum)
    assert.equal(3, status)
  end)

  it("print with the column's scale", function()
    assert.equal("22.50|22.50", (total("DECIMAL(10,2)", { "22.5" })))
    assert.equal("22.5|22.5", (total("NUMERIC", { "22.5" })))
  end)

  it("of group are exact too", function()
    local w = world.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, day TEXT, v REAL);" }
    for i = 1, 10 do w:source(("INSERT INTO s VALUES (%d, '2026-01-01', 0.1)"):format(i)) end
    w:job("j", [[
      job { grain = "day" }
      local rows = extract { from = "s", by = "day", window = window() }
      local sums = group { rows, by = "day", total = "SUM(v)", n = "COUNT(*)" }
      overwrite_partition { sums, into = "t" }
      reconcile { rows, with = "t", sum = { v = "total" }, rows = false }
    ]]):ok("j.lua", "--logical-date", "2026-01-01")
    assert.equal("1|10", w:one "SELECT total = 1, n FROM t")
  end)
end)
