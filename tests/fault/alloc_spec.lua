-- Every Lua allocation of a run fails in turn: LRUN_TEST_LUA_ALLOC=n fails the
-- n-th. Whatever n is, the run is done whole or not at all, and says which by
-- its exit status.
--
-- There are thousands of points. All are tried where that fits the time, else
-- every k-th from a random one on (LRUN_TEST_SEED repeats the choice), with the
-- smaller k from where the job is read; LRUN_FAULT_ALL=1 tries all. With the
-- sanitized binary a leak is a status too.
local process = require "process"
local random = require "random"
local sqlite = require "sqlite"
local world = require "world"

local SECONDS = 16   -- for the points before the job is read, and for those after
local BATCH = 50     -- points in one shell: a run that hangs is found with its batch
local QUIET = 40     -- so many points in a row without an effect lie behind the last
local EVERY_POINT = os.getenv "LRUN_FAULT_ALL" == "1"

local SOURCE = [[
CREATE TABLE orders(order_id INTEGER PRIMARY KEY, country TEXT, order_date DATE, amount NUMERIC(12,2), note TEXT,
  updated_at TIMESTAMP NOT NULL);
INSERT INTO orders VALUES
  (1, 'DE', '2026-01-01', 10.5, 'a', '2026-01-01 10:00:00'), (2, 'IN', '2026-01-01', 20.25, 'b', '2026-01-01 11:00:00'),
  (3, 'DE', '2026-01-02', 30, NULL, '2026-01-02 10:00:00'), (4, 'IN', '2026-01-02', 40.75, 'd', '2026-01-02 11:00:00'),
  (5, 'IN', '2026-01-02', NULL, 'e', '2026-01-02 12:00:00');
]]
local CHANGES = [[
UPDATE orders SET note = 'changed', updated_at = '2026-01-03 09:00:00' WHERE order_id = 1;
INSERT INTO orders VALUES (6, 'FR', '2026-01-02', 60.5, 'f', '2026-01-03 10:00:00');
]]

-- How a job calls a primitive.
local ONCE = "local function try(f, ...) return f(...) end"
local TWICE = [[
local function try(f, ...)
  local ok, result = pcall(f, ...)
  if ok then return result end
  return f(...)
end]]

local JOB = [[
job { grain = "day" }
%s
local changed = try(extract, {
  from = "orders", by = "updated_at", window = window { since = watermark { advance = "newest" } },
})
local marked = changed:map(function(row)
  row.note = (row.note == null and "" or row.note) .. "!"
  return row
end)
try(merge, { marked, into = "dw_orders", key = "order_id" })

local day = try(extract, { from = "orders", by = "order_date", window = window "2026-01-02" })
local daily = try(group, { day, by = { "order_date", "country" }, revenue = "SUM(amount)" })
try(overwrite_partition, { daily, into = "dw_daily" })
try(reconcile, { day, with = "dw_daily", sum = { amount = "revenue" }, rows = false })

local seen = try(query, { "SELECT count(*) AS n, group_concat(note) AS notes FROM dw_orders WHERE order_id > :id",
                          params = { id = 0 } })[1]
try(execute, { "DELETE FROM log" })
try(execute, { "INSERT INTO log VALUES (:n, :notes)", params = { n = seen.n, notes = seen.notes } })
print("orders", seen.n)
]]
local RUN = { "j.lua", "--run-start", "2026-01-04" }

-- What a run leaves; the names of all tables too, so that none is left over.
local STATE = [[
SELECT 'orders', quote(order_id), quote(country), quote(order_date), quote(amount), quote(note), quote(updated_at)
  FROM dw_orders ORDER BY 2;
SELECT 'daily', quote(order_date), quote(country), quote(revenue) FROM dw_daily ORDER BY 2, 3;
SELECT 'log', quote(n), quote(notes) FROM log;
SELECT 'watermark', quote(job), quote(name), quote(value), quote(params), quote(run_id) FROM lrun_watermarks;
SELECT 'run', run_id, status FROM lrun_runs WHERE status IN ('succeeded', 'running') ORDER BY 2;
SELECT DISTINCT 'write', run_id, target, primitive FROM lrun_writes ORDER BY 2, 3;
SELECT 'table', name FROM sqlite_schema ORDER BY 2;
PRAGMA integrity_check;
]]

