-- Keys and NULLs on every pair: nothing is dropped, doubled or chosen silently.
local pairs_of = require "pairs"

local function merge(key, options, primitive)
  return ([[
job {}
local rows = extract { from = "s"%s }
%s { rows, into = "t", key = %s }
]]):format(options or "", primitive or "merge", key)
end

pairs_of.each("a time column with NULLs (S07)", function(pair)
  local NULLS = [[CREATE TABLE s(id INTEGER PRIMARY KEY, at TIMESTAMP);
    INSERT INTO s VALUES (1,'2026-01-01 10:00:00'), (2,NULL), (3,'2026-01-01 11:00:00');]]
  local function job(option)
    return ([[
job { grain = "day" }
local rows = extract { from = "s", by = "at", window = window { since = watermark() }%s }
merge { rows, into = "t", key = "id" }
]]):format(option)
  end

  it("stops the run, naming table, column and count", function()
    local w = pair.new { source = NULLS }
    w:job("j", job "")
    w:refused(1, { "j.lua:", "s", "at", "1 row", "NULL", "nulls" }, "j.lua", "--run-start", "2026-01-02")
    assert.is_false(w:has "t")
    assert.equal("0", w:one "SELECT count(*) FROM lrun_watermarks")
  end)

  it("loads them with include, once, and counts them with skip", function()
    local w = pair.new { source = NULLS }
    w:job("j", job ', nulls = "include"')
    w:ok("j.lua", "--run-start", "2026-01-02")
    w:ok("j.lua", "--run-start", "2026-01-03")
    assert.same({ "1|2026-01-01 10:00:00", "2|NULL", "3|2026-01-01 11:00:00" }, w:rows "SELECT id, at FROM t ORDER BY id")
    assert.equal("2026-01-03", w:watermark())
    w:warehouse "DELETE FROM t; DELETE FROM lrun_watermarks"
    w:job("j", job ', nulls = "skip"'):ok("j.lua", "--run-start", "2026-01-02")
    assert.same({ "1", "3" }, w:rows "SELECT id FROM t ORDER BY id")
    assert.equal("2 1", w:last_run().rows_read .. " " .. w:last_run().rows_skipped)
  end)

  it("crashes nothing when all rows are NULL, and moves no mark", function()
    for _, advance in ipairs { "watermark()", 'watermark { advance = "newest" }' } do
      for option, status in pairs { [""] = 1, [', nulls = "include"'] = 0, [', nulls = "skip"'] = 0 } do
        local w = pair.new { source = NULLS .. "UPDATE s SET at = NULL;" }
        w:job("j", (job(option):gsub("watermark%(%)", advance)))
        local r = w:lrun("j.lua", "--run-start", "2026-01-02")
        assert.equal(status, r.status, r.err)
        assert.equal("0", w:one "SELECT count(*) FROM lrun_watermarks WHERE value IS NULL")
        if advance ~= "watermark()" then assert.equal("0", w:one "SELECT count(*) FROM lrun_watermarks WHERE value <> ''") end
      end
    end
  end)

  it("counts only what the where leaves", function()
    local w = pair.new { source = NULLS }
    w:job("j", job ', where = { id = { 1, 3 } }'):ok("j.lua", "--run-start", "2026-01-02")
    assert.same({ "1", "3" }, w:rows "SELECT id FROM t ORDER BY id")
  end)
end)

