-- Where the databases are: the command line, then LRUN_SOURCE and
-- LRUN_WAREHOUSE, then the nearest connections.lua, beside the job and upwards.
local connect = {}

local function usage(message, hint, where)
  return nil, { status = 2, message = message, hint = hint, where = where }
end

local function folder_of(path)
  return path:match("^(.*)/[^/]*$") or "."
end

local function absolute(path)
  if path:sub(1, 1) == "/" then return path end
  local here = core.cwd() -- nil where the current folder has been removed
  return here and here .. "/" .. path or path
end

local function parent(folder)
  if folder == "/" or folder == "" then return nil end
  local up = folder:match("^(.*)/[^/]+/?$")
  if up == "" then return "/" end
  return up
end

-- The path as people know it: relative where it is below the current folder.
local function shown(path)
  local here = (core.cwd() or "") .. "/"
  if path:sub(1, #here) == here then return path:sub(#here + 1) end
  return path
end

local function normalize(path)
  local parts = {}
  for part in path:gmatch("[^/]+") do
    if part == ".." and #parts > 0 and parts[#parts] ~= ".." then parts[#parts] = nil
    elseif part ~= "." then parts[#parts + 1] = part end
  end
  return (path:sub(1, 1) == "/" and "/" or "") .. table.concat(parts, "/")
end

local function find_file(job)
  local folder = normalize(absolute(job and folder_of(job) or "."))
  while folder do
    local path = (folder == "/" and "" or folder) .. "/connections.lua"
    if core.stat(path) == "file" then return path, folder end
    folder = parent(folder)
  end
  -- a command about a job by its name, given beside the folder of jobs
  if not job and core.stat("jobs/connections.lua") == "file" then
    return "jobs/connections.lua", normalize(absolute("jobs"))
  end
end

-- Relative paths of connections.lua are relative to it.
local function resolve(url, folder)
  local path = url:match("^sqlite:(.*)$")
  if not path or path == ":memory:" or path:sub(1, 1) == "/" then return url end
  return "sqlite:" .. shown(normalize(folder .. "/" .. path))
end

local known = { url = true, must_exist = true, ledger_schema = true, row_security = true }

-- A name as it is shown: what is no word may be a URL with its password.
local function name_of(text)
  text = tostring(text)
  return text:find "^[%w_. -]+$" and text or "..."
end

local function read_file(path, folder, into)
  local env = { os = { getenv = os.getenv } }
  local chunk, why = loadfile(path, "t", env)
  if why == "not enough memory" then error(why, 0) end -- that is no fault of the file
  if not chunk then
    -- the token that Lua stumbled over may be a URL with its password
    return usage((why:gsub("near '.*", "in this line")), "connections.lua must be Lua that returns a table")
  end
  local ok, result = pcall(chunk)
  if result == "not enough memory" then error(result, 0) end
  if not ok then
    result = tostring(result)
    return usage(result:find "://" and "it fails in a line that holds a URL" or result,
                 "connections.lua returns { source = \"...\", warehouse = \"...\" }")
  end
  if type(result) ~= "table" then
    return usage("it returns no table", "write return { source = \"...\", warehouse = \"...\" }", shown(path))
  end
  for name, value in pairs(result) do
    local entry = type(value) == "string" and { url = value } or value
    if type(name) ~= "string" or type(entry) ~= "table" or type(entry.url) ~= "string" then
      return usage(("connection \"%s\" has no url"):format(name_of(name)),
                   "write name = \"sqlite:path.db\" or name = { url = \"...\" }", shown(path))
    end
    for key in pairs(entry) do
      if not known[key] then
        return usage(("connection \"%s\" has no option \"%s\""):format(name_of(name), name_of(key)),
                     "url, must_exist, ledger_schema and row_security are known", shown(path))
      end
    end
    if entry.row_security ~= nil and type(entry.row_security) ~= "boolean" then
      return usage(("connection \"%s\": row_security must be true or false"):format(name_of(name)),
                   "write row_security = true where the role is meant to see a part of the rows", shown(path))
    end
    into[name] = { name = name, url = resolve(entry.url, folder), must_exist = entry.must_exist and true or false,
                   ledger_schema = entry.ledger_schema, row_security = entry.row_security }
  end
  return true
end

local function override(into, name, url)
  if not url or url == "" then return end
  local old = into[name]
  into[name] = { name = name, url = url, must_exist = old and old.must_exist, ledger_schema = old and old.ledger_schema,
                 row_security = old and old.row_security }
end

-- A list of connections, or nil and the problem.
function connect.find(o, job)
  local all = {}
  local path, folder = find_file(job)
  if path then
    local ok, problem = read_file(path, folder, all)
    if not ok then return nil, problem end
  end
  override(all, "source", os.getenv("LRUN_SOURCE"))
  override(all, "warehouse", os.getenv("LRUN_WAREHOUSE"))
  for name, url in pairs(o.connections) do override(all, name, url) end
  override(all, "source", o.source)
  override(all, "warehouse", o.warehouse)
  for _, reserved in ipairs { "main", "temp" } do
    if all[reserved] then
      return usage(("a connection cannot be named \"%s\""):format(reserved), "choose another name")
    end
  end
  if o.ledger_schema and all.warehouse then all.warehouse.ledger_schema = o.ledger_schema end
  local list = {}
  for _, connection in pairs(all) do list[#list + 1] = connection end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

-- The configuration of a run, for core.run, core.prompt and core.connect.
function connect.config(o, job)
  local list, problem = connect.find(o, job)
  if not list then return nil, problem end
  return {
    path = job, connections = list, logical_date = o.logical_date, run_start = o.run_start, allow_open = o.allow_open,
    params = o.params, verbose = o.verbose, max_memory = o.max_memory, lock_timeout_ms = o.lock_timeout_ms,
    must_exist = o.must_exist,
  }
end

return connect
