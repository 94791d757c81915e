-- Numbers stay numbers through group and scd2_join (S45), types are known by what they are
-- and not by their name's beginning (S46), and keys are equal by the target's type (S51).
local copies = require "copies"
local pairs_of = require "pairs"

local function wrote(w)
  return w:one [[SELECT 'inserted ' || coalesce(sum(rows_inserted), 0) || ', updated ' || coalesce(sum(rows_updated), 0)
    FROM lrun_writes WHERE run_id = (SELECT max(run_id) FROM lrun_runs)]]
end

-- ---- S45 ----

local INTEGER = { sqlite = { integer = true }, postgresql = { bigint = true, integer = true, numeric = true } }
local DOUBLE = { sqlite = { real = true }, postgresql = { ["double precision"] = true } }
local AVERAGE = { sqlite = { real = true }, postgresql = { ["double precision"] = true, numeric = true } }
local NUMERIC = { sqlite = { integer = true, real = true }, postgresql = { numeric = true } }
local AGGREGATES = {
  { "COUNT(*)", INTEGER, "10" }, { "COUNT(DISTINCT x)", INTEGER, "10" },
  { "SUM(n)", INTEGER, "100" }, { "SUM(b)", INTEGER, "90000000000" }, { "MAX(n)", INTEGER, "10" }, { "MIN(b)", INTEGER, "9000000000" },
  { "SUM(d)", NUMERIC, 1 }, { "MAX(d)", NUMERIC, 0.1 },
  { "SUM(r)", DOUBLE }, { "MAX(r)", DOUBLE, 0.1 }, { "SUM(r * n)", DOUBLE }, { "SUM(r * 2.5)", DOUBLE },
  { "AVG(n)", AVERAGE, 10 }, { "AVG(r)", DOUBLE }, { "AVG(d)", AVERAGE, 0.1 },
}

local function same_number(held, expected)
  return type(expected) == "string" and held == expected or type(expected) == "number" and tonumber(held) == expected
end

