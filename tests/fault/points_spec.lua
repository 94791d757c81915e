-- Every call of a run that touches a database's file or socket is numbered by
-- tests/fault/preload.c. At each of them in turn the process is killed, or the
-- call fails, or the disk is full from there on, or the connection is cut. After
-- it the rows, the ledger and the watermark must tell one story, and the same
-- command again must finish the work.
--
-- The points are counted, not listed: new calls are met by themselves. Killing
-- the backfill on SQLite in WAL tries all; the others every k-th from a random one on
-- (LRUN_TEST_SEED repeats the choice), and LRUN_FAULT_ALL=1 tries all of them.
local files = require "files"
local postgres = require "postgres"
local process = require "process"
local random = require "random"
local sqlite = require "sqlite"
local world = require "world"

local PRELOAD = os.getenv "LRUN_TEST_PRELOAD"
local EVERY_POINT = os.getenv "LRUN_FAULT_ALL" == "1"

-- A sanitized binary wants its own library first.
local function preload()
  if not world.sanitized then return PRELOAD end
  return process.run({ "gcc", "-print-file-name=libasan.so" }, { tool = true }).out:match "%S+" .. ":" .. PRELOAD
end

-- ---- the story: three days, each wrong in the warehouse ----

local ROWS = [[
INSERT INTO s VALUES (1, '2026-01-01', 10, '2026-01-01'), (2, '2026-01-02', 20, '2026-01-02'), (3, '2026-01-03', 30, '2026-01-03');]]
local TABLES = [[
CREATE TABLE s(id INTEGER PRIMARY KEY, day DATE NOT NULL, amount INTEGER, updated_at DATE NOT NULL);]] .. ROWS
local TARGETS = [[
CREATE TABLE t(id INTEGER, day DATE NOT NULL, amount INTEGER, updated_at DATE NOT NULL);
CREATE TABLE m(id INTEGER PRIMARY KEY, day DATE NOT NULL, amount INTEGER, updated_at DATE NOT NULL);
INSERT INTO t VALUES (1, '2026-01-01', 1, '2026-01-01'), (2, '2026-01-02', 1, '2026-01-02'), (2, '2026-01-02', 2, '2026-01-02'),
  (3, '2026-01-03', 1, '2026-01-03');
INSERT INTO m VALUES (1, '2026-01-01', 1, '2025-12-31');]]
-- Of each day: as it was, and as it is in the source.
local OLD = { ["2026-01-01"] = "1/1", ["2026-01-02"] = "2/3", ["2026-01-03"] = "1/1" }
local NEW = { ["2026-01-01"] = "1/10", ["2026-01-02"] = "1/20", ["2026-01-03"] = "1/30" }

local BACKFILL = {
  name = "a backfill of three days",
  job = [[
job { grain = "day" }
local rows = extract { from = "s", by = "day", window = window() }
overwrite_partition { rows, into = "t" }
reconcile { rows, with = "t", sum = "amount" }
]],
  run = { "backfill", "j.lua", "--from", "2026-01-01", "--to", "2026-01-03" },
  -- Days are whole, in order, and in the ledger exactly where they are new.
  check = function(seen, finished)
    local ended = false
    for _, day in ipairs { "2026-01-01", "2026-01-02", "2026-01-03" } do
      local new = seen.days[day] == NEW[day]
      assert(new or seen.days[day] == OLD[day], day .. " is " .. tostring(seen.days[day]))
      assert(new == (seen.kept[day] == 1), ("%s: rows %s, %s times in the ledger"):format(day, seen.days[day], seen.kept[day] or 0))
      assert(not (new and ended), day .. " was done before an earlier one")
      ended = ended or not new
    end
    assert(not finished or not ended, "it ended well, and days are missing")
    assert(seen.mark == nil, "a backfill moved the watermark")
  end,
}

