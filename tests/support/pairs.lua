-- pairs.lua: the five pairs of databases that every behaviour holds on, and a
-- world (see world.lua) on each. Specs say
--
--   pairs_of.each("midnight", function(pair)
--     it("is in one day", function()
--       local w = pair.new { source = SQL, warehouse = SQL }
--
-- SQL is what both engines take, and {words} for what they spell differently:
-- see WORDS. The source's table is s (or another name) and the target t, never
-- the same, since one of the pairs has both in one database.

local files = require "files"
local postgres = require "postgres"
local process = require "process"
local sqlite = require "sqlite"
local world = require "world"

local M = {}

-- {double}, {blob}, {bytes 00ff}, {money amount}, ... by engine.
local WORDS = {
  sqlite = {
    blob = "BLOB", double = "REAL", bigint = "INTEGER", yes = "1", no = "0", boolean = "BOOLEAN",
    bytes = function(hex) return "x'" .. hex .. "'" end,
    money = function(column) return "CASE WHEN " .. column .. " IS NOT NULL THEN printf('%.2f', " .. column .. ") END" end,
    day = function(column) return "substr(" .. column .. ", 1, 10)" end,
    list = function(what) return "group_concat(" .. what .. ", ',')" end,
    hex = function(column) return "lower(hex(" .. column .. "))" end,
  },
  postgresql = {
    blob = "bytea", double = "double precision", bigint = "bigint", yes = "true", no = "false", boolean = "boolean",
    bytes = function(hex) return "'\\x" .. hex .. "'::bytea" end,
    money = function(column) return "CAST(" .. column .. " AS numeric(30,2))::text" end,
    day = function(column) return "to_char(" .. column .. ", 'YYYY-MM-DD')" end,
    list = function(what) return "string_agg((" .. what .. ")::text, ',')" end,
    hex = function(column) return "encode(convert_to(" .. column .. ", 'UTF8'), 'hex')" end,
  },
}

-- ---- the two ends ----

local Sqlite = { engine = "sqlite" }
Sqlite.__index = Sqlite
local Postgres = { engine = "postgresql" }
Postgres.__index = Postgres

local function spelled(engine, sql)
  local words = WORDS[engine]
  return (sql:gsub("{(%l+) ?([^{}]*)}", function(word, argument)
    local found = words[word]
    return type(found) == "function" and found(argument) or found
  end))
end
for _, End in ipairs { Sqlite, Postgres } do
  function End:sql(text) return spelled(self.engine, text) end
end

local function new_sqlite(file, sql)
  local s = setmetatable({ file = file }, Sqlite)
  sqlite.exec(file, "PRAGMA journal_mode = WAL; VACUUM;" .. s:sql(sql))
  return s
end
function Sqlite:exec(sql) return sqlite.exec(self.file, self:sql(sql)) end
function Sqlite:table(query) return sqlite.table(self.file, self:sql(query)) end
function Sqlite:url() return "sqlite:" .. self.file end
Sqlite.text = function(_, s) return sqlite.text(s) end
function Sqlite:bytes() return sqlite.dump(self.file) end
function Sqlite:columns(name)
  return sqlite.rows(self.file, "SELECT name FROM pragma_table_info('" .. name .. "')")
end
function Sqlite:key(name)
  return sqlite.rows(self.file, "SELECT name FROM pragma_table_info('" .. name .. "') WHERE pk > 0 ORDER BY pk")
end
function Sqlite:tables()
  return sqlite.rows(self.file, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY 1")
end
-- A column's type as the engine says it, in small letters.
function Sqlite:type(name, column)
  local type = sqlite.one(self.file, ("SELECT type FROM pragma_table_info('%s') WHERE name = '%s'"):format(name, column))
  return type and type:lower()
end
-- A table that must not be written makes the write an error.
function Sqlite:forbid(event, name)
  self:exec(("CREATE TRIGGER no_%s BEFORE %s ON %s BEGIN SELECT raise(ABORT, 'written'); END"):format(event, event, name))
end
function Sqlite:allow(event) self:exec("DROP TRIGGER no_" .. event) end

local function new_postgres(sql)
  local s = setmetatable({}, Postgres)
  s.database = postgres.create(s:sql(sql))
  return s
end
function Postgres:exec(sql) return postgres.exec(self.database, self:sql(sql)) end
function Postgres:table(query) return postgres.table(self.database, self:sql(query)) end
function Postgres:url(options) return postgres.url(self.database, options) end
Postgres.text = function(_, s) return postgres.text(s) end
function Postgres:bytes() return postgres.dump(self.database, true) end
function Postgres:columns(name)
  return postgres.rows(self.database, ("SELECT attname FROM pg_attribute WHERE attrelid = to_regclass('%s') " ..
    "AND attnum > 0 AND NOT attisdropped ORDER BY attnum"):format(name))
end
function Postgres:key(name)
  return postgres.rows(self.database, ("SELECT a.attname FROM pg_index i, unnest(i.indkey::int2[]) WITH ORDINALITY x(att, ord), " ..
    "pg_attribute a WHERE i.indrelid = to_regclass('%s') AND i.indisprimary AND a.attrelid = i.indrelid AND a.attnum = x.att " ..
    "ORDER BY x.ord"):format(name))
end
function Postgres:tables() return postgres.tables(self.database) end
function Postgres:type(name, column)
  return postgres.one(self.database, ("SELECT format_type(atttypid, atttypmod) FROM pg_attribute " ..
    "WHERE attrelid = to_regclass('%s') AND attname = '%s'"):format(name, column))
end
function Postgres:forbid(event, name)
  self:exec(([[CREATE FUNCTION no_%s() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN RAISE 'written'; END $f$;
    CREATE TRIGGER no_%s BEFORE %s ON %s FOR EACH ROW EXECUTE FUNCTION no_%s()]]):format(event, event, event, name, event))
end
function Postgres:allow(event) self:exec("DROP FUNCTION no_" .. event .. " CASCADE") end

-- ---- the world ----

local World = setmetatable({}, { __index = world.World })
World.__index = World

-- new{ source = SQL, warehouse = SQL, options = of the source's and ... }
local function new(pair, o)
  o = o or {}
  local w = setmetatable({ dir = files.temp_dir(), pair = pair }, World)
  local source, warehouse = o.source or "", o.warehouse or ""
  if pair.same then
    w.to = new_postgres(source .. ";" .. warehouse)
    w.from = w.to
  else
    w.from = pair.source == "sqlite" and new_sqlite(w:path "source.db", source) or new_postgres(source)
    w.to = pair.warehouse == "sqlite" and new_sqlite(w:path "warehouse.db", warehouse) or new_postgres(warehouse)
  end
  w:connect(w.from:url(), w.to:url())
  return w
end

function World:connect(source, warehouse)
  return self:write("connections.lua", ("return { source = %q, warehouse = %q }\n"):format(source, warehouse))
end

local function joined(rows)
  for i, row in ipairs(rows) do rows[i] = table.concat(row, "|") end
  return rows
end
function World:source(sql) return self.from:exec(sql) end
function World:warehouse(sql) return self.to:exec(sql) end
function World:rows(query) return joined(self.to:table(query)) end
function World:one(query) return self:rows(query)[1] end
function World:table(query) return self.to:table(query) end
function World:source_rows(query) return joined(self.from:table(query)) end

-- Whether the warehouse has a table; the names of its tables but the ledger's
-- (and, in one database, the source's).
function World:has(name) return #self.to:columns(name) > 0 end
function World:tables()
  local names = {}
  for _, name in ipairs(self.to:tables()) do
    if not name:find "lrun_" and not (self.pair.same and name == "s") then names[#names + 1] = name end
  end
  return names
end

-- As world.World:state: everything but the ledger's notes of runs.
function World:state()
  if self.to.engine == "sqlite" then
    self.warehouse_file = self.to.file
    return world.World.state(self)
  end
  local kept, skipping = {}, false
  for line in postgres.dump(self.to.database):gmatch "[^\n]*" do
    local name = line:match "^([%w_]+)|"
    if name then skipping = name:find "^lrun_" and name ~= "lrun_watermarks" end
    if not skipping then kept[#kept + 1] = line end
  end
  return table.concat(kept, "\n")
end

-- Everything, the ledger and the rows' versions included.
function World:bytes() return self.to:bytes() end

-- Wait for a file that the job writes.
function World:wait_for(name)
  if not process.wait_for(function() return files.exists(self:path(name)) end) then error("no file " .. name, 2) end
end

-- ---- the pairs ----

-- The usual tables: s in the source, t in the warehouse.
M.S = "CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT, updated_at TIMESTAMP NOT NULL);\n"
M.T = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, updated_at TIMESTAMP NOT NULL);\n"

M.all = {
  { name = "sqlite->sqlite", source = "sqlite", warehouse = "sqlite" },
  { name = "sqlite->postgresql", source = "sqlite", warehouse = "postgresql" },
  { name = "postgresql->sqlite", source = "postgresql", warehouse = "sqlite" },
  { name = "postgresql->postgresql", source = "postgresql", warehouse = "postgresql" },
  { name = "postgresql same database", source = "postgresql", warehouse = "postgresql", same = true },
}
M.by_name = {}
for _, pair in ipairs(M.all) do
  M.by_name[pair.name] = pair
  pair.new = function(o) return new(pair, o) end
  pair.with = function(source, warehouse) return new(pair, { source = M.S .. (source or ""), warehouse = M.T .. (warehouse or "") }) end
  -- The target is left to lrun.
  pair.only = function(source) return new(pair, { source = M.S .. (source or "") }) end
end

-- describe(what) on each pair; LRUN_TEST_PAIR=name takes one. The sanitized
-- binary, which is slow, gets two of them in turn.
local turn = 0
function M.each(what, body)
  local only = os.getenv "LRUN_TEST_PAIR"
  turn = turn + 1
  for i, pair in ipairs(M.all) do
    local mine = not world.sanitized or (i + turn) % #M.all < 2
    if only == pair.name or not only and mine then
      require "busted".describe(what .. ", " .. pair.name .. ",", function() body(pair) end)
    end
  end
end

M.Postgres = Postgres
M.Sqlite = Sqlite
M.World = World
return M
