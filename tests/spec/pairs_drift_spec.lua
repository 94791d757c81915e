-- Columns that the source drops, renames or retypes, on every pair (S56), and two
-- writes of one job into one target (S93).
local pairs_of = require "pairs"
local world = require "world"

local S = "CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT, n {bigint}, at TIMESTAMP NOT NULL);" ..
  "INSERT INTO s VALUES (1,'a',1,'2026-01-01 10:00:00'), (2,'b',2,'2026-01-01 11:00:00');"
local ROWS = 'extract { from = "s", by = "at", window = window() }'
local function job(write, rows) return "job {}\nlocal rows = " .. (rows or ROWS) .. "\n" .. write .. "\n" end
local WRITES = {
  merge = 'merge { rows, into = "t", key = "id"%s }',
  insert_new = 'insert_new { rows, into = "t", key = "id"%s }',
  overwrite_partition = 'overwrite_partition { rows, into = "t"%s }',
  full_load = 'full_load { rows, into = "t"%s }',
  swap = 'swap { rows, into = "t", check = function() return true end%s }',
  scd2_merge = 'scd2_merge { rows, into = "t", key = "id", at = "at"%s }',
}
local ANEW = { overwrite_partition = true, full_load = true, swap = true }
local DAY = { "j.lua", "--logical-date", "2026-01-01" }
local function ok(w) return w:ok(table.unpack(DAY)) end
local function loaded(pair, text)
  local w = pair.new { source = S }
  w:job("j", text)
  ok(w)
  return w
end
local DROP = "ALTER TABLE s DROP COLUMN v;"
local function refused(w, words)
  local state = w:state()
  table.insert(words, 1, "j.lua")
  w:refused(1, words, table.unpack(DAY))
  w:refused(1, words, "plan", table.unpack(DAY))
  assert.equal(state, w:state())
end

pairs_of.each("S56 a column that the source drops", function(pair)
  for name, write in pairs(WRITES) do
    it("is refused by " .. name .. " after a comment in the job too, and taken as missing_columns says", function()
      local w = loaded(pair, job(write:format ""))
      w:source(DROP)
      refused(w, { "column v", "gone from s", "lrun accept", ANEW[name] and 'missing_columns = "null"' or 'missing_columns = "keep" or "null"' })
      w:job("j", "-- a comment\n" .. job(write:format ""))
      refused(w, { "column v", "gone from s" })
      w:job("j", job(write:format ', changed_columns = "accept"'))
      refused(w, { "column v", "gone from s" })
      w:job("j", job(write:format ', missing_columns = "null"'))
      local r = ok(w)
      assert.is_truthy(r.out:find("column v", 1, true), r.out)
      w:job("j", job(write:format ""))
      refused(w, { "column v", "gone from s" })
      w:ok("accept", table.unpack(DAY))
      ok(w)
    end)
  end

  it("is refused by apply_changes", function()
    local w = pair.new { source = "CREATE TABLE s(id INTEGER, v TEXT, w TEXT, op TEXT, seq {bigint}); INSERT INTO s VALUES (1,'a','x','I',1);" }
    w:job("j", job('apply_changes { rows, into = "t", key = "id", op = "op", order = "seq" }', 'extract { from = "s" }'))
    w:ok "j.lua"
    w:source "ALTER TABLE s DROP COLUMN w; INSERT INTO s VALUES (1,'b','U',2)"
    w:job("j", "-- comment\n" .. job('apply_changes { rows, into = "t", key = "id", op = "op", order = "seq" }', 'extract { from = "s" }'))
    w:refused(1, { "column w", "gone from s" }, "j.lua")
    assert.equal("x", w:one "SELECT w FROM t")
  end)

  it("keeps its values in a merge that accepts it", function()
    local w = loaded(pair, job(WRITES.merge:format ""))
    w:source(DROP .. "UPDATE s SET n = 9 WHERE id = 1;")
    assert.is_truthy(w:ok("accept", table.unpack(DAY)).out:find("t.v", 1, true))
    ok(w)
    assert.same({ "1|a|9", "2|b|2" }, w:rows "SELECT id, v, n FROM t ORDER BY id")
  end)

  it("is refused where a function maps the rows, and where a join adds to them", function()
    local w = loaded(pair, job(WRITES.merge:format "", ROWS .. ":map(function(row) row.n = 7 return row end)"))
    w:source(DROP)
    w:job("j", "--\n" .. job(WRITES.merge:format "", ROWS .. ":map(function(row) row.n = 7 return row end)"))
    refused(w, { "column v" })
  end)

  it("is refused with sql = SELECT *, and left out by SQL that names its columns", function()
    local SQL = 'extract { sql = "SELECT %s FROM s WHERE at >= :start AND at < :stop", by = "at", window = window() }'
    local w = loaded(pair, job(WRITES.merge:format "", SQL:format "*"))
    w:source(DROP)
    w:job("j", "--\n" .. job(WRITES.merge:format "", SQL:format "*"))
    refused(w, { "column v" })
    w:job("j", job(WRITES.merge:format "", SQL:format "id, n, at"))
    ok(w)
  end)

  it("is left out by columns = { ... }, which is the job's word", function()
    local w = loaded(pair, job(WRITES.merge:format ""))
    w:source(DROP)
    w:job("j", job(WRITES.merge:format "", 'extract { from = "s", columns = { "id", "n", "at" }, by = "at", window = window() }'))
    ok(w)
    assert.same({ "a", "b" }, w:rows "SELECT v FROM t ORDER BY id")
  end)

  it("is no matter where the target lacks it too", function()
    local w = loaded(pair, job(WRITES.merge:format ""))
    w:source(DROP)
    w:warehouse "ALTER TABLE t DROP COLUMN v"
    ok(w)
  end)

  it("is noticed where the job takes another source table", function()
    local w = loaded(pair, job(WRITES.merge:format ""))
    w:source "CREATE TABLE s2(id INTEGER PRIMARY KEY, n {bigint}, at TIMESTAMP NOT NULL)"
    w:job("j", (job(WRITES.merge:format ""):gsub('"s"', '"s2"')))
    refused(w, { "column v", "gone from s2" })
    w:ok("accept", table.unpack(DAY))
    ok(w)
  end)
end)

