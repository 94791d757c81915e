-- The target's shape on every pair: made when missing, never changed silently.
local pairs_of = require "pairs"
local world = require "world"

local MERGE = [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window { since = watermark() } }
merge { rows, into = "t", key = "id"%s }
]]

pairs_of.each("a target that does not exist", function(pair)
  it("is made from the extract with the key as primary key, and said so", function()
    local w = pair.new { source = [[CREATE TABLE s(id INTEGER PRIMARY KEY, a VARCHAR(10), b DECIMAL(10,2), d DATE, at TIMESTAMP, r {double}, x {blob}, k {boolean});
      INSERT INTO s VALUES (1, 'x', 1.5, '2026-01-01', '2026-01-01 10:00:00', 0.1, {bytes 00ff}, {yes});]] }
    w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = { "id", "a" } }')
    local r = w:ok "j.lua"
    local said = (r.out .. r.err):lower()
    assert.is_truthy(said:find("made", 1, true) or said:find("creat", 1, true), said)
    assert.same({ "id", "a", "b", "d", "at", "r", "x", "k" }, w.to:columns "t")
    assert.same({ "id", "a" }, w.to:key "t")
    if pair.warehouse == "postgresql" then
      for column, type in pairs { b = "numeric(10,2)", d = "date", at = "timestamp without time zone", r = "double precision", x = "bytea", k = "boolean" } do
        assert.equal(type, w.to:type("t", column))
      end
    end
    w:ok "j.lua"
    assert.equal("0 0", w:last_run().rows_inserted .. " " .. w:last_run().rows_updated)
  end)

  it("is not made with create = false, nor left behind by a run that fails", function()
    local w = pair.only "INSERT INTO s VALUES (1,'a','2026-01-01 00:00:00');"
    w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "nowhere", key = "id", create = false }')
    w:refused(1, { "j.lua:2", "nowhere", "create" }, "j.lua")
    w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }\nerror "stop"'):lrun "j.lua"
    assert.same({}, w:tables())
  end)

  it("a source that does not exist is named", function()
    local w = pair.with()
    w:job("j", 'job {}\nmerge { extract { from = "ss" }, into = "t", key = "id" }')
    w:refused(1, { "j.lua:2", "ss", hint = false }, "j.lua")
  end)
end)

pairs_of.each("a schema that drifts (S30)", function(pair)
  local function loaded()
    local w = pair.only "INSERT INTO s VALUES (1,'a','2026-01-01 10:00:00');"
    w:job("j", MERGE:format ""):ok("j.lua", "--run-start", "2026-01-02")
    return w
  end
  local function refuses(w, words)
    local state = w:state()
    w:refused(1, words, "j.lua", "--run-start", "2026-01-05")
    assert.equal(state, w:state())
    assert.equal("2026-01-02", w:watermark())
  end
  local ROW = "INSERT INTO s VALUES (2,'b','2026-01-03 10:00:00'%s);"

  it("by a new column is refused, naming it, even when there are no rows", function()
    local w = loaded()
    w:source "ALTER TABLE s ADD COLUMN brand_new INTEGER; ALTER TABLE s ADD COLUMN d TEXT;"
    refuses(w, { "j.lua:3", "merge into t", "brand_new", "d", "new_columns" })
    w:source(ROW:format ",5,'d'")
    refuses(w, { "j.lua:3", "merge into t", "brand_new", "d", "new_columns" })
  end)

  it("by a new column is followed with add and left with ignore", function()
    local w = loaded()
    w:source("ALTER TABLE s ADD COLUMN c INTEGER;" .. ROW:format ",5")
    w:job("j", MERGE:format ', new_columns = "ignore"'):ok("j.lua", "--run-start", "2026-01-05")
    assert.same({ "1|a", "2|b" }, w:rows "SELECT id, v FROM t ORDER BY id")
    assert.same({ "id", "v", "updated_at" }, w.to:columns "t")
    w = loaded()
    w:source("ALTER TABLE s ADD COLUMN c INTEGER;" .. ROW:format ",5")
    w:job("j", MERGE:format ', new_columns = "add"'):ok("j.lua", "--run-start", "2026-01-05")
    assert.same({ "1|a|NULL", "2|b|5" }, w:rows "SELECT id, v, c FROM t ORDER BY id")
  end)

  it("refuses another word", function()
    local w = loaded()
    w:job("j", MERGE:format ', new_columns = "sometimes"')
    refuses(w, { "j.lua:3", "new_columns", "sometimes", hint = false })
  end)

  it("by a renamed column is refused, naming the new name", function()
    local w = loaded()
    w:source("ALTER TABLE s RENAME COLUMN v TO w;" .. ROW:format "")
    refuses(w, { "j.lua:3", "w", "new_columns" })
  end)

  it("by a column that is gone is noticed, and never touches what the target has", function()
    local w = loaded()
    w:source "ALTER TABLE s DROP COLUMN v; UPDATE s SET updated_at = '2026-01-03 10:00:00'"
    refuses(w, { "j.lua:3", "v", hint = false })
    assert.equal("a", w:one "SELECT v FROM t WHERE id = 1")
  end)

  it("by a target that lacks a column is refused", function()
    local w = loaded()
    w:warehouse "ALTER TABLE t DROP COLUMN v"
    w:source(ROW:format "")
    refuses(w, { "j.lua:3", "v", "new_columns" })
  end)

  it("by a column's type never bends a value", function()
    local w = pair.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, n {bigint}); INSERT INTO s VALUES (1, 5);" }
    w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }'):ok "j.lua"
    w:source "DROP TABLE s; CREATE TABLE s(id INTEGER PRIMARY KEY, n TEXT); INSERT INTO s VALUES (1, '5'), (2, '007');"
    local r = w:lrun "j.lua"
    if r.status == 0 then
      -- Only where the column keeps the text as it is.
      assert.equal("sqlite", pair.warehouse)
      assert.equal("007", w:one "SELECT n FROM t WHERE id = 2")
    else
      world.says(r, 1, { "j.lua:2", "t", "n", hint = false })
      assert.same({ "1|5" }, w:rows "SELECT * FROM t")
    end
  end)

  it("keeps columns by name, not by place", function()
    local w = pair.new {
      source = "CREATE TABLE s(id INTEGER PRIMARY KEY, a TEXT, b TEXT); INSERT INTO s VALUES (1,'a','b');",
      warehouse = "CREATE TABLE t(b TEXT, id INTEGER PRIMARY KEY, a TEXT);",
    }
    for _, rows in ipairs { 'extract { from = "s" }', 'extract { from = "s" }:map(function(row) return row end)' } do
      for _, write in ipairs { "merge { %s, into = 't', key = 'id' }", "full_load { %s, into = 't' }" } do
        w:job("j", "job {}\n" .. write:format(rows)):ok "j.lua"
        assert.same({ "1|a|b" }, w:rows "SELECT id, a, b FROM t")
      end
    end
  end)

  it("of generated columns is left to the target, and read from the source", function()
    local GENERATED = "CREATE TABLE %s(id INTEGER PRIMARY KEY, n INTEGER, twice INTEGER GENERATED ALWAYS AS (n * 2) STORED);"
    local w = pair.new { source = GENERATED:format "s" .. "INSERT INTO s(id, n) VALUES (1, 5);", warehouse = GENERATED:format "t" }
    w:job("j", 'job {}\nlocal rows = extract { from = "s" }\nmerge { rows, into = "t", key = "id" }\nfull_load { rows, into = "plain" }')
    w:ok "j.lua"
    w:source "UPDATE s SET n = 6"
    w:ok "j.lua"
    assert.same({ "1|6|12" }, w:rows "SELECT id, n, twice FROM t")
    assert.same({ "1|6|12" }, w:rows "SELECT id, n, twice FROM plain")
  end)
