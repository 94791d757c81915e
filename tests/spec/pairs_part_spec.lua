-- Rows that are a part of their table (S53): a key that they lack is not gone.
-- scd2_merge { absent = "close" } and delete_missing need the partition then.
local pairs_of = require "pairs"

local ROWS = "(1, 'EU', 'x'), (2, 'EU', 'y'), (3, 'US', 'z'), (4, NULL, 'n')"
local S = "CREATE TABLE s(id INTEGER PRIMARY KEY, region TEXT, a TEXT); INSERT INTO s VALUES " .. ROWS .. ";\n"
local D = "CREATE TABLE d(id INTEGER, valid_from DATE, valid_to DATE);\n"

local PARTS = {
  { 'extract { from = "s", where = { region = "EU" } }', "the extract has a where" },
  { [[extract { from = "s", where = "region = 'EU'" }]], "the extract has a where" },
  { [[extract { sql = "SELECT * FROM s WHERE region = 'EU'" }]], "SQL of the job" },
  { 'extract { from = "s" }:filter(function(r) return r.region == "EU" end)', "filter leaves rows out" },
  { 'extract { from = "s" }:map(function(r) if r.region == "EU" then return r end end)', "map gave nil for 2 rows" },
  { 'extract { from = "s", where = { region = "EU" } }:map(function(r) return r end)', "the extract has a where" },
  { 'group { extract { from = "s", where = { region = "EU" } }, by = { "id", "region", "a" } }', "the extract has a where" },
  { 'scd2_join { extract { from = "s", columns = { id = "id", region = "region", a = "a", day = "\'2026-01-02\'" } }, dim = "d", key = "id", at = "day", take = { since = "valid_from" }, unmatched = "drop" }',
    'unmatched = "drop"' },
}

