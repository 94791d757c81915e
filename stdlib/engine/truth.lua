-- What the warehouse should hold, and how it differs: per key, NULL-safe, as a
-- multiset of rows. Neither the order of rows nor of columns counts.
--
-- A truth is { table =, key = { ... }, columns = { ... }, source = SQL, stamp = }:
-- the SQL runs on the source and gives the columns; stamp names the column that
-- tells when a row changed. A row stamped at or after run_start belongs to the
-- next window, so it may be there or not yet.
local data = require "engine.data"
local quote = require("engine.sandbox").quote
local truth = {}

local function canon(v)
  if v == nil or v == false then return "NULL" end
  if type(v) == "number" then
    if math.type(v) == "float" and v == math.floor(v) and math.abs(v) < 2 ^ 53 then return ("%d"):format(v) end
    return math.type(v) == "float" and ("%.15g"):format(v) or tostring(v)
  end
  return "'" .. tostring(v) .. "'"
end
truth.canon = canon

-- Rows by key: { [key text] = { key = value, rows = { canonical text, ... } } }
local function by_key(t, rows)
  local at, out = {}, {}
  for i, name in ipairs(t.columns) do at[name] = i end
  for _, row in ipairs(rows) do
    local parts, cells = {}, {}
    for i, name in ipairs(t.key) do parts[i] = canon(row[at[name]]) end
    for i = 1, #t.columns do cells[i] = canon(row[i]) end
    local key = table.concat(parts, ",")
    local entry = out[key]
    if not entry then
      entry = { key = key, value = row[at[t.key[1]]], rows = {}, raw = row, stamp = t.stamp and row[at[t.stamp]] or nil }
      out[key] = entry
    end
    table.insert(entry.rows, table.concat(cells, "\0"))
  end
  for _, entry in pairs(out) do table.sort(entry.rows) end
  return out
end

function truth.of_source(box, t)
  local rows, why = box:rows("source", "SELECT * FROM (" .. t.source .. ") AS truth")
  if not rows then error("the truth's query fails: " .. why, 0) end
  return by_key(t, rows)
end

-- nil and why where the job has dropped or changed the table.
function truth.of_warehouse(box, t)
  local names = {}
  for i, c in ipairs(t.columns) do names[i] = quote(c) end
  local rows, why = box:rows("warehouse", ("SELECT %s FROM %s"):format(table.concat(names, ", "), quote(t.table)))
  if not rows then
    return nil, ("the table %s is gone or has other columns: %s"):format(t.table, (why:gsub(" %(SQL logic error%)$", "")))
  end
  return by_key(t, rows)
end

local function same(a, b)
  if not a or not b then return not a and not b end
  if #a.rows ~= #b.rows then return false end
  for i, row in ipairs(a.rows) do if row ~= b.rows[i] then return false end end
  return true
end
truth.same = same

-- The day that a row belongs to, where the table is written by days.
function truth.day_of(t, entry)
  for i, name in ipairs(t.columns) do
    if name == t.partition then return tostring(entry.raw[i]):sub(1, 10) end
  end
end

-- After a run for one day: that day as the source has it, the others as they were.
function truth.of_day(t, want, before, day)
  local function is_day(entry) return truth.day_of(t, entry) == day end
  local out = {}
  for key, entry in pairs(before) do if not is_day(entry) then out[key] = entry end end
  for key, entry in pairs(want) do if is_day(entry) then out[key] = entry end end
  return out
end

local function less(a, b)
  local x, y = a.value, b.value
  if type(x) == "number" and type(y) == "number" and x ~= y then return x < y end
  return a.key < b.key
end

function truth.keys(...)
  local seen, list = {}, {}
  for _, side in ipairs { ... } do
    for key, entry in pairs(side) do
      if not seen[key] then
        seen[key] = true
        list[#list + 1] = entry
      end
    end
  end
  table.sort(list, less)
  return list
end

local function class(want, have)
  if not have then return "MISSING" end
  if not want then return "ORPHAN" end
  if #have.rows > #want.rows then return "DUPLICATE" end
  if #have.rows < #want.rows then return "MISSING" end
  return "STALE"
end

-- Sum of a column, in its smallest unit, NULL left out; and of how many values.
function truth.total(t, side, column)
  local at, sum, values = 0, 0, 0
  for i, name in ipairs(t.columns) do if name == column then at = i end end
  for _, entry in pairs(side) do
    for _, row in ipairs(entry.rows) do
      local i = 0
      for cell in (row .. "\0"):gmatch "(.-)%z" do
        i = i + 1
        if i == at and cell ~= "NULL" then
          sum, values = sum + math.floor((tonumber(cell) or 0) * 100 + 0.5), values + 1
        end
      end
    end
  end
  return sum, values
end

-- Differences, the lowest key first. before: the truth when the run began,
-- where rows came while it ran. edge: run_start.
function truth.compare(t, want, have, before, edge)
  local out = {}
  local limit = edge and data.ms(edge)
  for _, entry in ipairs(truth.keys(want, have)) do
    local w, h = want[entry.key], have[entry.key]
    local open = t.stamp and limit and w and data.ms(w.stamp) and data.ms(w.stamp) >= limit
    if open and h and #h.rows > #w.rows then open = false end
    if not same(w, h) and not open and not (before and same(before[entry.key], h)) then
      out[#out + 1] = { key = entry.key, value = entry.value, class = class(w, h), want = w, have = h }
    end
  end
  if #out > 0 and t.group then
    local total = t.total
    if truth.total(t, want, total) == truth.total(t, have, total) then
      for _, d in ipairs(out) do d.class = "WRONG GROUP" end
    end
  end
  return out
end

return truth
