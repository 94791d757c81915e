-- lrun backfill and lrun reconcile on every pair: each date its own transaction
-- with its own check, a stop at the first that fails or differs, and the same
-- command goes on where it stopped.
local pairs_of = require "pairs"
local process = require "process"

local S = "CREATE TABLE s(id INTEGER PRIMARY KEY, day DATE NOT NULL, amount NUMERIC(12,2), note TEXT);\n"
local T = "CREATE TABLE t(id INTEGER PRIMARY KEY, day DATE NOT NULL, amount NUMERIC(12,2), note TEXT);\n"
-- The chapter's three days, and what the warehouse held of them.
local ROWS = "INSERT INTO s VALUES (104, '2026-01-19', 35.00, 'a'), (105, '2026-01-20', 22.00, 'b'), (106, '2026-01-21', 70.00, 'c');\n"
local OLD = "INSERT INTO t VALUES (104, '2026-01-19', 35.00, 'a'), (105, '2026-01-20', NULL, 'old'), (106, '2026-01-21', 7.00, 'old');\n"
local BEFORE = { "104|35.00|a", "105|NULL|old", "106|7.00|old" }
local AFTER = { "104|35.00|a", "105|22.00|b", "106|70.00|c" }

local JOB = [[
job { grain = "day" }
local rows = extract { from = "s", by = "day", window = window() }
overwrite_partition { rows, into = "t" }
reconcile { rows, with = "t", sum = "amount" }
]]
local READY = 'io.open("ready", "w"):close()\nwhile not io.open "go" do end\n'
local RANGE = { "--from", "2026-01-19", "--to", "2026-01-21" }

local function shop(pair, job)
  return pair.new { source = S .. ROWS, warehouse = T .. OLD }:job("j", job or JOB)
end

local function rows(w) return w:rows "SELECT id, {money amount}, note FROM t ORDER BY id" end
local function backfill(w, ...) return w:lrun("backfill", "j.lua", RANGE[1], RANGE[2], RANGE[3], RANGE[4], ...) end
local function ledger(w)
  return w:rows [[SELECT logical_date, status FROM lrun_runs WHERE backfill_id IS NOT NULL ORDER BY run_id]]
end
local function status_of(w) return table.concat(w:rows "SELECT status FROM lrun_backfills ORDER BY backfill_id", " ") end

-- Rows of the second day are lost on their way into the target.
local LOSE = {
  sqlite = "CREATE TRIGGER lose BEFORE INSERT ON t WHEN NEW.day = '2026-01-20' BEGIN SELECT RAISE(IGNORE); END",
  postgresql = [[CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN
    IF NEW.day = '2026-01-20' THEN RETURN NULL; END IF; RETURN NEW; END $f$;
    CREATE TRIGGER lose BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION lose()]],
}
local FIND = { sqlite = "DROP TRIGGER lose", postgresql = "DROP TRIGGER lose ON t" }

-- The backfill is another's as soon as the first day is there.
local TAKE = {
  sqlite = [[CREATE TRIGGER take AFTER INSERT ON t WHEN NEW.day = '2026-01-19'
    BEGIN UPDATE lrun_backfills SET owner_host = 'elsewhere', owner_pid = 1; END]],
  postgresql = [[CREATE FUNCTION take() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN
    IF NEW.day = '2026-01-19' THEN UPDATE lrun_backfills SET owner_host = 'elsewhere', owner_pid = 1; END IF; RETURN NEW; END $f$;
    CREATE TRIGGER take AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION take()]],
}

