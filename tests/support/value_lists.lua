-- value_lists.lua: every type of PostgreSQL, every storage class and kind of declared type of
-- SQLite, with values of each; and the types of targets.

local values = require "values"

local M = {}

-- Types that the specs make at each PostgreSQL database.
M.own = [[
CREATE TYPE mood AS ENUM ('sad', 'ok', '1.5'); CREATE DOMAIN positive AS int CHECK (VALUE > 0); CREATE TYPE pair AS (a int, b text);
CREATE EXTENSION IF NOT EXISTS citext;
]]

local UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
local LONG = ("n"):rep(64)

-- A type, the kind of its values (see values.meaning), and the texts that it prints.
M.postgresql = {
  { "smallint", "int", "0", "1", "-32768" },
  { "integer", "int", "1", "32768", "-2147483648" },
  { "bigint", "int", "0", "2147483648", "9007199254740993", "9223372036854775807" },
  { "numeric", "dec", "1", "12.5", "-0.10", "1.005", "12345678901234567890.123456789", "9223372036854775808", "NaN", "Infinity" },
  { "numeric(10,2)", "dec", "3.00", "1.25", "-99999999.99" },
  { "real", "single", "1", "0.5", "0.1", "1e+38", "NaN", "Infinity" },
  { "double precision", "real", "1", "0.5", "0.1", "0.30000000000000004", "1e+308", "5e-324", "16777217", "NaN", "-Infinity" },
  { "boolean", "bool", "true", "false" },
  { "money", "other", "-$12.34" },
  { "oid", "int", "4294967295" },
  { "positive", "int", "7" },
  { "text", "text", "", "abc", "x", "12", "1.50", "a b  ", "abcdef", LONG, "true", "2024-01-05", "2024-01-05 10:00:00",
    "2024-01-05 10:00:00.123456",
    "2024-01-05T10:00:00Z", "2024-01-05 10:00:00.1234567", "2024-02-30", UUID, '{"a": 1}', "10.0.0.1", "äöü" },
  { "varchar(8)", "text", "abc", "12", "2024" },
  { "char(6)", "text", "ab    ", "abcdef" },
  { "citext", "text", "Tag" },
  { '"char"', "text", "x" },
  { "name", "text", "a name" },
  { "mood", "other", "sad", "1.5" },
  { "uuid", "other", UUID },
  { "bytea", "bytes", "00ff", "", "5c4e0a" },
  { "date", "date", "2024-01-05", "1969-12-31", "infinity", "0044-03-15 BC", "12024-01-01" },
  { "timestamp", "naive", "2024-01-05 00:00:00", "2024-01-05 10:00:00.5", "2024-01-05 23:59:59.999999", "-infinity",
     "12024-01-01 00:00:00" },
  { "timestamp(0)", "naive", "2024-01-05 10:00:00" },
  { "timestamptz", "aware", "2024-01-05 00:00:00+00", "2024-01-05 10:00:00.5+00", "infinity", "0044-03-15 12:00:00+00 BC" },
  { "time", "other", "10:00:00", "23:59:59.857", "24:00:00" },
  { "timetz", "other", "10:00:00.5+05:45" },
  { "interval", "other", "1 mon 2 days", "-1 days +03:04:05.678901" },
  { "json", "other", '{"b" : 1,  "a":18446744073709551616}', "null" },
  { "jsonb", "other", '{"a": 18446744073709551616}', "12" },
  { "inet", "other", "192.168.0.1/24", "10.0.0.1" },
  { "cidr", "other", "10.0.0.0/8" },
  { "macaddr", "other", "08:00:2b:01:02:03" },
  { "bit(3)", "other", "101" },
  { "bit varying", "other", "10101", "1" },
  { "int[]", "other", "{1,NULL,3}" },
  { "text[]", "other", '{"a,b",NULL,"NULL",""}' },
  { "pair", "other", '(1,"x,y")' },
  { "int4range", "other", "[1,5)" },
  { "daterange", "other", "[2024-01-01,2024-01-05)" },
  { "tstzrange", "other", '["2024-01-01 00:00:00+00",)' },
  { "int4multirange", "other", "{[1,2),[5,7)}" },
  { "xml", "other", "<a>&amp;</a>" },
  { "tsvector", "other", "'a':1 'b':2" },
  { "point", "other", "(1.5,2)" },
  { "pg_lsn", "other", "16/B374D848" },
}

