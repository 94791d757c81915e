-- lrun reconcile: each logical date of a range, source against warehouse.
local dates = require "show.dates"
local fail = require "show.fail"
local json = require "show.json"
local progress = require "show.progress"
local range = require "range"
local report = require "show.report"

local paint = report.paint

local function date_line(o, g, at, n, d, result)
  local differs = result.differs > 0
  local word = paint(o, differs and "31" or "32", ("%-7s"):format(differs and "DIFFERS" or "ok"))
  local notes = #g.notes > 0 and "   " .. table.concat(g.notes, "; ") or ""
  core.write(("[%d/%d] %s  %s  %s%s\n"):format(at, n, d.date, word, dates.text(o, g), notes))
  for _, text in ipairs(dates.rows(o, g)) do core.write("        " .. text .. "\n") end
end

local function summary(o, r, wrong, ms)
  local status = #wrong > 0 and 3 or 0
  if o.json then
    json.line("result", { job = r.job.name, first_date = r.first, last_date = r.last, dates = #r.dates, differs = #wrong,
                          differing_dates = wrong, exit = status, ms = ms, status = status == 0 and "succeeded" or "differs" })
  elseif status == 3 then
    local set = {}
    for _, date in ipairs(wrong) do set[date] = true end
    local names = range.spans(r.dates, function(d) return set[d] end)
    if not o.quiet then
      core.write(("%s   %d of %s: %s\n"):format(paint(o, "31", "differs"), #wrong, range.count(#r.dates, r.job.grain), names))
      core.write(("next: lrun backfill %s --from %s --to %s --again\n"):format(r.config.path, wrong[1], wrong[#wrong]))
    end
    core.warn(("lrun: %s: source and warehouse differ on %s\n"):format(r.job.name, names))
  elseif not o.quiet then
    core.write(("%s   %s equal   %.0f ms\n"):format(paint(o, "32", "ok"), range.count(#r.dates, r.job.grain), ms))
  end
  return status
end

return function(o, cl)
  local r, problem = range.read(o, cl.args[1])
  if not r then return fail.show(problem, o.json) end
  local g = dates.gather(o)
  r.config.on_event = g.on_event
  r.config.mode = "reconcile"
  r.config.must_compare = true
  r.config.by_rows = o.rows
  local series, unopened = range.open(r)
  if not series then return fail.show(unopened, o.json) end
  if not o.json and not o.quiet then
    core.write(("reconcile %s  %s .. %s   %s, nothing is written   warehouse %s\n"):format(
      core.visible(r.job.name), r.first, r.last, range.count(#r.dates, r.job.grain), series:name()))
  end
  local wrong, began = {}, core.ticks()
  local bar = progress.new(o, #r.dates, r.job.grain .. "s")
  for i, d in ipairs(r.dates) do
    bar:draw()
    g.reset()
    g.date = d.date
    local result = series:run(d.date)
    bar:step()
    bar:clear()
    if result.status ~= 0 then return fail.show(result.error, o.json) end
    if result.differs > 0 then wrong[#wrong + 1] = d.date end
    if o.json and not o.quiet then
      json.line("date", { logical_date = d.date, checks = result.checks, differs = result.differs, equal = result.differs == 0,
                          window_start = d.start, window_stop = d.stop })
    elseif not o.json and not o.quiet then
      date_line(o, g, i, #r.dates, d, result)
    end
  end
  series:close()
  return summary(o, r, wrong, core.ticks() - began)
end
