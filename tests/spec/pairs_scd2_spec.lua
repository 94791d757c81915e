-- scd2_merge on every pair, against an oracle: all that was ever seen of a key,
-- sorted by time, makes its versions. Runs come in a random order, split and
-- repeated at random; the seed is printed, and LRUN_TEST_SEED repeats it.
local pairs_of = require "pairs"
local random = require "random"
local oracle = require "scd2_oracle"

local ROUNDS = tonumber(os.getenv "LRUN_TEST_ROUNDS" or 1)
local KEYS, DAYS = 4, 9

local S = "CREATE TABLE s(id INTEGER, part TEXT, a TEXT, b INTEGER, at TIMESTAMP);\n"
local CHANGES = [[
job { grain = "day" }
scd2_merge { extract { from = "s" }, into = "dim", key = { "id", "part" }, at = "at" }
]]
local FULL = [[
job { grain = "day" }
local rows = extract { from = "s", columns = { "id", "part", "a", "b" } }
scd2_merge { rows, into = "dim", key = { "id", "part" }, absent = "close", allow_empty = true, backdate = true }
]]

local function dimension(w)
  local rows = w:rows "SELECT id, part, a, b, valid_from, valid_to FROM dim"
  for i, row in ipairs(rows) do rows[i] = row:gsub(" 00:00:00", "") end
  table.sort(rows)
  return rows
end

-- No overlap, no version of length zero, one open version at most.
local function invariants(w)
  assert.equal("0", w:one "SELECT count(*) FROM dim WHERE valid_from >= valid_to")
  assert.equal("0", w:one [[SELECT count(*) FROM dim AS a JOIN dim AS b ON a.id = b.id AND a.part = b.part
    AND a.valid_from < b.valid_from AND b.valid_from < a.valid_to]])
  assert.equal("0", w:one [[SELECT count(*) FROM (SELECT 1 FROM dim WHERE valid_to >= '9999-12-31'
    GROUP BY id, part HAVING count(*) > 1) AS twice]])
end

-- ---- random histories ----

