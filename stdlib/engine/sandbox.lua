-- A sandbox: a folder of its own with a source, a warehouse and the job, and
-- nothing else. A state is the bytes of both databases, so that every step can
-- be kept and gone back to. engine/sandbox_postgres.lua is one in a PostgreSQL.
local sandbox = {}

local Box = {}
Box.__index = Box

local NONE = "sqlite::memory:" -- the engine's own connections need no second database

local function quote(name) return '"' .. tostring(name):gsub('"', '""') .. '"' end
sandbox.quote = quote

local url -- of the PostgreSQL that sandboxes are to be made in

-- Nil, or what is wrong with it.
function sandbox.use(server)
  url = server
  return require "engine.sandbox_postgres".problem(server)
end

function sandbox.new()
  if url then return require "engine.sandbox_postgres".new(url) end
  local dir, owner = core.tempdir()
  if not dir then error("no temporary folder can be made: " .. owner, 0) end
  return setmetatable({ dir = dir, owner = owner, files = { source = dir .. "/source.db", warehouse = dir .. "/warehouse.db" },
                        job = dir .. "/job.lua" }, Box)
end

-- Everything that was made goes with the folder.
function Box:close() self.owner:close() end

-- A process of its own may begin: nobody is connected.
function Box:leave() end -- luacheck: ignore self

local function connect(path)
  local conn, e = core.connect { lock_timeout_ms = 2000, connections = {
    { name = "warehouse", url = "sqlite:" .. path }, { name = "source", url = NONE } } }
  if not conn then error(e.text, 0) end
  return conn
end

-- Statements, each a text or { text, values }, as one transaction. Gives the first
-- value of the last one.
function sandbox.change(conn, statements)
  local value
  assert(conn:begin())
  for _, s in ipairs(statements) do
    local text, values = s, nil
    if type(s) == "table" then text, values = s[1], s[2] end
    local rows, e = conn:query(text, values)
    if not rows then
      conn:rollback()
      error(e.text .. " in: " .. text, 0)
    end
    value = rows[1] and rows[1][1]
  end
  assert(conn:commit())
  return value
end

function Box:exec(which, statements)
  local conn <close> = connect(self.files[which])
  local fresh = not core.stat(self.files[which] .. "-wal")
  if fresh then conn:query "PRAGMA journal_mode = WAL" end
  sandbox.change(conn, statements)
end

-- Rows as lists, NULL as false; or nil and why.
function Box:rows(which, text, values)
  local conn <close> = connect(self.files[which])
  local rows, e = conn:query(text, values)
  if not rows then return nil, e.message end
  return rows
end

local function read(path)
  local f = io.open(path, "rb")
  if not f then return nil end
  local text = f:read "a"
  f:close()
  return text
end

local function write(path, text)
  local f = assert(io.open(path, "wb"))
  assert(f:write(text))
  assert(f:close())
end

-- Is there something in the log beside a database?
local function logged(path)
  local f = io.open(path .. "-wal", "rb")
  if not f then return false end
  local size = f:seek "end"
  f:close()
  return size > 0
end

-- Nobody is connected between two events, so the files are whole; but for a row that landed
-- while a run read the source: the run cannot write it there, so its log stays.
function Box:state()
  for which, path in pairs(self.files) do
    if logged(path) then self:rows(which, "SELECT count(*) FROM sqlite_master") end
  end
  return { source = read(self.files.source), warehouse = read(self.files.warehouse) }
end

function Box:restore(state)
  for which, path in pairs(self.files) do
    for _, suffix in ipairs { "-wal", "-shm", "-journal" } do os.remove(path .. suffix) end
    if state[which] then write(path, state[which]) else os.remove(path) end
  end
end

-- ---- what another engine says otherwise ----

function Box:connections()
  return { { name = "source", url = "sqlite:" .. self.files.source }, { name = "warehouse", url = "sqlite:" .. self.files.warehouse } }
end

-- A function that gives the declaration of a column of the history.
function Box:declare() -- luacheck: ignore self
  return function(column) return column[2] end
end

-- The first values of rows.
local function names(rows)
  local out = {}
  for i, row in ipairs(rows or {}) do out[i] = row[1] end
  return out
end

function Box:tables(which)
  return names(self:rows(which, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') " ..
                                "AND name NOT LIKE 'sqlite_%' ORDER BY rowid"))
end

function Box:columns(which, name) return names(self:rows(which, "SELECT name FROM pragma_table_info(?)", { name })) end

-- A table that takes the day of each side of a row that is written.
function Box:watch(log, name, column)
  local statements = { ("CREATE TABLE %s(n INTEGER PRIMARY KEY, day TEXT)"):format(log) }
  for verb, sides in pairs { INSERT = { "NEW" }, DELETE = { "OLD" }, UPDATE = { "OLD", "NEW" } } do
    local body = {}
    for i, side in ipairs(sides) do
      body[i] = ("INSERT INTO %s(day) VALUES (substr(%s.%s, 1, 10));"):format(log, side, quote(column))
    end
    statements[#statements + 1] = ("CREATE TRIGGER %s_%s AFTER %s ON %s BEGIN %s END"):format(
      log, verb:lower(), verb, quote(name), table.concat(body, " "))
  end
  self:exec("warehouse", statements)
end

-- ---- the job ----

function Box:set_job(text) write(self.job, text) end

local LIMITS = { max_memory = 2 ^ 26 // 1, max_instructions = 20000000, max_seconds = 5 }

-- A text with the job's own name in the place of the copy's path.
function Box:shown(text, shown)
  local at, to = text:find(self.job, 1, true)
  while at do
    text = text:sub(1, at - 1) .. shown .. text:sub(to + 1)
    at, to = text:find(self.job, at + #shown, true)
  end
  return text
end

-- Run the job at a time of the virtual clock. o: run_start, logical_date,
-- on_event(event, fields), shown (the job file's name in messages), mode, params,
-- by_rows (a comparison names the keys).
function Box:run(o)
  local result = core.run {
    path = self.job, by_rows = o.by_rows, run_start = o.run_start, logical_date = o.logical_date, mode = o.mode, on_event = o.on_event,
    allow_open = true, sandbox = true, trace = true, verbose = true, lock_timeout_ms = 2000, params = o.params or {},
    max_memory = LIMITS.max_memory, max_instructions = LIMITS.max_instructions, max_seconds = LIMITS.max_seconds,
    connections = self:connections(o.run_start),
  }
  local e = result.error
  for _, field in ipairs { "where", "message", "text" } do
    if e and e[field] then e[field] = self:shown(e[field], o.shown or "job.lua") end
  end
  return result
end

sandbox.Box, sandbox.names = Box, names
return sandbox
