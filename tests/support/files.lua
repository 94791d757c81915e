-- files.lua: files and temporary folders. Folders made here are removed when
-- the Lua state closes.

local M = {}

local made = setmetatable({}, {
  __gc = function(list)
    for _, dir in ipairs(list) do
      os.execute("chmod -R u+rwx '" .. dir .. "' 2>/dev/null; rm -rf '" .. dir .. "'")
    end
  end,
})

function M.temp_dir()
  local pipe = assert(io.popen("mktemp -d", "r"))
  local dir = pipe:read "l"
  pipe:close()
  assert(dir and dir ~= "", "mktemp failed")
  made[#made + 1] = dir
  return dir
end

function M.write(path, text)
  local f = assert(io.open(path, "wb"))
  assert(f:write(text))
  assert(f:close())
  return path
end

-- The bytes of a file, or nil.
function M.read(path)
  local f = io.open(path, "rb")
  if not f then return nil end
  local text = f:read "a"
  f:close()
  return text
end

function M.exists(path)
  local f = io.open(path, "rb")
  if f then f:close() end
  return f ~= nil
end

-- The names in a folder, sorted.
function M.list(dir)
  local names = {}
  local pipe = assert(io.popen("ls -A '" .. dir .. "'"))
  for name in pipe:lines() do names[#names + 1] = name end
  pipe:close()
  return names
end

return M
