-- copies.lua: copy values of one column by each primitive that writes, twice,
-- and compare with what a spec expects: kept as it was, or refused by name.
-- Many copies share one world: each has tables and a job of its own.

local files = require "files"
local process = require "process"
local world = require "world"

local M = {}

-- The odd row's key: a message that refuses its value names it.
M.KEY = "77"
M.DAY = "2024-01-05"

-- ---- the ways to write ----

-- `write` is the job's text from `rows` (columns id, day and v, in the window of DAY) on.
-- A second run of a `quiet` way inserts and updates nothing.
local WAYS = {
  { "merge", 'merge { rows, into = "T", key = "id" }', quiet = true },
  { "newest", 'merge { rows, into = "T", key = "id", newest = "day" }', quiet = true },
  { "insert_new", 'insert_new { rows, into = "T", key = "id" }', quiet = true },
  { "full_load", 'full_load { rows, into = "T" }' },
  { "partition", 'overwrite_partition { rows, into = "T" }' },
  { "keyed", 'overwrite_partition { rows, into = "T", key = "id" }' },
  { "swap", 'swap { rows, into = "T" }' },
  { "map", 'merge { rows:map(function(row) return row end), into = "T", key = "id" }', quiet = true },
  { "filter", 'merge { rows:filter(function(row) return row.id > 0 end), into = "T", key = "id" }', quiet = true },
  { "mapped", 'full_load { rows:map(function(row) return row end), into = "T" }' },
  { "group", 'merge { group { rows, by = { "id", "day" }, v = "MAX(v)" }, into = "T", key = "id" }', quiet = true, group = true },
  { "scd2", 'scd2_merge { rows, into = "T", key = "id", at = "day" }', quiet = true, history = true },
  { "changes", 'apply_changes { changes, into = "T", key = "id" }', quiet = true, changes = true },
  -- The value comes from a dimension of the warehouse.
  { "join", 'merge { scd2_join { facts, dim = "D", key = "id", at = "day", take = "v" }, into = "T", key = "id" }',
    quiet = true, join = true },
}
M.ways = {}
for i, way in ipairs(WAYS) do
  way.name = way[1]
  M.ways[i] = way.name
  M.ways[way.name] = way
end
-- Keys of the target that are not in the extract are deleted: compared, they all are.
M.ways.missing = { "missing", 'merge { rows, into = "T", key = "id" }\ndelete_missing { rows, from = "T", key = "v" }',
  name = "missing", quiet = true, alone = true }
-- Those in which rows go as they are, without an aggregate or a dimension.
M.plain = { "merge", "newest", "insert_new", "full_load", "partition", "keyed", "swap", "map", "filter", "mapped", "scd2", "changes" }

local JOB = [[
job { grain = "day"%s }
local source = { from = "S", by = "day", window = window("%s") }
local function of(columns)
  local o = { columns = columns }
  for name, value in pairs(source) do o[name] = value end
  return extract(o)
end
local rows, facts, changes = of { "id", "day", "v" }, of { "id", "day" }, of { "id", "v", "op", "seq" }
%s
]]

-- ---- one member of a kind ----

-- What a field is on an engine: a table has one value for each.
local function on(engine, field)
  if type(field) == "table" and (field.sqlite ~= nil or field.postgresql ~= nil) then return field[engine] end
  return field
end
M.on = on

-- A member { source = type, value = literal, target = type or nil for a new table, zone =, ways =, expect =
-- text, or false where it is refused, says = words } as it is on a pair and in a way; nil
-- where it is not of this pair.
local function resolved(member, pair, way)
  local from = way.join and pair.warehouse or pair.source
  local m = {
    way = way, source = on(from, member.source), value = on(from, member.value), target = on(pair.warehouse, member.target),
    expect = type(member.expect) == "function" and member.expect or on(pair.warehouse, member.expect),
    zone = member.zone, says = on(pair.warehouse, member.says), class = member.class,
    shown = member.shown,
  }
  if type(m.expect) == "table" then m.expect = m.expect[pair.name] end
  if m.source == nil or m.value == nil or m.expect == nil or member.target ~= nil and m.target == nil then return nil end
  if way.history and not member.target and member.new_history == false then return nil end
  m.title = ("%s (%s) -> %s%s"):format(m.value, m.source, m.target or "new table", m.zone and " in " .. m.zone or "")
  return m
end

