-- The window X-ray: which rows a run would take, found without reading the job.
-- On a throw-away copy canary rows are planted just before, on, and just after
-- each midnight and run_start, in one column at a time; the job runs; those that
-- arrive show the column, the edges, and which ends are included. An edge that
-- is elsewhere is closed in on with finer canaries.
local data = require "engine.data"
local quote = require("engine.sandbox").quote
local xray = {}

local DAY, FIRST_ID = 86400000, 90000000
local PAST, FUTURE = "1999-06-01", "2399-06-01"

-- Plant { column, value, rest } as rows, ids by place, in one statement.
local function plant(probe, table_, canaries, variant)
  local columns, out = nil, {}
  for i, c in ipairs(canaries) do
    local names, values = {}, {}
    for j, column in ipairs(table_.columns) do
      local name, v = column[1], probe.row[column[1]]
      if name == probe.key then v = FIRST_ID + i
      elseif name == c.column then v = c.value
      else
        local other = false
        for _, p in ipairs(probe.columns) do other = other or p == name end
        if other then v = c.rest else v = variant:value(column[3], v) end
      end
      names[j], values[j] = quote(name), data.literal(v)
    end
    columns, out[i] = table.concat(names, ", "), "(" .. table.concat(values, ", ") .. ")"
  end
  return { ("INSERT INTO %s(%s) VALUES %s"):format(quote(table_.name), columns, table.concat(out, ", ")) }
end

-- Which of the canaries arrive: a set of places; nil where the run fails.
local function arrivals(play, step, probe, canaries)
  local table_ = data.table(play.history.source, probe.table)
  local result, _, seen = play:rehearse(step.before, {
    run_start = step.run_start, day = step.day, params = step.params,
    after = function(box)
      local rows = box:rows("warehouse", ("SELECT DISTINCT %s FROM %s WHERE %s > %d"):format(
        quote(probe.key), quote(probe.target), quote(probe.key), FIRST_ID))
      local set = {}
      for _, row in ipairs(rows or {}) do
        if math.type(row[1]) == "integer" then set[row[1] - FIRST_ID] = true end -- a job may write text there
      end
      return set
    end,
  }, function(box) box:exec("source", plant(probe, table_, canaries, play.variant)) end)
  return result.status == 0 and seen or nil
end

-- As the source writes it: a midnight is a date, or a time where all are times.
local function text_of(probe, ms)
  local text = data.text(ms)
  return probe.times and #text == 10 and text .. " 00:00:00" or text
end

local function values_around(step, from)
  local set, list = {}, {}
  local run = data.ms(step.run_start)
  local function edge(ms)
    for _, d in ipairs { -1000, -500, -1, 0, 500 } do
      if not set[ms + d] then
        set[ms + d] = true
        list[#list + 1] = ms + d
      end
    end
  end
  for ms = (from // DAY - 3) * DAY, (run // DAY + 2) * DAY, DAY do edge(ms) end
  edge(run)
  table.sort(list)
  return list
end

-- Between two values of which one arrives: 24 canaries a time, down to 1 ms.
local function close_in(play, step, probe, column, rest, lo, hi, arrives_low)
  while hi - lo > 1 do
    local list, canaries = {}, {}
    local parts = math.min(24, hi - lo - 1)
    for i = 1, parts do
      list[i] = lo + (hi - lo) * i // (parts + 1)
      canaries[i] = { column = column, value = text_of(probe, list[i]), rest = rest }
    end
    local seen = arrivals(play, step, probe, canaries)
    if not seen then return lo, hi end
    for i = 1, parts do
      if (seen[i] or false) == arrives_low then lo = math.max(lo, list[i]) end
    end
    for i = parts, 1, -1 do
      if (seen[i] or false) ~= arrives_low then hi = math.min(hi, list[i]) end
    end
  end
  return lo, hi
end

local function whole(ms) return ms % 1000 == 0 end

-- { column, start, start_in, stop, stop_in }; start or stop is nil where there is
-- no end on that side; other is a second column that rows must fit. { all = true }: every
-- row; { none = true }: no row.
function xray.of(play, step, from)
  local probe = play.history.probe
  local values, canaries = values_around(step, from or data.ms(step.run_start) - 7 * DAY), {}
  for _, rest in ipairs { PAST, FUTURE } do
    canaries[#canaries + 1] = { value = rest, rest = rest, base = true }
    for _, column in ipairs(probe.columns) do
      for _, ms in ipairs(values) do
        canaries[#canaries + 1] = { column = column, ms = ms, value = text_of(probe, ms), rest = rest }
      end
    end
  end
  local seen = arrivals(play, step, probe, canaries)
  if not seen then return nil end
  local base, hits = {}, {}
  for i, c in ipairs(canaries) do
    if c.base then base[c.rest] = seen[i] or false end
  end
  if base[PAST] and base[FUTURE] then return { all = true } end
  local rest = base[FUTURE] and PAST or FUTURE
  local across = {} -- what arrives with the other rest: where one column has the start and another the end
  for i, c in ipairs(canaries) do
    if c.column and seen[i] then (c.rest == rest and hits or across)[c.column] = true end
  end
  local column
  for _, name in ipairs(probe.columns) do
    if hits[name] then column = column or name end
  end
  if not column then
    return { none = true }
  end
  local arrived = {}
  for i, c in ipairs(canaries) do
    if c.rest == rest and c.column == column then arrived[c.ms] = seen[i] or false end
  end
  local w = { column = column }
  for _, name in ipairs(probe.columns) do
    if not base[PAST] and not base[FUTURE] and across[name] and not hits[name] then w.other = name end
  end
  if arrived[values[1]] and not base[PAST] and not w.other then -- it begins further back
    local _, first = close_in(play, step, probe, column, rest, data.ms(PAST), values[1], false)
    w.start, w.start_in = first, true
  end
  for i, ms in ipairs(values) do
    local before = values[i - 1]
    if before and arrived[ms] ~= arrived[before] then
      local lo, hi = before, ms
      -- from a whole second to half a second after it: an end that is that second itself
      if hi - lo > 1 and not (whole(lo) and hi - lo == 500) then
        lo, hi = close_in(play, step, probe, column, rest, lo, hi, arrived[before])
      end
      if arrived[ms] then
        if w.start == nil and w.stop == nil then
          w.start_in = whole(hi) or not whole(lo)
          w.start = w.start_in and hi or lo
        end
      else
        w.stop_in = not whole(hi) and whole(lo)
        w.stop = w.stop_in and lo or hi
      end
    end
  end
  return w
end

local function at(ms) return ms and data.text(ms) or "any time" end

function xray.text(w)
  if w.all then return "every row" end
  if w.none then return "no row" end
  return ("%s%s, %s%s on %s"):format(w.start and (w.start_in and "[" or "(") or "(", at(w.start), at(w.stop),
                                    w.stop and (w.stop_in and "]" or ")") or ")", w.column)
end

-- Does the window hold a time?
function xray.holds(w, ms)
  if w.all then return true end
  if w.none or not ms then return false end
  if w.start and (ms < w.start or (ms == w.start and not w.start_in)) then return false end
  if w.stop and (ms > w.stop or (ms == w.stop and not w.stop_in)) then return false end
  return true
end

return xray