local NIGHTLY = {
  name = "a nightly run",
  job = [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window { since = watermark() } }
merge { rows, into = "m", key = "id" }
local day = extract { from = "s", by = "day", window = window "2026-01-02" }
overwrite_partition { day, into = "t" }
reconcile { day, with = "t", sum = "amount" }
]],
  run = { "j.lua", "--run-start", "2026-01-04" },
  check = function(seen, finished, again)
    local done = seen.days["2026-01-02"] == NEW["2026-01-02"]
    assert(done or seen.days["2026-01-02"] == OLD["2026-01-02"], "the day is " .. tostring(seen.days["2026-01-02"]))
    assert(seen.merged == (done and "3/60" or "1/1"), ("merged %s, the day is %s"):format(seen.merged, done and "new" or "old"))
    assert(seen.mark == (done and "2026-01-04" or nil), "the watermark is " .. tostring(seen.mark))
    assert((seen.kept.run or 0) == (done and 1 or 0) or again and seen.kept.run == 2, ("%d succeeded, the day is %s"):format(seen.kept.run or 0, done and "new" or "old"))
    assert(not finished or done, "it ended well, and the rows are not there")
  end,
}

local SEEN = [[
SELECT 'day' AS what, CAST(day AS text) AS a, count(*) || '/' || sum(amount) AS b FROM t GROUP BY day
UNION ALL SELECT 'merged', '', count(*) || '/' || sum(amount) FROM m]]
local LEDGER = [[
SELECT 'kept', coalesce(logical_date, 'run'), '' FROM lrun_runs WHERE status = 'succeeded'
UNION ALL SELECT 'mark', '', value FROM lrun_watermarks
UNION ALL SELECT 'running', '', '' FROM lrun_runs WHERE status = 'running']]

local function gather(rows, tables)
  local seen = { days = {}, kept = {}, running = 0 }
  for _, row in ipairs(rows) do
    local what, a, b = row:match "^(%w+)|(.-)|(.*)$"
    if what == "day" then seen.days[a] = b
    elseif what == "merged" then seen.merged = b
    elseif what == "kept" then seen.kept[a] = (seen.kept[a] or 0) + 1
    elseif what == "mark" then seen.mark = b
    elseif what == "running" then seen.running = seen.running + 1 end
  end
  for _, name in ipairs(tables) do assert(not name:find "stage", "left over: " .. name) end
  return seen
end

-- ---- where it plays ----

local Files = {}
Files.__index = Files
local function new_files(journal)
  local self = setmetatable({ dir = files.temp_dir(), journal = journal, files = "warehouse.db" }, Files)
  sqlite.exec(self.dir .. "/source.db", "PRAGMA journal_mode = WAL;" .. TABLES)
  sqlite.exec(self.dir .. "/base.db", "PRAGMA journal_mode = " .. journal .. ";" .. TARGETS)
  files.write(self.dir .. "/connections.lua", 'return { source = "sqlite:source.db", warehouse = "sqlite:warehouse.db" }\n')
  return self
end
function Files:reset()
  for _, suffix in ipairs { "-wal", "-shm", "-journal" } do os.remove(self.dir .. "/warehouse.db" .. suffix) end
  files.write(self.dir .. "/warehouse.db", files.read(self.dir .. "/base.db"))
end
function Files:seen()
  local file = self.dir .. "/warehouse.db"
  local tables = sqlite.rows(file, "SELECT name FROM sqlite_schema; PRAGMA integrity_check")
  assert(table.remove(tables) == "ok", "the file is damaged")
  local ledger = false
  for _, name in ipairs(tables) do ledger = ledger or name == "lrun_backfills" end
  return gather(sqlite.rows(file, ledger and SEEN .. " UNION ALL " .. LEDGER or SEEN), tables)
end

local Server = {}
Server.__index = Server
local function new_server()
  local self = setmetatable({ dir = files.temp_dir(), files = "no file" }, Server)
  self.from, self.to = postgres.create(TABLES), postgres.create(TARGETS)
  files.write(self.dir .. "/connections.lua",
    ("return { source = %q, warehouse = %q }\n"):format(postgres.url(self.from), postgres.url(self.to)))
  return self
end
function Server:reset()
  postgres.exec(self.to, [[DO $$ DECLARE n name; BEGIN
    FOR n IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace LOOP
      EXECUTE format('DROP TABLE %I', n); END LOOP; END $$;]] .. TARGETS)
