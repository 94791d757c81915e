-- The watermark on every pair: where it begins, what moves it, what never does.
local pairs_of = require "pairs"

local function job(inside, more)
  return ([[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window { since = watermark%s } }
merge { rows, into = "t", key = "id" }
]]):format(inside) .. (more or "")
end
local NEWEST = job ' { advance = "newest" }'
local PLAIN = job "()"
local IDS = "SELECT id FROM t ORDER BY id"
local function ids(w) return table.concat(w:rows(IDS), ",") end
local function window_of(w) return w:one "SELECT window_start, window_stop FROM lrun_windows ORDER BY run_id DESC LIMIT 1" end

pairs_of.each("a watermark of run_start", function(pair)
  it("reads all before the first run, then each window once", function()
    local w = pair.only "INSERT INTO s VALUES (1,'a','2020-01-01 00:00:00'), (2,'b','2026-01-01 09:59:59.999999'), (3,'c','2026-01-01 10:00:00');"
    w:job("j", PLAIN)
    w:ok("j.lua", "--run-start", "2026-01-01 10:00:00")
    assert.equal("1,2", ids(w))
    assert.equal("2026-01-01 10:00:00", w:watermark())
    w:ok("j.lua", "--run-start", "2026-01-01 11:00:00")
    assert.equal("1,2,3", ids(w))
    assert.equal("1", w:last_run().rows_read)
    assert.equal("2026-01-01 11:00:00", w:watermark())
    assert.equal("2026-01-01 10:00:00|2026-01-01 11:00:00", window_of(w))
  end)

  it("takes ties at the mark in the next window and loses none (S03)", function()
    local w = pair.only "INSERT INTO s VALUES (1,'a','2026-01-01 10:00:00'), (2,'b','2026-01-01 10:00:00');"
    w:job("j", PLAIN):ok("j.lua", "--run-start", "2026-01-01 10:00:00")
    assert.equal("", ids(w))
    w:source "INSERT INTO s VALUES (3,'c','2026-01-01 10:00:00')"
    w:ok("j.lua", "--run-start", "2026-01-01 10:00:01")
    assert.equal("1,2,3", ids(w))
    w:ok("j.lua", "--run-start", "2026-01-01 10:00:02")
    local run = w:last_run()
    assert.equal("0 0 0", run.rows_read .. " " .. run.rows_inserted .. " " .. run.rows_updated)
  end)

  it("moves its window, not itself, by a lookback (S05)", function()
    local w = pair.with [[INSERT INTO s VALUES (4,'old','2024-01-07 00:00:00'), (5,'old','2024-01-05 00:00:00'), (6,'x','2024-01-09 00:00:00');]]
    w:job("j", PLAIN):ok("j.lua", "--run-start", "2024-01-10")
    w:source [[INSERT INTO s VALUES (9,'late','2024-01-09 12:00:00');
      UPDATE s SET v='new', updated_at='2024-01-08 23:00:00' WHERE id=5; UPDATE s SET v='unseen' WHERE id=4;]]
    -- Without a lookback neither comes, and a comparison of the days says so.
    w:ok("j.lua", "--run-start", "2024-01-10")
    assert.same({ "4|old", "5|old", "6|x" }, w:rows "SELECT id, v FROM t ORDER BY id")
    w:job("check", 'job {}\nreconcile { extract { from = "s", by = "updated_at", window = window("2024-01-01", "2024-01-11") }, with = "t" }')
    w:refused(3, { "check.lua:2", "t", "3", hint = false }, "check.lua")
    w:job("j", (PLAIN:gsub("watermark%(%)", "watermark(), lookback = days(2)")))
    w:ok("j.lua", "--run-start", "2024-01-11")
    assert.same({ "4|old", "5|new", "6|x", "9|late" }, w:rows "SELECT id, v FROM t ORDER BY id")
    assert.equal("2024-01-11", w:watermark())
    assert.equal("2024-01-08|2024-01-11", window_of(w))
    assert.equal("3 1 1", ("%s %s %s"):format(w:last_run().rows_read, w:last_run().rows_inserted, w:last_run().rows_updated))
    w:ok "check.lua"
  end)

  it("begins at start where one is given, and never moves back", function()
    local w = pair.only "INSERT INTO s VALUES (1,'a','2025-12-31 23:59:59'), (2,'b','2026-01-01 00:00:00');"
    w:job("j", job ' { start = "2026-01-01" }'):ok("j.lua", "--run-start", "2026-01-10")
    assert.equal("2", ids(w))
    w:lrun("j.lua", "--run-start", "2026-01-05")
    assert.equal("2026-01-10", w:watermark())
  end)
end)

