-- SIGKILL at any moment: all of a run or nothing of it, and no hand edits after.
local process = require "process"
local random = require "random"
local world = require "world"

local ROWS = 20000
local ROUNDS = 15

local function new(journal)
  local w = world.with_t(([[WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
    INSERT INTO t SELECT i, 'value ' || i, '2026-01-01 10:00:00' FROM n;]]):format(ROWS), "PRAGMA journal_mode = " .. journal .. ";")
  return w:job("j", [[
    job { grain = "day" }
    local rows = extract { from = "t", by = "updated_at", window = window { since = watermark() } }
    insert_new { rows, into = "t", key = "id" }
    reconcile { rows, with = "t", sum = "id" }
  ]])
end

for _, journal in ipairs { "WAL", "DELETE" } do
  describe("a run killed in journal mode " .. journal .. " (S10)", function()
    it("leaves all or nothing, and the next one is exact", function()
      local seed = random.seed()
      for round = 1, ROUNDS do
        local w = new(journal)
        local p = w:start("j.lua", "--run-start", "2026-01-02")
        -- A run takes some tens of milliseconds.
        process.sleep(("%.3f"):format(math.random() * (world.sanitized and 0.4 or 0.08)))
        p:signal "KILL"
        p:wait()
        local where = ("seed %d, round %d"):format(seed, round)
        assert.equal("ok", w:one "PRAGMA integrity_check", where)
        local rows = tonumber(w:one "SELECT count(*) FROM t")
        assert.is_true(rows == 0 or rows == ROWS, where .. ": " .. rows)
        local ledger = w:one "SELECT count(*) FROM sqlite_master WHERE name = 'lrun_runs'" == "1"
        if ledger then
          local succeeded = tonumber(w:one "SELECT count(*) FROM lrun_runs WHERE status = 'succeeded'")
          assert.equal(rows == ROWS and 1 or 0, succeeded, where)
          assert.equal(succeeded, tonumber(w:one "SELECT count(*) FROM lrun_watermarks"), where)
        else
          assert.equal(0, rows, where)
        end
        w:ok("j.lua", "--run-start", "2026-01-03")
        assert.equal(ROWS .. "|" .. ROWS, w:one "SELECT count(*), count(DISTINCT id) FROM t", where)
        assert.equal("0", w:one "SELECT count(*) FROM lrun_runs WHERE status = 'running'", where)
        assert.same({ "t" }, w:rows "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'lrun%' AND name NOT LIKE 'sqlite%'")
      end
    end)
  end)
end

describe("SIGTERM at any moment", function()
  it("leaves all or nothing, with the status that says which", function()
    local seed = random.seed()
    for round = 1, ROUNDS do
      local w = new "WAL"
      local p = w:start("j.lua", "--run-start", "2026-01-02")
      process.sleep(("%.3f"):format(math.random() * (world.sanitized and 0.4 or 0.08)))
      p:signal "TERM"
      local r = p:wait()
      local where = ("seed %d, round %d: %d %s"):format(seed, round, r.status, r.err)
      assert.is_true(r.status == 0 or r.status == 143, where)
      assert.equal(r.status == 0 and tostring(ROWS) or "0", w:one "SELECT count(*) FROM t", where)
      if r.status == 0 then assert.equal("succeeded", w:last_run().status, where) end
    end
  end)
end)