pairs_of.each("S53 a part of a table", function(pair)
  local function scd2(rows, options)
    return ('job { grain = "day" }\nlocal rows = %s\nscd2_merge { rows, into = "dim", key = "id", track = { "region", "a" }, absent = "close"%s }\n')
      :format(rows, options or "")
  end
  local function run(_, n, job, command)
    local argv = { job or "j.lua", "--logical-date", ("2026-01-%02d"):format(n), "--run-start", ("2026-01-%02d"):format(n + 1) }
    if command then table.insert(argv, 1, command) end
    return argv
  end
  local function open(w) return w:rows "SELECT id FROM dim WHERE valid_to >= '9999-12-31' ORDER BY id" end

  it("S53 closes nothing outside it: refused without partition", function()
    local w = pair.new { source = S, warehouse = D .. "INSERT INTO d VALUES (1, '2025-01-01', NULL), (2, '2025-01-01', NULL);" }
    w:job("whole", scd2 'extract { from = "s" }'):ok(table.unpack(run(w, 1, "whole.lua")))
    for _, part in ipairs(PARTS) do
      w:job("j", scd2(part[1]))
      w:refused(1, { "j.lua:3", "a part of", part[2], "keys outside it would be closed", 'partition = { region = "EU" }', "partition = {}" },
        table.unpack(run(w, 2)))
      assert.same({ "1", "2", "3", "4" }, open(w))
    end
    w:job("j", scd2(PARTS[1][1])):refused(1, { "a part of s" }, table.unpack(run(w, 2, nil, "plan")))
  end)

  it("S53 closes keys of the partition alone", function()
    local w = pair.new { source = S, warehouse = D .. "INSERT INTO d VALUES (1, '2025-01-01', NULL), (2, '2025-01-01', NULL);" }
    w:job("whole", scd2 'extract { from = "s" }'):ok(table.unpack(run(w, 1, "whole.lua")))
    w:source "DELETE FROM s WHERE id IN (2, 3)"
    for n, part in ipairs(PARTS) do
      w:job("j", scd2(part[1], ', partition = { region = "EU" }')):ok(table.unpack(run(w, 1 + n)))
      assert.same({ "1", "3", "4" }, open(w))
    end
    w:job("j", scd2('extract { from = "s", where = "region = \'US\'" }', ', partition = { region = "US" }, allow_empty = true'))
    w:ok(table.unpack(run(w, 10)))
    assert.same({ "1", "4" }, open(w))
    w:source "DELETE FROM s"
    w:job("j", scd2('extract { from = "s", where = { region = null } }', ", partition = { region = null }, allow_empty = true"))
    w:ok(table.unpack(run(w, 11)))
    assert.same({ "1" }, open(w))
    w:job("j", scd2('extract { sql = "SELECT * FROM s" }', ", partition = {}, allow_empty = true")):ok(table.unpack(run(w, 12)))
    assert.same({}, open(w))
  end)

  it("S53 is not asked for where the rows are whole", function()
    local w = pair.new { source = S }
    for n, rows in ipairs { 'extract { from = "s" }', 'extract { from = "s" }:map(function(r) return r end)',
      'group { extract { from = "s" }, by = { "id", "region", "a" } }', 'extract { from = "s", columns = { "id", "region", "a" } }' } do
      w:job("j", scd2(rows)):ok(table.unpack(run(w, n)))
    end
    w:job("j", (scd2('extract { from = "s", where = { region = "EU" } }'):gsub(', absent = "close"', ""))):ok(table.unpack(run(w, 9)))
    assert.same({ "1", "2", "3", "4" }, open(w))
  end)

  it("S53 ends no key that has moved into another part on the same day", function()
    local w = pair.new { source = S }
    local function both(n, first, second)
      for _, region in ipairs { first, second } do
        w:job("j", scd2(('extract { from = "s", where = { region = %q } }'):format(region), (', partition = { region = %q }'):format(region)))
        w:ok(table.unpack(run(w, n)))
      end
    end
    both(1, "EU", "US")
    w:source "UPDATE s SET region = 'US' WHERE id = 1"
    both(2, "US", "EU")
    local function history()
      local rows = w:rows "SELECT region, valid_from, valid_to FROM dim WHERE id = 1 ORDER BY valid_from"
      for i, row in ipairs(rows) do rows[i] = row:gsub(" 00:00:00", "") end
      return rows
    end
    assert.same({ "EU|2026-01-01|2026-01-02", "US|2026-01-02|9999-12-31" }, history())
    w:source "UPDATE s SET region = 'EU' WHERE id = 1"
    both(3, "US", "EU")
    assert.same({ "EU|2026-01-01|2026-01-02", "US|2026-01-02|2026-01-03", "EU|2026-01-03|9999-12-31" }, history())
  end)

  it("S53 refuses a partition that says nothing, and one without absent", function()
    local w = pair.new { source = S }
    w:job("j", scd2('extract { from = "s" }', ', partition = { "EU" }')):refused(1, { "partition", "not a list" }, table.unpack(run(w, 1)))
    w:job("j", scd2('extract { from = "s" }', ', partition = { town = "EU" }')):refused(1, { "town" }, table.unpack(run(w, 1)))
    w:job("j", (scd2('extract { from = "s" }', ', partition = { region = "EU" }'):gsub(', absent = "close"', "")))
    w:refused(1, { "partition", "absent" }, table.unpack(run(w, 1)))
  end)

  it("S53 takes no row outside it by delete_missing: refused without partition", function()
    local w = pair.new { source = S, warehouse = D .. "INSERT INTO d VALUES (1, '2025-01-01', NULL), (2, '2025-01-01', NULL);" ..
      "CREATE TABLE t(id INTEGER PRIMARY KEY, region TEXT, a TEXT); INSERT INTO t VALUES " .. ROWS .. ";" }
    local function ids() return w:rows "SELECT id FROM t ORDER BY id" end
    w:source "DELETE FROM s WHERE id = 2"
    local JOB = 'job {}\nlocal rows = %s\ndelete_missing { rows, from = "t", key = "id"%s }\n'
    for _, part in ipairs(PARTS) do
      w:job("j", JOB:format(part[1], ""))
      w:refused(1, { "j.lua:3", "a part of", part[2], "rows outside it would be deleted", "partition = {}" }, "j.lua")
      assert.same({ "1", "2", "3", "4" }, ids())
    end
    w:job("j", JOB:format(PARTS[1][1], "")):refused(1, { "a part of s" }, "plan", "j.lua")
    for _, part in ipairs(PARTS) do
      w:job("j", JOB:format(part[1], ', partition = { region = "EU" }')):ok "j.lua"
      assert.same({ "1", "3", "4" }, ids())
    end
    w:job("j", JOB:format(PARTS[1][1], ", partition = {}")):ok "j.lua"
    assert.same({ "1" }, ids())
  end)

  it("S53 is noted by delete_missing where a window cuts the rows too", function()
    local w = pair.new { source = "CREATE TABLE s(id INTEGER, region TEXT, day DATE); INSERT INTO s VALUES (1, 'EU', '2026-01-20');",
      warehouse = "CREATE TABLE t(id INTEGER, region TEXT, day DATE); INSERT INTO t VALUES (1, 'EU', '2026-01-20'), (2, 'EU', '2026-01-20');" }
    local JOB = [[job {}
local rows = extract { from = "s", by = "day", window = window(), where = { region = "EU" } }
delete_missing { rows, from = "t", key = "id"%s }]]
    local r = w:job("j", JOB:format ""):ok("j.lua", "--logical-date", "2026-01-20")
    assert.is_truthy(r.out:find("rows outside it would be deleted", 1, true), r.out)
    r = w:job("j", JOB:format ', partition = { region = "EU" }'):ok("j.lua", "--logical-date", "2026-01-20")
    assert.is_nil(r.out:find("outside it", 1, true), r.out)
  end)
end)
