-- sqlite.lua: look into a SQLite file from outside, with the sqlite3 tool.

local process = require "process"

local M = {}

local function shell(path, script, ...)
  local argv = { "sqlite3", "-batch", "-bail", "-init", "/dev/null", ... }
  argv[#argv + 1] = path
  local r = process.run(argv, { stdin = script, tool = true })
  if r.status ~= 0 or r.err ~= "" then
    error(string.format("sqlite3 %s: %s\n%s", path, r.err, script), 3)
  end
  return r.out
end

-- Run statements.
function M.exec(path, script) return shell(path, script) end

-- The fewest digits that read back, always with a point: 25.5, 7.0.
local function shortest(number)
  for digits = 15, 17 do
    local s = ("%." .. digits .. "g"):format(number)
    if tonumber(s) == number then return s:find "[.en]" and s or s .. ".0" end
  end
end

-- Values as SQL literals, a row per line, may hold line breaks inside quotes:
-- taken apart here. Text and numbers stay bare, NULL is NULL, x'00' a blob.
local function parse(text)
  local rows, row, at = {}, {}, 1
  while at <= #text do
    local value
    if text:sub(at, at) == "'" then
      local parts, from = {}, at + 1
      while true do
        local stop = text:find("'", from, true)
        parts[#parts + 1] = text:sub(from, stop - 1)
        if text:sub(stop + 1, stop + 1) ~= "'" then
          at = stop + 1
          break
        end
        parts[#parts + 1] = "'"
        from = stop + 2
      end
      value = table.concat(parts)
    else
      local stop = text:find("[,\n]", at)
      value = text:sub(at, stop - 1):gsub("^X'", "x'")
      if value:find "^-?%d+[.e]" then value = shortest(tonumber(value)) end
      at = stop
    end
    row[#row + 1] = value
    if text:sub(at, at) == "\n" then
      rows[#rows + 1] = row
      row = {}
    end
    at = at + 1
  end
  return rows
end

-- The rows of a query, each a list of strings.
function M.table(path, query) return parse(shell(path, query, "-quote", "-noheader")) end

-- The rows of a query, each as one string: "105|22.00|NULL".
function M.rows(path, query)
  local rows = M.table(path, query)
  for i, row in ipairs(rows) do rows[i] = table.concat(row, "|") end
  return rows
end

-- The first row of a query as one string, nil if there is none.
function M.one(path, query) return M.rows(path, query)[1] end

-- A literal of any bytes.
function M.text(s)
  return "CAST(x'" .. s:gsub(".", function(c) return string.format("%02x", c:byte()) end) .. "' AS TEXT)"
end

-- Everything in a file as text, for "nothing has changed".
function M.dump(path) return shell(path, ".dump\n") end

return M
