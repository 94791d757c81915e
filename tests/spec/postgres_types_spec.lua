-- PostgreSQL's types (S27): verbatim between two PostgreSQL databases, in their
-- documented form in SQLite, and the same after the way there and back.
local pairs_of = require "pairs"
local world = require "world"

local by_name = pairs_of.by_name

-- Types that the tests make, for both databases.
local OWN = "CREATE TYPE mood AS ENUM ('sad', 'ok', 'it''s'); CREATE DOMAIN positive AS int CHECK (VALUE > 0); CREATE TYPE pair AS (a int, b text);"

-- A type and literals of it. `lite` is the text in SQLite where it is not what
-- the type prints; `only` are literals that SQLite's columns cannot hold.
local GROUPS = {
  numbers = {
    { "smallint", "32767", "-32768" },
    { "integer", "2147483647", "-2147483648" },
    { "bigint", "9223372036854775807", "-9223372036854775808" },
    { "numeric", "20", "17.685", "0.00000000000000006938893903907228", "12345678901234567890.123456789", "-0.10", "'NaN'", "1e100", "'Infinity'" },
    { "numeric(10,2)", "1.5", "-99999999.99", lite = { "1.5", "-99999999.99" } },
    { "numeric(3,-2)", "12300" },
    { "real", "0.1", "1e38", "1.17549435e-38", only = { "'-0'", "'NaN'", "'Infinity'" } },
    { "double precision", "0.1", "1e308", "5e-324", "0.1::float8 + 0.2", only = { "'-0'", "'NaN'", "'-Infinity'" } },
    { "boolean", "true", "false", lite = { "1", "0" } },
    { "money", "'-12.34'" },
    { "oid", "4294967295" },
    { "positive", "7" },
  },
  texts = {
    { "text", "''", "E'a\\r\\n\\t\\\\b'", "'NULL'", "'\\N'" },
    { "varchar(5)", "'abc'", "'äöü'" },
    { "char(5)", "'ab'", "''" },
    { "\"char\"", "'x'" },
    { "name", "'a name'" },
    { "mood", "'sad'", "'it''s'" },
    { "uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'" },
    { "bytea", "'\\x00ff'", "''::bytea", "'\\x5c4e0a'", lite = { "x'00ff'", "x''", "x'5c4e0a'" } },
    { "bit(3)", "B'101'" },
    { "bit varying", "B'10101'" },
    { "xml", "'<a>&amp;</a>'" },
    { "tsvector", "'a:1 b:2'" },
  },
  documents = {
    { "jsonb", [['{"b":1,"a":18446744073709551616}']], "'null'", [=[E'[1, 2.50, "x\\ty"]']=] },
    { "json", [['{"b" : 1,  "a":18446744073709551616, "a":2}']], "'null'" },
    { "int[]", "'{1,NULL,3}'", "'{}'", "'[0:1]={1,2}'", "'{{1,2},{3,4}}'" },
    { "text[]", [=[ARRAY['a,b', '"q"', NULL, 'NULL', '', '\']]=], "ARRAY[E'a\\tb\\n']" },
    { "pair", "ROW(1, 'x,y')", "ROW(NULL, '\"')" },
    { "int4range", "'[1,5)'", "'empty'" },
    { "tstzrange", "'[2024-01-01 00:00:00+05:45,)'" },
    { "int4multirange", "'{[1,2), [5,7)}'" },
    { "timestamptz[]", "ARRAY['2024-01-01 00:00:00+05:45'::timestamptz]" },
  },
  others = {
    { "interval", "'1 mon 2 days'", "'-1 day 03:04:05.678901'", "'0'", "'178000000 years'" },
    { "time", "'23:59:59.999999'", "'24:00:00'" },
    { "timetz", "'10:00:00+05:45'" },
    { "date", "'2024-02-29'" },
    { "timestamp", "'2024-02-29 01:02:03.000004'" },
    { "timestamptz", "'2024-02-29 01:02:03.500001+05:45'", lite = { "2024-02-28 19:17:03.500001+00:00" } },
    { "timestamp(0)", "'2024-02-29 01:02:03'" },
    { "inet", "'192.168.0.1/24'", "'::1'" },
    { "cidr", "'10.0.0.0/8'" },
    { "macaddr", "'08:00:2b:01:02:03'" },
    { "point", "'(1.5,2)'" },
    { "box", "'(3,4),(1,2)'" },
    { "regclass", "'pg_class'" },
    { "pg_lsn", "'16/B374D848'" },
  },
}

-- Tables s1, s2, ... of a group's types.
local function statements(group, name, filled, all)
  local sql = {}
  for n, type in ipairs(group) do
    local rows = {}
    for i, literal in ipairs(type) do
      if i > 1 then rows[#rows + 1] = ("(%d, (%s)::%s)"):format(i, literal, type[1]) end
    end
    for i, literal in ipairs(all and type.only or {}) do rows[#rows + 1] = ("(%d, (%s)::%s)"):format(50 + i, literal, type[1]) end
    sql[#sql + 1] = ("CREATE TABLE %s%d(id int PRIMARY KEY, v %s);"):format(name, n, type[1])
    if filled then sql[#sql + 1] = ("INSERT INTO %s%d VALUES %s, (99, NULL);"):format(name, n, table.concat(rows, ", ")) end
  end
  return table.concat(sql, "\n")
end

-- What the type prints; ::text would trim char(n) and complete inet.
local PRINTED = "CASE WHEN NOT v IS NULL THEN format('%s', v) END"
-- The rows of the tables name1, name2, ... of a group, each with its type.
local function held(read, group, name, expression)
  local parts, rows = {}, {}
  for n in ipairs(group) do parts[n] = ("SELECT %d, id, %s FROM %s%d"):format(n, expression, name, n) end
  for i, row in ipairs(read(table.concat(parts, " UNION ALL ") .. " ORDER BY 1, 2")) do
    rows[i] = row:gsub("^%d+", function(n) return group[tonumber(n)][1] end)
  end
  return rows
end

local JOB = [[
job {}
for n = 1, COUNT do
  local rows = extract { from = "s" .. n }
  merge { rows, into = "t" .. n, key = "id" }
  full_load { rows, into = "full" .. n }
  insert_new { rows, into = "new" .. n, key = "id" }
  merge { rows:map(function(row) return row end), into = "mapped" .. n, key = "id" }
  reconcile { rows, with = "t" .. n }
end
]]

for _, name in ipairs { "postgresql->postgresql", "postgresql same database" } do
  local pair = by_name[name]
  describe("verbatim, " .. name .. ",", function()
    for what, group in pairs(GROUPS) do
      it("are " .. what, function()
        local w = pair.new { source = OWN .. statements(group, "s", true, true),
                             warehouse = (pair.same and "" or OWN) .. statements(group, "full", false) }
        w:job("j", (JOB:gsub("COUNT", #group)))
        local expected = held(function(q) return w:source_rows(q) end, group, "s", PRINTED)
        for round = 1, 2 do
          w:ok "j.lua"
          for _, t in ipairs { "t", "full", "new", "mapped" } do
            assert.same(expected, held(function(q) return w:rows(q) end, group, t, PRINTED), t)
          end
          -- Once there, they are there: nothing differs.
          if round == 2 then
            assert.same({ "insert_new|0|0", "merge|0|0" }, w:rows [[SELECT primitive, sum(rows_inserted), sum(rows_updated)
              FROM lrun_writes WHERE run_id = 2 AND primitive <> 'full_load' GROUP BY primitive ORDER BY primitive]])
          end
        end
        for n, type in ipairs(group) do
          -- A domain may become the type that it is of.
          if type[1] ~= "positive" then assert.equal(w.from:type("s" .. n, "v"), w.to:type("t" .. n, "v")) end
        end
      end)
    end
  end)
end

describe("in SQLite", function()
  local there, back = by_name["postgresql->sqlite"], by_name["sqlite->postgresql"]
  for what, group in pairs(GROUPS) do
    local function in_sqlite()
      local w = there.new { source = OWN .. statements(group, "s", true) }
      w:job("j", (JOB:gsub("COUNT", #group)))
      w:ok "j.lua"
      return w
    end

    it("have their documented form: " .. what, function()
      local w = in_sqlite()
      w:ok "j.lua"
      local expected = held(function(q) return w:source_rows(q) end, group, "s", PRINTED)
      -- Where a type's form in SQLite is another, and floats by their value.
      local at = {}
      for _, type in ipairs(group) do
        for i, text in ipairs(type.lite or {}) do at[type[1] .. "|" .. i + 1] = text end
      end
      local function form(row)
        local type, id, value = row:match "^([^|]*)|(%d+)|(.*)$"
        if type == "real" or type == "double precision" then value = tonumber(value) or value end
        return type .. "|" .. id .. "|" .. (at[type .. "|" .. id] or value)
      end
      for i, row in ipairs(expected) do expected[i] = form(row) end
      for _, t in ipairs { "t", "full", "new", "mapped" } do
        local rows = held(function(q) return w:rows(q) end, group, t, "v")
        for i, row in ipairs(rows) do
          local type = row:match "^[^|]*"
          if type == "real" or type == "double precision" then rows[i] = form(row) end
        end
        assert.same(expected, rows, t)
      end
      assert.same({ "0|0" }, w:rows "SELECT sum(rows_inserted), sum(rows_updated) FROM lrun_writes WHERE run_id = 2 AND primitive = 'merge'")
    end)

    it("are the same when they come back: " .. what, function()
      local w = in_sqlite()
      local v = back.new { warehouse = OWN .. statements(group, "back", false) .. statements(group, "full", false) }
      v:connect(w.to:url(), v.to:url())
      v:job("j", ([[
        job {}
        for n = 1, %d do
          merge { extract { from = "t" .. n }, into = "back" .. n, key = "id" }
          full_load { extract { from = "t" .. n }, into = "full" .. n }
        end
      ]]):format(#group))
      v:ok "j.lua"
      local expected = held(function(q) return w:source_rows(q) end, group, "s", PRINTED)
      for _, t in ipairs { "back", "full" } do
        assert.same(expected, held(function(q) return v:rows(q) end, group, t, PRINTED), t)
      end
      v:ok "j.lua"
      assert.same({ "0|0" }, v:rows "SELECT sum(rows_inserted), sum(rows_updated) FROM lrun_writes WHERE run_id = 2 AND primitive = 'merge'")
    end)
  end

  it("NaN and infinities are refused by a column of numbers, and named", function()
    for _, type in ipairs { "double precision", "real" } do
      for _, value in ipairs { "NaN", "Infinity", "-Infinity" } do
        local w = there.new { source = ("CREATE TABLE s(id int PRIMARY KEY, v %s); INSERT INTO s VALUES (1, 0.5), (77, '%s');"):format(type, value) }
        for _, rows in ipairs { 'extract { from = "s" }', 'extract { from = "s" }:map(function(row) return row end)' } do
          w:job("j", "job {}\nmerge { " .. rows .. ', into = "t", key = "id" }')
          w:refused(1, { "j.lua:2", "t", "column v", "77", hint = false }, "j.lua")
          assert.is_false(w:has "t")
        end
        w:job("j", 'job {}\nmerge { extract { from = "s", columns = { id = "id", v = "v::text" } }, into = "t", key = "id" }'):ok "j.lua"
        assert.same({ "77|" .. value }, w:rows "SELECT id, v FROM t WHERE id = 77")
      end
    end
  end)

  it("a wide numeric makes a column of text, and says so", function()
    local w = there.new { source = "CREATE TABLE s(id int PRIMARY KEY, a numeric, b numeric(20,2), c numeric(15,2)); INSERT INTO s VALUES (1, 1, 2, 3);" }
    w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }')
    local r = w:ok "j.lua"
    assert.equal("text", w.to:type("t", "a"))
    assert.equal("text", w.to:type("t", "b"))
    assert.is_truthy(w.to:type("t", "c") ~= "text")
    assert.is_truthy((r.out .. r.err):find "TEXT", r.out)
  end)
end)

describe("a type that the warehouse does not have", function()
  it("is refused, naming column and type, before anything is written", function()
    local pair = by_name["postgresql->postgresql"]
    for _, type in ipairs { "mood", "pair" } do
      local w = pair.new { source = OWN .. ("CREATE TABLE s(id int PRIMARY KEY, v %s); INSERT INTO s VALUES (1, NULL);"):format(type) }
      w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }')
      w:refused(1, { "j.lua:2", "t", type, hint = false }, "j.lua")
      assert.is_false(w:has "t")
      -- As text it goes.
      w:job("j", 'job {}\nmerge { extract { from = "s", columns = { id = "id", v = "v::text" } }, into = "t", key = "id" }'):ok "j.lua"
    end
  end)

  it("is found in the schema where it lies", function()
    local pair = by_name["postgresql->postgresql"]
    local own = 'CREATE SCHEMA "Other"; CREATE TYPE "Other"."Mood" AS ENUM (\'sad\');'
    local w = pair.new { source = own .. 'CREATE TABLE s(id int PRIMARY KEY, v "Other"."Mood", a "Other"."Mood"[]); INSERT INTO s VALUES (1, \'sad\', \'{sad,NULL}\');',
                         warehouse = own }
    w:job("j", [[
      job {}
      merge { extract { from = "s" }, into = "t", key = "id" }
      merge { extract { from = "s" }:map(function(row) return row end), into = "t2", key = "id" }
    ]])
    w:ok "j.lua"
    w:ok "j.lua"
    assert.same({ "1|sad|{sad,NULL}" }, w:rows "SELECT id, v::text, a::text FROM t")
    assert.same({ "1|sad|{sad,NULL}" }, w:rows "SELECT id, v::text, a::text FROM t2")
    assert.equal('"Other"."Mood"', w.to:type("t", "v"))
  end)

  it("and an array of another element type is not taken for it", function()
    local pair = by_name["postgresql->postgresql"]
    local w = pair.new { source = "CREATE TABLE s(id int PRIMARY KEY, v int[]); INSERT INTO s VALUES (1, '{1,2}');",
                         warehouse = "CREATE TABLE t(id int PRIMARY KEY, v text);" }
    w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }')
    local r = w:lrun "j.lua"
    if r.status == 0 then assert.same({ "1|{1,2}" }, w:rows "SELECT * FROM t") else world.says(r, 1, { "j.lua:2", "v", hint = false }) end
  end)
end)
