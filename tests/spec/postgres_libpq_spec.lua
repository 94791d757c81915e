-- What libpq can do, a connection of lrun can: TLS, service files, pgpass, PG*
-- variables, several hosts, both forms of text.
local pairs_of = require "pairs"
local files = require "files"
local process = require "process"
local servers = require "servers"
local world = require "world"

local JOB = [[
job { grain = "day" }
local rows = extract { from = "s" }
merge { rows, into = "t", key = "id" }
reconcile { rows, with = "t", sum = "id" }
]]

local server, port, as_root
-- A server that takes TLS only on its port, with a certificate of its own, and
-- asks for passwords there.
setup(function()
  as_root = process.run({ "id", "-u" }, { tool = true }).out == "0\n"
  server = servers.new "synchronous_commit=on"
  local data = server.dir .. "/data"
  local made = process.sh(([[cd %s && openssl req -new -x509 -days 2 -nodes -newkey rsa:2048 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 \
    -keyout server.key -out server.crt 2>/dev/null && chmod 600 server.key && cp server.crt ../root.crt && chmod 644 ../root.crt &&
    printf 'hostssl all all 127.0.0.1/32 scram-sha-256\nhostnossl all all 127.0.0.1/32 reject\n' >>pg_hba.conf &&
    printf "ssl = on\n" >>postgresql.conf %s]]):format(process.quote(data), as_root and "&& chown postgres server.key server.crt" or ""))
  assert.equal(0, made.status, made.err)
  -- A port may be somebody's.
  math.randomseed(os.time())
  assert.is_true(process.wait_for(function()
    port = tostring(math.random(20000, 60000))
    process.sh(([[printf "listen_addresses = '127.0.0.1'\nport = %s\n" >>%s/postgresql.conf]]):format(port, process.quote(data)))
    pcall(server.halt, server)
    server.port = port
    return pcall(server.boot, server)
  end))
  server:exec("CREATE ROLE loader LOGIN SUPERUSER PASSWORD 'let me: in';\n")
  server:exec("CREATE DATABASE src;")
  server:exec("CREATE DATABASE dw;")
  server:exec(pairs_of.S .. "INSERT INTO s VALUES (1, 'a', '2026-01-01'), (2, 'b', '2026-01-01');", "src")
end)
teardown(function() server:stop() end)

local PASSWORD = { PGPASSWORD = "let me: in" }

-- Run the job between two texts; the target has to be whole after it.
local function works(from, to, env, cwd)
  local w = { dir = cwd or files.temp_dir() }
  files.write(w.dir .. "/j.lua", JOB)
  server:exec("DROP TABLE IF EXISTS t", "dw")
  local r = process.run({ world.bin, "j.lua", "--source", from, "--warehouse", to }, { cwd = w.dir, env = env })
  assert.equal(0, r.status, r.err)
  assert.equal("2", server:exec("SELECT count(*) FROM t", "dw"))
  return r
end
local function refused(status, words, to, env)
  local dir = files.temp_dir()
  files.write(dir .. "/j.lua", JOB)
  local r = process.run({ world.bin, "j.lua", "--source", to, "--warehouse", to }, { cwd = dir, env = env })
  world.says(r, status, words)
  assert.is_nil(r.err:find("let me", 1, true), r.err)
  assert.equal("", r.out)
end

local function tls(database, options)
  return ("postgresql://loader@127.0.0.1:%s/%s?%s"):format(port, database, options)
end

it("TLS, with the server's certificate looked at", function()
  local options = "sslmode=verify-full&sslrootcert=" .. server.dir .. "/root.crt"
  works(tls("src", options), tls("dw", options), PASSWORD)
  works(tls("src", "sslmode=require"), tls("dw", "sslmode=require"), PASSWORD)
  refused(5, { "reject", "no encryption" }, tls("dw", "sslmode=disable"), PASSWORD)
  files.write(server.dir .. "/other.crt", process.sh("openssl req -x509 -nodes -newkey rsa:2048 -subj /CN=other -keyout /dev/null 2>/dev/null").out)
  refused(5, { "certificate verify failed" }, tls("dw", "sslmode=verify-ca&sslrootcert=" .. server.dir .. "/other.crt"), PASSWORD)
end)