end
function Server:seen()
  local tables = postgres.rows(self.to, "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname !~ '^(pg|sql)_'")
  local ledger = false
  for _, name in ipairs(tables) do ledger = ledger or name == "lrun_backfills" end
  return gather(postgres.rows(self.to, ledger and SEEN .. " UNION ALL " .. LEDGER or SEEN), tables)
end

local function run(place, story, at, how)
  local argv = { world.bin, table.unpack(story.run) }
  local env = how and { LD_PRELOAD = preload(), LRUN_POINT_FILES = place.files, LRUN_POINT_AT = at, LRUN_POINT_HOW = how,
                        LRUN_POINT_OUT = place.dir .. "/points" } or {}
  return process.run(argv, { cwd = place.dir, env = env, timeout = 60 })
end

-- How many points there are, from a run that none of them hits.
local function count(place, story, how)
  files.write(place.dir .. "/j.lua", story.job)
  place:reset()
  os.remove(place.dir .. "/points")
  local r = run(place, story, 0, how)
  assert(r.status == 0, r.err)
  story.check(place:seen(), true)
  return tonumber(files.read(place.dir .. "/points"))
end

local ENDS = {
  kill = { [137] = true },
  io = { [0] = true, [1] = true, [5] = true, [7] = true },
  full = { [0] = true, [1] = true, [5] = true },
  cut = { [0] = true, [1] = true, [5] = true },
  off = { [0] = true, [1] = true, [5] = true, [6] = true },
}

local function at_point(place, story, at, how)
  place:reset()
  local r = run(place, story, at, how)
  assert(ENDS[how][r.status], "status " .. r.status .. "\n" .. r.out .. r.err)
  assert(r.status == 0 or how == "kill" or r.err ~= "", "it failed without a word")
  -- What nobody could learn may have been kept; the ledger tells.
  story.check(place:seen(), r.status == 0)
  local again = run(place, story)
  assert(again.status == 0, "the run after it: status " .. again.status .. "\n" .. again.out .. again.err)
  local seen = place:seen()
  story.check(seen, true, true)
  assert(seen.running == 0, "a run is still called running")
  return r.status
end

local function every(place, story, how, step)
  local n = count(place, story, how)
  if EVERY_POINT then step = 1 end
  local first, tried, felt = math.random(1, step), 0, 0
  for at = first, n, step do
    local ok, got = pcall(at_point, place, story, at, how)
    if not ok then error(("%s, %s at point %d of %d: %s"):format(story.name, how, at, n, tostring(got)), 0) end
    tried = tried + 1
    if got ~= 0 then felt = felt + 1 end
  end
  print(("%s, %s: %d of %d points, %d ended the run"):format(story.name, how, tried, n, felt))
  assert.is_true(n > 50 and tried >= n // step, "points are missing: is the library loaded?")
  -- a few points may all be such as a run survives
  assert.is_true(felt > 0 or tried < 10, "no fault ended a run")
end

local slow = world.sanitized and 5 or 1

for _, journal in ipairs { "WAL", "DELETE" } do
  for _, story in ipairs { BACKFILL, NIGHTLY } do
    describe(story.name .. " into SQLite, journal mode " .. journal .. ",", function()
      it("killed at every point", function()
        random.seed()
        every(new_files(journal), story, "kill", (journal == "DELETE" and 5 or story == BACKFILL and 1 or 2) * slow)
      end)
      it("with an error of input or output at any point", function()
        random.seed()
        every(new_files(journal), story, "io", 9 * slow)
      end)
      it("on a disk that is full from any point on", function()
        random.seed()
        every(new_files(journal), story, "full", 9 * slow)
      end)
    end)
  end
end

for _, story in ipairs { BACKFILL, NIGHTLY } do
  describe(story.name .. " between two PostgreSQL databases,", function()
    for how, step in pairs { kill = 17, cut = 17, off = 29 } do
      it(how, function()
        random.seed()
        every(new_server(), story, how, step * slow)
      end)
    end
  end)
end