local function tables(m, n)
  local from = "CREATE TABLE s%d(id INTEGER PRIMARY KEY, day DATE, v %s, op TEXT, seq INTEGER);" ..
    "INSERT INTO s%d VALUES %s(%s, '%s', %s, 'insert', 2);\n"
  local null = m.way.alone and "" or ("(1, '%s', NULL, 'insert', 1), "):format(M.DAY)
  local source = from:format(n, m.way.join and "TEXT" or m.source, n, null, M.KEY, M.DAY, m.way.join and "NULL" or m.value)
  local warehouse = ""
  if m.way.join then
    warehouse = ("CREATE TABLE d%d(id INTEGER, v %s, valid_from DATE, valid_to DATE);" ..
      "INSERT INTO d%d VALUES (1, NULL, '2000-01-01', NULL), (%s, %s, '2000-01-01', NULL);\n"):format(n, m.source, n, M.KEY, m.value)
  end
  if m.target then
    local more = m.way.history and ", valid_from DATE, valid_to DATE, PRIMARY KEY (id, valid_from)" or
      m.way.changes and ", op TEXT, seq INTEGER" or ", day DATE"
    warehouse = warehouse .. ("CREATE TABLE t%d(id INTEGER%s, v %s%s);\n"):format(n, m.way.history and "" or " PRIMARY KEY", m.target, more)
  end
  return source, warehouse
end

function M.job(way, n, zone)
  local text = JOB:format(zone and (", zone = %q"):format(zone) or "", M.DAY, way[2])
  return (text:gsub('"([STD])"', function(letter) return '"' .. letter:lower() .. n .. '"' end))
end

-- ---- running many jobs ----

