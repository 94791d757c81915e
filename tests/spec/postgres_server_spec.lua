-- What a server does to a run in the middle of it: connections ended, timeouts,
-- deadlocks, a restart. A clear message, nothing partial, and a right next run.
local pairs_of = require "pairs"
local process = require "process"
local servers = require "servers"
local world = require "world"
local files = require "files"

local by_name = pairs_of.by_name

local ROWS = "INSERT INTO s VALUES (1, 'a', '2026-01-01 10:00:00'), (2, 'b', '2026-01-02 10:00:00');"
local JOB = [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window { since = watermark() } }
%s
merge { rows, into = "t", key = "id" }
%s
reconcile { rows, with = "t", sum = "id" }
]]
local PAUSE = 'io.open("ready", "w"):close() while not io.open "go" do end'

local function started(pair, before, after)
  local w = pair.with(ROWS)
  w:job("j", JOB:format("", "")):ok("j.lua", "--run-start", "2026-01-02")
  w:job("j", JOB:format(before or "", after or ""))
  return w, w:state()
end

local function unharmed(w, state, status)
  assert.equal(state, w:state())
  assert.equal(status or "failed", w:last_run().status)
  w:job("j", JOB:format("", "")):ok("j.lua", "--run-start", "2026-01-03")
  assert.equal("2|2|3", w:one "SELECT count(*), count(DISTINCT id), sum(id) FROM t")
  assert.equal("2026-01-03", w:watermark())
  assert.equal("2026-01-02|2026-01-03", w:one "SELECT window_start, window_stop FROM lrun_windows ORDER BY run_id DESC LIMIT 1")
end

local OTHERS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"

describe("pg_terminate_backend", function()
  for _, case in ipairs { { "postgresql->sqlite", "source" }, { "postgresql->postgresql", "source" },
                          { "sqlite->postgresql", "warehouse" }, { "postgresql->postgresql", "warehouse" },
                          { "postgresql same database", "warehouse" } } do
    it("of the " .. case[2] .. "'s connection fails the run, " .. case[1], function()
      local w, state = started(by_name[case[1]], "", PAUSE)
      local p = w:start("j.lua", "--run-start", "2026-01-03")
      w:wait_for "ready"
      w[case[2]](w, OTHERS)
      w:write("go", "")
      local r = p:wait(20)
      world.says(r, 1, { "j.lua:", "connection was lost", "57P01" })
      unharmed(w, state)
    end)
  end

  it("while a statement runs fails the run at once", function()
    local w, state = started(by_name["sqlite->postgresql"], "", 'io.open("ready", "w"):close() query { "SELECT pg_sleep(60)" }')
    local p = w:start("j.lua", "--run-start", "2026-01-03")
    w:wait_for "ready"
    process.sleep(0.2)
    w:warehouse(OTHERS)
    world.says(p:wait(10), 1, { "j.lua:5", "connection was lost", "57P01" })
    unharmed(w, state)
  end)
end)

