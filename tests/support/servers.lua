-- servers.lua: what the specs of lost connections need beside the suite's own
-- PostgreSQL: a proxy that cuts (proxy.c), a server of their own to stop and
-- start, and a pooler.

local files = require "files"
local postgres = require "postgres"
local process = require "process"
local world = require "world"

local M = {}

local CLUSTER = world.root .. "/tests/support/cluster.sh"

local function cluster(...)
  local r = process.run({ "sh", CLUSTER, ... }, { tool = true })
  if r.status ~= 0 then error("cluster.sh: " .. r.err, 3) end
  return (r.out:gsub("\n$", ""))
end

-- ---- a server of its own ----

local Server = {}
Server.__index = Server

-- new("setting=value", ...): gone at the end of the spec's process at the latest.
function M.new(...)
  local pid = assert(io.open "/proc/self/stat"):read "n"
  return setmetatable({ dir = cluster("start", pid, ...) }, Server)
end
function Server:stop() cluster("stop", self.dir) end
function Server:halt() cluster("halt", self.dir) end
function Server:boot() cluster("boot", self.dir) end
function Server:url(database, user, options)
  return ("postgresql://%s@/%s?host=%s%s%s"):format(user or "postgres", database or "postgres", self.dir,
    self.port and "&port=" .. self.port or "", options or "")
end
function Server:exec(sql, database)
  local r = process.run({ "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-", self:url(database) },
    { stdin = sql, tool = true })
  if r.status ~= 0 then error("psql: " .. r.err, 2) end
  return (r.out:gsub("\n$", ""))
end

-- What is cut, pooled or watched is reached by its socket. A suite that runs on a
-- server without one (LRUN_TEST_PG_URL) gets a server for such a spec alone.
if not postgres.dir then
  local folder = postgres.server():match "[?&]host=(/[^&]*)"
  postgres.dir = folder or M.new().dir
  if not folder then postgres.use(("postgresql://postgres@/postgres?host=%s"):format(postgres.dir)) end
end

-- The folder of the server's socket.
function M.suite() return postgres.dir end

-- ---- the proxy ----

local Proxy = {}
Proxy.__index = Proxy

-- proxy{ "copy-in", 1000, "refuse" }: see proxy.c.
function M.proxy(words)
  local dir = files.temp_dir()
  local argv = { assert(os.getenv "LRUN_PROXY", "LRUN_PROXY is not set: run the specs by make test"), dir, M.suite(), table.unpack(words) }
  local p = setmetatable({ dir = dir, process = process.start(argv, {}) }, Proxy)
  assert(process.wait_for(function() return p.process:out():find "ready" end), "the proxy did not start")
  return p
end
-- The same connection through the proxy.
function Proxy:url(url)
  return (url:gsub("host=[^&]*", "host=" .. self.dir))
end
-- Bytes that the server has sent since the last call, once every client has gone.
function Proxy:bytes()
  local before, total = self.told or 0, 0
  process.wait_for(function()
    local now = tonumber(files.read(self.dir .. "/bytes") or "")
    local still = now and now == total
    total = now or total
    if not still then process.sleep(0.1) end
    return still and total > before
  end)
  self.told = total
  return total - before
end
function Proxy:cut() return self.process:out():find "cut" ~= nil end
function Proxy:close()
  self.process:signal "TERM"
  self.process:wait()
end

-- ---- a pooler ----

local Pooler = {}
Pooler.__index = Pooler

-- pgbouncer in transaction mode before the suite's server, with few server
-- processes, so that a client meets another one often.
function M.pooler(size)
  local dir = M.suite() .. "/pooler"
  local as_root = process.run({ "id", "-u" }, { tool = true }).out == "0\n"
  assert(os.execute(("mkdir -p %s"):format(process.quote(dir))))
  files.write(dir .. "/users", '"postgres" ""\n')
  files.write(dir .. "/ini", ([[
[databases]
* = host=%s
[pgbouncer]
listen_addr =
listen_port = 5432
unix_socket_dir = %s
auth_type = trust
auth_file = %s/users
pool_mode = transaction
default_pool_size = %d
]]):format(M.suite(), dir, dir, size))
  if as_root then assert(os.execute("chown -R postgres " .. process.quote(dir))) end
  local p = setmetatable({ dir = dir }, Pooler)
  p.process = process.start({ "/usr/sbin/pgbouncer", as_root and "-u" or "-q", as_root and "postgres" or "-q", dir .. "/ini" }, {})
  assert(process.wait_for(function() return process.run({ "test", "-S", dir .. "/.s.PGSQL.5432" }, { tool = true }).status == 0 end),
    "pgbouncer did not start")
  return p
end
Pooler.url = Proxy.url
Pooler.close = Proxy.close

return M
