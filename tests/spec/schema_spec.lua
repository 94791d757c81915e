-- The target's shape: made when missing, never changed silently, as wide as
-- SQLite allows.
local world = require "world"

local MERGE = [[
job { grain = "day" }
local rows = extract { from = "t", by = "updated_at", window = window { since = watermark() } }
merge { rows, into = "t", key = "id"%s }
]]

describe("a target that does not exist", function()
  it("is made from the extract with the key as primary key, and said so", function()
    local w = world.new { source = [[CREATE TABLE s(id INTEGER PRIMARY KEY, a VARCHAR(10), b DECIMAL(10,2), c, d FOO BAR(3), e DATE);
      INSERT INTO s VALUES (1,'x',1.5,NULL,'d','2026-01-01');]] }
    w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = { "id", "a" } }')
    local r = w:ok "j.lua"
    assert.is_truthy((r.out .. r.err):find("t", 1, true) and (r.out .. r.err):lower():find "made" or (r.out .. r.err):lower():find "creat")
    assert.same(w:source_rows "SELECT name, type FROM pragma_table_info('s')", w:rows "SELECT name, type FROM pragma_table_info('t')")
    assert.same({ "id", "a" }, w:rows "SELECT name FROM pragma_table_info('t') WHERE pk > 0 ORDER BY pk")
  end)

  it("is not made with create = false", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01');"
    w:job("j", 'job {}\nmerge { extract { from = "t" }, into = "nowhere", key = "id", create = false }')
    w:refused(1, { "j.lua:2", "nowhere", "create" }, "j.lua")
  end)

  it("is not left behind by a run that fails", function()
    local w = world.new { source = world.T }
    w:job("j", 'job {}\nmerge { extract { from = "t" }, into = "t", key = "id" }\nerror "stop"'):lrun "j.lua"
    assert.equal("0", w:one "SELECT count(*) FROM sqlite_master WHERE name = 't'")
  end)

  it("a source that does not exist is named", function()
    local w = world.with_t()
    w:job("j", 'job {}\nmerge { extract { from = "tt" }, into = "t", key = "id" }')
    w:refused(1, { "j.lua:2", "tt", hint = false }, "j.lua")
  end)
end)

describe("a schema that drifts (S30)", function()
  local function loaded()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01 10:00:00');"
    w:job("j", MERGE:format ""):ok("j.lua", "--run-start", "2026-01-02")
    return w
  end
  local function refuses(w, words)
    local state = w:state()
    w:refused(1, words, "j.lua", "--run-start", "2026-01-05")
    assert.equal(state, w:state())
    assert.equal("2026-01-02", w:watermark())
  end
  local ROW = "INSERT INTO t VALUES (2,'b','2026-01-03 10:00:00'%s);"

  it("by a new column is refused, naming it", function()
    local w = loaded()
    w:source("ALTER TABLE t ADD COLUMN c INTEGER; ALTER TABLE t ADD COLUMN d TEXT;" .. ROW:format ",5,'d'")
    refuses(w, { "j.lua:3", "merge into t", "c", "d", "new_columns" })
  end)

  it("by a new column is refused even when there are no rows", function()
    local w = loaded()
    w:source "ALTER TABLE t ADD COLUMN brand_new INTEGER"
    refuses(w, { "j.lua:3", "brand_new", "new_columns" })
  end)

  it('by a new column is followed with new_columns = "add"', function()
    local w = loaded()
    w:source("ALTER TABLE t ADD COLUMN c INTEGER;" .. ROW:format ",5")
    w:job("j", MERGE:format ', new_columns = "add"'):ok("j.lua", "--run-start", "2026-01-05")
    assert.same({ "1|a|NULL", "2|b|5" }, w:rows "SELECT id, v, c FROM t ORDER BY 1")
    assert.equal("INTEGER|0", w:one "SELECT type, \"notnull\" FROM pragma_table_info('t') WHERE name = 'c'")
  end)

  it('by a new column is left with new_columns = "ignore"', function()
    local w = loaded()
    w:source("ALTER TABLE t ADD COLUMN c INTEGER;" .. ROW:format ",5")
    w:job("j", MERGE:format ', new_columns = "ignore"'):ok("j.lua", "--run-start", "2026-01-05")
    assert.same({ "1|a", "2|b" }, w:rows "SELECT id, v FROM t ORDER BY 1")
    assert.equal("0", w:one "SELECT count(*) FROM pragma_table_info('t') WHERE name = 'c'")
  end)

  it("refuses another word", function()
    local w = loaded()
    w:job("j", MERGE:format ', new_columns = "sometimes"')
    refuses(w, { "j.lua:3", "new_columns", "sometimes", hint = false })
  end)

  it("by a renamed column is refused, naming the new name", function()
    local w = loaded()
    w:source("ALTER TABLE t RENAME COLUMN v TO w;" .. ROW:format "")
    refuses(w, { "j.lua:3", "w", "new_columns" })
  end)

  it("by a column that is gone never touches what the target has", function()
    local w = loaded()
    w:source("ALTER TABLE t DROP COLUMN v; UPDATE t SET updated_at = '2026-01-03 10:00:00'")
    w:lrun("j.lua", "--run-start", "2026-01-05")
    assert.equal("a", w:one "SELECT v FROM t WHERE id = 1")
  end)

  it("by a target that lacks a column is refused", function()
    local w = loaded()
    w:warehouse "ALTER TABLE t DROP COLUMN v"
    w:source(ROW:format "")
    refuses(w, { "j.lua:3", "v", "new_columns" })
  end)

  it("keeps columns by name, not by place", function()
    local w = world.new {
      source = "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b TEXT); INSERT INTO t VALUES (1,'a','b');",
      warehouse = "CREATE TABLE t(b TEXT, id INTEGER PRIMARY KEY, a TEXT);",
    }
    for _, write in ipairs { 'merge { extract { from = "t" }, into = "t", key = "id" }', 'full_load { extract { from = "t" }, into = "t" }' } do
      w:job("j", "job {}\n" .. write):ok "j.lua"
      assert.same({ "1|a|b" }, w:rows "SELECT id, a, b FROM t")
    end
  end)

  it("of generated columns is left to the target", function()
    local GENERATED = "CREATE TABLE t(id INTEGER PRIMARY KEY, at TEXT, day TEXT GENERATED ALWAYS AS (substr(at, 1, 10)) %s);"
    for _, kind in ipairs { "STORED", "VIRTUAL" } do
      local w = world.new {
        source = GENERATED:format(kind) .. "INSERT INTO t(id, at) VALUES (1, '2026-01-01 10:00:00');",
        warehouse = GENERATED:format(kind),
      }
      w:job("j", 'job {}\nlocal rows = extract { from = "t" }\nmerge { rows, into = "t", key = "id" }\nfull_load { rows, into = "plain" }')
      w:ok "j.lua"
      w:ok "j.lua"
      assert.same({ "1|2026-01-01 10:00:00|2026-01-01" }, w:rows "SELECT id, at, day FROM t")
      assert.same({ "1|2026-01-01 10:00:00|2026-01-01" }, w:rows "SELECT id, at, day FROM plain")
    end
  end)
end)

