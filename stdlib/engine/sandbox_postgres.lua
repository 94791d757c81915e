-- A sandbox in a PostgreSQL: two schemas of a database that is somebody's own, and a
-- third that keeps the states; all three are dropped in the end. The job's two
-- connections differ in their search_path; the warehouse's finds the source's tables
-- too, as an attached database does in SQLite.
local STATES = require "engine.postgres_states"
local data = require "engine.data"
local sandbox = require "engine.sandbox"
local change, quote = sandbox.change, sandbox.quote
local postgres = {}

local Box = {}
Box.__index = Box

local NONE = "sqlite::memory:" -- the engine's own connections need no second database

-- The URL with settings of the session, for both forms that libpq takes.
local function with_settings(url, settings)
  local list = {}
  for name, value in pairs(settings) do list[#list + 1] = ("-c %s=%s"):format(name, (value:gsub("[ \\]", "\\%0"))) end
  table.sort(list)
  local text = table.concat(list, " ")
  if not url:find "^postgres%w*://" then return ("%s options='%s'"):format(url, (text:gsub("[\\']", "\\%0"))) end
  local encoded = text:gsub("[^%w%-%._]", function(c) return ("%%%02X"):format(c:byte()) end)
  return url .. (url:find("?", 1, true) and "&" or "?") .. "options=" .. encoded
end

function Box:url(which, more)
  local path = which == "source" and self.schema.source or self.schema.warehouse .. "," .. self.schema.source
  local settings = { search_path = path .. ",pg_catalog", timezone = "UTC" }
  for name, value in pairs(more or {}) do settings[name] = value end
  return with_settings(self.base, settings)
end

-- A connection, or nil and the error.
function postgres.connect(url)
  return core.connect { lock_timeout_ms = 5000,
                        connections = { { name = "warehouse", url = url }, { name = "source", url = NONE } } }
end

local function connect(url)
  local conn, e = postgres.connect(url)
  if not conn then error(e.text, 0) end
  return conn
end

-- Kept open between two questions, until somebody else may be asked to work.
function Box:connection(which)
  self.open[which] = self.open[which] or connect(self:url(which, { ["lrun.learn"] = "on", synchronous_commit = "off" }))
  return self.open[which]
end

-- A process of its own may begin: nobody is connected.
function Box:leave()
  for which, conn in pairs(self.open) do
    conn:close()
    self.open[which] = nil
  end
end

local function must(conn, text, values)
  local rows, e = conn:query(text, values)
  if not rows then error(e.text .. " in: " .. text, 0) end
  return rows
end

local function drop(schema) return ("DROP SCHEMA IF EXISTS %s CASCADE"):format(schema) end

local function own(conn, schema)
  local host = core.self()
  local note = data.literal(("%s, %s"):format(host, core.now()))
  change(conn, { drop(schema), ("CREATE SCHEMA %s"):format(schema), ("COMMENT ON SCHEMA %s IS %s"):format(schema, note) })
end

-- Schemas of a program that was killed on this machine are dropped first.
local function sweep(conn)
  local host, me = core.self()
  for _, row in ipairs(must(conn, "SELECT nspname, obj_description(oid, 'pg_namespace') FROM pg_namespace " ..
                                  "WHERE nspname LIKE 'lrun\\_learn\\_%'")) do
    local pid = math.tointeger(tonumber(row[1]:match "^lrun_learn_(%d+)_"))
    local of, since = (row[2] or ""):match "^(.*), (.-)$"
    if pid and of == host and pid ~= me and not core.alive(of, pid, since) then
      change(conn, { drop(row[1]) })
    end
  end
end

local count = 0

-- May sandboxes be made there? Nil, or what is wrong.
function postgres.problem(url)
  if not url:find "^postgres%w*://" and not url:find "%w+%s*=" then
    return { status = 2, message = "--pg takes the URL of a PostgreSQL", hint = "write --pg postgresql://user@host/database" }
  end
  if url:find "[?&]options=" or url:find "%f[%w]options%s*=" then
    return { status = 2, message = "--pg: the URL has options of its own, and the sandbox needs them",
             hint = "take options out of the URL" }
  end
  local conn, e = postgres.connect(url)
  if not conn then return e end
  local rows = conn:query "SELECT has_database_privilege(current_database(), 'CREATE')"
  conn:close()
  if rows and not rows[1][1] then
    return { status = 5, message = "--pg: the role may not create schemas in that database",
             hint = "GRANT CREATE ON DATABASE ... TO the role, or name another database" }
  end
end

function postgres.new(url)
  local dir, owner = core.tempdir()
  if not dir then error("no temporary folder can be made: " .. owner, 0) end
  count = count + 1
  local _, pid = core.self()
  local name = ("lrun_learn_%d_%d"):format(pid, count)
  local self = setmetatable({ base = url, dir = dir, owner = owner, job = dir .. "/job.lua", open = {},
                              schema = { source = name .. "_source", warehouse = name .. "_warehouse", keeper = name .. "_states" } }, Box)
  local conn <close> = connect(with_settings(url, { client_min_messages = "warning" }))
  sweep(conn)
  local statements = {}
  for i, text in ipairs(STATES) do
    statements[i] = text:gsub("@(%u)", { S = self.schema.source, W = self.schema.warehouse, K = self.schema.keeper })
  end
  for _, schema in pairs(self.schema) do own(conn, schema) end
  change(conn, statements)
  return self
end

function Box:close()
  self:leave()
  local ok, why = pcall(function()
    local conn <close> = connect(with_settings(self.base, { client_min_messages = "warning" }))
    for _, schema in pairs(self.schema) do change(conn, { drop(schema) }) end
  end)
  self.owner:close()
  if not ok then core.warn(("the schemas of the sandbox are left behind: %s\n"):format(tostring(why))) end
end

-- Statements, each a text or { text, values }, as one transaction.
function Box:exec(which, statements)
  local all = table.move(statements, 1, #statements, 1, {})
  if which == "source" then all[#all + 1] = ("SELECT %s.protect()"):format(self.schema.keeper) end
  change(self:connection(which), all)
end

-- As SQLite shows them: a midnight is a date, a decimal number is a number.
local function plain(v)
  if type(v) ~= "string" then return v end
  if v:find "^%d%d%d%d%-%d%d%-%d%d 00:00:00$" then return v:sub(1, 10) end
  if v:find "^%-?%d+%.%d+$" then return tonumber(v) end
  return v
end

function Box:rows(which, text, values)
  local rows, e = self:connection(which):query(text, values)
  if not rows then return nil, e.message end
  for _, row in ipairs(rows) do
    for i, v in ipairs(row) do row[i] = plain(v) end
  end
  return rows
end

function Box:state()
  return { rows = change(self:connection "warehouse", { ("SELECT %s.state()"):format(self.schema.keeper) }) }
end

function Box:restore(state)
  change(self:connection "warehouse", { { ("SELECT %s.restore(?)"):format(self.schema.keeper), { state.rows or "[]" } } })
end

function Box:connections(clock)
  return { { name = "source", url = self:url("source", { ["lrun.clock"] = clock }) },
           { name = "warehouse", url = self:url("warehouse", { ["lrun.clock"] = clock }) } }
end

Box.set_job, Box.shown = sandbox.Box.set_job, sandbox.Box.shown

-- A trigger refuses rows of the source; a table that is dropped or made anew shows afterwards.
function Box:run(o)
  local before = table.concat(self:tables "source", ", ")
  local result = sandbox.Box.run(self, o)
  local after = table.concat(self:tables "source", ", ")
  if after ~= before and result.status == 0 then
    local text = ("%s: the job changed the source's tables: %s were there\n  hint: a job reads the source only"):format(
      o.shown or "job.lua", before)
    result.status, result.error = 1, { status = 1, message = text, text = text, where = o.shown or "job.lua" }
  end
  return result
end

-- ---- what is said otherwise than in SQLite ----

-- The columns that hold times: those that tell when, and those with a time of day.
function Box:declare(history) -- luacheck: ignore self
  local times = { watermark = true }
  for _, name in ipairs(history.probe and history.probe.columns or {}) do times[name] = true end
  local function look(name, v)
    if type(v) == "string" and v:find "^%d%d%d%d%-%d%d%-%d%d[ T]%d%d:%d%d" then times[name] = true end
  end
  local function event(e)
    for _, values in ipairs { e.row or {}, e.set or {} } do
      for name, v in pairs(values) do
        if type(name) == "number" then
          for _, t in ipairs(history.source) do if t.name == e.insert then name = t.columns[name][1] end end
        end
        look(name, v)
      end
    end
    for _, d in ipairs(e.during or {}) do event(d) end
  end
  for _, e in ipairs(history.events) do event(e) end
  for _, list in ipairs { history.source, history.warehouse } do
    for _, t in ipairs(list) do
      for _, row in ipairs(t.rows or {}) do
        for i, c in ipairs(t.columns) do look(c[1], #row > 0 and row[i] or row[c[1]]) end
      end
    end
  end
  return function(column)
    if column[3] ~= "date" then return column[2] end
    return (column[2]:gsub("^TEXT", times[column[1]] and "timestamp" or "date"))
  end
end

function Box:tables(which)
  return sandbox.names(self:rows(which, "SELECT relname FROM pg_class WHERE relnamespace = CAST(? AS regnamespace) " ..
                                        "AND relkind IN ('r', 'v') ORDER BY oid", { self.schema[which] }))
end

function Box:columns(which, name)
  return sandbox.names(self:rows(which, "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(?) AND attnum > 0 " ..
                                        "AND NOT attisdropped ORDER BY attnum", { self.schema[which] .. "." .. quote(name) }))
end

-- A table that takes one row for each side of a row that is written.
function Box:watch(log, name, column)
  local lines = {}
  for verb, sides in pairs { INSERT = { "NEW" }, DELETE = { "OLD" }, UPDATE = { "OLD", "NEW" } } do
    local body = {}
    for i, side in ipairs(sides) do
      body[i] = ("INSERT INTO %s.%s(day) VALUES (left(%s.%s::text, 10));"):format(self.schema.warehouse, log, side, quote(column))
    end
    lines[#lines + 1] = ("IF TG_OP = '%s' THEN %s END IF;"):format(verb, table.concat(body, " "))
  end
  self:exec("warehouse", {
    ("CREATE TABLE %s(n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, day text)"):format(log),
    ("CREATE OR REPLACE FUNCTION %s.%s() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN %s RETURN NULL; END $$"):format(
      self.schema.keeper, log, table.concat(lines, " ")),
    ("CREATE TRIGGER %s AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION %s.%s()"):format(
      log, quote(name), self.schema.keeper, log),
  })
end

postgres.Box = Box
return postgres
