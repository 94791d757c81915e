-- lrun status [JOB]: watermarks and the last run of each job.
local fail = require "show.fail"
local json = require "show.json"
local ledger = require "ledger"
local show = require "show.table"

local last_run = [[
SELECT job, run_id, logical_date, run_start, status, rows_read, rows_inserted, rows_updated, rows_deleted, started_at,
       finished_at, error, host, pid
FROM @lrun_runs AS r WHERE run_id = (SELECT max(run_id) FROM @lrun_runs AS x WHERE x.job = r.job) ORDER BY job]]

local columns = { "job", "run_id", "logical_date", "run_start", "status", "rows_read", "rows_inserted", "rows_updated",
                  "rows_deleted", "started_at", "finished_at", "error", "host", "pid" }

local function as_table(names, row)
  local out = {}
  for i, name in ipairs(names) do out[name] = row[i] ~= false and row[i] or nil end
  return out
end

return function(o, cl)
  local wanted
  if cl.args[1] then
    local job, problem = ledger.job(o, cl.args[1])
    if not job then return fail.show(problem, o.json) end
    wanted = job.name
  end
  local path = cl.args[1] and cl.args[1]:match("[/.]") and cl.args[1] or nil
  local conn, problem, exists = ledger.open(o, path, true)
  if not conn then return fail.show(problem, o.json) end
  local runs, marks, why = {}, {}
  if exists then
    runs, why = conn:query(last_run)
    if not runs then return fail.show(why, o.json) end
    marks, why = conn:query("SELECT job, name, value, saved_at, run_id FROM @lrun_watermarks ORDER BY job, name")
    if not marks then return fail.show(why, o.json) end
  end
  local name = conn:name()
  conn:close()
  local shown, rows, mark_rows = 0, {}, {}
  for _, row in ipairs(runs) do
    if not wanted or row[1] == wanted then
      shown = shown + 1
      if o.json then json.line("status", as_table(columns, row)) end
      rows[#rows + 1] = { row[1], row[2], row[3] or "", row[5], row[7], row[8], row[9], row[10], row[12] or "" }
    end
  end
  for _, row in ipairs(marks) do
    if not wanted or row[1] == wanted then
      shown = shown + 1
      if o.json then json.line("watermark", as_table({ "job", "name", "value", "saved_at", "run_id" }, row)) end
      mark_rows[#mark_rows + 1] = { row[1], row[2], row[3], row[4] }
    end
  end
  if o.json or o.quiet then return 0 end
  if shown == 0 then
    core.write(("no runs%s in %s\n"):format(wanted and " of " .. wanted or "", name))
    return 0
  end
  if #rows > 0 then
    core.write(show.table({ "job", "run", "date", "status", "inserted", "updated", "deleted", "started_at", "error" }, rows, 60) .. "\n")
  end
  if #mark_rows > 0 then
    core.write("\n" .. show.table({ "job", "watermark", "value", "saved_at" }, mark_rows) .. "\n")
  end
  return 0
end
