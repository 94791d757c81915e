-- The watermark: where it begins, what moves it, and what never does.
local world = require "world"

local function job(inside, more)
  return ([[
job { grain = "day" }
local rows = extract { from = "t", by = "updated_at", window = window { since = watermark%s } }
merge { rows, into = "t", key = "id" }
]]):format(inside) .. (more or "")
end
local NEWEST = job ' { advance = "newest" }'
local PLAIN = job "()"

local IDS = "SELECT group_concat(id) FROM (SELECT id FROM t ORDER BY id)"

describe("a watermark of run_start", function()
  it("reads all before the first run, then each window once", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2020-01-01 00:00:00'), (2,'b','2026-01-01 09:59:59.999999'), (3,'c','2026-01-01 10:00:00');"
    w:job("j", PLAIN)
    w:ok("j.lua", "--run-start", "2026-01-01 10:00:00")
    assert.equal("1,2", w:one(IDS))
    assert.equal("2026-01-01 10:00:00", w:watermark())
    w:ok("j.lua", "--run-start", "2026-01-01 11:00:00")
    assert.equal("1,2,3", w:one(IDS))
    assert.equal("1", w:last_run().rows_read)
    assert.equal("2026-01-01 11:00:00", w:watermark())
  end)

  it("takes ties at the mark in the next window and loses none (S03)", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01 10:00:00'), (2,'b','2026-01-01 10:00:00');"
    w:job("j", PLAIN)
    w:ok("j.lua", "--run-start", "2026-01-01 10:00:00")
    assert.equal("NULL", w:one(IDS))
    w:source "INSERT INTO t VALUES (3,'c','2026-01-01 10:00:00')"
    w:ok("j.lua", "--run-start", "2026-01-01 10:00:01")
    assert.equal("1,2,3", w:one(IDS))
    w:ok("j.lua", "--run-start", "2026-01-01 10:00:02")
    local run = w:last_run()
    assert.equal("0 0 0", run.rows_read .. " " .. run.rows_inserted .. " " .. run.rows_updated)
  end)

  it("begins at start where one is given", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2025-12-31 23:59:59'), (2,'b','2026-01-01 00:00:00');"
    w:job("j", job ' { start = "2026-01-01" }'):ok("j.lua", "--run-start", "2026-01-02")
    assert.equal("2", w:one(IDS))
    assert.equal("2026-01-02", w:watermark())
  end)

  it("moves its window, not itself, by a lookback (S05)", function()
    local w = world.with_t [[INSERT INTO t VALUES (4,'old','2024-01-07 00:00:00'), (5,'old','2024-01-05 00:00:00'), (6,'x','2024-01-09 00:00:00');]]
    w:job("j", PLAIN):ok("j.lua", "--run-start", "2024-01-10")
    w:source [[INSERT INTO t VALUES (9,'late','2024-01-09 12:00:00');
      UPDATE t SET v='new', updated_at='2024-01-08 23:00:00' WHERE id=5; UPDATE t SET v='unseen' WHERE id=4;]]
    w:ok("j.lua", "--run-start", "2024-01-10")
    assert.same({ "4|old", "5|old", "6|x" }, w:rows "SELECT id, v FROM t ORDER BY 1")
    w:job("j", (PLAIN:gsub("watermark%(%)", "watermark(), lookback = days(2)")))
    w:ok("j.lua", "--run-start", "2024-01-11")
    assert.same({ "4|old", "5|new", "6|x", "9|late" }, w:rows "SELECT id, v FROM t ORDER BY 1")
    assert.equal("2024-01-11", w:watermark())
    assert.equal("2024-01-08|2024-01-11", w:one "SELECT window_start, window_stop FROM lrun_windows ORDER BY run_id DESC LIMIT 1")
    assert.equal("3", w:last_run().rows_read)
  end)

  it("never moves back", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01 00:00:00');"
    w:job("j", PLAIN):ok("j.lua", "--run-start", "2026-01-10")
    w:lrun("j.lua", "--run-start", "2026-01-05")
    assert.equal("2026-01-10", w:watermark())
    w:job("j", (PLAIN:gsub("watermark%(%)", "watermark(), lookback = days(30)")))
    w:lrun("j.lua", "--run-start", "2026-01-05")
    assert.equal("2026-01-10", w:watermark())
  end)
end)

