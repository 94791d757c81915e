-- lrun plan: windows and statements; nothing is written.
local connect = require "connect"
local fail = require "show.fail"
local json = require "show.json"
local report = require "show.report"

local function range(o, config)
  if not o.from or not o.to then
    return fail.show({ status = 2, message = "--from and --to go together", hint = "write --from 2026-01-19 --to 2026-01-21" }, o.json)
  end
  if o.logical_date then
    return fail.show({ status = 2, message = "--logical-date does not go with --from and --to", hint = "leave one of them out" }, o.json)
  end
  local job, problem = core.describe(config)
  if not job then return fail.show(problem, o.json) end
  local dates, wrong = core.dates(job.grain, job.zone, o.from, o.to)
  if not dates then return fail.show(wrong, o.json) end
  local first, last = dates[1], dates[#dates]
  if o.json then
    for _, d in ipairs(dates) do
      json.line("date", { job = job.name, logical_date = d.date, window_start = d.start, window_stop = d.stop })
    end
    return 0
  end
  core.write(("plan %s  %s .. %s   %d %s%s, windows [%s, %s) to [%s, %s)\n"):format(
    job.name, first.date, last.date, #dates, job.grain, #dates == 1 and "" or "s", first.start, first.stop, last.start, last.stop))
  for _, d in ipairs(dates) do core.write(("  %s   [%s, %s)\n"):format(d.date, d.start, d.stop)) end
  return 0
end

return function(o, cl)
  local config, problem = connect.config(o, cl.args[1])
  if not config then return fail.show(problem, o.json) end
  if o.from or o.to then return range(o, config) end
  config.mode = "plan"
  o.show_windows = true
  config.on_event = report.new(o)
  local result = core.run(config)
  if result.error then return fail.show(result.error, o.json) end
  if o.json then json.line("result", { job = result.job, logical_date = result.logical_date, exit = 0, status = "planned" })
  elseif not o.quiet then core.write("plan only: nothing was written\n") end
  return 0
end
