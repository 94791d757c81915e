-- Connections that are lost, cut by a proxy at chosen points: a run is committed
-- exactly once or not at all, its exit status says which, and the next run is right.
local pairs_of = require "pairs"
local servers = require "servers"
local world = require "world"

local by_name = pairs_of.by_name

local JOB = [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window { since = watermark()%s } }
%s
reconcile { rows, with = "t", sum = "id" }
]]
local WRITES = {
  merge = 'merge { rows, into = "t", key = "id" }',
  map = 'merge { rows:map(function(row) return row end), into = "t", key = "id" }',
  overwrite = 'overwrite_partition { rows, into = "t" }',
}
local function job(write)
  return JOB:format(write == "overwrite" and ", lookback = days(5)" or "", WRITES[write])
end

local function numbers(first, last, day)
  return ([[WITH RECURSIVE n(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d)
    INSERT INTO s SELECT i, 'a value that is long enough to fill a few messages of COPY ' || i, '%s' FROM n;]]):format(first, last, day)
end

-- A world in which a first run has taken rows 1 to 10; then 2,000 more are there.
local function started(pair, write)
  local w = pair.with(numbers(1, 10, "2026-01-01 10:00:00"))
  w:job("j", job(write)):ok("j.lua", "--run-start", "2026-01-02")
  w:source(numbers(11, 2000, "2026-01-02 10:00:00"))
  return w, w:state()
end

-- Run through a proxy that stands before one of the two ends.
local function through(w, side, words, ...)
  local proxy = servers.proxy(words)
  local from, to = w.from:url(), w.to:url()
  w:connect(side == "source" and proxy:url(from) or from, side == "warehouse" and proxy:url(to) or to)
  local r = w:lrun("j.lua", "--run-start", "2026-01-03", ...)
  w:connect(from, to)
  return r, proxy
end

local function whole(w)
  assert.equal("2000|2000|2001000", w:one "SELECT count(*), count(DISTINCT id), sum(id) FROM t")
  assert.equal("2026-01-03", w:watermark())
end

local function kept_nothing(w, state)
  assert.equal(state, w:state())
  assert.equal("10", w:one "SELECT count(*) FROM t")
  assert.equal("1", w:one "SELECT count(*) FROM lrun_runs WHERE status = 'succeeded'")
end

local function next_is_right(w, inserted)
  w:ok("j.lua", "--run-start", "2026-01-03")
  whole(w)
  assert.equal("succeeded " .. inserted, w:last_run().status .. " " .. w:last_run().rows_inserted)
  assert.equal("0", w:one "SELECT count(*) FROM lrun_runs WHERE status = 'running'")
end

local function says(r, status, ...)
  world.says(r, status, { ... })
end

for _, name in ipairs { "postgresql->sqlite", "postgresql->postgresql" } do
  describe("a source that is lost, " .. name .. ",", function()
    for what, case in pairs {
      ["while it streams"] = { "merge", { "copy-out", 60000 } },
      ["while it is fetched"] = { "map", { "statement", 1, "FETCH" } },
      ["when it is asked again by reconcile"] = { "overwrite", { "statement", 1, "sum(" } },
    } do
      it("fails the run, " .. what .. "; nothing is kept", function()
        local w, state = started(by_name[name], case[1])
        local r, proxy = through(w, "source", case[2])
        assert.is_true(proxy:cut(), r.err)
        says(r, 1, "j.lua:", "the connection was lost")
        kept_nothing(w, state)
        assert.equal("failed", w:last_run().status)
        proxy:close()
        next_is_right(w, case[1] == "overwrite" and "2000" or "1990")
      end)
    end
  end)
end

