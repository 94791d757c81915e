-- Running again: the same rows, whatever happened in between.
local random = require "random"
local world = require "world"

local OVERWRITE = [[
job { grain = "day" }
local rows = extract { from = "t", by = "updated_at", window = window() }
overwrite_partition { rows, into = "t"%s }
reconcile { rows, with = "t", sum = "id" }
]]

describe("overwrite_partition", function()
  -- Seven days of ten rows.
  local function week()
    local w = world.with_t [[WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 69)
      INSERT INTO t SELECT i, 'v' || i, date('2026-01-01', '+' || (i / 10) || ' days') || ' 0' || (i % 10) || ':00:00' FROM n;]]
    w:job("j", OVERWRITE:format "")
    return w
  end
  local function day(w, n) return w:ok("j.lua", "--logical-date", ("2026-01-%02d"):format(n)) end
  local ALL = "SELECT * FROM t ORDER BY 1"

  it("is idempotent: 7 days, again, and day 3 three times (S15)", function()
    local w = week()
    for n = 1, 7 do day(w, n) end
    local rows = w:source_rows(ALL)
    assert.same(rows, w:rows(ALL))
    for n = 1, 7 do
      day(w, n)
      assert.same(rows, w:rows(ALL))
    end
    for _ = 1, 3 do
      day(w, 3)
      assert.same(rows, w:rows(ALL))
    end
    assert.equal("0", w:one "SELECT count(*) FROM lrun_checks WHERE equal <> 1")
  end)

  it("gives the same rows in any order of days", function()
    local seed = random.seed()
    local w = week()
    local days = { 1, 2, 3, 4, 5, 6, 7 }
    for i = 7, 2, -1 do
      local k = math.random(i)
      days[i], days[k] = days[k], days[i]
    end
    for _, n in ipairs(days) do day(w, n) end
    assert.same(w:source_rows(ALL), w:rows(ALL), "seed " .. seed)
  end)

  it("empties a partition whose rows are gone and says from how many (S08)", function()
    local w = week()
    for n = 1, 3 do day(w, n) end
    w:source "DELETE FROM t WHERE date(updated_at) = '2026-01-02'"
    local r = day(w, 2)
    assert.is_truthy(r.out:find("10 -> 0", 1, true), r.out)
    assert.same({ "2026-01-01|10", "2026-01-03|10" }, w:rows "SELECT date(updated_at), count(*) FROM t GROUP BY 1 ORDER BY 1")
    local run = w:last_run()
    assert.equal("succeeded 0 0 10", table.concat({ run.status, run.rows_read, run.rows_inserted, run.rows_deleted }, " "))
  end)

  it("refuses to with allow_empty = false", function()
    local w = week()
    day(w, 2)
    w:source "DELETE FROM t"
    w:job("j", OVERWRITE:format ", allow_empty = false")
    w:refused(1, { "j.lua:3", "t", "empty", hint = false }, "j.lua", "--logical-date", "2026-01-02")
    assert.equal("10", w:one "SELECT count(*) FROM t")
  end)

  it("takes the rows that a key says were deleted or moved", function()
    local w = week()
    day(w, 1)
    -- Row 3 moves to day 2: day 1 loses it, day 2 gets it.
    w:source "UPDATE t SET updated_at = '2026-01-02 23:00:00' WHERE id = 3; DELETE FROM t WHERE id = 4"
    day(w, 1)
    assert.equal("0", w:one "SELECT count(*) FROM t WHERE id IN (3, 4)")
    day(w, 2)
    assert.same({ "3" }, w:rows "SELECT id FROM t WHERE id IN (3, 4)")
  end)

  it("names a row outside the partition and writes nothing", function()
    local w = week()
    day(w, 1)
    local state = w:state()
    w:job("j", [[
job { grain = "day" }
local rows = extract { from = "t", by = "updated_at", window = window() }
local moved = rows:map(function(row)
  if row.id == 13 then row.updated_at = "2026-01-05 00:00:00" end
  return row
end)
overwrite_partition { moved, into = "t" }
]])
    w:refused(1, { "j.lua:7", "t", "updated_at", "2026-01-05", hint = false }, "j.lua", "--logical-date", "2026-01-02")
    assert.equal(state, w:state())
  end)

  it("refuses rows without a window", function()
    local w = week()
    w:job("j", 'job {}\noverwrite_partition { extract { from = "t" }, into = "t" }\n')
    w:refused(1, { "j.lua:2", "window", hint = false }, "j.lua")
  end)

  it("can be narrowed, and leaves the other part", function()
    local T = "CREATE TABLE t(id INTEGER PRIMARY KEY, region TEXT, day TEXT, v TEXT);"
    local w = world.new {
      source = T .. "INSERT INTO t VALUES (1,'EU','2026-01-01','new'), (2,'US','2026-01-01','new');",
      warehouse = T .. "INSERT INTO t VALUES (1,'EU','2026-01-01','old'), (3,'EU','2026-01-01','gone'), (2,'US','2026-01-01','old');",
    }
    w:job("j", [[
job { grain = "day" }
local rows = extract { from = "t", by = "day", window = window(), where = { region = "EU" } }
overwrite_partition { rows, into = "t", partition = { region = "EU" } }
reconcile { rows, with = "t", sum = "id" }
]]):ok("j.lua", "--logical-date", "2026-01-01")
    assert.same({ "1|new", "2|old" }, w:rows "SELECT id, v FROM t ORDER BY 1")
    -- A row of another region is outside.
    w:job("j", [[
job { grain = "day" }
local rows = extract { from = "t", by = "day", window = window() }
overwrite_partition { rows, into = "t", partition = { region = "EU" } }
]])
    w:refused(1, { "j.lua:3", "region", "US", hint = false }, "j.lua", "--logical-date", "2026-01-01")
  end)

  it("takes the time column's other name in the target", function()
    local w = world.new {
      source = "CREATE TABLE s(id INTEGER PRIMARY KEY, placed TEXT); INSERT INTO s VALUES (1,'2026-01-01'), (2,'2026-01-02');",
      warehouse = "CREATE TABLE t(id INTEGER PRIMARY KEY, day TEXT); INSERT INTO t VALUES (8,'2026-01-01'), (9,'2026-01-02');",
    }
    w:job("j", [[
job { grain = "day" }
local rows = extract { from = "s", columns = { id = "id", day = "placed" }, by = "placed", window = window() }
overwrite_partition { rows, into = "t", column = "day" }
reconcile { rows, with = "t", sum = "id" }
]]):ok("j.lua", "--logical-date", "2026-01-01")
    assert.same({ "1|2026-01-01", "9|2026-01-02" }, w:rows "SELECT * FROM t ORDER BY 1")
  end)

  it("stages the rows of an SQL extract before it empties the target", function()
    local w = week()
    w:job("j", [[
job { grain = "day" }
local rows = extract { sql = "SELECT * FROM t WHERE updated_at >= :start AND updated_at < :stop", by = "updated_at", window = window() }
overwrite_partition { rows, into = "t" }
]])
    day(w, 2)
    day(w, 2)
    assert.equal("10|2026-01-02", w:one "SELECT count(*), min(date(updated_at)) FROM t")
  end)
