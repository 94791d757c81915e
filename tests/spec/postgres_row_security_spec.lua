-- Row level security (S47): a role that sees a part of a table is refused, unless
-- connections.lua says that a part is meant.
local pairs_of = require "pairs"
local postgres = require "postgres"
local files = require "files"

local ROLE = "lrun_tenant_" .. files.temp_dir():match "%w+$":lower()
setup(function() postgres.exec("postgres", ("CREATE ROLE %s LOGIN"):format(ROLE)) end)
teardown(function() postgres.exec("postgres", ("DROP ROLE IF EXISTS %s"):format(ROLE)) end)

local TABLE = "CREATE TABLE %s(id INTEGER PRIMARY KEY, tenant TEXT, day DATE, v TEXT);\n"
local ROWS = "INSERT INTO %s VALUES (1, 'a', '2026-01-01', 'x'), (2, 'a', '2026-01-01', 'y'), (3, 'b', '2026-01-01', 'z');\n"
local POLICY = "ALTER TABLE %s ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON %s USING (tenant = 'a');\n"

local function fill(sql, name) return (sql:gsub("%%s", name)) end
local function as(url) return (url:gsub("//[^@/]*@", "//" .. ROLE .. "@")) end

-- Both ends hold the three rows; the role, where an end is PostgreSQL, may do all with its tables.
local function new(pair, source_sql, warehouse_sql)
  local w = pair.new { source = fill(TABLE .. ROWS, "s"), warehouse = fill(TABLE .. ROWS, "t") }
  for _, side in ipairs(pair.same and { w.to } or { w.from, w.to }) do
    if side.database then
      side:exec(("GRANT ALL ON SCHEMA public TO %s; GRANT ALL ON ALL TABLES IN SCHEMA public TO %s"):format(ROLE, ROLE))
    end
  end
  if source_sql then w:source(source_sql) end
  if warehouse_sql then w:warehouse(warehouse_sql) end
  return w
end

-- connections.lua as the role; options: Lua text for each end.
local function connect(w, source, warehouse)
  local function entry(side, more)
    return ("{ url = %q%s }"):format(side.database and as(side:url()) or side:url(), more or "")
  end
  w:write("connections.lua", ("return { source = %s, warehouse = %s }\n"):format(entry(w.from, source), entry(w.to, warehouse)))
end
local MEANT = ", row_security = true"

local function drop(w)
  for _, side in ipairs { w.from, w.to } do
    if side.database then side:exec(("DROP OWNED BY %s CASCADE"):format(ROLE)) end
  end
end

local READS = {
  delete_missing = 'delete_missing { rows, from = "t", key = "id" }',
  full_load = 'full_load { rows, into = "t" }',
  overwrite_partition = 'overwrite_partition { windowed, into = "t" }',
  merge = 'merge { rows, into = "t", key = "id" }',
  insert_new = 'insert_new { rows, into = "t", key = "id" }',
  swap = 'swap { rows, into = "t" }',
  scd2_merge = 'scd2_merge { rows, into = "dim", key = "id", track = { "v" }, at = "day" }',
  map = 'merge { rows:map(function(r) return r end), into = "t", key = "id" }',
  reconcile = 'reconcile { rows, with = "t" }',
  deep = 'reconcile { rows, with = "t", deep = true, key = "id" }',
  query = 'for r in query { "SELECT count(*) AS n FROM s", connection = "source" } do print(r.n) end',
  partitions = 'partitions { "t", by = "day", from = "s" }',
}
local HEAD = [[
job { grain = "day" }
local rows = extract { from = "%s" }
local windowed = extract { from = "%s", by = "day", window = window() }
]]
local RUN = { "--logical-date", "2026-01-01", "--run-start", "2026-01-02" }