describe("a timeout of the server", function()
  local pair = by_name["postgresql same database"]
  it("for statements is said, nothing is kept", function()
    local w, state = started(pair, "", 'query { "SELECT pg_sleep(30)" }')
    w:warehouse "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET statement_timeout = ''300ms''', current_database()); END $$"
    w:refused(1, { "j.lua:5", "statement timeout", "57014", "statement_timeout" }, "j.lua", "--run-start", "2026-01-03")
    unharmed(w, state)
  end)

  it("for transactions that are silent is said, nothing is kept", function()
    local w, state = started(pair, "", 'os.execute "sleep 1"')
    w:warehouse "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET idle_in_transaction_session_timeout = ''300ms''', current_database()); END $$"
    w:refused(1, { "j.lua:6", "idle-in-transaction timeout", "25P03", "idle_in_transaction_session_timeout" }, "j.lua", "--run-start", "2026-01-03")
    unharmed(w, state)
  end)

  it("for a lock on the target's rows is status 4", function()
    local w = started(by_name["sqlite->postgresql"])
    w:warehouse "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 FROM held FOR UPDATE; RETURN NEW; END $$"
    w:warehouse "CREATE TABLE held(id int); INSERT INTO held VALUES (1); CREATE TRIGGER waits BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION wait()"
    local holder = process.start({ "psql", "-X", "-q", "-c", "BEGIN", "-c", "SELECT * FROM held FOR UPDATE", "-c", "\\! touch ready", "-c",
      "SELECT pg_sleep(20)", w.to:url() }, { cwd = w.dir })
    w:wait_for "ready"
    w:refused(4, { "j.lua:4", "lock timeout" }, "j.lua", "--run-start", "2026-01-03", "--lock-timeout", "300ms")
    holder:signal "INT"
    holder:wait()
    w:warehouse "DROP TABLE held CASCADE; DROP FUNCTION wait CASCADE"
    assert.equal("1", w:one "SELECT count(*) FROM t")
    w:ok("j.lua", "--run-start", "2026-01-03")
    assert.equal("2|3", w:one "SELECT count(*), sum(id) FROM t")
  end)
end)

it("SIGINT while COMMIT works is taken by the server: rolled back, and said so", function()
  local w, state = started(by_name["sqlite->postgresql"])
  w:warehouse [[CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(30); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER late AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()]]
  local p = w:start("j.lua", "--run-start", "2026-01-03")
  assert.is_true(process.wait_for(function()
    return w:one "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query = 'COMMIT' AND wait_event = 'PgSleep'" == "1"
  end))
  p:signal "INT"
  world.says(p:wait(10), 130, { "SIGINT", hint = false })
  w:warehouse "DROP FUNCTION slow CASCADE"
  unharmed(w, state, "interrupted")
end)

it("a deadlock with another program runs the job again, and is right", function()
  local w = started(by_name["sqlite->postgresql"], [[
    execute { "UPDATE pair SET n = n + 1 WHERE id = 1" }
    if not io.open "ready" then io.open("ready", "w"):close() while not io.open "go" do end end
    execute { "UPDATE pair SET n = n + 1 WHERE id = 2" }]])
  w:warehouse "CREATE TABLE pair(id int PRIMARY KEY, n int); INSERT INTO pair VALUES (1, 0), (2, 0)"
  local p = w:start("j.lua", "--run-start", "2026-01-03")
  w:wait_for "ready"
  -- It waits longer before it looks for a deadlock, so the run is the victim.
  local other = process.start({ "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", "SET deadlock_timeout = '10s'", "-c", "BEGIN", "-c",
    "UPDATE pair SET n = n + 10 WHERE id = 2", "-c", "\\! touch go", "-c", "UPDATE pair SET n = n + 10 WHERE id = 1", "-c", "COMMIT", w.to:url() },
    { cwd = w.dir })
  local r, q = p:wait(30), other:wait(30)
  assert.equal("0 0", r.status .. " " .. q.status, r.err .. q.err)
  assert.same({ "1|11", "2|11" }, w:rows "SELECT id, n FROM pair ORDER BY id")
  assert.equal("succeeded 2", w:last_run().status .. " " .. w:last_run().attempt)
  assert.equal("2|3", w:one "SELECT count(*), sum(id) FROM t")
end)

