-- What the benchmark's lanes share: programs, times, and the lines of the table.
--
-- LRUN_BIN is the binary, BENCH_BIN the folder of the programs beside this file.
-- LRUN_BENCH_ROWS (1,000,000) is the number of orders, LRUN_BENCH_RUNS (5) how
-- often each lane is run; a figure is the median of them.
local measure = {
  base = arg[0]:match "^(.*)/" or ".",
  lrun = os.getenv "LRUN_BIN" or "build/lrun",
  bin = os.getenv "BENCH_BIN" or "build/bench",
  rows = tonumber(os.getenv "LRUN_BENCH_ROWS") or 1000000,
  runs = tonumber(os.getenv "LRUN_BENCH_RUNS") or 5,
}

local function quote(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

local function words_of(argv)
  local words = {}
  for i, word in ipairs(argv) do words[i] = quote(tostring(word)) end
  return table.concat(words, " ")
end

function measure.output_of(argv)
  local pipe = assert(io.popen(words_of(argv)))
  local text = pipe:read "a"
  assert(pipe:close(), "failed: " .. words_of(argv))
  return text
end

function measure.call(...) measure.output_of { ... } end

-- The temporary folder goes when this leaves its scope, however that happens.
function measure.scratch(under)
  local path = measure.output_of { "mktemp", "-d", under and "-p", under }:match "[^\n]+"
  return setmetatable({}, { __close = function() measure.call("rm", "-rf", path) end }), path
end

-- A run of the job on these connections.
function measure.job(job, source, warehouse, ...)
  return { measure.lrun, measure.base .. "/jobs/" .. job .. ".lua", "--quiet", "--source", source, "--warehouse", warehouse, ... }
end

-- How a lane's figure is made from lrun's median and the floor's.
function measure.speed(ours, theirs) return ("%.2f"):format(theirs / ours) end
function measure.slowness(ours, theirs) return ("%.2f"):format(ours / theirs) end
function measure.more_ms(ours, theirs) return ("%+.2f ms"):format((ours - theirs) * 1000) end
function measure.ms_each(n) return function(ours) return ("%.2f ms"):format(ours / n * 1000) end end
function measure.per_second(n) return function(ours) return ("%.0f rows/s"):format(n / ours) end end

-- Seconds, MB and seconds on a processor of a program.
local function timed(times, argv)
  local seconds, kb, cpu = measure.output_of { measure.bin .. "/timed", times, table.unpack(argv) }:match "(%S+) (%S+) (%S+)"
  return tonumber(seconds), tonumber(kb) / 1024, tonumber(cpu)
end

local function median(list)
  table.sort(list)
  return list[#list // 2 + 1]
end

local LINE = "%-48s %9s %9s  %-15s %-12s %8s %8s %8s %8s\n"

function measure.head()
  io.write(LINE:format("lane", "floor s", "lrun s", "ratio", "target", "cpu s", "cpu s", "floor MB", "lrun MB"))
end

local function value(format, v) return v and format:format(v) or "-" end

-- Is it one of the lanes that LRUN_BENCH_ONLY asks for?
function measure.wanted(lane)
  local part = os.getenv "LRUN_BENCH_ONLY"
  return not part or lane.name:find(part, 1, true) ~= nil
end

-- A lane: name, figure, target, and for both sides a function of the round that
-- makes what the program needs and returns its arguments; floor may be missing.
-- after(), optional, looks at what was made and may return words for the line. Prints the lane's line and
-- returns lrun's MB.
function measure.lane(lane, runs)
  local sides = { floor = { s = {}, cpu = {}, mb = 0 }, lrun = { s = {}, cpu = {}, mb = 0 } }
  for round = 1, runs or measure.runs do
    for _, name in ipairs { "floor", "lrun" } do
      local side = sides[name]
      if lane[name] then
        local argv = lane[name](round)
        local mb
        side.s[round], mb, side.cpu[round] = timed(lane.times or 1, argv)
        side.mb = math.max(side.mb, mb)
        if lane.after then side.note = lane.after() end
      end
    end
  end
  local floor, ours = sides.floor, sides.lrun
  local s, o = median(floor.s), median(ours.s)
  local figure = lane.figure and lane.figure(o, s) or "-"
  io.write(LINE:format(lane.name .. (ours.note or ""), value("%.4f", s), value("%.4f", o), figure, lane.target or "",
    value("%.3f", median(floor.cpu)), value("%.3f", median(ours.cpu)), value("%.1f", s and floor.mb), value("%.1f", ours.mb)))
  io.flush()
  return ours.mb
end

-- Those of the lanes that are wanted.
function measure.lanes(lanes)
  for _, lane in ipairs(lanes) do
    if measure.wanted(lane) then measure.lane(lane) end
  end
end

-- Peak memory: each lane once, without its floor.
function measure.memory(lanes, most)
  for _, lane in ipairs(lanes) do
    lane.floor, lane.figure, lane.target = nil, nil, most
    measure.lane(lane, 1)
  end
end

return measure
