-- timestamptz in SQLite (S44): `+00:00` in tables that lrun makes, in a table that is there
-- the form that its column holds; no stored row is rewritten for its form alone.
local pairs_of = require "pairs"

local pair = pairs_of.by_name["postgresql->sqlite"]

-- Three instants of the source as each form spells them; naive ones are Berlin's.
local INSTANTS = { "2024-01-05 10:00:00+00", "2024-01-05 10:00:00.500000+00", "2024-07-05 10:00:00.000001+00" }
local BERLIN = { "2024-01-05 11:00:00", "2024-01-05 11:00:00.500000", "2024-07-05 12:00:00.000001" }
local function spelled(tail, letter)
  local list = {}
  for i, text in ipairs(INSTANTS) do list[i] = text:gsub("%+00$", tail):gsub(" ", letter) end
  return list
end
local FORMS = {
  ["+00, as 0.1.0"] = spelled("+00", " "),
  ["+00:00"] = spelled("+00:00", " "),
  ["T and +00"] = spelled("+00", "T"),
  ["T and Z"] = spelled("Z", "T"),
  ["Z"] = spelled("Z", " "),
  ["T and +00:00"] = spelled("+00:00", "T"),
  ["naive"] = BERLIN,
}
-- A fourth instant, in each form.
local LATER = "2024-08-01 22:30:00+00"
local function later(form)
  if form == "naive" then return "2024-08-02 00:30:00" end
  local tail, letter = FORMS[form][1]:match "00:00([^:].*)$", FORMS[form][1]:sub(11, 11)
  return "2024-08-01" .. letter .. "22:30:00" .. tail
end

local SOURCE = "CREATE TABLE s(id int PRIMARY KEY, at timestamptz, v text, day date, op text, seq int);\n"
local function source()
  local rows = {}
  for i, at in ipairs(INSTANTS) do rows[i] = ("(%d, '%s', 'v%d', '2024-01-05', 'insert', %d)"):format(i, at, i, i) end
  return SOURCE .. "INSERT INTO s VALUES " .. table.concat(rows, ", ") .. ";\n"
end
local function values(form, more)
  local rows = {}
  for i, at in ipairs(FORMS[form]) do rows[i] = ("(%d, '%s', 'v%d'%s)"):format(i, at, i, more or "") end
  return table.concat(rows, ", ")
end

local BY_KEY = {
  merge = 'merge { rows, into = "t", key = "at" }',
  ["merge by id"] = 'merge { rows, into = "t", key = "id" }',
  newest = 'merge { rows, into = "t", key = "id", newest = "at" }',
  insert_new = 'insert_new { rows, into = "t", key = "at" }',
  map = 'merge { rows:map(function(row) return row end), into = "t", key = "at" }',
  filter = 'merge { rows:filter(function() return true end), into = "t", key = "at" }',
  group = 'merge { group { rows, by = { "id", "at" }, v = "MAX(v)" }, into = "t", key = "at" }',
  delete_missing = 'delete_missing { rows, from = "t", key = "at" }',
  apply_changes = 'apply_changes { changes, into = "t", key = "at" }',
  deep = 'reconcile { rows, with = "t", key = "id", deep = true }\nreconcile { rows, with = "t", key = "at", deep = true }',
}
local WHOLE = {
  full_load = 'full_load { rows, into = "t" }',
  swap = 'swap { rows, into = "t" }',
  overwrite_partition = 'overwrite_partition { windowed, into = "t" }',
  keyed = 'overwrite_partition { windowed, into = "t", key = "at" }',
}
local JOB = [[
job { grain = "day", zone = "Europe/Berlin" }
local rows = extract { from = "s", columns = { "id", "at", "v" } }
local windowed = extract { from = "s", columns = { "id", "at", "v" }, by = "at", window = window("2024-01-01", "2025-01-01") }
local changes = extract { from = "s", columns = { "id", "at", "v", "op", "seq" } }
%s
]]

local function wrote(w)
  return w:one [[SELECT 'inserted ' || coalesce(sum(rows_inserted), 0) || ', updated ' || coalesce(sum(rows_updated), 0) || ', deleted ' || coalesce(sum(rows_deleted), 0)
    FROM lrun_writes WHERE run_id = (SELECT max(run_id) FROM lrun_runs)]]
