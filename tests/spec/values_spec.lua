-- Each type of a source into each type of a column that is there: kept, or refused by column,
-- key and value, twice the same. What is right is computed by values.lua. The table of all of
-- it is data/values.txt; LRUN_WRITE_TABLES=1 writes it anew.
local copies = require "copies"
local files = require "files"
local lists = require "value_lists"
local pairs_of = require "pairs"
local postgres = require "postgres"
local values = require "values"
local world = require "world"

local TABLE = world.root .. "/tests/spec/data/values.txt"
local PAIRS = { "sqlite->sqlite", "sqlite->postgresql", "postgresql->sqlite", "postgresql->postgresql" }

-- How many values of a pair of types are tried alone: those that are refused, and others.
local REFUSED, ALONE = 2, 4

-- What the server reads in a text for each type, without the type's modifier.
local READ = [[
CREATE FUNCTION reads(v text, t text) RETURNS text LANGUAGE plpgsql AS $f$ DECLARE r text; BEGIN
  EXECUTE format('SELECT format(''%%s'', %L::%s)', v, t) INTO r; RETURN r; EXCEPTION WHEN OTHERS THEN RETURN NULL; END $f$;
]]
local function server_reads()
  local texts, parts, read = {}, {}, {}
  for _, engine in ipairs { "sqlite", "postgresql" } do
    for _, source in ipairs(lists.of(engine)) do
      for _, value in ipairs(source) do
        if value.meaning.kind == "text" and not value.meaning.broken then texts[value.meaning.text] = true end
      end
    end
  end
  for text in pairs(texts) do
    for _, type in ipairs(lists.targets.postgresql) do
      local bare = type:gsub("%(.*$", ""):gsub("^bit$", "bit varying"):gsub("^numeric$", "text"):gsub("^varchar$", "text"):gsub("^char$", "text"):gsub("^name$", "text"):gsub('^"char"$', "text")
      parts[#parts + 1] = ("(%s, '%s', '%s')"):format(postgres.text(text), type:gsub("'", "''"), bare)
    end
  end
  local database = postgres.create(lists.own .. READ)
  for _, row in ipairs(postgres.table(database, "SELECT v, t, reads(v, b) FROM (VALUES " .. table.concat(parts, ", ") .. ") AS x(v, t, b)")) do
    if row[3] ~= "NULL" then read[row[1] .. "\0" .. row[2]] = row[3] end
  end
  return read
end

local function says_value(err, m)
  local text = m.kind == "bytes" and "" or m.broken and "" or m.text
  if m.decimal or m.special or m.kind == "bool" then return true end
  return err:find(text:sub(1, 8), 1, true) ~= nil
end

-- What is wrong with a refusal, nil if nothing is.
local function wrong_refusal(r, value, type, always)
  if r.status ~= 1 then return "status " .. r.status end
  local head = r.err:gsub("\n.*$", "")
  -- A domain's CHECK is no matter of types.
  if head:find "check constraint" then return nil end
  if not head:find("column v", 1, true) then return "the column is not named" end
  -- A type that takes no value of the other is refused before a row is read.
  if head:find(tostring(value.id), 1, true) then return not says_value(head, value.meaning) and "the value is not named" or nil end
  -- Where only the server can read a text, its own error names the text.
  if head:find "SQLSTATE 22" then return nil end
  if always and head:find(type, 1, true) and not head:find "SQLSTATE" then return nil end
  return "the key is not named"
end

local KIND_NOTES = {
  { "^text$", "^timestamptz", "a text without an offset is a time of the job's zone" },
  { "^naive$", "^timestamptz", "read in the job's zone; refused where a reading does not exist or occurs twice" },
  { "^date$", "^timestamptz", "the first instant of the local day" },
  { "^aware$", "^timestamp%f[^%w]", "the reading of the job's zone; refused where it occurs twice" },
  { "^aware$", "^date$", "only the first instant of a day of the job's zone" },
  { "^text$", "^date$", "with an offset: only the first instant of a day of the job's zone" },
}
local function note_of(source, type)
  for _, note in ipairs(KIND_NOTES) do
    if source[1].meaning.kind:find(note[1]) and (type .. " "):find(note[2] .. "") then return "   " .. note[3] end
  end
  return ""
end

-- The tables of a pair and each pair of types: its values by verdict, and the jobs to run.
local function prepare(pair, read, w, argvs)
  local sources, targets = lists.of(pair.source), lists.targets[pair.warehouse]
  local from, to, groups = {}, {}, {}
  for s, source in ipairs(sources) do
    local rows = {}
    for i, value in ipairs(source) do rows[i] = ("(%d, %s)"):format(value.id, value.literal) end
    from[s] = ("CREATE TABLE s%d(id INTEGER PRIMARY KEY, v %s); INSERT INTO s%d VALUES %s;"):format(s, source.type, s, table.concat(rows, ", "))
    for t, type in ipairs(targets) do
      local n = (s - 1) * #targets + t
      local group = { n = n, source = source, type = type, kept = {}, either = {}, refused = {}, read = {}, verdict = {}, results = {} }
      for _, value in ipairs(source) do
        local reads = read[value.meaning.text .. "\0" .. type]
        local verdict = values.verdict(value.meaning, pair.warehouse, type, "UTC", reads, pair.source == "sqlite")
        -- What is no blob in a column of blobs has no type to go by.
        if source.type == "BLOB" and value.meaning.kind ~= "bytes" and verdict == "kept" then verdict = "either" end
        group.verdict[value.id], group.read[value.id] = verdict, reads
        table.insert(group[verdict], value)
      end
      group.always = #group.refused == #source
      function group.merge(list)
        local ids = {}
        for i, value in ipairs(list) do ids[i] = value.id end
        return ('merge { extract { from = "s%d", where = "id IN (%s)" }, into = "t%d", key = "id" }'):format(s, table.concat(ids, ", "), n)
      end
      -- A job over some of the values; where its result goes.
      function group.run(list, times)
        local name = ("j%d_%d_%d"):format(n, list[1].id, #list)
        w:job(name, "job {}\n" .. group.merge(list) .. "\n")
        for _ = 1, times do argvs[#argvs + 1] = { name .. ".lua", group = group, list = list } end
      end
      if pair.warehouse == "sqlite" or values.worth(source[1].meaning, type) then
        to[#to + 1] = ("CREATE TABLE t%d(id INTEGER PRIMARY KEY, v %s);"):format(n, type)
        groups[#groups + 1] = group
      end
    end
  end
  w.from:exec((pair.source == "postgresql" and lists.own or "") .. "BEGIN;" .. table.concat(from, "\n") .. "COMMIT;")
  w.to:exec((pair.warehouse == "postgresql" and lists.own or "") .. "BEGIN;" .. table.concat(to, "\n") .. "COMMIT;")
  return groups
end

-- Jobs over the kept values of many pairs of types, run twice each: to start lrun takes
-- longer than to copy a few rows.
local BATCH = 20
local function run_batches(w, groups)
  local argvs, batch = {}, {}
  local function add()
    local lines, name = { "job {}" }, "b" .. #argvs
    for _, group in ipairs(batch) do lines[#lines + 1] = group.merge(group.kept) end
    w:job(name, table.concat(lines, "\n") .. "\n")
    for _ = 1, 2 do argvs[#argvs + 1] = { name .. ".lua", batch = batch } end
    batch = {}
  end
  for _, group in ipairs(groups) do
    if #group.kept > 0 then batch[#batch + 1] = group end
    if #batch == BATCH then add() end
  end
  if #batch > 0 then add() end
  local results = copies.run(w, argvs, w.to.engine == "postgresql" and 2 or 1)
  for i = 1, #argvs, 2 do
    local first, second = results[i], results[i + 1]
    for _, group in ipairs(first.status == 0 and argvs[i].batch or {}) do
      for _, value in ipairs(group.kept) do group.results[value.id] = first end
      group.second = { err = second.err, out = second.out:match(("[^\n]* t%d [^\n]*"):format(group.n)) or second.out:match(("[^\n]* t%d:[^\n]*"):format(group.n)) or second.out }
    end
  end
  return #argvs
end

-- Run what is asked for, and keep each value's first result.
local function run_all(w, argvs)
  local results = copies.run(w, argvs, w.to.engine == "postgresql" and 2 or 1)
  for i, argv in ipairs(argvs) do
    local again = i > 1 and argvs[i - 1].list == argv.list
    for _, value in ipairs(argv.list) do
      if not again and (#argv.list == 1 or results[i].status == 0) then argv.group.results[value.id] = results[i] end
    end
    if again and results[i - 1].status == 0 then argv.group.second = results[i] end
  end
end

-- The whole cross on a pair; the lines of the table, and what is wrong.
local function cross(pair, read)
  local w, argvs = pair.new {}, {}
  local groups = prepare(pair, read, w, argvs)
  local count = run_batches(w, groups)
  for _, group in ipairs(groups) do
    if #group.kept > 0 and not group.second then group.run(group.kept, 2) end
    if #group.either > 0 then group.run(group.either, 1) end
    -- Where no value is taken, the first one stands for all.
    for i, value in ipairs(group.refused) do
      if i == 1 or not group.always and i <= REFUSED then group.run({ value }, 1) end
    end
  end
  count = count + #argvs
  run_all(w, argvs)
  -- One by one, where some values of a list are refused.
  local rest = {}
  for i = #argvs, 1, -1 do argvs[i] = nil end
  for _, group in ipairs(groups) do
    for _, list in ipairs { group.kept, group.either } do
      for i, value in ipairs(list) do
        if not group.results[value.id] and i <= ALONE then group.run({ value }, 1) end
      end
    end
    rest[#rest + 1] = group.n
  end
  count = count + #argvs
  run_all(w, argvs)
  local held, lines, wrong = copies.held(w, rest, "t"), {}, {}
  for _, group in ipairs(groups) do
    local title = ("%s -> %s"):format(group.source.type == "" and "no type" or group.source.type, group.type == "" and "no type" or group.type)
    local function add(value, text) wrong[#wrong + 1] = ("%s: %s: %s"):format(title, value and value.shown or "", text) end
    local there, refused, kept = {}, nil, 0
    for _, row in ipairs(held[group.n]) do there[tonumber(row.id)] = row end
    local function judge(value, r)
      local row, verdict = there[value.id], group.verdict[value.id]
      if r.status == 0 then
        kept = kept + 1
        if not row or not values.same(value.meaning, row.value, group.type, "UTC", group.read[value.id]) then
          return add(value, ("altered: %s %s"):format(row and row.class or "", row and row.value or "no row"))
        end
        return verdict == "refused" and add(value, ("should be refused, is %s"):format(row.value))
      end
      refused = refused or value
      if row then add(value, "refused, but the row is there: " .. row.value) end
      if verdict == "kept" then return add(value, "should be kept; " .. r.err:gsub("\n%s*", " / "):gsub("^%S+ ", ""):sub(1, 250)) end
      local bad = wrong_refusal(r, value, group.type, group.always)
      return bad and add(value, bad .. ": " .. r.err:gsub("\n.*$", ""):gsub("^%S+ ", ""):sub(1, 250))
    end
    for _, value in ipairs(group.source) do
      if group.results[value.id] then judge(value, group.results[value.id]) end
    end
    if group.second and not group.second.out:find "inserted 0, updated 0" then
      add(nil, "the second run: " .. (group.second.out:match "merge[^\n]*" or group.second.err):sub(1, 250))
    end
    local what = not refused and "kept" or kept == 0 and "refused by type" or ("refused by value (%s)"):format(#refused.shown > 40 and refused.shown:sub(1, 40) .. "..." or refused.shown)
    lines[#lines + 1] = ("%-52s %s%s"):format(title, what, kept > 0 and note_of(group.source, group.type) or "")
  end
  return lines, wrong, count
end

describe("values", function()
  -- Thousands of runs of a slow binary; values_ways takes samples of them.
  if world.sanitized then return end
  local printed, read = {}, nil
  for _, name in ipairs(PAIRS) do
    if not os.getenv "LRUN_TEST_PAIR" or os.getenv "LRUN_TEST_PAIR" == name then
      it("are kept or refused in a column of another type, " .. name, function()
        read = read or server_reads()
        local lines, wrong, count = cross(pairs_of.by_name[name], read)
        printed[name] = lines
        if #wrong > 0 then error(("%d wrong in %d runs\n  %s"):format(#wrong, count, table.concat(wrong, "\n  ")), 0) end
      end)
    end
  end

  it("are kept and refused as data/values.txt says", function()
    local out = { "What a column takes of a value of another type, by `merge` into a table that is there, zone UTC.",
      "\"refused by value\" names the first value of the tests that is refused; the other values of the type", "are kept. Made by `LRUN_WRITE_TABLES=1 make test-run SPEC=values`." }
    for _, name in ipairs(PAIRS) do
      if not printed[name] then return end
      out[#out + 1] = "\n" .. name .. "\n"
      table.move(printed[name], 1, #printed[name], #out + 1, out)
    end
    local text = table.concat(out, "\n") .. "\n"
    if os.getenv "LRUN_WRITE_TABLES" == "1" then files.write(TABLE, text) end
    local kept = files.read(TABLE) or ""
    if text ~= kept then
      local differing, lines = {}, {}
      for line in kept:gmatch "[^\n]+" do lines[line] = true end
      for line in text:gmatch "[^\n]+" do if not lines[line] then differing[#differing + 1] = line end end
      error("data/values.txt is not what lrun does now (LRUN_WRITE_TABLES=1 rewrites it):\n" .. table.concat(differing, "\n"):sub(1, 4000), 0)
    end
  end)
end)
