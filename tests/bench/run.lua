-- run.lua: each lane of lrun beside a floor written by hand, on this machine,
-- turn by turn (floor, lrun, floor, lrun, ...). Prints one table and fails on no
-- figure: a benchmark is not a test. Works in temporary folders.
--
-- LRUN_BENCH_ROWS (1,000,000) and LRUN_BENCH_RUNS (5) say how many orders, and
-- how often; LRUN_BENCH_ONLY a part of the names of the lanes to be run;
-- LRUN_BENCH_MEMORY=1 runs each pair once with ten times the rows instead, and
-- tells the peak memory.
package.path = (arg[0]:match "^(.*)/" or ".") .. "/?.lua;" .. package.path
local dimension = require "dimension"
local measure = require "measure"
local postgres = require "postgres"
local sqlite = require "sqlite"

local HEAD = [[
%d orders, medians of %d. Loads and merges: the floor's time over lrun's; a day,
reconcile and dimensions: lrun's over the floor's; the start: the difference; a map: rows per second, its
floor being the loop in Lua alone. cpu: the client's time on a processor, the
floor's and lrun's. MB: the client's peak memory.

]]

local function speed()
  io.write(HEAD:format(measure.rows, measure.runs))
  measure.head()
  local _ <close>, dir = measure.scratch()
  sqlite.prepare(dir, measure.rows)
  sqlite.run(dir, measure.rows)
  measure.lanes(dimension.sqlite(dir, measure.rows))
  local server <close> = postgres.start()
  server:run(dir)
  measure.lanes(dimension.postgres(server, dir, measure.rows))
end

-- Peak memory, beside what an empty job takes.
local function memory(n)
  io.write(("Peak memory with %d orders.\n\n"):format(n))
  measure.head()
  local _ <close>, dir = measure.scratch()
  sqlite.prepare(dir, n)
  local empty_mb = sqlite.empty(dir)
  local most = ("<= %.0f MB"):format(empty_mb + 64)
  sqlite.memory(dir, n, most)
  local server <close> = postgres.start()
  server:memory(dir, most)
end

if os.getenv "LRUN_BENCH_MEMORY" == "1" then memory(10 * measure.rows) else speed() end
