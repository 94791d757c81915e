-- The lanes with PostgreSQL at one end or both, on a private server. A target
-- database is a copy of one made before, so that each run finds the same pages.
local measure = require "measure"
local sqlite = require "sqlite"
local call, output_of = measure.call, measure.output_of

local CLUSTER = measure.base .. "/../support/cluster.sh"

-- The server as it comes, but for a log that a bench needs no checkpoint for.
local SETTINGS = { "fsync=on", "synchronous_commit=on", "full_page_writes=on", "shared_buffers=128MB", "max_wal_size=8GB",
                   "checkpoint_timeout=1h" }

local ORDERS = "order_id bigint, customer_id integer, order_date date, amount numeric(12,2), status text, note text, updated_at timestamp"

-- What both must have made, or the time means nothing.
local CHECK = "SELECT count(*), %s, count(*) FILTER (WHERE status = 'pending') FROM orders"

local postgres = {}
postgres.__index = postgres

-- Runs until this leaves its scope.
function postgres.start()
  local stat <close> = assert(io.open "/proc/self/stat")
  local pid = stat:read "a":match "%d+"
  local dir = output_of({ "sh", CLUSTER, "start", pid, table.unpack(SETTINGS) }):match "[^\n]+"
  local server = { dir = dir, psql = output_of({ "sh", CLUSTER, "bin" }):match "[^\n]+" .. "/psql" }
  return setmetatable(server, postgres)
end

function postgres:__close() call("sh", CLUSTER, "stop", self.dir) end

function postgres:url(database) return ("host=%s user=postgres dbname=%s"):format(self.dir, database) end

