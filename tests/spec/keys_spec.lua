-- Keys and NULLs: nothing is dropped, doubled or chosen silently.
local world = require "world"

local MERGE = [[
job {}
local rows = extract { from = "t"%s }
merge { rows, into = "t", key = %s }
]]
local function merge(key, options) return MERGE:format(options or "", key) end

describe("a time column with NULLs (S07)", function()
  local NULLS = [[CREATE TABLE s(id INTEGER PRIMARY KEY, at TEXT);
    INSERT INTO s VALUES (1,'2026-01-01 10:00:00'), (2,NULL), (3,'2026-01-01 11:00:00');]]
  local function job(option)
    return ([[
job { grain = "day" }
local rows = extract { from = "s", by = "at", window = window { since = watermark() }%s }
merge { rows, into = "t", key = "id" }
]]):format(option)
  end

  it("stops the run, naming table, column and count", function()
    local w = world.new { source = NULLS }
    w:job("j", job "")
    w:refused(1, { "j.lua:", "s", "at", "1 row", "NULL", "nulls" }, "j.lua", "--run-start", "2026-01-02")
    assert.equal("0", w:one "SELECT count(*) FROM sqlite_master WHERE name = 't'")
    assert.equal("0", w:one "SELECT count(*) FROM lrun_watermarks")
  end)

  it("loads them with include, once", function()
    local w = world.new { source = NULLS }
    w:job("j", job ', nulls = "include"')
    w:ok("j.lua", "--run-start", "2026-01-02")
    w:ok("j.lua", "--run-start", "2026-01-03")
    assert.same({ "1", "2", "3" }, w:rows "SELECT id FROM t ORDER BY 1")
    assert.equal("2026-01-03", w:watermark())
  end)

  it("counts them in the ledger with skip", function()
    local w = world.new { source = NULLS }
    w:job("j", job ', nulls = "skip"'):ok("j.lua", "--run-start", "2026-01-02")
    assert.same({ "1", "3" }, w:rows "SELECT id FROM t ORDER BY 1")
    assert.equal("1", w:last_run().rows_skipped)
  end)

  it("crashes nothing when all rows are NULL, and moves no mark", function()
    for _, advance in ipairs { "watermark()", 'watermark { advance = "newest" }' } do
      for option, status in pairs { [""] = 1, [', nulls = "include"'] = 0, [', nulls = "skip"'] = 0 } do
        local w = world.new { source = NULLS .. "UPDATE s SET at = NULL;" }
        w:job("j", (job(option):gsub("watermark%(%)", advance)))
        local r = w:lrun("j.lua", "--run-start", "2026-01-02")
        assert.equal(status, r.status, r.err)
        assert.equal("0", w:one "SELECT count(*) FROM lrun_watermarks WHERE value IS NULL")
        if advance ~= "watermark()" then assert.equal("0", w:one "SELECT count(*) FROM lrun_watermarks WHERE value <> ''") end
      end
    end
  end)

  it("counts only what the where leaves", function()
    local w = world.new { source = NULLS }
    w:job("j", job ', where = { id = { 1, 3 } }'):ok("j.lua", "--run-start", "2026-01-02")
    assert.same({ "1", "3" }, w:rows "SELECT id FROM t ORDER BY 1")
  end)

  it("refuses another word", function()
    local w = world.new { source = NULLS }
    w:job("j", job ', nulls = "exclude"')
    w:refused(1, { "j.lua:2", "nulls", "exclude", "skip", hint = false }, "j.lua", "--run-start", "2026-01-02")
  end)
end)

