-- delete_missing on every pair: rows that the source has deleted go, and no other.
local pairs_of = require "pairs"

local S = "CREATE TABLE s(id INTEGER PRIMARY KEY, day DATE, v TEXT);\n"
local T = "CREATE TABLE t(id INTEGER PRIMARY KEY, day DATE, v TEXT);\n"
local ROWS = [[INSERT INTO %s VALUES (1,'2026-01-19','a'), (2,'2026-01-20','b'), (3,'2026-01-20','c'), (4,'2026-01-20','d'),
  (5,'2026-01-21','e');]]

local WINDOWED = [[
job { grain = "day" }
local rows = extract { from = "s", by = "day", window = window() }
local counts = delete_missing { rows, from = "t", key = "id"%s }
print(("deleted %%d, skipped %%d, read %%d"):format(counts.deleted, counts.skipped, counts.read))
]]
local WHOLE = [[
job {}
delete_missing { extract { from = "s"%s }, from = "t", key = "id"%s }
]]

pairs_of.each("delete_missing", function(pair)
  local function new(source_sql, warehouse_sql)
    return pair.new { source = S .. ROWS:format "s" .. (source_sql or ""), warehouse = T .. ROWS:format "t" .. (warehouse_sql or "") }
  end
  local function ids(w) return table.concat(w:rows "SELECT id FROM t ORDER BY id", " ") end
  local function all(w) return w:rows "SELECT * FROM t ORDER BY id" end
  local function day(w) return w:ok("j.lua", "--logical-date", "2026-01-20") end

  it("deletes in the window what the source no longer has, and says so", function()
    local w = new "DELETE FROM s WHERE id IN (1, 3)"
    w:job("j", WINDOWED:format "")
    local r = day(w)
    assert.is_truthy(r.out:find("deleted 1, skipped 0, read 2", 1, true), r.out)
    assert.equal("1 2 4 5", ids(w))
    assert.equal("1", w:last_run().rows_deleted)
    assert.same({ "t|delete_missing|1" }, w:rows "SELECT target, primitive, rows_deleted FROM lrun_writes")
    local bytes = ids(w)
    assert.is_truthy(day(w).out:find("deleted 0", 1, true))
    assert.equal(bytes, ids(w))
  end)

  it("deletes in the whole table without a window", function()
    local w = new "DELETE FROM s WHERE id IN (1, 3)"
    w:job("j", WHOLE:format("", "")):ok "j.lua"
    assert.equal("2 4 5", ids(w))
  end)

  it("reads only the key from the source", function()
    local w = new "DELETE FROM s WHERE id = 3"
    w:job("j", WINDOWED:format "")
    local r = w:ok("j.lua", "--logical-date", "2026-01-20", "-v")
    local reads = 0
    for line in r.out:gmatch "[^\n]+" do
      if line:find('FROM [%w".]*"s"') then
        reads = reads + 1
        assert.is_nil(line:find('"v"', 1, true), line)
      end
    end
    assert.is_true(reads > 0, r.out)
    assert.equal("1 2 4 5", ids(w))
    -- the window has chosen the rows: they need not carry its column
    w:warehouse "INSERT INTO t VALUES (3,'2026-01-20','c')"
    w:job("j", (WINDOWED:format "":gsub('from = "s",', 'from = "s", columns = { id = "id + 0" },')))
    day(w)
    assert.equal("1 2 4 5", ids(w))
  end)

  it("spares a row that has moved on past the window in the source, and reports it", function()
    local w = new "DELETE FROM s WHERE id = 3; UPDATE s SET day = '2026-01-25' WHERE id = 4"
    w:job("j", WINDOWED:format "" .. 'reconcile { rows, with = "t" }')
    local r = day(w)
    assert.is_truthy(r.out:find("moved on: 1", 1, true), r.out)
    assert.is_truthy(r.out:find("deleted 1, skipped 1", 1, true), r.out)
    assert.equal("1 2 4 5", ids(w))
  end)

  it("refuses an empty extract that would delete, unless allow_empty", function()
    local w = new "DELETE FROM s WHERE day = '2026-01-20'"
    w:job("j", WINDOWED:format "")
    local before = all(w)
    w:refused(1, { "j.lua:3", "delete_missing from t", "empty", "3 rows", "allow_empty" }, "j.lua", "--logical-date", "2026-01-20")
    assert.same(before, all(w))
    w:job("j", WINDOWED:format ", allow_empty = true")
    day(w)
    assert.equal("1 5", ids(w))
    -- nothing on either side is a quiet day
    w:job("j", WINDOWED:format "")
    w:ok("j.lua", "--logical-date", "2026-02-01")
  end)

  it("deletes no more than at_most, and names the numbers", function()
    local w = new "DELETE FROM s WHERE id IN (2, 3)"
    local before = all(w)
    for _, most in ipairs { '"10%"', "1", '"66.6%"', "0" } do
      w:job("j", WINDOWED:format(", at_most = " .. most))
      w:refused(1, { "j.lua:3", "2 of 3 rows of t", most:gsub('"', ""), "at_most" }, "j.lua", "--logical-date", "2026-01-20")
      assert.same(before, all(w))
    end
    w:job("j", WINDOWED:format ', at_most = "66.7%"')
    day(w)
    assert.equal("1 4 5", ids(w))
    w:source "DELETE FROM s WHERE id = 5"
    w:job("j", WHOLE:format("", ", at_most = 1")):ok "j.lua"
    assert.equal("1 4", ids(w))
    for _, wrong in ipairs { '"ten"', "-1", '"-5%"', '"%"', "1.5" } do
      w:job("j", WHOLE:format("", ", at_most = " .. wrong))
      w:refused(1, { "at_most" }, "j.lua")
    end
  end)

  it("takes keys of several columns, another time column and a partition", function()
    local w = pair.new {
      source = [[CREATE TABLE s(region TEXT, n INTEGER, day DATE); INSERT INTO s VALUES ('EU',1,'2026-01-20'), ('US',2,'2026-01-20');]],
      warehouse = [[CREATE TABLE t(region TEXT, n INTEGER, placed DATE); INSERT INTO t VALUES ('EU',1,'2026-01-20'),
        ('EU',2,'2026-01-20'), ('US',2,'2026-01-20'), ('US',1,'2026-01-20'), ('EU',2,'2026-01-19');]],
    }
    w:job("j", [[
job { grain = "day" }
local rows = extract { from = "s", by = "day", window = window(), where = { region = "EU" } }
delete_missing { rows, from = "t", key = { "region", "n" }, column = "placed", partition = { region = "EU" } }
]])
    day(w)
    assert.same({ "EU|1|20", "EU|2|19", "US|1|20", "US|2|20" },
      w:rows "SELECT region, n, substr(CAST(placed AS CHAR(10)), 9, 2) FROM t ORDER BY region, n, placed")
  end)

  it("refuses NULL in a key on either side", function()
    local w = pair.new { source = "CREATE TABLE s(k INTEGER); INSERT INTO s VALUES (1), (NULL);",
                         warehouse = "CREATE TABLE t(k INTEGER); INSERT INTO t VALUES (1), (2);" }
    w:job("j", 'job {}\ndelete_missing { extract { from = "s" }, from = "t", key = "k" }')
    w:refused(1, { "j.lua:2", "k", "NULL" }, "j.lua")
    w:source "DELETE FROM s WHERE k IS NULL"
    w:warehouse "INSERT INTO t VALUES (NULL)"
    w:refused(1, { "j.lua:2", "t", "NULL" }, "j.lua")
    w:warehouse "DELETE FROM t WHERE k IS NULL"
    w:ok "j.lua"
    assert.same({ "1" }, w:rows "SELECT k FROM t")
  end)

  it("takes rows of a function, and is one transaction with what follows", function()
    local w = new()
    w:job("j", [[
job {}
local rows = extract { from = "s" }:filter(function(row) return row.id ~= 2 end)
delete_missing { rows, from = "t", key = "id", partition = {} }
if param("fail", "no") == "yes" then error "stop" end
]])
    local before = all(w)
    assert.equal(1, w:lrun("j.lua", "--param", "fail=yes").status)
    assert.same(before, all(w))
    w:ok "j.lua"
    assert.equal("1 3 4 5", ids(w))
  end)

  it("moves no watermark, and names what is missing", function()
    local w = new "DELETE FROM s WHERE id = 3"
    w:job("j", [[
job { grain = "day" }
local rows = extract { from = "s", by = "day", window = window { since = watermark() } }
delete_missing { rows, from = "t", key = "id" }
]])
    w:ok("j.lua", "--run-start", "2026-01-21")
    assert.is_nil(w:one "SELECT value FROM lrun_watermarks")
    for from, to in pairs { ['from = "t"'] = 'from = "tt"', ['key = "id"'] = 'key = "idd"' } do
      w:job("k", (WHOLE:format("", ""):gsub(from, to)))
      w:refused(1, { "k.lua:2", to:match '"(.+)"', hint = false }, "k.lua")
    end
  end)

  it("is shown in a plan, which writes nothing", function()
    local w = new "DELETE FROM s WHERE id = 3"
    w:job("j", (WINDOWED:format "":gsub("\nprint.*", "\n")))
    local bytes = w:bytes()
    local r = w:ok("plan", "j.lua", "--logical-date", "2026-01-20")
    assert.is_truthy(r.out:find "would run: DELETE FROM", r.out)
    assert.equal(bytes, w:bytes())
  end)
end)
