-- The ways to write by key in PostgreSQL: each is forced, and each does the same.
local pairs_of = require "pairs"

local by_name = pairs_of.by_name

local WAYS = { "merge", "update_insert", "on_conflict", "delete_insert" }
local function by(way) return { env = { LRUN_PG_MERGE = way } } end

local function counts(w)
  local run = w:last_run()
  return ("%s read, %s new, %s changed"):format(run.rows_read, run.rows_inserted, run.rows_updated)
end

-- The statements that wrote into t, by their first words.
local function statements(out)
  local found = {}
  for line in out:gmatch "warehouse: ([^\n]*)" do
    for _, head in ipairs { "MERGE INTO", "UPDATE", "DELETE FROM", "INSERT INTO" } do
      if line:find("^" .. head .. ' "public"."t"') then
        found[#found + 1] = head:match "^%u+" .. (line:find "ON CONFLICT" and " ON CONFLICT" or "")
      end
    end
  end
  return table.concat(found, ", ")
end
local STATEMENTS = {
  merge = "MERGE", update_insert = "UPDATE, INSERT", on_conflict = "INSERT ON CONFLICT", delete_insert = "DELETE, INSERT, INSERT",
}

local ROWS = "(1,'same','2026-01-01 10:00:00'), (2,'new','2026-01-02 10:00:00'), (3,'c','2026-01-03 10:00:00'), (5,NULL,'2026-01-05 10:00:00')"
local OLD = "(1,'same','2026-01-01 10:00:00'), (2,'old','2026-01-02 10:00:00'), (4,'mine','2026-01-04 10:00:00'), (5,'e','2026-01-05 10:00:00')"

for _, name in ipairs { "sqlite->postgresql", "postgresql same database" } do
  local pair = by_name[name]
  local thorough = name == "sqlite->postgresql"
  for _, way in ipairs(WAYS) do
    describe(("merge by %s, %s,"):format(way, name), function()
      local function filled(more)
        return pair.with("INSERT INTO s VALUES " .. ROWS .. ";", "INSERT INTO t VALUES " .. OLD .. ";" .. (more or ""))
      end

      it("writes what differs and what is new, leaves the rest alone, and counts all three", function()
        local w = filled "ALTER TABLE t ADD COLUMN note text DEFAULT 'kept'; UPDATE t SET note = 'by hand' WHERE id = 2;"
        local before = w:rows "SELECT id, xmin, ctid FROM t WHERE id IN (1, 4) ORDER BY id"
        w:job("j", 'job {}\nlocal c = merge { extract { from = "s" }, into = "t", key = "id" }\nprint(c.read, c.inserted, c.updated, c.deleted)')
        local r = w:ok("j.lua", "-v", by(way))
        assert.equal(STATEMENTS[way], statements(r.out))
        assert.truthy(r.out:find("4\t1\t2\t0", 1, true))
        assert.same({ "1|same|kept", "2|new|by hand", "3|c|kept", "4|mine|kept", "5|NULL|kept" }, w:rows "SELECT id, v, note FROM t ORDER BY id")
        assert.same(before, w:rows "SELECT id, xmin, ctid FROM t WHERE id IN (1, 4) ORDER BY id")
        local versions = w:rows "SELECT id, xmin, ctid FROM t ORDER BY id"
        w:ok("j.lua", by(way))
        assert.equal("4 read, 0 new, 0 changed", counts(w))
        assert.same(versions, w:rows "SELECT id, xmin, ctid FROM t ORDER BY id")
      end)

      if not thorough then return end
      it("takes the newest, stamps what it wrote, adds columns", function()
        local w = filled "UPDATE t SET updated_at = '2026-02-01 10:00:00' WHERE id = 2;"
        w:source "ALTER TABLE s ADD COLUMN extra BIGINT"
        w:source "UPDATE s SET extra = id * 10"
        w:job("j", 'job { grain = "day" }\nmerge { extract { from = "s" }, into = "t", key = "id", newest = "updated_at", new_columns = "add", stamp = "loaded_at" }')
        w:ok("j.lua", "--run-start", "2026-03-01 00:00:00", by(way))
        assert.equal("4 read, 1 new, 2 changed", counts(w))
        local all = "SELECT id, v, extra, loaded_at::date FROM t ORDER BY id"
        assert.same({ "1|same|10|2026-03-01", "2|old|NULL|NULL", "3|c|30|2026-03-01", "4|mine|NULL|NULL", "5|NULL|50|2026-03-01" }, w:rows(all))
        w:source "UPDATE s SET v = 'again' WHERE id = 3"
        w:ok("j.lua", "--run-start", "2026-03-02 00:00:00", by(way))
        assert.equal("4 read, 0 new, 1 changed", counts(w))
        assert.equal("3|again|30|2026-03-02", w:rows(all)[3])
      end)

      it("matches a key of several columns, and one that is all the row has", function()
        local w = pair.new {
          source = "CREATE TABLE s(a TEXT, b INTEGER, v TEXT); INSERT INTO s VALUES ('x',1,'new'), ('x',2,'b'), ('x 1',2,'c');",
          warehouse = "CREATE TABLE t(a text, b int, v text, UNIQUE (b, a)); INSERT INTO t VALUES ('x',1,'old'), ('y',1,'y'), (NULL,1,'n');" ..
            "CREATE TABLE k(a text, b int, PRIMARY KEY (a, b)); INSERT INTO k VALUES ('x', 1);",
        }
        w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = { "a", "b" } }')
        w:ok("j.lua", by(way))
        assert.equal("3 read, 2 new, 1 changed", counts(w))
        assert.same({ "x|1|new", "x|2|b", "x 1|2|c", "y|1|y", "NULL|1|n" }, w:rows 'SELECT a, b, v FROM t ORDER BY a COLLATE "C", b')
        w:job("k", 'job {}\nmerge { extract { from = "s", columns = { "a", "b" } }, into = "k", key = { "a", "b" } }')
        w:ok("k.lua", by(way))
        assert.equal("3 read, 2 new, 0 changed", counts(w))
      end)

      it("refuses a key that is NULL or twice, and writes nothing", function()
        for _, row in ipairs { "(NULL, 'n')", "(1, 'twice')" } do
          local w = pair.new { source = "CREATE TABLE s(id INTEGER, v TEXT); INSERT INTO s VALUES (1,'a'), (2,'b'), " .. row .. ";",
                               warehouse = "CREATE TABLE t(id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'old');" }
          w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }')
          w:refused(1, { "j.lua:2", "merge into t", "id", row:find "NULL" and "NULL" or "twice" }, "j.lua", by(way))
          assert.same({ "1|old" }, w:rows "SELECT id, v FROM t")
        end
      end)

      it("needs a unique constraint only where it says so", function()
        local w = pair.new { source = "CREATE TABLE s(id INTEGER, v TEXT); INSERT INTO s VALUES (1,'new'), (3,'c');",
                             warehouse = "CREATE TABLE t(id int, v text); INSERT INTO t VALUES (1,'a'), (1,'b'), (2,'b');" }
        w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }')
        if way == "on_conflict" then
          w:refused(1, { "t cannot be written by on_conflict", "LRUN_PG_MERGE", "unique" }, "j.lua", by(way))
          return
        end
        w:ok("j.lua", by(way))
        assert.equal("2 read, 1 new, 2 changed", counts(w))
        assert.same({ "1|new", "1|new", "2|b", "3|c" }, w:rows "SELECT id, v FROM t ORDER BY id, v")
        w:warehouse "INSERT INTO t VALUES (3, 'other')"
        if way == "delete_insert" then w:refused(1, { "t", "several rows of one key" }, "j.lua", by(way)) else w:ok("j.lua", by(way)) end
      end)

      it("inserts alone with insert_new", function()
        local w = filled()
        w:job("j", 'job {}\ninsert_new { extract { from = "s" }, into = "t", key = "id" }')
        w:ok("j.lua", by(way))
        assert.equal("4 read, 1 new, 0 changed", counts(w))
        assert.same({ "1|same", "2|old", "3|c", "4|mine", "5|e" }, w:rows "SELECT id, v FROM t ORDER BY id")
      end)

      it("counts rows that triggers write as their own, not as merged ones", function()
        local w = filled [[
          CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF new.id < 100 THEN INSERT INTO t VALUES (new.id + 100, 'copy', new.updated_at) ON CONFLICT DO NOTHING; END IF; RETURN NULL; END $$;
          CREATE TRIGGER again AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION again();]]
        w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }')
        w:ok("j.lua", by(way))
        assert.same({ "1|same", "2|new", "3|c", "4|mine", "5|NULL" }, w:rows "SELECT id, v FROM t WHERE id < 100 ORDER BY id")
        assert.equal("4 read, 1 new, 2 changed", counts(w))
      end)
    end)
  end
