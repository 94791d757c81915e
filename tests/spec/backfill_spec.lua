-- lrun backfill on the example shop and on SQLite files: the chapter's figures,
-- what is refused before anything is opened, other grains and zones, what a
-- terminal and a pipe get, and what a full disk leaves.
local files = require "files"
local process = require "process"
local shop = require "shop"
local sqlite = require "sqlite"
local world = require "world"

local RANGE = { "--from", "2026-01-19", "--to", "2026-01-21" }

describe("lrun backfill jobs/orders.lua", function()
  it("prints the chapter's three days against the source", function()
    local s = shop.new()
    local r = s:ok("backfill", "jobs/orders.lua", table.unpack(RANGE))
    local lines = {}
    for line in r.out:gmatch "[^\n]+" do lines[#lines + 1] = line:gsub("%d+ ms", "N ms") end
    assert.same({
      "backfill orders  2026-01-19 .. 2026-01-21   3 days, oldest first   warehouse sqlite:examples/warehouse.db",
      "[1/3] 2026-01-19  ok        rows 1 = 1   amount 35.00 = 35.00   N ms",
      "[2/3] 2026-01-20  ok        rows 1 = 1   amount 22.00 = 22.00   N ms",
      "[3/3] 2026-01-21  ok        rows 1 = 1   amount 70.00 = 70.00   N ms",
      "ok   backfill 1   3 days done   N ms" }, lines)
    assert.same({ "6|242.50", "6|242.50" }, { s:totals() })
  end)

  it("says nothing with -q, and one object per line with --json", function()
    local s = shop.new()
    local r = s:ok("backfill", "-q", "jobs/orders.lua", table.unpack(RANGE))
    assert.equal("", r.out .. r.err)
    r = s:ok("backfill", "--json", "--again", "jobs/orders.lua", table.unpack(RANGE))
    local events = {}
    for line in r.out:gmatch "[^\n]+" do
      assert.is_truthy(line:find '^{"event":"[a-z]+","v":1,.*}$', line)
      local event = line:match '"event":"(%a+)"'
      events[event] = (events[event] or 0) + 1
    end
    assert.equal("1 3 1", ("%d %d %d"):format(events.backfill, events.date, events.result))
    assert.is_truthy(r.out:find '"event":"check".-"logical_date":"2026%-01%-20".-"source_value":"22.00"', r.out)
  end)

  it("shows a bar on a terminal, redrawn in place, and none in a pipe", function()
    local s = shop.new()
    local command = ("%s backfill jobs/orders.lua --from 2025-01-01 --to 2026-01-21"):format(process.quote(world.bin))
    local seen = process.sh(("TERM=xterm script -qec %s /dev/null"):format(process.quote(command)), { cwd = s.dir }).out
    assert.is_truthy(seen:find("\r\27[K[#", 1, true), seen:sub(1, 400))
    assert.is_truthy(seen:find "%] %d+/386 days", seen:sub(1, 400))
    assert.is_truthy(seen:find(" left", 1, true))
    local piped = s:ok("backfill", "jobs/orders.lua", "--again", "--from", "2025-01-01", "--to", "2026-01-21").out
    assert.is_nil(piped:find("\r", 1, true))
    assert.is_nil(piped:find("[#", 1, true))
  end)
end)

describe("a range is refused before anything is opened:", function()
  local function nothing_opened(words, ...)
    local w = world.new { warehouse = false, source = world.T }
    w:job("j", 'job { grain = "day" }\nlocal rows = extract { from = "t", by = "updated_at", window = window() }\n' ..
      'overwrite_partition { rows, into = "t" }\nreconcile { rows, with = "t" }\n')
    for _, command in ipairs { "backfill", "plan", "reconcile" } do
      w:refused(2, words, command, "j.lua", ...)
      assert.is_false(files.exists(w.warehouse_file), command)
    end
  end
  it("a day that does not exist", function() nothing_opened({ "--to", "2026-02-29" }, "--from", "2026-02-01", "--to", "2026-02-29") end)
  it("a date that is not written in full", function() nothing_opened({ "--from", "2026-1-5" }, "--from", "2026-1-5", "--to", "2026-01-06") end)
  it("a last date before the first", function() nothing_opened({ "2026-01-18", "before", "2026-01-19" }, "--from", "2026-01-19", "--to", "2026-01-18") end)
  it("one end only", function() nothing_opened({ "--from and --to" }, "--from", "2026-01-19") end)
  it("no range", function()
    local w = world.new { warehouse = false }
    w:job("j", "job {}\n")
    for _, command in ipairs { "backfill", "reconcile" } do w:refused(2, { "--from and --to" }, command, "j.lua") end
  end)
  it("a logical date beside it", function()
    local w = world.new {}
    w:job("j", "job {}\n"):refused(2, { "logical-date" }, "backfill", "j.lua", "--logical-date", "2026-01-01", table.unpack(RANGE))
  end)
  it("a day that is not over", function()
    local today = os.date "!%Y-%m-%d"
    nothing_opened({ today, "--allow-open" }, "--from", today, "--to", today)
  end)
  it("more than 10,000 runs without --yes", function() nothing_opened({ "--yes", "runs" }, "--from", "1980-01-01", "--to", "2026-01-01") end)
  it("a job that does not parse", function()
    local w = world.new { warehouse = false }
    w:job("j", "job {"):refused(2, { "j.lua", hint = false }, "backfill", "j.lua", table.unpack(RANGE))
    assert.is_false(files.exists(w.warehouse_file))
  end)
end)

describe("a backfill of", function()
  local ROWS = [[CREATE TABLE e(id INTEGER PRIMARY KEY, at TIMESTAMP NOT NULL, amount DECIMAL(10,2));
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 24 * 70)
      INSERT INTO e SELECT i, datetime('2026-02-20', i || ' hours'), i / 4.0 FROM n;]]
  local function scene(head)
    return world.new { source = ROWS }:job("j", "job { " .. head .. [[ }
      local rows = extract { from = "e", by = "at", window = window() }
      overwrite_partition { rows, into = "t" }
      reconcile { rows, with = "t", sum = "amount" }]])
  end
  -- A time without a zone is a reading of the zone's wall clock; 02:00 of the
  -- night that skips it is the first moment after the gap.
  local cases = {
    { "hours over a change of clocks", 'grain = "hour", zone = "Europe/Berlin"', "2026-03-29T00", "2026-03-29T23", 24 },
    { "days of a local zone", 'grain = "day", zone = "Europe/Berlin"', "2026-03-28", "2026-03-30", 72 },
    { "weeks from Monday", 'grain = "week", zone = "America/New_York"', "2026-03-02", "2026-03-09", 24 * 14 },
    { "months", 'grain = "month", zone = "Asia/Kathmandu"', "2026-03", "2026-04", 24 * 61 },
  }
  for _, case in ipairs(cases) do
    it(case[1], function()
      local w = scene(case[2])
      local r = w:ok("backfill", "j.lua", "--from", case[3], "--to", case[4])
      assert.equal(tostring(case[5]), w:one "SELECT count(*) FROM t", r.out)
      assert.equal("0", w:one "SELECT count(*) - count(DISTINCT id) FROM t")
      w:ok("reconcile", "j.lua", "--from", case[3], "--to", case[4])
      assert.is_truthy(w:ok("backfill", "j.lua", "--from", case[3], "--to", case[4]).out:find("nothing to do", 1, true))
    end)
  end

  it("a date that is not the grain's first is refused with the right one", function()
    scene('grain = "week"'):refused(2, { "--from", "2026-03-02" }, "backfill", "j.lua", "--from", "2026-03-04", "--to", "2026-03-09")
  end)

  it("a job that stages rows in every run", function()
    local w = world.new { source = ROWS }
    w:job("j", [[job { grain = "day" }
      local rows = extract { from = "e", by = "at", window = window() }:map(function(r) r.amount = "1.00" return r end)
      overwrite_partition { rows, into = "t" }
      reconcile { rows, with = "t", sum = "amount" }]])
    w:ok("backfill", "j.lua", "--from", "2026-03-01", "--to", "2026-03-10")
    assert.equal("240|240", w:one "SELECT count(*), sum(amount) FROM t")
    assert.equal(0, w:lrun("reconcile", "j.lua", "--from", "2026-03-01", "--to", "2026-03-10").status)
  end)

  it("jobs whose check lets a difference pass says so, and goes on", function()
    local s = shop.new()
    s:write("jobs/orders.lua", files.read(s:path "jobs/orders.lua"):gsub('sum = "amount" }', 'sum = "amount", fail = false }'))
    s:warehouse "CREATE TRIGGER lose AFTER INSERT ON dw_orders BEGIN DELETE FROM dw_orders WHERE order_date = '2026-01-20'; END"
    local r = s:ok("backfill", "jobs/orders.lua", table.unpack(RANGE))
    assert.is_truthy(r.out:find("2026-01-20  differs", 1, true), r.out)
    assert.is_truthy(r.out:find("kept: fail = false", 1, true), r.out)
  end)