describe("a server that restarts in the middle", function()
  local server
  -- It is halted without a goodbye, and has to keep what it has committed.
  setup(function() server = servers.new 'synchronous_commit=on' end)
  teardown(function() server:stop() end)

  -- Source and warehouse are databases of a server of its own.
  local function on_own(n, after)
    local w = { dir = files.temp_dir() }
    local from, to = "src" .. n, "dw" .. n
    server:exec(("CREATE DATABASE %s;"):format(from))
    server:exec(("CREATE DATABASE %s;"):format(to))
    server:exec(pairs_of.S .. ROWS, from)
    server:exec(pairs_of.T, to)
    function w:run(...)
      return process.run({ world.bin, "j.lua", "--source", server:url(from), "--warehouse", server:url(to), ... }, { cwd = self.dir })
    end
    function w:start(...)
      return process.start({ world.bin, "j.lua", "--source", server:url(from), "--warehouse", server:url(to), ... }, { cwd = self.dir })
    end
    function w:job(before, behind) files.write(self.dir .. "/j.lua", JOB:format(before or "", behind or "")) end
    function w:one(sql) return self and server:exec(sql, to) end
    function w:wait_for(name)
      assert.is_true(process.wait_for(function() return files.exists(self.dir .. "/" .. name) end))
    end
    w:job()
    assert.equal(0, w:run("--run-start", "2026-01-02").status)
    w:job("", after)
    return w
  end

  it("fails the run, and the next one is right", function()
    local w = on_own(1, PAUSE)
    local p = w:start("--run-start", "2026-01-03")
    w:wait_for "ready"
    server:halt()
    server:boot()
    files.write(w.dir .. "/go", "")
    world.says(p:wait(30), 1, { "connection was lost" })
    assert.equal("1|2026-01-02|succeeded failed", w:one [[SELECT (SELECT count(*) FROM t), (SELECT value FROM lrun_watermarks),
      (SELECT string_agg(status, ' ' ORDER BY run_id) FROM lrun_runs)]])
    w:job()
    assert.equal(0, w:run("--run-start", "2026-01-03").status)
    assert.equal("2|3", w:one "SELECT count(*), sum(id) FROM t")
  end)

  it("and is away for a while is waited for, for the ledger's last word", function()
    local w = on_own(2, PAUSE)
    local p = w:start("--run-start", "2026-01-03")
    w:wait_for "ready"
    server:halt()
    files.write(w.dir .. "/go", "")
    process.sleep(1)
    assert.is_true(p:running())
    server:boot()
    world.says(p:wait(30), 1, { "connection was lost" })
    assert.equal("succeeded failed", w:one "SELECT string_agg(status, ' ' ORDER BY run_id) FROM lrun_runs")
  end)

  it("and does not come back leaves `running`, which the next run calls interrupted", function()
    local w = on_own(3, PAUSE)
    local p = w:start("--run-start", "2026-01-03", "--lock-timeout", "300ms")
    w:wait_for "ready"
    server:halt()
    files.write(w.dir .. "/go", "")
    world.says(p:wait(30), 1, { "connection was lost" })
    world.says(w:run(), 5, { "connection" })
    server:boot()
    w:job()
    assert.equal(0, w:run("--run-start", "2026-01-03").status)
    assert.equal("2|succeeded interrupted succeeded", w:one "SELECT (SELECT count(*) FROM t), (SELECT string_agg(status, ' ' ORDER BY run_id) FROM lrun_runs)")
  end)

  it("stops a backfill at its date; the same command goes on there", function()
    local w = on_own(4)
    w:one "TRUNCATE t"
    w:job("", 'if tostring(logical_date) == "2026-01-02" and not io.open "go" then ' .. PAUSE .. " end")
    local range = { "--from", "2026-01-01", "--to", "2026-01-03" }
    local function backfill(start)
      local argv = { world.bin, "backfill", "j.lua", "--source", server:url "src4", "--warehouse", server:url "dw4", table.unpack(range) }
      return (start and process.start or process.run)(argv, { cwd = w.dir })
    end
    local p = backfill(true)
    w:wait_for "ready"
    server:halt()
    server:boot()
    files.write(w.dir .. "/go", "")
    local r = p:wait(30)
    world.says(r, 1, { "connection was lost" })
    assert.is_truthy(r.out:find("go on at 2026-01-02", 1, true), r.out)
    assert.equal("1", w:one "SELECT count(*) FROM t")
    r = backfill()
    assert.equal(0, r.status, r.err)
    assert.is_truthy(r.out:find("skipped, finished before in backfill 1: 2026-01-01", 1, true), r.out)
    assert.equal("2|succeeded", w:one "SELECT (SELECT count(*) FROM t), (SELECT status FROM lrun_backfills)")
  end)
end)