-- A declared type and literals: a number, 'text', x'bytes'.
M.sqlite = {
  { "INTEGER", "0", "1", "7", "-32769", "2147483648", "9007199254740993", "9223372036854775807" },
  { "REAL", "1.0", "0.5", "0.1", "0.30000000000000004", "1e308", "5e-324", "16777217.0", "9e999" },
  { "DECIMAL(10,2)", "1.25", "3", "1.005", "99999999.99" },
  { "NUMERIC", "12.5", "2" },
  { "TEXT", "''", "'abc'", "'x'", "'12'", "'1.50'", "'a b  '", "'abcdef'", "'" .. LONG .. "'", "'true'", "'2024-01-05'",
    "'2024-01-05 10:00:00'",
    "'2024-01-05 10:00:00.123456'", "'2024-01-05T10:00:00Z'", "'2024-01-05 10:00:00.1234567'", "'2024-02-30'",
    "'" .. UUID .. "'", [['{"a": 1}']],
    "'10.0.0.1'", "'äöü'", "'sad'", "CAST(x'610062' AS TEXT)", "CAST(x'61ff' AS TEXT)" },
  { "VARCHAR(3)", "'abcd'" },
  { "BLOB", "x'00ff'", "x''", "'abc'", "5" },
  { "", "1", "1.5", "'abc'", "x'00'" },
  { "BOOLEAN", "1", "0" },
  { "DATE", "'2024-01-05'", "20240105" },
  { "TIMESTAMP", "'2024-01-05 10:00:00.5'", "'2024-01-05'", "1704448800" },
  { "DATETIME", "'2024-01-05T10:00:00+02:00'" },
}

M.targets = {
  postgresql = {
    "smallint", "integer", "bigint", "oid", "numeric", "numeric(6,1)", "real", "double precision", "boolean", "money",
    "text", "varchar(5)", "char(5)",
    '"char"', "name", "citext", "bytea", "date", "timestamp", "timestamp(0)", "timestamptz", "timestamptz(0)",
    "time", "time(0)", "timetz", "interval",
    "interval(0)", "uuid", "json", "jsonb", "inet", "cidr", "bit(3)", "bit varying(3)",
    "mood", "positive", "int[]", "int4range", "xml", "pg_lsn",
  },
  sqlite = { "INTEGER", "REAL", "NUMERIC", "DECIMAL(10,2)", "TEXT", "BLOB", "", "BOOLEAN", "DATE", "TIMESTAMP" },
}

-- A literal of a printed text, and its meaning.
local function postgres_value(type, kind, text)
  local literal = kind == "bytes" and "'\\x" .. text .. "'" or "'" .. text:gsub("'", "''") .. "'"
  return literal .. "::" .. type, values.meaning(kind, text, type)
end

local function sqlite_value(literal)
  local hex, cast = literal:match "x'(%x*)'", literal:find "^CAST"
  if hex and not cast then return literal, values.meaning("bytes", hex) end
  if hex then
    local m = values.meaning("text", (hex:gsub("%x%x", function(h) return string.char(tonumber(h, 16)) end)))
    m.broken = true -- a NUL byte, or no UTF-8
    return literal, m
  end
  local text = literal:match "^'(.*)'$"
  if text then return literal, values.meaning("text", text) end
  if math.type(tonumber(literal)) == "integer" then return literal, values.meaning("int", literal) end
  local number = tonumber(literal)
  return literal, values.meaning("real", number == math.huge and "Infinity" or literal)
end

-- The values of a source: a list of { type, { { id, literal, meaning }, ... } }.
function M.of(engine)
  local list = {}
  for i, entry in ipairs(M[engine]) do
    local own = { type = entry[1] }
    for k = engine == "sqlite" and 2 or 3, #entry do
      local literal, meaning
      if engine == "sqlite" then
        literal, meaning = sqlite_value(entry[k])
        if values.affinity(entry[1]) == "REAL" and meaning.kind == "int" then meaning = values.meaning("real", meaning.text) end
      else
        literal, meaning = postgres_value(entry[1], entry[2], entry[k])
      end
      own[#own + 1] = { id = 100 * i + #own, literal = literal, meaning = meaning, shown = entry[k] }
    end
    list[i] = own
  end
  return list
end

return M