local function any(list) return list[math.random(#list)] end
local function value() return any { "x", "y", "NULL" } .. "|" .. any { "1", "2", "NULL" } end
local function key() return math.random(KEYS) .. "|" .. any { "p", "q" } end
local function day(n) return ("2026-01-%02d"):format(n) end

local function quoted(text) return text == "NULL" and "NULL" or "'" .. text .. "'" end
local function fill(w, rows)
  local sql = { "DELETE FROM s;" }
  for _, row in ipairs(rows) do
    local id, part = row.key:match "(.-)|(.*)"
    local a, b = row.state:match "(.-)|(.*)"
    sql[#sql + 1] = ("INSERT INTO s VALUES (%s, '%s', %s, %s, %s);"):format(id, part, quoted(a), b, row.at and quoted(row.at) or "NULL")
  end
  w:source(table.concat(sql, "\n"))
end

-- Changes with times of their own, in batches.
local function change_runs()
  local all, taken, runs = {}, {}, {}
  for _ = 1, 40 do
    local row = { key = key(), at = day(math.random(DAYS)) .. " " .. any { "08:00:00", "20:30:00" }, state = value() }
    if not taken[row.key .. row.at] then all[#all + 1] = row end
    taken[row.key .. row.at] = true
  end
  random.shuffled(all)
  while #all > 0 do
    local batch = {}
    for _ = 1, math.random(1, 9) do batch[#batch + 1] = table.remove(all) end
    runs[#runs + 1] = { job = "changes", rows = batch }
    if math.random(3) == 1 then runs[#runs + 1] = { job = "changes", rows = batch } end
  end
  return runs
end

-- Whole extracts of some days.
local function full_runs()
  local runs = {}
  for n = 1, DAYS do
    local rows, has = {}, {}
    for _ = 1, math.random(0, 2 * KEYS) do
      local k = key()
      if not has[k] then rows[#rows + 1] = { key = k, state = value() } end
      has[k] = true
    end
    runs[#runs + 1] = { job = "full", day = day(n), rows = rows }
    if math.random(4) == 1 then runs[#runs + 1] = runs[#runs] end
  end
  return random.shuffled(runs)
end

local function interleaved(a, b)
  local out = {}
  while #a + #b > 0 do
    local from = (#b == 0 or (#a > 0 and math.random(2) == 1)) and a or b
    out[#out + 1] = table.remove(from)
  end
  return out
end

local function play(w, runs)
  local o, known = oracle(), {}
  for id = 1, KEYS do for _, part in ipairs { "p", "q" } do known[#known + 1] = id .. "|" .. part end end
  for n, run in ipairs(runs) do
    fill(w, run.rows)
    if run.job == "full" then
      local has = {}
      for _, row in ipairs(run.rows) do has[row.key] = row.state end
      for _, k in ipairs(known) do o:see(k, run.day, has[k] or false) end
      w:ok("full.lua", "--logical-date", run.day)
    else
      for _, row in ipairs(run.rows) do o:see(row.key, row.at, row.state) end
      w:ok("changes.lua", "--run-start", "2026-03-01")
    end
    assert.same(o:rows(), dimension(w), ("after run %d of %d, %s %s"):format(n, #runs, run.job, run.day or ""))
  end
  invariants(w)
end

local TYPED = [[CREATE TABLE dim(id INTEGER NOT NULL, part TEXT NOT NULL, a TEXT, b INTEGER, valid_from TIMESTAMP NOT NULL,
  valid_to TIMESTAMP NOT NULL, PRIMARY KEY (id, part, valid_from));]]

pairs_of.each("a dimension kept by scd2_merge", function(pair)
  local function scene(dim)
    return pair.new { source = S, warehouse = dim or "" }:job("changes", CHANGES):job("full", FULL)
  end

  it("equals the oracle's after every run of changes", function()
    random.seed()
    for _ = 1, ROUNDS do play(scene(), change_runs()) end
  end)
  it("equals the oracle's after every run of whole extracts, whose missing keys are gone", function()
    random.seed()
    for _ = 1, ROUNDS do play(scene(), full_runs()) end
  end)
  it("equals the oracle's after both kinds in turns", function()
    random.seed()
    for _ = 1, ROUNDS do play(scene(TYPED), interleaved(change_runs(), full_runs())) end
  end)

  it("is not written where nothing has changed", function()
    local w = scene()
    fill(w, { { key = "1|p", state = "x|1", at = "2026-01-01 08:00:00" }, { key = "1|p", state = "y|1", at = "2026-01-03 08:00:00" } })
    w:ok("changes.lua", "--run-start", "2026-03-01")
    w.to:forbid("INSERT", "dim")
    local r = w:ok("changes.lua", "--run-start", "2026-03-01")
    assert.is_truthy(r.out:find("read 2, inserted 0, updated 0", 1, true), r.out)
    fill(w, { { key = "1|p", state = "y|1", at = "2026-01-05 08:00:00" } })
    r = w:ok("changes.lua", "--run-start", "2026-03-01")
    assert.is_truthy(r.out:find("read 1, inserted 0, updated 0", 1, true), r.out)
    assert.equal("1", w:one "SELECT count(*) FROM lrun_scd2_seen")
  end)

  it("refuses a key and time with two values, and keeps nothing", function()
    local w = scene()
    local two = { { key = "1|p", state = "x|1", at = "2026-01-01 08:00:00" }, { key = "1|p", state = "y|1", at = "2026-01-01 08:00:00" } }
    fill(w, two)
    w:refused(1, { "changes.lua:2", "dim", "two values", "1, p, 2026-01-01 08:00:00" }, "changes.lua", "--run-start", "2026-03-01")
    assert.is_false(w:has "dim")
    fill(w, { two[1] })
    w:ok("changes.lua", "--run-start", "2026-03-01")
    fill(w, { two[2] })
    w:refused(1, { "two values", "1, p, 2026-01-01 08:00:00" }, "changes.lua", "--run-start", "2026-03-01")
    assert.same({ "1|p|x|1|2026-01-01 08:00:00|9999-12-31" }, dimension(w))
  end)

  it("refuses NULL in the key and in the time", function()
    local w = scene()
    w:source "INSERT INTO s VALUES (NULL, 'p', 'x', 1, '2026-01-01 08:00:00')"
    w:refused(1, { "id", "NULL" }, "changes.lua", "--run-start", "2026-03-01")
    w:source "DELETE FROM s; INSERT INTO s VALUES (1, 'p', 'x', 1, NULL)"
    w:refused(1, { "at is NULL in 1 row" }, "changes.lua", "--run-start", "2026-03-01")
  end)

  it("refuses to close what a window or an empty extract leaves out", function()
    local w = scene()
    w:job("windowed", [[job { grain = "day" }
      local rows = extract { from = "s", by = "at", window = window() }
      scd2_merge { rows, into = "dim", key = { "id", "part" }, at = "at", absent = "close" }]])
    w:refused(1, { "windowed.lua:3", "full extract", "[2026-01-01, 2026-01-02)" }, "windowed.lua", "--logical-date", "2026-01-01")
    fill(w, { { key = "1|p", state = "x|1" } })
    w:job("strict", (FULL:gsub(", allow_empty = true", ""))):ok("strict.lua", "--logical-date", "2026-01-01")
    w:source "DELETE FROM s"
    w:refused(1, { "empty", "dim", "allow_empty" }, "strict.lua", "--logical-date", "2026-01-02")
    w:ok("full.lua", "--logical-date", "2026-01-02")
    assert.same({ "1|p|x|1|2026-01-01|2026-01-02" }, dimension(w))
  end)

  it("needs a time of the change", function()
    local w = scene()
    w:refused(1, { "no at", "no logical date", "--logical-date" }, "full.lua", "--run-start", "2026-03-01")
  end)

  it("refuses times finer than the dates of the dimension", function()
    local w = scene((TYPED:gsub("TIMESTAMP", "DATE")))
    fill(w, { { key = "1|p", state = "x|1", at = "2026-01-01 08:00:00" } })
    w:refused(1, { "finer", "1, p" }, "changes.lua", "--run-start", "2026-03-01")
    fill(w, { { key = "1|p", state = "x|1", at = "2026-01-01 00:00:00" } })
    w:ok("changes.lua", "--run-start", "2026-03-01")
    assert.same({ "1|p|x|1|2026-01-01|9999-12-31" }, dimension(w))
  end)

  it("that lrun did not build goes on as it stands, open ends as they are", function()
    local w = pair.new { source = S, warehouse = [[
      CREATE TABLE dim(id INTEGER NOT NULL, part TEXT NOT NULL, a TEXT, b INTEGER, valid_from DATE NOT NULL, valid_to DATE,
        PRIMARY KEY (id, part, valid_from));
      INSERT INTO dim VALUES (1, 'p', 'x', 1, '2025-01-01', NULL), (2, 'p', 'x', 1, '2025-01-01', NULL);]] }
    w:job("full", FULL)
    fill(w, { { key = "1|p", state = "x|1" }, { key = "2|p", state = "y|1" } })
    w:ok("full.lua", "--logical-date", "2026-01-05")
    assert.same({ "1|p|x|1|2025-01-01|NULL", "2|p|x|1|2025-01-01|2026-01-05", "2|p|y|1|2026-01-05|9999-12-31" }, dimension(w))
  end)

  it("is not versioned anew because a column was added", function()
    local w = pair.new { source = "CREATE TABLE s(id INTEGER, a TEXT); INSERT INTO s VALUES (1, 'x'), (2, 'y');" }
    local JOB = [[job { grain = "day" }
      scd2_merge { extract { from = "s" }, into = "dim", key = "id", absent = "close", backdate = true%s }]]
    w:job("j", JOB:format ""):ok("j.lua", "--logical-date", day(1))
    w:source "ALTER TABLE s ADD COLUMN c TEXT"
    w:source "UPDATE s SET c = 'new'; UPDATE s SET a = 'z' WHERE id = 2"
    w:refused(1, { "dim", "c", "new_columns" }, "j.lua", "--logical-date", day(2))
    w:job("i", JOB:format ', new_columns = "ignore"'):ok("i.lua", "--logical-date", day(2))
    local function all(columns)
      local rows = w:rows("SELECT " .. columns .. ", valid_from, valid_to FROM dim ORDER BY id, valid_from")
      for n, row in ipairs(rows) do rows[n] = row:gsub(" 00:00:00", "") end
      return rows
    end
    assert.same({ "1|x|2026-01-01|9999-12-31", "2|y|2026-01-01|2026-01-02", "2|z|2026-01-02|9999-12-31" }, all "id, a")
    w:job("j", JOB:format ', new_columns = "add"')
    w:source "UPDATE s SET a = 'w' WHERE id = 2"
    for _ = 1, 2 do
      w:ok("j.lua", "--logical-date", day(3))
      assert.same({ "1|x|new|2026-01-01|9999-12-31", "2|y|NULL|2026-01-01|2026-01-02", "2|z|NULL|2026-01-02|2026-01-03",
        "2|w|new|2026-01-03|9999-12-31" }, all "id, a, c")
    end
    w:source "UPDATE s SET c = 'other' WHERE id = 1"
    w:ok("j.lua", "--logical-date", day(4))
    assert.equal("1|x|other|2026-01-04|9999-12-31", all "id, a, c"[2])
  end)

  it("remembers an extract that was empty, though no version was there yet", function()
    local w = scene()
    fill(w, {})
    w:ok("full.lua", "--logical-date", day(8))
    fill(w, { { key = "1|p", state = "x|1" } })
    w:ok("full.lua", "--logical-date", day(2))
    assert.same({ "1|p|x|1|2026-01-02|2026-01-08" }, dimension(w))
  end)

  it("that is dropped or emptied begins anew, without what was seen before", function()
    for _, statement in ipairs { "DROP TABLE dim", "DELETE FROM dim" } do
      local w = scene()
      fill(w, { { key = "1|p", state = "x|1" } })
      for n = 1, 4 do w:ok("full.lua", "--logical-date", day(n)) end
      w:warehouse(statement)
      w:ok("full.lua", "--logical-date", "2025-12-31")
      w:ok("full.lua", "--logical-date", day(5))
      assert.same({ "1|p|x|1|2025-12-31|9999-12-31" }, dimension(w))
    end
  end)

  it("is planned without being made", function()
    local w = scene()
    fill(w, { { key = "1|p", state = "x|1", at = "2026-01-01 08:00:00" } })
    local r = w:ok("plan", "changes.lua")
    assert.is_truthy(r.out:find("scd2_merge dim", 1, true), r.out)
    assert.is_false(w:has "dim")
  end)

  it("follows a key through every kind of change (S35)", function()
    local w = pair.new { source = S }
    w:job("c", [[job { grain = "day" }
      scd2_merge { extract { from = "s" }, into = "dim", key = { "id", "part" }, track = "a", at = "at" }]])
    w:job("f", [[job { grain = "day" }
      local rows = extract { from = "s", columns = { "id", "part", "a" } }
      scd2_merge { rows, into = "dim", key = { "id", "part" }, track = "a", absent = "close", backdate = true }]])
    local function changes(rows)
      for i, row in ipairs(rows) do rows[i] = { key = row[1] .. "|p", state = row[2] .. "|1", at = row[3] } end
      fill(w, rows)
      w:ok("c.lua", "--run-start", "2026-03-01")
      invariants(w)
    end
    local function versions(id)
      local rows = w:rows(("SELECT a, valid_from, valid_to FROM dim WHERE id = %d ORDER BY valid_from"):format(id))
      for i, row in ipairs(rows) do rows[i] = row:gsub(" 00:00:00", "") end
      return rows
    end
    changes { { 1, "A", "2026-01-01 01:00:00" }, { 2, "B", "2026-01-01 01:00:00" } }
    changes { { 1, "A2", "2026-01-02 01:00:00" } }
    assert.same({ "A|2026-01-01 01:00:00|2026-01-02 01:00:00", "A2|2026-01-02 01:00:00|9999-12-31" }, versions(1))
    assert.same({ "B|2026-01-01 01:00:00|9999-12-31" }, versions(2))
    for _ = 1, 2 do
      changes { { 1, "A", "2026-01-03 01:00:00" } }
      assert.same({ "A|2026-01-01 01:00:00|2026-01-02 01:00:00", "A2|2026-01-02 01:00:00|2026-01-03 01:00:00",
        "A|2026-01-03 01:00:00|9999-12-31" }, versions(1))
    end
    changes { { 1, "M", "2026-01-02 13:00:00" } } -- late, between the second and the third
    assert.same({ "A|2026-01-01 01:00:00|2026-01-02 01:00:00", "A2|2026-01-02 01:00:00|2026-01-02 13:00:00",
      "M|2026-01-02 13:00:00|2026-01-03 01:00:00", "A|2026-01-03 01:00:00|9999-12-31" }, versions(1))
    changes { { 1, "X", "2026-01-05 01:00:00" }, { 1, "Y", "2026-01-04 01:00:00" } }
    assert.same({ "Y|2026-01-04 01:00:00|2026-01-05 01:00:00", "X|2026-01-05 01:00:00|9999-12-31" }, { table.unpack(versions(1), 5) })
    changes { { 3, "NULL", "2026-01-01 01:00:00" }, { 3, "NULL", "2026-01-02 01:00:00" }, { 3, "z", "2026-01-03 01:00:00" } }
    assert.same({ "NULL|2026-01-01 01:00:00|2026-01-03 01:00:00", "z|2026-01-03 01:00:00|9999-12-31" }, versions(3))
    fill(w, { { key = "1|p", state = "X|1" }, { key = "3|p", state = "z|1" } }) -- a snapshot without key 2
    w:ok("f.lua", "--logical-date", "2026-01-10")
    assert.same({ "B|2026-01-01 01:00:00|2026-01-10" }, versions(2))
    fill(w, { { key = "1|p", state = "X|1" }, { key = "2|p", state = "B|1" }, { key = "3|p", state = "z|1" } })
    w:ok("f.lua", "--logical-date", "2026-01-12")
    assert.same({ "B|2026-01-01 01:00:00|2026-01-10", "B|2026-01-12|9999-12-31" }, versions(2))
    invariants(w)
  end)

  it("has versions that facts find, whatever came late (S36)", function()
    local w = pair.new { source = S .. "CREATE TABLE f(n INTEGER PRIMARY KEY, id INTEGER, at TIMESTAMP);" ..
      "INSERT INTO f VALUES (1, 1, '2026-01-01 00:59:59.999999'), (2, 1, '2026-01-01 01:00:00'), (3, 1, '2026-01-02 00:59:59.999999')," ..
      "(4, 1, '2026-01-02 01:00:00'), (5, NULL, '2026-01-02 01:00:00'), (6, 99, '2026-01-02 01:00:00');" }
    w:job("c", [[job { grain = "day" }
      scd2_merge { extract { from = "s" }, into = "dim", key = "id", track = "a", at = "at" }]])
    w:job("j", [[job { grain = "day" }
      local facts = extract { from = "f" }
      local joined = scd2_join { facts, dim = "dim", key = "id", at = "at", take = "a", unmatched = "null" }
      full_load { joined, into = "out" }]])
    local function facts()
      w:ok("j.lua", "--run-start", "2026-03-01")
      return table.concat(w:rows "SELECT coalesce(a, '-') FROM out ORDER BY n", " ")
    end
    fill(w, { { key = "1|p", state = "A|1", at = "2026-01-01 01:00:00" }, { key = "1|p", state = "A2|1", at = "2026-01-02 01:00:00" } })
    w:ok("c.lua", "--run-start", "2026-03-01")
    assert.equal("- A A A2 - -", facts())
    fill(w, { { key = "1|p", state = "M|1", at = "2026-01-01 12:00:00" } })
    w:ok("c.lua", "--run-start", "2026-03-01")
    assert.equal("- A M A2 - -", facts())
  end)
end)
