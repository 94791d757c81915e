-- A password is shown nowhere: on no stream, in no ledger row, not in the
-- process list; in success and in every kind of failure.
local pairs_of = require "pairs"
local process = require "process"
local files = require "files"
local postgres = require "postgres"
local servers = require "servers"
local world = require "world"

local SECRET = "hush4tongue"
local JOB = [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window { since = watermark() } }
merge { rows, into = "t", key = "id" }
reconcile { rows, with = "t", sum = "id" }
%s
]]
local ROWS = "INSERT INTO s VALUES (1, 'a', '2026-01-01 10:00:00');"
local WITHIN = { ["postgresql->postgresql"] = true, ["postgresql same database"] = true, ["sqlite->postgresql"] = true }

-- Every table of the ledger as text.
local function ledger(w)
  local lines = {}
  for _, t in ipairs(w.to:tables()) do
    if t:find "lrun_" then for _, row in ipairs(w:rows("SELECT * FROM " .. t)) do lines[#lines + 1] = row end end
  end
  return table.concat(lines, "\n")
end

local function quiet(what, text)
  local at = text:find(SECRET, 1, true) or text:find("tongue", 1, true)
  if at then error(("%s shows the password: %s"):format(what, text:sub(math.max(1, at - 200), at + 40)), 2) end
end

-- The role's password, on the suite's server, asked for on the socket too.
local ROLE = "lrun_secret_" .. files.temp_dir():match "%w+$":lower()
setup(function()
  postgres.exec("postgres", ("CREATE ROLE %s SUPERUSER LOGIN PASSWORD '%s' IN ROLE secrets"):format(ROLE, SECRET))
end)
teardown(function() postgres.exec("postgres", "DROP ROLE " .. ROLE) end)

-- What the role has made must not keep it from being dropped.
local function forget(w)
  for _, side in ipairs { w.from, w.to } do
    if side.database then side:exec(("DROP OWNED BY %s CASCADE"):format(ROLE)) end
  end
end

local FORMS = {
  url = function(url) return (url:gsub("//[^@/]*@", ("//%s:%s@"):format(ROLE, SECRET))) end,
  query = function(url) return (url:gsub("//[^@/]*@", ("//%s@"):format(ROLE))) .. "&password=" .. SECRET end,
  words = function(url)
    local db, host = url:match "/([%w_]+)%?host=(.*)$"
    return ("host=%s dbname=%s user=%s password = '%s'"):format(host, db, ROLE, SECRET)
  end,
}

for _, pair in ipairs(pairs_of.all) do
  if WITHIN[pair.name] then
    for form, with in pairs(pair.name == "postgresql->postgresql" and FORMS or { url = FORMS.url }) do
      it(("is shown nowhere, %s, %s"):format(pair.name, form), function()
        local w = pair.with(ROWS)
        local to = with(w.to:url())
        local from = w.from.database and with(w.from:url()) or w.from:url()
        os.remove(w:path "connections.lua")
        local function run(status, ...)
          local r = w:lrun("j.lua", "--source", from, "--warehouse", to, ...)
          quiet("stdout", r.out)
          quiet("stderr", r.err)
          assert.equal(status, r.status, r.err)
        end
        w:job("j", JOB:format "")
        run(0, "-v", "--run-start", "2026-01-02")
        run(0, "--json", "-v", "--run-start", "2026-01-03")
        run(0, "--dry-run")
        for status, code in pairs { [1] = "error 'x'", [3] = 'execute { "DELETE FROM t" } reconcile { rows, with = "t" } ' ..
            'reconcile { extract { from = "s" }, with = "t" }' } do
          w:job("j", JOB:format(code))
          run(status, "-v")
          run(status, "--json", "-v")
        end
        for _, code in ipairs { 'extract { from = "nowhere" }:count()', 'query { "SELECT nothing" }', 'extract { from = "s", connection = "nope" }:count()',
            'merge { rows, into = "nope", key = "id", create = false }', 'query { "SELECT pg_terminate_backend(pg_backend_pid())" }' } do
          w:job("j", JOB:format(code))
          run(1, "-v")
        end
        for _, argv in ipairs { { "status" }, { "runs" }, { "runs", "--json" }, { "watermark", "j" }, { "plan", "j.lua" }, { "status", "--ledger-schema", "no" } } do
          for _, word in ipairs { "--warehouse", to, "--source", from } do argv[#argv + 1] = word end
          local r = w:lrun(table.unpack(argv))
          quiet(argv[1], r.out .. r.err)
        end
        quiet("the ledger", ledger(w))
        -- Connection texts as the ledger keeps them are there all the same.
        assert.is_truthy(ledger(w):find("***", 1, true))
        forget(w)
      end)
    end
  end
end

it("does not stay in the process list", function()
  for form, with in pairs(FORMS) do
    local w = pairs_of.by_name["postgresql->postgresql"].with(ROWS)
    w:job("j", JOB:format 'io.open("ready", "w"):close() while not io.open "go" do end')
    local p = w:start("j.lua", "--warehouse=" .. with(w.to:url()), "--source", with(w.from:url()), "--connection", "third=" .. with(w.from:url()))
    w:wait_for "ready"
    local title = files.read("/proc/" .. p.pid .. "/cmdline")
    assert.is_truthy(title:find("j.lua", 1, true), title)
    assert.is_truthy(title:find("***", 1, true) and title:find("host=", 1, true), title)
    quiet("the process list, " .. form .. ",", title)
    w:write("go", "")
    assert.equal(0, p:wait().status)
    forget(w)
  end
end)

it("is not shown by a connection that fails, nor by a text that is wrong", function()
  local w = world.new { source = world.T }
  w:job("j", JOB:format "")
  local dir = servers.suite()
  local S = SECRET
  local texts = {
    { 5, "postgresql://%s:wrong" .. S .. "@/postgres?host=" .. dir, "password authentication failed" },
    { 5, "postgresql://%s:" .. S .. "@/nowhere?host=" .. dir, "nowhere" },
    { 5, "postgresql://%s:" .. S .. "@/postgres?host=" .. dir .. "/not", "No such file" },
    { 5, "postgresql://%s:" .. S .. "@127.0.0.1:1/postgres", "refused" },
    { 5, "host=" .. dir .. "/not password='" .. S .. "'", "No such file" },
    { 2, "postgresql://u:" .. S .. "@" .. S .. "@h/db", "%40" },
    { 2, "postgresql://u:" .. S .. "/" .. S .. "@h/db", "%2F" },
    { 2, "postgresql://u:" .. S .. "%%zz@h/db", "malformed" },
    { 2, "postgresql://u:" .. S .. "@h/db?sslmode", "malformed" },
    { 2, "postgresql://u@h/db?password=" .. S .. "&sslpassword=" .. S .. "&nope=1", "malformed" },
    { 2, "host=h password=my " .. S .. " dbname=x", "malformed" },
    { 2, "host=h password='" .. S, "malformed" },
    { 2, "mysql://u:" .. S .. "@h/db", "mysql" },
    { 2, "postgres:u:" .. S .. "@h/db", "" },
    { 2, "u:" .. S .. "@h/db", "" },
  }
  for _, case in ipairs(texts) do
    local text = case[2]:gsub("%%s", ROLE):gsub("%%%%", "%%")
    for _, side in ipairs { "--warehouse", "--source" } do
      for _, extra in ipairs { "-v", "--json" } do
        local r = w:lrun("j.lua", side, text, extra, { env = { PGCONNECT_TIMEOUT = "2" } })
        quiet(text, r.out .. r.err)
        if extra == "-v" then world.says(r, case[1], { case[3] }) end
      end
    end
    -- In places where no connection is expected.
    for _, argv in ipairs { { text }, { "run", text }, { "j.lua", text }, { "j.lua", "--connection", text }, { "j.lua", "--" .. text },
        { "j.lua", "--warehouse" .. text }, { "j.lua", "--param", text }, { "repl", text }, { "status", text, "--warehouse", text } } do
      local r = w:lrun(table.unpack(argv))
      quiet(table.concat(argv, " "), r.out .. r.err)
    end
  end
  for _, text in ipairs { 'return { warehouse "postgresql://u:%s@h/db" }', "return { warehouse = 'postgresql://u:%s@h/db }",
      'return { warehouse = { uri = "postgresql://u:%s@h/db" } }', 'return "postgresql://u:%s@h/db"',
      'return { warehouse = { url = "postgresql://u:%s@h/db", ["postgresql://u:%s@h/db"] = 1 } }',
      'return { ["postgresql://u:%s@h/db"] = 1 }', 'error "postgresql://u:%s@h/db"',
      'local warehouse = "postgresql://u:%s@h/db" + 1', } do
    w:write("connections.lua", (text:gsub("%%s", SECRET)))
    local r = w:lrun "j.lua"
    quiet(text, r.out .. r.err)
    assert.equal(2, r.status, r.err)
  end
end)

it("comes from the environment or a file just as well", function()
  local w = pairs_of.by_name["postgresql->postgresql"].with(ROWS)
  local function url(side) return (side:url():gsub("//[^@/]*@", "//" .. ROLE .. "@")) end
  w:connect(url(w.from), url(w.to))
  w:job("j", JOB:format "")
  local r = w:refused(5, { "password", hint = true }, "j.lua", "--run-start", "2026-01-02", { env = { PGPASSFILE = w:path "none" } })
  quiet("stderr", r.err)
  w:ok("j.lua", "--run-start", "2026-01-02", { env = { PGPASSWORD = SECRET } })
  w:write("pgpass", ("*:*:*:%s:%s\n"):format(ROLE, SECRET))
  assert(os.execute("chmod 600 " .. process.quote(w:path "pgpass")))
  w:ok("j.lua", "--run-start", "2026-01-03", { env = { PGPASSFILE = w:path "pgpass" } })
  quiet("the ledger", ledger(w))
  forget(w)
end)
