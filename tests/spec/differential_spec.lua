-- Random small jobs and histories, the same on every pair of databases: after
-- every run rows, ledger, checks and marks have to be equal. LRUN_TEST_SEED
-- repeats one, LRUN_TEST_HISTORIES sets how many.
local pairs_of = require "pairs"
local random = require "random"
local world = require "world"

local HISTORIES = tonumber(os.getenv "LRUN_TEST_HISTORIES") or (world.sanitized and 4 or 10)
local STEPS = 5

local rnd = math.random
local function pick(list) return list[rnd(#list)] end
local function chance(percent) return rnd(100) <= percent end

-- Columns: a declaration, a value as SQL, and how both engines print it.
local TYPES = {
  { "TEXT", function() return pick { "'a'", "'b'", "''", "'it''s'", "'Straße'", "'NULL'", "'A'", "'a '", "'日本'", "'\\N'" } end },
  { "{bigint}", function() return pick { "0", "1", "-1", "7", "9007199254740993", "9223372036854775807", "-9223372036854775807" } end },
  { "DECIMAL(12,2)", function() return pick { "0", "1.5", "-1.50", "0.1", "0.2", "22.00", "1234567890.12", "-0.01" } end, "{money %s}" },
  { "DATE", function() return ("'2026-01-%02d'"):format(rnd(1, 9)) end },
  { "TIMESTAMP", function() return ("'2026-01-%02d %02d:%02d:%02d%s'"):format(rnd(1, 9), rnd(0, 23), pick { 0, 59 }, pick { 0, 59 },
      pick { "", ".5", ".000001", ".999999" }) end },
  { "{boolean}", function() return pick { "{yes}", "{no}" } end, "CASE WHEN %s = {yes} THEN 1 WHEN %s = {no} THEN 0 END" },
  { "{double}", function() return pick { "0.5", "-1.25", "1e100", "0.1" } end, "CASE WHEN %s = 0.1 THEN 'tenth' WHEN %s > 1e99 THEN 'huge' WHEN %s = 0.5 THEN 'half' ELSE 'other' END" },
}

-- Times with many ties, midnights and the edges beside them.
local function time(day)
  return ("'2026-01-%02d %s'"):format(day or rnd(1, 9), pick { "00:00:00", "23:59:59.999999", "12:00:00", "12:00:00.5", "10:00:00.000001" })
end

local function new_table()
  local t = { columns = { "id", "k", "at" }, keys = pick { { "id" }, { "id" }, { "id", "k" } }, unique = chance(70) }
  t.types = { id = { "{bigint}" }, k = { "TEXT" }, at = { "TIMESTAMP" } }
  for i = 1, rnd(1, 4) do
    local name = pick { "v", "Value", "order", "a b" } .. i
    t.columns[#t.columns + 1] = name
    t.types[name] = pick(TYPES)
  end
  return t
end

local function quoted(name) return '"' .. name .. '"' end
local function create(t)
  local list = {}
  for i, name in ipairs(t.columns) do list[i] = quoted(name) .. " " .. t.types[name][1] end
  if t.unique then list[#list + 1] = "PRIMARY KEY (id" .. (#t.keys == 2 and ", k" or "") .. ")" end
  return "CREATE TABLE s(" .. table.concat(list, ", ") .. ");"
end

local function value(t, name, day)
  if name == "id" then return tostring(rnd(1, 12)) end
  if name == "k" then return chance(t.unique and 0 or 3) and "NULL" or pick { "'x'", "'y'", "''" } end
  if name == "at" then return chance(t.nulls and 15 or 0) and "NULL" or time(day) end
  return chance(20) and "NULL" or t.types[name][2]()
end

-- What an application does: statements that both engines take alike.
local function change(t, day)
  local sql = {}
  for _ = 1, rnd(1, 6) do
    local where = ("id = %d"):format(rnd(1, 12))
    local kind = rnd(10)
    if kind <= 6 then
      local values = {}
      for i, name in ipairs(t.columns) do values[i] = value(t, name, day) end
      sql[#sql + 1] = t.unique and ("DELETE FROM s WHERE id = %s AND k = %s;"):format(values[1], values[2]) or nil
      if t.unique and #t.keys == 1 then sql[#sql] = ("DELETE FROM s WHERE id = %s;"):format(values[1]) end
      sql[#sql + 1] = "INSERT INTO s VALUES (" .. table.concat(values, ", ") .. ");"
    elseif kind <= 9 then
      local name = t.columns[rnd(4, #t.columns)]
      sql[#sql + 1] = ("UPDATE s SET %s = %s, at = %s WHERE %s;"):format(quoted(name), value(t, name), time(day), where)
    else
      sql[#sql + 1] = "DELETE FROM s WHERE " .. where .. ";"
    end
  end
  return table.concat(sql, "\n")
end

local function new_job(t)
  local windowed = chance(85)
  local primitive = pick(windowed and { "merge", "merge", "insert_new", "overwrite_partition", "full_load" } or { "merge", "insert_new", "full_load" })
  local by_date = primitive == "overwrite_partition" or chance(30)
  local extract = { 'from = "s"' }
  if windowed then
    extract[#extract + 1] = 'by = "at"'
    extract[#extract + 1] = "window = " .. (by_date and "window()" or pick {
      "window { since = watermark() }", "window { since = watermark(), lookback = days(2) }",
      'window { since = watermark { advance = "newest" } }', 'window { since = watermark { advance = "newest" }, lookback = hours(12) }',
      'window { since = watermark { start = "2026-01-03" } }', 'window { since = watermark { start = "2026-01-03", advance = "newest" } }' })
    t.nulls = chance(40)
    if t.nulls then extract[#extract + 1] = 'nulls = "' .. pick { "include", "skip", "error" } .. '"' end
  end
  if chance(20) then extract[#extract + 1] = pick { "where = { k = 'x' }", "where = \"id > 3\"", "where = { id = { 1, 2, 3, 9 } }" } end
  local lines = { 'job { grain = "day"' .. (chance(20) and ', zone = "Europe/Berlin"' or "") .. " }",
    "local rows = extract { " .. table.concat(extract, ", ") .. " }" }
  local rows = "rows"
  if chance(30) then
    lines[#lines + 1] = "local mapped = rows:map(function(row) if row.id == 5 then return nil end return row end)"
    rows = "mapped"
  end
  local options = { rows, 'into = "t"' }
  if primitive == "merge" or primitive == "insert_new" then
    options[#options + 1] = #t.keys == 1 and 'key = "id"' or 'key = { "id", "k" }'
    if primitive == "merge" and chance(t.unique and 25 or 80) then options[#options + 1] = 'newest = "at"' end
  end
  if primitive == "full_load" then options[#options + 1] = "allow_empty = true" end
  lines[#lines + 1] = primitive .. " { " .. table.concat(options, ", ") .. " }"
  if primitive == "overwrite_partition" or primitive == "full_load" or chance(20) then
    local sums = { 'id = "id"' }
    for _, name in ipairs(t.columns) do
      if t.types[name][1]:find "DECIMAL" then sums[#sums + 1] = ('[%q] = %q'):format(name, name) end
    end
    lines[#lines + 1] = ("reconcile { %s, with = \"t\", sum = { %s }%s }"):format(rows, table.concat(sums, ", "),
      primitive == "merge" and ", fail = false" or "")
  end
  return table.concat(lines, "\n") .. "\n", by_date
end

local function trimmed(text) return (text:gsub("(%d%d:%d%d:%d%d%.%d-)0+%f[%D]", "%1"):gsub("(%d%d:%d%d:%d%d)%.%f[%D]", "%1")) end

-- Columns as one text.
local function joined(columns)
  local list = {}
  for i, column in ipairs(columns) do list[i] = ("coalesce(CAST(%s AS TEXT), 'NULL')"):format(column) end
  return table.concat(list, " || '|' || ")
end
local LEDGER = {
  { "window", { "source_table", "column_name", "window_start", "window_stop" }, "lrun_windows" },
  { "write", { "target", "primitive", "rows_inserted", "rows_updated", "rows_deleted" }, "lrun_writes" },
  { "check", { "metric", "source_value", "warehouse_value", "equal" }, "lrun_checks" },
  { "run", { "status", "logical_date", "run_start", "rows_read", "rows_inserted", "rows_updated", "rows_deleted", "rows_skipped" }, "lrun_runs" },
}

-- All that has to be equal after a run: of one that failed its status, rows and marks.
local function seen(w, t, r)
  local parts = { "SELECT 'mark ' || " .. joined { "job", "name", "value" } .. " FROM lrun_watermarks" }
  if r.status == 0 then
    w.made = true
    for _, part in ipairs(LEDGER) do
      parts[#parts + 1] = ("SELECT '%s ' || %s FROM %s WHERE run_id = (SELECT max(run_id) FROM lrun_runs)"):format(part[1], joined(part[2]), part[3])
    end
  else
    parts[2] = "SELECT status FROM lrun_runs WHERE run_id = (SELECT max(run_id) FROM lrun_runs)"
  end
  if w.made then
    local list = {}
    for i, name in ipairs(t.columns) do list[i] = (t.types[name][3] or "%s"):gsub("%%s", (quoted(name))) end
    parts[#parts + 1] = "SELECT 'row ' || " .. joined(list) .. " FROM t"
  end
  local out = w:rows(table.concat(parts, " UNION ALL "))
  for i, line in ipairs(out) do out[i] = trimmed(line) end
  table.sort(out)
  table.insert(out, 1, "status " .. r.status)
  return out
end

local function difference(a, b)
  for i = 1, math.max(#a, #b) do
    if a[i] ~= b[i] then return ("line %d: %s\n   against: %s"):format(i, a[i] or "(none)", b[i] or "(none)") end
  end
end

describe("a random job", function()
  local seed = random.seed()
  for history = 1, HISTORIES do
    it("does the same on every pair, history " .. history, function()
      math.randomseed(seed, history)
      local t = new_table()
      local job, by_date = new_job(t)
      local steps, day = {}, 1
      for i = 1, STEPS do
        day = math.min(day + rnd(0, 3), 9)
        local args = by_date and { "--logical-date", ("2026-01-%02d"):format(rnd(1, 9)), "--run-start", "2026-02-01" }
          or { "--run-start", ("2026-01-%02d%s"):format(day + 1, pick { "", " 12:00:00" }) }
        -- ways of PostgreSQL alone, which must make no difference
        local env = { LRUN_PG_MERGE = pick { "", "", "merge", "update_insert", "delete_insert" }, LRUN_PG_COPY = pick { "", "", "text" } }
        steps[i] = { change(t, chance(70) and day or nil), args, env }
      end
      local worlds = {}
      for i, pair in ipairs(pairs_of.all) do worlds[i] = pair.new { source = create(t) }:job("j", job) end
      local log = { "seed " .. seed .. ", history " .. history, create(t), job }
      for _, step in ipairs(steps) do
        log[#log + 1] = ("%s\n-- LRUN_PG_MERGE=%s LRUN_PG_COPY=%s lrun j.lua %s"):format(step[1], step[3].LRUN_PG_MERGE, step[3].LRUN_PG_COPY,
          table.concat(step[2], " "))
        local reference, errors
        for _, w in ipairs(worlds) do
          w:source(step[1])
          local args = { table.unpack(step[2]) }
          args[#args + 1] = { env = step[3] }
          local r = w:lrun("j.lua", table.unpack(args))
          local got = seen(w, t, r)
          if r.status ~= 0 and r.status ~= 1 and r.status ~= 3 then error(table.concat(log, "\n") .. "\n" .. r.err) end
          if not reference then
            reference, errors = got, r.err
          else
            local differs = difference(got, reference)
            if differs then
              error(("%s\n%s against %s\n%s\n%s\n%s"):format(table.concat(log, "\n"), w.pair.name, worlds[1].pair.name, differs, r.err, errors), 0)
            end
          end
        end
      end
    end)
  end
end)