-- A warehouse with one run behind it, kept as base.db, and changed rows before
-- it; the state that it is in, and the one that a good run leaves.
local function scene(how)
  local w = world.new { source = SOURCE, warehouse = "CREATE TABLE log(n INTEGER, notes TEXT);" }
  w:job("j", JOB:format(how)):ok(table.unpack(RUN))
  w:source(CHANGES)
  w.before = sqlite.exec(w.warehouse_file, "PRAGMA wal_checkpoint(TRUNCATE);" .. STATE):gsub("^[^\n]*\n", "")
  assert(process.sh("cp warehouse.db base.db", { cwd = w.dir }).status == 0)
  w:ok(table.unpack(RUN))
  w.after = sqlite.exec(w.warehouse_file, STATE)
  assert(w.before:find "watermark|.*2026%-01%-02 12:00:00" and w.after:find "watermark|.*2026%-01%-03 10:00:00", w.after)
  assert(w.before:find "\nok\n$" and w.after:find "\nok\n$", w.after)
  return w
end

-- ---- running ----

-- Prints "n status" for each; standard error and the warehouse are files of n.
local RUNS = [[
rm -rf copies && mkdir copies || exit 1
for n in "$@"; do
  cp base.db copies/$n.db
  LRUN_WAREHOUSE=sqlite:copies/$n.db LRUN_TEST_LUA_ALLOC=$n %s >copies/$n.out 2>copies/$n.err
  echo "$n $?"
done]]