pairs_of.each("S56 missing_columns", function(pair)
  local RENAME = "ALTER TABLE s RENAME COLUMN v TO name;"
  local MORE = "UPDATE s SET n = 9 WHERE id = 1; INSERT INTO s(id, n, at) VALUES (3, 3, '2026-01-01 12:00:00');"
  local V = "SELECT id, v FROM t ORDER BY id, n"
  -- what v is after the run, by the write and the option
  local KEPT, NULLED = { "1|a", "2|b", "3|NULL" }, { "1|NULL", "2|NULL", "3|NULL" }
  local AFTER = {
    merge = { keep = KEPT, null = NULLED },
    insert_new = { keep = KEPT, null = KEPT },
    overwrite_partition = { null = NULLED }, full_load = { null = NULLED }, swap = { null = NULLED },
    scd2_merge = { keep = { "1|a", "2|b", "3|NULL" }, null = { "1|a", "2|b", "3|NULL" } },
  }
  local INSERT_ONLY = "INSERT INTO s(id, n, at) VALUES (3, 3, '2026-01-01 12:00:00');"
  for name, write in pairs(WRITES) do
    for change, sql in pairs { dropped = DROP, renamed = RENAME } do
      for _, option in ipairs { "keep", "null" } do
        local text = job(write:format((', missing_columns = "%s"%s'):format(option, change == "renamed" and ', new_columns = "add"' or "")))
        it(option .. " for a " .. change .. " column, in " .. name, function()
          local w = loaded(pair, job(write:format ""))
          w:source(sql .. (name == "scd2_merge" and INSERT_ONLY or MORE))
          w:job("j", text)
          if option == "keep" and ANEW[name] then
            refused(w, { 'missing_columns = "keep"', name .. " writes each row anew", 'missing_columns = "null"' })
            return
          end
          w:ok("plan", table.unpack(DAY))
          ok(w)
          assert.same(AFTER[name][option], w:rows(V))
          local again = ok(w)
          assert.same(AFTER[name][option], w:rows(V))
          if not ANEW[name] then assert.is_truthy(again.out:find("0 inserted", 1, true) or again.out:find("inserted 0", 1, true), again.out) end
        end)
      end
    end
  end

  it("holds in the runs after the first, and with newest", function()
    local text = job 'merge { rows, into = "t", key = "id", newest = "at", missing_columns = "null" }'
    local w = loaded(pair, text)
    w:source(DROP .. "DELETE FROM s WHERE id = 2;")
    ok(w)
    assert.same({ "1|NULL", "2|b" }, w:rows(V))
    w:source "INSERT INTO s(id, n, at) VALUES (2, 5, '2026-01-01 13:00:00')"
    ok(w)
    assert.same({ "1|NULL", "2|NULL" }, w:rows(V))
  end)

  it("keeps the history of a dimension: new versions have NULL", function()
    local w = loaded(pair, job(WRITES.scd2_merge:format ""))
    w:source(DROP .. "UPDATE s SET n = 9, at = '2026-01-01 15:00:00' WHERE id = 1;")
    w:job("j", job(WRITES.scd2_merge:format ', missing_columns = "null"'))
    ok(w)
    assert.same({ "1|a", "1|NULL", "2|b" }, w:rows "SELECT id, v FROM t ORDER BY id, n")
  end)

  for _, option in ipairs { "keep", "null" } do
    it(option .. " in apply_changes", function()
      local text = 'apply_changes { rows, into = "t", key = "id", op = "op", order = "seq"%s }'
      local rows = 'extract { from = "s" }'
      local w = pair.new { source = "CREATE TABLE s(id INTEGER, v TEXT, n {bigint}, op TEXT, seq {bigint}); " ..
        "INSERT INTO s VALUES (1,'a',1,'I',1), (2,'b',2,'I',2);" }
      w:job("j", job(text:format "", rows)):ok "j.lua"
      -- the change at the mark, of key 2, is applied again
      w:source(DROP .. "INSERT INTO s VALUES (1,7,'U',3), (3,3,'I',4);")
      w:job("j", job(text:format(', missing_columns = "' .. option .. '"'), rows)):ok "j.lua"
      assert.same(option == "keep" and { "1|a", "2|b", "3|NULL" } or NULLED, w:rows(V))
      w:ok "j.lua"
    end)

    it(option .. " of a NOT NULL column is refused with its name", function()
      local w = pair.new { source = S, warehouse = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT NOT NULL, n {bigint}, at TIMESTAMP);" }
      w:job("j", job(WRITES.merge:format ""))
      ok(w)
      w:source(DROP)
      w:job("j", job(WRITES.merge:format((', missing_columns = "%s"'):format(option))))
      refused(w, { "column v", "NOT NULL", "v = \"'...'\"" })
    end)
  end

  it("gives new rows the column's default, or NULL in spite of it", function()
    for option, last in pairs { keep = { "1|a", "2|b", "3|x" }, null = { "1|NULL", "2|NULL", "3|NULL" } } do
      local w = pair.new { source = S, warehouse = "CREATE TABLE t(id INTEGER PRIMARY KEY, v VARCHAR(9) DEFAULT 'x', n {bigint}, at TIMESTAMP);" }
      w:job("j", job(WRITES.merge:format((', missing_columns = "%s"'):format(option))))
      ok(w)
      w:source(DROP .. MORE)
      ok(w)
      assert.same(last, w:rows(V))
    end
  end)

  it("is refused where its word is not known", function()
    local w = loaded(pair, job(WRITES.merge:format ""))
    w:job("j", job(WRITES.merge:format ', missing_columns = "drop"'))
    refused(w, { 'missing_columns = "drop"', '"error", "null" or "keep"' })
  end)
end)