describe("a key that is twice in the extract (S11)", function()
  local function twice(rows, warehouse)
    return world.new {
      source = "CREATE TABLE t(id INTEGER, v TEXT, updated_at TEXT); INSERT INTO t VALUES " .. rows .. ";",
      warehouse = world.T .. (warehouse or ""),
    }
  end
  local ROWS = "(1,'a','2026-01-01 10:00'), (1,'b','2026-01-01 11:00'), (1,'c','2026-01-01 10:30'), (2,'x','2026-01-01 09:00')"
  local NEWEST = (merge('"id"'):gsub('"id" }', '"id", newest = "updated_at" }'))

  it("is refused and named", function()
    for _, primitive in ipairs { "merge", "insert_new" } do
      local w = twice(ROWS)
      w:job("j", (merge('"id"'):gsub("merge", primitive)))
      w:refused(1, { "j.lua:3", primitive .. " into t", "id", "twice", "1", "newest" }, "j.lua")
      assert.equal("0", w:one "SELECT count(*) FROM t")
    end
  end)

  it("is refused even where its rows are the same", function()
    local w = twice "(1,'a','2026-01-01'), (1,'a','2026-01-01')"
    w:job("j", merge '"id"')
    w:refused(1, { "j.lua:3", "id", "twice" }, "j.lua")
  end)

  it("takes the newest with newest", function()
    local w = twice(ROWS)
    w:job("j", NEWEST):ok "j.lua"
    assert.same({ "1|b|2026-01-01 11:00", "2|x|2026-01-01 09:00" }, w:rows "SELECT * FROM t ORDER BY 1")
    w:ok "j.lua"
    assert.equal("0 0", w:last_run().rows_inserted .. " " .. w:last_run().rows_updated)
  end)

  it("does not let an older row win over the target", function()
    local w = twice(ROWS, "INSERT INTO t VALUES (1,'z','2026-01-01 12:00'), (2,'z','2026-01-01 08:00');")
    w:job("j", NEWEST):ok "j.lua"
    assert.same({ "1|z|2026-01-01 12:00", "2|x|2026-01-01 09:00" }, w:rows "SELECT * FROM t ORDER BY 1")
  end)

  it("lets an equal row win over the target", function()
    local w = twice("(1,'new','2026-01-01 12:00')", "INSERT INTO t VALUES (1,'z','2026-01-01 12:00');")
    w:job("j", NEWEST):ok "j.lua"
    assert.same({ "1|new|2026-01-01 12:00" }, w:rows "SELECT * FROM t")
  end)

  it("counts equal rows as one, and refuses two values at the same time", function()
    local w = twice "(1,'a','2026-01-01'), (1,'a','2026-01-01')"
    w:job("j", NEWEST):ok "j.lua"
    assert.same({ "1|a|2026-01-01" }, w:rows "SELECT * FROM t")
    w = twice "(1,'a','2026-01-01'), (1,'b','2026-01-01')"
    w:job("j", NEWEST)
    w:refused(1, { "j.lua:3", "id", "1", "updated_at", hint = false }, "j.lua")
    assert.equal("0", w:one "SELECT count(*) FROM t")
  end)
end)

describe("a NULL in a key (S12)", function()
  local PAIR = "CREATE TABLE t(a INTEGER, b INTEGER, v TEXT);"
  for _, primitive in ipairs { "merge", "insert_new" } do
    it("is refused by " .. primitive .. " before any write", function()
      local w = world.new { source = PAIR .. "INSERT INTO t VALUES (2,2,'q'), (1,NULL,'p');", warehouse = PAIR }
      w:job("j", (merge('{ "a", "b" }'):gsub("merge", primitive)))
      for _ = 1, 2 do
        w:refused(1, { "j.lua:3", "t", "b", "NULL", hint = false }, "j.lua")
        assert.equal("0", w:one "SELECT count(*) FROM t")
      end
    end)
  end
end)

describe("a key of several columns (S13)", function()
  for types, rows in pairs {
    ["TEXT"] = { "('a','bc','1'), ('ab','c','2')", "('ab','c','new')", { "a|bc|1", "ab|c|new" } },
    ["INTEGER"] = { "(1,23,'1'), (12,3,'2')", "(12,3,'new')", { "1|23|1", "12|3|new" } },
    ["TEXT COLLATE NOCASE"] = { "('a','b','1'), ('ab','','2')", "('ab','','new')", { "a|b|1", "ab||new" } },
  } do
    it("is compared column by column: " .. types, function()
      for _, unique in ipairs { "", ", PRIMARY KEY (a, b)" } do
        local table = ("CREATE TABLE t(a %s, b %s, v TEXT%s);"):format(types, types, unique)
        local w = world.new {
          source = table .. "INSERT INTO t VALUES " .. rows[2] .. ";",
          warehouse = table .. "INSERT INTO t VALUES " .. rows[1] .. ";",
        }
        w:job("j", merge '{ "a", "b" }'):ok "j.lua"
        assert.same(rows[3], w:rows "SELECT * FROM t ORDER BY a, b")
        local run = w:last_run()
        assert.equal("1 0 1", run.rows_read .. " " .. run.rows_inserted .. " " .. run.rows_updated)
      end
    end)
  end
end)

describe("a key that is no unique constraint", function()
  it("is matched all the same", function()
    local w = world.new {
      source = "CREATE TABLE t(id INTEGER, v TEXT); INSERT INTO t VALUES (1,'new'), (3,'c');",
      warehouse = "CREATE TABLE t(id INTEGER, v TEXT); INSERT INTO t VALUES (1,'a'), (2,'b');",
    }
    w:job("j", merge '"id"')
    w:ok "j.lua"
    w:ok "j.lua"
    assert.same({ "1|new", "2|b", "3|c" }, w:rows "SELECT * FROM t ORDER BY 1")
  end)

  it("that does not exist in the extract is refused", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01');"
    w:job("j", merge '"idd"')
    w:refused(1, { "j.lua:3", "idd", hint = false }, "j.lua")
  end)
end)