for _, name in ipairs { "sqlite->postgresql", "postgresql->postgresql" } do
  local pair = by_name[name]
  describe("a warehouse that is lost, " .. name .. ",", function()
    for what, case in pairs {
      ["while rows are staged"] = { "merge", { "copy-in", 60000 } },
      ["while a function's rows are staged"] = { "map", { "copy-in", 60000 } },
      ["while its target is written"] = { "overwrite", { "copy-in", 60000 } },
      ["when the watermark is to be saved"] = { "merge", { "statement", 1, "lrun_watermarks\" SET" } },
    } do
      it("fails the run, " .. what .. "; nothing is kept", function()
        local w, state = started(pair, case[1])
        local r, proxy = through(w, "warehouse", case[2])
        assert.is_true(proxy:cut(), r.err)
        says(r, 1, "the connection was lost")
        kept_nothing(w, state)
        -- It connected again to say so.
        assert.equal("failed", w:last_run().status)
        assert.is_truthy(w:last_run().error:find("lost", 1, true))
        proxy:close()
        next_is_right(w, case[1] == "overwrite" and "2000" or "1990")
      end)
    end

    -- COMMIT number 1 is of the `running` row, number 2 is the run's.
    it("before COMMIT reaches it: not committed, and known to be", function()
      for _, words in ipairs { { "before-commit", 2 }, { "before-commit", 2, "refuse=700" } } do
        local w, state = started(pair, "merge")
        local r, proxy = through(w, "warehouse", words)
        assert.is_true(proxy:cut())
        says(r, 1, "lost at COMMIT", "not committed")
        kept_nothing(w, state)
        assert.equal("failed", w:last_run().status)
        proxy:close()
        next_is_right(w, "1990")
      end
    end)

    it("after COMMIT and before its answer: committed, and known to be", function()
      for _, words in ipairs { { "after-commit", 2 }, { "after-commit", 2, "refuse=700" } } do
        local w = started(pair, "merge")
        local r, proxy = through(w, "warehouse", words)
        assert.is_true(proxy:cut())
        assert.equal(0, r.status, r.err)
        assert.is_truthy((r.out .. r.err):find "connection was lost at COMMIT")
        whole(w)
        assert.equal("succeeded succeeded", w:statuses())
        proxy:close()
        next_is_right(w, "0")
      end
    end)

    it("and cannot be reached again is status 6, whatever it was", function()
      for point, committed in pairs { ["before-commit"] = false, ["after-commit"] = true } do
        local w, state = started(pair, "merge")
        local r, proxy = through(w, "warehouse", { point, 2, "refuse" }, "--lock-timeout", "500ms")
        assert.is_true(proxy:cut())
        says(r, 6, "lost at COMMIT", "could not be learned", "lrun_runs", "run 2")
        assert.is_nil(r.out:find("nothing was kept", 1, true), r.out)
        if committed then whole(w) else kept_nothing(w, state) end
        -- The row is left to the transaction itself: it is the only witness.
        assert.equal(committed and "succeeded" or "running", w:last_run().status)
        proxy:close()
        next_is_right(w, committed and "0" or "1990")
        assert.equal(committed and "succeeded succeeded succeeded" or "succeeded interrupted succeeded", w:statuses())
      end
    end)

    it("and still holds the run's lock is status 6", function()
      local w, state = started(pair, "merge")
      local r, proxy = through(w, "warehouse", { "before-commit", 2, "hold" }, "--lock-timeout", "500ms")
      assert.is_true(proxy:cut())
      says(r, 6, "COMMIT", "lrun_runs")
      kept_nothing(w, state)
      proxy:close() -- now its server process learns that nobody is there
      next_is_right(w, "1990")
    end)

    it("at the small transaction before the run is done again over a new connection", function()
      for _, point in ipairs { "before-commit", "after-commit" } do
        local w = started(pair, "merge")
        local r, proxy = through(w, "warehouse", { point, 1 })
        assert.is_true(proxy:cut())
        assert.equal(0, r.status, r.err)
        assert.equal("2000|2000", w:one "SELECT count(*), count(DISTINCT id) FROM t")
        assert.equal("succeeded succeeded", w:statuses())
        proxy:close()
      end
    end)
  end)
end
