-- How rows travel between two PostgreSQL databases: bytes as they are where the
-- columns have the same types, value by value else; and not at all in one database.
local pairs_of = require "pairs"
local postgres = require "postgres"
local process = require "process"

local by_name = pairs_of.by_name
local pair = by_name["postgresql->postgresql"]

-- Every type of design/7 with its ends, and one that has no binary form of its own.
local COLUMNS = [[id bigint PRIMARY KEY, i2 smallint, i4 integer, f4 real, f8 double precision, b boolean, t text, vc varchar(20), c char(4),
  y bytea, d date, ts timestamp, tz timestamptz, n numeric, n2 numeric(12,2), u uuid, j json, jb jsonb]]
local VALUES = [[
  (1, -32768, 2147483647, 1.17549435e-38, 5e-324, true, E'a\t\\\n\r', 'äöü', 'ab', '\x00ff5c0a', '2024-02-29', '2024-02-29 01:02:03.000004', '2024-02-29 01:02:03.5+05:45',
    0.00000000000000006938893903907228, -99999999.99,
    'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"b" : 1,  "a":2, "a":3}', '{"a": 18446744073709551616}'),
  (-9223372036854775808, 32767, -2147483648, 'NaN', '-Infinity', false, '', '', '', '', 'infinity', '-infinity', 'infinity', 'NaN', 'NaN', NULL, 'null', 'null'),
  (9223372036854775807, 0, 0, '-0', '-0', NULL, '\N', 'NULL', '\.', '\x', '0044-03-15 BC', '294276-12-31 23:59:59.999999', '4713-01-01 00:00:00+00 BC',
    1e100, 0.00, 'ffffffff-ffff-ffff-ffff-ffffffffffff', '[1, 2.50]', '"x\ty"'),
  (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)]]
local MOOD = "CREATE TYPE mood AS ENUM ('sad', 'ok');"

local JOB = [[
job {}
local rows = extract { from = "s" }
full_load { rows, into = "whole", stamp = "loaded_at" }
merge { rows, into = "t", key = "id" }
full_load { rows:map(function(row) return row end), into = "mapped" }
]]

