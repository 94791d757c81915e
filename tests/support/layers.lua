-- layers.lua: the house has one staircase. A file under runtime/<layer> may
-- include headers of its own layer, of a lower one, and of include/lrun.
-- Also: no file over 500 lines, and nothing at the top level that is not in
-- the layout. Prints what is wrong; exit status 1 if anything is.

local LAYERS = { "base", "driver", "sql", "run", "primitive", "lua", "cli", "main" }
local MAX_LINES = 500
local TOP = {}
for name in ("runtime include stdlib jobs examples tests build Makefile README.md LICENSE CHANGELOG.md"):gmatch "%S+" do
  TOP[name] = true
end

local rank = {}
for i, name in ipairs(LAYERS) do rank[name] = i end
-- Two folders become shared objects. The driver of PostgreSQL lies in its own
-- layer; the line editor serves the prompt, through a header beside it.
rank.repl_edit = rank.lua

local problems = 0
local function problem(...)
  problems = problems + 1
  io.stderr:write(string.format(...), "\n")
end

local function lines_of(command)
  local list = {}
  local pipe = assert(io.popen(command))
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  return list
end

local function exists(path)
  local f = io.open(path)
  if f then f:close() end
  return f ~= nil
end

-- "runtime/sql/dialect.h" -> "sql"; "runtime/main.c" -> "main"
local function layer_of(path)
  local inside = path:match "^runtime/(.+)$"
  if not inside then return nil end
  return inside:match "^([^/]+)/" or inside:match "^(main)%.[ch]$"
end

local function resolve(from, name)
  local folder = from:match "^(.*)/"
  for _, path in ipairs { folder .. "/" .. name, "include/" .. name, "runtime/" .. name } do
    if exists(path) then return path end
  end
end

local LUA_HEADER = { ["lua.h"] = true, ["lauxlib.h"] = true, ["lualib.h"] = true, ["luaconf.h"] = true }

for _, path in ipairs(lines_of "find runtime -name '*.[ch]' | sort") do
  local own = layer_of(path)
  if not own or not rank[own] then
    problem("%s: in no layer (%s)", path, table.concat(LAYERS, ", "))
  else
    local number = 0
    for line in io.lines(path) do
      number = number + 1
      local quoted = line:match '^%s*#%s*include%s+"([^"]+)"'
      local system = line:match "^%s*#%s*include%s+<([^>]+)>"
      if LUA_HEADER[(quoted or system or ""):match "[^/]*$"] and own ~= "lua" then
        problem("%s:%d: only runtime/lua includes %s", path, number, quoted or system)
      elseif quoted then
        local found = resolve(path, quoted)
        local theirs = found and layer_of(found)
        if not found then
          problem("%s:%d: no file %s", path, number, quoted)
        elseif theirs and not rank[theirs] then
          problem("%s:%d: %s is in no layer", path, number, found)
        elseif theirs and rank[theirs] > rank[own] then
          problem("%s:%d: %s is above %s and may not be included here", path, number, found, own)
        end
      end
    end
  end
end

for _, path in ipairs(lines_of
    "find runtime include stdlib jobs tests -name '*.[ch]' -o -name '*.lua' | sort") do
  local count = 0
  for _ in io.lines(path) do count = count + 1 end
  if count > MAX_LINES then problem("%s: %d lines, more than %d", path, count, MAX_LINES) end
end

for _, name in ipairs(lines_of "ls") do
  if not TOP[name] then problem("%s: at the top level and not in the layout", name) end
end

os.exit(problems == 0)
