-- lrun plan: windows and statements; nothing is written.
local connect = require "connect"
local fail = require "show.fail"
local json = require "show.json"
local range = require "range"
local report = require "show.report"

local function reason(claimed, o, date)
  if claimed.backfill_id == 0 or o.again then return nil end
  local run = claimed.done[date]
  return run and ("skipped: finished in backfill %d, run %d"):format(claimed.backfill_id, run) or nil
end

-- Why the same command with backfill would be refused now, or nil.
local function refusal(claimed, o)
  if claimed.backfill_id == 0 then return nil end
  if claimed.alive then
    return ("backfill %d is at work since %s (pid %d on %s)"):format(claimed.backfill_id, claimed.owner_started, claimed.pid, claimed.host)
  end
  if claimed.changed and claimed.status ~= "succeeded" and not o.again and not o.accept_change then
    return ("the job file has changed since backfill %d stopped: pass --accept-change or --again"):format(claimed.backfill_id)
  end
end

-- The dates that a backfill would run, and why not the others.
local function range_plan(o, path)
  local r, problem = range.read(o, path)
  if not r then return fail.show(problem, o.json) end
  r.config.mode = "plan"
  local series, unopened = range.open(r)
  if not series then return fail.show(unopened, o.json) end
  local claimed, why = series:look()
  if not claimed then return fail.show(why, o.json) end
  series:close()
  local todo, first, last = 0, r.dates[1], r.dates[#r.dates]
  local lines, problem_text = {}, refusal(claimed, o)
  for _, d in ipairs(r.dates) do
    local skip = reason(claimed, o, d.date)
    if not skip then todo = todo + 1 end
    lines[#lines + 1] = ("  %s   [%s, %s)%s"):format(d.date, d.start, d.stop, skip and "   " .. skip or "")
    if o.json then
      json.line("date", { job = r.job.name, logical_date = d.date, window_start = d.start, window_stop = d.stop,
                          runs = skip == nil, reason = skip })
    end
  end
  if o.json then
    json.line("result", { job = r.job.name, first_date = r.first, last_date = r.last, dates = #r.dates, todo = todo,
                          refused = problem_text, exit = 0, status = "planned" })
    return 0
  end
  if o.quiet then return 0 end
  core.write(("plan %s  %s .. %s   %s, windows [%s, %s) to [%s, %s)\n"):format(core.visible(r.job.name), first.date, last.date,
    range.count(#r.dates, r.job.grain), first.start, first.stop, last.start, last.stop))
  core.write(table.concat(lines, "\n") .. "\n")
  local runs = todo == 0 and "nothing" or range.count(todo, r.job.grain)
  core.write(("%s to run, %d skipped; nothing was written\n"):format(runs, #r.dates - todo))
  if problem_text then core.write("now it would be refused: " .. problem_text .. "\n") end
  return 0
end

return function(o, cl)
  if o.from or o.to or cl.command == "backfill" then return range_plan(o, cl.args[1]) end
  local config, problem = connect.config(o, cl.args[1])
  if not config then return fail.show(problem, o.json) end
  config.mode = "plan"
  o.show_windows = true
  config.on_event = report.new(o)
  local result = core.run(config)
  if result.error then return fail.show(result.error, o.json) end
  if o.json then json.line("result", { job = result.job, logical_date = result.logical_date, exit = 0, status = "planned" })
  elseif not o.quiet then core.write("plan only: nothing was written\n") end
  return 0
end