end

local NOTHING = "inserted 0, updated 0, deleted 0"

-- Adds to the list what is wrong after a run.
local function found(wrong, name, w, r, expected, rows)
  local function add(text) wrong[#wrong + 1] = name .. ": " .. text end
  if r.status ~= 0 then return add(r.err) end
  if expected and wrote(w) ~= expected then add(wrote(w)) end
  local there = w:rows "SELECT id, at, v FROM t ORDER BY id"
  if table.concat(there, ", ") ~= table.concat(rows, ", ") then add(table.concat(there, ", ") .. " and not " .. table.concat(rows, ", ")) end
end

describe("timestamptz in SQLite", function()
  for form, texts in pairs(FORMS) do
    local function held(n)
      local rows = {}
      for i = 1, n or 3 do rows[i] = i .. "|" .. (texts[i] or later(form)) .. "|v" .. i end
      return rows
    end
    local function with(table, more)
      return pair.new { source = source() .. (more or ""), warehouse = table .. ("INSERT INTO t(id, at, v) VALUES %s;"):format(values(form)) }
    end
    local KEYED = "CREATE TABLE t(id INTEGER UNIQUE, at TIMESTAMP NOT NULL, v TEXT, PRIMARY KEY (at));"
    local FREE = "CREATE TABLE t(id INTEGER, at TIMESTAMP, v TEXT);"

    it("S44 is matched and left as it is by writes by key: " .. form, function()
      local wrong = {}
      for name, write in pairs(BY_KEY) do
        for what, ddl in pairs { ["a key"] = KEYED, ["no key"] = FREE } do
          local w = with(ddl)
          if name == "apply_changes" then w:warehouse "ALTER TABLE t ADD COLUMN op TEXT; ALTER TABLE t ADD COLUMN seq INTEGER; UPDATE t SET op = 'insert', seq = id" end
          w:job("j", JOB:format(write))
          found(wrong, name .. " of a table with " .. what, w, w:lrun "j.lua", NOTHING, held())
        end
      end
      assert.same({}, wrong)
    end)

    it("S44 is written in the form that the column holds: " .. form, function()
      local wrong = {}
      for name, write in pairs(BY_KEY) do
        if name ~= "deep" and name ~= "delete_missing" and name ~= "apply_changes" then
          local w = with(KEYED, ("INSERT INTO s VALUES (4, '%s', 'v4', '2024-08-01', 'insert', 4);"):format(LATER))
          w:job("j", JOB:format(write))
          found(wrong, name .. ", first run", w, w:lrun "j.lua", "inserted 1, updated 0, deleted 0", held(4))
          found(wrong, name .. ", second run", w, w:lrun "j.lua", NOTHING, held(4))
        end
      end
      for name, write in pairs(WHOLE) do
        local w = with(KEYED)
        w:job("j", JOB:format(write))
        for _ = 1, 2 do found(wrong, name, w, w:lrun "j.lua", nil, held()) end
      end
      assert.same({}, wrong)
    end)

    it("S44 makes no version in a dimension: " .. form, function()
      -- As the tracked column, and as the time of the change.
      local w = pair.new { source = source(), warehouse = [[
        CREATE TABLE seen(id INTEGER, at TIMESTAMP, v TEXT, valid_from DATE, valid_to DATE, PRIMARY KEY (id, valid_from));
        INSERT INTO seen VALUES ]] .. values(form, ", '2024-01-05', '9999-12-31'") .. [[;
        CREATE TABLE dim(id INTEGER, v TEXT, valid_from TIMESTAMP, valid_to TIMESTAMP, PRIMARY KEY (id, valid_from));]] }
      for i, at in ipairs(texts) do w:warehouse(("INSERT INTO dim VALUES (%d, 'v%d', '%s', '9999-12-31')"):format(i, i, at)) end
      w:job("j", [[
job { grain = "day", zone = "Europe/Berlin" }
scd2_merge { extract { from = "s", columns = { "id", "at", "v", "day" } }, into = "seen", key = "id", track = { "at", "v" }, at = "day" }
scd2_merge { extract { from = "s", columns = { "id", "at", "v" } }, into = "dim", key = "id", at = "at" }
]])
      for _ = 1, 2 do
        w:ok "j.lua"
        assert.equal(NOTHING, wrote(w))
        assert.same(held(), w:rows "SELECT id, at, v FROM seen ORDER BY id")
        assert.same(held(), w:rows "SELECT id, valid_from, v FROM dim ORDER BY id")
      end
    end)
  end

  it("S44 is read by SQLite's own date functions in every table that lrun makes", function()
    local w = pair.new { source = source() .. "INSERT INTO s VALUES (4, '0099-02-03 04:05:06+00', 'v4', NULL, 'insert', 4);",
      warehouse = "CREATE TABLE t(id INTEGER PRIMARY KEY, at TIMESTAMP, v TEXT);" }
    w:job("j", [[
job { grain = "day", zone = "Europe/Berlin" }
local rows = extract { from = "s", columns = { "id", "at", "v" } }
merge { rows, into = "t", key = "id" }
merge { rows, into = "new_merge", key = "id" }
insert_new { rows, into = "new_insert", key = "id" }
full_load { rows, into = "new_full" }
swap { rows, into = "new_swap" }
merge { rows:map(function(row) return row end), into = "new_map", key = "id" }
overwrite_partition { extract { from = "s", by = "at", window = window("0002-01-01", "2025-01-01") }, into = "new_partition" }
apply_changes { extract { from = "s", columns = { "id", "at", "v", "op", "seq" } }, into = "new_changes", key = "id" }
]])
    for _ = 1, 2 do
      w:ok "j.lua"
      for _, name in ipairs { "t", "new_merge", "new_insert", "new_full", "new_swap", "new_map", "new_partition", "new_changes" } do
        assert.same({ "2024-01-05 10:00:00+00:00|2024-01-05 10:00:00", "2024-01-05 10:00:00.500000+00:00|2024-01-05 10:00:00",
          "2024-07-05 10:00:00.000001+00:00|2024-07-05 10:00:00", "0099-02-03 04:05:06+00:00|0099-02-03 04:05:06" },
          w:rows("SELECT at, datetime(at) FROM " .. name .. " ORDER BY id"), name)
      end
    end
  end)

  it("S44 an infinity and years that no calendar has stay text", function()
    local w = pair.new { source = SOURCE .. [[INSERT INTO s(id, at) VALUES (1, 'infinity'), (2, '-infinity'), (3, '0044-03-15 12:00:00+00 BC'), (4, '12024-01-01 00:00:00+00');]] }
    w:job("j", 'job {}\nmerge { extract { from = "s", columns = { "id", "at" } }, into = "t", key = "id" }')
    for _ = 1, 2 do
      w:ok "j.lua"
      local rows = w:rows "SELECT id, at FROM t ORDER BY id"
      assert.same({ "1|infinity", "2|-infinity" }, { rows[1], rows[2] })
      assert.is_truthy(rows[3]:find "^3|0044%-03%-15 12:00:00%+00.* BC$" and rows[4]:find "^4|12024%-01%-01 00:00:00%+00", rows[3] .. rows[4])
    end
    assert.equal(NOTHING, wrote(w))
  end)

  it("S44 the newest value decides where a column holds two forms", function()
    local w = pair.new { source = source(), warehouse = [[CREATE TABLE t(id INTEGER PRIMARY KEY, at TIMESTAMP, v TEXT);
      INSERT INTO t VALUES (1, '2024-01-05 10:00:00+00', 'v1'), (2, '2024-01-05T10:00:00.500000Z', 'v2');]] }
    w:job("j", JOB:format(BY_KEY["merge by id"]))
    w:ok "j.lua"
    assert.equal("inserted 1, updated 0, deleted 0", wrote(w))
    assert.same({ "2024-01-05 10:00:00+00", "2024-01-05T10:00:00.500000Z", "2024-07-05T10:00:00.000001Z" }, w:rows "SELECT at FROM t ORDER BY id")
  end)
end)
