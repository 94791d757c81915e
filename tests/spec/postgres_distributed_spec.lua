-- Citus and TimescaleDB, of which a test's own tables and functions say what theirs
-- would: rows are placed by a column, and only the coordinator is a warehouse.
local pairs_of = require "pairs"
local postgres = require "postgres"

local by_name = pairs_of.by_name
local CITUS = [[
CREATE TABLE pg_dist_partition(logicalrelid regclass, partmethod "char", partkey text, colocationid int, repmodel "char");
CREATE FUNCTION column_to_column_name(regclass, text) RETURNS text LANGUAGE sql AS 'SELECT $2';
CREATE FUNCTION citus_is_coordinator() RETURNS boolean LANGUAGE sql AS 'SELECT %s';
]]
local T = "CREATE TABLE t(order_id INTEGER PRIMARY KEY, customer_id INTEGER, v TEXT);\n"
local S = "CREATE TABLE s(order_id INTEGER PRIMARY KEY, customer_id INTEGER, v TEXT); INSERT INTO s VALUES (1, 10, 'a'), (2, 20, 'b');\n"
local HASH = "INSERT INTO pg_dist_partition VALUES ('t', 'h', 'customer_id', 1, 's');\n"
local REFERENCE = "INSERT INTO pg_dist_partition VALUES ('t', 'n', NULL, 1, 't');\n"
-- What Citus does with an UPDATE of the distribution column: the row does not move.
local NO_UPDATE = [[CREATE FUNCTION stays() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'updated in place'; END $$;
CREATE TRIGGER stays BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION stays();]]
local CHUNKS = [[CREATE SCHEMA timescaledb_information;
CREATE TABLE timescaledb_information.dimensions(hypertable_schema name, hypertable_name name, column_name name);
INSERT INTO timescaledb_information.dimensions VALUES ('public', 't', 'customer_id');]]
local MERGE = 'job {}\nmerge { extract { from = "s" }, into = "t", key = "order_id" }\n'

for _, name in ipairs { "sqlite->postgresql", "postgresql->postgresql", "postgresql same database" } do
  local pair = by_name[name]
  describe("a table that is spread over servers, " .. name .. ",", function()
    local function new(more, coordinator)
      return pair.new { source = S, warehouse = T .. CITUS:format(coordinator or "true") .. more }
    end
    local function all(w) return w:rows "SELECT order_id, customer_id, v FROM t ORDER BY 1" end

    it("gets a row whose place changes by delete and insert: a distribution column, a hypertable's dimension", function()
      for _, how in ipairs { HASH .. NO_UPDATE, CHUNKS .. NO_UPDATE } do
        local w = new(how)
        w:job("j", MERGE):ok "j.lua"
        w:source "UPDATE s SET customer_id = 11, v = 'c' WHERE order_id = 1"
        w:ok "j.lua"
        assert.same({ "1|11|c", "2|20|b" }, all(w))
        assert.equal("1", w:last_run().rows_updated)
        w:job("a", [[
          job {}
          apply_changes { extract { sql = "SELECT order_id, customer_id + 1 AS customer_id, v, 'u' AS op, order_id AS seq FROM s" }, into = "t", key = "order_id",
            op = "op", order = "seq" }
        ]])
        w:lrun "a.lua"
        w:refused(1, { "places its rows" }, "j.lua", { env = { LRUN_PG_MERGE = "update_insert" } })
      end
    end)

    it("may be updated in place where no place changes: the key, or a reference table", function()
      for _, how in ipairs { HASH:gsub("customer_id", "order_id"), REFERENCE } do
        local w = new(how)
        w:job("j", MERGE):ok "j.lua"
        w:source "UPDATE s SET customer_id = 11 WHERE order_id = 1"
        w:ok("j.lua", { env = { LRUN_PG_MERGE = "update_insert" } })
        assert.same({ "1|11|a", "2|20|b" }, all(w))
      end
    end)

    it("is not swapped by name, which would make it a plain local table", function()
      for _, how in ipairs { HASH, REFERENCE } do
        local w = new(how)
        w:job("j", 'job {}\nswap { extract { from = "s" }, into = "t", by = "rename" }\n')
        w:refused(1, { "t is a distributed or reference table", "by rows" }, "j.lua")
        w:refused(1, { "t is a distributed or reference table", "by rows" }, "plan", "j.lua")
        w:job("j", 'job {}\nswap { extract { from = "s" }, into = "t" }\n'):ok "j.lua"
        assert.same({ "1|10|a", "2|20|b" }, all(w))
        w:warehouse "DELETE FROM pg_dist_partition"
        w:job("j", 'job {}\nswap { extract { from = "s" }, into = "t", by = "rename" }\n')
        if how == HASH then w:ok "j.lua" end
      end
    end)

    it("is no warehouse through a worker: refused before anything is made", function()
      local w = new(HASH, "false")
      w:job("j", MERGE)
      for _, command in ipairs { { "j.lua" }, { "plan", "j.lua" } } do
        w:refused(5, { "worker", "coordinator" }, table.unpack(command))
      end
      assert.equal("0", w:one "SELECT count(*) FROM pg_class WHERE relname LIKE 'lrun_%'")
    end)
  end)
end

it("a worker may be a source", function()
  local w = by_name["postgresql->sqlite"].new { source = S .. CITUS:format "false", warehouse = T }
  w:job("j", MERGE):ok "j.lua"
  assert.same({ "1|10|a", "2|20|b" }, w:rows "SELECT order_id, customer_id, v FROM t ORDER BY 1")
end)

describe("lrun_schema", function()
  it("has one row after first runs at once", function()
    for _ = 1, 3 do
      local w = by_name["sqlite->postgresql"].new { source = S }
      local started = {}
      for n = 1, 6 do
        w:job("j" .. n, MERGE:gsub('"t"', '"t' .. n .. '"'))
        started[n] = w:start("j" .. n .. ".lua")
      end
      for n = 1, 6 do
        local r = started[n]:wait()
        assert.equal(0, r.status, r.err)
      end
      assert.equal("1", w:one "SELECT count(*) FROM lrun_schema")
    end
  end)

  it("of 0.1.0 with two equal rows is read", function()
    local w = by_name["sqlite->postgresql"].new { source = S }
    w:job("j", MERGE):ok "j.lua"
    w:warehouse "ALTER TABLE lrun_schema DROP CONSTRAINT lrun_schema_pkey; INSERT INTO lrun_schema SELECT * FROM lrun_schema"
    w:ok "j.lua"
    w:ok("status", "j.lua")
    w:ok("watermark", "j.lua")
  end)

  it("does not get a second row from a run that looked before the first was committed", function()
    local database = by_name["sqlite->postgresql"].new { source = S }
    database:job("j", MERGE):ok "j.lua"
    local ok = pcall(postgres.exec, database.to.database, "INSERT INTO lrun_schema SELECT * FROM lrun_schema")
    assert.is_false(ok)
  end)
end)