describe("wide and many (S31)", function()
  it("1,500 columns by 200 rows", function()
    local columns, values = {}, {}
    for c = 1, 1500 do
      columns[c] = "c" .. c .. " INTEGER"
      values[c] = "i * 10000 + " .. c
    end
    local w = world.new { source = ("CREATE TABLE t(id INTEGER PRIMARY KEY, %s);"):format(table.concat(columns, ", ")) }
    w:source(("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) INSERT INTO t SELECT i, %s FROM n")
      :format(table.concat(values, ", ")))
    for _, rows in ipairs { 'extract { from = "t" }', 'extract { from = "t" }:map(function(row) return row end)' } do
      w:job("j", "job {}\nlocal rows = " .. rows .. '\nmerge { rows, into = "t", key = "id" }\n' ..
        'reconcile { rows, with = "t", sum = { c1 = "c1", c1500 = "c1500" } }')
      w:ok "j.lua"
      w:source "UPDATE t SET c750 = c750 + 0.5 WHERE id = 200"
      w:ok "j.lua"
      assert.same(w:source_rows "SELECT * FROM t", w:rows "SELECT * FROM t")
      w:warehouse "DELETE FROM t"
    end
  end)

  it("40 columns by many rows, each with its own values", function()
    local rows = world.sanitized and 30000 or 300000
    local columns, values = {}, {}
    for c = 1, 40 do
      columns[c] = "c" .. c
      values[c] = c % 2 == 0 and "i * 100 + " .. c or "'r' || i || 'c" .. c .. "'"
    end
    local w = world.new { source = ([[PRAGMA synchronous = OFF; CREATE TABLE t(id INTEGER PRIMARY KEY, %s);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO t SELECT i, %s FROM n;]])
      :format(table.concat(columns, ", "), rows, table.concat(values, ", ")) }
    local compare = {}
    for c = 1, 40 do compare[c] = ("sum(c%d IS NOT %s)"):format(c, (values[c]:gsub("i", "id", 1))) end
    local query = ("SELECT count(*), max(id), %s FROM t"):format(table.concat(compare, " + "))
    w:job("j", 'job {}\nmerge { extract { from = "t" }, into = "t", key = "id" }'):ok("j.lua", { timeout = 300 })
    assert.equal(rows .. "|" .. rows .. "|0", w:one(query))
    w:job("j", 'job {}\nfull_load { extract { from = "t" }:map(function(row) return row end), into = "t" }'):ok("j.lua", { timeout = 300 })
    assert.equal(rows .. "|" .. rows .. "|0", w:one(query))
  end)
end)
