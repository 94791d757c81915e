-- reconcile { deep = true } on every pair: each row that is not the same on both
-- sides is named by its key, and no other; equal rows are never read.
local pairs_of = require "pairs"
local random = require "random"
local cjson = require "cjson"

local CHECK = [[
job {}
local rows = extract { from = "s" }
reconcile { rows, with = "t", deep = true, %s }
]]
local LOAD = [[
job {}
full_load { extract { from = "s" }, into = "t" }
]]

-- What the last run named: "missing 17", "different(v) 5", sorted.
local function named(w)
  local list = w:rows("SELECT metric, group_value FROM lrun_checks WHERE metric NOT IN ('rows', 'checksum') " ..
    "AND run_id = (SELECT max(run_id) FROM lrun_runs)")
  for i, line in ipairs(list) do list[i] = line:gsub("|", " ", 1) end
  table.sort(list)
  return list
end

local function loaded(pair, source, options)
  local w = pair.new { source = source }
  w:job("load", LOAD):ok "load.lua"
  return w:job("check", CHECK:format(options or 'key = "id"'))
end

-- The fields of the event that ends a comparison.
local function checked(r)
  for line in r.out:gmatch "[^\n]+" do
    local event = cjson.decode(line)
    if event.event == "checked" then return event end
  end
end

local function literal(text) return "'" .. text:gsub("'", "''") .. "'" end

-- ---- random rows of every type ----

local COLUMNS = {
  { "n", "{bigint}" }, { "a", "DECIMAL(12,2)" }, { "r", "{double}" }, { "b", "{boolean}" }, { "d", "DATE" },
  { "m", "TIMESTAMP" }, { "z", "TIMESTAMPTZ" }, { "x", "{blob}" }, { "v", "TEXT" },
}
local TEXTS = { "", " ", "a", "a ", " a", "a|b,c", "a,b|c", "A", "ä", "NULL", "null", "0", "1", "x'00'", "日本", ("long "):rep(12) }

local function moment()
  local fraction = ({ "", ".5", ".000001", ".999999", ".10" })[math.random(5)]
  return ("2026-%02d-%02d %02d:%02d:%02d%s"):format(math.random(12), math.random(28), math.random(0, 23), math.random(0, 59),
    math.random(0, 59), fraction)
end

