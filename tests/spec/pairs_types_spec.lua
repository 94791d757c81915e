-- Nothing changes its value on the way, whichever way rows reach a table.
local pairs_of = require "pairs"

local WAYS = {
  { "merge", 'merge { rows, into = "t", key = "id" }' },
  { "insert_new", 'insert_new { rows, into = "t", key = "id" }' },
  { "full_load", 'full_load { rows, into = "t" }' },
  { "merge of mapped rows", 'merge { rows:map(function(row) return row end), into = "t", key = "id" }' },
  { "full_load of mapped rows", 'full_load { rows:map(function(row) return row end), into = "t" }' },
}
local function copy(w, way, more)
  w:job("j", 'job {}\nlocal rows = extract { from = "s" }\n' .. way .. "\n" .. (more or ""))
  return w:ok "j.lua"
end

-- What both engines print for the same value: bytes as hex, numbers as numbers.
local function numbers(rows)
  for i, row in ipairs(rows) do
    local id, n = row:match "^([^|]*)|(.*)$"
    rows[i] = id .. "|" .. (tonumber(n) and ("%.17g"):format(tonumber(n)) or n)
  end
  return rows
end

for _, way in ipairs(WAYS) do
  pairs_of.each("by " .. way[1], function(pair)
    it("integers are exact to 64 bits, as value and as key (S19)", function()
      local w = pair.new { source = "CREATE TABLE s(id {bigint} PRIMARY KEY, v {bigint});" .. [[INSERT INTO s VALUES
        (9223372036854775807, -9223372036854775807 - 1), (-9223372036854775807 - 1, 9223372036854775807),
        (9007199254740993, -9007199254740993), (0, NULL), (-1, 0);]] }
      copy(w, way[2])
      copy(w, way[2], 'reconcile { rows, with = "t", sum = { id = "id", v = "v" } }')
      assert.same(w:source_rows "SELECT id, v FROM s ORDER BY id", w:rows "SELECT id, v FROM t ORDER BY id")
      assert.equal("9007199254740991|9007199254740991", w:one "SELECT source_value, warehouse_value FROM lrun_checks WHERE metric = 'sum(id)'")
    end)

    it("decimals keep every digit (S20)", function()
      local exact = pair.source == "sqlite" and "TEXT" or "numeric"
      local into = pair.warehouse == "sqlite" and "TEXT" or "numeric"
      local values = { "20", "17.685", "15.334", "0.00000000000000006938893903907228", "12345678901234567890.123456789", "-0.10",
        "0", "0.000", "1" .. ("0"):rep(40), "9999.9999", "10000", "100000000", "-0.0001", ("9"):rep(60) .. "." .. ("9"):rep(60) }
      local rows = {}
      for i, v in ipairs(values) do rows[i] = ("(%d, '%s')"):format(i, v) end
      local w = pair.new { source = ("CREATE TABLE s(id INTEGER PRIMARY KEY, v %s); INSERT INTO s VALUES %s, (99, NULL);"):format(exact, table.concat(rows, ", ")),
                           warehouse = ("CREATE TABLE t(id INTEGER PRIMARY KEY, v %s);"):format(into) }
      copy(w, way[2], 'reconcile { rows, with = "t", sum = "v" }')
      local expected = {}
      for i, v in ipairs(values) do expected[i] = i .. "|" .. v end
      expected[#expected + 1] = "99|NULL"
      assert.same(expected, w:rows "SELECT id, v FROM t ORDER BY id")
      copy(w, way[2])
      assert.equal("0", w:last_run().rows_updated)
    end)

    it("doubles, booleans and bytes are what they were", function()
      local w = pair.new { source = [[CREATE TABLE s(id INTEGER PRIMARY KEY, r {double}, b {boolean}, x {blob});
        INSERT INTO s VALUES (1, 0.1, {yes}, {bytes }), (2, 1e308, {no}, {bytes 00}), (3, 5e-324, NULL, {bytes 00ff5c27}),
          (4, -0.0, {yes}, NULL), (5, 123456789.123456789, {no}, {bytes deadbeef}), (6, 1.0, {no}, {bytes 5c4e}), (7, NULL, NULL, NULL),
          (8, 9007199254740993, {no}, {bytes 0a0d09});]] }
      copy(w, way[2])
      assert.same(numbers(w:source_rows "SELECT id, r FROM s ORDER BY id"), numbers(w:rows "SELECT id, r FROM t ORDER BY id"))
      local bytes = { sqlite = "lower(hex(x))", postgresql = "encode(x, 'hex')" }
      for _, hex in ipairs { "1|", "2|00", "3|00ff5c27", "5|deadbeef", "6|5c4e", "8|0a0d09" } do
        assert.equal(hex, w:one(("SELECT id, %s FROM t WHERE id = %s"):format(bytes[pair.warehouse], hex:match "^%d")))
      end
      assert.equal("1,4", table.concat(w:rows "SELECT id FROM t WHERE b = {yes} ORDER BY id", ","))
      assert.equal("2,5,6,8", table.concat(w:rows "SELECT id FROM t WHERE b = {no} ORDER BY id", ","))
    end)

    it("dates and times keep their microseconds", function()
      local w = pair.new { source = [[CREATE TABLE s(id INTEGER PRIMARY KEY, d DATE, at TIMESTAMP);
        INSERT INTO s VALUES (1, '2026-01-01', '2026-01-01 10:00:00.000001'), (2, '1969-12-31', '1969-12-31 23:59:59.999999'),
          (3, '0001-01-01', '0001-01-01 00:00:00'), (4, '9999-12-31', '9999-12-31 23:59:59'), (5, NULL, NULL), (6, '2024-02-29', '2024-02-29 00:00:00');]] }
      copy(w, way[2])
      local all = "SELECT id, d, at FROM %s ORDER BY id"
      assert.same(w:source_rows(all:format "s"), w:rows(all:format "t"))
      copy(w, way[2])
      assert.equal("0", w:last_run().rows_updated)
    end)

    it("text keeps every character, and '' is not NULL (S25)", function()
      local w = pair.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT);" }
      local values = { "\240\159\146\150 e\204\129", "", ("x"):rep(1000000), "\r\n\t'\"\\", "\239\187\191bom", "\1\2\127", "\\N", "\\.", "a\\", "日本", " " }
      local rows = {}
      for i, v in ipairs(values) do rows[i] = ("(%d, %s)"):format(i, w.from:text(v)) end
      w:source("INSERT INTO s VALUES (100, NULL), " .. table.concat(rows, ", "))
      copy(w, way[2])
      local held = "SELECT id, length(v), {hex v} FROM %s WHERE v IS NOT NULL ORDER BY id"
      assert.same(w:source_rows(held:format "s"), w:rows(held:format "t"))
      assert.same({ "100" }, w:rows "SELECT id FROM t WHERE v IS NULL")
    end)
  end)
