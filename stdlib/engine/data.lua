-- A lesson's tables as SQL, and its variants: dates shifted by whole weeks, ids
-- renumbered, amounts changed. Seed 0 is the lesson as it is written.
local quote = require("engine.sandbox").quote
local data = {}

local function days_of(y, m, d) -- since 1970-01-01
  y, m, d = tonumber(y), tonumber(m), tonumber(d)
  if m <= 2 then y, m = y - 1, m + 12 end
  return 365 * y + y // 4 - y // 100 + y // 400 + (153 * (m - 3) + 2) // 5 + d - 719469
end

local function date_of(n)
  n = n + 719468
  local era = n // 146097
  local doe = n - era * 146097
  local yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
  local doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
  local mp = (5 * doy + 2) // 153
  local m = mp < 10 and mp + 3 or mp - 9
  return ("%04d-%02d-%02d"):format(yoe + era * 400 + (m <= 2 and 1 or 0), m, doy - (153 * mp + 2) // 5 + 1)
end

-- A date or time as milliseconds since 1970, and back; a midnight is a date.
function data.ms(text)
  local y, m, d, rest = tostring(text):match "^(%d%d%d%d)-(%d%d)-(%d%d)(.*)$"
  if not y then return nil end
  local h, mi, s = rest:match "^[ T](%d%d):(%d%d):?([%d.]*)"
  local seconds = h and tonumber(h) * 3600 + tonumber(mi) * 60 + (tonumber(s) or 0) or 0
  return days_of(y, m, d) * 86400000 + math.floor(seconds * 1000 + 0.5)
end

function data.text(ms)
  local day, rest = ms // 86400000, ms % 86400000
  if rest == 0 then return date_of(day) end
  local s, frac = rest // 1000, rest % 1000
  local text = ("%s %02d:%02d:%02d"):format(date_of(day), s // 3600, s // 60 % 60, s % 60)
  return frac > 0 and ("%s.%03d"):format(text, frac) or text
end

-- ---- variants ----

local Variant = {}
Variant.__index = Variant

-- A small generator of our own, so that a seed means the same on every machine.
local function mix(seed, n)
  local x = (seed * 2654435761 + n * 40503 + 12345) & 0xffffffff
  x = (x ~ (x >> 13)) * 1274126177 & 0xffffffff
  return x ~ (x >> 16)
end

function data.variant(seed)
  seed = seed or 0
  if seed == 0 then return setmetatable({ seed = 0, weeks = 0, ids = 0, percent = 0 }, Variant) end
  return setmetatable({ seed = seed, weeks = mix(seed, 1) % 200 + 1, ids = (mix(seed, 2) % 90 + 1) * 1000,
                        percent = mix(seed, 3) % 60 + 1 }, Variant)
end

function Variant:date(text)
  if type(text) ~= "string" or self.weeks == 0 then return text end
  local y, m, d, rest = text:match "^(%d%d%d%d)-(%d%d)-(%d%d)(.*)$"
  if not y or y == "9999" then return text end -- open: no end is known
  return date_of(days_of(y, m, d) + 7 * self.weeks) .. rest
end

function Variant:id(v)
  if math.type(v) ~= "integer" then return v end
  return v + self.ids
end

-- To whole cents, so that totals stay exact decimals.
function Variant:amount(v)
  if type(v) ~= "number" or self.percent == 0 then return v end
  local cents = math.floor(v * 100 + 0.5)
  return (cents * (100 + self.percent) // 100) / 100
end

function Variant:value(kind, v)
  if v == nil or v == false then return false end
  if kind == "date" then return self:date(v) end
  if kind == "id" then return self:id(v) end
  if kind == "amount" then return self:amount(v) end
  return v
end

-- ---- tables ----

-- A lesson's table: { name =, columns = { { name, declaration, kind }, ... }, rows = { { ... }, ... } }
local function kinds(table_)
  local out = {}
  for _, c in ipairs(table_.columns) do out[c[1]] = c[3] end
  return out
end
data.kinds = kinds

local function literal(v)
  if v == false or v == nil then return "NULL" end
  if type(v) == "number" then return tostring(v) end
  return "'" .. tostring(v):gsub("'", "''") .. "'"
end
data.literal = literal

-- A column's value in a row, which is a list in the columns' order or has their names.
function data.cell(table_, row, name)
  if #row == 0 then return row[name] end
  for i, c in ipairs(table_.columns) do
    if c[1] == name then return row[i] end
  end
end

function data.insert(table_, row, variant)
  local names, list = {}, {}
  for i, c in ipairs(table_.columns) do
    names[i] = quote(c[1])
    list[i] = literal(variant:value(c[3], data.cell(table_, row, c[1])))
  end
  return ("INSERT INTO %s(%s) VALUES (%s)"):format(quote(table_.name), table.concat(names, ", "), table.concat(list, ", "))
end

local function terms(table_, map, variant, joint, null)
  local kind, names, out = kinds(table_), {}, {}
  for name in pairs(map) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do
    out[i] = ("%s %s %s"):format(quote(name), null, literal(variant:value(kind[name], map[name])))
  end
  return table.concat(out, joint)
end

function data.update(table_, e, variant)
  return ("UPDATE %s SET %s WHERE %s"):format(quote(table_.name), terms(table_, e.set, variant, ", ", "="),
                                             terms(table_, e.where, variant, " AND ", "IS NOT DISTINCT FROM"))
end

function data.delete(table_, e, variant)
  return ("DELETE FROM %s WHERE %s"):format(quote(table_.name), terms(table_, e.where, variant, " AND ", "IS NOT DISTINCT FROM"))
end

-- The statements that make a database's tables and rows; declare(column) gives the engine's words.
function data.setup(tables, variant, declare)
  local out = {}
  for _, t in ipairs(tables) do
    local columns = {}
    for i, c in ipairs(t.columns) do columns[i] = quote(c[1]) .. " " .. declare(c) end
    if t.key then columns[#columns + 1] = "PRIMARY KEY (" .. t.key .. ")" end
    out[#out + 1] = ("CREATE TABLE %s(%s)"):format(quote(t.name), table.concat(columns, ", "))
    for _, row in ipairs(t.rows or {}) do out[#out + 1] = data.insert(t, row, variant) end
  end
  return out
end

function data.table(tables, name)
  for _, t in ipairs(tables) do if t.name == name then return t end end
  error(("the lesson has no table \"%s\""):format(tostring(name)), 0)
end

return data
