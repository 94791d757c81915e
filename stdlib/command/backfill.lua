-- lrun backfill: each logical date of a range, oldest first, each its own run.
local dates = require "show.dates"
local fail = require "show.fail"
local json = require "show.json"
local progress = require "show.progress"
local range = require "range"
local report = require "show.report"

local paint = report.paint

local words = { [0] = "ok", [3] = "DIFFERS", [4] = "busy", [6] = "UNKNOWN", [130] = "stopped", [143] = "stopped" }
local endings = { [3] = "differs", [130] = "interrupted", [143] = "interrupted" }

local function head(o, r, series, claimed, todo)
  if o.json then
    json.line("backfill", { backfill_id = claimed.backfill_id, job = r.job.name, first_date = r.first, last_date = r.last,
                            dates = #r.dates, todo = #todo, warehouse = series:name(), params = r.job.params })
    return
  end
  if o.quiet then return end
  core.write(("backfill %s  %s .. %s   %s, oldest first   warehouse %s\n"):format(
    core.visible(r.job.name), r.first, r.last, range.count(#r.dates, r.job.grain), series:name()))
  local skipped = #r.dates - #todo
  if skipped > 0 then
    core.write(("  skipped, finished before in backfill %d: %s\n"):format(
      claimed.backfill_id, range.spans(r.dates, function(d) return claimed.done[d] ~= nil end)))
  end
end

local function nothing_to_do(o, r, claimed)
  if o.json then
    json.line("result", { backfill_id = claimed.backfill_id, job = r.job.name, first_date = r.first, last_date = r.last,
                          done = #r.dates, exit = 0, status = "succeeded" })
  elseif not o.quiet then
    core.write(("backfill %s  %s .. %s   nothing to do: all %s are finished (backfill %d)%s\n"):format(
      core.visible(r.job.name), r.first, r.last, range.count(#r.dates, r.job.grain), claimed.backfill_id,
      claimed.changed and "; the job file has changed since" or ""))
    core.write("  --again runs all of them again\n")
  end
  return 0
end

local function date_line(o, g, at, n, date, result, ms)
  local word = words[result.status] or "FAILED"
  if result.status == 0 and result.differs > 0 then word = "differs" end
  local color = result.status == 0 and result.differs == 0 and "32" or "31"
  local parts = { ("[%d/%d] %s  %s"):format(at, n, date, paint(o, color, ("%-7s"):format(word))) }
  local text = dates.text(o, g)
  if text ~= "" then parts[#parts + 1] = text end
  if result.status == 0 then
    if result.checks == 0 then parts[#parts + 1] = "not compared" end
    if result.differs > 0 then parts[#parts + 1] = "kept: fail = false" end
    if result.attempts > 1 then parts[#parts + 1] = ("%d attempts"):format(result.attempts) end
    parts[#parts + 1] = ("%.0f ms"):format(ms)
  elseif result.status ~= 6 then
    parts[#parts + 1] = "rolled back"
  end
  core.write(table.concat(parts, "   ") .. "\n")
end

-- What was said while a date ran: every note once, in its first date.
local function say(bar, g, told)
  for _, note in ipairs(g.notes) do
    if not told[note] then
      bar:clear()
      core.write("  note: " .. note .. "\n")
      told[note] = true
    end
  end
  for _, text in ipairs(g.prints) do
    bar:clear()
    core.write(text .. "\n")
  end
end

local function summary(o, r, s)
  local status = s.stopped and s.stopped.status or 0
  local left = #r.dates - s.done - (s.stopped and 1 or 0)
  if o.json then
    json.line("result", { backfill_id = s.id, job = r.job.name, first_date = r.first, last_date = r.last, done = s.done,
                          not_compared = s.not_compared, differs = status == 3 and 1 or 0, not_started = left,
                          stopped_at = s.stopped_at, exit = status, ms = s.ms,
                          status = s.stopped and (endings[status] or "failed") or "succeeded" })
    return
  end
  if o.quiet then return end
  if not s.stopped then
    local compared = s.not_compared > 0 and (", %d not compared"):format(s.not_compared) or ""
    core.write(("%s   backfill %d   %s done%s   %.0f ms\n"):format(paint(o, "32", "ok"), s.id,
      range.count(s.done, r.job.grain), compared, s.ms))
    return
  end
  core.write(("stopped at %s: %d done, 1 %s, %d not started\n"):format(
    s.stopped_at, s.done, endings[status] or status == 4 and "busy" or status == 6 and "unknown" or "failed", left))
  core.write(("next: %s, then run the same command to go on at %s\n"):format(
    status == 4 and "wait for the other run" or (status == 130 or status == 143) and "when you like" or "fix the cause", s.stopped_at))
end

-- Run the dates that are not done yet. Stops at the first that fails or differs.
local function run_all(o, r, series, g, claimed, todo)
  local s = { id = claimed.backfill_id, done = #r.dates - #todo, not_compared = 0 }
  local napped = core.ticks()
  local bar, told, began = progress.new(o, #todo, r.job.grain .. "s"), {}, core.ticks()
  local place = {}
  for i, d in ipairs(r.dates) do place[d.date] = i end
  for _, d in ipairs(todo) do
    bar:draw()
    -- A nightly run that waits for the lock gets its turn.
    if core.ticks() - napped > 400 then
      core.nap(4)
      napped = core.ticks()
    end
    g.reset()
    g.date = d.date
    local from = core.ticks()
    local result = series:run(d.date)
    local ms = core.ticks() - from
    bar:step(result.rows_read)
    if not o.json and not o.quiet then
      say(bar, g, told)
      bar:clear()
      date_line(o, g, place[d.date], #r.dates, d.date, result, ms)
    elseif o.json and not o.quiet then
      local e = result.error
      json.line("date", { logical_date = d.date, run_id = result.run_id, exit = result.status, ms = ms, checks = result.checks,
                          differs = result.differs, attempts = result.attempts, rows_read = result.rows_read,
                          rows_inserted = result.rows_inserted, rows_updated = result.rows_updated,
                          rows_deleted = result.rows_deleted, rows_skipped = result.rows_skipped,
                          window_start = d.start, window_stop = d.stop, error = e and e.text or nil })
    end
    core.flush() -- who reads a log reads it while the work goes on
    if result.status ~= 0 then
      s.stopped, s.stopped_at = result, d.date
      break
    end
    s.done = s.done + 1
    if result.checks == 0 then s.not_compared = s.not_compared + 1 end
  end
  bar:clear()
  s.ms = core.ticks() - began
  return s
end

return function(o, cl)
  local r, problem = range.read(o, cl.args[1])
  if not r then return fail.show(problem, o.json) end
  local g = dates.gather(o)
  r.config.on_event = g.on_event
  r.config.must_compare = not o.no_reconcile
  local series, unopened = range.open(r)
  if not series then return fail.show(unopened, o.json) end
  local claimed, refused = series:claim { again = o.again, accept_change = o.accept_change, take_over = o.take_over }
  if not claimed then return fail.show(refused, o.json) end
  if claimed.status == "succeeded" then return nothing_to_do(o, r, claimed) end
  local todo = {}
  for _, d in ipairs(r.dates) do
    if not claimed.done[d.date] then todo[#todo + 1] = d end
  end
  head(o, r, series, claimed, todo)
  core.flush()
  local s = run_all(o, r, series, g, claimed, todo)
  local status = s.stopped and s.stopped.status or 0
  local kept, unsaved = series:finish(s.stopped and (endings[status] or "failed") or "succeeded")
  series:close()
  if s.stopped then fail.show(s.stopped.error, o.json) end
  if not kept and not s.stopped then return fail.show(unsaved, o.json) end
  summary(o, r, s)
  return status
end
