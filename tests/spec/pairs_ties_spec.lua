-- The start of a window on the newest value, on every pair: a row that comes
-- later with the saved value is not lost (S55), and nothing before start is read (S52).
local pairs_of = require "pairs"

local function job(mark, write, by)
  return ([[
job { grain = "day" }
local rows = extract { from = "s", by = "%s", window = window { since = watermark { %sadvance = "newest" } } }
%s
]]):format(by or "updated_at", mark, write)
end
local MERGE = 'merge { rows, into = "t", key = "id" }'
local INSERT = 'insert_new { rows, into = "t", key = "id" }'
local function ids(w) return table.concat(w:rows "SELECT id FROM t ORDER BY id", ",") end
local function read(w) return tonumber(w:last_run().rows_read) end

-- Two rows at the mark, then a third with the same value.
local function tie(w, text, third)
  w:job("j", text):ok("j.lua", "--run-start", "2026-02-01")
  w:source(third or "INSERT INTO s VALUES (3,'c','2026-01-01 10:00:00')")
  return w:ok("j.lua", "--run-start", "2026-02-02")
end

pairs_of.each("S55 a later row with the saved value", function(pair)
  local TWO = "INSERT INTO s VALUES (1,'a','2026-01-01 10:00:00'), (2,'b','2026-01-01 10:00:00');"

  for name, write in pairs {
    merge = MERGE,
    overwrite_partition = 'overwrite_partition { rows, into = "t" }',
    ["a mapped merge"] = 'merge { rows:map(function(row) return row end), into = "t", key = "id" }',
  } do
    it("is read by " .. name, function()
      local w = pair.only(TWO)
      local r = tie(w, job("", write))
      assert.equal("1,2,3", ids(w))
      assert.is_truthy(r.out:find("[2026-01-01 10:00:00, 2026-01-01 10:00:00]", 1, true), r.out)
      local before = w:rows "SELECT * FROM t ORDER BY id"
      w:ok("j.lua", "--run-start", "2026-02-02")
      assert.same(before, w:rows "SELECT * FROM t ORDER BY id")
    end)
  end

  it("is read by full_load and swap, which hold the rows of the window alone", function()
    for _, write in ipairs { 'full_load { rows, into = "t" }', 'swap { rows, into = "t", check = function() return true end }' } do
      local w = pair.only(TWO)
      tie(w, job("", write))
      assert.equal("1,2,3", ids(w))
    end
  end)

  it("is read by scd2_merge and apply_changes", function()
    local w = pair.only(TWO)
    tie(w, job("", 'scd2_merge { rows, into = "t", key = "id", track = "v", at = "updated_at" }'))
    assert.equal("1,2,3", ids(w))
    local c = pair.new { source = [[CREATE TABLE s(id INTEGER, v TEXT, op TEXT, seq {bigint}, updated_at TIMESTAMP);
      INSERT INTO s VALUES (1,'a','I',1,'2026-01-01 10:00:00');]] }
    tie(c, job("", 'apply_changes { rows, into = "t", key = "id", op = "op", order = "seq" }'),
        "INSERT INTO s VALUES (3,'c','I',2,'2026-01-01 10:00:00')")
    assert.equal("1,3", ids(c))
  end)

  it("is read with microseconds, dates, whole numbers and text", function()
    for type, value in pairs { TIMESTAMP = "'2026-01-01 10:00:00.123456'", DATE = "'2026-01-01'", ["{bigint}"] = "7",
                               TEXT = "'2026-01-01T10:00:00'" } do
      local w = pair.new { source = ("CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT, at %s NOT NULL);" ..
        "INSERT INTO s VALUES (1,'a',%s);"):format(type, value) }
      tie(w, job("", MERGE, "at"), "INSERT INTO s VALUES (2,'b'," .. value .. ")")
      assert.equal("1,2", ids(w), type)
      assert.equal(2, read(w), type)
    end
  end)

  it("is read where it is written in another form, and in a zone", function()
    local forms = pair.source == "sqlite" and { TEXT = { "'2026-01-01T10:00:00'", "'2026-01-01 10:00:00'" }, TIMESTAMP = { "'2026-01-01 10:00:00Z'", "'2026-01-01 11:00:00+01:00'" } }
      or { timestamptz = { "'2026-01-01 10:00:00+00'", "'2026-01-01 11:00:00+01'" }, text = { "'2026-01-01T10:00:00'", "'2026-01-01 10:00:00'" } }
    for type, values in pairs(forms) do
      for _, write in ipairs { MERGE, 'overwrite_partition { rows, into = "t" }' } do
        local w = pair.new { source = ("CREATE TABLE s(id INTEGER PRIMARY KEY, at %s NOT NULL); INSERT INTO s VALUES (1,%s);"):format(type, values[1]) }
        tie(w, (job("", write, "at"):gsub('grain = "day"', 'grain = "day", zone = "Europe/Berlin"')), "INSERT INTO s VALUES (2," .. values[2] .. ")")
        assert.equal("1,2", ids(w), type)
        w:ok("j.lua", "--run-start", "2026-02-02")
        assert.equal("1,2", ids(w), type)
      end
    end
  end)

  it("is not read by insert_new, nor with closed = false; it is with closed = true", function()
    for text, want in pairs { [job("", INSERT)] = "1,2", [job("closed = false, ", MERGE)] = "1,2", [job("closed = true, ", INSERT)] = "1,2,3" } do
      local w = pair.only(TWO)
      local r = tie(w, text)
      assert.equal(want, ids(w))
      local bracket = want == "1,2" and "(" or "["
      assert.is_truthy(r.out:find(bracket .. "2026-01-01 10:00:00, 2026-01-01 10:00:00]", 1, true), r.out)
    end
  end)

  it("is counted by reconcile, and delete_missing looks at the same rows", function()
    local w = pair.only(TWO)
    tie(w, job("", MERGE .. '\ndelete_missing { rows, from = "t", key = "id" }\nreconcile { rows, with = "t", key = "id", deep = true }'))
    assert.same({ "3|3" }, w:rows "SELECT source_value, warehouse_value FROM lrun_checks WHERE metric = 'rows' ORDER BY run_id DESC LIMIT 1")
    w:source "DELETE FROM s WHERE id = 1"
    w:ok("j.lua", "--run-start", "2026-02-03")
    assert.equal("2,3", ids(w))
  end)

  it("takes the row at start on the first run, and says [start, ...]", function()
    local w = pair.only "INSERT INTO s VALUES (1,'a','2025-12-31 23:59:59'), (2,'b','2026-01-01 00:00:00');"
    for _, write in ipairs { MERGE, INSERT } do
      w:job("j", job('start = "2026-01-01", ', write))
      w:ok("j.lua", "--run-start", "2026-02-01")
      assert.equal("2", ids(w))
      assert.equal("2026-01-01 00:00:00", w:watermark())
      w:ok("watermark", "j.lua", "--clear", "--yes")
      w:warehouse "DROP TABLE t"
    end
    w:job("j", job('start = "2026-01-01", closed = false, ', MERGE)):ok("j.lua", "--run-start", "2026-02-01")
    assert.equal("", ids(w))
    assert.equal("0", w:one "SELECT count(*) FROM lrun_watermarks")
  end)

  it("is refused where insert_new and another write take the rows of one window", function()
    for _, order in ipairs { { MERGE, INSERT }, { INSERT, MERGE } } do
      local w = pair.only(TWO)
      local both = order[1] .. "\n" .. order[2]:gsub('"t"', '"u"')
      w:job("j", job("", both))
      for _, command in ipairs { { "j.lua" }, { "plan", "j.lua" } } do
        w:refused(1, { "j.lua:4", 'watermark "default"', "merge", "insert_new", "closed = true" }, table.unpack(command))
      end
      assert.is_false(w:has "t")
      w:job("j", job("closed = true, ", both)):ok("j.lua", "--run-start", "2026-02-01")
      w:source "INSERT INTO s VALUES (3,'c','2026-01-01 10:00:00')"
      w:ok("j.lua", "--run-start", "2026-02-01")
      assert.equal("1,2,3", ids(w))
      assert.equal("3", w:one "SELECT count(*) FROM u")
    end
  end)

  it("is in what a job counts before its first write", function()
    for write, want in pairs { [MERGE] = "1,2,3", [INSERT] = "1,2,3" } do
      local w = pair.only(TWO)
      local r = tie(w, job("", "print('rows ' .. rows:count())\n" .. write))
      assert.is_truthy(r.out:find("rows 3", 1, true), r.out)
      assert.equal(want, ids(w))
    end
  end)

  it("needs no word with a lookback, and closed needs newest", function()
    local w = pair.only(TWO)
    w:job("j", (job("", MERGE .. "\n" .. INSERT:gsub('"t"', '"u"')):gsub("} } }", "}, lookback = days(1) } }")))
    w:ok("j.lua", "--run-start", "2026-02-01")
    w:job("k", 'job {}\nlocal m = watermark { closed = false }'):refused(1, { "k.lua:2", "closed", "newest" }, "k.lua")
  end)
end)