it("a service file", function()
  local dir = files.temp_dir()
  files.write(dir .. "/services", ("[shop]\nhost=127.0.0.1\nport=%s\nuser=loader\ndbname=src\npassword=let me: in\nsslmode=require\n" ..
    "[dw]\nhost=%s\nport=%s\nuser=postgres\ndbname=dw\n"):format(port, server.dir, port))
  local env = { PGSERVICEFILE = dir .. "/services" }
  works("service=shop", "postgresql:///?service=dw", env)
  refused(5, { "nowhere" }, "service=nowhere", env)
end)

it("pgpass", function()
  local dir = files.temp_dir()
  files.write(dir .. "/pgpass", ("127.0.0.1:%s:*:loader:let me\\: in\n"):format(port))
  assert(os.execute("chmod 600 '" .. dir .. "/pgpass'"))
  works(tls("src", ""), tls("dw", "passfile=" .. dir .. "/pgpass"), { PGPASSFILE = dir .. "/pgpass" })
end)

it("PG* variables", function()
  works("dbname=src", "postgresql:///dw", { PGHOST = server.dir, PGPORT = port, PGUSER = "postgres" })
  works("postgresql://", "dbname=dw", { PGHOST = server.dir, PGPORT = port, PGUSER = "postgres", PGDATABASE = "src" })
  -- What the caller likes must not change what is read.
  works("dbname=src", "dbname=dw", { PGHOST = server.dir, PGPORT = port, PGUSER = "postgres", PGDATESTYLE = "German", PGTZ = "Asia/Tokyo",
    PGCLIENTENCODING = "LATIN1", PGOPTIONS = "-c standard_conforming_strings=off -c extra_float_digits=-5 -c search_path=public" })
end)

it("several hosts, the first of them down", function()
  local hosts = ("host=/nowhere,%s port=%s,%s user=postgres "):format(server.dir, port, port)
  works(hosts .. "dbname=src", hosts .. "dbname=dw")
  local url = ("postgresql://loader@127.0.0.1:1,127.0.0.1:%s/%%s?sslmode=require&target_session_attrs=read-write"):format(port)
  works(url:format "src", url:format "dw", PASSWORD)
end)

it("words, with a password of blanks and colons", function()
  local words = ("host = 127.0.0.1 port=%s user=loader password='let me: in' sslmode=require dbname="):format(port)
  works(words .. "src", words .. "dw")
  works(tls("src", ""):gsub("loader@", "loader:let%%20me%%3A%%20in@"), words .. "dw")
end)

it("a wrong password, host or database is status 5, with libpq's reason", function()
  refused(5, { "password authentication failed", "loader" }, tls("dw", ""), { PGPASSWORD = "let me: out" })
  refused(5, { "no password supplied" }, tls("dw", "passfile=/nowhere"))
  refused(5, { "nowhere", "does not exist" }, tls("nowhere", ""), PASSWORD)
  refused(5, { "nobody" }, ("postgresql://nobody@/dw?host=%s&port=%s"):format(server.dir, port))
  refused(5, { "Connection refused" }, "postgresql://loader:let%20me@127.0.0.1:1/dw")
  refused(5, { "could not translate host name", "no.such.host.invalid" }, "postgresql://loader:let%20me@no.such.host.invalid/dw")
end)

it("a server that never answers is given up after connect_timeout", function()
  local postmaster = files.read(server.dir .. "/data/postmaster.pid"):match "%d+"
  os.execute("kill -STOP " .. postmaster)
  local before = os.time()
  local ok, why = pcall(refused, 5, { "timeout" }, tls("dw", "connect_timeout=2"), PASSWORD)
  os.execute("kill -CONT " .. postmaster)
  assert.is_true(ok, why)
  assert.is_true(os.time() - before <= 10)
end)