end)

pairs_of.each("wide and many (S31)", function(pair)
  it("1,500 columns by 200 rows", function()
    -- PostgreSQL's rows are at most 8 kB wide: narrow values.
    local columns, values = {}, {}
    for c = 1, 1499 do
      columns[c] = "c" .. c .. " SMALLINT"
      values[c] = "i * 100 + " .. c % 100
    end
    local create = "CREATE TABLE %s(id INTEGER PRIMARY KEY, " .. table.concat(columns, ", ") .. ");"
    local w = pair.new { warehouse = create:format "t", source = create:format "s" .. ([[
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) INSERT INTO s SELECT i, %s FROM n;]])
      :format(table.concat(values, ", ")) }
    for _, rows in ipairs { 'extract { from = "s" }', 'extract { from = "s" }:map(function(row) return row end)' } do
      w:job("j", "job {}\nlocal rows = " .. rows .. '\nmerge { rows, into = "t", key = "id" }\n' ..
        'reconcile { rows, with = "t", sum = { c1 = "c1", c1499 = "c1499" } }')
      w:ok "j.lua"
      assert.equal("200 200 0", ("%s %s %s"):format(w:last_run().rows_read, w:last_run().rows_inserted, w:last_run().rows_updated))
      w:source "UPDATE s SET c750 = c750 + 1 WHERE id = 200"
      w:ok "j.lua"
      assert.equal("200 0 1", ("%s %s %s"):format(w:last_run().rows_read, w:last_run().rows_inserted, w:last_run().rows_updated))
      assert.same(w:source_rows "SELECT * FROM s ORDER BY id", w:rows "SELECT * FROM t ORDER BY id")
      w:warehouse "DELETE FROM t"
    end
  end)

  it("40 columns by many rows, each with its own values", function()
    local rows = world.sanitized and 10000 or 60000
    local columns, values, compare = {}, {}, {}
    for c = 1, 40 do
      columns[c] = ("c%d %s"):format(c, c % 2 == 0 and "{bigint}" or "TEXT")
      values[c] = c % 2 == 0 and "i * 100 + " .. c or "'r' || i || 'c" .. c .. "'"
      compare[c] = ("CASE WHEN c%d = %s THEN 0 ELSE 1 END"):format(c, (values[c]:gsub("%f[%w]i%f[%W]", "id")))
    end
    local w = pair.new { source = ([[CREATE TABLE s(id INTEGER PRIMARY KEY, %s);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO s SELECT i, %s FROM n;]])
      :format(table.concat(columns, ", "), rows, table.concat(values, ", ")) }
    local query = ("SELECT count(*), max(id), sum(%s) FROM t"):format(table.concat(compare, " + "))
    w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }'):ok("j.lua", { timeout = 300 })
    assert.equal(rows .. "|" .. rows .. "|0", w:one(query))
    w:job("j", 'job {}\nfull_load { extract { from = "s" }:map(function(row) return row end), into = "t" }'):ok("j.lua", { timeout = 300 })
    assert.equal(rows .. "|" .. rows .. "|0", w:one(query))
  end)
end)