end

pairs_of.each("values in Lua", function(pair)
  it("are the same on every engine", function()
    local w = pair.new { source = [[CREATE TABLE s(id INTEGER PRIMARY KEY, i {bigint}, t TEXT, d DECIMAL(10,2), r {double}, n TEXT, b {blob}, day DATE, at TIMESTAMP);
      INSERT INTO s VALUES (1, 9007199254740993, 'x', 22.5, 0.1, NULL, {bytes 00ff}, '2026-01-02', '2026-01-02 03:04:05.5');]] }
    w:job("j", [[
      job {}
      for row in extract { from = "s" }:rows() do
        assert(math.type(row.id) == "integer" and math.type(row.i) == "integer" and row.i == 9007199254740993)
        assert(row.t == "x")
        assert(row.d == "22.50" or row.d == "22.5", tostring(row.d))
        assert(row.r == 0.1 and row.n == null)
        assert(#row.b == 2 and row.b == "\0\255")
        assert(tostring(row.day) == "2026-01-02", tostring(row.day))
        assert(tostring(row.at):find("^2026%-01%-02 03:04:05%.5"), tostring(row.at))
      end
    ]]):ok "j.lua"
  end)

  it("may be changed, dropped and added by map", function()
    local w = pair.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT, n INTEGER); INSERT INTO s VALUES (1,'a',5),(2,'b',6),(3,'c',NULL);" }
    w:job("j", ([[
      job {}
      local mapped = extract { from = "s" }:map(function(row)
        if row.id == 2 then return nil end
        row.v = row.v:upper()
        row.total = "12345678901234567890.10"
        row.raw = blob("\0\1")
        row.at = "2026-01-02 03:04:05"
        row.ok = true
        if row.id == 3 then row.v = nil end
        return row
      end, { total = "numeric(30,2)", raw = "{blob}", at = "timestamp", ok = "boolean" })
      merge { mapped, into = "t", key = "id" }
      reconcile { mapped, with = "t", sum = "n" }
    ]]):gsub("{blob}", pair.warehouse == "sqlite" and "blob" or "bytea"), nil):ok "j.lua"
    assert.same({ "1|A|5|12345678901234567890.10|2026-01-02 03:04:05", "3|NULL|NULL|12345678901234567890.10|2026-01-02 03:04:05" },
      w:rows "SELECT id, v, n, total, at FROM t ORDER BY id")
    assert.equal("2", w:one "SELECT count(*) FROM t WHERE raw = {bytes 0001} AND ok = {yes}")
  end)

  it("that no column takes are refused with the line, column and key", function()
    for _, value in ipairs { "{}", "print" } do
      local w = pair.with "INSERT INTO s VALUES (77,'a','2026-01-01 00:00:00');"
      w:job("j", 'job {}\nlocal rows = extract { from = "s" }:map(function(row) row.v = ' .. value .. ' return row end)\nmerge { rows, into = "t", key = "id" }')
      w:refused(1, { "j.lua:", "v", hint = false }, "j.lua")
      assert.equal("0", w:one "SELECT count(*) FROM t")
    end
  end)
end)

