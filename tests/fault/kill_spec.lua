-- A run is killed (SIGKILL) at a random moment, many times over, and run again:
-- no row is lost, none is there twice, and the ledger says only what is so.
-- LRUN_TEST_SEED repeats the moments, as far as the machine's pace does.
local process = require "process"
local random = require "random"
local world = require "world"

local KILLS = world.sanitized and 30 or 60 -- half of them in each journal mode
local ROWS = world.sanitized and 20000 or 50000
local START = world.sanitized and 0.02 or 0.002 -- seconds until a run is in its job
local DAY = "2026-01-02"

local SOURCE = ([[
CREATE TABLE orders(order_id INTEGER PRIMARY KEY, order_date DATE NOT NULL, amount INTEGER NOT NULL, updated_at TIMESTAMP NOT NULL);
CREATE INDEX orders_date ON orders(order_date);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
  INSERT INTO orders SELECT i, date('2026-01-01', (i %% 10) || ' days'), 0, '2026-01-11' FROM n;
]]):format(ROWS)

-- No key of its own: the target would take every row twice.
local WAREHOUSE = [[
CREATE TABLE orders(order_id INTEGER, order_date DATE, amount INTEGER, updated_at TIMESTAMP);
CREATE INDEX orders_id ON orders(order_id);
CREATE TABLE days(order_id INTEGER, order_date DATE, amount INTEGER, updated_at TIMESTAMP);
]]

local JOB = [[
job { grain = "day" }
local changed = extract { from = "orders", by = "updated_at", window = window { since = watermark() } }
merge { changed, into = "orders", key = "order_id" }
local day = extract { from = "orders", by = "order_date", window = window "2026-01-02" }
overwrite_partition { day, into = "days" }
reconcile { day, with = "days", sum = "amount" }
]]

-- Every order changes in each round, and so does the day's number of them.
local function change(w, round)
  w:source(([[
PRAGMA synchronous = OFF;
UPDATE orders SET amount = amount + 1, updated_at = date('2026-01-11', '%d days');
INSERT INTO orders SELECT max(order_id) + 1, '%s', 7, date('2026-01-11', '%d days') FROM orders;]]):format(round, DAY, round))
end

-- Differences between the source and the warehouse; "0|0|0|0|ok" is none.
local COMPARE = [[
ATTACH '%s' AS s;
SELECT (SELECT count(*) FROM s.orders AS a LEFT JOIN orders AS b ON b.order_id = a.order_id
    WHERE (a.order_date, a.amount, a.updated_at) IS NOT (b.order_date, b.amount, b.updated_at)),
  (SELECT count(*) FROM orders) - (SELECT count(*) FROM s.orders),
  (SELECT count(*) FROM (SELECT * FROM s.orders WHERE order_date = '%s' EXCEPT SELECT * FROM days)),
  (SELECT count(*) FROM days) - (SELECT count(*) FROM s.orders WHERE order_date = '%s'),
  (SELECT group_concat(integrity_check) FROM pragma_integrity_check);
]]
local function compared(w) return w:one(COMPARE:format(w.source_file, DAY, DAY)) end

-- What is cheap to tell before from after by, with the tables' names.
local STATE = [[
SELECT count(*), count(DISTINCT order_id), sum(amount), max(updated_at), (SELECT count(*) FROM days),
  (SELECT sum(amount) FROM days), (SELECT value FROM lrun_watermarks),
  (SELECT group_concat(name) FROM (SELECT name FROM sqlite_schema ORDER BY name)) FROM orders]]

-- Start, wait, kill, and wait until it is gone.
local KILL = [[
"$0" j.lua --run-start %s >out 2>err </dev/null &
pid=$!
sleep %.4f
kill -s KILL $pid 2>/dev/null
wait $pid
exit $?
]]

local function run_start(round) return os.date("!%Y-%m-%d", 1768176000 + round * 86400) end -- from 2026-01-12

local function killed_after(w, round, seconds)
  return process.run({ "sh", "-c", KILL:format(run_start(round), seconds), world.bin }, { cwd = w.dir }).status
end

-- Right after the kill: all of it or nothing of it, as the ledger says. Returns
-- the status of the killed run, nil if it had not come to its ledger.
local function whole_or_not(w, before, last, round)
  local run = w:last_run()
  local status = run.run_id ~= last and run.status or nil
  if status == "succeeded" then
    assert.equal("0|0|0|0|ok", compared(w))
    assert.equal(run_start(round), w:watermark())
  else
    assert.is_true(status == nil or status == "running", status)
    assert.equal(before, w:one(STATE))
    assert.equal("ok", w:one "PRAGMA integrity_check")
  end
  return status
end

local function scene(mode)
  local w = world.new { source = SOURCE, warehouse = "PRAGMA journal_mode = " .. mode .. ";" .. WAREHOUSE }
  w:job("j", JOB)
  w:ok("j.lua", "--run-start", run_start(0))
  assert.equal(mode, w:one "PRAGMA journal_mode":upper())
  assert.equal("0|0|0|0|ok", compared(w))
  return w
end

-- A run left alone; the seconds that it says it took.
local function whole_run(w, round)
  return tonumber(w:ok("j.lua", "--run-start", run_start(round)).out:match "(%d+) ms\n$") / 1000
end