local VALUES = {
  n = function() return tostring(({ 0, 1, -1, 5, -5, 4294967300, 9007199254740993, math.maxinteger, math.random(1000) })[math.random(9)]) end,
  a = function() return ({ "0", "0.00", "1.5", "-1.50", "5", "-5", "1234567.89", "0.01", "-0.01", "10000", "100" })[math.random(11)] end,
  r = function() return ({ "0.1", "-0.1", "1e-7", "1e20", "3.0", "0.30000000000000004", "0.3" })[math.random(7)] end,
  b = function() return math.random(2) == 1 and "{yes}" or "{no}" end,
  d = function() return ("'%s'"):format(moment():sub(1, 10)) end,
  m = function() return ("'%s'"):format(moment()) end,
  z = function() return ("'%s+00'"):format(moment()) end,
  x = function() return ("{bytes %s}"):format(({ "00", "", "00ff", "ff00", "27" })[math.random(5)]) end,
  v = function() return literal(TEXTS[math.random(#TEXTS)]) end,
}

local SAME = { ["0.00"] = "0", ["-1.50"] = "-1.5" }
local function same(column, x, y)
  if column == "m" or column == "z" then return x:gsub("%.10", ".1") == y:gsub("%.10", ".1") end
  return (SAME[x] or x) == (SAME[y] or y)
end

local function random_value(column)
  if math.random(8) == 1 then return "NULL" end
  return VALUES[column]()
end

local function random_rows(n)
  local rows = {}
  for id = 1, n do
    local row = { id = id, k = TEXTS[math.random(#TEXTS)] }
    for _, c in ipairs(COLUMNS) do row[c[1]] = random_value(c[1]) end
    rows[id] = row
  end
  return rows
end

local function insert(name, rows)
  local lines = {}
  for i, row in ipairs(rows) do
    local values = { row.id, literal(row.k) }
    for _, c in ipairs(COLUMNS) do values[#values + 1] = row[c[1]] end
    lines[i] = "(" .. table.concat(values, ", ") .. ")"
  end
  return ("INSERT INTO %s(id, k, n, a, r, b, d, m, z, x, v) VALUES %s;"):format(name, table.concat(lines, ",\n"))
end

local function where(row) return (" WHERE id = %d AND k = %s;"):format(row.id, literal(row.k)) end

-- Statements for t, and what is to be named for them.
local function plant(rows, n)
  local sql, expected, used = {}, {}, {}
  local function pick()
    local row
    repeat row = rows[math.random(#rows)] until not used[row.id]
    used[row.id] = true
    return row
  end
  local function name(what, row) expected[#expected + 1] = ("%s %d, %s"):format(what, row.id, row.k) end
  for i = 1, n do
    local row, kind = pick(), math.random(6)
    if kind == 1 then
      sql[#sql + 1] = "DELETE FROM t" .. where(row)
      name("missing", row)
    elseif kind == 2 then
      local copy = setmetatable({ id = 100000 + i }, { __index = row })
      sql[#sql + 1] = insert("t", { copy })
      name("extra", copy)
    elseif kind == 3 then
      -- two rows swap all that they hold
      local other, columns, sets = pick(), {}, { {}, {} }
      for _, c in ipairs(COLUMNS) do
        if not same(c[1], row[c[1]], other[c[1]]) then
          columns[#columns + 1] = c[1]
          sets[1][#sets[1] + 1] = c[1] .. " = " .. other[c[1]]
          sets[2][#sets[2] + 1] = c[1] .. " = " .. row[c[1]]
        end
      end
      sql[#sql + 1] = "UPDATE t SET " .. table.concat(sets[1], ", ") .. where(row)
      sql[#sql + 1] = "UPDATE t SET " .. table.concat(sets[2], ", ") .. where(other)
      name("different(" .. table.concat(columns, ", ") .. ")", row)
      name("different(" .. table.concat(columns, ", ") .. ")", other)
    else
      local column = COLUMNS[math.random(#COLUMNS)][1]
      local value
      repeat value = random_value(column) until not same(column, value, row[column])
      sql[#sql + 1] = ("UPDATE t SET %s = %s"):format(column, value) .. where(row)
      name("different(" .. column .. ")", row)
    end
  end
  table.sort(expected)
  return table.concat(sql, "\n"), expected
end

-- SQL as the pair's warehouse spells it.
local function w_sql(pair, text)
  return (pair.warehouse == "sqlite" and pairs_of.Sqlite or pairs_of.Postgres).sql({ engine = pair.warehouse }, text)
end

pairs_of.each("reconcile deep", function(pair)
  local function table_s()
    local columns = {}
    for i, c in ipairs(COLUMNS) do columns[i] = c[1] .. " " .. c[2] end
    return "CREATE TABLE s(id INTEGER NOT NULL, k TEXT NOT NULL, " .. table.concat(columns, ", ") .. ", PRIMARY KEY (id, k));\n"
  end

  it("names every planted difference, and nothing else", function()
    random.seed()
    local rows = random_rows(1200)
    local w = loaded(pair, table_s() .. insert("s", rows), 'key = { "id", "k" }, limit = 1000')
    w:ok "check.lua"
    local sql, expected = plant(rows, 40)
    w:warehouse(sql)
    assert.equal(3, w:lrun("check.lua").status)
    assert.same(expected, named(w))
  end)

  it("sees values that a whole segment's rows exchanged among themselves", function()
    -- 400 pairs of rows in 1,024 segments: some pairs are in one
    local w = loaded(pair, [[CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT, n {bigint});
      INSERT INTO s WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < 6000) SELECT i, 'v' || (i % 7), i % 5 FROM g;]],
      'key = "id", limit = 1000')
    local sql, expected = {}, {}
    for id = 1, 800, 2 do
      local a, b = (id % 7), ((id + 1) % 7)
      sql[#sql + 1] = ("UPDATE t SET v = 'v%d' WHERE id = %d; UPDATE t SET v = 'v%d' WHERE id = %d;"):format(b, id, a, id + 1)
      for at = id, id + 1 do expected[#expected + 1] = "different(v) " .. at end
    end
    w:warehouse("BEGIN;" .. table.concat(sql) .. "COMMIT;")
    table.sort(expected)
    assert.equal(3, w:lrun("check.lua").status)
    assert.same(expected, named(w))
  end)

  -- What a row holds, and what else it is not the same as.
  local DIFFERENT = {
    { "5 and -5", "DECIMAL(10,2)", "5", "-5" },
    { "NaN-like text and nothing", "TEXT", "'NaN'", "NULL" },
    { "NULL and 0", "INTEGER", "NULL", "0" },
    { "NULL and empty text", "TEXT", "NULL", "''" },
    { "a blank at the end", "TEXT", "'a'", "'a '" },
    { "one microsecond", "TIMESTAMP", "'2026-01-01 10:00:00'", "'2026-01-01 10:00:00.000001'" },
    { "integers whose halves have the same xor", "{bigint}", "5", "4294967300" },
    { "the largest integer and its neighbour", "{bigint}", "9223372036854775807", "9223372036854775806" },
    { "0.3 and the float beside it", "{double}", "0.3", "0.30000000000000004" },
    { "10000 and 1", "DECIMAL(12,2)", "10000", "1" },
    { "1.2 and 1.9", "DECIMAL(10,2)", "1.2", "1.9" },
    { "ab and ba", "TEXT", "'ab'", "'ba'" },
    { "no bytes and NULL", "{blob}", "{bytes }", "NULL" },
    { "dates a day apart", "DATE", "'2026-01-01'", "'2026-01-02'" },
  }

  it("tells values that are nearly the same", function()
    local columns, values, code = { "id INTEGER PRIMARY KEY" }, { "1" }, {}
    for i, case in ipairs(DIFFERENT) do
      columns[#columns + 1] = ("c%d %s"):format(i, case[2])
      values[#values + 1] = case[3]
      code[i] = ('look("%s", "c%d", [[%s]], [[%s]])'):format(case[1], i, w_sql(pair, case[4]), w_sql(pair, case[3]))
    end
    local w = pair.new { source = ("CREATE TABLE s(%s); INSERT INTO s VALUES (%s);"):format(table.concat(columns, ", "), table.concat(values, ", ")) }
    w:job("j", [=[
job {}
local rows = extract { from = "s" }
full_load { rows, into = "t" }
local function look(what, column, other, same)
  for i, value in ipairs { other, same } do
    execute { "UPDATE t SET " .. column .. " = " .. value }
    local report = reconcile { rows, with = "t", deep = true, key = "id", fail = false }
    local last = report.lines[#report.lines]
    assert(report.equal == (i == 2), what)
    assert(i == 2 or last.metric == "different(" .. column .. ")" and last.group == "1", what)
  end
end
]=] .. table.concat(code, "\n")):ok "j.lua"
  end)

  it("takes other ways to write the same value as equal", function()
    local w = pair.new {
      source = [[CREATE TABLE s(id INTEGER PRIMARY KEY, a DECIMAL(10,2), m TIMESTAMP, n {bigint});
        INSERT INTO s VALUES (1, 1.5, '2026-01-01 10:00:00', 3), (2, 2, '2026-01-02 00:00:00', NULL);]],
      warehouse = [[CREATE TABLE t(id {bigint} PRIMARY KEY, a DECIMAL(12,4), m TIMESTAMP, n DECIMAL(10,1));
        INSERT INTO t VALUES (2, 2.0000, '2026-01-02 00:00:00', NULL), (1, 1.5000, '2026-01-01 10:00:00', 3.0);]] }
    w:job("check", CHECK:format 'key = "id"'):ok "check.lua"
  end)

  it("keeps compound keys apart, and two rows of one key", function()
    local w = loaded(pair, [[CREATE TABLE s(a TEXT, b TEXT, v INTEGER);
      INSERT INTO s VALUES ('a|b', 'c', 1), ('a', 'b|c', 1), ('a', 'b|c', 1), ('', 'abc', 2), (NULL, 'abc', 2);]], 'key = { "a", "b" }')
    w:ok "check.lua"
    w:warehouse "UPDATE t SET a = 'a', b = 'b|c' WHERE a = 'a|b';"
    assert.equal(3, w:lrun("check.lua").status)
    assert.same({ "extra a, b|c", "missing a|b, c" }, named(w))
  end)

  it("tells 1, 1, 2 from 1, 2, 2 under one key", function()
    local w = loaded(pair, "CREATE TABLE s(k INTEGER, v INTEGER); INSERT INTO s VALUES (7, 1), (7, 1), (7, 2);", 'key = "k"')
    w:warehouse "DELETE FROM t; INSERT INTO t VALUES (7, 1), (7, 2), (7, 2);"
    assert.equal(3, w:lrun("check.lua").status)
    assert.same({ "different(v) 7" }, named(w))
  end)

  it("reads no row of equal tables, and of others only those of differing segments", function()
    local w = loaded(pair, [[CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT);
      INSERT INTO s WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < 30000) SELECT i, 'v' || i FROM g;]])
    assert.equal(0, checked(w:ok("check.lua", "--json")).rows_fetched)
    w:warehouse "UPDATE t SET v = 'x' WHERE id = 7; DELETE FROM t WHERE id = 8; INSERT INTO t VALUES (30001, 'new');"
    local r = w:lrun("check.lua", "--json")
    assert.equal(3, r.status)
    assert.same({ "different(v) 7", "extra 30001", "missing 8" }, named(w))
    -- 1,024 segments: three of them hold about 30 rows each, on both sides
    local fetched = checked(r).rows_fetched
    assert.is_true(fetched > 0 and fetched < 400, tostring(fetched))
  end)

  it("cuts large segments again rather than read them, and stops at limit", function()
    local w = loaded(pair, [[CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT);
      INSERT INTO s WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < 30000) SELECT i, 'v' || i FROM g;]],
      'key = "id", limit = 900')
    w:warehouse "UPDATE t SET v = 'x';"
    local r = w:lrun("check.lua", "--json")
    assert.equal(3, r.status)
    assert.equal(900, #named(w))
    assert.is_truthy(r.err:find("and 890 more", 1, true), r.err)
    local fetched = checked(r).rows_fetched
    assert.is_true(fetched <= 2 * 16384, tostring(fetched))
  end)

  it("compares the window and the partition of the write, and leaves out a row that moved on", function()
    local w = pair.with("INSERT INTO s VALUES (1,'a','2026-01-01 00:00:00'), (2,'b','2026-01-05 00:00:00'), (3,'c','2026-01-01 05:00:00');",
      "INSERT INTO t VALUES (1,'a','2026-01-01 00:00:00'), (2,'b','2026-01-01 00:00:00'), (3,'c','2026-01-01 05:00:00'), (9,'y','2026-01-02 00:00:00');")
    w:job("j", [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window() }
reconcile { rows, with = "t", key = "id", deep = true }
]])
    local r = w:ok("j.lua", "--logical-date", "2026-01-01")
    assert.is_truthy(r.out:find("moved on: 1", 1, true), r.out)
    w:source "UPDATE s SET v = 'z' WHERE id = 3;"
    w:refused(3, { "different 3 (v 'z' <> 'c')", hint = false }, "j.lua", "--logical-date", "2026-01-01")
    assert.same({ "different(v) 3" }, named(w))
    assert.equal("'z'|'c'", w:one "SELECT source_value, warehouse_value FROM lrun_checks WHERE metric = 'different(v)'")
  end)

  it("only reports with fail = false, and returns the rows that differ", function()
    local w = loaded(pair, "CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO s VALUES (1, 'a'), (2, 'b');")
    w:warehouse "DELETE FROM t WHERE id = 2;"
    w:job("check", [[
job {}
local rows = extract { from = "s" }
local report = reconcile { rows, with = "t", deep = true, key = "id", fail = false }
assert(report.equal == false)
local last = report.lines[#report.lines]
assert(last.metric == "missing" and last.group == "2", last.metric)
]]):ok "check.lua"
  end)

  it("takes as key the write's, else the table's primary key, else asks for one", function()
    local w = pair.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO s VALUES (1, 'a');",
      warehouse = "CREATE TABLE t(id INTEGER, v TEXT); CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT);" }
    w:job("j", 'job {}\nlocal rows = extract { from = "s" }\nmerge { rows, into = "t", key = "id" }\nreconcile { rows, with = "t", deep = true }\n'):ok "j.lua"
    w:job("j", 'job {}\nlocal rows = extract { from = "s" }\nfull_load { rows, into = "u" }\nreconcile { rows, with = "u", deep = true }\n'):ok "j.lua"
    w:job("j", 'job {}\nlocal rows = extract { from = "s" }\nreconcile { rows, with = "t", deep = true }\n')
    w:refused(1, { "j.lua:3", "key" }, "j.lua")
  end)

  it("compares named columns, also under other names", function()
    local w = pair.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT, n INTEGER, only_here INTEGER); INSERT INTO s VALUES (1, 'a', 5, 1);",
      warehouse = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, m INTEGER); INSERT INTO t VALUES (1, 'b', 5);" }
    w:job("check", CHECK:format 'key = "id", columns = { n = "m" }'):ok "check.lua"
    w:job("check", CHECK:format 'key = "id"')
    local r = w:refused(3, { "different 1 (v", hint = false }, "check.lua")
    assert.is_truthy(r.out:find("not compared", 1, true) and r.out:find("only_here", 1, true), r.out)
    w:job("check", CHECK:format 'key = "id", columns = "vv"')
    w:refused(1, { "vv" }, "check.lua")
  end)

  it("compares mapped rows as they came out of the map", function()
    local w = pair.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, a DECIMAL(10,2), d DATE, m TIMESTAMP); " ..
      "INSERT INTO s VALUES (1, 1.5, '2026-01-01', '2026-01-01 10:00:00.5'), (2, NULL, NULL, NULL);" }
    w:job("j", [[
job {}
local rows = extract { from = "s" }:map(function(row) row.twice = row.id * 2 return row end, { twice = "integer" })
full_load { rows, into = "t" }
reconcile { rows, with = "t", deep = true, key = "id" }
execute { "UPDATE t SET twice = 5 WHERE id = 2" }
reconcile { rows, with = "t", deep = true, key = "id" }
]])
    w:refused(3, { "j.lua:6", "different 2 (twice 4 <> 5)", hint = false }, "j.lua")
  end)

  it("names the keys of each date with lrun reconcile --rows, and writes nothing", function()
    local w = pair.with "INSERT INTO s VALUES (1,'a','2026-01-01 00:00:00'), (2,'b','2026-01-02 00:00:00'), (3,'c','2026-01-03 00:00:00');"
    w:job("j", [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window() }
overwrite_partition { rows, into = "t" }
reconcile { rows, with = "t" }
]]):ok("backfill", "j.lua", "--from", "2026-01-01", "--to", "2026-01-03")
    local range = { "reconcile", "j.lua", "--from", "2026-01-01", "--to", "2026-01-03" }
    w:warehouse "UPDATE t SET v = 'x' WHERE id = 1; UPDATE t SET id = 30 WHERE id = 3;"
    w:ok(table.unpack(range))
    local before = w:bytes()
    range[#range + 1] = "--rows"
    local r = w:lrun(table.unpack(range))
    assert.equal(3, r.status)
    assert.is_truthy(r.out:find("2026%-01%-01  DIFFERS[^\n]*\n%s+different 1 %(v 'a' <> 'x'%)\n"), r.out)
    assert.is_truthy(r.out:find("2026%-01%-03  DIFFERS[^\n]*\n%s+missing 3\n%s+extra 30\n"), r.out)
    assert.is_truthy(r.out:find "2026%-01%-02  ok")
    assert.equal(before, w:bytes())
    local keys = {}
    range[#range + 1] = "--json"
    for line in w:lrun(table.unpack(range)).out:gmatch "[^\n]+" do
      local event = cjson.decode(line)
      if event.event == "check" and event.text ~= cjson.null and event.text then keys[#keys + 1] = event.logical_date .. " " .. event.group_value end
    end
    assert.same({ "2026-01-01 1", "2026-01-03 3", "2026-01-03 30" }, keys)
  end)

  it("asks for a key with lrun reconcile --rows where none is known", function()
    local w = pair.new { source = "CREATE TABLE s(id INTEGER, at TIMESTAMP); INSERT INTO s VALUES (1, '2026-01-01 00:00:00');",
      warehouse = "CREATE TABLE t(id INTEGER, at TIMESTAMP);" }
    w:job("j", [[
job { grain = "day" }
local rows = extract { from = "s", by = "at", window = window() }
overwrite_partition { rows, into = "t" }
reconcile { rows, with = "t" }
]])
    w:refused(1, { "j.lua:4", "pass key" }, "reconcile", "j.lua", "--from", "2026-01-01", "--to", "2026-01-01", "--rows")
  end)
end)
