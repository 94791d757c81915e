-- One line for each logical date of a backfill or a reconcile: what was
-- compared, both numbers, and the rows that were replaced.
local json = require "show.json"
local report = require "show.report"
local present, check_text = report.present, report.check_text

local dates = {}
local MOST = 6 -- comparisons shown of one date

-- What a run tells, gathered: give `on_event` to the configuration.
function dates.gather(o)
  local g = { verbose = o.verbose and report.new(o) or nil }
  function g.reset() g.checks, g.notes, g.prints, g.writes, g.moved = {}, {}, {}, {}, 0 end
  g.reset()
  function g.on_event(event, f, order)
    if o.json then
      if event ~= "run" and not o.quiet then
        f.logical_date = f.logical_date or g.date
        json.line(event, f, order and table.move({ "logical_date" }, 1, 1, #order + 1, table.move(order, 1, #order, 1, {})))
      end
    elseif event == "sql" and g.verbose then g.verbose(event, f)
    end
    if event == "check" then g.checks[#g.checks + 1] = f
    elseif event == "checked" then g.moved = g.moved + f.moved_on
    elseif event == "write" then g.writes[#g.writes + 1] = f
    elseif event == "note" then g.notes[#g.notes + 1] = f.message
    elseif event == "print" then g.prints[#g.prints + 1] = f.message
    end
  end
  return g
end

-- The rows that differ, each by its key; the other comparisons stand before them.
function dates.rows(o, g)
  local list = {}
  for _, f in ipairs(g.checks) do
    if present(f.text) then list[#list + 1] = check_text(o, f) end
  end
  return list
end

-- What differs first: it must not be cut off.
local function checks(o, g)
  local targets, n, list = {}, 0, {}
  for _, f in ipairs(g.checks) do
    if not targets[f.target] then targets[f.target], n = true, n + 1 end
  end
  for _, wanted in ipairs { false, true } do
    for _, f in ipairs(g.checks) do
      if f.equal == wanted and not (o.rows and present(f.text)) then list[#list + 1] = check_text(o, f, n > 1 and f.target .. " " or "") end
    end
  end
  if #list > MOST then
    local more = #list - MOST
    list = table.move(list, 1, MOST, 1, {})
    list[#list + 1] = ("and %d more"):format(more)
  end
  return table.concat(list, "   ")
end

-- "7 -> 0" where a day lost or gained rows.
local function replaced(g)
  local parts = {}
  for _, f in ipairs(g.writes) do
    if f.rows_deleted ~= f.rows_inserted and f.rows_deleted > 0 then
      parts[#parts + 1] = ("%s %d -> %d"):format(f.target, f.rows_deleted, f.rows_inserted)
    end
  end
  return table.concat(parts, "   ")
end

-- "rows 1 = 1   amount 35.00 = 35.00   dw_orders 7 -> 0"
function dates.text(o, g)
  local parts = {}
  for _, part in ipairs { checks(o, g), replaced(g), g.moved > 0 and "moved on: " .. g.moved or "" } do
    if part ~= "" then parts[#parts + 1] = part end
  end
  return table.concat(parts, "   ")
end

return dates