describe("a run over what is there, killed at a random moment", function()
  for _, mode in ipairs { "WAL", "DELETE" } do
    it("leaves all or nothing, and the next one puts it right, in journal mode " .. mode, function()
      random.seed()
      local w = scene(mode)
      change(w, 1)
      local takes = whole_run(w, 1)
      local kills, midway, kept, round = 0, 0, 0, 1
      while kills < KILLS // 2 do
        round = round + 1
        assert(round < 10 * KILLS, "the runs are never there to be killed")
        change(w, round)
        local before, last = w:one(STATE), w:last_run().run_id
        local at = math.random() * (START + takes)
        if kills % 3 == 0 then at = START + takes * (0.8 + 0.3 * math.random()) end -- near the end, where COMMIT is
        local status = killed_after(w, round, at)
        local note = ("round %d, killed after %.4f s, status %d"):format(round, at, status)
        assert.is_true(status == 137 or status == 0, note)
        local ok, found = pcall(whole_or_not, w, before, last, round)
        if not ok then error(note .. ": " .. tostring(found)) end
        if status == 137 then
          kills = kills + 1
          if found == "running" then midway = midway + 1 end
          if found == "succeeded" then kept = kept + 1 end
        end
        local took = whole_run(w, round)
        if found == "running" then takes = took end
        assert.equal("0|0|0|0|ok", compared(w), note)
        assert.equal(run_start(round), w:watermark(), note)
        assert.equal("0", w:one "SELECT count(*) FROM lrun_runs WHERE status NOT IN ('succeeded', 'interrupted')", note)
        assert.equal(before:match "[^|]*$", w:one(STATE):match "[^|]*$", note)
      end
      print(("%s: %d kills of %d runs of about %.0f ms: %d before COMMIT, %d after it, the others before the ledger")
        :format(mode, kills, round - 1, takes * 1000, midway, kept))
      assert.is_true(midway > 0, "no run was killed in its transaction")
    end)
  end
end)

-- ---- a first run, into an empty target ----

local FIRST_ROWS = 20000
local FIRST_ROUNDS = 15

local function first_run(journal)
  local w = world.with_t(([[WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
    INSERT INTO t SELECT i, 'value ' || i, '2026-01-01 10:00:00' FROM n;]]):format(FIRST_ROWS), "PRAGMA journal_mode = " .. journal .. ";")
  return w:job("j", [[
    job { grain = "day" }
    local rows = extract { from = "t", by = "updated_at", window = window { since = watermark() } }
    insert_new { rows, into = "t", key = "id" }
    reconcile { rows, with = "t", sum = "id" }
  ]])
end

for _, journal in ipairs { "WAL", "DELETE" } do
  describe("a first run killed in journal mode " .. journal .. " (S10)", function()
    it("leaves all or nothing, and the next one is exact", function()
      local seed = random.seed()
      for round = 1, FIRST_ROUNDS do
        local w = first_run(journal)
        local p = w:start("j.lua", "--run-start", "2026-01-02")
        -- A run takes some tens of milliseconds.
        process.sleep(("%.3f"):format(math.random() * (world.sanitized and 0.4 or 0.08)))
        p:signal "KILL"
        p:wait()
        local where = ("seed %d, round %d"):format(seed, round)
        assert.equal("ok", w:one "PRAGMA integrity_check", where)
        local rows = tonumber(w:one "SELECT count(*) FROM t")
        assert.is_true(rows == 0 or rows == FIRST_ROWS, where .. ": " .. rows)
        local ledger = w:one "SELECT count(*) FROM sqlite_master WHERE name = 'lrun_runs'" == "1"
        if ledger then
          local succeeded = tonumber(w:one "SELECT count(*) FROM lrun_runs WHERE status = 'succeeded'")
          assert.equal(rows == FIRST_ROWS and 1 or 0, succeeded, where)
          assert.equal(succeeded, tonumber(w:one "SELECT count(*) FROM lrun_watermarks"), where)
        else
          assert.equal(0, rows, where)
        end
        w:ok("j.lua", "--run-start", "2026-01-03")
        assert.equal(FIRST_ROWS .. "|" .. FIRST_ROWS, w:one "SELECT count(*), count(DISTINCT id) FROM t", where)
        assert.equal("0", w:one "SELECT count(*) FROM lrun_runs WHERE status = 'running'", where)
        assert.same({ "t" }, w:rows "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'lrun%' AND name NOT LIKE 'sqlite%'")
      end
    end)
  end)
end

describe("SIGTERM at any moment", function()
  it("leaves all or nothing, with the status that says which", function()
    local seed = random.seed()
    for round = 1, FIRST_ROUNDS do
      local w = first_run "WAL"
      local p = w:start("j.lua", "--run-start", "2026-01-02")
      process.sleep(("%.3f"):format(math.random() * (world.sanitized and 0.4 or 0.08)))
      p:signal "TERM"
      local r = p:wait()
      local where = ("seed %d, round %d: %d %s"):format(seed, round, r.status, r.err)
      assert.is_true(r.status == 0 or r.status == 143, where)
      assert.equal(r.status == 0 and tostring(FIRST_ROWS) or "0", w:one "SELECT count(*) FROM t", where)
      if r.status == 0 then assert.equal("succeeded", w:last_run().status, where) end
    end
  end)
end)