describe('a watermark that advances to the newest value', function()
  it("is strict where closed = false: a tie at the mark is not read without a lookback (S03)", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01 10:00:00'), (2,'b','2026-01-01 10:00:00');"
    w:job("j", job ' { advance = "newest", closed = false }')
    w:ok("j.lua", "--run-start", "2026-01-02")
    assert.equal("1,2", w:one(IDS))
    assert.equal("2026-01-01 10:00:00", w:watermark())
    w:source "INSERT INTO t VALUES (3,'c','2026-01-01 10:00:00')"
    w:ok("j.lua", "--run-start", "2026-01-03")
    assert.equal("1,2", w:one(IDS))
    w:job("j", job ' { advance = "newest" }, lookback = minutes(5)')
    w:ok("j.lua", "--run-start", "2026-01-03")
    assert.equal("1,2,3", w:one(IDS))
    assert.equal("2026-01-01 10:00:00", w:watermark())
    w:ok("j.lua", "--run-start", "2026-01-03")
    local run = w:last_run()
    assert.equal("0 0", run.rows_inserted .. " " .. run.rows_updated)
  end)

  for _, fraction in ipairs { ".031153", ".999999", ".500000", "", ".0000001", ".5" } do
    it("keeps the value digit for digit: 13:28:27" .. fraction .. " (S04)", function()
      local at = "2024-05-09 13:28:27" .. fraction
      local w = world.with_t("INSERT INTO t VALUES (1,'a','" .. at .. "');")
      w:job("j", (NEWEST:gsub("merge", "insert_new")))
      w:ok("j.lua", "--run-start", "2024-06-01")
      w:ok("j.lua", "--run-start", "2024-06-01")
      assert.same({ "1|a|" .. at }, w:rows "SELECT * FROM t")
      assert.equal(at, w:watermark())
      assert.equal("0", w:last_run().rows_read)
    end)
  end

  it("prints its window with both ends inside", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-03-03 10:00:00');"
    w:job("j", job ' { start = "2026-03-02 10:00:00", advance = "newest" }')
    local r = w:ok("j.lua", "--run-start", "2026-03-04")
    assert.is_truthy(r.out:find("[2026-03-02 10:00:00, 2026-03-03 10:00:00]", 1, true), r.out)
  end)

  it("does not run into the future: a row of 2099 stops no row of today (S24)", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01 10:00:00'), (2,'far','2099-01-01 00:00:00');"
    w:job("j", NEWEST)
    w:ok("j.lua", "--run-start", "2026-01-02")
    assert.equal("1", w:one(IDS))
    assert.equal("2026-01-01 10:00:00", w:watermark())
    w:source "INSERT INTO t VALUES (3,'c','2026-01-02 10:00:00')"
    w:ok("j.lua", "--run-start", "2026-01-03")
    assert.equal("1,3", w:one(IDS))
  end)

  it("reads rows before 1970 on its first run (S24)", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','1969-12-31 00:00:00'), (2,'b','1970-01-01 00:00:00'), (3,'c','0001-01-01 00:00:00');"
    w:job("j", NEWEST):ok "j.lua"
    assert.equal("1,2,3", w:one(IDS))
    w:job("k", PLAIN):warehouse "DELETE FROM t"
    w:ok "k.lua"
    assert.equal("1,2,3", w:one(IDS))
  end)

  it("is exact as an integer, to 2^63-1 (S19)", function()
    for _, top in ipairs { "9007199254740993", "9223372036854775807" } do
      local w = world.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, seq INTEGER); INSERT INTO s VALUES (1, 5), (2, " .. top .. " - 1);" }
      w:job("j", [[
        job {}
        local rows = extract { from = "s", by = "seq", window = window { since = watermark { start = 0, advance = "newest" } } }
        insert_new { rows, into = "t", key = "id" }
      ]])
      w:ok "j.lua"
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
    local w = world.with_t()
    w:job("j", NEWEST):ok "j.lua"
    assert.is_truthy(w:watermark() ~= "NULL")
    w:source "INSERT INTO t VALUES (1,'a','2026-01-01 10:00:00')"
    w:ok "j.lua"
    w:source "DELETE FROM t"
    w:ok "j.lua"
    assert.equal("2026-01-01 10:00:00", w:watermark())
    assert.equal("1", w:one(IDS))
  end)
