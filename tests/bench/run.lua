-- run.lua: each lane of lrun beside a floor written by hand, on this machine,
-- turn by turn (floor, lrun, floor, lrun, ...), medians of five. Prints one
-- table and fails on no figure: a benchmark is not a test.
--
-- LRUN_BIN is the binary, BENCH_BIN the folder of the programs beside this
-- file. BENCH_ROWS (1,000,000) is the number of orders; BENCH_BIG=1 adds the
-- peak memory at ten times as many. Works in a temporary folder.

local ROUNDS = 5
local STARTS = 20 -- of a program that takes a millisecond, in each round
local BASE = arg[0]:match "^(.*)/" or "."
local LRUN = os.getenv "LRUN_BIN" or "build/lrun"
local BIN = os.getenv "BENCH_BIN" or "build/bench"
local ROWS = tonumber(os.getenv "BENCH_ROWS") or 1000000

local function quote(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

local function words_of(argv)
  local words = {}
  for i, word in ipairs(argv) do words[i] = quote(tostring(word)) end
  return table.concat(words, " ")
end

local function output_of(argv)
  local pipe = assert(io.popen(words_of(argv)))
  local text = pipe:read "a"
  assert(pipe:close(), "failed: " .. words_of(argv))
  return text
end

local function call(...) output_of { ... } end

-- A file system in memory, where the system has one: a sync costs nothing there.
local MEMORY = "/dev/shm"

-- The temporary folder goes when this leaves its scope, however that happens.
local function scratch(under)
  local path = output_of { "mktemp", "-d", under and "-p", under }:match "[^\n]+"
  return setmetatable({}, { __close = function() call("rm", "-rf", path) end }), path
end

local function median(list)
  table.sort(list)
  return list[#list // 2 + 1]
end

-- ---- one measurement ----

-- Seconds and MB of a program.
local function timed(times, argv)
  local seconds, kb = output_of { BIN .. "/timed", times, table.unpack(argv) }:match "(%S+) (%S+)"
  return tonumber(seconds), tonumber(kb) / 1024
end

local function lrun(dir, job, target, ...)
  return { LRUN, BASE .. "/jobs/" .. job .. ".lua", "--quiet", "--source", "sqlite:" .. dir .. "/source.db",
           "--warehouse", "sqlite:" .. target, ... }
end

local function floor(dir, lane, target, ...)
  return { BIN .. "/floor", lane, dir .. "/source.db", target, ... }
end

-- A target of its own for each run; what is still to be written to the disk is
-- written before the clock starts.
local function fresh(dir, which, name)
  local target = dir .. "/" .. name .. ".db"
  call("rm", "-f", target, target .. "-wal", target .. "-shm")
  call("cp", dir .. "/" .. which .. ".db", target)
  call "sync"
  return target
end

-- ---- the lanes ----

-- Each measures floor and lrun once, in the folder: seconds, MB, seconds, MB.
-- A lane's figure is made from the two medians.
local function speed(ours, theirs) return ("%.2f"):format(theirs / ours) end
local function slowness(ours, theirs) return ("%.2f"):format(ours / theirs) end
local function more_ms(ours, theirs) return ("%+.2f ms"):format((ours - theirs) * 1000) end
local function per_second(n) return function(ours) return ("%.0f rows/s"):format(n / ours) end end

local function table_lane(lane, job, which)
  return function(dir)
    local s, mb = timed(1, floor(dir, lane, fresh(dir, which, "by_floor")))
    local ours, our_mb = timed(1, lrun(dir, job, fresh(dir, which, "by_lrun")))
    return s, mb, ours, our_mb
  end
end

local function start_lane(dir)
  local s, mb = timed(STARTS, { BIN .. "/host", dir .. "/nightly.db" })
  local ours, our_mb = timed(STARTS, lrun(dir, "empty", dir .. "/nightly.db"))
  return s, mb, ours, our_mb
end

-- The same without the waits for the disk that a ledger's two commits cost.
local function start_in_memory(dir)
  local _ <close>, memory = scratch(MEMORY)
  call("cp", dir .. "/nightly.db", memory)
  call("cp", dir .. "/none.db", memory .. "/source.db")
  return start_lane(memory)
end

-- The same day of two warehouses; another day in each round.
local function day_lane(dir, round)
  local day, next_day = ("2025-06-%02d"):format(round), ("2025-06-%02d"):format(round + 1)
  local s, mb = timed(1, floor(dir, "day", dir .. "/days_floor.db", day, next_day))
  local ours, our_mb = timed(1, lrun(dir, "day", dir .. "/days_lrun.db", "--logical-date", day))
  return s, mb, ours, our_mb
end

-- The floor of a map is Lua alone, which writes nothing.
local function map_lane(job, n)
  return function(dir)
    local s, mb = timed(1, { "lua5.4", BASE .. "/bare.lua", n })
    local ours, our_mb = timed(1, lrun(dir, job, fresh(dir, "none", "by_lrun")))
    return s, mb, ours, our_mb
  end
end

local function lanes_of(n)
  local day = ("a day of %d, a process each"):format(n // 365)
  local lanes = {
    { "start to exit, an empty job", start_lane, more_ms, "<= 3 ms" },
    { "load", table_lane("load", "load", "none"), speed, ">= 0.97" },
    { "merge, half existing", table_lane("merge", "merge", "half"), speed, ">= 0.97" },
    { "merge, unchanged", table_lane("unchanged", "merge", "all"), speed, ">= 0.97" },
    { day, day_lane, slowness, "<= 1.20" },
    { "map, nothing written", map_lane("map_drop", n), per_second(n), ">= 1000000" },
    { "map and load", map_lane("map", n), per_second(n), ">= 1000000" },
  }
  if os.execute("test -w " .. MEMORY) then
    table.insert(lanes, 2, { "the same, with no disk to wait for", start_in_memory, more_ms, "<= 3 ms" })
  end
  return lanes
end

local function prepare(dir, n)
  for _, which in ipairs { "source", "all", "half", "none" } do
    call(BIN .. "/orders", dir .. "/" .. which .. ".db", n, which)
  end
end

-- What is there every night: a warehouse with a ledger.
local function prepare_small(dir)
  for _, name in ipairs { "days_floor", "days_lrun" } do fresh(dir, "all", name) end
  fresh(dir, "none", "nightly")
  call(table.unpack(lrun(dir, "empty", dir .. "/nightly.db")))
  call(table.unpack(lrun(dir, "day", dir .. "/days_lrun.db", "--logical-date", "2025-05-31")))
  call(table.unpack(floor(dir, "day", dir .. "/days_floor.db", "2025-05-31", "2025-06-01")))
  call "sync"
end

-- ---- the table ----

local LINE = "%-42s %9s %9s  %-15s %-11s %9s %9s\n"

local function print_line(name, seconds, ours, figure, target, mb, our_mb)
  local s, m = "%.4f", "%.1f"
  io.write(LINE:format(name, s:format(seconds), s:format(ours), figure, target, m:format(mb), m:format(our_mb)))
  io.flush()
end

local function print_head(n)
  io.write(([[
SQLite to SQLite, %d orders, medians of %d. Loads and merges: the floor's time
over lrun's; a day: lrun's over the floor's; the start: the difference; a map:
rows per second, its floor being the loop in Lua alone. MB is the peak memory,
with a target of at most 64 over the empty job's.

]]):format(n, ROUNDS))
  io.write(LINE:format("lane", "floor s", "lrun s", "ratio", "target", "floor MB", "lrun MB"))
end

-- Measure a lane `rounds` times and print its line. Returns lrun's MB.
local function measure(dir, lane, rounds, suffix)
  local name, once, figure, target = table.unpack(lane)
  local seconds, ours, mb, our_mb = {}, {}, 0, 0
  for round = 1, rounds do
    local a, a_mb, b, b_mb = once(dir, round)
    seconds[round], ours[round] = a, b
    mb, our_mb = math.max(mb, a_mb), math.max(our_mb, b_mb)
  end
  local s, o = median(seconds), median(ours)
  print_line(name .. (suffix or ""), s, o, figure(o, s), target, mb, our_mb)
  return our_mb
end

local function small(n)
  local _ <close>, dir = scratch()
  prepare(dir, n)
  prepare_small(dir)
  local empty_mb
  for _, lane in ipairs(lanes_of(n)) do
    local mb = measure(dir, lane, ROUNDS)
    empty_mb = empty_mb or mb
  end
  return empty_mb
end

-- Peak memory only: each lane once.
local function big(n, empty_mb)
  local _ <close>, dir = scratch()
  prepare(dir, n)
  for _, lane in ipairs(lanes_of(n)) do
    if lane[1]:find "^load" or lane[1]:find "^merge, half" or lane[1]:find "^map and" then
      lane[3] = function() return "-" end
      lane[4] = ("<= %.0f MB"):format(empty_mb + 64)
      measure(dir, lane, 1, (", %d rows"):format(n))
    end
  end
end

print_head(ROWS)
local empty_mb = small(ROWS)
if os.getenv "BENCH_BIG" == "1" then big(10 * ROWS, empty_mb) end