end)

describe("a backfill that meets a full disk", function()
  it("keeps the dates that are done, and goes on when there is room", function()
    local w = world.new { source = [[CREATE TABLE e(id INTEGER PRIMARY KEY, day DATE NOT NULL, pad TEXT);
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3999)
        INSERT INTO e SELECT i, date('2026-01-01', (i / 1000) || ' days'), printf('%0500d', i) FROM n;]] }
    w:job("j", [[job { grain = "day" }
      local rows = extract { from = "e", by = "day", window = window() }
      overwrite_partition { rows, into = "t" }
      reconcile { rows, with = "t", sum = "id" }]])
    local range = { "backfill", "j.lua", "--from", "2026-01-01", "--to", "2026-01-04" }
    range[#range + 1] = { limit = "-f 3000" } -- blocks of 512 bytes: room for about two days
    local r = w:lrun(table.unpack(range))
    range[#range] = nil
    assert.equal(1, r.status, r.out .. r.err)
    assert.is_truthy(r.err:lower():find "full" or r.err:lower():find "i/o", r.err)
    local kept = w:rows "SELECT logical_date FROM lrun_runs WHERE status = 'succeeded' ORDER BY 1"
    assert.is_true(#kept > 0 and #kept < 4, r.out)
    assert.equal(tostring(#kept * 1000), w:one "SELECT count(*) FROM t")
    assert.equal("ok", w:one "PRAGMA integrity_check")
    r = w:ok(table.unpack(range))
    assert.is_truthy(r.out:find("skipped, finished before", 1, true), r.out)
    assert.equal("4000|4000", w:one "SELECT count(*), count(DISTINCT id) FROM t")
    assert.same(w:source_rows "SELECT day, count(*) FROM e GROUP BY 1", sqlite.rows(w.warehouse_file, "SELECT day, count(*) FROM t GROUP BY 1"))
  end)
end)

describe("a backfill whose warehouse changes between two commands", function()
  local function stopped()
    local s = shop.new()
    s:warehouse "CREATE TRIGGER lose BEFORE INSERT ON dw_orders WHEN NEW.order_date = '2026-01-20' BEGIN SELECT RAISE(IGNORE); END"
    assert.equal(3, s:lrun("backfill", "jobs/orders.lua", table.unpack(RANGE)).status)
    return s
  end
  local function again(s, ...) return s:lrun("backfill", "jobs/orders.lua", RANGE[1], RANGE[2], RANGE[3], RANGE[4], ...) end

  for what, change in pairs {
    ["is deleted"] = function(s) os.remove(s.warehouse_file) end,
    ["is an empty file"] = function(s) files.write(s.warehouse_file, "") end,
  } do
    it(what .. ": begins anew and says so, or is refused with --must-exist", function()
      local s = stopped()
      change(s)
      local before = files.read(s.warehouse_file)
      world.says(again(s, "--must-exist"), 5, { "must exist" })
      assert.equal(before, files.read(s.warehouse_file))
      local r = again(s)
      assert.equal(0, r.status, r.err)
      assert.is_truthy(r.out:find("new warehouse", 1, true), r.out)
      assert.is_truthy(r.out:find("[1/3] 2026-01-19  ok", 1, true), r.out)
    end)
  end

  it("is no database: refused and left", function()
    local s = stopped()
    files.write(s.warehouse_file, ("some text\n"):rep(100))
    world.says(again(s), 5, { "not a SQLite database" })
    assert.equal(("some text\n"):rep(100), files.read(s.warehouse_file))
  end)

  it("is read-only: refused, and status still tells where it stopped", function()
    local s = stopped()
    os.execute("chmod 444 " .. process.quote(s.warehouse_file))
    world.says(again(s), 5, { "read-only" })
    assert.is_truthy(s:ok("status").out:find "not started%s+2026%-01%-21")
    os.execute("chmod 644 " .. process.quote(s.warehouse_file))
    s:warehouse "DROP TRIGGER lose"
    assert.is_truthy(again(s).out:find("skipped, finished before in backfill 1: 2026-01-19", 1, true))
  end)
end)

describe("beside a backfill that goes on", function()
  it("a nightly run of the same warehouse gets its turn, and is told who holds it", function()
    local w = world.new { source = world.T .. "INSERT INTO t VALUES (1, 'a', '2026-01-01 10:00:00');" }
    w:job("long", [[job { grain = "day" }
      local rows = extract { from = "t", by = "updated_at", window = window() }
      overwrite_partition { rows, into = "t" }
      os.execute "sleep 0.3"
      reconcile { rows, with = "t" }]])
    w:job("night", 'job {}\nmerge { extract { from = "t" }, into = "n", key = "id" }')
    local p = w:start("backfill", "long.lua", "--from", "2026-01-01", "--to", "2026-02-28")
    assert.is_true(process.wait_for(function() return p:out():find("[2/59]", 1, true) end)) -- a pipe gets each date at once
    w:refused(4, { "backfill 1 of long, 2026-01-01 .. 2026-02-28, is at work since", hint = false }, "night.lua", "--lock-timeout", "100ms")
    for _ = 1, 3 do w:ok "night.lua" end
    assert.is_true(p:running())
    p:signal "TERM"
    assert.equal(143, p:wait().status)
  end)
end)

describe("a warehouse that is taken away while it is written", function()
  for what, code in pairs {
    ["removed"] = 'os.remove "warehouse.db"',
    ["replaced"] = 'os.rename("warehouse.db", "old.db") io.open("warehouse.db", "w"):close()',
  } do
    it(what .. " is no success", function()
      local w = world.with_t "INSERT INTO t VALUES (1, 'a', '2026-01-01 10:00:00');"
      w:job("j", 'job {}\nmerge { extract { from = "t" }, into = "t", key = "id" }\n' .. code .. "\n")
      w:refused(1, { "removed or replaced" }, "j.lua")
    end)
  end
end)

describe("a parameter", function()
  it("that the job has not read is told", function()
    local w = world.new {}
    w:job("j", 'job {}\nlocal n = param("n", "1")\n')
    assert.is_truthy(w:ok("j.lua", "--param", "nn=2").out:find('has not read the parameter "nn"', 1, true))
    assert.is_nil(w:ok("j.lua", "--param", "n=2").out:find("has not read", 1, true))
  end)
end)
