-- What PostgreSQL's tables have beyond columns: identity and generated columns
-- (S29), defaults, schemas, names to 63 bytes, partitions, views, triggers.
local pairs_of = require "pairs"
local postgres = require "postgres"

local by_name = pairs_of.by_name
local TO_POSTGRES = { by_name["sqlite->postgresql"], by_name["postgresql->postgresql"], by_name["postgresql same database"] }

local WRITES = {
  merge = 'merge { rows, into = "t", key = "id" }',
  insert_new = 'insert_new { rows, into = "t", key = "id" }',
  full_load = 'full_load { rows, into = "t" }',
  overwrite_partition = 'overwrite_partition { rows, into = "t" }',
  ["merge of mapped rows"] = 'merge { rows:map(function(row) return row end), into = "t", key = "id" }',
}
local function job(write)
  return 'job {}\nlocal rows = extract { from = "s", by = "updated_at", window = window "2026-01-01" }\n' .. write
end

for _, pair in ipairs(TO_POSTGRES) do
  describe("identity and generated columns (S29), " .. pair.name .. ",", function()
    for way, write in pairs(WRITES) do
      for _, identity in ipairs { "ALWAYS", "BY DEFAULT" } do
        it(("keep the source's ids, the target computes its own: GENERATED %s, %s"):format(identity, way), function()
          local w = pair.new {
            source = [[CREATE TABLE s(id BIGINT PRIMARY KEY, v TEXT, updated_at TIMESTAMP, day DATE);
              INSERT INTO s VALUES (5, 'a', '2026-01-01 10:00:00', '1999-01-01'), (900, 'b', '2026-01-01 11:00:00', '1999-01-01');]],
            warehouse = ([[CREATE TABLE t(id bigint GENERATED %s AS IDENTITY PRIMARY KEY, v text, updated_at timestamp,
              day date GENERATED ALWAYS AS (updated_at::date) STORED, note text DEFAULT 'new');]]):format(identity),
          }
          w:job("j", job(write)):ok "j.lua"
          assert.same({ "5|a|2026-01-01|new", "900|b|2026-01-01|new" }, w:rows "SELECT id, v, day::text, note FROM t ORDER BY id")
          w:source "UPDATE s SET v = 'changed', updated_at = '2026-01-01 12:00:00' WHERE id = 5"
          w:ok "j.lua"
          if way ~= "insert_new" then
            assert.same({ "5|changed|2026-01-01|new", "900|b|2026-01-01|new" }, w:rows "SELECT id, v, day::text, note FROM t ORDER BY id")
          end
          if way:find "merge" then assert.equal("0 1", w:last_run().rows_inserted .. " " .. w:last_run().rows_updated) end
        end)
      end
    end

    it("that only the target has are left to it", function()
      local w = pair.new {
        source = "CREATE TABLE s(k TEXT PRIMARY KEY, v TEXT); INSERT INTO s VALUES ('a', 'x'), ('b', 'y');",
        warehouse = "CREATE TABLE t(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, k text UNIQUE, v text, at timestamptz NOT NULL DEFAULT now());",
      }
      w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "k" }'):ok "j.lua"
      assert.same({ "1|a|x", "2|b|y" }, w:rows "SELECT id, k, v FROM t ORDER BY k")
      w:source "UPDATE s SET v = 'z' WHERE k = 'a'"
      w:ok "j.lua"
      assert.same({ "1|a|z", "2|b|y" }, w:rows "SELECT id, k, v FROM t ORDER BY k")
    end)
  end)

  describe("names, " .. pair.name .. ",", function()
    it("in capitals are not the same as in small letters", function()
      local w = pair.new {
        source = 'CREATE TABLE s("ID" INTEGER PRIMARY KEY, "Value" TEXT); INSERT INTO s VALUES (1, \'a\');',
        warehouse = 'CREATE TABLE "T"("ID" int PRIMARY KEY, "Value" text, value text DEFAULT \'small\'); CREATE TABLE t(x int); INSERT INTO t VALUES (7);',
      }
      w:job("j", 'job {}\nlocal rows = extract { from = "s" }\nmerge { rows, into = "T", key = "ID" }\nreconcile { rows, with = "T", sum = "ID" }')
      w:ok "j.lua"
      assert.same({ "1|a|small" }, w:rows 'SELECT "ID", "Value", value FROM "T"')
      assert.same({ "7" }, w:rows "SELECT x FROM t")
      w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "T", key = "id" }')
      w:refused(1, { "j.lua:2", "id", hint = false }, "j.lua")
    end)

    it("of schemas are found, and a table is made where it is said", function()
      local w = pair.with("INSERT INTO s VALUES (1, 'a', '2026-01-01 10:00:00');", [[
        CREATE SCHEMA "My Schema"; CREATE TABLE "My Schema"."Order"(id int PRIMARY KEY, v text, updated_at timestamp);]])
      w:job("j", [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window() }
merge { rows, into = "My Schema.Order", key = "id" }
overwrite_partition { rows, into = "My Schema.Order" }
reconcile { rows, with = "My Schema.Order", sum = "id" }
merge { rows, into = "My Schema.new one", key = "id" }
merge { rows, into = '"My Schema"."newer"', key = "id" }
]])
      for _ = 1, 2 do w:ok("j.lua", "--logical-date", "2026-01-01") end
      for _, name in ipairs { "Order", "new one", "newer" } do
        assert.equal("1|a", w:one(('SELECT id, v FROM "My Schema"."%s"'):format(name)))
      end
      assert.same(pair.same and { "t" } or { "t" }, (function()
        local public = {}
        for _, name in ipairs(w:tables()) do if not name:find "My Schema" then public[#public + 1] = name end end
        return public
      end)())
      w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "nowhere.x", key = "id" }')
      w:refused(1, { "j.lua:2", "nowhere", hint = false }, "j.lua")
    end)

    it("of 63 bytes are taken, of 64 refused and named, never cut", function()
      for _, name in ipairs { ("x"):rep(63), ("é"):rep(31) .. "x" } do
        local longer = name .. "y"
        local w = pair.only "INSERT INTO s VALUES (1, 'a', '2026-01-01 10:00:00');"
        w:job("j", ('job {}\nmerge { extract { from = "s", columns = { id = "id", ["%s"] = "v" } }, into = "%s", key = "id" }'):format(name, name))
        w:ok "j.lua"
        w:ok "j.lua"
        assert.equal("a", w:one(('SELECT "%s" FROM "%s"'):format(name, name)))
        for _, into in ipairs { { longer, "v" }, { "t2", longer } } do
          w:job("j", ('job {}\nmerge { extract { from = "s", columns = { id = "id", ["%s"] = "v" } }, into = "%s", key = "id" }'):format(into[2], into[1]))
          w:refused(1, { "j.lua:2", longer, "63", hint = false }, "j.lua")
        end
        assert.equal("1", w:one(('SELECT count(*) FROM "%s"'):format(name)))
        assert.is_false(w:has "t2")
      end
    end)
  end)

  describe("a target, " .. pair.name .. ",", function()
    it("may be partitioned", function()
      local w = pair.new { source = pairs_of.S .. "INSERT INTO s VALUES (1,'a','2026-01-01 10:00:00'), (2,'b','2026-02-01 10:00:00'), (3,'c','2026-02-02 10:00:00');",
        warehouse = [[CREATE TABLE t(id int, v text, updated_at timestamp, PRIMARY KEY (id, updated_at)) PARTITION BY RANGE (updated_at);
          CREATE TABLE t1 PARTITION OF t FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
          CREATE TABLE t2 PARTITION OF t FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');]] }
      w:job("j", 'job { grain = "month" }\nlocal rows = extract { from = "s", by = "updated_at", window = window() }\n' ..
        'overwrite_partition { rows, into = "t" }\nmerge { rows, into = "t", key = { "id", "updated_at" } }\nreconcile { rows, with = "t", sum = "id" }')
      for _, month in ipairs { "2026-01", "2026-02", "2026-02" } do w:ok("j.lua", "--logical-date", month) end
      assert.same({ "t1|1", "t2|2", "t2|3" }, w:rows "SELECT tableoid::regclass::text, id FROM t ORDER BY id")
      w:source "INSERT INTO s VALUES (4, 'd', '2027-01-01 00:00:00')"
      w:refused(1, { "j.lua:3", "t", "partition", hint = false }, "j.lua", "--logical-date", "2027-01", "--run-start", "2027-06-01")
    end)

    it("with a trigger that changes rows differs by reconcile", function()
      local w = pair.with("INSERT INTO s VALUES (1,'a','2026-01-01 10:00:00');", [[
        CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
        CREATE TRIGGER skip BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION skip();]])
      w:job("j", 'job {}\nlocal rows = extract { from = "s" }\nmerge { rows, into = "t", key = "id" }\nreconcile { rows, with = "t" }')
      w:refused(3, { "j.lua:4", "t", hint = false }, "j.lua")
    end)

    it("that is a view is refused or written through, never half", function()
      local w = pair.with("INSERT INTO s VALUES (1,'a','2026-01-01 10:00:00');", "CREATE VIEW tv AS SELECT * FROM t;")
      w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "tv", key = "id" }')
      local r = w:lrun "j.lua"
      if r.status == 0 then assert.equal("1", w:one "SELECT count(*) FROM t")
      else require "world".says(r, 1, { "j.lua:2", "tv", hint = false }) end
    end)
  end)
end

describe("a source of PostgreSQL", function()
  local pair = by_name["postgresql->postgresql"]
  it("resolves names under its own search_path, also in the warehouse's database", function()
    for _, p in ipairs { pair, by_name["postgresql same database"], by_name["postgresql->sqlite"] } do
      local w = p.new { source = [[CREATE SCHEMA app; CREATE TABLE app.s(id int PRIMARY KEY, v text); INSERT INTO app.s VALUES (1, 'app'), (2, 'app');
        CREATE TABLE public.s(id int PRIMARY KEY, v text); INSERT INTO public.s VALUES (1, 'public');]] }
      w:connect(w.from:url { options = "-csearch_path=app" }, w.to:url())
      w:job("j", [[
job {}
local rows = extract { from = "s" }
merge { rows, into = "t", key = "id" }
reconcile { rows, with = "t", sum = "id" }
assert(extract { sql = "SELECT * FROM s" }:count() == 2)
assert(extract { from = "s", where = "id IN (SELECT id FROM s WHERE v = 'app')" }:count() == 2)
assert(extract { from = "public.s" }:count() == 1)
]])
      w:ok "j.lua"
      assert.same({ "app", "app" }, w:rows "SELECT v FROM t")
      if p.warehouse == "postgresql" then
        -- The target and the ledger are where the warehouse's own path says.
        assert.equal("t|t", w:one "SELECT to_regclass('public.t') IS NOT NULL, to_regclass('public.lrun_runs') IS NOT NULL")
      end
    end
  end)

  it("may be inherited or foreign: its constraints are not taken for its rows'", function()
    local w = pair.new { source = [[CREATE TABLE s(id int PRIMARY KEY, v text); CREATE TABLE child() INHERITS (s); INSERT INTO s VALUES (1, 'a');
      CREATE TABLE real(id int, v text); CREATE EXTENSION postgres_fdw;]] }
    w:source(("CREATE SERVER here FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%s', dbname '%s'); " ..
      "CREATE USER MAPPING FOR CURRENT_USER SERVER here; CREATE FOREIGN TABLE f(id int NOT NULL, v text) SERVER here OPTIONS (table_name 'real');")
      :format(w.from:url():match "host=([^&]+)", w.from.database))
    w:job("s", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }')
    w:job("f", 'job {}\nmerge { extract { from = "f" }, into = "t", key = "id" }')
    for row, word in pairs { ["(1, 'again')"] = "twice", ["(NULL, 'nobody')"] = "NULL" } do
      w:source("TRUNCATE child, real; INSERT INTO real VALUES (1, 'a'), " .. row)
      if word == "twice" then
        w:source("INSERT INTO child VALUES " .. row)
        w:refused(1, { "s.lua:2", "id", word }, "s.lua")
      end
      w:refused(1, { "f.lua:2", "id", word }, "f.lua")
    end
  end)

  it("may be a view, a materialized view, a partitioned or a foreign table", function()
    local w = pair.new { source = [[CREATE TABLE base(id int PRIMARY KEY, v text, updated_at timestamp); INSERT INTO base VALUES (1, 'a', '2026-01-01 10:00:00');
      CREATE VIEW v AS SELECT * FROM base; CREATE MATERIALIZED VIEW m AS SELECT * FROM base;
      CREATE TABLE p(id int, v text, updated_at timestamp) PARTITION BY LIST (v); CREATE TABLE pa PARTITION OF p FOR VALUES IN ('a');
      INSERT INTO p SELECT * FROM base; CREATE TABLE child() INHERITS (base);]] }
    for _, name in ipairs { "v", "m", "p", "base" } do
      w:job("j", ('job {}\nlocal rows = extract { from = "%s", by = "updated_at", window = window "2026-01-01" }\n' ..
        'merge { rows, into = "t_%s", key = "id" }\nreconcile { rows, with = "t_%s", sum = "id" }'):format(name, name, name)):ok "j.lua"
      assert.same({ "1|a|2026-01-01 10:00:00" }, w:rows("SELECT * FROM t_" .. name))
    end
  end)

  it("with columns that differ only in capitals goes into PostgreSQL, and is refused by SQLite", function()
    local SOURCE = 'CREATE TABLE s(id int PRIMARY KEY, "A" text, a text); INSERT INTO s VALUES (1, \'big\', \'small\');'
    local w = pair.new { source = SOURCE }
    w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }'):ok "j.lua"
    assert.same({ "1|big|small" }, w:rows 'SELECT id, "A", a FROM t')
    w = by_name["postgresql->sqlite"].new { source = SOURCE }
    w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }')
    w:refused(1, { "j.lua:2", "a", hint = false }, "j.lua")
    assert.is_false(w:has "t")
  end)

  it("is read only: no write reaches it", function()
    local w = pair.with "INSERT INTO s VALUES (1, 'a', '2026-01-01 10:00:00');"
    w.from:exec "CREATE FUNCTION sneaky() RETURNS int LANGUAGE sql AS $$ DELETE FROM s RETURNING 1 $$"
    for _, code in ipairs { 'execute { "DELETE FROM s", connection = "source" }', 'query { "DELETE FROM s RETURNING id", connection = "source" }',
                            'extract { sql = "DELETE FROM s RETURNING id" }:count()', 'extract { sql = "SELECT sneaky() AS n" }:count()',
                            'query { "WITH d AS (DELETE FROM s RETURNING id) SELECT * FROM d", connection = "source" }' } do
      w:job("j", "job {}\n" .. code)
      w:refused(1, { "j.lua:2", hint = false }, "j.lua")
    end
    assert.same({ "1" }, w:source_rows "SELECT id FROM s")
    assert.equal(1, #postgres.rows(w.from.database, "SELECT 1"))
  end)
end)
