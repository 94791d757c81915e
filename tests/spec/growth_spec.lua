-- Work grows with the rows, not with their square: 40,000 keys against 40,000
-- rows are 800 million comparisons where a table is read once for each row, which
-- takes far longer than the limit. SQLite alone is asked: it has no hash joins.
local World = require "world"

local N = 40000
local LIMIT = "8"
local COLUMNS = "(id INTEGER, name TEXT, at TIMESTAMP NOT NULL)"
local ROWS = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO %%s " ..
              "SELECT i, 'name ' || i, '2026-01-10 10:00:00' FROM n;"):format(N)

-- Source and warehouse with the same rows in tables without any index.
local function shop()
  return World.new { source = "CREATE TABLE s" .. COLUMNS .. ";" .. ROWS:format "s",
                     warehouse = "CREATE TABLE t" .. COLUMNS .. ";" .. ROWS:format "t" }
end

local THROUGH_LUA = ":map(function(r) return r end)" -- rows that are staged, without a type

-- The code as a job, run within the limit; gives what it said.
local function finishes(w, code, ...)
  w:job("j", code)
  local r = w:lrun("j.lua", "--max-seconds", LIMIT, ...)
  assert.equal(0, r.status, r.err)
  return r.out
end

describe("with 40,000 rows and no index", function()
  for _, staged in ipairs { "", THROUGH_LUA } do
    it("merge writes by key" .. (staged ~= "" and ", of staged rows" or ""), function()
      local w = shop()
      w:source "UPDATE s SET name = name || '!' WHERE id % 4 = 0; INSERT INTO s VALUES (50000, 'new', '2026-01-11')"
      finishes(w, ('merge { extract { from = "s" }%s, into = "t", key = "id" }'):format(staged))
      assert.equal("10000|40001", w:one "SELECT sum(name LIKE '%!') || '|' || count(*) FROM t")
    end)

    it("delete_missing takes the rows that are gone" .. (staged ~= "" and ", by staged keys" or ""), function()
      local w = shop()
      w:source "DELETE FROM s WHERE id % 100 = 1"
      finishes(w, ('delete_missing { extract { from = "s" }%s, from = "t", key = "id" }'):format(staged))
      assert.equal("39600|0", w:one "SELECT count(*) || '|' || sum(id % 100 = 1) FROM t")
    end)
  end

  it("reconcile leaves out the rows that have moved on", function()
    local w = shop()
    w:source "UPDATE s SET at = '2026-02-02' WHERE id % 2 = 0"
    local out = finishes(w, 'reconcile { extract { from = "s", by = "at", window = window("2026-01-01", "2026-01-20") }, with = "t", key = "id" }')
    assert.truthy(out:find("20000 = 20000", 1, true), out)
  end)

  it("scd2_merge versions a tenth, and closes the keys that are gone", function()
    local w = shop()
    w:warehouse "CREATE TABLE d(id INTEGER, name TEXT, valid_from DATE, valid_to DATE)"
    local code = 'scd2_merge { extract { from = "s" }, into = "d", key = "id", track = "name", absent = "close" }'
    finishes(w, code, "--logical-date", "2026-02-01", "--run-start", "2026-02-02")
    w:source "UPDATE s SET name = name || '!' WHERE id % 10 = 0; DELETE FROM s WHERE id % 100 = 1; INSERT INTO s VALUES (50000, 'new', '')"
    finishes(w, code, "--logical-date", "2026-02-02", "--run-start", "2026-02-03")
    assert.equal("44001|39601", w:one "SELECT count(*) || '|' || sum(valid_to = '9999-12-31') FROM d")
  end)

  it("scd2_merge finds the place of late changes", function()
    local w = shop()
    w:warehouse "CREATE TABLE d(id INTEGER, name TEXT, valid_from TIMESTAMP, valid_to TIMESTAMP)"
    local code = ('scd2_merge { extract { from = "s" }%s, into = "d", key = "id", track = "name", at = "at" }'):format(THROUGH_LUA)
    finishes(w, code)
    w:source "UPDATE s SET name = name || '!', at = '2026-01-05 10:00:00' WHERE id % 4 = 0; UPDATE s SET at = '2026-01-12' WHERE id % 4 = 1"
    finishes(w, code)
    assert.equal("50000|40000", w:one "SELECT count(*) || '|' || sum(valid_to = '9999-12-31') FROM d")
  end)

  it("scd2_join finds each fact's version", function()
    local w = shop()
    w:warehouse "CREATE TABLE d(id INTEGER, name TEXT, valid_from DATE, valid_to DATE); INSERT INTO d SELECT id, name, '2026-01-01', '9999-12-31' FROM t"
    finishes(w, ('full_load { scd2_join { extract { from = "s", columns = { "id", "at" } }%s, dim = "d", key = "id", at = "at", take = "name" }, ' ..
                'into = "out" }'):format(THROUGH_LUA))
    assert.equal("40000|40000", w:one "SELECT count(*) || '|' || count(name) FROM out")
  end)

  it("overwrite_partition looks for keys outside its days", function()
    local w = shop()
    w:warehouse "UPDATE t SET at = '2026-02-01' WHERE id % 2 = 0"
    w:source "DELETE FROM s WHERE id % 2 = 0"
    finishes(w, ('overwrite_partition { extract { from = "s", by = "at", window = window("2026-01-01", "2026-01-20") }%s, into = "t", key = "id" }')
      :format(THROUGH_LUA))
    assert.equal("40000", w:one "SELECT count(*) FROM t")
  end)

  it("apply_changes finds the rows that changes are about", function()
    local w = shop()
    w:source "CREATE TABLE log AS SELECT id AS seq, id, name || '!' AS name, at, CASE id % 2 WHEN 0 THEN 'update' ELSE 'delete' END AS op FROM s"
    finishes(w, ('apply_changes { extract { from = "log" }%s, into = "t", key = "id" }'):format(THROUGH_LUA))
    assert.equal("20000|20000", w:one "SELECT count(*) || '|' || sum(name LIKE '%!') FROM t")
  end)
end)
