-- The lock of a run: who holds it is said, and runs that meet take turns.
local pairs_of = require "pairs"
local process = require "process"

local by_name = pairs_of.by_name

local ROWS = [[WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50)
  INSERT INTO s SELECT i, 'v' || i, '2026-01-01 10:00:00' FROM n;]]
local JOB = [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window { since = watermark() } }
insert_new { rows, into = "t", key = "id" }
os.execute "sleep 0.04"
]]
local PAUSE = 'io.open("ready", "w"):close() while not io.open "go" do end\n'

for _, name in ipairs { "sqlite->sqlite", "sqlite->postgresql" } do
  it("the same job twice at once, 50 times: one works, the other is told of it; " .. name, function()
    local w = by_name[name].with(ROWS)
    -- A key of the target would hide rows that come twice.
    w:warehouse "DROP TABLE t; CREATE TABLE t(id INTEGER, v TEXT, updated_at TIMESTAMP)"
    w:job("j", JOB)
    local r = process.sh(([[
      for i in $(seq 50); do
        for n in a b; do
          ( '%s' j.lua --run-start "$(printf '2026-01-02 %%02d:00:00' $((i / 3)))" --lock-timeout 10ms -q 2>$n; echo $? >$n.rc ) &
        done
        wait
        echo "$(cat a.rc) $(cat b.rc) $(cat a b | grep -v hint: | tr '\n' ' ')"
      done]]):format(require "world".bin), { cwd = w.dir, timeout = 100 })
    local met, rounds = 0, 0
    for a, b, said in r.out:gmatch "(%d+) (%d+) ([^\n]*)\n" do
      rounds = rounds + 1
      assert.is_true((a == "0" or a == "4") and (b == "0" or b == "4") and a .. b ~= "44", r.out)
      if a ~= b then
        met = met + 1
        assert.is_truthy(said:find "lock", said)
      end
      -- In the moment between its two transactions nothing of a run is there to be named.
      if said:find "holds it" then assert.is_truthy(said:find "run %d+ of j holds it since 20%d%d%-" or said:find "backend %d+", said) end
    end
    assert.equal(50, rounds)
    print(("%d of 50 met"):format(met))
    assert.is_true(met > 10, r.out)
    local _, named = r.out:gsub("run %d+ of j holds it since", "")
    assert.is_true(named * 2 > met, r.out)
    assert.equal("50|50", w:one "SELECT count(*), count(DISTINCT id) FROM t")
    assert.equal("2026-01-02 16:00:00", w:watermark())
    assert.equal("0", w:one "SELECT count(*) FROM lrun_runs WHERE status NOT IN ('succeeded', 'running', 'interrupted')")
  end)
end

for _, name in ipairs { "sqlite->postgresql", "postgresql same database" } do
  local pair = by_name[name]
  describe("a busy message, " .. name .. ",", function()
    it("names the run of the same job, since when, and the server's process", function()
      local w = pair.with(ROWS)
      w:job("j", JOB .. PAUSE):job("other", 'job {}\nio.open("there", "w"):close() while not io.open "go" do end')
      local p, q = w:start "j.lua", w:start "other.lua"
      w:wait_for "ready"
      w:wait_for "there"
      local backend = w:one "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'ClientRead' AND backend_xid::text = (SELECT xmax::text FROM lrun_jobs WHERE job = 'j')"
      w:refused(4, { "of j holds it since " .. os.date "!%Y", "pid " .. p.pid, "backend " .. backend }, "j.lua", "--lock-timeout", "100ms")
      w:write("go", "")
      assert.equal("0 0", p:wait().status .. " " .. q:wait().status)
    end)

    it("names another job that writes the same target", function()
      local w = pair.with(ROWS)
      w:job("j", JOB):ok("j.lua", "--run-start", "2026-01-01")
      w:job("j", JOB .. PAUSE):job("k", JOB)
      local p = w:start "j.lua"
      w:wait_for "ready"
      w:refused(4, { "k.lua:3", "t is locked", "of j holds it since", "pid " .. p.pid, "backend " }, "k.lua", "--lock-timeout", "100ms")
      w:write("go", "")
      assert.equal(0, p:wait().status)
      assert.equal("50", w:one "SELECT count(*) FROM t")
      assert.equal("succeeded succeeded", w:statuses())
    end)

    it("names the server's process where no run is known", function()
      local w = pair.with(ROWS)
      w:job("j", JOB):ok "j.lua"
      local holder = process.start({ "psql", "-X", "-q", "-c", "BEGIN", "-c", "UPDATE lrun_jobs SET pid = 0", "-c", "\\! touch ready", "-c",
        "SELECT pg_sleep(20)", w.to:url() }, { cwd = w.dir })
      w:wait_for "ready"
      w:refused(4, { "backend ", "psql" }, "j.lua", "--lock-timeout", "0s", { timeout = 10 })
      holder:signal "INT"
      holder:wait()
      w:ok "j.lua"
    end)
  end)

  it("many jobs into one table take turns, however many, " .. name, function()
    local w = pair.with(ROWS)
    local running = {}
    for i = 1, 8 do
      w:job("j" .. i, (JOB:gsub("insert_new", "merge"))):ok("j" .. i .. ".lua", "--run-start", "2026-01-02")
      w:job("j" .. i, (JOB:gsub("insert_new", "merge"):gsub("0.04", "0.1")))
    end
    w:source "UPDATE s SET v = 'new', updated_at = '2026-01-02 10:00:00'"
    for i = 1, 8 do running[i] = w:start("j" .. i .. ".lua", "--run-start", "2026-01-03") end
    for _, p in ipairs(running) do
      local r = p:wait()
      assert.equal(0, r.status, r.err)
    end
    assert.equal("50|50|new", w:one "SELECT count(*), count(DISTINCT id), max(v) FROM t")
  end)
end

it("five first runs at once make one ledger", function()
  for _ = 1, 6 do
    local w = by_name["sqlite->postgresql"].only()
    local running = {}
    for i = 1, 5 do w:job("j" .. i, "job {}") end
    for i = 1, 5 do running[i] = w:start("j" .. i .. ".lua") end
    for _, p in ipairs(running) do
      local r = p:wait()
      assert.equal(0, r.status, r.err)
    end
    assert.equal("5|1", w:one "SELECT (SELECT count(*) FROM lrun_runs WHERE status = 'succeeded'), (SELECT count(*) FROM lrun_schema)")
  end
end)

it("the lock of a run that was killed in the middle of a statement is gone within two seconds", function()
  local w = by_name["sqlite->postgresql"].with(ROWS)
  w:job("j", JOB .. 'io.open("ready", "w"):close() query { "SELECT pg_sleep(60)" }')
  local p = w:start("j.lua", "--run-start", "2026-01-03")
  w:wait_for "ready"
  process.sleep(0.2)
  p:signal "KILL"
  p:wait()
  w:job("j", JOB)
  w:ok("j.lua", "--run-start", "2026-01-03", "--lock-timeout", "5s")
  assert.equal("interrupted succeeded", w:statuses())
  assert.equal("50", w:one "SELECT count(*) FROM t")
end)
