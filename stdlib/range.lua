-- The logical dates of --from and --to, for backfill, plan and reconcile.
local connect = require "connect"
local range = {}

local MOST = 10000 -- dates that need no --yes

local function usage(message, hint)
  return nil, { status = 2, message = message, hint = hint }
end

-- "1 day", "3 days": dates are counted in the job's grain.
function range.count(n, grain) return ("%d %s%s"):format(n, grain, n == 1 and "" or "s") end

-- Everything that can be known before a database is opened: the configuration,
-- the job and its dates; or nil and the problem.
function range.read(o, path)
  if not o.from or not o.to then
    return usage("--from and --to go together", "write --from 2026-01-19 --to 2026-01-21: both are run")
  end
  if o.logical_date then
    return usage("--logical-date does not go with --from and --to", "leave one of them out")
  end
  local config, problem = connect.config(o, path)
  if not config then return nil, problem end
  local job, unread = core.describe(config)
  if not job then return nil, unread end
  local dates, wrong = core.dates(job.grain, job.zone, o.from, o.to)
  if not dates then return nil, wrong end
  if #dates > MOST and not o.yes then
    return usage(("%s: that is %d runs"):format(range.count(#dates, job.grain), #dates),
                 "pass --yes if you mean it, or take a shorter range")
  end
  return { config = config, job = job, dates = dates, first = dates[1].date, last = dates[#dates].date }
end

-- Open the databases; or nil and the problem.
function range.open(r)
  return core.series(r.config, r.first, r.last)
end

-- Consecutive dates as "2026-01-19 .. 2026-01-21 (3)".
function range.spans(dates, wanted)
  local parts, first, last, n = {}, nil, nil, 0
  local function close()
    if n == 1 then parts[#parts + 1] = first
    elseif n > 1 then parts[#parts + 1] = ("%s .. %s (%d)"):format(first, last, n) end
    first, n = nil, 0
  end
  for _, d in ipairs(dates) do
    if wanted(d.date) then
      first, last, n = first or d.date, d.date, n + 1
    else
      close()
    end
  end
  close()
  if #parts > 4 then parts = { parts[1], parts[2], parts[3], ("and %d more stretches"):format(#parts - 3) } end
  return table.concat(parts, ", ")
end

return range
