-- The versions of a dimension as bars, one line for each key. Each date at which
-- some version begins or ends is a column, so the bars are not to scale.
local data = require "engine.data"
local versions = {}

local LEFT, STEP = 12, 11
local OPEN = "9999"

local function at(columns, name)
  for i, c in ipairs(columns) do if c:lower() == name then return i end end
end

function versions.has(columns) return at(columns, "valid_from") ~= nil and at(columns, "valid_to") ~= nil end

local function text(v) return v == false and "NULL" or tostring(v) end

local function is_open(v) return v == false or text(v):sub(1, 4) >= OPEN or text(v) == "infinity" end

-- What stands in a bar: all but the key, the first column, and the dates.
local function label(columns, row)
  local parts = {}
  for i, name in ipairs(columns) do
    local low = name:lower()
    if i > 1 and low ~= "valid_from" and low ~= "valid_to" then parts[#parts + 1] = text(row[i]) end
  end
  return table.concat(parts, " ")
end

local function as_list(columns, rows, from, to)
  local out = {}
  for i, row in ipairs(rows) do
    out[i] = ("%s %s: %s, from %s %s"):format(columns[1], text(row[1]), label(columns, row), text(row[from]),
      is_open(row[to]) and "on" or "to " .. text(row[to]))
  end
  return table.concat(out, "\n") .. "\n"
end

function versions.text(columns, rows, o)
  local from, to = at(columns, "valid_from"), at(columns, "valid_to")
  table.sort(rows, function(a, b)
    if a[1] ~= b[1] then
      if type(a[1]) == type(b[1]) and type(a[1]) ~= "boolean" then return a[1] < b[1] end
      return text(a[1]) < text(b[1])
    end
    return text(a[from]) < text(b[from])
  end)
  if #rows == 0 then return "(no rows)\n" end
  local seen, dates = {}, {}
  for _, row in ipairs(rows) do
    for _, i in ipairs { from, to } do
      local v = text(row[i])
      if not is_open(row[i]) and not seen[v] then
        seen[v] = true
        dates[#dates + 1] = v
      end
    end
  end
  table.sort(dates, function(a, b) return (data.ms(a) or 0) < (data.ms(b) or 0) end)
  if o.plain or (o.width or 80) < 72 or LEFT + STEP * #dates > math.min(o.width or 80, 80) then
    return as_list(columns, rows, from, to)
  end
  local column, head = {}, (" "):rep(LEFT)
  for i, v in ipairs(dates) do
    column[v] = LEFT + (i - 1) * STEP
    head = head .. ("%-" .. STEP .. "s"):format(v:sub(1, 10))
  end
  local last = LEFT + STEP * #dates
  local out, line, key = { (head:gsub("%s+$", "")) }, nil, nil
  for _, row in ipairs(rows) do
    if text(row[1]) ~= key then
      if line then out[#out + 1] = line end
      key = text(row[1])
      line = ("%-" .. LEFT .. "s"):format(key:sub(1, LEFT - 1))
    end
    local a, b = column[text(row[from])], is_open(row[to]) and last or column[text(row[to])]
    local word = label(columns, row):sub(1, math.max(0, b - a - 2))
    if a < #line then -- versions that overlap: a line of its own
      out[#out + 1] = line
      line = (" "):rep(LEFT)
    end
    line = line .. (" "):rep(a - #line) .. "[" .. word .. ("="):rep(b - a - 2 - #word) .. (is_open(row[to]) and ">" or ")")
  end
  out[#out + 1] = line
  return table.concat(out, "\n") .. "\n"
end

return versions