pairs_of.each("numbers", function(pair)
  local rows = {}
  for i = 1, 10 do rows[i] = ("(%d, 'a', 10, 9000000000, 0.1, 0.1, 'x%d', '2024-01-05')"):format(i, i) end
  rows[11] = "(11, 'b', 9, 1, 9.5, 9.5, 'y', '2024-01-05')"
  local SOURCE = "CREATE TABLE s(id INTEGER PRIMARY KEY, k TEXT, n INTEGER, b {bigint}, d DECIMAL(10,2), r {double}, x TEXT, day DATE);\n" ..
    "INSERT INTO s VALUES " .. table.concat(rows, ", ") .. ";\n"
  local class = pair.warehouse == "sqlite" and "typeof(v)" or "pg_typeof(v)::text"

  it("S45 that group makes stay numbers, and the column that was made takes them again", function()
    local w = pair.new { source = SOURCE }
    for n, aggregate in ipairs(AGGREGATES) do
      w:job("j" .. n, ('job {}\nmerge { group { extract { from = "s" }, by = "k", v = "%s" }, into = "t%d", key = "k" }\n'):format(aggregate[1], n))
    end
    local wrong = {}
    for n, aggregate in ipairs(AGGREGATES) do
      for round = 1, 2 do
        local r = w:lrun(("j%d.lua"):format(n))
        if r.status ~= 0 then
          wrong[#wrong + 1] = aggregate[1] .. ": " .. r.err
          break
        end
        if round == 2 and wrote(w) ~= "inserted 0, updated 0" then wrong[#wrong + 1] = aggregate[1] .. ": second run: " .. wrote(w) end
        local held = w:table(("SELECT v, %s FROM t%d WHERE k = 'a'"):format(class, n))[1]
        if not aggregate[2][pair.warehouse][held[2]] then wrong[#wrong + 1] = ("%s: %s is of type %s"):format(aggregate[1], held[1], held[2]) end
        if aggregate[3] and not same_number(held[1], aggregate[3]) then wrong[#wrong + 1] = ("%s: %s, not %s"):format(aggregate[1], held[1], aggregate[3]) end
      end
    end
    assert.same({}, wrong)
  end)

  it("S45 that group makes go into columns that are there", function()
    local real = pair.warehouse == "sqlite" and "REAL" or "double precision"
    local w = pair.new { source = SOURCE, warehouse = ("CREATE TABLE t(k TEXT PRIMARY KEY, c INTEGER, r %s, p %s, a %s, d NUMERIC);"):format(real, real, real) }
    w:job("j", [[
job {}
merge { group { extract { from = "s" }, by = "k", c = "COUNT(*)", r = "SUM(r)", p = "SUM(r * n)", a = "AVG(n)", d = "SUM(d)" }, into = "t", key = "k" }
]])
    for round = 1, 2 do
      w:ok "j.lua"
      if round == 2 then assert.equal("inserted 0, updated 0", wrote(w)) end
      local row = w:table("SELECT c, a, d FROM t ORDER BY c DESC")[1]
      assert.equal("10 10 1", ("%s %g %g"):format(row[1], row[2], row[3]))
    end
    -- Numbers sort as numbers.
    assert.same({ "b", "a" }, w:rows "SELECT k FROM t ORDER BY c")
    assert.same({ "a", "b" }, w:rows "SELECT k FROM t ORDER BY r")
  end)

  it("S45 past 64 bits are exact or refused", function()
    local w = pair.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, b {bigint}); INSERT INTO s VALUES (1, 9223372036854775807), (2, 1);" }
    w:job("j", 'job {}\nmerge { group { extract { from = "s", columns = { one = "1", b = "b" } }, by = "one", v = "SUM(b)" }, into = "t", key = "one" }')
    local r = w:lrun "j.lua"
    if r.status == 0 then assert.equal("9223372036854775808", w:one "SELECT CAST(v AS TEXT) FROM t")
    else require "world".says(r, 1, { "j.lua:2", "v", "9223372036854775808", hint = false }) end
  end)

  it("S45 that scd2_join takes from a dimension keep its types", function()
    local w = pair.new { source = SOURCE, warehouse = [[
      CREATE TABLE dim(k TEXT, i INTEGER, big {bigint}, r {double}, d DECIMAL(10,2), y {boolean}, x TEXT, valid_from DATE, valid_to DATE);
      INSERT INTO dim VALUES ('a', 9, 9007199254740993, 0.1, 1.25, {yes}, '9', '2000-01-01', NULL), ('b', 10, 1, 10.0, 2, {no}, '10', '2000-01-01', NULL);]] }
    w:job("j", [[
job { grain = "day" }
local facts = extract { from = "s", columns = { "id", "k", "day" } }
local joined = scd2_join { facts, dim = "dim", key = "k", at = "day", take = { "i", "big", "r", "d", "y", "x" } }
merge { joined, into = "t", key = "id" }
merge { group { joined, by = "k", n = "SUM(i)", r = "MAX(r)" }, into = "g", key = "k" }
]])
    for round = 1, 2 do
      w:ok "j.lua"
      if round == 2 then assert.equal("inserted 0, updated 0", wrote(w)) end
    end
    local of = pair.warehouse == "sqlite" and "typeof(%s)" or "pg_typeof(%s)::text"
    local parts = {}
    for _, column in ipairs { "i", "big", "r", "d", "y", "x" } do parts[#parts + 1] = of:format(column) end
    -- Numbers, as they were; an integer may become a wider one.
    assert.equal(pair.warehouse == "sqlite" and "integer|integer|real|real|integer|text" or "bigint|bigint|double precision|numeric|boolean|text",
      (w:one("SELECT " .. table.concat(parts, ", ") .. " FROM t WHERE id = 1"):gsub("^integer|bigint", "bigint|bigint")))
    assert.equal("9|9007199254740993|0.1|1.25|9", w:one "SELECT i, big, r, d, x FROM t WHERE id = 1")
    assert.same({ "11" }, w:rows "SELECT id FROM t WHERE i > 9 AND r > 9")
    assert.same({ "b|10", "a|90" }, w:rows "SELECT k, n FROM g ORDER BY n")
  end)
end)

-- ---- S46 ----

-- A type whose name begins as another's does: how it is made, a value, and its class in SQLite.
local NAMED = {
  { "date_key", "CREATE DOMAIN date_key AS int", "20240101", "integer" },
  { "realm", "CREATE TYPE realm AS ENUM ('north', '1.5')", "'north'", "text" },
  { "integer_kind", "CREATE TYPE integer_kind AS ENUM ('even')", "'even'", "text" },
  { "boolean_state", "CREATE TYPE boolean_state AS ENUM ('maybe')", "'maybe'", "text" },
  { "daterange", "", "'[2024-01-01,2024-01-05)'", "text" },
  { "numeric_text", "CREATE DOMAIN numeric_text AS text", "'twelve'", "text" },
  { "timestamp_kind", "CREATE TYPE timestamp_kind AS ENUM ('soon')", "'soon'", "text" },
  { "time_unit", "CREATE TYPE time_unit AS ENUM ('hour')", "'hour'", "text" },
  { "bytea_form", "CREATE TYPE bytea_form AS ENUM ('hex')", "'hex'", "text" },
  { "smallint_name", "CREATE DOMAIN smallint_name AS varchar(20)", "'small'", "text" },
  { "text_number", "CREATE DOMAIN text_number AS bigint", "9007199254740993", "integer" },
  { "double_entry", "CREATE TYPE double_entry AS (a int, b text)", "'(1,x)'", "text" },
  { "interval_key", "CREATE DOMAIN interval_key AS int", "7", "integer" },
  { "datemultirange", "", "'{[2024-01-01,2024-01-05)}'", "text" },
  { "numrange", "", "'[1.5,2.5)'", "text" },
  { "int4range", "", "'[1,5)'", "text" },
  { "tsrange", "", [['["2024-01-01 00:00:00","2024-01-02 00:00:00")']], "text" },
  { "varchar_of", "CREATE DOMAIN varchar_of AS date", "'2024-01-05'", "text" },
}

pairs_of.each("types", function(pair)
  it("S46 are known by what they are, not by how their name begins", function()
    local own, new, there = {}, {}, {}
    for i, case in ipairs(NAMED) do
      own[i] = case[2] ~= "" and case[2] .. ";" or ""
      local kept = case[3]:gsub("^'(.*)'$", "%1")
      local from = pair.source == "sqlite" and (case[4] == "integer" and "INTEGER" or "TEXT") or case[1]
      local class = { sqlite = case[4] }
      new[i] = pair.source ~= "sqlite" and { source = from, value = case[3], expect = kept, class = class } or nil
      if pair.warehouse == "postgresql" then
        there[i] = { source = from, value = case[3], target = { postgresql = case[1] }, expect = kept }
      else
        there[i] = { source = from, value = case[3], target = { sqlite = case[4] == "integer" and "INTEGER" or "TEXT" }, expect = kept, class = class }
      end
    end
    local ways = { "merge", "insert_new", "full_load", "keyed", "map", "scd2", "changes" }
    copies.check(pair, there, ways, { postgresql = table.concat(own) })
    copies.check(pair, new, ways, { postgresql = table.concat(own) })
  end)

  it("S46 a domain over int is a time column by no means, and a key as any other", function()
    if pair.source == "sqlite" then return end
    local own = "CREATE DOMAIN date_key AS int; CREATE TYPE realm AS ENUM ('b', 'a');"
    local w = pair.new { source = own .. "CREATE TABLE s(k date_key, r realm, v numeric(10,2), PRIMARY KEY (k, r)); INSERT INTO s VALUES (20240101, 'a', 1.5), (20240101, 'b', 2.5);",
      warehouse = (pair.same or pair.warehouse == "sqlite") and "" or own }
    w:job("j", [[
job {}
local rows = extract { from = "s" }
merge { rows, into = "t", key = { "k", "r" } }
merge { group { rows, by = "r", n = "COUNT(*)", k = "MAX(k)" }, into = "g", key = "r" }
delete_missing { rows, from = "t", key = { "k", "r" } }
reconcile { rows, with = "t", key = { "k", "r" }, deep = true, sum = "v" }
]])
    for round = 1, 2 do
      w:ok "j.lua"
      if round == 2 then assert.equal("inserted 0, updated 0", wrote(w)) end
      assert.same({ "20240101|a", "20240101|b" }, w:rows "SELECT k, r FROM t ORDER BY CAST(r AS TEXT)")
      assert.same({ "a|1|20240101", "b|1|20240101" }, w:rows "SELECT r, n, k FROM g ORDER BY CAST(r AS TEXT)")
    end
  end)
end)

-- ---- S51 ----

-- The target's key type, two spellings of one key, the source's type; `own` is made before.
local KEYS = {
  postgresql = {
    { "citext", "Tag", "tag", own = "CREATE EXTENSION citext;" },
    { "char(6)", "A", "A  " },
    { "uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}" },
    { "numeric", "1.0", "1.00" },
    { "timestamptz", "2024-01-05 10:00:00Z", "2024-01-05 12:00:00+02:00", "2024-01-05 10:00:00+00" },
    { "inet", "10.0.0.1", "10.0.0.1/32" },
    { "text COLLATE ci", "Tag", "TAG", own = "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);" },
  },
  sqlite = {
    { "TEXT COLLATE NOCASE", "Tag", "tag" },
    { "TEXT COLLATE RTRIM", "A", "A  " },
    { "VARCHAR(6) COLLATE NOCASE", "ABC", "abc" },
  },
}
local WRITES = {
  { "merge", 'merge { rows, into = "T", key = "k" }' },
  { "newest", 'merge { rows, into = "T", key = "k", newest = "n" }', latest = true },
  { "insert_new", 'insert_new { rows, into = "T", key = "k" }', leaves = true },
  { "keyed", 'overwrite_partition { rows, into = "T", key = "k" }' },
  { "map", 'merge { rows:map(function(row) return row end), into = "T", key = "k" }' },
  { "changes", 'apply_changes { changes, into = "T", key = "k" }', latest = true, apply = true },
}
local DELETE = { "delete_missing", 'delete_missing { rows, from = "T", key = "k" }', leaves = true }
local JOB = [[
job { grain = "day" }
local rows = extract { from = "S", columns = { "k", "v", "n", "day" }, by = "day", window = window "2024-01-05" }
local changes = extract { from = "S", columns = { "k", "v", "op", "seq" } }
%s
]]
local DEEP = 'reconcile { rows, with = "T", key = "k", deep = true }'

-- Every key type, with a constraint and without, in every way: tables and a job for each.
-- rows_of(case) gives the source's spellings and the one that the target holds.
local function runs(pair, writes, times, rows_of, deep)
  local list, source, warehouse, made = {}, {}, {}, {}
  for _, case in ipairs(KEYS[pair.warehouse]) do
    if case.own and not made[case.own] then
      made[case.own] = true
      warehouse[#warehouse + 1] = case.own
    end
    for _, constraint in ipairs { "", case[1]:find "COLLATE" and " UNIQUE" or " PRIMARY KEY" } do
      for _, write in ipairs(writes) do
        local n, values = #list + 1, {}
        local spellings, held = rows_of(case)
        for i, k in ipairs(spellings) do values[i] = ("('%s', 'v%d', %d, '2024-01-05', 'insert', %d)"):format(k, i, i, i) end
        source[n] = ("CREATE TABLE s%d(k TEXT, v TEXT, n INTEGER, day DATE, op TEXT, seq INTEGER); INSERT INTO s%d VALUES %s;"):format(n, n, table.concat(values, ", "))
        warehouse[#warehouse + 1] = ("CREATE TABLE t%d(k %s%s, v TEXT, n INTEGER, day DATE%s);"):format(n, case[1], constraint, write.apply and ", op TEXT, seq INTEGER" or "")
        if held then warehouse[#warehouse + 1] = ("INSERT INTO t%d(k, v, n, day) VALUES ('%s', 'old', 0, '2024-01-05');"):format(n, held) end
        local text = JOB:format(write[2] .. (deep and not write.leaves and not write.apply and "\n" .. DEEP or ""))
        list[n] = { case = case, write = write, title = write[1] .. " by " .. case[1] .. constraint, text = text:gsub('"([ST])"', function(c) return '"' .. c:lower() .. n .. '"' end) }
      end
    end
  end
  local w = pair.new { source = table.concat(source, "\n"), warehouse = table.concat(warehouse, "\n") }
  local argvs, parts = {}, {}
  for n, one in ipairs(list) do
    w:job("j" .. n, one.text)
    for _ = 1, times do argvs[#argvs + 1] = { ("j%d.lua"):format(n) } end
    parts[n] = ("SELECT %d, v FROM t%d"):format(n, n)
  end
  local results, held = copies.run(w, argvs), {}
  for _, row in ipairs(w:table(table.concat(parts, " UNION ALL ") .. " ORDER BY 1, 2")) do
    local n = math.tointeger(tonumber(row[1]))
    held[n] = (held[n] and held[n] .. ", " or "") .. row[2]
  end
  for n, one in ipairs(list) do
    one.first, one.last, one.held = results[times * n - times + 1], results[times * n], held[n]
  end
  return list
end

local function message(r) return (r.err:gsub("\n.*$", ""):sub(1, 250)) end

pairs_of.each("keys", function(pair)
  it("S51 that are equal by the target's type are one key twice, and named", function()
    local wrong = {}
    for _, one in ipairs(runs(pair, WRITES, 1, function(case) return { case[2], case[3] } end)) do
      local r, case = one.first, one.case
      local named = (r.err:find("column k", 1, true) or r.err:find("key k", 1, true)) and
        (r.err:find(case[2], 1, true) or r.err:find(case[3], 1, true) or r.err:find(case[4] or case[2], 1, true))
      -- Where the latest of two wins, two spellings are two states of one key.
      local right = one.write.latest and r.status == 0 and one.held == "v2" or
        not one.write.latest and r.status == 1 and not one.held and named and not r.err:find "SQLSTATE" and not r.err:find "constraint failed"
      if not right then wrong[#wrong + 1] = ("%s: status %d, %s: %s"):format(one.title, r.status, one.held or "no row", message(r)) end
    end
    assert.same({}, wrong)
  end)

  it("S51 are matched with the row that is there, and deep judges by the same rule", function()
    local wrong = {}
    local list = runs(pair, { DELETE, table.unpack(WRITES) }, 2, function(case) return { case[3] }, case[2] end, true)
    for _, one in ipairs(list) do
      local r = one.first.status ~= 0 and one.first or one.last
      if r.status ~= 0 or one.held ~= (one.write.leaves and "old" or "v1") then
        wrong[#wrong + 1] = ("%s: status %d, %s: %s"):format(one.title, r.status, one.held or "no row", message(r))
      end
    end
    assert.same({}, wrong)
  end)
end)
