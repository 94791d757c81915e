-- One transaction on every pair: rows, watermark and ledger commit together or
-- not at all; one snapshot of the source; one run at a time.
local pairs_of = require "pairs"

local ROWS = "INSERT INTO s VALUES (1, 'a', '2026-01-01 10:00:00'), (2, 'b', '2026-01-02 10:00:00');"
local JOB = [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window { since = watermark() } }
merge { rows, into = "t", key = "id" }
]]
local READY = 'io.open("ready", "w"):close()\n'

-- A world whose job has run once (watermark 2026-01-02, row 1 loaded); then the
-- job gets more lines and row 2 is there to be loaded.
local function started(pair, more)
  local w = pair.with(ROWS)
  w:job("j", JOB):ok("j.lua", "--run-start", "2026-01-02")
  w:job("j", JOB .. more)
  return w, w:state()
end

-- After the failure: as before; and the next run reads the same window.
local function unharmed(w, state)
  assert.equal(state, w:state())
  assert.equal("1", w:one "SELECT count(*) FROM lrun_runs WHERE status = 'succeeded'")
  w:job("j", JOB):ok("j.lua", "--run-start", "2026-01-03")
  assert.same({ "1|a|2026-01-01 10:00:00", "2|b|2026-01-02 10:00:00" }, w:rows "SELECT * FROM t ORDER BY id")
  assert.equal("succeeded 1", w:last_run().status .. " " .. w:last_run().rows_read)
  assert.equal("2026-01-02|2026-01-03", w:one "SELECT window_start, window_stop FROM lrun_windows ORDER BY run_id DESC LIMIT 1")
  assert.equal("2026-01-03", w:watermark())
end

pairs_of.each("a run that fails after its writes", function(pair)
  for what, case in pairs {
    ["error() on the last line"] = { 'error("the last line")', 1, "failed", "j.lua:4" },
    ["an error that is no string"] = { "error {}", 1, "failed", "j.lua" },
    ["a statement that the database refuses"] = { 'execute { "INSERT INTO t VALUES (1, NULL, NULL)" }', 1, "failed", "j.lua:4" },
    ["a check that differs"] = { 'execute { "DELETE FROM t WHERE id = 2" }\nreconcile { rows, with = "t" }', 3, "differs", "j.lua:5" },
    ["an error that it catches"] = { 'pcall(merge, { rows, into = "no_such", key = "id", create = false })', 1, "failed", "no_such" },
    ["a refused statement that it catches"] = { 'pcall(execute, { "INSERT INTO nowhere VALUES (1)" })', 1, "failed", "nowhere" },
  } do
    it("keeps nothing: " .. what, function()
      local w, state = started(pair, case[1] .. "\n")
      w:refused(case[2], { case[4], hint = false }, "j.lua", "--run-start", "2026-01-03")
      assert.equal(case[3], w:last_run().status)
      unharmed(w, state)
    end)
  end

  for _, sql in ipairs { "COMMIT", "-- b\\nCOMMIT", "\\r\\f/* a */end" } do
    it("keeps nothing: a job that would end the transaction by " .. sql, function()
      local w, state = started(pair, ('execute { "%s" }\nerror "after it"\n'):format(sql))
      local r = w:lrun("j.lua", "--run-start", "2026-01-03")
      assert.equal(1, r.status)
      assert.truthy(r.err:find("j.lua:4", 1, true), r.err)
      unharmed(w, state)
    end)
  end

  it("keeps nothing: SIGKILL, and the next run calls it interrupted", function()
    local w, state = started(pair, READY .. "while true do end\n")
    local p = w:start("j.lua", "--run-start", "2026-01-03")
    w:wait_for "ready"
    p:signal "KILL"
    assert.equal(137, p:wait().status)
    assert.equal("succeeded running", w:statuses())
    unharmed(w, state)
    assert.equal("succeeded interrupted succeeded", w:statuses())
  end)

  for signal, status in pairs { INT = 130, TERM = 143 } do
    for where, code in pairs {
      ["in Lua"] = "while true do pcall(function() while true do end end) end",
      ["in the warehouse's SQL"] = 'query { "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000000000) SELECT count(*) FROM n" }',
      ["in the source's SQL"] = 'query { "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000000000) SELECT count(*) FROM n", connection = "source" }',
    } do
      it("keeps nothing: SIG" .. signal .. " " .. where, function()
        local w, state = started(pair, READY .. code .. "\n")
        local p = w:start("j.lua", "--run-start", "2026-01-03")
        w:wait_for "ready"
        p:signal(signal)
        local r = p:wait(15)
        assert.equal(status, r.status, r.err)
        assert.is_truthy(r.err ~= "")
        assert.equal("interrupted", w:last_run().status)
        unharmed(w, state)
      end)
    end
  end

  it("stops SQL by --max-seconds", function()
    local w, state = started(pair, 'query { "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000000000) SELECT count(*) FROM n" }\n')
    w:refused(1, { "j.lua:4", "max-seconds", hint = false }, "j.lua", "--run-start", "2026-01-03", "--max-seconds", "1")
    unharmed(w, state)
  end)
end)

