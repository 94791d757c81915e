-- SQL that a job writes for a SQLite source means the source's tables and catalog
-- as they are, whatever the warehouse has (S49, S50).
local world = require "world"
local process = require "process"
local files = require "files"
local sqlite = require "sqlite"

local EV = "CREATE TABLE ev(id INTEGER, v TEXT, at TEXT); CREATE INDEX ev_v ON ev(v);\n"
local ROWS = "INSERT INTO ev(rowid, id, v, at) VALUES (30, 1, 'c', '2026-01-01'), (20, 2, 'b', '2026-01-01'), (10, 3, 'a', '2026-01-01');\n"
local DOCS = [[CREATE VIRTUAL TABLE docs USING fts5(title, body); INSERT INTO docs VALUES ('one', 'red fox'), ('two', 'blue sea'), ('three', 'red sea');
  CREATE VIEW last AS SELECT id, v FROM ev ORDER BY rowid DESC LIMIT 1;]]
-- The warehouse has the same names with other rows, columns and indexes.
local OTHER = [[CREATE TABLE ev(id INTEGER, v TEXT, at TEXT); INSERT INTO ev(rowid, id, v, at) VALUES (1, 90, 'x', '2026-01-01'), (2, 91, 'y', '2026-01-01');
  CREATE TABLE docs(title TEXT, body TEXT); CREATE TABLE last(id INTEGER, v TEXT); INSERT INTO last VALUES (7, 'q');]]

local CASES = {
  ['sql = "SELECT id, v FROM ev ORDER BY rowid DESC LIMIT 2"'] = "1,2",
  ['sql = "SELECT id, v FROM ev ORDER BY _rowid_ LIMIT 1"'] = "3",
  ['sql = "SELECT id, v FROM ev WHERE oid > 15"'] = "1,2",
  ['sql = "SELECT e.id, e.v FROM ev e WHERE e.rowid = (SELECT max(rowid) FROM ev)"'] = "1",
  ['from = "ev", columns = { "id", "v" }, where = "rowid = (SELECT min(rowid) FROM ev)"'] = "3",
  ['from = "ev", columns = { id = "rowid", v = "v" }, where = "id IN (SELECT id FROM ev WHERE rowid < 25)"'] = "10,20",
  ['sql = "SELECT id, v FROM ev INDEXED BY ev_v WHERE v > \'a\'"'] = "1,2",
  ['sql = "SELECT rowid AS id, title AS v FROM docs WHERE docs MATCH \'red\'"'] = "1,3",
  ['sql = "SELECT rowid AS id, title AS v FROM docs WHERE body MATCH \'sea\' ORDER BY rank"'] = "2,3",
  ['from = "docs", columns = { id = "rowid", v = "title" }, where = "docs MATCH \'fox\'"'] = "1",
  ['sql = "SELECT * FROM last"'] = "1",
  ['from = "last"'] = "1",
  ['sql = "WITH RECURSIVE e AS (SELECT rowid AS r, id, v FROM ev), m(r) AS (SELECT max(r) FROM e UNION ALL SELECT r - 10 FROM m WHERE r > 10) SELECT id, v FROM e JOIN m USING (r) WHERE r < 30"'] = "2,3",
  ['sql = "SELECT id, v FROM main.ev WHERE rowid >= 20"'] = "1,2",
  ['sql = "SELECT max(rowid) AS id, \'m\' AS v FROM ev"'] = "30",
}