describe("rows between two databases", function()
  for what, more in pairs { ["of common types"] = "", ["with a type of the user"] = ", m mood" } do
    for _, way in ipairs { "", "text" } do
      it(("%s are the same to the last byte%s"):format(what, way == "text" and ", also where binary COPY is not done" or ""), function()
        local w = pair.new { source = MOOD .. ("CREATE TABLE s(%s%s); INSERT INTO s VALUES %s;"):format(COLUMNS, more, VALUES),
          warehouse = MOOD .. ("CREATE TABLE t(%s%s); CREATE TABLE whole(LIKE t); ALTER TABLE whole ADD loaded_at timestamp;"):format(COLUMNS, more) }
        if more ~= "" then w:source "UPDATE s SET m = CASE WHEN id < 4 THEN 'sad' ELSE 'ok' END::mood" end
        local r = w:job("j", JOB):ok("j.lua", "-v", { env = { LRUN_PG_COPY = way } })
        local all = "ROW(" .. table.concat(w.to:columns "t", ", ") .. ")::text"
        local expected = w:source_rows(("SELECT %s FROM s ORDER BY id"):format(all))
        for _, name in ipairs { "t", "mapped", "whole" } do
          assert.same(expected, w:rows(("SELECT %s FROM %s ORDER BY id"):format(all, name)), name)
        end
        -- passed through for two of them, read for the function
        local _, passed = r.out:gsub("source: SELECT [^\n]* 4 rows", "")
        assert.equal(2, passed)
      end)
    end
  end

  it("of other types than the target's are looked at, value by value", function()
    local w = pair.new { source = "CREATE TABLE s(id int PRIMARY KEY, v numeric(10,4)); INSERT INTO s VALUES (1, 1.5), (77, 2.3456);",
                         warehouse = "CREATE TABLE t(id int PRIMARY KEY, v numeric(10,2));" }
    for _, write in ipairs { 'merge { rows, into = "t", key = "id" }', 'full_load { rows, into = "t" }' } do
      w:job("j", 'job {}\nlocal rows = extract { from = "s" }\n' .. write)
      w:refused(1, { "j.lua:3", "t", "column v (numeric(10,2))", "2.3456", "id 77" }, "j.lua")
    end
    w:source "UPDATE s SET v = 2.34 WHERE id = 77"
    w:ok "j.lua"
    assert.same({ "1|1.50", "77|2.34" }, w:rows "SELECT * FROM t ORDER BY id")
  end)

  it("that the server refuses are named: a label that an enum lacks", function()
    local w = pair.new { source = "CREATE TYPE mood AS ENUM ('sad', 'ok', 'odd'); CREATE TABLE s(n int, m mood, id int PRIMARY KEY);" ..
      "INSERT INTO s SELECT 5, 'ok', i FROM generate_series(1, 3000) i; UPDATE s SET m = 'odd' WHERE id = 1234;",
      warehouse = MOOD .. "CREATE TABLE t(n int, m mood, id int PRIMARY KEY);" }
    for _, write in ipairs { 'merge { rows, into = "t", key = "id" }', 'full_load { rows, into = "t" }' } do
      w:job("j", 'job {}\nlocal rows = extract { from = "s" }\n' .. write)
      w:refused(1, { "j.lua:3", "t", "column m (mood)", "'odd'", "at id 1234" }, "j.lua")
      assert.equal("0", w:one "SELECT count(*) FROM t")
    end
  end)

  it("that break a constraint, or the source's own SQL, leave nothing", function()
    local w = pair.new { source = "CREATE TABLE s(id int, v int); INSERT INTO s SELECT i, i FROM generate_series(1, 3000) i;",
                         warehouse = "CREATE TABLE t(id int NOT NULL, v int CHECK (v < 2500)); INSERT INTO t VALUES (7, 7);" }
    w:job("check", 'job {}\nfull_load { extract { from = "s" }, into = "t" }')
    w:refused(1, { "check.lua:2", "t_v_check", "2500", hint = false }, "check.lua")
    w:job("sql", 'job {}\nfull_load { extract { sql = "SELECT id, 1 / (id - 2000) AS v FROM s" }, into = "t" }')
    w:refused(1, { "sql.lua:2", "division by zero", hint = false }, "sql.lua")
    w:job("null", 'job {}\nmerge { extract { sql = "SELECT nullif(id, 5) AS id, v FROM s WHERE id < 10" }, into = "t", key = "id" }')
    w:refused(1, { "null.lua:2", "key column id is NULL in 1 row" }, "null.lua")
    assert.same({ "7|7" }, w:rows "SELECT * FROM t")
    assert.equal("failed failed failed", w:statuses())
  end)

  it("stop at a signal, and the connections are used again", function()
    local w = pair.new { source = "CREATE TABLE s AS SELECT i AS id, repeat('x', 200) AS v FROM generate_series(1, 20000) i;" ..
      "CREATE VIEW slow AS SELECT id, v || pg_sleep(0.001)::text AS v FROM s;",
                         warehouse = "CREATE TABLE t(id int, v text); INSERT INTO t VALUES (7, 'old');" }
    w:job("j", 'job {}\nfull_load { extract { from = "slow" }, into = "t" }')
    local p = w:start("j.lua", "-v")
    assert.is_true(process.wait_for(function()
      return postgres.one(w.from.database, "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'COPY%slow%' AND pid <> pg_backend_pid()") == "1"
    end))
    p:signal "INT"
    assert.equal(130, p:wait(20).status)
    assert.same({ "7|old" }, w:rows "SELECT * FROM t")
    assert.equal("interrupted", w:statuses())
  end)
end)

describe("where source and warehouse are one database", function()
  it("no row leaves the server, however the two URLs are written", function()
    local same = by_name["postgresql same database"]
    local w = same.new { source = "CREATE TABLE s(id int PRIMARY KEY, v text, day date); INSERT INTO s SELECT i, 'v' || i, '2026-01-01' FROM generate_series(1, 100) i;",
                         warehouse = "CREATE TABLE t(id int PRIMARY KEY, v text, day date);" }
    local url = w.to:url()
    for _, other in ipairs { url, w.to:url { application_name = "other" }, w.to:url { connect_timeout = "3" },
                             (url:gsub("postgresql://", "postgres://")), (url:gsub("^.-//(.-)@/(.-)%?host=(.*)$", "user=%1 dbname=%2 host=%3")) } do
      w:connect(other, url)
      w:job("j", [[
job {}
local rows = extract { from = "s", by = "day", window = window "2026-01-01" }
full_load { rows, into = "t" }
overwrite_partition { rows, into = "t" }
merge { rows, into = "t", key = "id" }
insert_new { rows, into = "t", key = "id" }
reconcile { rows, with = "t" }
print("others", query "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name IN ('lrun', 'other')"[1].n)
]])
      local r = w:ok("j.lua", "-v")
      assert.is_nil(r.out:find "lrun_stage", other)
      assert.is_nil(r.out:find "source: [^\n]*100 rows", other)
      local _, inserts = r.out:gsub('INSERT INTO "public"."t" [^\n]* FROM [^\n]*"public"."s"', "")
      assert.equal(2, inserts, r.out)
      assert.truthy(r.out:find("others\t0", 1, true), r.out)
      assert.truthy(r.out:find('MERGE INTO "public"."t" [^\n]*"public"."s"'), r.out)
    end
  end)
end)
