-- lrun JOB.lua: one run.
local connect = require "connect"
local fail = require "show.fail"
local json = require "show.json"
local report = require "show.report"

return function(o, cl)
  local config, problem = connect.config(o, cl.args[1])
  if not config then return fail.show(problem, o.json) end
  local from = core.ticks()
  config.on_event = report.new(o)
  local result = core.run(config)
  local ms = core.ticks() - from
  if result.error then
    local status = fail.show(result.error, o.json)
    if status == 6 and result.run_id > 0 and not o.quiet and not o.json then
      core.write(("%s   run %d may be committed, or not: look into lrun_runs\n"):format(report.paint(o, "31", "unknown"), result.run_id))
    elseif result.run_id > 0 and not o.quiet and not o.json and status ~= 4 then
      core.write(("%s   nothing was kept; see run %d in lrun runs\n"):format(
        report.paint(o, "31", status == 3 and "differs" or "failed"), result.run_id))
    end
    return status
  end
  if o.json then
    result.ms, result.exit, result.status = ms, result.status, "succeeded"
    json.line("result", result)
  elseif not o.quiet then
    core.write(("%s   run %d   %.0f ms\n"):format(report.paint(o, "32", "ok"), result.run_id, ms))
  end
  return 0
end