local function with(...)
  local argv = { ... }
  for _, word in ipairs(RUN) do argv[#argv + 1] = word end
  return table.unpack(argv)
end

for _, name in ipairs { "postgresql->sqlite", "postgresql->postgresql", "postgresql same database" } do
  local pair = pairs_of.by_name[name]
  describe("S47 a source's row level security, " .. name .. ",", function()
    local function all(w) return w:rows "SELECT id, v FROM t ORDER BY id" end

    it("S47 refuses each primitive that would read a part, and names table and option", function()
      local w = new(pair, fill(POLICY, "s"))
      connect(w)
      for _, body in pairs(READS) do
        w:job("j", HEAD:gsub("%%s", "s") .. body)
        w:refused(1, { 'row-level security policy for table "s"', "42501", "row_security = true", "source = {", "BYPASSRLS" }, with "j.lua")
        assert.same({ "1|x", "2|y", "3|z" }, all(w))
      end
      w:job("j", HEAD:gsub("%%s", "s") .. READS.delete_missing):refused(1, { 'policy for table "s"', "row_security = true" }, with("plan", "j.lua"))
      w:job("j", HEAD:gsub("%%s", "s") .. READS.merge .. "\n" .. READS.reconcile)
      w:refused(1, { 'policy for table "s"', "row_security = true" }, "reconcile", "j.lua", "--from", "2026-01-01", "--to", "2026-01-01",
        "--run-start", "2026-01-02")
      drop(w)
    end)

    it("S47 is found behind a view, a partitioned table, FORCE for the owner, and SQL of the job", function()
      local w = new(pair, fill(POLICY, "s") .. [[
        CREATE VIEW invoker WITH (security_invoker = true) AS SELECT * FROM s;
        CREATE TABLE parted(id int, tenant text, day date, v text) PARTITION BY LIST (tenant);
        CREATE TABLE parted_a PARTITION OF parted FOR VALUES IN ('a'); CREATE TABLE parted_b PARTITION OF parted FOR VALUES IN ('b');
        INSERT INTO parted SELECT * FROM s;
        CREATE TABLE owned(id int, tenant text, day date, v text); INSERT INTO owned SELECT * FROM s;
        ]] .. fill(POLICY, "parted") .. fill(POLICY, "owned") .. ([[
        CREATE VIEW theirs AS SELECT * FROM s; ALTER VIEW theirs OWNER TO %s;
        ALTER TABLE owned OWNER TO %s; ALTER TABLE owned FORCE ROW LEVEL SECURITY;
        GRANT SELECT ON ALL TABLES IN SCHEMA public TO %s;]]):gsub("%%s", ROLE))
      connect(w)
      for source, table in pairs { invoker = "s", theirs = "s", parted = "parted", owned = "owned" } do
        w:job("j", HEAD:gsub("%%s", source) .. READS.delete_missing)
        w:refused(1, { ('policy for table "%s"'):format(table), "row_security = true" }, with("plan", "j.lua"))
        w:refused(1, { ('policy for table "%s"'):format(table), "row_security = true" }, with "j.lua")
      end
      w:job("j", 'job {}\nmerge { extract { sql = "SELECT * FROM s" }, into = "t", key = "id" }\n')
      w:refused(1, { 'policy for table "s"', "row_security = true" }, "j.lua")
      assert.same({ "1|x", "2|y", "3|z" }, all(w))
      drop(w)
    end)

    it("S47 does not stop a role that sees all: the owner, BYPASSRLS, a view of one who does", function()
      local w = new(pair, fill(POLICY, "s") .. ("CREATE VIEW whole AS SELECT * FROM s; GRANT SELECT ON whole TO %s; UPDATE s SET v = 'new' WHERE id = 3;"):format(ROLE))
      connect(w)
      w:job("j", HEAD:gsub("%%s", "whole") .. READS.merge):ok(with "j.lua")
      assert.same({ "1|x", "2|y", "3|new" }, all(w))
      w:source(("ALTER ROLE %s BYPASSRLS; UPDATE s SET v = 'newer' WHERE id = 3"):format(ROLE))
      w:job("j", HEAD:gsub("%%s", "s") .. READS.merge .. "\n" .. READS.deep):ok(with "j.lua")
      assert.same({ "1|x", "2|y", "3|newer" }, all(w))
      w:source(("ALTER ROLE %s NOBYPASSRLS; ALTER TABLE s OWNER TO %s; UPDATE s SET v = 'last' WHERE id = 3"):format(ROLE, ROLE))
      w:ok(with "j.lua")
      assert.same({ "1|x", "2|y", "3|last" }, all(w))
      w:source("ALTER TABLE s OWNER TO CURRENT_USER")
      drop(w)
    end)

    it("S47 lets a part be meant: noted once, and what takes keys for gone needs partition", function()
      local w = new(pair, fill(POLICY, "s") .. "DELETE FROM s WHERE id = 2; UPDATE s SET v = 'new' WHERE id = 1;")
      connect(w, MEANT, pair.same and MEANT)
      w:job("j", HEAD:gsub("%%s", "s") .. READS.merge .. "\n" .. READS.map)
      local _, notes = w:ok(with "j.lua").out:gsub("row level security may hide rows at", "")
      assert.equal(1, notes)
      assert.same({ "1|new", "2|y", "3|z" }, all(w))
      local gone = HEAD:gsub("%%s", "s") .. 'delete_missing { rows, from = "t", key = "id"%s }'
      w:job("j", gone:format ""):refused(1, { "row_security", 'partition = { region = "EU" }' }, with "j.lua")
      w:refused(1, { "row_security" }, with("plan", "j.lua"))
      w:job("j", gone:format ', partition = { tenant = "a" }'):ok(with "j.lua")
      assert.same({ "1|new", "3|z" }, all(w))
      local close = HEAD:gsub("%%s", "s") .. 'scd2_merge { rows, into = "dim", key = "id", track = { "tenant", "v" }, absent = "close"%s }'
      w:job("k", close:format ""):refused(1, { "row_security", "partition" }, with "k.lua")
      w:job("k", close:format ', partition = { tenant = "a" }'):ok(with "k.lua")
      drop(w)
    end)

    it("S47 notes it once in a backfill, and in reconcile", function()
      local w = new(pair, fill(POLICY, "s"))
      connect(w, MEANT, pair.same and MEANT)
      w:job("j", HEAD:gsub("%%s", "s") .. READS.overwrite_partition .. '\nreconcile { windowed, with = "t" }')
      local r = w:ok("backfill", "j.lua", "--from", "2026-01-01", "--to", "2026-01-03", "--run-start", "2026-01-05")
      local _, notes = (r.out .. r.err):gsub("row level security may hide rows at", "")
      assert.equal(1, notes, r.out .. r.err)
      assert.same({ "1|x", "2|y" }, all(w))
      drop(w)
    end)
  end)
end

for _, name in ipairs { "sqlite->postgresql", "postgresql->postgresql", "postgresql same database" } do
  local pair = pairs_of.by_name[name]
  local WRITES = { "merge", "insert_new", "full_load", "overwrite_partition", "delete_missing", "swap", "map", "deep", "reconcile" }
  describe("S47 a warehouse's row level security, " .. name .. ",", function()
    it("S47 refuses each write, which cannot see what it would double, and each comparison", function()
      local w = new(pair, nil, fill(POLICY, "t"))
      connect(w)
      local bytes = w:rows "SELECT * FROM t ORDER BY id"
      for _, write in ipairs(WRITES) do
        w:job("j", HEAD:gsub("%%s", "s") .. READS[write])
        w:refused(1, { 'policy for table "t"', "42501", "warehouse = {", "row_security = true" }, with "j.lua")
        w:refused(1, { 'policy for table "t"', "row_security = true" }, with("plan", "j.lua"))
        assert.same(bytes, w:rows "SELECT * FROM t ORDER BY id")
      end
      drop(w)
    end)

    it("S47 lets a part be meant: every way of writing keeps to it", function()
      local w = new(pair, "DELETE FROM s WHERE tenant = 'b'; UPDATE s SET v = 'new' WHERE id = 1;", fill(POLICY, "t"))
      connect(w, pair.same and MEANT, MEANT)
      for _, write in ipairs(WRITES) do
        w:job("j", HEAD:gsub("%%s", "s") .. READS[write]:gsub(" }$", write == "delete_missing" and ", partition = {} }" or " }"))
        if write ~= "insert_new" then w:ok(with "j.lua") end
        assert.same({ "1|new", "2|y", "3|z" }, w:rows "SELECT id, v FROM t ORDER BY id")
      end
      -- a row that no policy lets in
      w:source "INSERT INTO s VALUES (9, 'b', '2026-01-01', 'q')"
      w:job("j", HEAD:gsub("%%s", "s") .. READS.merge):refused(1, { "row-level security", "WITH CHECK" }, with "j.lua")
      drop(w)
    end)

    it("S47 holds for the ledger's tables too", function()
      local w = new(pair)
      connect(w)
      w:job("j", HEAD:gsub("%%s", "s") .. READS.merge):ok(with "j.lua")
      w:warehouse "ALTER TABLE lrun_runs OWNER TO CURRENT_USER; ALTER TABLE lrun_runs ENABLE ROW LEVEL SECURITY"
      w:warehouse(("GRANT ALL ON lrun_runs TO %s"):format(ROLE))
      w:refused(1, { 'policy for table "lrun_runs"', "BYPASSRLS" }, with "j.lua")
      drop(w)
    end)
  end)
end

describe("S47 row_security in connections.lua", function()
  it("S47 is PostgreSQL's, a boolean, and one for one database", function()
    local w = new(pairs_of.by_name["sqlite->sqlite"])
    w:job("j", HEAD:gsub("%%s", "s") .. READS.merge)
    connect(w, MEANT)
    w:refused(2, { "row_security", "source", "sqlite" }, with "j.lua")
    connect(w, ', row_security = "on"')
    w:refused(2, { "row_security", "true or false" }, with "j.lua")
    w = new(pairs_of.by_name["postgresql same database"])
    w:job("j", HEAD:gsub("%%s", "s") .. READS.merge)
    connect(w, MEANT)
    w:refused(2, { "row_security", "source", "warehouse", "one database" }, with "j.lua")
    drop(w)
  end)
end)