describe("what is only in the warehouse (S14)", function()
  local function with_children()
    return world.with_t("INSERT INTO t VALUES (1,'new','2026-01-02'), (2,'b','2026-01-02');", [[
      ALTER TABLE t ADD COLUMN note TEXT;
      INSERT INTO t VALUES (1,'old','2026-01-01','keep');
      CREATE TABLE child(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t ON DELETE CASCADE);
      INSERT INTO child VALUES (10, 1), (11, 1);]])
  end

  it("columns and children survive a merge", function()
    local w = with_children()
    w:job("j", merge '"id"'):ok "j.lua"
    assert.same({ "1|new|keep", "2|b|NULL" }, w:rows "SELECT id, v, note FROM t ORDER BY 1")
    assert.equal("2", w:one "SELECT count(*) FROM child")
  end)

  it("children with CASCADE or SET NULL refuse an overwrite", function()
    for _, action in ipairs { "CASCADE", "SET NULL" } do
      local w = with_children()
      w:warehouse("DROP TABLE child; CREATE TABLE child(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t ON DELETE " ..
        action .. "); INSERT INTO child VALUES (10, 1);")
      w:job("j", [[
job { grain = "day" }
local rows = extract { from = "t", by = "updated_at", window = window() }
overwrite_partition { rows, into = "t" }
]])
      w:refused(1, { "j.lua:3", "t", "child", hint = false }, "j.lua", "--logical-date", "2026-01-01")
      assert.equal("1|old|keep", w:one "SELECT id, v, note FROM t")
      assert.same({ "10|1" }, w:rows "SELECT * FROM child")
    end
  end)
end)

describe("a constraint of the target", function()
  local T = "CREATE TABLE t(id INTEGER PRIMARY KEY, u INTEGER);"
  local function into(target)
    local w = world.new { source = T .. "INSERT INTO t VALUES (1, 5), (77, -7);", warehouse = target }
    w:job("j", merge '"id"')
    return w
  end

  it("that a row breaks is named with the job's line", function()
    for target, word in pairs {
      ["CREATE TABLE t(id INTEGER PRIMARY KEY, u INTEGER CHECK (u > 0));"] = "u > 0",
      ["CREATE TABLE t(id INTEGER PRIMARY KEY, u INTEGER UNIQUE); INSERT INTO t VALUES (9, -7);"] = "t.u",
    } do
      local w = into(target)
      local before = w:rows "SELECT * FROM t"
      w:refused(1, { "j.lua:3", "merge into t", word, hint = false }, "j.lua")
      assert.same(before, w:rows "SELECT * FROM t")
    end
  end)

  it("to another table is checked, and named", function()
    for _, deferred in ipairs { "", " DEFERRABLE INITIALLY DEFERRED" } do
      local w = into("CREATE TABLE parent(u INTEGER PRIMARY KEY); INSERT INTO parent VALUES (5);" ..
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u INTEGER REFERENCES parent" .. deferred .. ");")
      w:refused(1, { "foreign key", "t", "parent", hint = false }, "j.lua")
      assert.equal("0", w:one "SELECT count(*) FROM t")
      assert.equal("failed", w:last_run().status)
    end
  end)
end)

