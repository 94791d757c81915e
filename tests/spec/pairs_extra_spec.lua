-- Rows that the source has deleted after they were loaded (S57): reconcile names
-- their keys, the common cause, since when, and the call that mends it.
local pairs_of = require "pairs"

local S = "CREATE TABLE s(id INTEGER PRIMARY KEY, kind TEXT, v INTEGER, updated_at TIMESTAMP NOT NULL);\n"
local T = S:gsub("TABLE s", "TABLE t")
local ROWS = [[INSERT INTO s VALUES (1, 'a', 10, '2026-01-19 10:00:00'), (2, 'b', 20, '2026-01-20 10:00:00'),
  (3, 'a', 30, '2026-01-20 11:00:00'), (4, 'b', 40, '2026-01-20 12:00:00');]]

local JOB = [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window { since = watermark(), lookback = days(3) } }
%s
reconcile { rows, with = "t"%s }
]]
local MERGE = 'merge { rows, into = "t", key = "id" }'

pairs_of.each("S57 rows that the source has deleted", function(pair)
  local function scene(write, options)
    return pair.new { source = S .. ROWS, warehouse = T }:job("j", JOB:format(write or MERGE, options or ""))
  end
  local function night(w, n) return w:lrun("j.lua", "--run-start", ("2026-01-%02d"):format(n)) end
  local function says(r, ...)
    assert.equal(3, r.status, r.out .. r.err)
    for _, word in ipairs { ... } do assert.is_truthy(r.err:find(word, 1, true), word .. "\nnot in\n" .. r.err) end
  end

  it("S57 are named, with since when and the call to paste, and the watermark stays", function()
    for _, write in ipairs { MERGE, 'insert_new { rows, into = "t", key = "id" }' } do
      local w = scene(write)
      assert.equal(0, night(w, 21).status)
      w:source "DELETE FROM s WHERE id IN (2, 4); INSERT INTO s VALUES (5, 'a', 50, '2026-01-21 08:00:00')"
      says(night(w, 22), "j.lua:4", "rows 3 <> 5", "2 rows of t extra", "id 2, 4", "deleted at the source?", "the watermark stays at 2026-01-21",
        'delete_missing { rows, from = "t", key = "id" }', "such as a trigger on t")
      local r = night(w, 22)
      says(r, "it fails since the run of 2026-01-22", "2 runs")
      assert.is_truthy(r.err:find "delete_missing" < r.err:find "trigger", r.err)
      says(night(w, 23), "since the run of 2026-01-22", "3 runs")
      assert.equal("2026-01-21", w:one "SELECT value FROM lrun_watermarks":sub(1, 10))
      w:job("j", JOB:format(write .. "\n" .. r.err:match "delete_missing %b{}", ""))
      assert.equal(0, night(w, 23).status)
      assert.same({ "1", "3", "5" }, w:rows "SELECT id FROM t ORDER BY id")
      w:source "DELETE FROM s WHERE id = 5"
      w:job("j", JOB:format(write, ""))
      r = night(w, 24)
      says(r, "id 5")
      assert.is_nil(r.err:find("since the run", 1, true), r.err)
    end
  end)

  it("S57 are named where totals, groups and rows are compared", function()
    for _, options in ipairs { ', by = "kind"', ', sum = "v"', ', sum = "v", rows = false', ', deep = true', ', key = "id", sum = "v", by = "kind"' } do
      local w = scene(nil, options)
      assert.equal(0, night(w, 21).status)
      w:source "DELETE FROM s WHERE id = 3"
      says(night(w, 22), "1 row of t extra", "id 3", "deleted at the source?", "delete_missing")
    end
  end)

  it("S57 are counted, and the first five named", function()
    local w = scene()
    w:source "INSERT INTO s SELECT id + 10, kind, v, updated_at FROM s; INSERT INTO s SELECT id + 100, kind, v, updated_at FROM s"
    assert.equal(0, night(w, 21).status)
    w:source "DELETE FROM s WHERE id < 100"
    says(night(w, 22), "8 rows of t extra", "id 1, 2, 3, 4, 11, ... ", "deleted at the source?")
  end)

  it("S57 are named by keys of two columns, and after apply_changes", function()
    local w = scene('merge { rows, into = "t", key = { "kind", "id" } }')
    assert.equal(0, night(w, 21).status)
    w:source "DELETE FROM s WHERE id = 3"
    says(night(w, 22), "1 row of t extra", "kind, id (a, 3)", 'key = { "kind", "id" }')
    w = pair.new { source = S .. ROWS .. "CREATE TABLE c(seq INTEGER, op TEXT, id INTEGER, kind TEXT, v INTEGER, updated_at TIMESTAMP);" ..
      "INSERT INTO c SELECT id, 'i', id, kind, v, updated_at FROM s;", warehouse = T }
    w:job("j", [[job {}
apply_changes { extract { from = "c" }, into = "t", key = "id" }
reconcile { extract { from = "s" }, with = "t" }]])
    assert.equal(0, night(w, 21).status)
    w:source "DELETE FROM s WHERE id = 4"
    says(night(w, 22), "1 row of t extra", "id 4", "deleted at the source?", 'delete_missing { rows, from = "t", key = "id" }')
  end)

  it("S57 are named after scd2_merge, which can end them", function()
    local w = pair.new { source = S .. ROWS }
    w:job("j", [[job { grain = "day" }
local rows = extract { from = "s" }
scd2_merge { rows, into = "dim", key = "id", at = "updated_at" }
reconcile { rows, with = "dim" }]])
    assert.equal(0, night(w, 21).status)
    w:source "DELETE FROM s WHERE id = 4"
    says(night(w, 22), "1 row of dim extra", "id 4", "deleted at the source?", 'absent = "close"')
  end)

  it("S57 are not said to be deleted where the source still has them", function()
    local w = scene()
    assert.equal(0, night(w, 21).status)
    w:source "UPDATE s SET updated_at = '2025-12-01 00:00:00' WHERE id = 3"
    local r = night(w, 22)
    says(r, "1 row of t extra", "id 3", "s holds all of them, outside these rows")
    assert.is_nil(r.err:find("deleted at the source", 1, true), r.err)
  end)

  it("S57 are not named without a key; what is known is said", function()
    local w = pair.new { source = S .. ROWS, warehouse = T .. ROWS:gsub("INTO s", "INTO t") }
    w:job("j", 'job {}\nreconcile { extract { from = "s" }, with = "t" }')
    w:source "DELETE FROM s WHERE id = 3"
    says(night(w, 22), "rows 3 <> 4", "t has more rows", "deleted at the source?", 'key = "..."', "delete_missing")
  end)

  it("S57 are not blamed where rows are missing or differ", function()
    local w = scene(nil, ', sum = "v"')
    assert.equal(0, night(w, 21).status)
    w:warehouse "UPDATE t SET v = 11 WHERE id = 1"
    w:job("j", JOB:format('insert_new { rows, into = "t", key = "id" }', ', sum = "v"'))
    local r = night(w, 22)
    says(r, "v 100 <> 101", "such as a trigger on t")
    assert.is_nil(r.err:find("deleted at the source", 1, true), r.err)
    assert.is_nil(r.err:find("extra", 1, true), r.err)
  end)
end)