pairs_of.each("a key that is twice in the extract (S11)", function(pair)
  local function twice(rows, warehouse)
    return pair.new {
      source = "CREATE TABLE s(id INTEGER, v TEXT, updated_at TIMESTAMP); INSERT INTO s VALUES " .. rows .. ";",
      warehouse = pairs_of.T .. (warehouse or ""),
    }
  end
  local ROWS = "(1,'a','2026-01-01 10:00:00'), (1,'b','2026-01-01 11:00:00'), (1,'c','2026-01-01 10:30:00'), (2,'x','2026-01-01 09:00:00')"
  local NEWEST = (merge('"id"'):gsub('"id" }', '"id", newest = "updated_at" }'))
  local ALL = "SELECT id, v, updated_at FROM t ORDER BY id"

  it("is refused and named, also where its rows are the same", function()
    for _, primitive in ipairs { "merge", "insert_new" } do
      for _, rows in ipairs { ROWS, "(1,'a','2026-01-01 00:00:00'), (1,'a','2026-01-01 00:00:00')" } do
        local w = twice(rows)
        w:job("j", merge('"id"', "", primitive))
        w:refused(1, { "j.lua:3", primitive .. " into t", "id", "twice", "1", "newest" }, "j.lua")
        assert.equal("0", w:one "SELECT count(*) FROM t")
      end
    end
  end)

  it("takes the newest with newest, whichever way the rows come", function()
    for _, rows in ipairs { 'extract { from = "s" }', 'extract { from = "s" }:map(function(row) return row end)' } do
      local w = twice(ROWS)
      w:job("j", "job {}\nlocal rows = " .. rows .. '\nmerge { rows, into = "t", key = "id", newest = "updated_at" }'):ok "j.lua"
      assert.same({ "1|b|2026-01-01 11:00:00", "2|x|2026-01-01 09:00:00" }, w:rows(ALL))
      w:ok "j.lua"
      assert.equal("0 0", w:last_run().rows_inserted .. " " .. w:last_run().rows_updated)
    end
  end)

  it("takes it whatever the rows' columns are called", function()
    local w = pair.new { source = "CREATE TABLE s(id INTEGER, lrun_rank INTEGER, rows INTEGER); INSERT INTO s VALUES (1, 1, 5), (1, 2, 4);" }
    w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id", newest = "lrun_rank" }'):ok "j.lua"
    assert.same({ "1|2|4" }, w:rows "SELECT id, lrun_rank, rows FROM t")
  end)

  it("does not let an older row win over the target, but an equal one", function()
    local w = twice(ROWS, "INSERT INTO t VALUES (1,'z','2026-01-01 12:00:00'), (2,'z','2026-01-01 09:00:00');")
    w:job("j", NEWEST):ok "j.lua"
    assert.same({ "1|z|2026-01-01 12:00:00", "2|x|2026-01-01 09:00:00" }, w:rows(ALL))
    assert.equal("4 0 1", ("%s %s %s"):format(w:last_run().rows_read, w:last_run().rows_inserted, w:last_run().rows_updated))
  end)

  it("counts equal rows as one, and refuses two values at the same time", function()
    local w = twice "(1,'a','2026-01-01 00:00:00'), (1,'a','2026-01-01 00:00:00')"
    w:job("j", NEWEST):ok "j.lua"
    assert.same({ "1|a|2026-01-01 00:00:00" }, w:rows(ALL))
    w = twice "(1,'a','2026-01-01 00:00:00'), (1,'b','2026-01-01 00:00:00')"
    w:job("j", NEWEST)
    w:refused(1, { "j.lua:3", "id", "1", "updated_at", hint = false }, "j.lua")
    assert.equal("0", w:one "SELECT count(*) FROM t")
  end)
end)

pairs_of.each("a NULL in a key (S12)", function(pair)
  for _, primitive in ipairs { "merge", "insert_new" } do
    it("is refused by " .. primitive .. " before any write", function()
      local w = pair.new { source = "CREATE TABLE s(a INTEGER, b INTEGER, v TEXT); INSERT INTO s VALUES (2,2,'q'), (1,NULL,'p');",
                           warehouse = "CREATE TABLE t(a INTEGER, b INTEGER, v TEXT);" }
      w:job("j", merge('{ "a", "b" }', "", primitive))
      for _ = 1, 2 do
        w:refused(1, { "j.lua:3", "t", "b", "NULL", hint = false }, "j.lua")
        assert.equal("0", w:one "SELECT count(*) FROM t")
      end
    end)
  end
end)