pairs_of.each("S56 lrun accept", function(pair)
  it("accepts a renamed, widened or narrowed column, once, with the job's word for what is new", function()
    local w = loaded(pair, job(WRITES.merge:format ""))
    w:source "ALTER TABLE s RENAME COLUMN v TO name"
    refused(w, { "column v", "the target lacks", "name" })
    local r = w:ok("accept", table.unpack(DAY))
    assert.is_truthy(r.out:find("gone from s", 1, true) and r.out:find("name", 1, true) and r.out:find("new_columns", 1, true), r.out)
    w:refused(1, { "t lacks column name" }, table.unpack(DAY))
    w:job("j", job(WRITES.merge:format ', new_columns = "add"'))
    ok(w)
    assert.same({ "1|a|a", "2|b|b" }, w:rows "SELECT id, v, name FROM t ORDER BY id")
  end)

  for change, types in pairs { widened = { "VARCHAR(5)", "VARCHAR(9)" }, narrowed = { "VARCHAR(9)", "VARCHAR(5)" } } do
    it("is needed for a " .. change .. " column, also after a comment", function()
      local C = "CREATE TABLE s(id INTEGER PRIMARY KEY, v %s, at TIMESTAMP NOT NULL); INSERT INTO s VALUES (1,'a','2026-01-01 10:00:00');"
      local w = pair.new { source = C:format(types[1]), warehouse = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, at TIMESTAMP);" }
      w:job("j", job(WRITES.merge:format ""))
      ok(w)
      w:source("DROP TABLE s;" .. C:format(types[2]))
      w:job("j", "--\n" .. job(WRITES.merge:format ""))
      refused(w, { "column v was", "lrun accept", "changed_columns" })
      w:job("j", job(WRITES.merge:format ', missing_columns = "keep"'))
      refused(w, { "column v was" })
      w:ok("accept", table.unpack(DAY))
      ok(w)
    end)
  end

  it("waits for the job's lock", function()
    local text = 'job {}\nif param("wait", "no") == "yes" then io.open("ready", "w"):close() while true do end end\n' ..
      "local rows = " .. ROWS .. "\n" .. WRITES.merge:format ""
    local w = loaded(pair, text)
    w:source(DROP)
    local p = w:start("j.lua", "--logical-date", "2026-01-01", "--param", "wait=yes")
    w:wait_for "ready"
    local r = w:lrun("accept", "j.lua", "--logical-date", "2026-01-01", "--lock-timeout", "300ms")
    assert.equal(4, r.status, r.out .. r.err)
    p:signal "KILL"
    p:wait()
    w:ok("accept", table.unpack(DAY))
    ok(w)
  end)

  it("says so where nothing has changed, writes no row of a target, and speaks JSON", function()
    local w = loaded(pair, job(WRITES.merge:format ""))
    assert.is_truthy(w:ok("accept", table.unpack(DAY)).out:find("no column has changed", 1, true))
    w:source(DROP .. "INSERT INTO s VALUES (3, 3, '2026-01-01 12:00:00')")
    local state = w:state()
    local r = w:ok("accept", "j.lua", "--logical-date", "2026-01-01", "--json")
    assert.is_truthy(r.out:find('"column_name":"v"', 1, true) and r.out:find('"change":"dropped"', 1, true), r.out)
    assert.is_truthy(r.out:find('"status":"accepted"', 1, true), r.out)
    for line in r.out:gmatch "[^\n]+" do assert.equal(1, (line:find('{"event":', 1, true)), line) end
    assert.equal(pair.warehouse == "sqlite" and state or nil, pair.warehouse == "sqlite" and w:state() or nil)
    assert.equal("2", w:one "SELECT count(*) FROM t")
    ok(w)
    assert.equal("3", w:one "SELECT count(*) FROM t")
  end)
end)

