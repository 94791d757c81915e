-- values.lua: what becomes of a value in a column of another type, by the rules that are
-- promised (page 4 of the design, S38 to S46) and not by what lrun says: kept, refused, or,
-- where the rules leave it open, "either" of the two, but never another value.

local instants = require "instants"

local M = {}

-- ---- decimals as text ----

-- "-1.5e3" as sign, digits before and after the point without idle zeros; nil for no decimal.
function M.decimal(text)
  local sign, whole, fraction, exponent = text:match "^%s*([+-]?)(%d*)%.?(%d*)[eE]?([+-]?%d*)%s*$"
  if not sign or whole == "" and fraction == "" then return nil end
  if text:find "[eE]" and not tonumber(exponent) then return nil end
  local e = math.tointeger(tonumber(exponent) or 0)
  if e > 0 then
    fraction = fraction .. ("0"):rep(e - #fraction)
    whole, fraction = whole .. fraction:sub(1, e), fraction:sub(e + 1)
  elseif e < 0 then
    whole = ("0"):rep(-e - #whole) .. whole
    whole, fraction = whole:sub(1, #whole + e), whole:sub(#whole + e + 1) .. fraction
  end
  whole, fraction = whole:gsub("^0+", ""), fraction:gsub("0+$", "")
  if whole == "" and fraction == "" then sign = "" end
  return { sign = sign == "-" and "-" or "", whole = whole, fraction = fraction }
end
local function plain(d) return d.sign .. (d.whole == "" and "0" or d.whole) .. (d.fraction ~= "" and "." .. d.fraction or "") end
local function norm(text)
  local d = M.decimal(text)
  return d and plain(d)
end
M.norm = norm

-- The shortest decimal that reads back as the double, as the number of 4 bytes.
local function shortest(number, low, high, back)
  for digits = low, high do
    local s = ("%." .. digits .. "g"):format(number)
    if back(tonumber(s)) == number then return norm(s) end
  end
end
local function double(number) return shortest(number, 15, 17, function(n) return n end) end
local function single(number) return (string.unpack("<f", string.pack("<f", number))) end
local function special(number) return number ~= number or number == math.huge or number == -math.huge end

local RANGES = { smallint = "32768", integer = "2147483648", bigint = "9223372036854775808", oid = "4294967296",
  positive = "2147483648" }
local function in_range(d, type)
  local limit = RANGES[type]
  if type == "oid" and d.sign == "-" then return false end
  if #d.whole ~= #limit then return #d.whole < #limit end
  return d.whole < limit or type ~= "oid" and d.sign == "-" and d.whole == limit
end

-- ---- what a value is ----

-- meaning{ kind, text }: kind is int, dec, real, single, bool, text, bytes, date, naive,
-- aware or other; `text` is the value's own form (bytes: hex).
function M.meaning(kind, text, type)
  local m = { kind = kind, text = text, type = type }
  if kind == "int" or kind == "dec" then m.decimal = M.decimal(text) end
  if kind == "dec" and not m.decimal then m.special = true end
  if kind == "real" or kind == "single" then
    m.number = ({ NaN = 0 / 0, Infinity = math.huge, ["-Infinity"] = -math.huge })[text] or tonumber(text) + 0.0
    m.special = special(m.number)
    m.decimal = not m.special and M.decimal(kind == "single" and text or double(m.number)) or nil
  end
  if kind == "date" or kind == "naive" or kind == "aware" or kind == "text" then m.time = instants.parse(text) end
  return m
end

-- A type's name and its numbers: "numeric(6,1)" is numeric, 6, 1.
local function parts(type)
  local name, a, b = type:match "^(.-)%((%d+),?(%d*)%)$"
  return name or type, tonumber(a), tonumber(b)
end

-- ---- targets of PostgreSQL ----

-- Each returns "kept", "refused" or "either".
local function fits(yes) return yes and "kept" or "refused" end

local function into_integer(m, type)
  -- PostgreSQL's own casts from boolean know integer only; oid is a number by courtesy.
  if m.kind == "bool" then return type == "integer" and "kept" or "either" end
  if m.kind == "other" and M.decimal(m.text) then return "either" end
  if type == "oid" and m.kind ~= "int" then
    local whole = m.decimal and m.kind ~= "text" and m.decimal.fraction == "" and in_range(m.decimal, type)
    return whole and "either" or "refused"
  end
  if m.kind == "int" or m.decimal and m.kind ~= "text" then
    if type == "positive" and (m.decimal.sign == "-" or plain(m.decimal) == "0") then return "refused" end
    return fits(m.decimal.fraction == "" and in_range(m.decimal, type))
  end
  if m.kind == "other" and M.decimal(m.text) then return "either" end
  return "refused"
end

local function into_numeric(m, _, precision, scale)
  local d = m.kind == "text" and M.decimal(m.text) or m.decimal
  if m.kind == "bool" or m.special then return "either" end
  if not d then return (m.type == "money" or m.kind == "other" and M.decimal(m.text)) and "either" or "refused" end
  if m.kind == "text" and not m.text:find "^[+-]?%d+%.?%d*$" then return "either" end
  if not precision then return "kept" end
  return fits(#d.fraction <= (scale or 0) and #d.whole <= precision - (scale or 0))
end

local function into_float(m, type)
  if m.kind == "bool" then return "either" end
  local d = m.kind == "text" and M.decimal(m.text) or m.decimal
  if m.special then return m.kind == "dec" and "either" or m.type and "kept" or "either" end
  if not d then return m.kind == "other" and M.decimal(m.text) and "either" or "refused" end
  local number = tonumber(plain(d)) + 0.0
  if type == "real" and math.abs(number) >= 0x1.fffffep+127 + 1e30 then return "refused" end
  local held = type == "real" and single(number) or number
  local text
  if special(held) or held == 0 and number ~= 0 then text = nil
  elseif type == "real" then text = shortest(held, 6, 9, single)
  else text = double(held) end
  local same = text == plain(d) or held == number and m.kind ~= "dec" and m.kind ~= "text"
  if m.kind == "int" then return fits(("%.0f"):format(held) == plain(d)) end
  if m.kind == "text" then return same and "either" or "refused" end
  if m.kind == "single" and type ~= "real" then return "either" end
  return fits(same)
end

local function into_boolean(m)
  if m.kind == "bool" then return "kept" end
  if m.kind == "int" then return fits(m.text == "0" or m.text == "1") end
  if m.kind == "text" then return "either" end
  return m.decimal and (plain(m.decimal) == "0" or plain(m.decimal) == "1") and "either" or "refused"
end

local function into_text(m, type, length)
  if m.broken then return "refused" end
  if m.kind == "bytes" or type == '"char"' and m.kind ~= "text" then return "either" end
  local size = type == "name" and 63 or type == '"char"' and 1 or length
  local text = m.kind == "real" and m.decimal and plain(m.decimal) or m.text
  if m.kind == "aware" then text = text .. ":00" end
  if size then
    local trimmed = type == "char" and text:gsub(" +$", "") or text
    local long = (type == "name" or type == '"char"') and #trimmed > size or utf8.len(trimmed) and utf8.len(trimmed) > size
    if long then
      -- Blanks past the end, and forms whose length the rules leave open.
      local bare = trimmed:gsub(" +$", "")
      return (#bare <= size or m.kind ~= "text" and #m.text <= size + 6) and "either" or "refused"
    end
  end
  return (m.kind == "text" or m.kind == "int") and "kept" or "either"
end

local function into_bytes(m) return m.kind == "bytes" and "kept" or m.type and m.kind ~= "text" and "either" or "refused" end

-- Times: the target is date, timestamp or timestamptz; digits are those that it keeps.
local function into_time(m, type, digits, _, zone)
  local t = m.time
  if not t then
    if m.kind == "date" or m.kind == "naive" or m.kind == "aware" then
      local same = ({ date = "date", naive = "timestamp", aware = "timestamptz" })[m.kind] == type
      return same and not digits and "kept" or "either"
    end
    return "refused"
  end
  if digits and instants.fraction(t.us) > digits then return "refused" end
  if type == "timestamptz" then
    if t.aware then return "kept" end
    if t.date then return fits(instants.first_of_day(zone, t.us)) end
    return fits(#instants.instants(zone, t.us) == 1)
  end
  local wall, twice = t.us, false
  if t.aware then wall, twice = instants.reading(zone, t.us) end
  if type == "timestamp" then return fits(not twice) end
  if t.aware then return fits(instants.midnight(wall) and t.us == instants.first_of_day(zone, wall)) end
  return fits(instants.midnight(wall))
end

-- A type that has no rule of its own: its own values verbatim, text that it reads.
local function into_other(m, type, digits, _, _, read)
  if m.kind == "text" then
    -- `read` is what the server reads in the text for the type without its modifier.
    if read == false then return "either" end
    if not read or m.broken then return "refused" end
    if type == "time" or type == "timetz" then
      if not m.text:find "^%d%d:%d%d" then return "refused" end
      local fraction = m.text:match "%.(%d+)"
      if digits and fraction and #fraction:gsub("0+$", "") > digits then return "refused" end
    end
    if type == "interval" and digits and #((read:match "%.(%d+)" or ""):gsub("0+$", "")) > digits then return "refused" end
    if type == "bit" and #m.text ~= (digits or 1) or type == "bit varying" and digits and #m.text > digits then return "refused" end
    if type == "money" and (m.text:match "%.(%d+)$" or ""):gsub("0+$", ""):len() > 2 then return "refused" end
    return read == m.text and "kept" or "either"
  end
  if m.type == type or parts(m.type or "") == type then
    if type == "bit" and #m.text ~= (digits or 1) or type == "bit varying" and digits and #m.text > digits then return "refused" end
    local fraction = (type == "time" or type == "timetz" or type == "interval") and m.text:match "%.(%d+)"
    if digits and fraction and #fraction:gsub("0+$", "") > digits then return "refused" end
    return "kept"
  end
  return "either"
end

local POSTGRES = {
  smallint = into_integer, integer = into_integer, bigint = into_integer, oid = into_integer, positive = into_integer,
  numeric = into_numeric, real = into_float, ["double precision"] = into_float, boolean = into_boolean,
  text = into_text, varchar = into_text, char = into_text, name = into_text, citext = into_text, ['"char"'] = into_text, bytea = into_bytes,
  date = into_time, timestamp = into_time, timestamptz = into_time,
}

-- ---- targets of SQLite ----

function M.affinity(declared)
  local d = declared:upper()
  if d:find "INT" then return "INTEGER" end
  if d:find "CHAR" or d:find "CLOB" or d:find "TEXT" then return "TEXT" end
  if d == "" or d:find "BLOB" then return "BLOB" end
  if d:find "REAL" or d:find "FLOA" or d:find "DOUB" then return "REAL" end
  return "NUMERIC"
end

-- Text that a column of numbers would make a number.
local function like_number(text) return tonumber(text) ~= nil and not text:find "[xX]" and text:find "%d" ~= nil end

local function canonical(text)
  if not text:find "^-?%d+$" and not text:find "^-?%d+%.%d+$" then return false end
  if text:find "^-?0%d" then return false end
  local back = in_range(M.decimal(text), "bigint") and not text:find "%." or double(tonumber(text) + 0.0) == norm(text)
  return back and text ~= "-0"
end

local function into_sqlite(m, declared, from_sqlite)
  local affinity = M.affinity(declared)
  if m.broken then return affinity == "TEXT" and from_sqlite and "kept" or "either" end
  if m.kind == "text" then
    if affinity == "TEXT" then return "kept" end
    if affinity == "BLOB" then return from_sqlite and "kept" or "either" end
    if not like_number(m.text) then return "either" end
    -- The same number comes back; zeros at its end are no part of it, those before it are.
    return canonical(m.text) and "either" or "refused"
  end
  if m.kind == "int" then return affinity == "INTEGER" and "kept" or "either" end
  if m.kind == "bytes" then return affinity == "BLOB" and "kept" or "either" end
  if m.kind == "real" and not m.special then return affinity == "REAL" and "kept" or "either" end
  if m.special then return (affinity == "TEXT" or from_sqlite or m.kind == "dec") and "either" or "refused" end
  if m.kind == "dec" then
    if affinity == "TEXT" then return "kept" end
    if affinity == "BLOB" then return "either" end
    local back = m.decimal.fraction == "" and in_range(m.decimal, "bigint") or double(tonumber(plain(m.decimal)) + 0.0) == plain(m.decimal)
    return back and (affinity == "NUMERIC" and "kept" or "either") or "refused"
  end
  if m.kind == "other" then
    if affinity == "TEXT" then return "kept" end
    return like_number(m.text) and affinity ~= "BLOB" and not canonical(m.text) and "refused" or "either"
  end
  if m.kind == "bool" then return affinity == "INTEGER" and "kept" or "either" end
  return affinity == "TEXT" and "kept" or "either"
end

-- Whether a value of a type without rules of its own is worth a try in a column of another.
local RELATED = { inet = "cidr", cidr = "inet", time = "timetz", timetz = "time", json = "jsonb", jsonb = "json",
  ["bit(3)"] = "bit varying",
  ["bit varying"] = "bit", interval = "time", mood = "citext", uuid = "bytea", daterange = "int4range" }
local PLAIN = { text = true, ["varchar(5)"] = true, integer = true, numeric = true, timestamp = true }
function M.worth(m, type)
  local name = parts(type)
  return m.kind ~= "other" or PLAIN[type] or m.type == type or parts(m.type) == name or RELATED[m.type] == name
end

-- verdict(value, "postgresql" or "sqlite", target type, zone, what the server reads, whether
-- the value comes from SQLite). false for what the server reads is unknown.
function M.verdict(m, engine, type, zone, read, from_sqlite)
  if engine == "sqlite" then return into_sqlite(m, type, from_sqlite) end
  local name, a, b = parts(type)
  local rule = POSTGRES[name] or into_other
  if rule == into_text then return into_text(m, name, a) end
  return rule(m, name, a, b, zone or "UTC", read)
end

-- ---- whether what is held is the value ----

local TRUE = { ["1"] = true, ["true"] = true, t = true, ["1.0"] = true }
local FALSE = { ["0"] = true, ["false"] = true, f = true, ["0.0"] = true }

local function same_time(m, type, text, zone)
  local t, held = m.time, instants.parse((text:gsub("(:.*[+-]%d%d)$", "%1:00")))
  if not t or not held then
    -- No year that the calendar here has: the same digits, but for midnight and UTC.
    local function bare(s) return (s:gsub("%+00:00", ""):gsub("%+00", ""):gsub("Z", ""):gsub(" 00:00:00", "")) end
    return bare(text) == bare(m.text)
  end
  local function as_instant(x)
    if x.aware then return x.us end
    return x.date and instants.first_of_day(zone, x.us) or instants.instants(zone, x.us)[1]
  end
  if t.aware or held.aware then return as_instant(t) == as_instant(held) end
  return t.us == held.us and (type ~= "date" or held.date == true)
end

-- same(value, held text, target type, zone, what the server reads).
function M.same(m, text, type, zone, read)
  if text == nil or text == "NULL" then return false end
  if text:find "^hex:" then return text == "hex:" .. m.text:gsub(".", function(c) return ("%02X"):format(c:byte()) end) end
  -- Blanks at the end of char(n) mean nothing.
  if type:find "^char" then text = text:gsub(" +$", "") end
  if m.kind == "bool" then return (m.text == "true" and TRUE or FALSE)[text] == true end
  if m.kind == "bytes" then return text:lower():gsub("^\\x", ""):gsub("^x'(.*)'$", "%1") == m.text end
  if m.kind == "real" or m.kind == "single" then
    if m.special then return text:lower():gsub("^([+-]?)inf.*$", "%1infinity") == m.text:lower() end
    local number = tonumber(text)
    if norm((text:gsub("[$,]", ""))) == plain(m.decimal) or number == m.number and type ~= "real" then return true end
    return number ~= nil and (type == "real" or m.kind == "single") and single(number) == (type == "real" and m.number or single(m.number))
  end
  local amount = text:gsub("[$,]", "")
  if m.kind == "int" and type == "boolean" then return (m.text == "1" and TRUE or FALSE)[text] == true end
  local number = tonumber(text)
  if m.kind == "int" and type == "real" then return number ~= nil and ("%.0f"):format(single(number)) == plain(m.decimal) end
  if m.decimal then return norm(amount) == plain(m.decimal) or number ~= nil and double(number + 0.0) == plain(m.decimal) end
  if m.type == "money" and norm(amount) and norm(amount) == norm((m.text:gsub("[$,]", ""))) then return true end
  if m.kind == "date" or m.kind == "naive" or m.kind == "aware" then return same_time(m, type, text, zone or "UTC") end
  if text == m.text or read and text == read then return true end
  if m.kind == "text" and m.time and POSTGRES[(parts(type))] == into_time then return same_time(m, (parts(type)), text, zone or "UTC") end
  local words = m.kind == "text" or m.kind == "other"
  if words and M.decimal(m.text) and norm(amount) == norm(m.text) and type:find "^[nrdmA-Z]" then return true end
  if m.type == "json" and type == "jsonb" then return true end
  if m.type == "time" and type == "timetz" then return text == m.text .. "+00" end
  if type:find "^char" or (m.type or ""):find "^char" then return (text:gsub(" +$", "")) == (m.text:gsub(" +$", "")) end
  if m.kind == "text" and type == "boolean" then return ({ ["true"] = true, t = true, ["1"] = true, yes = true })[m.text] == TRUE[text] end
  return false
end

return M