pairs_of.each("a key of several columns (S13)", function(pair)
  for types, rows in pairs {
    TEXT = { "('a','bc','1'), ('ab','c','2')", "('ab','c','new')", { "a|bc|1", "ab|c|new" } },
    INTEGER = { "(1,23,'1'), (12,3,'2')", "(12,3,'new')", { "1|23|1", "12|3|new" } },
  } do
    it("is compared column by column: " .. types, function()
      for _, unique in ipairs { "", ", PRIMARY KEY (a, b)", ", UNIQUE (b, a)" } do
        local table = ("CREATE TABLE %%s(a %s, b %s, v TEXT%s);"):format(types, types, unique)
        local w = pair.new {
          source = table:format "s" .. "INSERT INTO s VALUES " .. rows[2] .. ";",
          warehouse = table:format "t" .. "INSERT INTO t VALUES " .. rows[1] .. ";",
        }
        w:job("j", merge '{ "a", "b" }'):ok "j.lua"
        assert.same(rows[3], w:rows "SELECT a, b, v FROM t ORDER BY v")
        local run = w:last_run()
        assert.equal("1 0 1", run.rows_read .. " " .. run.rows_inserted .. " " .. run.rows_updated)
      end
    end)
  end

  it("tells capitals and accents apart, whatever the server's order of text", function()
    local w = pair.new { source = "CREATE TABLE s(k TEXT PRIMARY KEY, v INTEGER); INSERT INTO s VALUES ('a',1), ('A',2), ('á',3), ('a ',4), ('',5);",
                         warehouse = "CREATE TABLE t(k TEXT PRIMARY KEY, v INTEGER); INSERT INTO t VALUES ('a',0), ('B',9);" }
    w:job("j", merge '"k"'):ok "j.lua"
    assert.same({ "a|1", "A|2", "á|3", "a |4", "|5", "B|9" }, w:rows "SELECT k, v FROM t ORDER BY v")
  end)
end)

pairs_of.each("a key that is no unique constraint", function(pair)
  it("is matched all the same", function()
    local w = pair.new { source = "CREATE TABLE s(id INTEGER, v TEXT); INSERT INTO s VALUES (1,'new'), (3,'c');",
                         warehouse = "CREATE TABLE t(id INTEGER, v TEXT); INSERT INTO t VALUES (1,'a'), (2,'b');" }
    w:job("j", merge '"id"'):ok "j.lua"
    w:ok "j.lua"
    assert.same({ "1|new", "2|b", "3|c" }, w:rows "SELECT * FROM t ORDER BY id")
  end)

  it("that does not exist in the extract is refused", function()
    local w = pair.with "INSERT INTO s VALUES (1,'a','2026-01-01 00:00:00');"
    w:job("j", merge '"idd"')
    w:refused(1, { "j.lua:3", "idd", hint = false }, "j.lua")
  end)
end)

pairs_of.each("what is only in the warehouse (S14)", function(pair)
  local function with_children(action)
    return pair.with("INSERT INTO s VALUES (1,'new','2026-01-02 00:00:00'), (2,'b','2026-01-02 00:00:00');", ([[
      ALTER TABLE t ADD COLUMN note TEXT;
      INSERT INTO t VALUES (1,'old','2026-01-01 00:00:00','keep');
      CREATE TABLE child(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t(id) ON DELETE %s);
      INSERT INTO child VALUES (10, 1), (11, 1);]]):format(action))
  end

  it("columns and children survive a merge", function()
    local w = with_children "CASCADE"
    w:job("j", merge '"id"'):ok "j.lua"
    assert.same({ "1|new|keep", "2|b|NULL" }, w:rows "SELECT id, v, note FROM t ORDER BY id")
    assert.same({ "10|1", "11|1" }, w:rows "SELECT * FROM child ORDER BY id")
  end)

  it("children with CASCADE or SET NULL refuse an overwrite and a full load", function()
    for _, action in ipairs { "CASCADE", "SET NULL" } do
      for _, write in ipairs { 'overwrite_partition { rows, into = "t" }', 'full_load { rows, into = "t" }' } do
        local w = with_children(action)
        w:job("j", 'job { grain = "day" }\nlocal rows = extract { from = "s", by = "updated_at", window = window "2026-01-02" }\n' .. write)
        w:refused(1, { "j.lua:3", "t", "child", hint = false }, "j.lua")
        assert.equal("1|old|keep", w:one "SELECT id, v, note FROM t")
        assert.same({ "10|1", "11|1" }, w:rows "SELECT * FROM child ORDER BY id")
      end
    end
  end)
end)

