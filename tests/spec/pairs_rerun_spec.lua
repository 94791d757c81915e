-- Running again on every pair: the same rows, whatever happened in between.
local pairs_of = require "pairs"
local random = require "random"

local OVERWRITE = [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window() }
overwrite_partition { rows, into = "t"%s }
reconcile { rows, with = "t", sum = "id" }
]]
local ALL = "SELECT * FROM %s ORDER BY id"

-- Seven days of ten rows.
local function week(pair)
  local rows = {}
  for i = 0, 69 do rows[i + 1] = ("(%d, 'v%d', '2026-01-%02d 0%d:00:00')"):format(i, i, i // 10 + 1, i % 10) end
  local w = pair.only("INSERT INTO s VALUES " .. table.concat(rows, ", ") .. ";")
  w:job("j", OVERWRITE:format "")
  return w
end
local function day(w, n) return w:ok("j.lua", "--logical-date", ("2026-01-%02d"):format(n)) end

pairs_of.each("overwrite_partition", function(pair)
  it("is idempotent: 7 days, again, and day 3 three times (S15)", function()
    local w = week(pair)
    for n = 1, 7 do day(w, n) end
    local rows = w:source_rows(ALL:format "s")
    assert.same(rows, w:rows(ALL:format "t"))
    for n = 1, 7 do day(w, n) end
    assert.same(rows, w:rows(ALL:format "t"))
    for _ = 1, 3 do day(w, 3) end
    assert.same(rows, w:rows(ALL:format "t"))
    assert.equal("0", w:one "SELECT count(*) FROM lrun_checks WHERE equal <> 1")
  end)

  it("gives the same rows in any order of days", function()
    local seed = random.seed()
    local w = week(pair)
    local days = { 1, 2, 3, 4, 5, 6, 7 }
    for i = 7, 2, -1 do
      local k = math.random(i)
      days[i], days[k] = days[k], days[i]
    end
    for _, n in ipairs(days) do day(w, n) end
    assert.same(w:source_rows(ALL:format "s"), w:rows(ALL:format "t"), "seed " .. seed)
  end)

  it("empties a partition whose rows are gone and says from how many (S08)", function()
    local w = week(pair)
    for n = 1, 3 do day(w, n) end
    w:source "DELETE FROM s WHERE id BETWEEN 10 AND 19"
    local r = day(w, 2)
    assert.is_truthy(r.out:find("10 -> 0", 1, true), r.out)
    assert.same({ "2026-01-01|10", "2026-01-03|10" },
      w:rows "SELECT {day updated_at}, count(*) FROM t GROUP BY 1 ORDER BY 1")
    local run = w:last_run()
    assert.equal("succeeded 0 0 10", table.concat({ run.status, run.rows_read, run.rows_inserted, run.rows_deleted }, " "))
    -- And refuses to with allow_empty = false.
    w:source "DELETE FROM s"
    w:job("j", OVERWRITE:format ", allow_empty = false")
    w:refused(1, { "j.lua:3", "t", "empty", hint = false }, "j.lua", "--logical-date", "2026-01-03")
    assert.equal("20", w:one "SELECT count(*) FROM t")
  end)

  it("moves rows from day to day", function()
    local w = week(pair)
    day(w, 1)
    w:source "UPDATE s SET updated_at = '2026-01-02 23:00:00' WHERE id = 3; DELETE FROM s WHERE id = 4"
    day(w, 1)
    assert.equal("0", w:one "SELECT count(*) FROM t WHERE id IN (3, 4)")
    day(w, 2)
    assert.same({ "3" }, w:rows "SELECT id FROM t WHERE id IN (3, 4)")
  end)

  it("names a row outside the partition and writes nothing", function()
    local w = week(pair)
    day(w, 1)
    local state = w:state()
    w:job("j", [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window() }
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
    local w = week(pair)
    w:job("j", 'job {}\noverwrite_partition { extract { from = "s" }, into = "t" }\n')
    w:refused(1, { "j.lua:2", "window", hint = false }, "j.lua")
  end)

  it("can be narrowed, and leaves the other part", function()
    local T = "CREATE TABLE %s(id INTEGER PRIMARY KEY, region TEXT, day DATE, v TEXT);"
    local w = pair.new {
      source = T:format "s" .. "INSERT INTO s VALUES (1,'EU','2026-01-01','new'), (2,'US','2026-01-01','new');",
      warehouse = T:format "t" .. "INSERT INTO t VALUES (1,'EU','2026-01-01','old'), (3,'EU','2026-01-01','gone'), (2,'US','2026-01-01','old');",
    }
    w:job("j", [[
job { grain = "day" }
local rows = extract { from = "s", by = "day", window = window(), where = { region = "EU" } }
overwrite_partition { rows, into = "t", partition = { region = "EU" } }
reconcile { rows, with = "t", sum = "id" }
]]):ok("j.lua", "--logical-date", "2026-01-01")
    assert.same({ "1|new", "2|old" }, w:rows "SELECT id, v FROM t ORDER BY id")
    w:job("j", [[
job { grain = "day" }
local rows = extract { from = "s", by = "day", window = window() }
overwrite_partition { rows, into = "t", partition = { region = "EU" } }
]])
    w:refused(1, { "j.lua:3", "region", "US", hint = false }, "j.lua", "--logical-date", "2026-01-01")
  end)

  it("takes the time column's other name, and a date for a time, in the target", function()
    local w = pair.new {
      source = "CREATE TABLE s(id INTEGER PRIMARY KEY, placed TIMESTAMP); INSERT INTO s VALUES (1,'2026-01-01 00:00:00'), (2,'2026-01-02 00:00:00');",
      warehouse = "CREATE TABLE t(id INTEGER PRIMARY KEY, day DATE); INSERT INTO t VALUES (8,'2026-01-01'), (9,'2026-01-02');",
    }
    w:job("j", [[
job { grain = "day" }
local rows = extract { from = "s", columns = { id = "id", day = "placed" }, by = "placed", window = window() }
overwrite_partition { rows, into = "t", column = "day" }
reconcile { rows, with = "t", sum = "id" }
]]):ok("j.lua", "--logical-date", "2026-01-01")
    assert.same({ "1|2026-01-01", "9|2026-01-02" }, w:rows "SELECT id, {day day} FROM t ORDER BY id")
  end)

  it("stages the rows of an SQL extract before it empties the target", function()
    local w = week(pair)
    w:job("j", [[
job { grain = "day" }
local rows = extract { sql = "SELECT * FROM s WHERE updated_at >= :start AND updated_at < :stop", by = "updated_at", window = window() }
overwrite_partition { rows, into = "t" }
]])
    day(w, 2)
    day(w, 2)
    assert.same({ "10|10|19" }, w:rows "SELECT count(*), min(id), max(id) FROM t")
  end)
end)

pairs_of.each("an empty extract (S08)", function(pair)
  local JOB = [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window { since = watermark%s } }
%s { rows, into = "t", key = "id" }
]]
  for _, mark in ipairs { "()", ' { advance = "newest", closed = false }' } do
    for _, primitive in ipairs { "merge", "insert_new" } do
      it("is a success that changes nothing: " .. primitive .. " since watermark" .. mark, function()
        local w = pair.only "INSERT INTO s VALUES (1,'a','2026-01-01 00:00:00'), (2,'b','2026-01-01 00:00:00');"
        w:job("j", JOB:format(mark, primitive)):ok("j.lua", "--run-start", "2026-01-02")
        local before, saved = w:rows(ALL:format "t"), w:watermark()
        w:ok("j.lua", "--run-start", "2026-01-03")
        assert.same(before, w:rows(ALL:format "t"))
        assert.is_true(w:watermark() >= saved and w:watermark() ~= "NULL")
        local run = w:last_run()
        assert.equal("succeeded 0 0 0", table.concat({ run.status, run.rows_read, run.rows_inserted, run.rows_updated }, " "))
      end)
    end
  end

  it("makes the target on the first run, with the right columns", function()
    local w = pair.only()
    w:job("j", JOB:format("()", "merge")):ok("j.lua", "--run-start", "2026-01-02")
    assert.same({ "id", "v", "updated_at" }, w.to:columns "t")
    assert.same({ "id" }, w.to:key "t")
    assert.is_truthy(w.to:type("t", "updated_at"):find "^timestamp")
    assert.equal("text", w.to:type("t", "v"))
  end)
end)