end)

describe("a watermark", function()
  it("is not touched by a run with a logical date (S17)", function()
    for _, text in ipairs { PLAIN, NEWEST, job '(), lookback = days(3)' } do
      local w = world.with_t "INSERT INTO t VALUES (1,'a','2023-12-15 00:00:00'), (2,'b','2023-12-15 23:59:59'), (3,'c','2023-12-16 00:00:00');"
      w:job("j", text)
      -- A past day before there is a watermark makes none.
      w:ok("j.lua", "--logical-date", "2023-12-15")
      assert.equal("0", w:one "SELECT count(*) FROM lrun_watermarks")
      assert.equal("1,2", w:one(IDS))
      assert.equal("2023-12-15|2023-12-16", w:one "SELECT window_start, window_stop FROM lrun_windows")
      w:ok("j.lua", "--run-start", "2024-02-01")
      local mark = w:watermark()
      w:ok("j.lua", "--logical-date", "2023-12-15")
      w:ok("j.lua", "--logical-date", "2025-12-15")
      assert.equal(mark, w:watermark())
      w:job("j", text .. "error 'stop'"):lrun("j.lua", "--logical-date", "2023-12-15")
      assert.equal(mark, w:watermark())
      w:job("j", text):ok("j.lua", "--run-start", "2024-02-02")
      if text == PLAIN then
        assert.equal("2024-02-01|2024-02-02", w:one "SELECT window_start, window_stop FROM lrun_windows ORDER BY run_id DESC LIMIT 1")
      end
    end
  end)

  it("is saved only if a write consumed the window's rows", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01 10:00:00');"
    w:job("j", (PLAIN:gsub("merge.*", "print(rows:count())\n")))
    w:ok("j.lua", "--run-start", "2026-01-02")
    assert.equal("0", w:one "SELECT count(*) FROM lrun_watermarks")
  end)

  it("that was saved with other parameters is refused", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01 10:00:00');"
    w:job("j", PLAIN .. 'print(param("region", "none"))\n')
    w:ok("j.lua", "--run-start", "2026-01-02", "--param", "region=EU")
    local state = w:state()
    w:refused(1, { "region", "name" }, "j.lua", "--run-start", "2026-01-03", "--param", "region=US")
    w:refused(1, { "region", "name" }, "j.lua", "--run-start", "2026-01-03")
    assert.equal(state, w:state())
    w:ok("j.lua", "--run-start", "2026-01-03", "--param", "region=EU")
    -- With the parameter in the name each has its own.
    w:job("k", (PLAIN:gsub('job { grain = "day" }', 'job { name = "k_" .. param "region", grain = "day" }')))
    w:ok("k.lua", "--run-start", "2026-01-02", "--param", "region=EU")
    w:ok("k.lua", "--run-start", "2026-01-03", "--param", "region=US")
    assert.same({ "j|2026-01-03", "k_EU|2026-01-02", "k_US|2026-01-03" }, w:rows "SELECT job, value FROM lrun_watermarks ORDER BY 1")
  end)

  it("refuses a write that would make its target anew", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01 10:00:00');"
    w:warehouse "DROP TABLE t"
    w:job("j", PLAIN)
    w:ok("j.lua", "--run-start", "2026-01-02")
    w:warehouse "DROP TABLE t"
    w:refused(1, { "j.lua:3", "t", "watermark", "--clear" }, "j.lua", "--run-start", "2026-01-03")
    assert.equal("0", w:one "SELECT count(*) FROM sqlite_master WHERE name = 't'")
    w:ok("watermark", "j.lua", "--clear", "--yes")
    w:ok("j.lua", "--run-start", "2026-01-03")
    assert.equal("1", w:one(IDS))
  end)

  it("has a name where a job needs two", function()
    local w = world.new { source = [[
      CREATE TABLE a(id INTEGER PRIMARY KEY, at TEXT); INSERT INTO a VALUES (1, '2026-01-01');
      CREATE TABLE b(id INTEGER PRIMARY KEY, at TEXT); INSERT INTO b VALUES (1, '2026-01-01'), (2, '2026-01-03');]] }
    w:job("j", [[
      job { grain = "day" }
      for _, name in ipairs { "a", "b" } do
        merge { extract { from = name, by = "at", window = window { since = watermark(name) } }, into = name, key = "id" }
      end
    ]]):ok("j.lua", "--run-start", "2026-01-02")
    assert.same({ "a|2026-01-02", "b|2026-01-02" }, w:rows "SELECT name, value FROM lrun_watermarks WHERE job = 'j' ORDER BY 1")
    w:ok("j.lua", "--run-start", "2026-01-04")
    assert.equal("1", w:last_run().rows_read)
  end)

  it("serves one window of a run", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01 10:00:00');"
    w:job("j", PLAIN .. [[
local again = extract { from = "t", by = "updated_at", window = window { since = watermark(), lookback = days(1) } }
merge { again, into = "t2", key = "id" }
]])
    w:refused(1, { "j.lua:", "watermark", hint = false }, "j.lua", "--run-start", "2026-01-02")
  end)

  it("is each job's own", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01 10:00:00');"
    w:job("a", PLAIN):ok("a.lua", "--run-start", "2026-01-02")
    w:job("b", PLAIN):ok("b.lua", "--run-start", "2026-01-05")
    assert.same({ "a|2026-01-02", "b|2026-01-05" }, w:rows "SELECT job, value FROM lrun_watermarks ORDER BY 1")
  end)
end)