pairs_of.each("a backfill", function(pair)
  it("runs each date, oldest first, and shows both sides of each check", function()
    local w = shop(pair)
    local r = backfill(w)
    assert.equal(0, r.status, r.err)
    local at = 1
    for i, amount in ipairs { "35.00", "22.00", "70.00" } do
      local line = ("[%d/3] 2026-01-%d  ok"):format(i, 18 + i)
      at = assert(r.out:find(line, at, true), r.out)
      assert(r.out:find(("rows 1 = 1   amount %s = %s"):format(amount, amount), at, true), r.out)
    end
    assert.same(AFTER, rows(w))
    assert.same({ "2026-01-19|succeeded", "2026-01-20|succeeded", "2026-01-21|succeeded" }, ledger(w))
    assert.equal("succeeded", status_of(w))
    assert.equal("0", w:one "SELECT count(*) FROM lrun_watermarks")
  end)

  it("stops at the first date that differs, and goes on there", function()
    local w = shop(pair)
    w:warehouse(LOSE[w.to.engine])
    local r = backfill(w)
    assert.equal(3, r.status, r.err)
    assert.is_truthy(r.out:find("[1/3] 2026-01-19  ok", 1, true), r.out)
    assert.is_truthy(r.out:find("[2/3] 2026-01-20  DIFFERS", 1, true), r.out)
    assert.is_truthy(r.out:find("rows 1 <> 0 (difference 1)", 1, true), r.out)
    assert.is_truthy(r.out:find("amount 22.00 <> NULL", 1, true), r.out)
    assert.is_truthy(r.out:find("1 done, 1 differs, 1 not started", 1, true), r.out)
    assert.is_truthy(r.out:find("run the same command to go on at 2026-01-20", 1, true), r.out)
    assert.is_nil(r.out:find("[3/3]", 1, true))
    assert.same(BEFORE, rows(w))
    assert.same({ "2026-01-19|succeeded", "2026-01-20|differs" }, ledger(w))
    local s = w:ok("status").out
    assert.is_truthy(s:find "done%s+2026%-01%-19\n", s)
    assert.is_truthy(s:find "differs%s+2026%-01%-20.*22%.00 <> NULL", s)
    assert.is_truthy(s:find "not started%s+2026%-01%-21", s)

    w:warehouse(FIND[w.to.engine])
    r = backfill(w)
    assert.equal(0, r.status, r.err)
    assert.is_truthy(r.out:find("skipped, finished before in backfill 1: 2026-01-19\n", 1, true), r.out)
    assert.is_nil(r.out:find("[1/3]", 1, true))
    assert.same(AFTER, rows(w))
    assert.same({ "2026-01-19|succeeded", "2026-01-20|differs", "2026-01-20|succeeded", "2026-01-21|succeeded" }, ledger(w))

    local bytes = w:bytes()
    r = backfill(w)
    assert.equal(0, r.status, r.err)
    assert.is_truthy(r.out:find("nothing to do", 1, true), r.out)
    assert.equal(bytes, w:bytes())
    assert.is_nil(w:ok("status").out:find("backfill", 1, true))

    assert.equal(0, backfill(w, "--again").status)
    assert.equal("succeeded succeeded", status_of(w))
  end)

  it("stops where one row of ten is lost, and resumes there (S16)", function()
    local many = {}
    for i = 1, 50 do many[i] = ("INSERT INTO s VALUES (%d, '2026-01-%02d', %d, 'n');"):format(i, (i + 9) // 10, i) end
    local w = pair.new { source = S .. table.concat(many), warehouse = T }:job("j", JOB)
    w:warehouse((LOSE[w.to.engine]:gsub("NEW.day = '2026%-01%-20'", "NEW.id = 25")))
    local range = { "backfill", "j.lua", "--from", "2026-01-01", "--to", "2026-01-05" }
    local r = w:lrun(table.unpack(range))
    assert.equal(3, r.status, r.err)
    assert.is_truthy(r.out:find("[3/5] 2026-01-03  DIFFERS   rows 10 <> 9 (difference 1)", 1, true), r.out)
    assert.equal("20|20", w:one "SELECT count(*), max(id) FROM t")
    w:warehouse(FIND[w.to.engine])
    assert.equal(0, w:lrun(table.unpack(range)).status)
    assert.equal("50", w:one "SELECT count(*) FROM t")
    assert.same({ "2026-01-01 1", "2026-01-02 1", "2026-01-03 1", "2026-01-04 1", "2026-01-05 1" },
      w:rows "SELECT logical_date || ' ' || count(*) FROM lrun_runs WHERE status = 'succeeded' GROUP BY logical_date ORDER BY 1")
    assert.is_truthy(w:lrun(table.unpack(range)).out:find("nothing to do", 1, true))
  end)

  it("stops at a date whose job fails, as it was before", function()
    local w = shop(pair, JOB .. 'if tostring(logical_date) == "2026-01-20" then error("no luck") end\n')
    local r = backfill(w)
    assert.equal(1, r.status)
    assert.is_truthy(r.err:find("no luck", 1, true), r.err)
    assert.same(BEFORE, rows(w))
    assert.same({ "2026-01-19|succeeded", "2026-01-20|failed" }, ledger(w))
    assert.is_truthy(w:ok("status").out:find "failed%s+2026%-01%-20.*no luck")
  end)

  it("needs a job that compares, unless it is told otherwise", function()
    local w = shop(pair, (JOB:gsub("reconcile[^\n]*\n", "")))
    local r = backfill(w)
    assert.equal(1, r.status)
    for _, word in ipairs { "no reconcile", "--no-reconcile" } do assert.is_truthy(r.err:find(word, 1, true), r.err) end
    assert.same(BEFORE, rows(w))
    r = backfill(w, "--no-reconcile")
    assert.equal(0, r.status, r.err)
    assert.is_truthy(r.out:find("not compared", 1, true), r.out)
    assert.is_truthy(r.out:find("3 not compared", 1, true), r.out)
    assert.same(AFTER, rows(w))
  end)

  it("goes on with a changed job file only when told so", function()
    local w = shop(pair, JOB .. 'if tostring(logical_date) == "2026-01-20" then error("no luck") end\n')
    backfill(w)
    w:job("j", JOB)
    local state = w:bytes()
    local r = backfill(w)
    assert.equal(1, r.status)
    for _, word in ipairs { "has changed", "--accept-change", "--again" } do assert.is_truthy(r.err:find(word, 1, true), r.err) end
    assert.equal(state, w:bytes())
    r = backfill(w, "--accept-change")
    assert.equal(0, r.status, r.err)
    assert.is_truthy(r.out:find("skipped, finished before in backfill 1: 2026-01-19", 1, true), r.out)
    assert.same(AFTER, rows(w))
  end)

  for signal, status in pairs { INT = 130, TERM = 143, KILL = 137 } do
    it("resumes after SIG" .. signal .. " in the middle, with the same dates", function()
      local w = shop(pair, JOB .. 'if tostring(logical_date) == "2026-01-20" then ' .. READY:gsub("\n", " ") .. "end\n")
      local p = w:start("backfill", "j.lua", table.unpack(RANGE))
      w:wait_for "ready"
      p:signal(signal)
      assert.equal(status, p:wait(20).status)
      assert.same(BEFORE, rows(w))
      local s = w:ok("status").out
      for _, word in ipairs { "interrupted", "2026%-01%-21" } do assert.is_truthy(s:find(word), s) end
      if signal ~= "KILL" then assert.is_truthy(s:find "interrupted%s+2026%-01%-20", s) end
      assert.is_truthy(s:find "done%s+2026%-01%-19", s)
      w:write("go", "")
      local r = backfill(w)
      assert.equal(0, r.status, r.err)
      assert.is_truthy(r.out:find("skipped, finished before in backfill 1: 2026-01-19", 1, true), r.out)
      assert.same(AFTER, rows(w))
      assert.equal("3", w:one "SELECT count(*) FROM lrun_runs WHERE status = 'succeeded'")
      assert.equal("succeeded", status_of(w))
      assert.is_truthy(backfill(w).out:find("nothing to do", 1, true))
    end)
  end

  it("tells a second one who is at work, and lets a nightly run of the job take its turn", function()
    local w = shop(pair, JOB .. 'if tostring(logical_date) == "2026-01-20" then ' .. READY:gsub("\n", " ") .. "end\n")
    local p = w:start("backfill", "j.lua", table.unpack(RANGE))
    w:wait_for "ready"
    local status = w:ok("status").out
    assert.is_truthy(status:find("running since", 1, true), status)
    for _, argv in ipairs {
      { "backfill", "j.lua", table.unpack(RANGE) }, { "backfill", "j.lua", "--from", "2026-01-01", "--to", "2026-01-02" },
      { "j.lua", "--logical-date", "2026-01-21" },
    } do
      argv[#argv + 1] = "--lock-timeout"
      argv[#argv + 1] = "300ms"
      local r = w:lrun(table.unpack(argv))
      assert.equal(4, r.status, r.err)
      assert.is_truthy(r.err:find(("backfill 1 of j, 2026-01-19 .. 2026-01-21, is at work since %s"):format(os.date "!%Y"), 1, true), r.err)
      assert.is_truthy(r.err:find(tostring(p.pid), 1, true), r.err)
    end
    local night = w:start("j.lua", "--logical-date", "2026-01-21")
    w:write("go", "")
    assert.equal(0, night:wait().status)
    assert.equal(0, p:wait().status)
    assert.same(AFTER, rows(w))
  end)

  it("between two dates names its process too", function()
    local w = shop(pair)
    backfill(w)
    local owner = process.start { "sleep", "30" }
    w:warehouse(("UPDATE lrun_backfills SET status = 'running', owner_pid = %d, owner_started = '%s', first_date = '2026-01-02'"):format(
      owner.pid, os.date "!%Y-%m-%d %H:%M:%S"))
    local r = backfill(w)
    assert.equal(4, r.status, r.err)
    assert.is_truthy(r.err:find("backfill 1 of j, 2026-01-02 .. 2026-01-21, is at work since", 1, true), r.err)
    owner:signal "KILL"
    -- of another host nobody knows: only the user does
    w:warehouse "UPDATE lrun_backfills SET owner_host = 'elsewhere', owner_pid = 1"
    r = backfill(w)
    assert.equal(4, r.status, r.err)
    assert.is_truthy(r.err:find("--take-over", 1, true), r.err)
    assert.equal(0, backfill(w, "--take-over").status)
    assert.equal("interrupted succeeded", status_of(w))
  end)

  it("is taken over from another host, and what was finished there stays", function()
    local w = shop(pair, JOB .. 'if tostring(logical_date) == "2026-01-20" and not io.open "ready" then ' ..
      'io.open("ready", "w"):close() error "first" end\n')
    backfill(w)
    w:warehouse "UPDATE lrun_backfills SET status = 'running', owner_host = 'elsewhere', owner_pid = 1, owner_started = '2026-01-01'"
    assert.equal(4, backfill(w).status)
    local r = backfill(w, "--take-over")
    assert.equal(0, r.status, r.err)
    assert.is_truthy(r.out:find("skipped, finished before in backfill 1: 2026-01-19", 1, true), r.out)
    assert.same(AFTER, rows(w))
  end)

  it("that was taken over meanwhile keeps nothing more", function()
    local w = shop(pair)
    w:warehouse(TAKE[w.to.engine])
    local r = backfill(w)
    assert.equal(4, r.status, r.err)
    assert.is_truthy(r.err:find("was taken over by pid 1 on elsewhere", 1, true), r.err)
    assert.same({ "104|35.00|a", "105|NULL|old", "106|7.00|old" }, rows(w))
    assert.equal("running elsewhere", (w:one "SELECT status || ' ' || owner_host FROM lrun_backfills"))
  end)

  it("empties a day that the source has emptied, and says so", function()
    local w = shop(pair)
    w:source "DELETE FROM s WHERE id = 105"
    w:warehouse "INSERT INTO t VALUES (201, '2026-01-20', 1, 'x'), (202, '2026-01-20', 1, 'y')"
    local r = backfill(w)
    assert.equal(0, r.status, r.err)
    assert.is_truthy(r.out:find("[2/3] 2026-01-20  ok        rows 0 = 0   amount NULL = NULL   t 3 -> 0", 1, true), r.out)
    assert.same({ "104|35.00|a", "106|70.00|c" }, rows(w))
  end)

  if not pair.same then
    it("is not misled by a source that changes between extract and check", function()
      local w = shop(pair, (JOB:gsub("reconcile", READY .. "reconcile")))
      local p = w:start("backfill", "j.lua", table.unpack(RANGE))
      w:wait_for "ready"
      w:source "UPDATE s SET amount = 36 WHERE id = 104; INSERT INTO s VALUES (9, '2026-01-19', 9, 'late')"
      w:write("go", "")
      local r = p:wait()
      assert.equal(0, r.status, r.err)
      assert.same(AFTER, rows(w))
      r = w:lrun("reconcile", "j.lua", table.unpack(RANGE))
      assert.equal(3, r.status, r.err)
      assert.is_truthy(r.out:find("[1/3] 2026-01-19  DIFFERS", 1, true), r.out)
      assert.is_truthy(r.out:find("rows 2 <> 1", 1, true), r.out)
      assert.is_truthy(r.out:find("amount 45.00 <> 35.00 (difference 10.00)", 1, true), r.out)
    end)
  end

  it("keeps params apart, and resumes only the same ones", function()
    local w = shop(pair, (JOB:gsub('window = window%(%)', 'window = window(), where = { note = param "note" }')
      :gsub('into = "t"', 'into = "t", partition = { note = param "note" }')))
    w:warehouse "DELETE FROM t WHERE id = 105"
    local r = backfill(w, "--param", "note=b")
    assert.equal(0, r.status, r.err)
    assert.same({ "104|35.00|a", "105|22.00|b", "106|7.00|old" }, rows(w))
    assert.is_truthy(backfill(w, "--param", "note=b").out:find("nothing to do", 1, true))
    r = backfill(w, "--param", "note=none")
    assert.is_truthy(r.out:find("3 days done", 1, true), r.out)
    assert.same({ '{"note":"b"}', '{"note":"none"}' }, w:rows "SELECT params FROM lrun_backfills ORDER BY backfill_id")
  end)
end)

pairs_of.each("the dates of a range", function(pair)
  it("are listed by plan with the reason for each skip, and nothing is written", function()
    local w = shop(pair, JOB .. 'if tostring(logical_date) == "2026-01-20" then error("no luck") end\n')
    backfill(w)
    local bytes = w:bytes()
    local r = w:ok("plan", "j.lua", table.unpack(RANGE))
    assert.equal(r.out, backfill(w, "--dry-run").out)
    assert.is_truthy(r.out:find("3 days, windows [2026-01-19, 2026-01-20) to [2026-01-21, 2026-01-22)", 1, true), r.out)
    assert.is_truthy(r.out:find("2026-01-19   [2026-01-19, 2026-01-20)   skipped: finished in backfill 1, run 1\n", 1, true), r.out)
    assert.is_truthy(r.out:find("2026-01-20   [2026-01-20, 2026-01-21)\n", 1, true), r.out)
    assert.is_truthy(r.out:find("2 days to run, 1 skipped", 1, true), r.out)
    w:job("j", JOB)
    assert.is_truthy(backfill(w, "--dry-run").out:find("would be refused: the job file has changed", 1, true))
    assert.is_truthy(backfill(w, "--dry-run", "--again").out:find("3 days to run, 0 skipped", 1, true))
    assert.equal(bytes, w:bytes())
  end)
end)

pairs_of.each("reconcile of a range", function(pair)
  it("names the dates that differ, writes nothing, and ends with 3", function()
    local w = shop(pair)
    local bytes = w:bytes()
    local r = w:lrun("reconcile", "j.lua", table.unpack(RANGE))
    assert.equal(3, r.status, r.err)
    assert.is_truthy(r.out:find("[1/3] 2026-01-19  ok", 1, true), r.out)
    assert.is_truthy(r.out:find("[2/3] 2026-01-20  DIFFERS", 1, true), r.out)
    assert.is_truthy(r.out:find("amount 22.00 <> NULL", 1, true), r.out)
    assert.is_truthy(r.out:find("amount 70.00 <> 7.00 (difference 63.00)", 1, true), r.out)
    assert.is_truthy(r.out:find("2 of 3 days: 2026-01-20 .. 2026-01-21 (2)", 1, true), r.out)
    assert.is_truthy(r.err:find("2026-01-20 .. 2026-01-21", 1, true), r.err)
    assert.equal(bytes, w:bytes())

    local json = w:lrun("reconcile", "j.lua", "--json", table.unpack(RANGE))
    assert.equal(3, json.status)
    assert.is_truthy(json.out:find('"differing_dates":["2026-01-20","2026-01-21"]', 1, true), json.out)
    for line in json.out:gmatch "[^\n]+" do assert.is_truthy(line:find '^{"event":".*}$', line) end

    assert.equal(0, backfill(w).status)
    r = w:lrun("reconcile", "j.lua", table.unpack(RANGE))
    assert.equal(0, r.status, r.err)
    assert.is_truthy(r.out:find("3 days equal", 1, true), r.out)
  end)

  it("is refused where the job compares nothing", function()
    local w = shop(pair, (JOB:gsub("reconcile[^\n]*\n", "")))
    local r = w:lrun("reconcile", "j.lua", table.unpack(RANGE))
    assert.equal(1, r.status)
    assert.is_truthy(r.err:find("no reconcile", 1, true), r.err)
  end)

  it("of a job with a watermark goes up to it, and finds a row later than the lookback", function()
    local w = pair.new {
      source = pairs_of.S .. "INSERT INTO s VALUES (1, 'a', '2026-01-01 10:00:00'), (2, 'b', '2026-01-02 10:00:00');",
      warehouse = pairs_of.T }
    w:job("m", [[
      job { grain = "day" }
      local rows = extract { from = "s", by = "updated_at", window = window { since = watermark(), lookback = days(1) } }
      merge { rows, into = "t", key = "id" }
      reconcile { rows, with = "t", sum = "id" }
    ]])
    w:ok("m.lua", "--run-start", "2026-01-03")
    w:source "INSERT INTO s VALUES (3, 'c', '2026-01-03 10:00:00')" -- not loaded yet, no difference
    local r = w:ok("reconcile", "m.lua", "--from", "2026-01-01", "--to", "2026-01-04")
    assert.is_truthy(r.out:find("compared up to the watermark, 2026-01-03", 1, true), r.out)
    w:ok("m.lua", "--run-start", "2026-01-04")
    w:source "INSERT INTO s VALUES (4, 'late', '2026-01-01 11:00:00')" -- later than the lookback
    w:ok("m.lua", "--run-start", "2026-01-05")
    r = w:lrun("reconcile", "m.lua", "--from", "2026-01-01", "--to", "2026-01-04")
    assert.equal(3, r.status, r.err)
    assert.is_truthy(r.out:find("1 of 4 days: 2026-01-01\n", 1, true), r.out)
    assert.equal("2026-01-05", w:watermark())
    -- a backfill of that day loads it, and leaves the watermark
    w:ok("backfill", "m.lua", "--from", "2026-01-01", "--to", "2026-01-01")
    assert.equal("2026-01-05", w:watermark())
    assert.equal("4", w:one "SELECT count(*) FROM t")
    w:ok("reconcile", "m.lua", "--from", "2026-01-01", "--to", "2026-01-04")
  end)
end)
