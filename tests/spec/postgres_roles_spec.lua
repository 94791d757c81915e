-- Roles with no more than they need, and what is said to one that lacks it.
local pairs_of = require "pairs"
local process = require "process"
local postgres = require "postgres"
local files = require "files"

local by_name = pairs_of.by_name

-- Roles are the server's, so their names are this process's.
local LOADER = "lrun_loader_" .. files.temp_dir():match "%w+$":lower()
local READER = LOADER:gsub("loader", "reader")
setup(function() postgres.exec("postgres", ("CREATE ROLE %s LOGIN; CREATE ROLE %s LOGIN"):format(LOADER, READER)) end)
teardown(function() postgres.exec("postgres", ("DROP ROLE IF EXISTS %s; DROP ROLE IF EXISTS %s"):format(LOADER, READER)) end)

-- The roles own nothing and may do nothing that is not granted.
local function drop_roles(w)
  for _, role in ipairs { LOADER, READER } do
    for _, side in ipairs { w.from, w.to } do
      if side.database then side:exec(("DROP OWNED BY %s CASCADE"):format(role)) end
    end
  end
end

local function as(url, role) return (url:gsub("//[^@/]*@", "//" .. role .. "@")) end

-- The warehouse is the loader's: a schema for the ledger, and rows of its tables.
local STRICT = [[
DO $$ BEGIN EXECUTE format('REVOKE ALL ON DATABASE %%I FROM PUBLIC; GRANT CONNECT ON DATABASE %%I TO %s, %s',
  current_database(), current_database()); END $$;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
]]
local GRANTS = [[
GRANT USAGE ON SCHEMA public TO %s;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO %s;
CREATE SCHEMA led; GRANT USAGE, CREATE ON SCHEMA led TO %s;
]]

local JOB = [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window { since = watermark(), lookback = days(5) } }
merge { rows, into = "t", key = "id" }
merge { rows:map(function(row) return row end), into = "t2", key = "id" }
overwrite_partition { rows, into = "t3" }
insert_new { rows, into = "t4", key = "id" }
full_load { rows, into = "t5" }
reconcile { rows, with = "t", sum = "id" }
reconcile { rows, with = "t2", sum = "id" }
]]
local TABLES = ""
for n = 2, 5 do TABLES = TABLES .. pairs_of.T:gsub("TABLE t", "TABLE t" .. n) end
local ROWS = "INSERT INTO s VALUES (1, 'a', '2026-01-01 10:00:00'), (2, 'b', '2026-01-01 11:00:00');"

local function strict(pair, grants)
  local w = pair.with(ROWS, TABLES)
  w:warehouse(STRICT:format(LOADER, READER) .. (grants or GRANTS):gsub("%%s", LOADER))
  w:connect(pair.same and as(w.from:url(), LOADER) or w.from:url(), as(w.to:url(), LOADER))
  w:job("j", JOB)
  return w
end