-- Foreign keys are right at the end of the run, wherever they come from.
describe("a foreign key that is right only at the end", function()
  local LOAD = [[
full_load { extract { from = "child" }, into = "child" }
full_load { extract { from = "parent" }, into = "parent" }
]]
  local SOURCE = "CREATE TABLE parent(id INTEGER PRIMARY KEY); INSERT INTO parent VALUES (1);" ..
    "CREATE TABLE child(id INTEGER PRIMARY KEY, parent INTEGER); INSERT INTO child VALUES (10, 1);"
  local TABLES = { "CREATE TABLE parent(id INTEGER PRIMARY KEY)", "CREATE TABLE child(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent)" }

  it("is let pass where the warehouse has it, also when it came after the first run", function()
    local w = world.new { source = SOURCE, warehouse = "CREATE TABLE other(x);" }
    w:job("first", "job {}\nfull_load { extract { from = 'parent' }, into = 'other_parent' }"):ok "first.lua"
    w:warehouse(table.concat(TABLES, ";"))
    w:job("j", "job {}\n" .. LOAD)
    for _ = 1, 2 do w:ok "j.lua" end
    assert.same({ "10|1" }, w:rows "SELECT * FROM child")
  end)

  it("is let pass where the run itself makes it", function()
    local w = world.new { source = SOURCE, warehouse = "CREATE TABLE other(x);" }
    w:job("j", ("job {}\nexecute { %q }\nexecute { %q }\n"):format(TABLES[1], "/* by hand */ " .. TABLES[2]:lower()) .. LOAD)
    w:ok "j.lua"
    assert.same({ "10|1" }, w:rows "SELECT * FROM child")
  end)

  it("is let pass on each date of a backfill, and one that stays wrong is not", function()
    local w = world.new { source = "CREATE TABLE child(id INTEGER PRIMARY KEY, d DATE, parent INTEGER);" ..
        "INSERT INTO child VALUES (1, '2026-01-01', 1), (2, '2026-01-02', 2), (3, '2026-01-03', 9);" ..
        "CREATE TABLE parent(id INTEGER PRIMARY KEY, d DATE); INSERT INTO parent VALUES (1, '2026-01-01'), (2, '2026-01-02');",
      warehouse = "CREATE TABLE parent(id INTEGER PRIMARY KEY, d DATE);" ..
        "CREATE TABLE child(id INTEGER PRIMARY KEY, d DATE, parent INTEGER REFERENCES parent);" }
    w:job("j", [[
job { grain = "day" }
for _, name in ipairs { "child", "parent" } do
  local rows = extract { from = name, by = "d", window = window() }
  overwrite_partition { rows, into = name }
  reconcile { rows, with = name }
end]])
    local r = w:lrun("backfill", "j.lua", "--from", "2026-01-01", "--to", "2026-01-03")
    assert.equal(1, r.status, r.out .. r.err)
    assert.truthy((r.out .. r.err):find("FOREIGN KEY", 1, true), r.out .. r.err)
    assert.same({ "1", "2" }, w:rows "SELECT id FROM child ORDER BY id")
  end)
end)

describe("insert_new", function()
  it("leaves what is there", function()
    local w = world.with_t("INSERT INTO t VALUES (1,'new','2026-01-02'), (2,'b','2026-01-02');", "INSERT INTO t VALUES (1,'old','2026-01-01');")
    w:job("j", (merge('"id"'):gsub("merge", "insert_new"))):ok "j.lua"
    assert.same({ "1|old", "2|b" }, w:rows "SELECT id, v FROM t ORDER BY 1")
    local run = w:last_run()
    assert.equal("2 1 0", run.rows_read .. " " .. run.rows_inserted .. " " .. run.rows_updated)
  end)
end)

describe("full_load", function()
  local LOAD = 'job {}\nlocal rows = extract { from = "t" }\nfull_load { rows, into = "t"%s }\n'
  it("refuses an empty extract over a full target, unless allowed", function()
    local w = world.with_t("", "INSERT INTO t VALUES (1,'old','2026-01-01');")
    w:job("j", LOAD:format "")
    w:refused(1, { "j.lua:3", "t", "empty", "allow_empty" }, "j.lua")
    assert.equal("1", w:one "SELECT count(*) FROM t")
    w:job("j", LOAD:format ", allow_empty = true"):ok "j.lua"
    assert.equal("0", w:one "SELECT count(*) FROM t")
    w:job("j", LOAD:format ""):ok "j.lua"
  end)

  it("replaces everything, orphans too", function()
    local w = world.with_t("INSERT INTO t VALUES (1,'a','2026-01-01');", "INSERT INTO t VALUES (1,'old','2025-01-01'), (7,'gone','2025-01-01');")
    w:job("j", LOAD:format ""):ok "j.lua"
    assert.same({ "1|a|2026-01-01" }, w:rows "SELECT * FROM t")
  end)
end)

describe("merge by the newest", function()
  it("refuses text that is no time beside times, which would win over all of them", function()
    local w = world.with_t("INSERT INTO t VALUES (1, 'new', 'garbage');", "INSERT INTO t VALUES (1, 'old', '2026-01-02');")
    w:job("j", 'job {}\nmerge { extract { from = "t" }, into = "t", key = "id", newest = "updated_at" }')
    w:refused(1, { "j.lua:2", "updated_at", "garbage", "id 1", "no time" }, "j.lua")
    assert.equal("1|old|2026-01-02", w:one "SELECT * FROM t")
  end)

  it("takes versions that are all no times", function()
    local w = world.with_t("INSERT INTO t VALUES (1, 'new', 'v2'), (2, 'old', 'v1');", "INSERT INTO t VALUES (1, 'old', 'v1'), (2, 'new', 'v2');")
    w:job("j", 'job {}\nmerge { extract { from = "t" }, into = "t", key = "id", newest = "updated_at" }'):ok "j.lua"
    assert.same({ "1|new|v2", "2|new|v2" }, w:rows "SELECT * FROM t ORDER BY id")
  end)
end)