pairs_of.each("S93 two writes of one job into one target", function(pair)
  local TWO = "CREATE TABLE s(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO s VALUES (1,'a'), (2,'b');" ..
    "CREATE TABLE s2(id INTEGER PRIMARY KEY, topic TEXT); INSERT INTO s2 VALUES (1,'x'), (3,'z');"
  local T = "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, topic TEXT);"
  local BOTH = 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }\nmerge { extract { from = "s2" }, into = "t", key = "id"%s }\n'
  local function rows(w) return table.concat(w:rows "SELECT id, name, topic FROM t ORDER BY id", " ") end

  it("are both done, again and after an edit, and each is held to its own columns", function()
    local w = pair.new { source = TWO, warehouse = T }
    w:job("j", BOTH:format ""):ok "j.lua"
    assert.equal("1|a|x 2|b|NULL 3|NULL|z", rows(w))
    w:ok "j.lua"
    w:job("j", "--\n" .. BOTH:format ""):ok "j.lua"
    w:source "ALTER TABLE s2 DROP COLUMN topic"
    w:refused(1, { "j.lua:4", "column topic", "gone from s2" }, "j.lua")
    w:ok("accept", "j.lua")
    w:ok "j.lua"
    assert.equal("1|a|x 2|b|NULL 3|NULL|z", rows(w))
  end)

  it("are both done into a table that the first one makes", function()
    local w = pair.new { source = TWO }
    w:job("j", BOTH:format ', new_columns = "add"'):ok "j.lua"
    w:ok "j.lua"
    assert.equal("1|a|x 2|b|NULL 3|NULL|z", rows(w))
  end)

  it("are both done from one table, with sql, and with other primitives", function()
    local w = pair.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, name TEXT, topic TEXT); INSERT INTO s VALUES (1,'a','x');", warehouse = T }
    for _, text in ipairs {
      'merge { extract { from = "s", columns = { "id", "name" } }, into = "t", key = "id" }\n' ..
        'merge { extract { from = "s", columns = { "id", "topic" } }, into = "t", key = "id" }',
      'merge { extract { sql = "SELECT id, name FROM s" }, into = "t", key = "id" }\n' ..
        'merge { extract { sql = "SELECT id, topic FROM s" }, into = "t", key = "id" }',
      'full_load { extract { sql = "SELECT id, name FROM s" }, into = "t" }\nmerge { extract { from = "s" }, into = "t", key = "id" }',
    } do
      w:job("j", "job {}\n" .. text):ok "j.lua"
      w:ok "j.lua"
      assert.equal("1|a|x", rows(w))
    end
  end)