for _, name in ipairs { "sqlite->postgresql", "postgresql->postgresql", "postgresql same database" } do
  local pair = by_name[name]
  describe("a warehouse role, " .. name .. ",", function()
    it("needs its tables' rows and a schema for the ledger, neither TEMP nor CREATE elsewhere", function()
      local w = strict(pair)
      w:ok("j.lua", "--run-start", "2026-01-03", "--ledger-schema", "led")
      w:source "UPDATE s SET v = 'new' WHERE id = 2"
      w:ok("j.lua", "--run-start", "2026-01-04", "--ledger-schema", "led")
      for _, t in ipairs { "t", "t2", "t3", "t5" } do
        assert.same({ "1|a", "2|new" }, w:rows("SELECT id, v FROM " .. t .. " ORDER BY id"))
      end
      assert.same({ "1|a", "2|b" }, w:rows "SELECT id, v FROM t4 ORDER BY id")
      -- a merge that sets rows aside does so beside the ledger too
      w:source "UPDATE s SET v = 'newer' WHERE id = 2"
      w:ok("j.lua", "--run-start", "2026-01-05", "--ledger-schema", "led", { env = { LRUN_PG_MERGE = "delete_insert" } })
      for _, t in ipairs { "t", "t2", "t3", "t5" } do
        assert.same({ "1|a", "2|newer" }, w:rows("SELECT id, v FROM " .. t .. " ORDER BY id"))
      end
      -- Nothing but the ledger is in its schema, and it is nowhere else.
      assert.equal("0", w:one "SELECT count(*) FROM pg_class WHERE relname LIKE 'lrun_stage%'")
      assert.equal("led", w:one "SELECT string_agg(DISTINCT relnamespace::regnamespace::text, ',') FROM pg_class WHERE relname LIKE 'lrun_%'")
      assert.equal("succeeded succeeded succeeded", w:one "SELECT string_agg(status, ' ') FROM led.lrun_runs")
      w:ok("status", "j.lua", "--ledger-schema", "led")
      w:ok("plan", "j.lua", "--ledger-schema", "led")
      drop_roles(w)
    end)

    it("goes on with a ledger of 0.1.0 where it may make no tables (S93)", function()
      local w = strict(pair)
      w:job("j", (JOB:gsub("\nmerge { rows:map[^\n]*", ""):gsub("\nreconcile { rows, with = \"t2\"[^\n]*", "")))
      w:ok("j.lua", "--run-start", "2026-01-03", "--ledger-schema", "led")
      w:warehouse("DROP TABLE led.lrun_write_columns; REVOKE CREATE ON SCHEMA led FROM " .. LOADER ..
                  "; DO $$ BEGIN EXECUTE format('GRANT TEMP ON DATABASE %I TO " .. LOADER .. "', current_database()); END $$")
      w:ok("j.lua", "--run-start", "2026-01-04", "--ledger-schema", "led")
      assert.equal("t1", w:one "SELECT 't1' WHERE to_regclass('led.lrun_write_columns') IS NULL")
      w:source "ALTER TABLE s DROP COLUMN v"
      w:refused(1, { "column v", "gone from s" }, "j.lua", "--run-start", "2026-01-05", "--ledger-schema", "led")
      drop_roles(w)
    end)

    it("stages in the ledger's schema inside the transaction: gone after a failure and a kill", function()
      local w = strict(pair)
      w:job("j", JOB .. 'if param("wait", "no") == "yes" then io.open("ready", "w"):close() while true do end end error "stop"')
      assert.equal(1, w:lrun("j.lua", "--run-start", "2026-01-03", "--ledger-schema", "led").status)
      assert.equal("0|0", w:one "SELECT (SELECT count(*) FROM pg_class WHERE relname LIKE 'lrun_stage%'), count(*) FROM t")
      local p = w:start("j.lua", "--run-start", "2026-01-03", "--ledger-schema", "led", "--param", "wait=yes")
      w:wait_for "ready"
      -- Not seen by anybody else meanwhile.
      assert.equal("0", w:one "SELECT count(*) FROM pg_class WHERE relname LIKE 'lrun_stage%'")
      p:signal "KILL"
      p:wait()
      assert.is_true(process.wait_for(function()
        return w:one(("SELECT count(*) FROM pg_stat_activity WHERE usename = '%s' AND datname = current_database()"):format(LOADER)) == "0"
      end, 10))
      w:job("j", JOB)
      w:ok("j.lua", "--run-start", "2026-01-03", "--ledger-schema", "led")
      assert.equal("0|2", w:one "SELECT (SELECT count(*) FROM pg_class WHERE relname LIKE 'lrun_stage%'), count(*) FROM t")
      drop_roles(w)
    end)

    it("two at once do not get into each other's staging", function()
      local w = strict(pair)
      w:job("j", JOB)
      w:job("k", (JOB:gsub('"t(%d?)"', function(n) return '"t' .. (n == "" and "2" or n == "2" and "" or n) .. '"' end)))
      w:ok("j.lua", "--run-start", "2026-01-03", "--ledger-schema", "led")
      local a, b = w:start("j.lua", "--run-start", "2026-01-04", "--ledger-schema", "led"),
        w:start("k.lua", "--run-start", "2026-01-04", "--ledger-schema", "led")
      local ra, rb = a:wait(), b:wait()
      assert.equal("0 0", ra.status .. " " .. rb.status, ra.err .. rb.err)
      drop_roles(w)
    end)
  end)
