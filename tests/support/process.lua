-- process.lua: run a program with arguments, standard input and environment,
-- and get its standard output, standard error and exit status exactly.

local files = require "files"

local M = {}

-- What a caller's shell may have set must not reach the tests.
local CLEAN = { "LRUN_SOURCE", "LRUN_WAREHOUSE", "LRUN_PG_MERGE", "LRUN_PG_COPY", "NO_COLOR", "TZ", "LUA_PATH", "LUA_CPATH", "LUA_INIT",
  "PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGPASSFILE", "PGDATABASE", "PGOPTIONS", "PGSERVICE", "PGSERVICEFILE",
  "PGTZ", "PGDATESTYLE", "PGCLIENTENCODING", "PGAPPNAME", "PGSSLMODE", "PGTARGETSESSIONATTRS" }

local function quote(s)
  assert(not s:find "\0", "a NUL byte cannot be in an argument")
  return "'" .. s:gsub("'", "'\\''") .. "'"
end
M.quote = quote

local function env_words(env, option)
  local words = { "env", option }
  for _, name in ipairs(CLEAN) do words[#words + 1] = "-u " .. name end
  for name, value in pairs(env or {}) do words[#words + 1] = quote(name .. "=" .. value) end
  return table.concat(words, " ")
end

local function words_of(argv)
  local words = {}
  for i, word in ipairs(argv) do words[i] = quote(tostring(word)) end
  return table.concat(words, " ")
end

local DEFAULT_TIMEOUT = 60 -- seconds

-- A folder for what goes in and out of a run; its files are named by number.
local scratch
local count = 0
local function next_scratch()
  scratch = scratch or files.temp_dir()
  count = count + 1
  return scratch .. "/" .. count
end

-- Run argv and wait. Options: stdin (text), stdout (a path or "closed"),
-- env, cwd, timeout (seconds; a run past it is an error), limit (words of
-- `ulimit`, "-f 100"), tool (a program that is not under test: neither a clean
-- environment nor a timeout, which saves two processes). Returns { status, out,
-- err }; a death by signal n is the status 128 + n.
function M.run(argv, o)
  o = o or {}
  local base = next_scratch()
  local out, err = base .. ".out", base .. ".err"
  local input = "/dev/null"
  if o.stdin then input = files.write(base .. ".in", o.stdin) end
  local stdout = ">" .. quote(o.stdout or out)
  if o.stdout == "closed" then stdout = ">&-" end
  local seconds = o.timeout or DEFAULT_TIMEOUT
  local start = env_words(o.env) .. " timeout -k 5 " .. seconds
  if o.tool then start = "" end
  local _, how, code = os.execute(string.format("cd %s && %s exec %s %s <%s %s 2>%s", quote(o.cwd or "."),
    o.limit and "ulimit " .. o.limit .. " &&" or "", start, words_of(argv), quote(input), stdout, quote(err)))
  if how == "signal" then code = 128 + code end
  local result = { status = code, out = files.read(out) or "", err = files.read(err) or "" }
  for _, kind in ipairs { ".in", ".out", ".err" } do os.remove(base .. kind) end
  if code == 124 then
    error(string.format("still running after %d s: %s\n%s", seconds, words_of(argv), result.err), 2)
  end
  return result
end

-- A shell script, for what needs a pipe or a redirection.
function M.sh(script, o) return M.run({ "sh", "-c", script }, o) end

function M.sleep(seconds) os.execute("sleep " .. seconds) end

-- Wait until condition() is true; false when it is not within the seconds.
function M.wait_for(condition, seconds)
  local stop = os.time() + (seconds or 20)
  while not condition() do
    if os.time() > stop then return false end
    M.sleep(0.02)
  end
  return true
end

-- Keys to argv on a terminal of its own, each with a rest before it: the line
-- discipline drops what was typed ahead of a Ctrl-C. Escapes are printf's. Options: cwd,
-- columns (80).
function M.keys(argv, keys, o)
  local parts = {}
  for i, key in ipairs(keys) do parts[i] = "sleep 0.7; printf '" .. key:gsub("'", "'\\''") .. "'" end
  -- exec, or the shell around it gets the Ctrl-C as well
  local command = ("stty cols %d rows 24; exec "):format(o.columns or 80) .. words_of(argv)
  return M.sh(("{ %s; sleep 0.7; } | script -qec %s /dev/null"):format(table.concat(parts, "; "), quote(command)),
    { cwd = o.cwd, env = { HOME = o.cwd, TERM = "xterm" }, timeout = 60 })
end

-- Start argv and go on. The handle has pid, :signal(name), :running() and
-- :wait(seconds), which returns what run returns.
function M.start(argv, o)
  o = o or {}
  local dir = files.temp_dir()
  local input = "/dev/null"
  if o.stdin then input = files.write(dir .. "/in", o.stdin) end
  -- The shell ignores SIGINT for what it starts in the background.
  local ok = os.execute(string.format(
    "cd %s && ( %s sh -c 'echo $$ >%s/pid.new; mv %s/pid.new %s/pid; exec \"$@\"' sh %s " ..
    "<%s >%s/out 2>%s/err; echo $? >%s/rc.new; mv %s/rc.new %s/rc ) >/dev/null 2>&1 &",
    quote(o.cwd or "."), env_words(o.env, "--default-signal"), dir, dir, dir, words_of(argv),
    quote(input), dir, dir, dir, dir, dir))
  assert(ok, "cannot start " .. words_of(argv))
  assert(M.wait_for(function() return files.exists(dir .. "/pid") end), "did not start")
  local handle = { pid = tonumber(files.read(dir .. "/pid")) }
  function handle:signal(name) return os.execute("kill -s " .. name .. " " .. self.pid .. " 2>/dev/null") end
  function handle:running() return self.pid and not files.exists(dir .. "/rc") end -- luacheck: ignore self
  function handle:out() return self.pid and files.read(dir .. "/out") or "" end -- luacheck: ignore self
  function handle:wait(seconds)
    if not M.wait_for(function() return files.exists(dir .. "/rc") end, seconds or DEFAULT_TIMEOUT) then
      self:signal "KILL"
      error("still running: " .. words_of(argv), 2)
    end
    return { status = tonumber(files.read(dir .. "/rc")),
             out = files.read(dir .. "/out"), err = files.read(dir .. "/err") }
  end
  return handle
end

return M