pairs_of.each("a column that would bend a value", function(pair)
  local TARGETS = {
    { "numeric(6,2)", "1.005", "1.005" }, { "numeric(4,2)", "123.45", "123.45" },
    { "integer", "2147483648", "2147483648", sqlite = true }, { "bigint", "9223372036854775808", "9223372036854775808" },
    { "double precision", "9007199254740993", "9007199254740993" }, { "double precision", "0.1234567890123456789", "0.1234567890123456789" },
    { "integer", "1.5", "1.5" }, { "bigint", "12345678901234567890.5", "12345678901234567890.5" },
  }
  for _, case in ipairs(TARGETS) do
    -- SQLite's columns keep what they can hold exactly, whatever they are called.
    if pair.warehouse == "postgresql" or not case.sqlite and case[1]:find "bigint" then
      it("refuses it, naming it: " .. case[2] .. " into " .. case[1], function()
        local w = pair.new {
          source = ("CREATE TABLE s(id INTEGER PRIMARY KEY, v %s); INSERT INTO s VALUES (1, NULL), (77, '%s');")
            :format(pair.source == "sqlite" and "TEXT" or "numeric", case[2]),
          warehouse = ("CREATE TABLE t(id INTEGER PRIMARY KEY, v %s);"):format(case[1]),
        }
        for _, way in ipairs(WAYS) do
          w:job("j", 'job {}\nlocal rows = extract { from = "s" }\n' .. way[2])
          w:refused(1, { "j.lua:3", "t", "v", "77", case[3], hint = false }, "j.lua")
          assert.equal("0", w:one "SELECT count(*) FROM t")
        end
      end)
    end
  end
end)

pairs_of.each("exact totals (S20)", function(pair)
  local function total(type, values, more)
    local rows = {}
    for i, v in ipairs(values) do rows[i] = ("(%d, %s)"):format(i, v) end
    local w = pair.new { source = ("CREATE TABLE s(id INTEGER PRIMARY KEY, v %s); INSERT INTO s VALUES %s;"):format(type, table.concat(rows, ", ")) }
    w:job("j", 'job {}\nlocal rows = extract { from = "s" }\nfull_load { rows, into = "t" }\n' .. (more or "") .. 'reconcile { rows, with = "t", sum = "v" }\n')
    local r = w:lrun "j.lua"
    local sums = w:one "SELECT source_value, warehouse_value FROM lrun_checks WHERE metric = 'sum(v)'"
    if not sums then error(r.err) end
    local a, b = sums:match "^(.*)|(.*)$"
    return a, b, r.status
  end

  it("ten times 0.1 is 1.0", function()
    for _, type in ipairs { "{double}", "DECIMAL(10,2)", "NUMERIC" } do
      local a, b, status = total(type, { "0.1", "0.1", "0.1", "0.1", "0.1", "0.1", "0.1", "0.1", "0.1", "0.1" })
      assert.equal(0, status, type)
      assert.equal(a, b)
      assert.is_truthy(a == "1" or a:find "^1%.0+$", type .. " " .. a)
    end
  end)

  it("of integers do not overflow", function()
    local a, b, status = total("{bigint}", { "9223372036854775807", "9223372036854775807", "1" })
    assert.equal("18446744073709551615 18446744073709551615 0", ("%s %s %d"):format(a, b, status))
  end)

  it("print with the column's scale, and see one cent in a billion", function()
    local a, b, status = total("DECIMAL(20,2)", { "1000000000.5" }, 'execute { "UPDATE t SET v = 1000000000.51" }\n')
    assert.equal("1000000000.50 1000000000.51 3", ("%s %s %d"):format(a, b, status))
  end)

  it("of group are exact too", function()
    local w = pair.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, day DATE, v DECIMAL(10,2));" ..
      "INSERT INTO s VALUES (1, '2026-01-01', 0.1)" .. (", (%d, '2026-01-01', 0.1)"):rep(9):format(2, 3, 4, 5, 6, 7, 8, 9, 10) }
    w:job("j", [[
      job { grain = "day" }
      local rows = extract { from = "s", by = "day", window = window() }
      local sums = group { rows, by = "day", total = "SUM(v)", n = "COUNT(*)" }
      overwrite_partition { sums, into = "t" }
      reconcile { rows, with = "t", sum = { v = "total" }, rows = false }
    ]]):ok("j.lua", "--logical-date", "2026-01-01")
    assert.equal("10", w:one "SELECT n FROM t WHERE CAST(total AS {double}) = 1")
  end)
end)