end

describe("a warehouse role that lacks a privilege", function()
  local pair = by_name["sqlite->postgresql"]
  for what, case in pairs {
    ["CREATE for the ledger"] = { GRANTS:gsub("USAGE, CREATE ON", "USAGE ON"), { "schema led", "CREATE", 'GRANT CREATE ON SCHEMA "led" TO "' .. LOADER } },
    ["INSERT on its table"] = { GRANTS .. "REVOKE INSERT ON t FROM %s;", { "table t (", "INSERT", 'ON "public"."t" TO "' .. LOADER } },
    ["UPDATE on its table"] = { GRANTS .. "REVOKE UPDATE ON t FROM %s;", { "table t (", "UPDATE", 'ON "public"."t" TO "' .. LOADER } },
    ["SELECT on its table"] = { GRANTS .. "REVOKE SELECT ON t FROM %s;", { "table t (", "SELECT", 'ON "public"."t" TO "' .. LOADER } },
    ["DELETE on its table"] = { GRANTS .. "REVOKE DELETE ON t3 FROM %s;", { "table t3 (", "DELETE", 'ON "public"."t3" TO "' .. LOADER } },
    ["CREATE for a target"] = { GRANTS .. "DROP TABLE t;", { "schema public", "CREATE", 'GRANT CREATE ON SCHEMA "public" TO "' .. LOADER } },
  } do
    it("is told which, and the GRANT: " .. what, function()
      local w = strict(pair, case[1])
      w:refused(1, case[2], "j.lua", "--run-start", "2026-01-03", "--ledger-schema", "led")
      assert.equal("0|0", w:one "SELECT (SELECT count(*) FROM t2), (SELECT count(*) FROM t5)")
      drop_roles(w)
    end)
  end

  it("on the ledger, or that is read-only, is told so", function()
    local w = strict(pair)
    w:ok("j.lua", "--run-start", "2026-01-03", "--ledger-schema", "led")
    w:warehouse(("ALTER ROLE %s SET default_transaction_read_only = on"):format(LOADER))
    w:refused(1, { "read-only", "default_transaction_read_only" }, "j.lua", "--run-start", "2026-01-04", "--ledger-schema", "led")
    w:warehouse(("ALTER ROLE %s RESET ALL; ALTER TABLE led.lrun_runs OWNER TO postgres; REVOKE ALL ON led.lrun_runs FROM %s"):format(LOADER, LOADER))
    w:refused(1, { "lrun_runs", "GRANT", LOADER }, "j.lua", "--run-start", "2026-01-04", "--ledger-schema", "led")
    drop_roles(w)
  end)
end)

for _, name in ipairs { "postgresql->sqlite", "postgresql->postgresql" } do
  describe("a source role, " .. name .. ",", function()
    it("needs SELECT only", function()
      local w = by_name[name].with(ROWS, TABLES)
      w:source(STRICT:format(LOADER, READER) .. ("GRANT USAGE ON SCHEMA public TO %s; GRANT SELECT ON s TO %s; "):format(READER, READER) ..
        ("ALTER ROLE %s SET default_transaction_read_only = on"):format(READER))
      w:connect(as(w.from:url(), READER), w.to:url())
      w:job("j", JOB):ok("j.lua", "--run-start", "2026-01-03")
      w:ok("j.lua", "--run-start", "2026-01-04")
      assert.equal("2|2|2", w:one "SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM t2), (SELECT count(*) FROM t5)")
      w:source(("REVOKE SELECT ON s FROM %s"):format(READER))
      w:refused(1, { "j.lua:", "table s (", "SELECT", 'GRANT SELECT ON "public"."s" TO "' .. READER }, "j.lua", "--run-start", "2026-01-05")
      drop_roles(w)
    end)
  end)
end
