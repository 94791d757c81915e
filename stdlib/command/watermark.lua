-- lrun watermark JOB [NAME] [--set V | --clear]
local fail = require "show.fail"
local json = require "show.json"
local ledger = require "ledger"

local function problem_of(message, hint) return { status = 2, message = message, hint = hint } end

-- Parameters as the ledger keeps them; a name alone has those of --param.
local function params_of(o, job)
  if job.params then return job.params end
  local d = core.describe { params = o.params }
  return d.params
end

local function change(conn, o, job, name, value)
  local ok, why = conn:begin()
  if not ok then return nil, why end
  local exists
  exists, why = conn:ledger()
  if exists == false then exists, why = conn:make_ledger() end
  if exists then
    exists, why = conn:query("DELETE FROM @lrun_watermarks WHERE job = ? AND name = ?", { job.name, name })
  end
  if exists and value then
    exists, why = conn:query("INSERT INTO @lrun_watermarks (job, name, value, params, saved_at) VALUES (?, ?, ?, ?, ?)",
                             { job.name, name, value, params_of(o, job), core.now() })
  end
  if exists then exists, why = conn:commit() end
  if not exists then
    conn:rollback()
    return nil, why
  end
  return true
end

return function(o, cl)
  local given, name = cl.given, cl.args[2] or "default"
  if given.set and given.clear then
    return fail.show(problem_of("--set and --clear exclude each other", "leave one of them out"), o.json)
  end
  local job, problem = ledger.job(o, cl.args[1])
  if not job then return fail.show(problem, o.json) end
  if given.set and not given.set:match("^%-?%d+$") and not core.time_value(job.zone or "UTC", given.set) then
    return fail.show(problem_of(("--set '%s' is no date, time or whole number"):format(given.set),
                                "write --set 2026-01-20 or --set \"2026-01-20 09:30:00\""), o.json)
  end
  local path = cl.args[1]:match("[/.]") and cl.args[1] or nil
  local changes = given.set or given.clear
  local conn, wrong, exists = ledger.open(o, path, not changes)
  if not conn then return fail.show(wrong, o.json) end
  local rows = {}
  if exists then
    rows, wrong = conn:query("SELECT value, saved_at, run_id, params FROM @lrun_watermarks WHERE job = ? AND name = ?", { job.name, name })
    if not rows then return fail.show(wrong, o.json) end
  end
  local before = rows[1] and rows[1][1]
  if changes then
    local ok, why = change(conn, o, job, name, given.set)
    if not ok then return fail.show(why, o.json) end
  end
  conn:close()
  if o.json then
    json.line("watermark", { job = job.name, name = name, value = changes and given.set or before, before = changes and before or nil,
                             params = rows[1] and rows[1][4] })
  elseif not o.quiet then
    local of = core.visible(("watermark %s of %s"):format(name, job.name))
    if changes then
      core.write(("%s   %s -> %s\n"):format(of, before or "none", given.set or "none"))
    else
      core.write(("%s   %s%s\n"):format(of, before or "none",
        before and ("   saved %s"):format(rows[1][2]) or ""))
    end
  end
  return 0
end
