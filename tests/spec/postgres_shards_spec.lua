-- A target that is spread: partitions that rows move between, and partitions that
-- are foreign tables of other databases, which neither MERGE nor ON CONFLICT reach.
local pairs_of = require "pairs"
local postgres = require "postgres"
local servers = require "servers"

local by_name = pairs_of.by_name

local WRITES = [[
job { grain = "month" }
local month = extract { from = "s", by = "day", window = window() }
overwrite_partition { month, into = "t" }
reconcile { month, with = "t", sum = "amount", key = "id" }
]]

local function counts(w)
  local run = w:last_run()
  return ("%s new, %s changed, %s gone"):format(run.rows_inserted, run.rows_updated, run.rows_deleted)
end

-- The warehouse's table t by months: January is its own, February and March are
-- tables of two other databases, reached as the URLs say.
local function host_of(url)
  return url:match "host=([^&]+)", url:match "port=([^&]+)"
end
local function foreign(server, url, database)
  local host, port = host_of(url)
  return ([[
    CREATE SERVER %s FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%s', dbname '%s'%s);
    CREATE USER MAPPING FOR CURRENT_USER SERVER %s OPTIONS (user 'postgres');]]):format(
    server, host, database, port and ", port '" .. port .. "'" or "", server)
end

local REMOTE = "CREATE TABLE part(id int, day date NOT NULL, amount numeric(10,2), v text);"
local function spread(source, second, second_url, third)
  return ([[
    CREATE EXTENSION postgres_fdw;
    %s %s
    CREATE TABLE t(id int, day date NOT NULL, amount numeric(10,2), v text) PARTITION BY RANGE (day);
    CREATE TABLE t1 PARTITION OF t FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
    CREATE FOREIGN TABLE t2 PARTITION OF t FOR VALUES FROM ('2026-02-01') TO ('2026-03-01') SERVER second OPTIONS (table_name 'part');
    CREATE FOREIGN TABLE t3 PARTITION OF t FOR VALUES FROM ('2026-03-01') TO ('2026-04-01') SERVER third OPTIONS (table_name 'part');
  ]]):format(foreign("second", second_url, second), foreign("third", source, third))
end

local SOURCE = [[CREATE TABLE s(id int PRIMARY KEY, day date NOT NULL, amount numeric(10,2), v text);
  INSERT INTO s SELECT i, date '2026-01-01' + i, i * 1.5, 'v' || i FROM generate_series(0, 80) i;]]
local PLACES = "SELECT tableoid::regclass::text, count(*), sum(amount), min(day), max(day) FROM t GROUP BY 1 ORDER BY 1"
local FULL = { "t1|31|697.50|2026-01-01|2026-01-31", "t2|28|1869.00|2026-02-01|2026-02-28", "t3|22|2293.50|2026-03-01|2026-03-22" }