pairs_of.each("a watermark that advances to the newest value", function(pair)
  it("is strict where closed = false: a tie at the mark needs a lookback (S03)", function()
    local w = pair.only "INSERT INTO s VALUES (1,'a','2026-01-01 10:00:00'), (2,'b','2026-01-01 10:00:00');"
    w:job("j", job ' { advance = "newest", closed = false }'):ok("j.lua", "--run-start", "2026-01-02")
    assert.equal("1,2", ids(w))
    assert.equal("2026-01-01 10:00:00", w:watermark())
    w:source "INSERT INTO s VALUES (3,'c','2026-01-01 10:00:00')"
    w:ok("j.lua", "--run-start", "2026-01-03")
    assert.equal("1,2", ids(w))
    w:job("j", job ' { advance = "newest" }, lookback = minutes(5)'):ok("j.lua", "--run-start", "2026-01-03")
    assert.equal("1,2,3", ids(w))
    assert.equal("2026-01-01 10:00:00", w:watermark())
    w:ok("j.lua", "--run-start", "2026-01-03")
    assert.equal("0 0", w:last_run().rows_inserted .. " " .. w:last_run().rows_updated)
  end)

  for _, fraction in ipairs { ".031153", ".999999", ".500000", "" } do
    it("keeps the value to the microsecond: 13:28:27" .. fraction .. " (S04)", function()
      local at = "2024-05-09 13:28:27" .. fraction
      local w = pair.only("INSERT INTO s VALUES (1,'a','" .. at .. "');")
      w:job("j", (NEWEST:gsub("merge", "insert_new")))
      w:ok("j.lua", "--run-start", "2024-06-01")
      w:ok("j.lua", "--run-start", "2024-06-01")
      assert.equal("0", w:last_run().rows_read)
      local function digits(text) return (text:gsub("(%.%d-)0+$", "%1"):gsub("%.$", "")) end
      assert.equal(digits(at), digits(w:watermark()))
      assert.equal("1|" .. digits(at), digits(w:one "SELECT id, updated_at FROM t"))
      -- The next microsecond is newer.
      local seconds, micro = 27, (tonumber(fraction:sub(2)) or 0) + 1
      if micro == 1000000 then seconds, micro = 28, 0 end
      w:source(("INSERT INTO s VALUES (2,'b','2024-05-09 13:28:%02d.%06d')"):format(seconds, micro))
      w:ok("j.lua", "--run-start", "2024-06-01")
      assert.equal("1 1", w:last_run().rows_read .. " " .. w:last_run().rows_inserted)
    end)
  end

  it("does not run into the future: a row of 2099 stops no row of today (S24)", function()
    local w = pair.only "INSERT INTO s VALUES (1,'a','2026-01-01 10:00:00'), (2,'far','2099-01-01 00:00:00');"
    w:job("j", NEWEST):ok("j.lua", "--run-start", "2026-01-02")
    assert.equal("1", ids(w))
    assert.equal("2026-01-01 10:00:00", w:watermark())
    w:source "INSERT INTO s VALUES (3,'c','2026-01-02 10:00:00')"
    w:ok("j.lua", "--run-start", "2026-01-03")
    assert.equal("1,3", ids(w))
  end)

  it("reads rows before 1970 on its first run (S24)", function()
    for _, text in ipairs { NEWEST, PLAIN } do
      local w = pair.only "INSERT INTO s VALUES (1,'a','1969-12-31 00:00:00'), (2,'b','1970-01-01 00:00:00'), (3,'c','0001-01-01 00:00:00');"
      w:job("j", text):ok "j.lua"
      assert.equal("1,2,3", ids(w))
    end
  end)

  it("is exact as an integer, to 2^63-1 (S19)", function()
    for _, top in ipairs { "9007199254740993", "9223372036854775807" } do
      local w = pair.new { source = ("CREATE TABLE s(id INTEGER PRIMARY KEY, seq {bigint}); INSERT INTO s VALUES (1, 5), (2, %s - 1);"):format(top) }
      w:job("j", [[
        job {}
        local rows = extract { from = "s", by = "seq", window = window { since = watermark { start = 0, advance = "newest" } } }
        insert_new { rows, into = "t", key = "id" }
      ]]):ok "j.lua"
      w:source("INSERT INTO s VALUES (3, " .. top .. ")")
      w:ok "j.lua"
      assert.equal("1", w:last_run().rows_read)
      assert.equal(top, w:watermark())
      assert.same({ "5", (top:gsub("%d$", function(d) return tostring(d - 1) end)), top }, w:rows "SELECT seq FROM t ORDER BY id")
      w:ok "j.lua"
      assert.equal("0", w:last_run().rows_read)
    end
  end)

  it("stays where it is when nothing is newer", function()
    local w = pair.with()
    w:job("j", NEWEST):ok "j.lua"
    assert.is_truthy(w:watermark() ~= "NULL")
    w:source "INSERT INTO s VALUES (1,'a','2026-01-01 10:00:00')"
    w:ok "j.lua"
    w:source "DELETE FROM s"
    w:ok "j.lua"
    assert.equal("2026-01-01 10:00:00", w:watermark())
    assert.equal("1", ids(w))
  end)
end)

