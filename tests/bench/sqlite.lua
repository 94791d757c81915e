-- The lanes from SQLite to SQLite, the start of the program, and map.
local measure = require "measure"
local call = measure.call

-- A file system in memory, where the system has one: a sync costs nothing there.
local MEMORY = "/dev/shm"
local STARTS = 20 -- of a program that takes a millisecond, in each round

local sqlite = {}

function sqlite.prepare(dir, n)
  for _, which in ipairs { "source", "all", "half", "none" } do
    call(measure.bin .. "/orders", dir .. "/" .. which .. ".db", n, which)
  end
end

-- A target of its own for each run; what is still to be written to the disk is
-- written before the clock starts.
function sqlite.fresh(dir, which, name)
  local target = dir .. "/" .. name .. ".db"
  call("rm", "-f", target, target .. "-wal", target .. "-shm")
  call("cp", dir .. "/" .. which .. ".db", target)
  call "sync"
  return target
end

local function floor(dir, lane, target, ...)
  return { measure.bin .. "/floor", lane, dir .. "/source.db", target, ... }
end

local function job(dir, name, target, ...)
  return measure.job(name, "sqlite:" .. dir .. "/source.db", "sqlite:" .. target, ...)
end

local function table_lane(dir, name, lane, which)
  return {
    name = name, figure = measure.speed, target = ">= 0.97",
    floor = function() return floor(dir, lane, sqlite.fresh(dir, which, "by_floor")) end,
    lrun = function() return job(dir, lane == "load" and "load" or "merge", sqlite.fresh(dir, which, "by_lrun")) end,
  }
end

local function start_lane(dir, name)
  return {
    name = name, figure = measure.more_ms, target = "<= 3 ms", times = STARTS,
    floor = function() return { measure.bin .. "/host", dir .. "/nightly.db" } end,
    lrun = function() return job(dir, "empty", dir .. "/nightly.db") end,
  }
end

-- The same day of two warehouses; another day in each round.
local function day_lane(dir, n)
  local function day(round) return ("2025-06-%02d"):format(round) end
  return {
    name = ("a day of %d, a process each"):format(n // 365), figure = measure.slowness, target = "<= 1.20",
    floor = function(round) return floor(dir, "days", dir .. "/days_floor.db", day(round), 1) end,
    lrun = function(round) return job(dir, "day", dir .. "/days_lrun.db", "--logical-date", day(round)) end,
  }
end

-- All days of the year, or of one without orders, in one process.
local function year_lane(dir, name, year, figure, target)
  return {
    name = name, figure = figure, target = target,
    floor = function() return floor(dir, "days", sqlite.fresh(dir, "all", "year"), year .. "-01-01", 365) end,
    lrun = function()
      local argv = job(dir, "day", sqlite.fresh(dir, "all", "year"), "--from", year .. "-01-01", "--to", year .. "-12-31")
      table.insert(argv, 2, "backfill")
      return argv
    end,
  }
end

-- The floor of a map is Lua alone, which writes nothing.
local function map_lane(dir, name, what, n)
  return {
    name = name, figure = measure.per_second(n), target = ">= 1000000",
    floor = function() return { "lua5.4", measure.base .. "/bare.lua", n } end,
    lrun = function() return job(dir, what, sqlite.fresh(dir, "none", "by_lrun")) end,
  }
end

-- What is there every night: a warehouse with a ledger.
local function prepare_nightly(dir)
  for _, name in ipairs { "days_floor", "days_lrun" } do sqlite.fresh(dir, "all", name) end
  sqlite.fresh(dir, "none", "nightly")
  call(table.unpack(job(dir, "empty", dir .. "/nightly.db")))
  call(table.unpack(job(dir, "day", dir .. "/days_lrun.db", "--logical-date", "2025-05-31")))
  call(table.unpack(floor(dir, "days", dir .. "/days_floor.db", "2025-05-31", 1)))
  call "sync"
end

local function wanted(...)
  if measure.wanted(...) then measure.lane(...) end
end

-- The empty job, once; returns its peak memory.
function sqlite.empty(dir)
  sqlite.fresh(dir, "none", "nightly")
  return measure.lane(start_lane(dir, "start to exit, an empty job"), 1)
end

function sqlite.run(dir, n)
  prepare_nightly(dir)
  wanted(start_lane(dir, "start to exit, an empty job"))
  if os.execute("test -w " .. MEMORY) then
    local _ <close>, memory = measure.scratch(MEMORY)
    call("cp", dir .. "/nightly.db", memory)
    call("cp", dir .. "/none.db", memory .. "/source.db")
    wanted(start_lane(memory, "the same, with no disk to wait for"))
  end
  wanted(table_lane(dir, "load", "load", "none"))
  wanted(table_lane(dir, "merge, half existing", "merge", "half"))
  wanted(table_lane(dir, "merge, unchanged", "unchanged", "all"))
  wanted(day_lane(dir, n))
  wanted(year_lane(dir, ("365 days of %d, one process"):format(n // 365), 2025, measure.slowness, "<= 1.20"))
  wanted(year_lane(dir, "an empty day, of 365 in one process", 2023, measure.ms_each(365), "<= 1 ms"))
  wanted(map_lane(dir, "map, nothing written", "map_drop", n))
  wanted(map_lane(dir, "map and load", "map", n))
end

function sqlite.memory(dir, n, most)
  measure.memory({ table_lane(dir, "SQLite, load", "load", "none"), table_lane(dir, "SQLite, merge", "merge", "half"),
                   map_lane(dir, "SQLite, map and load", "map", n) }, most)
end

return sqlite