for _, name in ipairs { "sqlite->postgresql", "postgresql same database" } do
  local pair = by_name[name]
  local function world(source)
    source = source or (SOURCE:gsub("date '2026%-01%-01' %+ i", pair.source == "sqlite" and "date('2026-01-01', '+' || i || ' days')" or "%0"))
    if pair.source == "sqlite" then
      source = source:gsub("generate_series%(0, 80%) i", "(WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g WHERE i < 80) SELECT i FROM g) i")
        :gsub("date NOT NULL", "DATE NOT NULL")
    end
    local w = pair.new { source = source }
    w.second, w.third = postgres.create(REMOTE), postgres.create(REMOTE)
    local url = postgres.url "x"
    w:warehouse(spread(url, w.second, url, w.third))
    return w
  end

  describe("partitions in other databases, " .. name .. ",", function()
    it("take every write, and a reconcile sees them all", function()
      local w = world()
      w:job("month", WRITES)
      for _, month in ipairs { "2026-01", "2026-02", "2026-03", "2026-02" } do w:ok("month.lua", "--logical-date", month) end
      assert.equal("28 new, 0 changed, 28 gone", counts(w))
      assert.same(FULL, w:rows(PLACES))
      assert.equal("28|1869.00", postgres.one(w.second, "SELECT count(*), sum(amount) FROM part"))
      assert.equal("22", postgres.one(w.third, "SELECT count(*) FROM part"))

      w:job("load", 'job {}\nlocal rows = extract { from = "s" }\nfull_load { rows, into = "t" }\nreconcile { rows, with = "t", sum = "amount" }')
      w:ok "load.lua"
      assert.equal("81 new, 0 changed, 81 gone", counts(w))
      assert.same(FULL, w:rows(PLACES))

      w:warehouse "DELETE FROM t WHERE id % 2 = 0"
      w:job("new", 'job {}\nlocal rows = extract { from = "s" }\ninsert_new { rows, into = "t", key = "id" }\nreconcile { rows, with = "t", sum = "amount" }')
      w:ok "new.lua"
      assert.equal("41 new, 0 changed, 0 gone", counts(w))
      assert.same(FULL, w:rows(PLACES))

      w:job("merge", 'job {}\nlocal rows = extract { from = "s" }\nmerge { rows, into = "t", key = "id" }\nreconcile { rows, with = "t", sum = "amount", key = "id" }')
      w:source "UPDATE s SET v = 'changed' WHERE id IN (1, 40, 70)"
      w:warehouse "DELETE FROM t WHERE id IN (2, 41, 71)"
      w:ok "merge.lua"
      assert.equal("3 new, 3 changed, 0 gone", counts(w))
      assert.same(FULL, w:rows(PLACES))
      assert.same({ "1|t1", "40|t2", "70|t3" }, w:rows "SELECT id, tableoid::regclass::text FROM t WHERE v = 'changed' ORDER BY id")
      local versions = postgres.rows(w.second, "SELECT id, xmin, ctid FROM part ORDER BY id")
      w:ok "merge.lua"
      assert.equal("0 new, 0 changed, 0 gone", counts(w))
      assert.same(versions, postgres.rows(w.second, "SELECT id, xmin, ctid FROM part ORDER BY id"))
    end)

    it("give and take the rows whose day changes", function()
      local w = world()
      w:job("merge", 'job {}\nlocal rows = extract { from = "s" }\nmerge { rows, into = "t", key = "id" }\nreconcile { rows, with = "t", sum = "amount", key = "id" }')
      w:ok "merge.lua"
      assert.same(FULL, w:rows(PLACES))
      w:source "UPDATE s SET day = '2026-03-30' WHERE id IN (1, 40)"
      w:source "UPDATE s SET day = '2026-01-15' WHERE id = 70"
      w:source "UPDATE s SET day = '2026-02-15' WHERE id IN (2, 71)"
      w:ok "merge.lua"
      assert.equal("0 new, 5 changed, 0 gone", counts(w))
      assert.same({ "1|t3|2026-03-30", "2|t2|2026-02-15", "40|t3|2026-03-30", "70|t1|2026-01-15", "71|t2|2026-02-15" },
        w:rows "SELECT id, tableoid::regclass::text, day FROM t WHERE id IN (1, 2, 40, 70, 71) ORDER BY id")
      assert.equal("81", w:one "SELECT count(DISTINCT id) FROM t")
      w:refused(1, { "t cannot be written by update_insert", "foreign partitions" }, "merge.lua", { env = { LRUN_PG_MERGE = "update_insert" } })
      w:refused(1, { "t cannot be written by on_conflict", "unique" }, "merge.lua", { env = { LRUN_PG_MERGE = "on_conflict" } })
    end)

    it("are as they were after a run that failed, all of them", function()
      local w = world()
      w:job("load", 'job {}\nfull_load { extract { from = "s" }, into = "t" }'):ok "load.lua"
      w:source "UPDATE s SET amount = amount + 1"
      local before = w:rows "SELECT * FROM t ORDER BY id"
      for what, write in pairs {
        merge = 'merge { rows, into = "t", key = "id" }',
        full_load = 'full_load { rows, into = "t" }',
        overwrite = 'overwrite_partition { extract { from = "s", by = "day", window = window("2026-01-10", "2026-03-10") }, into = "t" }',
      } do
        w:job("fails", 'job {}\nlocal rows = extract { from = "s" }\n' .. write .. '\nerror "enough"')
        w:refused(1, { "enough", hint = false }, "fails.lua")
        assert.same(before, w:rows "SELECT * FROM t ORDER BY id", what)
        w:job("breaks", 'job {}\nlocal rows = extract { from = "s" }\n' .. write)
        postgres.exec(w.third, "ALTER TABLE part ADD CONSTRAINT small CHECK (amount < 95) NOT VALID")
        w:refused(1, { "breaks.lua", "small", hint = false }, "breaks.lua")
        postgres.exec(w.third, "ALTER TABLE part DROP CONSTRAINT small")
        assert.same(before, w:rows "SELECT * FROM t ORDER BY id", what)
      end
    end)
  end)