end

describe("a difference that = does not see, or that has no =", function()
  local TYPES = {
    { "json", [['{"a": 1}']], [['{"a":1}']] }, { "json[]", [[ARRAY['1'::json] ]], [[ARRAY['2'::json] ]] },
    { "document", [['{"a": 1}']], [['{"a":1}']] }, { "twin", [[ROW(1, '2')]], [[ROW(1, ' 2')]] },
    { "interval", "'1 mon'", "'30 days'" }, { "citext", "'a'", "'A'" }, { "text COLLATE loose", "'a'", "'A'" }, { "xml", "'<a/>'", "'<a />'" },
    { "point", "'(1,2)'", "'(1,3)'" }, { "box", "'(3,4),(1,2)'", "'(5,2),(4,0)'" }, { "mood", "'sad'", "'ok'" },
  }
  local OWN = [[CREATE EXTENSION citext; CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN document AS json; CREATE TYPE twin AS (a int, j json);
    CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);]]
  local function columns(f)
    local out = {}
    for i, type in ipairs(TYPES) do out[i] = f(i, type) end
    return table.concat(out, ", ")
  end
  local TABLE = "CREATE TABLE %s(id int PRIMARY KEY, at timestamp, " .. columns(function(i, type) return "c" .. i .. " " .. type[1] end) .. ");"
  local function values(which) return columns(function(_, type) return type[which] end) end
  for _, way in ipairs(WAYS) do
    it("is written all the same, once, by " .. way, function()
      local pair = by_name["postgresql->postgresql"]
      local w = pair.new { source = OWN .. TABLE:format "s", warehouse = OWN .. TABLE:format "t" }
      w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id", newest = "at" }')
      for n = 1, #TYPES do w:source(("INSERT INTO s VALUES (%d, '2026-01-01', %s)"):format(n, values(2))) end
      w:ok("j.lua", by(way))
      assert.equal(#TYPES .. " read, " .. #TYPES .. " new, 0 changed", counts(w))
      for n, type in ipairs(TYPES) do w:source(("UPDATE s SET c%d = %s WHERE id = %d"):format(n, type[3], n)) end
      w:ok("j.lua", by(way))
      assert.equal(#TYPES .. " read, 0 new, " .. #TYPES .. " changed", counts(w))
      assert.same(w:source_rows "SELECT s::text FROM s ORDER BY id", w:rows "SELECT t::text FROM t ORDER BY id")
      w:ok("j.lua", by(way))
      assert.equal(#TYPES .. " read, 0 new, 0 changed", counts(w))
    end)
  end
end)

describe("the way of a merge", function()
  local pair = by_name["postgresql->postgresql"]
  it("that is not known is refused by name, with the known ones", function()
    local w = pair.with("INSERT INTO s VALUES " .. ROWS .. ";")
    w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }')
    w:refused(1, { "LRUN_PG_MERGE", "upsert", "merge, update_insert, on_conflict, delete_insert" }, "j.lua", by "upsert")
    assert.equal("0", w:one "SELECT count(*) FROM t")
  end)

  it("that the server refuses is another, tried once for each target of a run", function()
    -- a rule makes MERGE and ON CONFLICT impossible, and nothing else
    local w = pair.with("INSERT INTO s VALUES " .. ROWS .. ";", "INSERT INTO t VALUES " .. OLD .. ";" ..
      "CREATE RULE r AS ON UPDATE TO t WHERE old.id = -1 DO ALSO SELECT 1; CREATE TABLE t2(LIKE t INCLUDING ALL);")
    w:job("j", [[
job {}
local rows = extract { from = "s" }
for n = 1, 3 do merge { rows, into = "t", key = "id" } end
merge { rows, into = "t2", key = "id" }
]])
    local r = w:ok("j.lua", "-v")
    local _, refused = r.out:gsub("ROLLBACK TO", "")
    local _, merges = r.out:gsub('MERGE INTO "public"."t" ', "")
    local _, updates = r.out:gsub('UPDATE "public"."t" ', "")
    assert.equal("1 1 3", ("%d %d %d"):format(refused, merges, updates))
    assert.truthy(r.out:find('MERGE INTO "public"."t2"', 1, true))
    assert.equal("16 read, 5 new, 2 changed", counts(w))
    w:refused(1, { "t cannot be written by merge", "LRUN_PG_MERGE", "rule" }, "j.lua", by "merge")
  end)

  it("makes no difference to two jobs on one table at once", function()
    for _, way in ipairs { "", "merge", "update_insert", "delete_insert" } do
      local w = pair.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO s SELECT i, 'v' || i FROM generate_series(1, 500) i;",
                           warehouse = "CREATE TABLE t(id int, v text);" }
      for _, name in ipairs { "a", "b", "c" } do w:job(name, 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }') end
      for _ = 1, 2 do
        local running = {}
        for i, name in ipairs { "a", "b", "c" } do running[i] = w:start(name .. ".lua", by(way)) end
        for _, p in ipairs(running) do
          local r = p:wait()
          assert.equal(0, r.status, r.err)
        end
      end
      assert.equal("500|500", w:one "SELECT count(*), count(DISTINCT id) FROM t")
      assert.equal("500", w:one "SELECT sum(rows_inserted) FROM lrun_runs")
    end
  end)

  it("is a constraint's where another session is in between: the run starts again", function()
    for _, way in ipairs { "", "merge", "on_conflict", "update_insert", "delete_insert" } do
      local w = pair.with("INSERT INTO s VALUES " .. ROWS .. ";", "INSERT INTO t VALUES " .. OLD .. ";")
      w:job("j", [[
job {}
local rows = extract { from = "s" }
query "SELECT count(*) FROM t"
local f = io.open("tried.txt", "a"); f:write "x"; f:close()
os.execute "for i in $(seq 100); do [ -e go ] && break; sleep 0.05; done"
merge { rows, into = "t", key = "id" }
]])
      local p = w:start("j.lua", by(way))
      w:wait_for "tried.txt"
      w:warehouse "INSERT INTO t VALUES (3, 'theirs', '2026-01-09 10:00:00')"
      w:write("go", "")
      local r = p:wait()
      assert.equal(0, r.status, r.err)
      assert.equal("3|c", w:one "SELECT id, v FROM t WHERE id = 3")
      assert.equal("4 read, 0 new, 3 changed", counts(w))
      assert.equal("2", w:last_run().attempt)
    end
  end)
end)
