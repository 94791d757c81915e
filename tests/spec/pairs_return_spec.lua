-- Keys that go and come back (S54): scd2_merge { at =, absent = "close" } against an
-- oracle, with stamps as coarse as the run starts, extracts in every order, and
-- keys that return with an old stamp or a new one. The seed is printed.
local pairs_of = require "pairs"
local oracle = require "scd2_oracle"
local random = require "random"

local ROUNDS = tonumber(os.getenv "LRUN_TEST_ROUNDS" or 1)
local KEYS, DAYS = 4, 9
local FULL = [[
job { grain = "day" }
scd2_merge { extract { from = "s" }, into = "dim", key = "id", track = { "a", "b" }, at = "at", absent = "close", allow_empty = true }
]]
local CHANGES = FULL:gsub(', absent = "close", allow_empty = true', "")

local function any(list) return list[math.random(#list)] end
local function day(n) return ("2026-01-%02d"):format(n) end
local function quoted(text) return text == "NULL" and "NULL" or "'" .. text .. "'" end

local function fill(w, rows)
  local sql = { "DELETE FROM s;" }
  for _, row in ipairs(rows) do
    local a, b = row.state:match "(.-)|(.*)"
    sql[#sql + 1] = ("INSERT INTO s VALUES (%d, %s, %s, '%s');"):format(row.key, quoted(a), b, row.at)
  end
  w:source(table.concat(sql, "\n"))
end

local function dimension(w)
  local rows = w:rows "SELECT id, a, b, valid_from, valid_to FROM dim"
  for i, row in ipairs(rows) do rows[i] = row:gsub(" 00:00:00", "") end
  table.sort(rows)
  return rows
end

-- What is done to a key, day by day: a value with that day's stamp, gone, or back
-- as it was. The extracts of a day see it before or after that.
local function runs_of_a_history()
  local runs, now, last, changes = {}, {}, {}, {}
  local function extract(n)
    local rows = {}
    for _, row in pairs(now) do rows[#rows + 1] = row end
    runs[#runs + 1] = { job = "full", at = day(n), rows = rows }
  end
  for n = 1, DAYS do
    if math.random(2) == 1 then extract(n) end
    for key = 1, KEYS do
      local what = math.random(6)
      if what <= 2 then
        now[key] = { key = key, state = any { "x", "y", "NULL" } .. "|" .. any { "1", "NULL" }, at = day(n) }
        last[key] = now[key]
        changes[#changes + 1] = now[key]
      elseif what == 3 then
        now[key] = nil
      elseif what == 4 then
        now[key] = last[key]
      end
    end
    if math.random(3) > 1 then extract(n) end
  end
  for _ = 1, 3 do runs[#runs + 1] = { job = "changes", at = day(DAYS + 1), rows = { any(changes) } } end
  for _ = 1, 2 do runs[#runs + 1] = any(runs) end
  return random.shuffled(runs)
end

local function play(w, runs)
  local o = oracle()
  for n, run in ipairs(runs) do
    local has = {}
    for _, row in ipairs(run.rows) do
      has[row.key] = true
      o:see(row.key, row.at, row.state)
      if run.job == "full" and row.at < run.at then o:see(row.key, run.at, true) end
    end
    if run.job == "full" then for key = 1, KEYS do if not has[key] then o:see(key, run.at, false) end end end
    fill(w, run.rows)
    w:ok(run.job .. ".lua", "--run-start", run.at)
    assert.same(o:rows(), dimension(w), ("after run %d of %d, %s at %s"):format(n, #runs, run.job, run.at))
  end
  local state = w:rows "SELECT * FROM dim ORDER BY 1, 4"
  for _ = 1, 4 do
    local run = any(runs)
    fill(w, run.rows)
    local r = w:ok(run.job .. ".lua", "--run-start", run.at)
    assert.is_truthy(r.out:find("inserted 0, updated 0", 1, true), r.out)
  end
  assert.same(state, w:rows "SELECT * FROM dim ORDER BY 1, 4")
end

pairs_of.each("S54 keys that go and return", function(pair)
  local function scene(type)
    return pair.new { source = ("CREATE TABLE s(id INTEGER, a TEXT, b INTEGER, at %s);"):format(type or "TIMESTAMP") }
      :job("full", FULL):job("changes", CHANGES)
  end
  local function run(w, at, rows)
    for i, row in ipairs(rows) do rows[i] = { key = row[1], state = row[2] .. "|1", at = row[3] } end
    fill(w, rows)
    return w:ok("full.lua", "--run-start", at)
  end

  for _, type in ipairs { "TIMESTAMP", "DATE" } do
    it("S54 equal the oracle's after every run, stamped by " .. type, function()
      random.seed()
      for _ = 1, ROUNDS do play(scene(type), runs_of_a_history()) end
    end)
  end

  it("S54 open at the date on which they were closed", function()
    local w = scene()
    run(w, day(4), { { 1, "x", day(1) } })
    run(w, day(5), {})
    assert.same({ "1|x|1|2026-01-01|2026-01-05" }, dimension(w))
    for _ = 1, 2 do
      run(w, day(6), { { 1, "y", day(5) } })
      assert.same({ "1|x|1|2026-01-01|2026-01-05", "1|y|1|2026-01-05|9999-12-31" }, dimension(w))
    end
    run(w, day(5), {})
    assert.same({ "1|x|1|2026-01-01|2026-01-05", "1|y|1|2026-01-05|9999-12-31" }, dimension(w))
  end)

  it("S54 take a change stamped at the start of an earlier run", function()
    local w = scene()
    run(w, day(5), { { 1, "x", day(1) } })
    for _ = 1, 2 do
      run(w, day(6), { { 1, "y", day(5) } })
      assert.same({ "1|x|1|2026-01-01|2026-01-05", "1|y|1|2026-01-05|9999-12-31" }, dimension(w))
    end
    run(w, day(5), { { 1, "x", day(1) } })
    assert.same({ "1|x|1|2026-01-01|2026-01-05", "1|y|1|2026-01-05|9999-12-31" }, dimension(w))
  end)

  it("S54 take a change of the moment at which they were seen again", function()
    local w = scene()
    run(w, day(4), { { 1, "x", day(1) } })
    run(w, day(5), {})
    run(w, day(7), { { 1, "x", day(1) } })
    assert.same({ "1|x|1|2026-01-01|2026-01-05", "1|x|1|2026-01-07|9999-12-31" }, dimension(w))
    run(w, day(8), { { 1, "y", day(7) } })
    assert.same({ "1|x|1|2026-01-01|2026-01-05", "1|y|1|2026-01-07|9999-12-31" }, dimension(w))
    w:source "DELETE FROM s; INSERT INTO s VALUES (1, 'z', 1, '2026-01-07')"
    w:refused(1, { "two values at the same time", "1, 2026-01-07" }, "full.lua", "--run-start", day(8))
  end)

  it("S54 still have one value at a time", function()
    local w = scene()
    run(w, day(5), { { 1, "x", day(1) } })
    run(w, day(6), { { 1, "x", day(5) } }) -- the same value, stamped anew
    w:source "DELETE FROM s; INSERT INTO s VALUES (1, 'y', 1, '2026-01-05')"
    w:refused(1, { "two values at the same time", "1, 2026-01-05" }, "full.lua", "--run-start", day(6))
    assert.same({ "1|x|1|2026-01-01|9999-12-31" }, dimension(w))
  end)

  it("S54 keep a change that came late, though an extract had them without it", function()
    local w = scene()
    run(w, day(6), { { 1, "x", day(1) } })
    run(w, day(7), { { 1, "y", day(3) } })
    assert.same({ "1|x|1|2026-01-01|2026-01-03", "1|y|1|2026-01-03|9999-12-31" }, dimension(w))
  end)
end)