end

describe("a partition in another cluster", function()
  local cluster
  setup(function() cluster = servers.new() end)
  teardown(function() cluster:stop() end)

  it("is written, read, moved into and rolled back like one of its own", function()
    local pair = by_name["postgresql->postgresql"]
    cluster:exec(REMOTE)
    local w = pair.new { source = SOURCE }
    local third = postgres.create(REMOTE)
    w:warehouse(spread(postgres.url "x", "postgres", cluster:url(), third))
    w:job("month", WRITES)
    for _, month in ipairs { "2026-01", "2026-02", "2026-03", "2026-02" } do w:ok("month.lua", "--logical-date", month) end
    assert.same(FULL, w:rows(PLACES))
    w:source "UPDATE s SET day = '2026-02-15' WHERE id = 1"
    w:source "UPDATE s SET day = '2026-01-15' WHERE id = 40"
    w:job("merge", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }\nif param("fail", "") ~= "" then error "enough" end')
    local before = w:rows "SELECT * FROM t ORDER BY id"
    w:refused(1, { "enough", hint = false }, "merge.lua", "--param", "fail=yes")
    assert.same(before, w:rows "SELECT * FROM t ORDER BY id")
    w:ok "merge.lua"
    assert.equal("0 new, 2 changed, 0 gone", counts(w))
    assert.same({ "1|t2", "40|t1" }, w:rows "SELECT id, tableoid::regclass::text FROM t WHERE id IN (1, 40) ORDER BY id")
  end)
end)

for _, name in ipairs { "sqlite->postgresql", "postgresql same database" } do
  local pair = by_name[name]
  describe("partitions of one database, " .. name .. ",", function()
    it("by range and by list give and take rows, which are counted as changed", function()
      local w = pair.new {
        source = "CREATE TABLE s(id INTEGER PRIMARY KEY, region TEXT, day DATE); INSERT INTO s VALUES (1,'eu','2026-01-05'), (2,'us','2026-01-06'), (3,'eu','2026-02-07'), (4,'us','2026-02-08');",
        warehouse = [[CREATE TABLE t(id int, region text, day date) PARTITION BY LIST (region);
          CREATE TABLE eu PARTITION OF t FOR VALUES IN ('eu') PARTITION BY RANGE (day);
          CREATE TABLE eu1 PARTITION OF eu FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
          CREATE TABLE eu2 PARTITION OF eu FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
          CREATE TABLE us PARTITION OF t FOR VALUES IN ('us');]],
      }
      w:job("j", 'job {}\nlocal rows = extract { from = "s" }\nmerge { rows, into = "t", key = "id" }\nreconcile { rows, with = "t", key = "id" }')
      for _, way in ipairs { "", "merge", "update_insert", "delete_insert" } do
        w:warehouse "TRUNCATE t; INSERT INTO t VALUES (1,'us','2026-01-05'), (2,'us','2026-01-06'), (3,'eu','2026-01-07')"
        local still = w:one "SELECT xmin, ctid FROM t WHERE id = 2"
        w:ok("j.lua", { env = { LRUN_PG_MERGE = way } })
        assert.equal("1 new, 2 changed, 0 gone", counts(w))
        assert.same({ "1|eu1", "2|us", "3|eu2", "4|us" }, w:rows "SELECT id, tableoid::regclass::text FROM t ORDER BY id")
        assert.equal(still, w:one "SELECT xmin, ctid FROM t WHERE id = 2")
      end
    end)
  end)
end