pairs_of.each("S52 start is a floor", function(pair)
  local FOUR = [[INSERT INTO s VALUES (1,'a','2025-12-30 00:00:00'), (2,'b','2025-12-31 23:59:59'), (3,'c','2026-01-01 00:00:00'),
    (4,'d','2026-01-02 00:00:00');]]
  local function text(mark, write)
    return ([[
job {}
local rows = extract { from = "s", by = "updated_at", window = window { since = watermark { start = "2026-01-01"%s }, lookback = days(5) } }
%s]]):format(mark, write)
  end

  for name, mark in pairs { run_start = "", newest = ', advance = "newest"' } do
    it("of a lookback, with " .. name, function()
      for _, write in ipairs { MERGE, INSERT, 'overwrite_partition { rows, into = "t" }' } do
        local w = pair.with(FOUR, "INSERT INTO t VALUES (1,'kept','2025-12-30 00:00:00');")
        w:job("j", text(mark, write))
        w:ok("j.lua", "--run-start", "2026-01-03")
        w:ok("j.lua", "--run-start", "2026-01-03")
        assert.equal("1,3,4", ids(w))
        assert.equal("kept", w:one "SELECT v FROM t WHERE id = 1")
        assert.is_truthy(w:one("SELECT window_start FROM lrun_windows ORDER BY run_id DESC LIMIT 1"):find "^2026%-01%-01")
      end
    end)

    it("of rows that delete_missing deletes, with " .. name, function()
      local w = pair.with(FOUR, "INSERT INTO t VALUES (9,'kept','2025-12-30 00:00:00'), (8,'gone','2026-01-02 00:00:00');")
      w:job("j", text(mark, MERGE .. '\ndelete_missing { rows, from = "t", key = "id", at_most = 5 }'))
      w:ok("j.lua", "--run-start", "2026-01-03")
      w:ok("j.lua", "--run-start", "2026-01-03")
      assert.equal("3,4,9", ids(w))
    end)

    it("of a mark set back by hand, which is said, with " .. name, function()
      local w = pair.only(FOUR)
      w:job("j", text(mark, MERGE)):ok("j.lua", "--run-start", "2026-01-03")
      w:ok("watermark", "j.lua", "--set", "2025-12-01", "--yes")
      local r = w:ok("j.lua", "--run-start", "2026-01-03")
      assert.equal("3,4", ids(w))
      assert.is_truthy((r.out .. r.err):find('watermark "default" is 2025-12-01, and start = "2026-01-01" is later', 1, true), r.out .. r.err)
    end)

    it("not of a run with a logical date, with " .. name, function()
      local w = pair.only(FOUR)
      w:job("j", text(mark, MERGE)):ok("j.lua", "--logical-date", "2025-12-30")
      assert.equal("1", ids(w))
    end)
  end

  it("of whole numbers and of seconds since 1970", function()
    local w = pair.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, seq {bigint} NOT NULL); INSERT INTO s VALUES (1,10), (2,20), (3,30);" }
    w:job("j", [[
job {}
merge { extract { from = "s", by = "seq", window = window { since = watermark { start = 20, advance = "newest" }, lookback = 100 } },
        into = "t", key = "id" }]])
    w:ok "j.lua"
    w:ok "j.lua"
    assert.equal("2,3", ids(w))
    w:source "UPDATE s SET seq = 1735689600 - 10 WHERE id = 1; UPDATE s SET seq = 1735689600 WHERE id = 2; UPDATE s SET seq = 1735689605 WHERE id = 3"
    w:job("k", [[
job {}
merge { extract { from = "s", by = "seq", time = "unix",
                  window = window { since = watermark { start = "2025-01-01", advance = "newest" }, lookback = days(1) } },
        into = "k", key = "id" }]])
    w:ok "k.lua"
    w:ok "k.lua"
    assert.same({ "2", "3" }, w:rows "SELECT id FROM k ORDER BY id")
    w:job("k", [[
job {}
merge { extract { from = "s", by = "seq", window = window { since = watermark { "n", start = "2025-01-01", advance = "newest" } } },
        into = "k2", key = "id" }]])
    w:refused(1, { "start", "s.seq", "numbers", "start = 0" }, "k.lua")
  end)

  it("of instants, as the job's zone reads it", function()
    local type = pair.source == "sqlite" and "TIMESTAMP" or "timestamptz"
    for _, mark in ipairs { "", ', advance = "newest"' } do
      local w = pair.new { source = ("CREATE TABLE s(id INTEGER PRIMARY KEY, updated_at %s NOT NULL);" ..
        "INSERT INTO s VALUES (1,'2025-12-31 22:59:59+00:00'), (2,'2025-12-31 23:00:00+00:00'), (3,'2026-01-01 10:00:00+00:00');"):format(type) }
      w:job("j", (text(mark, MERGE):gsub("job {}", 'job { zone = "Europe/Berlin" }')))
      w:ok("j.lua", "--run-start", "2026-01-03")
      w:ok("j.lua", "--run-start", "2026-01-03")
      assert.equal("2,3", ids(w))
    end
  end)

  it("later than run_start is refused, and the message names start", function()
    local w = pair.only(FOUR)
    w:job("j", (text("", MERGE):gsub("2026%-01%-01", "2027-01-01")))
    w:refused(1, { "start", "2027-01-01" }, "j.lua", "--run-start", "2026-01-03")
  end)
end)
