-- What values look like at the prompt. Runs in the job's own state; the
-- drawing of tables and of calendars comes as its arguments; terminal says
-- whether somebody looks at one.
local show, calendar, terminal = ...
local null = _G.null

local function is_list_of_rows(v)
  return #v > 0 and type(v[1]) == "table"
end

-- Column names of plain rows, sorted; a result of query knows its own order.
local function columns_of(v)
  local meta = getmetatable(v)
  if meta and meta.columns then return meta.columns end
  local seen, names = {}, {}
  for _, row in ipairs(v) do
    for name in pairs(row) do
      if type(name) == "string" and not seen[name] then
        seen[name] = true
        names[#names + 1] = name
      end
    end
  end
  table.sort(names)
  return names
end

local function as_table(v)
  local columns, rows = columns_of(v), {}
  for i, row in ipairs(v) do
    rows[i] = {}
    for c, name in ipairs(columns) do rows[i][c] = row[name] == nil and null or row[name] end
  end
  local text = show.table(columns, rows) .. ("\n(%d row%s)"):format(#rows, #rows == 1 and "" or "s")
  local meta = getmetatable(v)
  local drawn = terminal and meta and meta.drawing == "calendar" and calendar.text(v, terminal == "color")
  return drawn and text .. "\n\n" .. drawn or text
end

local function one(v)
  if type(v) ~= "table" then return v == null and "null" or tostring(v) end
  local meta = getmetatable(v)
  if meta and meta.__tostring then return tostring(v) end
  if is_list_of_rows(v) or (meta and meta.columns) then return as_table(v) end
  if #v > 0 then
    local parts = {}
    for i, item in ipairs(v) do parts[i] = one(item) end
    return table.concat(parts, ", ")
  end
  if type(v.lines) == "table" then return as_table(v.lines) end
  local names, row = {}, {}
  for name in pairs(v) do names[#names + 1] = tostring(name) end
  table.sort(names)
  for i, name in ipairs(names) do row[i] = show.text(v[name]) end
  if #names == 0 then return "{}" end
  return show.table(names, { row })
end

return function(...)
  local n, parts = select("#", ...), {}
  if n == 1 and (...) == nil then return "" end
  for i = 1, n do
    local v = select(i, ...)
    parts[i] = v == nil and "nil" or one(v)
  end
  return table.concat(parts, "\n")
end