function postgres:sql(database, ...)
  local argv = { self.psql, "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-d", self:url(database) }
  for _, statement in ipairs { ... } do
    argv[#argv + 1] = "-c"
    argv[#argv + 1] = statement
  end
  return output_of(argv)
end

-- A copy of another database in place of the last of this name.
function postgres:copy(from, name)
  self:sql("postgres", "SET client_min_messages = warning", "DROP DATABASE IF EXISTS " .. name,
    ("CREATE DATABASE %s TEMPLATE %s STRATEGY file_copy"):format(name, from),
    "CHECKPOINT")
  call "sync"
  self.before = self:sql(name, "SELECT txid_current()"):match "%d+"
end

-- The orders of a SQLite file, by the floor, whose rows lrun's are compared with.
function postgres:fill(dir, which, database)
  call(measure.bin .. "/floor_pg", "to_pg", "load", dir .. "/" .. which .. ".db", self:url(database))
  self:sql(database, "ALTER TABLE orders ADD PRIMARY KEY (order_id)", "VACUUM (ANALYZE, FREEZE) orders")
  -- a ledger is made once in a warehouse's life, as these are
  call(table.unpack(measure.job("empty", "sqlite:" .. dir .. "/none.db", self:url(database))))
end

-- source: the orders with the indexes of the SQLite file's; none, half, all:
-- targets; in_none, in_half: the same in one database with shop.orders.
function postgres:prepare(dir)
  for _, which in ipairs { "none", "half", "all", "source" } do
    self:sql("postgres", "CREATE DATABASE of_" .. which)
    self:sql("of_" .. which, ("CREATE TABLE orders (%s)"):format(ORDERS))
    self:fill(dir, which, "of_" .. which)
  end
  self:sql("of_source", "CREATE INDEX ON orders (order_date)", "CREATE INDEX ON orders (updated_at)")
  for _, which in ipairs { "none", "half" } do
    local name = "in_" .. which
    self:sql("postgres", ("CREATE DATABASE %s TEMPLATE of_source STRATEGY file_copy"):format(name))
    self:sql(name, "CREATE SCHEMA shop", "ALTER TABLE orders SET SCHEMA shop", ("CREATE TABLE orders (%s)"):format(ORDERS))
    self:fill(dir, which, name)
  end
  self.sums = self:sql("of_source", CHECK:format "sum(amount)")
end

function postgres:check(database)
  local found = self:sql(database, CHECK:format "sum(amount)")
  assert(found == self.sums, ("%s holds %s, not %s"):format(database, found, self.sums))
end

function postgres:check_file(file)
  local found = output_of { "sqlite3", file, CHECK:format "printf('%.2f', sum(amount))" }
  assert(found == self.sums, ("%s holds %s, not %s"):format(file, found, self.sums))
end

-- How many rows of the target were written since it was copied.
function postgres:written()
  return self:sql("target", "SELECT count(*) FROM orders WHERE xmin::text::bigint > " .. self.before):match "%d+"
end

-- ---- the lanes ----

local WHICH = { load = "none", merge = "half", unchanged = "all" }
local NAMES = { load = "load", merge = "merge, half existing", unchanged = "merge, unchanged" }

local function into_server(self, pair, lane, target, title, floor_from, source)
  local function ready() self:copy("of_" .. WHICH[lane], "target") end
  return {
    name = title .. ", " .. NAMES[lane], figure = measure.speed, target = target,
    floor = function()
      ready()
      return { measure.bin .. "/floor_pg", pair, lane, floor_from, self:url "target" }
    end,
    lrun = function()
      ready()
      return measure.job(lane == "load" and "load" or "merge", source, self:url "target")
    end,
    after = function()
      self:check "target"
      return lane == "unchanged" and (" (%s rows written)"):format(self:written()) or nil
    end,
  }
end

local function out_of_server(self, dir, lane)
  local target
  local function ready()
    target = sqlite.fresh(dir, WHICH[lane], "from_pg")
    return target
  end
  return {
    name = "PostgreSQL to SQLite, " .. NAMES[lane], figure = measure.speed, target = ">= 0.95",
    floor = function() return { measure.bin .. "/floor_pg", "from_pg", lane, self:url "of_source", ready() } end,
    lrun = function() return measure.job(lane, self:url "of_source", "sqlite:" .. ready()) end,
    after = function() self:check_file(target) end,
  }
end

local function inside(self, lane)
  local function ready()
    self:copy("in_" .. WHICH[lane], "target")
    return self:url "target"
  end
  return {
    name = "PostgreSQL, one database, " .. NAMES[lane], figure = measure.speed, target = ">= 0.97",
    floor = function() return { measure.bin .. "/floor_pg", "in_pg", lane, "-", ready() } end,
    lrun = function()
      local url = ready()
      return measure.job(lane .. "_shop", url, url)
    end,
    after = function() self:check "target" end,
  }
end

-- Every row of both sides by its checksum; the floor hashes them only.
local function deep(self, name, pair, from, source, target, odd)
  local function ready()
    self:copy("of_source", "target")
    if odd then self:sql("target", "UPDATE orders SET note = 'odd' WHERE order_id IN (SELECT order_id FROM orders LIMIT 10)") end
  end
  return {
    name = "reconcile deep, " .. name, figure = measure.slowness, target = target,
    floor = function(round)
      if round == 1 then ready() end
      return { measure.bin .. "/floor_pg", pair, "sums", from, self:url "target" }
    end,
    lrun = function() return measure.job("deep", source, self:url "target") end,
  }
end

function postgres:deep_lanes(dir)
  local file, source = dir .. "/source.db", self:url "of_source"
  return {
    deep(self, "two databases, equal", "pg_to_pg", source, source, "lrun < 1.0 s"),
    deep(self, "two databases, 10 odd rows", "pg_to_pg", source, source, "lrun < 1.5 s", true),
    deep(self, "SQLite and PostgreSQL, equal", "to_pg", file, "sqlite:" .. file, "<= 1.20"),
  }
end

function postgres:lanes(dir)
  local file, source = dir .. "/source.db", self:url "of_source"
  local lanes = {}
  for _, lane in ipairs { "load", "merge", "unchanged" } do
    lanes[#lanes + 1] = into_server(self, "to_pg", lane, ">= 0.95", "SQLite to PostgreSQL", file, "sqlite:" .. file)
  end
  for _, lane in ipairs { "load", "merge" } do lanes[#lanes + 1] = out_of_server(self, dir, lane) end
  for _, lane in ipairs { "load", "merge" } do lanes[#lanes + 1] = inside(self, lane) end
  for _, lane in ipairs { "load", "merge" } do
    lanes[#lanes + 1] = into_server(self, "pg_to_pg", lane, ">= 0.95", "PostgreSQL, two databases", source, source)
  end
  return lanes
end

function postgres:run(dir)
  self:prepare(dir)
  measure.lanes(self:lanes(dir))
  measure.lanes(self:deep_lanes(dir))
end

function postgres:memory(dir, most)
  self:prepare(dir)
  measure.memory(self:lanes(dir), most)
end

return postgres
