-- postgres.lua: databases of the test server, looked at from outside with psql.
-- LRUN_TEST_PG_URL names the server (run_tests.sh starts one); its role may
-- make databases. A spec process makes a few of its own, hands the one that was
-- handed out longest ago to the next test, emptied, and drops all at its end:
-- to empty one takes a tenth of the time of making one.

local files = require "files"
local process = require "process"

local M = {}

local KEPT = 6 -- databases of one spec process at a time

-- What psql prints must not depend on the server's settings.
local SESSION = "-c timezone=UTC -c datestyle=ISO,YMD -c intervalstyle=postgres -c bytea_output=hex " ..
  "-c extra_float_digits=1 -c client_min_messages=warning -c standard_conforming_strings=on -c client_encoding=UTF8 " ..
  "-c search_path=public -c default_transaction_isolation=read\\ committed"

local used
local function server()
  local url = used or os.getenv "LRUN_TEST_PG_URL"
  if not url or url == "" then
    error("no PostgreSQL server: run the specs by make test, or set LRUN_TEST_PG_URL=postgresql://...", 0)
  end
  return url
end

-- The server's URL; use(url) takes another one for this spec.
M.server = server
function M.use(url) used = url end

-- postgresql://WHO/DATABASE?OPTIONS with another database and more options.
function M.url(database, options)
  local head, query = server():match "^(postgres[ql]*://[^/?]*)/?[^?]*%??(.*)$"
  if not head then error("LRUN_TEST_PG_URL must be a URL, postgresql://...", 0) end
  local words = {}
  if query ~= "" then words[1] = query end
  for name, value in pairs(options or {}) do
    words[#words + 1] = name .. "=" .. value:gsub("[^%w%-._/]", function(c) return ("%%%02X"):format(c:byte()) end)
  end
  table.sort(words)
  return head .. "/" .. database .. (#words > 0 and "?" .. table.concat(words, "&") or "")
end

-- The folder of the suite's own server, nil where it is another one.
M.dir = os.getenv "LRUN_TEST_PG_DIR"

local function psql(url, script, level)
  local r = process.run({ "env", "PGOPTIONS=" .. SESSION, "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-", url },
    { stdin = script, tool = true })
  if r.status ~= 0 or r.err ~= "" then error(("psql: %s\n%s"):format(r.err, script:sub(1, 2000)), level) end
  return r.out
end

local made, number = {}, 0
local prefix
setmetatable(made, { __gc = function(list)
  if #list > 0 then
    local script = {}
    for i, name in ipairs(list) do script[i] = ("DROP DATABASE IF EXISTS %s WITH (FORCE);"):format(name) end
    pcall(psql, server(), table.concat(script, "\n"), 1)
  end
end })

local EMPTY = [[
ALTER DATABASE %s RESET ALL;
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() \g /dev/null
DO $$ DECLARE s name; BEGIN
  FOR s IN SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\_%%' AND nspname <> 'information_schema' LOOP
    EXECUTE format('DROP SCHEMA %%I CASCADE', s);
  END LOOP;
END $$;
CREATE SCHEMA public;
GRANT USAGE ON SCHEMA public TO PUBLIC;
]]

-- An empty database in which the statements have run; its name. With options
-- (of CREATE DATABASE) it is made anew.
function M.create(script, options)
  prefix = prefix or "lrun_" .. files.temp_dir():match "([%w]+)$":lower() .. "_"
  local name, ready
  local url = server()
  if #made >= KEPT and not options then
    name = table.remove(made, 1)
    ready = EMPTY:format(name)
    url = M.url(name)
  else
    number = number + 1
    name = prefix .. number
    ready = ("CREATE DATABASE %s TEMPLATE template0 ENCODING 'UTF8' %s;\n\\connect %s\n"):format(name, options or "", name)
  end
  made[#made + 1] = name
  psql(url, ready .. (script or ""), 3)
  return name
end

-- Run statements.
function M.exec(database, script) return psql(M.url(database), script, 3) end

local UNESCAPED = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", v = "\v" }

-- The rows of a query, each a list of strings; NULL is the string NULL, so a
-- test that has to tell it from the text asks for "v IS NULL".
function M.table(database, query)
  local out = psql(M.url(database), "COPY (" .. query:gsub(";%s*$", "") .. "\n) TO STDOUT;\n", 4)
  local rows = {}
  for line in out:gmatch "([^\n]*)\n" do
    local row = {}
    for field in (line .. "\t"):gmatch "([^\t]*)\t" do
      row[#row + 1] = field == "\\N" and "NULL" or (field:gsub("\\(.)", function(c) return UNESCAPED[c] or c end))
    end
    rows[#rows + 1] = row
  end
  return rows
end

-- Each row as one string: "105|22.00|NULL".
function M.rows(database, query)
  local rows = M.table(database, query)
  for i, row in ipairs(rows) do rows[i] = table.concat(row, "|") end
  return rows
end

function M.one(database, query) return M.rows(database, query)[1] end

-- A literal of any text.
function M.text(s)
  return "convert_from('\\x" .. s:gsub(".", function(c) return ("%02x"):format(c:byte()) end) .. "', 'UTF8')"
end

local TABLES = [[SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm') AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema' ORDER BY 1]]
function M.tables(database) return M.rows(database, TABLES) end

-- Every table's columns and rows as text, for "nothing has changed"; with
-- versions also the rows' versions, which a write of the same values changes.
function M.dump(database, versions)
  return M.exec(database, ([[SELECT t.name, (SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) ||
      CASE WHEN a.attnotnull THEN ' not null' ELSE '' END, ', ' ORDER BY a.attnum)
      FROM pg_attribute a WHERE a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped),
    query_to_xml('SELECT %s x.* FROM ' || t.name || ' x ORDER BY x::text', true, false, '')
    FROM (SELECT c.oid, c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname NOT LIKE 'pg\_%%' AND n.nspname <> 'information_schema') t ORDER BY 1;
    SELECT sequencename, last_value FROM pg_sequences ORDER BY 1;]]):format(versions and "xmin, ctid," or ""))
end

return M