pairs_of.each("a failure (S09)", function(pair)
  it("keeps the watermark, names the column, and the next run loads all", function()
    local w = pair.new {
      source = pairs_of.S .. [[WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
        INSERT INTO s SELECT i, CASE WHEN i <> 700 THEN 'v' || i END, '2026-01-01 10:00:00' FROM n;]],
      warehouse = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT NOT NULL, updated_at TIMESTAMP NOT NULL);",
    }
    w:job("j", [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window { since = watermark() } }
merge { rows, into = "t", key = "id" }
]])
    w:refused(1, { "j.lua:3", "merge into t", "v", "NULL", hint = false }, "j.lua", "--run-start", "2026-01-02")
    assert.equal("0", w:one "SELECT count(*) FROM t")
    assert.equal("0", w:one "SELECT count(*) FROM lrun_watermarks")
    local run = w:last_run()
    assert.equal("failed", run.status)
    assert.is_truthy(run.error:find "v" and run.error:lower():find "null", run.error)
    w:source "UPDATE s SET v = 'mended' WHERE id = 700"
    w:ok("j.lua", "--run-start", "2026-01-02")
    assert.equal("1000", w:one "SELECT count(*) FROM t")
    assert.equal("2026-01-02", w:watermark())
    -- Nothing is left of the first try.
    assert.same({ "t" }, w:tables())
  end)
end)

pairs_of.each("a merge of rows that are already there", function(pair)
  it("writes none of them", function()
    local w = pair.only "INSERT INTO s VALUES (1,'a','2026-01-01 00:00:00'), (2,NULL,'2026-01-01 00:00:00.5');"
    w:job("j", 'job {} merge { extract { from = "s" }, into = "t", key = "id" }'):ok "j.lua"
    w.to:forbid("UPDATE", "t")
    w:ok "j.lua"
    local run = w:last_run()
    assert.equal("2 0 0", table.concat({ run.rows_read, run.rows_inserted, run.rows_updated }, " "))
    -- But NULL to a value is a change.
    w.to:allow "UPDATE"
    w:source "UPDATE s SET v = '' WHERE id = 2"
    w:ok "j.lua"
    assert.equal("1", w:last_run().rows_updated)
    assert.equal("0", w:one "SELECT count(*) FROM t WHERE v IS NULL")
    w:source "UPDATE s SET v = NULL WHERE id = 1"
    w:ok "j.lua"
    assert.equal("1", w:last_run().rows_updated)
    assert.equal("1", w:one "SELECT count(*) FROM t WHERE v IS NULL")
  end)
end)