describe("a watermark in a zone", function()
  it("is an instant, so that the nights of a change of clocks tile", function()
    local w = world.with_t [[INSERT INTO t VALUES (1,'a','2026-03-28T22:59:59Z'), (2,'b','2026-03-28T23:00:00Z'),
      (3,'c','2026-03-29T21:59:59Z'), (4,'d','2026-03-29T22:00:00Z');]]
    w:job("j", (PLAIN:gsub('grain = "day"', 'grain = "day", zone = "Europe/Berlin"')))
    local read = {}
    for i, night in ipairs { "2026-03-29", "2026-03-30", "2026-03-31" } do
      w:ok("j.lua", "--run-start", night)
      read[i] = w:last_run().rows_read
    end
    assert.equal("1 2 1", table.concat(read, " "))
    assert.equal("1,2,3,4", w:one(IDS))
  end)
end)

describe("lrun watermark", function()
  local function world_with_mark()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01 10:00:00'), (2,'b','2026-01-05 10:00:00');"
    w:job("j", PLAIN):ok("j.lua", "--run-start", "2026-01-02")
    return w
  end

  it("shows, sets and clears it", function()
    local w = world_with_mark()
    assert.is_truthy(w:ok("watermark", "j.lua").out:find("2026-01-02", 1, true))
    assert.is_truthy(w:ok("watermark", "j").out:find("2026-01-02", 1, true))
    w:ok("watermark", "j.lua", "--set", "2026-01-06", "--yes")
    assert.equal("2026-01-06", w:watermark())
    w:ok("j.lua", "--run-start", "2026-01-07")
    assert.equal("0", w:last_run().rows_read)
    w:ok("watermark", "j.lua", "--clear", "--yes")
    assert.equal("0", w:one "SELECT count(*) FROM lrun_watermarks")
    w:ok("j.lua", "--run-start", "2026-01-07")
    assert.equal("2", w:last_run().rows_read)
  end)

  it("refuses to set what is no time", function()
    local w = world_with_mark()
    local r = w:lrun("watermark", "j.lua", "--set", "soon", "--yes")
    assert.is_true(r.status == 1 or r.status == 2, r.err)
    assert.equal("2026-01-02", w:watermark())
  end)
end)