local function run_with(w, points)
  local argv = { process.quote(world.bin) }
  for i, word in ipairs(RUN) do argv[i + 1] = process.quote(word) end
  local r = process.run({ "sh", "-c", RUNS:format(table.concat(argv, " ")), "sh", table.unpack(points) },
    { cwd = w.dir, timeout = 30 + #points })
  assert(r.status == 0 and r.err == "", r.err)
  return r.out
end

-- The list of what happened at each of the points.
local function try_points(w, points)
  local results, script = {}, {}
  for n, status in run_with(w, points):gmatch "(%d+) (%d+)\n" do
    local f = assert(io.open(("%s/copies/%d.err"):format(w.dir, n)))
    results[#results + 1] = { n = tonumber(n), status = tonumber(status), err = f:read "a" }
    f:close()
    script[#script + 1] = (".open copies/%d.db\n%sSELECT 'end', (SELECT status FROM lrun_runs WHERE run_id = 2);\n"):format(n, STATE)
  end
  assert(#results == #points)
  local r = process.run({ "sqlite3", "-batch", "-bail", "-init", "/dev/null" }, { cwd = w.dir, stdin = table.concat(script) })
  assert(r.status == 0 and r.err == "", r.err)
  local i = 0
  for state, own in r.out:gmatch "(.-\n)end|([^\n]*)\n" do
    i = i + 1
    results[i].state, results[i].own = state, own
  end
  assert(i == #points, r.out)
  return results
end

local function each_point(w, from, to, step, see)
  local points = {}
  for n = from, to, step do
    points[#points + 1] = n
    if #points == BATCH or n + step > to then
      for _, r in ipairs(try_points(w, points)) do see(r) end
      points = {}
    end
  end
end

-- ---- judging ----

local function touched(r) return r.status ~= 0 or r.err ~= "" end

-- Status 7 is "committed, but the report could not be written".
local function judge(w, r)
  local wrong = {}
  local function check(ok, what) if not ok then wrong[#wrong + 1] = what end end
  local committed = r.status == 0 or r.status == 7
  check(committed or r.status == 1, "the status is none of 0, 1 and 7")
  check(r.state == w.before or r.state == w.after, "the warehouse is neither as before nor as after a good run:\n" .. r.state)
  check(committed == (r.state == w.after), committed and "it says that it was committed" or "it says that it was rolled back")
  check((r.own == "succeeded") == committed, "its row in the ledger says: " .. r.own)
  local reasons = 0
  for line in r.err:gmatch "[^\n]+" do if not line:find "^%s+hint:" then reasons = reasons + 1 end end
  check(reasons == (r.status == 0 and 0 or 1), ("%d reasons"):format(reasons))
  if #wrong == 0 then return end
  return ("allocation %d, status %d: %s\n%s"):format(r.n, r.status, table.concat(wrong, "; "), r.err)
end

-- A point behind the last one, by at most a fourth.
local function find_end(w)
  local n, found = 800, true
  while found do
    n, found = n * 5 // 4, false
    each_point(w, n, n + QUIET - 1, 1, function(r) found = found or touched(r) end)
  end
  return n
end

local function seconds_now() return tonumber(process.sh "date +%s%N".out) / 1e9 end

-- What one point takes, in seconds.
local function pace(w, at)
  local from = seconds_now()
  each_point(w, at, at + BATCH - 1, 1, function() end)
  return (seconds_now() - from) / BATCH
end

local job_is_read -- about where: the same for both jobs, whose beginning is one

local function test_all(name, how)
  local w = scene(how)
  random.seed()
  local from = seconds_now()
  local stop = find_end(w)
  local each = pace(w, stop)
  local function step_of(points) return EVERY_POINT and 1 or math.max(1, math.ceil(points * each / SECONDS)) end
  local wrong, tried, last, failed, begun, unreported = {}, 0, 0, 0, 0, 0
  local function see(r)
    tried = tried + 1
    wrong[#wrong + 1] = judge(w, r)
    if touched(r) then last = math.max(last, r.n) end
    if r.status == 7 then unreported = unreported + 1 end
    if r.status == 1 then failed = failed + 1 end
    if r.status == 1 and r.own == "failed" then begun = begun + 1 end
  end
  local step, early = step_of(stop), nil
  if not job_is_read then
    local named
    early = step
    for n = math.random(step), stop, BATCH * step do
      each_point(w, n, math.min(n + (BATCH - 1) * step, stop), step, function(r)
        see(r)
        if r.err:find "^j%.lua" then named = named or r.n end
      end)
      if named then break end
    end
    assert(named, "no allocation of the job fails: does Lua's second try, after a collection, get through?")
    job_is_read = math.max(1, named - step - 100)
  end
  step = step_of(stop - job_is_read)
  local tried_before, failed_before = tried, failed
  each_point(w, job_is_read + math.random(step) - 1, stop, step, see)
  print(("%s: %d points; tried %severy %d from %d on: %d; %d failed the run (%d of them after it had begun), %d came after COMMIT; %.0f s")
    :format(name, last, early and ("every %d, and "):format(early) or "", step, job_is_read, tried, failed, begun, unreported,
      seconds_now() - from))
  if #wrong > 0 then error(("%d of %d points:\n%s"):format(#wrong, tried, table.concat(wrong, "\n", 1, math.min(#wrong, 20)))) end
  -- A hook that makes nothing fail would prove nothing.
  assert.is_true((failed - failed_before) * step > 0.8 * (last - job_is_read), "most allocations do not fail")
  assert.is_true(begun * step > 200 and tried > tried_before, "no allocation of the job itself fails")
end

describe("a Lua allocation that fails", function()
  it("rolls a run back whole, wherever it is", function() test_all("a job", ONCE) end)
  it("does so where the job catches the error and tries again", function() test_all("a job that tries again", TWICE) end)
end)
