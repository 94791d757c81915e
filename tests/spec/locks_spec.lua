-- One run at a time; a lock that somebody else holds is waited for, and named.
local files = require "files"
local process = require "process"
local world = require "world"

local MERGE = [[
job { grain = "day" }
local rows = extract { from = "t", by = "updated_at", window = window { since = watermark() } }
merge { rows, into = "t", key = "id" }
]]
local WAIT = 'io.open("ready", "w"):close() while not io.open "go" do end\n'

local function many_rows()
  return world.with_t [[WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
    INSERT INTO t SELECT i, 'v' || i, '2026-01-01 10:00:00' FROM n;]]
end

-- Another process that holds the write lock of the warehouse until stopped.
local function hold(w, mode)
  local p = process.start({ "sh", "-c", [[
    mkfifo hold.fifo 2>/dev/null
    exec 3<>hold.fifo
    { echo '.bail on'; echo 'BEGIN ]] .. mode .. [[;'; echo 'SELECT 1;'; head -n 1 <&3; echo 'ROLLBACK;'; } |
      sqlite3 -batch warehouse.db >held]] }, { cwd = w.dir })
  assert.is_true(process.wait_for(function() return (files.read(w:path "held") or "") == "1\n" end))
  return function()
    os.execute("echo >'" .. w:path "hold.fifo" .. "'")
    p:wait()
    os.remove(w:path "held")
  end
end

describe("another process with the write lock (S34)", function()
  for _, journal in ipairs { "WAL", "DELETE" } do
    it("is waited for three seconds, journal mode " .. journal, function()
      local w = many_rows()
      w:warehouse("PRAGMA journal_mode = " .. journal)
      w:job("j", MERGE)
      local release = hold(w, "IMMEDIATE")
      local p = w:start("j.lua", "--run-start", "2026-01-02")
      process.sleep(3)
      assert.is_true(p:running())
      release()
      local r = p:wait(30)
      assert.equal(0, r.status, r.err)
      assert.equal("500", w:one "SELECT count(*) FROM t")
    end)
  end

  it("past --lock-timeout is status 4, naming it, with nothing left behind", function()
    local w = many_rows()
    w:job("j", MERGE):ok("j.lua", "--run-start", "2025-12-31")
    local release = hold(w, "EXCLUSIVE")
    local before = os.time()
    local r = w:lrun("j.lua", "--run-start", "2026-01-02", "--lock-timeout", "1s")
    local took = os.time() - before
    release()
    world.says(r, 4, { "warehouse.db", hint = false })
    assert.is_true(took < 8, took)
    assert.equal("0", w:one "SELECT count(*) FROM t")
    assert.equal("succeeded", w:statuses())
    w:ok("j.lua", "--run-start", "2026-01-02")
    assert.equal("500", w:one "SELECT count(*) FROM t")
  end)

  it("can be waited for in other units", function()
    local w = many_rows()
    w:job("j", MERGE)
    local release = hold(w, "IMMEDIATE")
    assert.equal(4, w:lrun("j.lua", "--lock-timeout=200ms").status)
    assert.equal(4, w:lrun("j.lua", "--lock-timeout=0s").status)
    release()
    w:ok("j.lua", "--lock-timeout=1m")
  end)

  it("is interrupted by SIGINT while it is waited for", function()
    local w = many_rows()
    w:job("j", MERGE)
    local release = hold(w, "IMMEDIATE")
    local p = w:start("j.lua", "--lock-timeout", "60s")
    process.sleep(0.5)
    p:signal "INT"
    local r = p:wait(10)
    release()
    assert.equal(130, r.status, r.err)
  end)
end)

describe("a run that goes on", function()
  it("is named to the next one, with since when: status 4", function()
    local w = many_rows()
    w:job("j", MERGE .. WAIT)
    local p = w:start("j.lua", "--run-start", "2026-01-02")
    assert.is_true(process.wait_for(function() return files.exists(w:path "ready") end))
    local r = w:refused(4, { "run 1", tostring(p.pid), hint = false }, "j.lua", "--run-start", "2026-01-02", "--lock-timeout", "300ms")
    assert.is_truthy(r.err:find(os.date "!%Y", 1, true), r.err)
    -- It can be looked at from outside meanwhile.
    assert.is_truthy(w:ok("status", "j.lua").out:find "running")
    assert.equal("0", w:one "SELECT count(*) FROM t")
    w:write("go", "")
    assert.equal(0, p:wait().status)
    assert.equal("500", w:one "SELECT count(*) FROM t")
    -- The run that was refused left no row.
    assert.equal("succeeded", w:statuses())
  end)

  it("does not let a plan or a status wait", function()
    local w = many_rows()
    w:job("j", MERGE .. WAIT)
    local p = w:start "j.lua"
    assert.is_true(process.wait_for(function() return files.exists(w:path "ready") end))
    w:job("k", MERGE)
    w:ok("plan", "k.lua", { timeout = 5 })
    w:ok("runs", "j.lua", { timeout = 5 })
    w:write("go", "")
    p:wait()
  end)
end)

