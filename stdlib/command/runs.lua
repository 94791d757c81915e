-- lrun runs [JOB] [--last N]: the ledger, the latest first.
local fail = require "show.fail"
local json = require "show.json"
local ledger = require "ledger"
local show = require "show.table"

local columns = { "run_id", "job", "job_sha256", "params", "logical_date", "run_start", "status", "rows_read", "rows_inserted",
                  "rows_updated", "rows_deleted", "rows_skipped", "started_at", "finished_at", "backfill_id", "lrun_version",
                  "host", "pid", "error", "attempt", "source", "warehouse" }

return function(o, cl)
  local job
  if cl.args[1] then
    local found, problem = ledger.job(o, cl.args[1])
    if not found then return fail.show(problem, o.json) end
    job = found.name
  end
  local last = cl.given.last or "10"
  if not last:match("^%d+$") or not math.tointeger(tonumber(last)) or tonumber(last) < 1 then
    return fail.show({ status = 2, message = ("--last '%s' is no positive number"):format(last), hint = "write --last 20" }, o.json)
  end
  local path = cl.args[1] and cl.args[1]:match("[/.]") and cl.args[1] or nil
  local conn, problem, exists = ledger.open(o, path, true)
  if not conn then return fail.show(problem, o.json) end
  local rows, why = {}
  if exists then
    local sql = "SELECT " .. table.concat(columns, ", ") .. " FROM @lrun_runs"
    if job then rows, why = conn:query(sql .. " WHERE job = ? ORDER BY run_id DESC LIMIT ?", { job, tonumber(last) })
    else rows, why = conn:query(sql .. " ORDER BY run_id DESC LIMIT ?", { tonumber(last) }) end
    if not rows then return fail.show(why, o.json) end
  end
  local name = conn:name()
  conn:close()
  local lines = {}
  for _, row in ipairs(rows) do
    if o.json then
      local fields = {}
      for i, column in ipairs(columns) do fields[column] = row[i] ~= false and row[i] or nil end
      json.line("run", fields, columns)
    end
    lines[#lines + 1] = { row[1], row[2], row[5] or "", row[6], row[7], row[8] or "", row[9] or "", row[10] or "", row[11] or "",
                          row[14] or "", row[19] or "" }
  end
  if o.json or o.quiet then return 0 end
  if #lines == 0 then
    core.write(("no runs%s in %s\n"):format(job and " of " .. job or "", name))
    return 0
  end
  core.write(show.table({ "run", "job", "date", "run_start", "status", "read", "inserted", "updated", "deleted", "finished_at", "error" },
                        lines, 60) .. "\n")
  return 0
end