end)

describe("an empty extract (S08)", function()
  local JOB = [[
job { grain = "day" }
local rows = extract { from = "t", by = "updated_at", window = window { since = watermark%s } }
%s { rows, into = "t", key = "id" }
]]
  for _, primitive in ipairs { "merge", "insert_new" } do
    for _, advance in ipairs { "()", ' { advance = "newest", closed = false }' } do
      it("is a success that changes nothing: " .. primitive .. advance, function()
        local w = world.with_t("INSERT INTO t VALUES (1,'a','2026-01-01'), (2,'b','2026-01-01');")
        w:job("j", JOB:format(advance, primitive)):ok("j.lua", "--run-start", "2026-01-02")
        local rows, mark = w:rows "SELECT * FROM t ORDER BY 1", w:watermark()
        w:ok("j.lua", "--run-start", "2026-01-03")
        assert.same(rows, w:rows "SELECT * FROM t ORDER BY 1")
        assert.is_true(w:watermark() >= mark)
        local run = w:last_run()
        assert.equal("succeeded 0 0 0", table.concat({ run.status, run.rows_read, run.rows_inserted, run.rows_updated }, " "))
      end)
    end
  end

  it("makes the target on the first run, with the right columns", function()
    local w = world.new { source = world.T }
    w:job("j", JOB:format("()", "merge")):ok("j.lua", "--run-start", "2026-01-02")
    assert.same({ "id|INTEGER", "v|TEXT", "updated_at|TIMESTAMP" }, w:rows "SELECT name, type FROM pragma_table_info('t')")
    assert.equal("id", w:one "SELECT group_concat(name) FROM pragma_table_info('t') WHERE pk > 0")
  end)
end)

describe("a failure (S09)", function()
  it("keeps the watermark, names the column, and the next run loads all", function()
    local w = world.new {
      source = world.T .. [[WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
        INSERT INTO t SELECT i, CASE WHEN i <> 700 THEN 'v' || i END, '2026-01-01 10:00:00' FROM n;]],
      warehouse = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT NOT NULL, updated_at TIMESTAMP NOT NULL);",
    }
    w:job("j", [[
job { grain = "day" }
local rows = extract { from = "t", by = "updated_at", window = window { since = watermark() } }
merge { rows, into = "t", key = "id" }
]])
    w:refused(1, { "j.lua:3", "merge into t", "v", "NULL", hint = false }, "j.lua", "--run-start", "2026-01-02")
    assert.equal("0", w:one "SELECT count(*) FROM t")
    assert.equal("0", w:one "SELECT count(*) FROM lrun_watermarks")
    local run = w:last_run()
    assert.equal("failed", run.status)
    assert.is_truthy(run.error:find "v" and run.error:find "NULL")
    w:source "UPDATE t SET v = 'mended' WHERE id = 700"
    w:ok("j.lua", "--run-start", "2026-01-02")
    assert.equal("1000", w:one "SELECT count(*) FROM t")
    assert.equal("2026-01-02", w:watermark())
    -- Nothing is left of the first try.
    assert.same({ "t" }, w:rows "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'lrun%' AND name NOT LIKE 'sqlite%'")
  end)
end)

describe("a merge of rows that are already there", function()
  it("writes none of them", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01'), (2,NULL,'2026-01-01');"
    w:job("j", 'job {} merge { extract { from = "t" }, into = "t", key = "id" }'):ok "j.lua"
    w:warehouse "CREATE TRIGGER no BEFORE UPDATE ON t BEGIN SELECT raise(ABORT, 'written'); END"
    w:ok "j.lua"
    local run = w:last_run()
    assert.equal("2 0 0", table.concat({ run.rows_read, run.rows_inserted, run.rows_updated }, " "))
    -- But NULL to a value is a change.
    w:warehouse "DROP TRIGGER no"
    w:source "UPDATE t SET v = '' WHERE id = 2"
    w:ok "j.lua"
    assert.equal("1", w:last_run().rows_updated)
    assert.equal("text", w:one "SELECT typeof(v) FROM t WHERE id = 2")
  end)
end)