pairs_of.each("a constraint of the target", function(pair)
  local function into(target)
    local w = pair.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, u INTEGER); INSERT INTO s VALUES (1, 5), (77, -7);", warehouse = target }
    w:job("j", merge '"id"')
    return w
  end

  it("that a row breaks is named with the job's line", function()
    for target, words in pairs {
      ["CREATE TABLE t(id INTEGER PRIMARY KEY, u INTEGER, CONSTRAINT positive CHECK (u > 0));"] = { "positive" },
      ["CREATE TABLE t(id INTEGER PRIMARY KEY, u INTEGER UNIQUE); INSERT INTO t VALUES (9, -7);"] = { "u" },
      ["CREATE TABLE t(id INTEGER PRIMARY KEY, u INTEGER, w INTEGER NOT NULL);"] = { "w" },
    } do
      local w = into(target)
      w:refused(1, { "j.lua:3", "merge into t", hint = false, table.unpack(words) }, "j.lua")
      assert.equal("0", w:one "SELECT count(*) FROM t WHERE id < 9")
    end
  end)

  it("to another table is checked, and named", function()
    for _, deferred in ipairs { "", " DEFERRABLE INITIALLY DEFERRED" } do
      local w = into("CREATE TABLE parent(u INTEGER PRIMARY KEY); INSERT INTO parent VALUES (5);" ..
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u INTEGER REFERENCES parent(u)" .. deferred .. ");")
      local r = w:lrun "j.lua"
      if r.status ~= 0 then
        require "world".says(r, 1, { "foreign key", "t", "parent", hint = false })
        assert.equal("0", w:one "SELECT count(*) FROM t")
        assert.equal("failed", w:last_run().status)
      else
        assert.equal("sqlite", pair.warehouse)
      end
    end
  end)
end)

pairs_of.each("insert_new", function(pair)
  it("leaves what is there", function()
    local w = pair.with("INSERT INTO s VALUES (1,'new','2026-01-02 00:00:00'), (2,'b','2026-01-02 00:00:00');", "INSERT INTO t VALUES (1,'old','2026-01-01 00:00:00');")
    w:job("j", merge('"id"', "", "insert_new")):ok "j.lua"
    assert.same({ "1|old", "2|b" }, w:rows "SELECT id, v FROM t ORDER BY id")
    local run = w:last_run()
    assert.equal("2 1 0", run.rows_read .. " " .. run.rows_inserted .. " " .. run.rows_updated)
    w:ok "j.lua"
    assert.equal("2 0 0", w:last_run().rows_read .. " " .. w:last_run().rows_inserted .. " " .. w:last_run().rows_updated)
  end)
end)

pairs_of.each("full_load", function(pair)
  local LOAD = 'job {}\nlocal rows = extract { from = "s" }\nfull_load { rows, into = "t"%s }\n'
  it("refuses an empty extract over a full target, unless allowed", function()
    local w = pair.with("", "INSERT INTO t VALUES (1,'old','2026-01-01 00:00:00');")
    w:job("j", LOAD:format "")
    w:refused(1, { "j.lua:3", "t", "empty", "allow_empty" }, "j.lua")
    assert.equal("1", w:one "SELECT count(*) FROM t")
    w:job("j", LOAD:format ", allow_empty = true"):ok "j.lua"
    assert.equal("0", w:one "SELECT count(*) FROM t")
    w:job("j", LOAD:format ""):ok "j.lua"
  end)

  it("replaces everything, orphans too", function()
    local w = pair.with("INSERT INTO s VALUES (1,'a','2026-01-01 00:00:00');",
      "INSERT INTO t VALUES (1,'old','2025-01-01 00:00:00'), (7,'gone','2025-01-01 00:00:00');")
    w:job("j", LOAD:format ""):ok "j.lua"
    assert.same({ "1|a|2026-01-01 00:00:00" }, w:rows "SELECT * FROM t")
    assert.equal("1 1 2", ("%s %s %s"):format(w:last_run().rows_read, w:last_run().rows_inserted, w:last_run().rows_deleted))
  end)
end)