end)

-- A ledger of 0.1.0: LRUN_OLD_BIN is that version's binary.
local old = os.getenv "LRUN_OLD_BIN"
pairs_of.each("S93 a ledger of 0.1.0", function(pair)
  local function before(w, columns, sha)
    w:warehouse(("DROP TABLE lrun_write_columns; UPDATE lrun_columns SET columns = '%s'%s"):format(columns, sha and ", job_sha256 = 'x'" or ""))
  end
  it("goes on, and its columns are held", function()
    local w = loaded(pair, job(WRITES.merge:format ""))
    local lines = w:one "SELECT columns FROM lrun_columns"
    assert.is_truthy(lines:find "^id\t[^\t\n]+\nv\t[^\t\n]+\n", lines)
    before(w, lines)
    w:ok("plan", table.unpack(DAY))
    ok(w)
    assert.equal("1", w:one "SELECT count(*) FROM lrun_write_columns")
    before(w, lines, true)
    w:source(DROP)
    w:job("j", "--\n" .. job(WRITES.merge:format ""))
    refused(w, { "column v", "gone from s" })
    w:ok("accept", table.unpack(DAY))
    ok(w)
  end)

  if old then
    it("made by its binary goes on, with every kind of column", function()
      for _, text in ipairs {
        'full_load { group { extract { from = "s" }, by = "v", total = "SUM(n)", mean = "AVG(n)", times = "COUNT(*)" }, into = "t" }',
        'merge { extract { from = "s" }:map(function(r) r.x = "1.5" return r end, { x = "numeric(8,2)" }), into = "t", key = "id" }',
        'merge { extract { from = "s", columns = { id = "id", w = "v", twice = "n * 2" } }, into = "t", key = "id" }',
        'merge { extract { sql = "SELECT id, n * 2 AS twice, v FROM s" }, into = "t", key = "id" }',
        'merge { extract { from = "s" }, into = "t", key = "id", stamp = "loaded_at" }',
      } do
        local w = pair.new { source = S }
        w:job("j", "job {}\n" .. text .. "\n")
        local now = world.bin
        world.bin = old
        local done, why = pcall(w.ok, w, "j.lua")
        world.bin = now
        if done then w:ok "j.lua" else print(why) end
      end
    end)

    it("made by its binary goes on", function()
      local w = pair.new { source = S }
      w:job("j", job(WRITES.merge:format ""))
      local now = world.bin
      world.bin = old
      local done, why = pcall(ok, w)
      world.bin = now
      assert.is_true(done, why)
      ok(w)
      w:source(DROP)
      refused(w, { "column v", "gone from s" })
    end)
  end
end)