-- What each way of using the rows makes of them.
local USES = [[
job { grain = "day" }
local rows = extract { %s }
local ids = {}
for row in rows:rows() do ids[#ids + 1] = row.id end
assert(rows:count() == #ids, "count")
full_load { rows, into = "o1" }
merge { rows, into = "o2", key = "id" }
insert_new { rows, into = "o3", key = "id" }
swap { rows, into = "o4", key = "id" }
full_load { rows:map(function(row) return row end), into = "o5" }
full_load { rows:filter(function() return true end), into = "o6" }
scd2_merge { rows, into = "o7", key = "id", track = { "v" } }
reconcile { rows, with = "o1", deep = true, key = "id" }
reconcile { rows, with = "o2", sum = "id" }
local n = 0
for _, g in ipairs(query { "SELECT count(*) AS n FROM o1" }) do n = g.n end
assert(n == #ids, "loaded")
full_load { group { rows, by = "v", n = "COUNT(*)" }, into = "o8" }
execute { "INSERT INTO o2 VALUES (1000, 'gone')" }
delete_missing { rows, from = "o2", key = "id", partition = {} }
table.sort(ids)
print("ids " .. table.concat(ids, ","))
]]

local function used(code, warehouse, tables)
  local w = world.new { source = EV .. ROWS .. DOCS, warehouse = warehouse }
  w:job("j", USES:format(code))
  local got = w:ok("j.lua", "--logical-date", "2026-01-01", "--run-start", "2026-01-02").out:match "ids ([%d,]*)"
  for _, name in ipairs { "o1", "o2", "o3", "o4", "o5", "o6", "o7" } do
    assert.equal(got, w:one(("SELECT group_concat(id) FROM (SELECT id FROM %s ORDER BY id)"):format(name)), name)
  end
  for name, rows in pairs(tables or {}) do assert.same(rows, w:rows("SELECT id, v FROM " .. name)) end
  return got
end

describe("S49 the source's tables are as they are", function()
  for code, ids in pairs(CASES) do
    it("S49 beside tables of the same names: " .. code, function()
      assert.equal(ids, used(code, OTHER, { last = { "7|q" } }))
    end)
  end
  it("S49 with none of those names", function()
    for code, ids in pairs(CASES) do assert.equal(ids, used(code, "")) end
  end)

  it("S49 into a target of the source's own name, on the first run, the second, and after it was made by another", function()
    local w = world.new { source = EV .. ROWS }
    w:job("j", [[
      job {}
      local rows = extract { sql = "SELECT id, v FROM ev ORDER BY rowid DESC LIMIT 2" }
      merge { rows, into = "ev", key = "id" }
      delete_missing { rows, from = "ev", key = "id", partition = {} }
      reconcile { rows, with = "ev", deep = true, key = "id" }
    ]])
    for _ = 1, 2 do
      w:ok "j.lua"
      assert.same({ "1|c", "2|b" }, w:rows "SELECT id, v FROM ev ORDER BY id")
    end
    w:source "DELETE FROM ev WHERE id = 1"
    w:ok "j.lua"
    assert.same({ "2|b", "3|a" }, w:rows "SELECT id, v FROM ev ORDER BY id")
    w = world.new { source = EV .. ROWS }
    w:job("j", [[
      job {}
      local rows, all = extract { sql = "SELECT id, v FROM ev WHERE rowid > 15" }, extract { from = "ev", where = "rowid < 15" }
      execute { "CREATE TABLE ev(id INTEGER, v TEXT)" }
      full_load { rows, into = "o" }
      full_load { all, into = "p" }
    ]]):ok "j.lua"
    assert.same({ "1|c", "2|b" }, w:rows "SELECT id, v FROM o ORDER BY id")
    assert.same({ "3|a" }, w:rows "SELECT id, v FROM p")
  end)

  it("S49 in windows, a plan, a backfill, reconcile and the prompt", function()
    local w = world.new { source = EV .. ROWS, warehouse = OTHER }
    w:job("j", [[
      job { grain = "day" }
      local rows = extract { sql = "SELECT id, v, at FROM ev WHERE at >= :start AND at < :stop ORDER BY rowid LIMIT 2", by = "at", window = window() }
      overwrite_partition { rows, into = "d" }
      reconcile { rows, with = "d", sum = "id" }
    ]])
    w:job("k", 'job {}\nfull_load { extract { sql = "SELECT id FROM ev ORDER BY rowid LIMIT 2" }, into = "k" }\n'):ok("plan", "k.lua")
    w:ok("backfill", "j.lua", "--from", "2026-01-01", "--to", "2026-01-02")
    assert.same({ "2", "3" }, w:rows "SELECT id FROM d ORDER BY id")
    w:ok("reconcile", "j.lua", "--from", "2026-01-01", "--to", "2026-01-01")
    local r = w:ok("repl", "j.lua", { stdin = 'extract { sql = "SELECT max(rowid) AS top FROM ev" }\n' ..
      'query { "SELECT min(rowid) AS low FROM ev", connection = "source" }\n' })
    assert.is_truthy(r.out:find("30", 1, true) and r.out:find("10", 1, true), r.out)
  end)

  it("S49 by SQL that no word of the job's file announces", function()
    local w = world.new { source = EV .. ROWS, warehouse = OTHER }
    w:job("j", 'job {}\nlocal rows = extract { ["s" .. "q" .. "l"] = "SELECT id, v FROM ev ORDER BY rowid LIMIT 1" }\nfull_load { rows, into = "o" }\n')
    w:ok "j.lua"
    assert.same({ "3|a" }, w:rows "SELECT id, v FROM o")
    w:job("j", 'job {}\npcall(extract, { ["s" .. "q" .. "l"] = "SELECT id, v FROM ev ORDER BY rowid" })\n')
    w:ok "j.lua"
  end)

  it("S49 a statement that would write is refused", function()
    local w = world.new { source = EV .. ROWS, warehouse = OTHER }
    for _, sql in ipairs { "WITH x AS (SELECT 1) UPDATE ev SET v = 'w'", "DELETE FROM ev RETURNING id", "INSERT INTO ev VALUES (1, 'a', 'b') RETURNING id",
                           "WITH x AS (SELECT rowid FROM ev) DELETE FROM ev WHERE rowid IN (SELECT rowid FROM x)" } do
      w:job("j", ("job {}\nfull_load { extract { sql = [[%s]] }, into = 'o' }\n"):format(sql)):refused(1, { "one SELECT" }, "j.lua")
      w:job("j", ("job {}\nquery { [[%s]], connection = 'source' }\n"):format(sql)):refused(1, { "never written" }, "j.lua")
    end
    assert.same({ "3" }, w:source_rows "SELECT count(*) FROM ev")
  end)

  -- A program that stays open and commits all the time, and ones that open, commit and close.
  for what, writer in pairs {
    ["that stays open"] = [[i=0; { echo "PRAGMA busy_timeout = 2000; PRAGMA synchronous = OFF;"; while [ -e source.db ] && [ ! -e stop ]; do i=$((i+1))
      echo "BEGIN; INSERT INTO ev VALUES ($i, 'w', ''); INSERT INTO copy VALUES ($i); DELETE FROM ev WHERE id < $i - 50; DELETE FROM copy WHERE id < $i - 50; COMMIT;"; done; } | sqlite3 source.db >out.txt]],
    ["that opens and closes it"] = [[i=0; while [ -e source.db ] && [ ! -e stop ]; do i=$((i+1)); sqlite3 source.db "PRAGMA busy_timeout = 2000; BEGIN;
      INSERT INTO ev VALUES ($i, 'w', ''); INSERT INTO copy VALUES ($i); COMMIT" >out.txt; done]],
  } do
    it("S49 both connections see one state while a program writes the source " .. what, function()
      local w = world.new { source = "PRAGMA journal_mode = WAL;" .. EV .. "CREATE TABLE copy(id INTEGER);", warehouse = OTHER }
      w:write("write.sh", writer)
      w:job("j", [[
        job {}
        local a, b = extract { from = "copy" }, extract { sql = "SELECT id FROM ev ORDER BY rowid DESC" }
        full_load { a, into = "a", allow_empty = true }
        full_load { b, into = "b", allow_empty = true }
      ]])
      local program = process.start({ "sh", w:path "write.sh" }, { cwd = w.dir, tool = true })
      local done = 0
      for _ = 1, 40 do
        local r = w:lrun("j.lua")
        if r.status == 4 then
          assert.is_truthy(r.err:find("no common state", 1, true), r.err)
        else
          assert.equal(0, r.status, r.err)
          done = done + 1
          assert.equal("0", w:one "SELECT count(*) FROM (SELECT * FROM (SELECT id FROM a EXCEPT SELECT id FROM b) UNION ALL SELECT * FROM (SELECT id FROM b EXCEPT SELECT id FROM a))")
        end
      end
      files.write(w:path "stop", "")
      program:wait()
      assert.is_true(done > 0)
    end)
  end
end)

describe("S50 the source's catalog", function()
  local function names(w, sql)
    w:job("j", ([[
      job {}
      local out = {}
      for _, row in ipairs(query { %q, connection = "source" }) do out[#out + 1] = tostring(row.n) end
      full_load { extract { sql = %q }, into = "o" }
      print("names " .. table.concat(out, " "))
    ]]):format(sql, sql))
    local out = w:ok "j.lua".out:match "names ([^\n]*)"
    assert.equal(out, table.concat(w:rows "SELECT n FROM o", " "))
    return out
  end
  for sql, expected in pairs {
    ["SELECT name AS n FROM sqlite_schema WHERE type = 'table'"] = "only_source ev",
    ["SELECT count(*) AS n FROM sqlite_master WHERE type = 'table'"] = "2",
    ["SELECT name AS n FROM Sqlite_Schema WHERE name = 'only_warehouse'"] = "",
    ["SELECT name AS n FROM main.sqlite_schema WHERE name = 'ev'"] = "ev",
    ["SELECT name AS n FROM pragma_table_info('ev')"] = "a b",
    ["SELECT count(*) AS n FROM pragma_table_info('ev')"] = "2",
    ["SELECT name AS n FROM pragma_table_xinfo('ev')"] = "a b",
    ["SELECT name AS n FROM pragma_index_list('ev')"] = "by_b",
    ["SELECT name AS n FROM pragma_index_info('by_b')"] = "b",
    ["SELECT \"table\" AS n FROM pragma_foreign_key_list('ev')"] = "only_source",
    ["SELECT m.name || '.' || i.name AS n FROM sqlite_schema m, pragma_table_info(m.name) i WHERE m.name = 'ev'"] = "ev.a ev.b",
    ["SELECT user_version AS n FROM pragma_user_version"] = "77",
    ["SELECT name AS n FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite%' ORDER BY 1"] = "ev only_source",
  } do
    for _, there in ipairs { "the same names", "other names" } do
      it("S50 is the named connection's, with " .. there .. " in the warehouse: " .. sql, function()
        local w = world.new {
          source = "PRAGMA user_version = 77; CREATE TABLE only_source(id INTEGER PRIMARY KEY); CREATE TABLE ev(a INTEGER, b TEXT REFERENCES only_source); CREATE INDEX by_b ON ev(b);",
          warehouse = "PRAGMA user_version = 5; CREATE TABLE only_warehouse(id INTEGER);" .. (there == "the same names" and "CREATE TABLE ev(z INTEGER); CREATE INDEX zz ON ev(z);" or ""),
        }
        sqlite.exec(w.warehouse_file, "CREATE TABLE o(n TEXT)")
        w:job("j", "")
        if expected == "" then
          w:job("j", ("job {}\nassert(#query { %q, connection = 'source' } == 0)\n"):format(sql)):ok "j.lua"
        else
          assert.equal(expected, names(w, sql))
        end
      end)
    end
  end

  it("S50 by PRAGMA statements, of a third connection, and of the warehouse", function()
    local w = world.new { source = EV, warehouse = "CREATE TABLE ev(z INTEGER);" }
    sqlite.exec(w:path "third.db", "CREATE TABLE ev(third INTEGER)")
    w:write("connections.lua", 'return { source = "sqlite:source.db", warehouse = "sqlite:warehouse.db", crm = "sqlite:third.db" }\n')
    w:job("j", [[
      job {}
      assert(query { "PRAGMA table_info(ev)", connection = "source" }[1].name == "id")
      assert(query { "PRAGMA table_info(ev)", connection = "crm" }[1].name == "third")
      assert(query { "SELECT name FROM pragma_table_info('ev')", connection = "crm" }[1].name == "third")
      assert(query { "SELECT name FROM pragma_table_info('ev')" }[1].name == "z")
      assert(query { "SELECT count(*) AS n FROM sqlite_schema WHERE name = 'lrun_runs'" }[1].n == 1)
      assert(query { "SELECT count(*) AS n FROM sqlite_schema WHERE name = 'lrun_runs'", connection = "crm" }[1].n == 0)
    ]]):ok "j.lua"
  end)
end)