-- Run lrun once for each of the lists of arguments; { status, out, err } of each. Jobs of one
-- file follow each other; the files may be shared out to several streams.
local NAMES = { "out", "err", "rc" }
function M.run(w, list, streams)
  local dir = w:path "runs"
  local scripts, stream, last = {}, 0, nil
  for i = 1, streams or 1 do scripts[i] = { "cd " .. process.quote(w.dir) } end
  for i, argv in ipairs(list) do
    if argv[1] ~= last then stream, last = stream % #scripts + 1, argv[1] end
    local script = scripts[stream]
    local words = {}
    for k, word in ipairs(argv) do words[k] = process.quote(word) end
    script[#script + 1] = ("%s %s >runs/%d.out 2>runs/%d.err </dev/null; echo $? >runs/%d.rc"):format(
      process.quote(argv.binary or world.bin), table.concat(words, " "), i, i, i)
  end
  local all = { "mkdir -p " .. process.quote(dir) }
  for i, script in ipairs(scripts) do
    all[#all + 1] = ("sh %s &"):format(process.quote(files.write(w:path("runs" .. i .. ".sh"), table.concat(script, "\n") .. "\n")))
  end
  process.run({ "sh", "-c", table.concat(all, "\n") .. "\nwait" }, { timeout = 900 })
  local results = {}
  for i in ipairs(list) do
    local r = {}
    for k, name in ipairs(NAMES) do
      local path = ("%s/%d.%s"):format(dir, i, name)
      r[k] = files.read(path) or ""
      os.remove(path)
    end
    results[i] = { out = r[1], err = r[2], status = tonumber(r[3]) }
  end
  return results
end

-- What each of the tables name1, name2, ... of the list holds, by number.
local PRINTED = {
  sqlite = "CASE WHEN v IS NOT NULL THEN typeof(v) END, " ..
    "CASE WHEN typeof(v) = 'text' AND instr(CAST(v AS BLOB), x'00') THEN 'hex:' || hex(v) ELSE v END",
  postgresql = "pg_typeof(v)::text, CASE WHEN NOT v IS NULL THEN format('%s', v) END",
}
function M.held(w, numbers, name)
  local there, parts, held = {}, {}, {}
  for _, t in ipairs(w.to:tables()) do there[t] = true end
  for _, n in ipairs(numbers) do
    held[n] = there[name .. n] and {} or nil
    if there[name .. n] then
      parts[#parts + 1] = ("SELECT %d AS n, id, %s FROM %s%d"):format(n, PRINTED[w.to.engine], name, n)
    end
  end
  for first = 1, #parts, 300 do
    local union = table.concat(parts, " UNION ALL ", first, math.min(first + 299, #parts))
    for _, row in ipairs(w:table("SELECT * FROM (" .. union .. ") AS u ORDER BY 1, 2")) do
      local rows = held[math.tointeger(tonumber(row[1]))]
      rows[#rows + 1] = { id = row[2], class = row[3], value = row[4] }
    end
  end
  return held
end

-- Rows that the newest run of each job wrote: inserted, updated.
function M.written(w)
  local by = {}
  for _, row in ipairs(w:table [[SELECT r.job, sum(x.rows_inserted), sum(x.rows_updated)
      FROM lrun_runs r JOIN lrun_writes x ON x.run_id = r.run_id
      WHERE r.run_id IN (SELECT max(run_id) FROM lrun_runs GROUP BY job) GROUP BY r.job]]) do
    by[row[1]] = row[2] .. " inserted, " .. row[3] .. " updated"
  end
  return by
end

-- ---- expectations ----

-- What of a message is missing, nil if nothing is.
function M.missing(r, words)
  local missing = {}
  if r.status ~= 1 then missing[1] = ("status 1 (it is %s)"):format(r.status) end
  for _, word in ipairs(words) do
    if not r.err:lower():find(word:lower(), 1, true) then missing[#missing + 1] = ("%q"):format(word) end
  end
  return missing[1] and table.concat(missing, ", ") or nil
end

local function described(rows)
  local parts = {}
  for i, row in ipairs(rows or {}) do parts[i] = row.id .. " " .. tostring(row.class) .. " " .. tostring(row.value) end
  return rows and "{" .. table.concat(parts, "; ") .. "}" or "no table"
end

-- What is wrong with a copy, nil if nothing is.
local function fault(m, n, first, second, rows, written)
  local message = first.err:gsub("\n%s*", " / "):gsub("^j%d+%.lua:%d+: %S+ into ", "... into "):sub(1, 400)
  if m.expect == false then
    local words = { ("j%d.lua:"):format(n), ("%s%d"):format("t", n), "column v", M.KEY, table.unpack(m.says or {}) }
    -- Where only the server can read a text, its own error names the text, and no row.
    if first.err:find "SQLSTATE 22" then words[4] = "column v" end
    if first.status == 0 then return "should be refused; the table: " .. described(rows) end
    local missing = M.missing(first, words)
    if missing then return ("should be refused; not said: %s; it said: %s"):format(missing, message) end
    if rows and #rows > 0 then return "refused, but rows are there: " .. described(rows) end
    return nil
  end
  local expected = m.shown or m.expect
  if first.status ~= 0 then return ("should be kept as %s; status %s: %s"):format(expected, first.status, message) end
  if second.status ~= 0 then return ("the second run failed: %s"):format((second.err:gsub("\n%s*", " / "))) end
  local odd = rows and rows[#rows]
  local class = m.class and on(m.engine, m.class)
  local same = odd and (odd.value == m.expect or type(m.expect) == "function" and m.expect(odd.value))
  if not odd or #rows ~= (m.way.alone and 1 or 2) or odd.id ~= M.KEY or not same or class and odd.class ~= class then
    return ("should be kept as %s; the table: %s"):format(expected, described(rows))
  end
  if m.way.quiet and written and not written:find "^0 inserted, 0 updated" then return "the second run wrote: " .. written end
  return nil
end

-- One line for what is wrong with a member in the same way, after the names of the primitives.
local function gathered(faults, m, wrong)
  local line = ("%s: %s"):format(m.title, wrong:gsub("%f[%w]([jt])%d+%f[%W]", "%1"))
  for i, fault_line in ipairs(faults) do
    local names, rest = fault_line:match "^  %[(.-)%] (.*)$"
    if rest == line then
      faults[i] = ("  [%s %s] %s"):format(names, m.way.name, rest)
      return
    end
  end
  faults[#faults + 1] = ("  [%s] %s"):format(m.way.name, line)
end

-- Copy each member on a pair in each of its ways (else of the ways given), twice, and raise
-- what is wrong with all of them. The world is returned. A binary with sanitizers is slow:
-- there the members take the ways in turn.
function M.check(pair, members, ways, own)
  local list, source, warehouse = {}, { on(pair.source, own) or "" }, { pair.same and "" or on(pair.warehouse, own) or "" }
  for i, member in ipairs(members) do
    local all = member.ways or ways or M.plain
    for _, name in ipairs(world.sanitized and { all[i % #all + 1] } or all) do
      local m = resolved(member, pair, M.ways[name])
      if m then
        list[#list + 1] = m
        m.engine = pair.warehouse
        local s, t = tables(m, #list)
        source[#source + 1], warehouse[#warehouse + 1] = s, t
      end
    end
  end
  if #list == 0 then return nil end
  local w = pair.new { source = table.concat(source), warehouse = table.concat(warehouse) }
  local runs, numbers, last = {}, {}, {}
  for n, m in ipairs(list) do
    w:job("j" .. n, M.job(m.way, n, m.zone))
    -- What is refused once need not be refused again.
    for _ = 1, m.expect and 2 or 1 do runs[#runs + 1] = { ("j%d.lua"):format(n) } end
    numbers[n], last[n] = n, #runs
  end
  local results = M.run(w, runs)
  local held, written, faults, count = M.held(w, numbers, "t"), M.written(w), {}, 0
  for n, m in ipairs(list) do
    local wrong = fault(m, n, results[m.expect and last[n] - 1 or last[n]], results[last[n]], held[n], written["j" .. n])
    if wrong then
      count = count + 1
      gathered(faults, m, wrong)
    end
  end
  if count > 0 then
    error(("%d of %d copies on %s\n%s"):format(count, #list, pair.name, table.concat(faults, "\n")), 2)
  end
  return w
end

return M
