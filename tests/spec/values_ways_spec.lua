-- Values by every primitive that writes, into new tables and into columns of another type, in
-- zones where clocks change: a sample by chance (LRUN_TEST_SEED repeats it), with the truth of
-- values.lua.
local copies = require "copies"
local instants = require "instants"
local lists = require "value_lists"
local pairs_of = require "pairs"
local random = require "random"
local values = require "values"

local seed = random.seed(1796103788)
local SAMPLE = tonumber(os.getenv "LRUN_TEST_SAMPLE") or require "world".sanitized and 10 or 40 -- of each kind, on each pair

-- Times around the changes of the clocks, as texts without and with an offset.
local NAIVE = { "2024-01-05 00:00:00", "2024-01-05 10:00:00.5", "2024-03-31 01:59:59.999999", "2024-03-31 02:30:00", "2024-03-31 03:00:00", "2024-10-27 01:59:59",
  "2024-10-27 02:30:00", "2024-10-27 03:00:00", "2024-03-10 02:00:00", "2024-03-10 03:00:00", "2024-11-03 01:30:00", "2024-11-03 02:00:00",
  "2011-12-29 23:59:59", "2011-12-30 12:00:00", "2011-12-31 00:00:00", "2024-02-29 05:45:00" }
local AWARE = { "2024-01-04 23:00:00+00:00", "2024-01-05 00:00:00+00:00", "2024-01-05 05:00:00+00:00", "2024-01-04 18:15:00+00:00", "2024-01-04 11:00:00+00:00",
  "2024-03-31 00:59:59.999999+00:00", "2024-03-31 01:00:00+00:00", "2024-10-27 00:30:00+00:00", "2024-10-27 01:30:00+00:00", "2024-10-27 02:00:00+00:00",
  "2024-03-10 07:00:00+00:00", "2024-11-03 05:30:00+00:00", "2024-11-03 06:30:00+00:00", "2011-12-30 09:59:59+00:00", "2011-12-30 10:00:00+00:00" }
local DATES = { "2024-01-05", "2024-03-31", "2024-10-27", "2011-12-30", "2011-12-31", "2024-02-29" }
local TIMES = {
  sqlite = { { "TEXT", "text", NAIVE }, { "TEXT", "text", AWARE }, { "TIMESTAMP", "text", NAIVE }, { "DATE", "text", DATES }, { "DATETIME", "text", AWARE } },
  postgresql = { { "text", "text", NAIVE }, { "text", "text", AWARE }, { "timestamp", "naive", NAIVE }, { "date", "date", DATES }, { "timestamptz", "aware", AWARE } },
}
local INTO = { sqlite = { "TEXT", "TIMESTAMP", "DATE" }, postgresql = { "timestamp", "timestamp(0)", "timestamptz", "timestamptz(3)", "date" } }

local function one_of(list) return list[math.random(#list)] end

-- What a new column is for a source's column: its type, by page 8 of the design.
local function new_column(pair, type, m)
  if pair.source == pair.warehouse then return nil end
  if pair.source == "sqlite" then
    local d = type:upper()
    if d:find "INT" then return "bigint" end
    if d:find "^DECIMAL%(" then return (type:gsub("^DECIMAL", "numeric")) end
    return ({ NUMERIC = "numeric", REAL = "double precision", DATE = "date", DATETIME = "timestamp", TIMESTAMP = "timestamp", BOOLEAN = "boolean", BLOB = "bytea" })[d] or "text"
  end
  if m.kind == "dec" then return type:find "%(" and "NUMERIC" or "TEXT" end
  return ({ int = "INTEGER", bool = "BOOLEAN", real = "REAL", single = "REAL", bytes = "BLOB", date = "DATE", naive = "TIMESTAMP", aware = "TIMESTAMP" })[m.kind] or "TEXT"
end

-- A member for copies.check from a value, nil where the rules leave its fate open.
local function member(pair, type, literal, m, target, way, zone)
  local column = target or new_column(pair, type, m)
  local verdict = "kept"
  if column then verdict = values.verdict(m, pair.warehouse, column, zone, false, pair.source == "sqlite")
  elseif pair.source == "postgresql" and (type == "mood" or type == "pair") and way == "map" then return nil end
  if verdict == "either" then return nil end
  return { source = type, value = literal, target = target and { [pair.warehouse] = target } or nil, ways = { way }, zone = zone, shown = m.text,
    expect = verdict == "kept" and function(text) return values.same(m, text, column or type, zone) end or false }
end

local GROUPED = { int = true, dec = true, text = true, date = true, naive = true, aware = true }
local function suits(way, m, pair)
  if way == "group" then return GROUPED[m.kind] and not m.broken and m.type ~= '"char"' and m.type ~= "name" end
  if way == "missing" then return (m.kind == "int" or m.kind == "text" or m.kind == "date" or m.kind == "naive") and not m.broken end
  if way == "join" then return pair.source == pair.warehouse end
  return true
end

local WAYS = { "missing", table.unpack(copies.ways) }

pairs_of.each("values by every primitive", function(pair)
  local function sample(what, draw)
    it(what, function()
      local members, tries = {}, 0
      while #members < SAMPLE and tries < 50 * SAMPLE do
        tries = tries + 1
        local drawn = draw(one_of(WAYS))
        if drawn then members[#members + 1] = drawn end
      end
      local ok, message = pcall(copies.check, pair, members, nil, { postgresql = lists.own })
      if not ok then error(("LRUN_TEST_SEED=%d: %s"):format(seed, message), 0) end
    end)
  end

  sample("are kept or refused in zones where clocks change", function(way)
    local type, kind, texts = table.unpack(one_of(TIMES[pair.source]))
    local text = one_of(texts)
    local m = values.meaning(kind, text, pair.source == "postgresql" and type or nil)
    if not suits(way, m, pair) then return nil end
    return member(pair, type, "'" .. text .. "'", m, one_of(INTO[pair.warehouse]), way, one_of(instants.zones))
  end)

  local all = lists.of(pair.source)
  sample("are kept or refused in new tables", function(way)
    local source = one_of(all)
    local value = one_of(source)
    -- A target of delete_missing by a column that has no equality, and the like.
    if not suits(way, value.meaning, pair) or way == "group" and source.type == "BOOLEAN" then return nil end
    return member(pair, source.type, value.literal, value.meaning, nil, way, one_of { nil, "Europe/Berlin" })
  end)

  sample("are kept or refused in columns of another type", function(way)
    local source = one_of(all)
    local value = one_of(source)
    if not suits(way, value.meaning, pair) or way == "group" and source.type == "BOOLEAN" then return nil end
    return member(pair, source.type, value.literal, value.meaning, one_of(lists.targets[pair.warehouse]), way, nil)
  end)
end)