pairs_of.each("a watermark", function(pair)
  it("is not touched by a run with a logical date (S17)", function()
    for _, text in ipairs { PLAIN, NEWEST } do
      local w = pair.only "INSERT INTO s VALUES (1,'a','2023-12-15 00:00:00'), (2,'b','2023-12-15 23:59:59'), (3,'c','2023-12-16 00:00:00');"
      w:job("j", text)
      w:ok("j.lua", "--logical-date", "2023-12-15")
      assert.equal("0", w:one "SELECT count(*) FROM lrun_watermarks")
      assert.equal("1,2", ids(w))
      assert.equal("2023-12-15|2023-12-16", window_of(w))
      w:ok("j.lua", "--run-start", "2024-02-01")
      local mark = w:watermark()
      w:ok("j.lua", "--logical-date", "2023-12-15")
      w:job("j", text .. "error 'stop'"):lrun("j.lua", "--logical-date", "2023-12-15")
      assert.equal(mark, w:watermark())
    end
  end)

  it("is saved only if a write consumed the window's rows", function()
    local w = pair.with "INSERT INTO s VALUES (1,'a','2026-01-01 10:00:00');"
    w:job("j", (PLAIN:gsub("merge.*", "print(rows:count())\n"))):ok("j.lua", "--run-start", "2026-01-02")
    assert.equal("0", w:one "SELECT count(*) FROM lrun_watermarks")
  end)

  it("that was saved with other parameters is refused", function()
    local w = pair.with "INSERT INTO s VALUES (1,'a','2026-01-01 10:00:00');"
    w:job("j", PLAIN .. 'print(param("region", "none"))\n')
    w:ok("j.lua", "--run-start", "2026-01-02", "--param", "region=EU")
    local state = w:state()
    w:refused(1, { "region", "name" }, "j.lua", "--run-start", "2026-01-03", "--param", "region=US")
    assert.equal(state, w:state())
    w:ok("j.lua", "--run-start", "2026-01-03", "--param", "region=EU")
  end)

  it("refuses a write that would make its target anew", function()
    local w = pair.only "INSERT INTO s VALUES (1,'a','2026-01-01 10:00:00');"
    w:job("j", PLAIN):ok("j.lua", "--run-start", "2026-01-02")
    w:warehouse "DROP TABLE t"
    w:refused(1, { "j.lua:3", "t", "watermark", "--clear" }, "j.lua", "--run-start", "2026-01-03")
    assert.is_false(w:has "t")
    w:ok("watermark", "j.lua", "--clear", "--yes")
    w:ok("j.lua", "--run-start", "2026-01-03")
    assert.equal("1", ids(w))
  end)

  it("is shown, set and cleared", function()
    local w = pair.with "INSERT INTO s VALUES (1,'a','2026-01-01 10:00:00'), (2,'b','2026-01-05 10:00:00');"
    w:job("j", PLAIN):ok("j.lua", "--run-start", "2026-01-02")
    assert.is_truthy(w:ok("watermark", "j.lua").out:find("2026-01-02", 1, true))
    assert.is_truthy(w:ok("status", "j.lua").out:find("2026-01-02", 1, true))
    w:ok("watermark", "j.lua", "--set", "2026-01-06", "--yes")
    assert.equal("2026-01-06", w:watermark())
    w:ok("j.lua", "--run-start", "2026-01-07")
    assert.equal("0", w:last_run().rows_read)
    w:ok("watermark", "j.lua", "--clear", "--yes")
    assert.equal("0", w:one "SELECT count(*) FROM lrun_watermarks")
    w:ok("j.lua", "--run-start", "2026-01-07")
    assert.equal("2", w:last_run().rows_read)
  end)

  it("is each job's own, and each name's", function()
    local w = pair.with "INSERT INTO s VALUES (1,'a','2026-01-01 10:00:00');"
    w:job("a", PLAIN):ok("a.lua", "--run-start", "2026-01-02")
    w:job("b", (PLAIN:gsub("watermark%(%)", 'watermark "other"'))):ok("b.lua", "--run-start", "2026-01-05")
    assert.same({ "a|2026-01-02", "b|2026-01-05" }, w:rows "SELECT job, value FROM lrun_watermarks ORDER BY 1")
    assert.same({ "other" }, w:rows "SELECT name FROM lrun_watermarks WHERE job = 'b'")
  end)
end)
