-- Running again: the same rows, whatever happened in between.
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
end)

describe("an empty extract (S08)", function()
  local JOB = [[
job { grain = "day" }
local rows = extract { from = "t", by = "updated_at", window = window { since = watermark%s } }
%s { rows, into = "t", key = "id" }
]]
  for _, primitive in ipairs { "merge", "insert_new" } do
    for _, advance in ipairs { "()", ' { advance = "newest" }' } do
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
end)