describe("the same job started twice at once", function()
  it("works once or twice, never half, many times", function()
    local w = many_rows()
    w:job("j", (MERGE:gsub("merge", "insert_new")))
    for round = 1, 25 do
      if round > 1 then w:warehouse "DELETE FROM lrun_watermarks; DELETE FROM t" end
      local a, b = w:start("j.lua", "--run-start", "2026-01-02"), w:start("j.lua", "--run-start", "2026-01-02")
      local ra, rb = a:wait(), b:wait()
      assert.is_true((ra.status == 0 or ra.status == 4) and (rb.status == 0 or rb.status == 4) and ra.status + rb.status < 8,
        ("round %d: %d %s %d %s"):format(round, ra.status, ra.err, rb.status, rb.err))
      assert.equal("500|500", w:one "SELECT count(*), count(DISTINCT id) FROM t")
      assert.equal("2026-01-02", w:watermark())
      assert.equal("0", w:one "SELECT count(*) FROM lrun_runs WHERE status NOT IN ('succeeded')")
    end
  end)

  it("on a warehouse that is not there yet", function()
    for _ = 1, 10 do
      local w = world.new { warehouse = false, source = world.T .. "INSERT INTO t VALUES (1,'a','2026-01-01');" }
      w:job("j", MERGE)
      local a, b = w:start("j.lua", "--run-start", "2026-01-02"), w:start("j.lua", "--run-start", "2026-01-02")
      local ra, rb = a:wait(), b:wait()
      assert.is_true(ra.status % 4 == 0 and rb.status % 4 == 0, ra.err .. rb.err)
      assert.equal("1", w:one "SELECT count(*) FROM t")
    end
  end)

  it("two jobs into one table do not see each other's staging", function()
    local w = many_rows()
    local map = 'job {}\nmerge { extract { from = "t", where = "id % 2 = ' .. "%d" .. '" }:map(function(r) return r end), into = "t", key = "id" }'
    w:job("a", (map:gsub("%%d", "0"))):job("b", (map:gsub("%%d", "1")))
    for _ = 1, 5 do
      w:warehouse "DELETE FROM t"
      local a, b = w:start "a.lua", w:start "b.lua"
      local ra, rb = a:wait(), b:wait()
      assert.equal(0, ra.status, ra.err)
      assert.equal(0, rb.status, rb.err)
      assert.equal("500", w:one "SELECT count(*) FROM t")
    end
  end)
end)

describe("a source that is locked for too long", function()
  it("is status 4 and named, not the warehouse", function()
    local w = many_rows()
    w:job("j", MERGE)
    local p = process.start({ "sh", "-c", "{ echo 'BEGIN EXCLUSIVE;'; sleep 3; echo 'ROLLBACK;'; } | sqlite3 -batch source.db" }, { cwd = w.dir })
    process.sleep(0.5)
    local r = w:lrun("j.lua", "--run-start", "2026-01-02", "--lock-timeout", "300ms")
    p:wait()
    world.says(r, 4, { "source.db" })
    assert.is_nil(r.err:find("lock on [^\n]*warehouse%.db"), r.err)
    assert.equal("0", w:one "SELECT count(*) FROM t")
    -- It was found before the ledger was made.
    assert.equal("0", w:one "SELECT count(*) FROM sqlite_schema WHERE name = 'lrun_runs'")
  end)
end)

describe("a source in rollback mode", function()
  it("that its application is writing is waited for", function()
    local w = many_rows()
    w:job("j", MERGE)
    local p = process.start({ "sh", "-c", "{ echo 'BEGIN EXCLUSIVE;'; sleep 1; echo 'ROLLBACK;'; } | sqlite3 -batch source.db" }, { cwd = w.dir })
    process.sleep(0.3)
    w:ok("j.lua", "--run-start", "2026-01-02")
    p:wait()
    assert.equal("500", w:one "SELECT count(*) FROM t")
  end)
end)
