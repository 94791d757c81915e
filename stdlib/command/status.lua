-- lrun status [JOB]: watermarks, the last run of each job, unfinished backfills.
local fail = require "show.fail"
local json = require "show.json"
local ledger = require "ledger"
local range = require "range"
local show = require "show.table"

local last_run = [[
SELECT job, run_id, logical_date, run_start, status, rows_read, rows_inserted, rows_updated, rows_deleted, started_at,
       finished_at, error, host, pid
FROM @lrun_runs AS r WHERE run_id = (SELECT max(run_id) FROM @lrun_runs AS x WHERE x.job = r.job) ORDER BY job]]

-- The latest of each: an older one of the same range was begun anew.
local backfills_sql = [[
SELECT job, backfill_id, params, grain, zone, first_date, last_date, status, started_at, finished_at, owner_host, owner_pid,
       owner_started
FROM @lrun_backfills AS b WHERE status <> 'succeeded' AND backfill_id = (SELECT max(backfill_id) FROM @lrun_backfills AS x
  WHERE x.job = b.job AND x.params = b.params AND x.grain = b.grain AND x.zone = b.zone AND x.first_date = b.first_date
  AND x.last_date = b.last_date) ORDER BY job, backfill_id]]

local dates_sql = [[
SELECT logical_date, status, error FROM @lrun_runs AS r WHERE backfill_id = ? AND run_id = (SELECT max(run_id) FROM @lrun_runs AS x
  WHERE x.backfill_id = r.backfill_id AND x.logical_date = r.logical_date)]]

local columns = { "job", "run_id", "logical_date", "run_start", "status", "rows_read", "rows_inserted", "rows_updated",
                  "rows_deleted", "started_at", "finished_at", "error", "host", "pid" }

local function as_table(names, row)
  local out = {}
  for i, name in ipairs(names) do out[name] = row[i] ~= false and row[i] or nil end
  return out
end

-- Which dates are done, which are not, and why.
local function backfill_of(conn, row)
  local b = as_table({ "job", "backfill_id", "params", "grain", "zone", "first_date", "last_date", "status", "started_at",
                       "finished_at", "owner_host", "owner_pid", "owner_started" }, row)
  if b.status == "running" and not core.alive(b.owner_host, b.owner_pid, b.owner_started) then
    b.status, b.why = "interrupted", "its process is gone"
  end
  local runs, why = conn:query(dates_sql, { b.backfill_id })
  if not runs then return nil, why end
  local by, kept = {}, {}
  for _, run in ipairs(runs) do by[run[1]] = run end
  local done, problem = conn:query("SELECT DISTINCT logical_date FROM @lrun_runs WHERE backfill_id = ? AND status = 'succeeded'",
                                   { b.backfill_id })
  if not done then return nil, problem end
  for _, run in ipairs(done) do kept[run[1]] = true end
  local dates = core.dates(b.grain, b.zone, b.first_date, b.last_date) or {}
  b.failed, b.done, b.not_started = {}, 0, 0
  for _, d in ipairs(dates) do
    local run = by[d.date]
    if kept[d.date] then b.done = b.done + 1
    elseif run then b.failed[#b.failed + 1] = { logical_date = d.date, status = run[2], error = run[3] or nil }
    else b.not_started = b.not_started + 1 end
  end
  function b.spans(what)
    return range.spans(dates, function(date)
      if what == "done" then return kept[date] end
      return not kept[date] and not by[date]
    end)
  end
  return b
end

local function show_backfill(b)
  local line = ("backfill %d of %s  %s .. %s   %s"):format(b.backfill_id, b.job, b.first_date, b.last_date, b.status)
  if b.why then line = line .. " (" .. b.why .. ")" end
  if b.params ~= "{}" then line = line .. "   params " .. b.params end
  if b.status == "running" then line = line .. (" since %s (pid %d on %s)"):format(b.owner_started, b.owner_pid, b.owner_host) end
  core.write(core.visible(line) .. "\n")
  if b.done > 0 then core.write("  done         " .. b.spans "done" .. "\n") end
  for _, f in ipairs(b.failed) do
    core.write(("  %-11s  %s   %s\n"):format(f.status, f.logical_date, (f.error or ""):gsub("\n.*", "")))
  end
  if b.not_started > 0 then core.write("  not started  " .. b.spans "left" .. "\n") end
  if b.status ~= "running" then
    core.write(("  next: lrun backfill with the same job, params and --from %s --to %s\n"):format(b.first_date, b.last_date))
  end
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
  local runs, marks, backfills, why = {}, {}, {}
  if exists then
    runs, why = conn:query(last_run)
    if not runs then return fail.show(why, o.json) end
    marks, why = conn:query("SELECT job, name, value, saved_at, run_id FROM @lrun_watermarks ORDER BY job, name")
    if not marks then return fail.show(why, o.json) end
    local unfinished
    unfinished, why = conn:query(backfills_sql)
    if not unfinished then return fail.show(why, o.json) end
    for _, row in ipairs(unfinished) do
      if not wanted or row[1] == wanted then
        local b
        b, why = backfill_of(conn, row)
        if not b then return fail.show(why, o.json) end
        backfills[#backfills + 1] = b
      end
    end
  end
  local name = conn:name()
  conn:close()
  local shown, rows, mark_rows = 0, {}, {}
  for _, row in ipairs(runs) do
    if not wanted or row[1] == wanted then
      shown = shown + 1
      if o.json then json.line("status", as_table(columns, row)) end
      rows[#rows + 1] = { row[1], row[2], row[3] or "", row[5], row[7] or "", row[8] or "", row[9] or "", row[10], row[12] or "" }
    end
  end
  for _, row in ipairs(marks) do
    if not wanted or row[1] == wanted then
      shown = shown + 1
      if o.json then json.line("watermark", as_table({ "job", "name", "value", "saved_at", "run_id" }, row)) end
      mark_rows[#mark_rows + 1] = { row[1], row[2], row[3], row[4] }
    end
  end
  for _, b in ipairs(backfills) do
    shown = shown + 1
    if o.json then
      b.done_dates, b.not_started_dates, b.spans = b.spans "done", b.spans "left", nil
      json.line("backfill", b)
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
  for _, b in ipairs(backfills) do
    core.write "\n"
    show_backfill(b)
  end
  return 0
end