pairs_of.each("a source's snapshot", function(pair)
  it("is one for the whole run", function()
    local w = pair.only(ROWS)
    w:job("j", [[
      job {}
      local rows = extract { from = "s" }
      local before = rows:count()
      io.open("ready", "w"):close()
      while not io.open "go" do end
      assert(rows:count() == before)
      full_load { rows, into = "t" }
      reconcile { rows, with = "t", sum = "id" }
    ]])
    local p = w:start "j.lua"
    w:wait_for "ready"
    w:source "INSERT INTO s VALUES (3, 'during', '2026-01-02 11:00:00'); DELETE FROM s WHERE id = 1; UPDATE s SET id = 20 WHERE id = 2"
    w:write("go", "")
    local r = p:wait()
    assert.equal(0, r.status, r.err)
    assert.same({ "1", "2" }, w:rows "SELECT id FROM t ORDER BY id")
    w:job("k", 'job {} full_load { extract { from = "s" }, into = "t" }'):ok "k.lua"
    assert.same({ "3", "20" }, w:rows "SELECT id FROM t ORDER BY id")
  end)
end)

pairs_of.each("a run that goes on", function(pair)
  it("is named to the next one, with since when: status 4", function()
    local w = pair.with(ROWS)
    w:job("j", JOB .. READY .. 'while not io.open "go" do end\n')
    local p = w:start("j.lua", "--run-start", "2026-01-02")
    w:wait_for "ready"
    local r = w:refused(4, { "run 1", tostring(p.pid), hint = false }, "j.lua", "--run-start", "2026-01-02", "--lock-timeout", "300ms")
    assert.is_truthy(r.err:find(os.date "!%Y", 1, true), r.err)
    -- It can be looked at from outside meanwhile, and planned.
    assert.is_truthy(w:ok("status", "j.lua").out:find "running")
    w:job("k", JOB)
    w:ok("plan", "k.lua", { timeout = 10 })
    assert.equal("0", w:one "SELECT count(*) FROM t")
    w:write("go", "")
    assert.equal(0, p:wait().status)
    assert.equal("1", w:one "SELECT count(*) FROM t")
    -- The run that was refused left no row.
    assert.equal("succeeded", w:statuses())
  end)

  it("is waited for, and its rows are seen by the next", function()
    local w = pair.with(ROWS)
    w:job("j", (JOB:gsub("merge", "insert_new")) .. READY .. 'while not io.open "go" do end\n')
    local p = w:start("j.lua", "--run-start", "2026-01-03")
    w:wait_for "ready"
    local q = w:start("j.lua", "--run-start", "2026-01-03")
    require "process".sleep(0.5)
    w:write("go", "")
    local a, b = p:wait(), q:wait()
    assert.equal("0 0", a.status .. " " .. b.status, a.err .. b.err)
    assert.equal("2|2", w:one "SELECT count(*), count(DISTINCT id) FROM t")
    assert.equal("succeeded succeeded", w:statuses())
    assert.equal("2026-01-03", w:watermark())
    assert.equal("0", w:last_run().rows_inserted)
  end)
end)

pairs_of.each("the same job started twice at once", function(pair)
  it("works once or twice, never half", function()
    local rows = {}
    for i = 1, 50 do rows[i] = ("(%d, 'x', '2026-01-01 10:00:00')"):format(i) end
    local w = pair.with("INSERT INTO s VALUES " .. table.concat(rows, ", "))
    w:job("j", (JOB:gsub("merge", "insert_new")))
    for round = 1, 6 do
      if round > 1 then w:warehouse "DELETE FROM lrun_watermarks; DELETE FROM t" end
      local a, b = w:start("j.lua", "--run-start", "2026-01-02"), w:start("j.lua", "--run-start", "2026-01-02")
      local ra, rb = a:wait(), b:wait()
      assert.is_true((ra.status == 0 or ra.status == 4) and (rb.status == 0 or rb.status == 4) and ra.status + rb.status < 8,
        ("round %d: %d %s %d %s"):format(round, ra.status, ra.err, rb.status, rb.err))
      assert.equal("50|50", w:one "SELECT count(*), count(DISTINCT id) FROM t")
      assert.equal("2026-01-02", w:watermark())
      assert.equal("0", w:one "SELECT count(*) FROM lrun_runs WHERE status <> 'succeeded'")
    end
  end)

  it("makes one ledger in a new warehouse", function()
    for _ = 1, 4 do
      local w = pair.only(ROWS)
      w:job("a", JOB):job("b", (JOB:gsub('into = "t"', 'into = "t2"')))
      local a, b = w:start("a.lua", "--run-start", "2026-01-03"), w:start("b.lua", "--run-start", "2026-01-03")
      local ra, rb = a:wait(), b:wait()
      assert.equal("0 0", ra.status .. " " .. rb.status, ra.err .. rb.err)
      assert.equal("2|2", w:one "SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM t2)")
    end
  end)
end)
