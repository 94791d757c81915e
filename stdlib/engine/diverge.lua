-- Why the warehouse differs: the first step that does, its lowest key, the class
-- of the difference, and the rule (R1 to R18) that was broken. Seen from the
-- outside: from the rows, the windows that the X-ray shows, and the statements.
local backfill = require "engine.backfill"
local data = require "engine.data"
local timeline = require "engine.timeline"
local quote = require("engine.sandbox").quote
local truth = require "engine.truth"
local xray = require "engine.xray"
local when = timeline.when
local diverge = {}

-- When the row's last change reached the source, and which step it was; nil for
-- a row that was there from the start.
local function arrival(play, d, upto)
  local key, found = play.history.truth.key[1], nil
  local function look(e, at)
    local name = e.insert or e.update or e.delete
    if not name then return end
    local table_ = data.table(play.history.source, name)
    local value = e.insert and data.cell(table_, e.row, key) or e.where and e.where[key]
    local kind = data.kinds(table_)[key]
    if value ~= nil and truth.canon(play.variant:value(kind, value)) == truth.canon(d.value) then found = at end
  end
  for _, s in ipairs(play.steps) do
    if s.number > upto.number then break end
    if s.kind == "change" then look(s.event, s.at) end
    for _, e in ipairs(s.event.during or {}) do look(e, play.variant:date(e.at) or s.run_start) end
  end
  return found
end

-- The window of a run, seen once; from: when the run before it began.
function diverge.window(play, s, from)
  local day = data.ms(s.day) or from
  s.window = s.window or xray.of(play, s, day and math.min(day, from or day)) or { none = true }
  return s.window
end

-- The windows of the runs up to a step.
function diverge.windows(play, upto)
  local out, from = {}, nil
  for _, s in ipairs(play.steps) do
    if upto and s.number > upto.number then break end
    if timeline.RUNS[s.kind] then
      diverge.window(play, s, from)
      from = data.ms(s.run_start)
      out[#out + 1] = s
    end
  end
  return out
end

local function wrote(s, target)
  for _, t in ipairs(s.trace) do
    if t.kind == "write" and t.table == target and t.phase == "after" then return t end
  end
end

-- An UPDATE or DELETE of the target that found no row.
local function idle(s, target)
  for _, t in ipairs(s.trace) do
    if t.kind == "write" and t.table == target and t.phase == "after" and t.rows == 0 and t.sql:lower():find "^%s*[ud]" then return t end
  end
end

-- The run left a row as it was. On a copy where the warehouse has a value in place of
-- the NULL: does the run mend it there?
local function mends(play, step, d)
  local h = play.history.truth
  local sets, where = {}, {}
  local null = {}
  for i, name in ipairs(h.columns) do
    if not d.have.raw[i] and d.want.raw[i] then
      null[i] = true
      local v = d.want.raw[i]
      sets[#sets + 1] = ("%s = %s"):format(quote(name), data.literal(type(v) == "number" and v + 1 or v .. "0"))
    end
    for _, key in ipairs(h.key) do
      if key == name then where[#where + 1] = ("%s IS NOT DISTINCT FROM %s"):format(quote(name), data.literal(d.have.raw[i])) end
    end
  end
  if #sets == 0 then return nil end
  local result, _, have = play:rehearse(step.before, { run_start = step.run_start, day = step.day, params = step.params,
    after = function(box) return truth.of_warehouse(box, h) end }, function(box)
      box:exec("warehouse", { ("UPDATE %s SET %s WHERE %s"):format(
        quote(h.table), table.concat(sets, ", "), table.concat(where, " AND ")) })
    end)
  local now = result.status == 0 and have and have[d.key]
  if not now then return nil end
  for i in pairs(null) do
    if truth.canon(now.raw[i]) ~= truth.canon(d.want.raw[i]) then return false end
  end
  return true
end

local function held(runs, ms)
  local out = {}
  for _, s in ipairs(runs) do if xray.holds(s.window, ms) then out[#out + 1] = s end end
  return out
end

local function on_edge(runs, ms)
  for _, s in ipairs(runs) do
    if s.window.start == ms or s.window.stop == ms then return s end
  end
end

-- The run before read on from the same point or a later one, and was not stopped: its
-- watermark was not saved. A run that is done again begins at the mark of its first time.
local function stood_still(before, s)
  return before and not before.crashed and before.kind == "run" and not before.day and
         before.run_start ~= s.run_start and before.window.column == s.window.column and
         s.window.start and before.window.start and s.window.start <= before.window.start
end

local function duplicate(play, step, d, runs, t, holding)
  if step.kind == "again" or step.kind == "retry" then
    return "R7", ("the run of %s ran once more and added rows again"):format(when(step))
  end
  local closed
  for _, s in ipairs(holding) do closed = closed or s.window.stop == t end
  if #holding >= 2 and closed then
    return "R4", ("two windows hold %s: %s and %s"):format(data.text(t), xray.text(holding[#holding - 1].window),
                                                       xray.text(holding[#holding].window))
  end
  if not (play.history.window and play.history.window.newest) and stood_still(holding[#holding - 1], step) then
    return "R4", ("two windows begin at %s: %s and %s; the watermark has not moved"):format(
      data.text(step.window.start), xray.text(holding[#holding - 1].window), xray.text(step.window))
  end
  if step.have_before[d.key] then
    return "R3", "the key was there already, and the run added a second row with it"
  end
  return #runs > 0 and "R3" or nil, "the run added the same key more than once"
end

-- The newest stamp in the warehouse before a run, as a time.
local function newest(s)
  local top
  for _, entry in pairs(s.have_before) do
    local ms = entry.stamp and data.ms(entry.stamp)
    if ms and (not top or ms > top) then top = ms end
  end
  return top
end

-- Where the mark must be the newest value loaded: a run that begins elsewhere.
local function misplaced(s)
  local top = newest(s)
  if not top or not s.window.start or math.abs(s.window.start - top) <= 1 then return nil end -- > or >=
  return ("the newest value loaded before is %s, and the run of %s begins at %s"):format(
    data.text(top), when(s), data.text(s.window.start))
end

local function behind(play, step, d, runs, t, holding)
  local w, stamp = step.window, play.history.truth.stamp
  if w and w.column and stamp and w.column ~= stamp and w.column ~= play.history.truth.partition then
    return "R2", ("the window is on %s, and the change is seen in %s only"):format(w.column, stamp)
  end
  if w and w.other and stamp then return "R2", ("the window is on %s, but also on %s"):format(w.column, w.other) end
  local held_last = holding[#holding]
  if held_last and held_last.crashed and held_last ~= step then
    return "R6", ("the run of %s held %s and failed, and no later window goes back to it"):format(when(held_last), data.text(t))
  end
  if t and play.history.window and play.history.window.newest then
    for _, s in ipairs(runs) do
      local why = s.window.start and s.window.start > t and misplaced(s)
      if why then return "R18", why end
    end
    if #holding == 0 and w and w.start and t < w.start then
      return "R8", ("%s is below the mark, and no window above it will hold it"):format(data.text(t))
    end
  end
  local came = arrival(play, d, step)
  if #holding > 0 then
    local late = came and data.ms(came) and true or false
    for _, s in ipairs(holding) do late = late and data.ms(s.run_start) < data.ms(came) end
    local own = holding[#holding]
    if late and t >= data.ms(own.run_start) then
      return "R5", ("the window of the run of %s goes past its run_start; the row came at %s, after that run had read"):format(
        when(own), came)
    end
    if late then
      return "R8", ("it reached the source on %s, after the run of %s whose window held %s"):format(
        came, when(holding[#holding]), data.text(t))
    end
    local last = holding[#holding]
    -- The X-ray plants rows, and they arrived: with another number of rows the run writes.
    if not wrote(last, play.history.truth.table) then
      return "R13", "the run wrote nothing; with a row more in the source it does: it compares the number of rows only"
    end
    if d.have and last.have and truth.same(last.have[d.key], d.have) and not truth.same(last.have_before[d.key], d.have) then
      return nil, "the run wrote the row, and not as the source has it"
    end
    if last.have_before[d.key] then
      local mended = d.want and d.have and mends(play, last, d)
      if mended then
        return "R13", "the row has a NULL and is left as it is; were there any other value, the run would change it: " ..
                      "NULL compared with a value is neither true nor false"
      end
      if mended == false and idle(last, play.history.truth.table) then
        return "R13", "the statement that should change the row finds none, whatever stands there: nothing is equal to NULL"
      end
      return "R3", "the window held it, and the write left the row with this key as it was"
    end
    return nil, "the window held it, and the run did not write it"
  end
  if d.class == "MISSING" and step.have_before[d.key] then
    return "R3", "the row was there, and the run took it away without reading it again"
  end
  if t and on_edge(runs, t) then
    return "R4", ("%s is an edge of a window, and no window includes it"):format(data.text(t))
  end
  if t then
    local before, after
    for _, s in ipairs(runs) do
      if s.window.stop and s.window.stop <= t then before = s end
      if s.window.start and s.window.start > t and not after then after = s end
    end
    if before and t < data.ms(before.run_start) then
      return "R4", ("the window %s ends before run_start, and no window holds %s"):format(xray.text(before.window), data.text(t))
    end
    if before and after then
      return "R4", ("%s lies between two windows: %s and %s"):format(data.text(t), xray.text(before.window), xray.text(after.window))
    end
    return "R5", ("no window holds %s"):format(data.text(t))
  end
end

-- The window of a job for one day: that day, and nothing beside it.
local function beside_the_day(s)
  local w, day = s.window, data.ms(s.day)
  if w.none then return nil end
  if w.all then return "R11", ("asked for %s, and every row is taken"):format(s.day) end
  if not xray.holds(w, day) then return "R10", ("asked for %s, and that day is not in the window"):format(s.day) end
  if xray.holds(w, day - 1) or xray.holds(w, day + 86400000) then
    return "R11", ("asked for %s, and the window takes more than that day"):format(s.day)
  end
end

-- A run for a day must change that day, and no other.
local function other_days(play, step)
  local h = play.history.truth
  if not step.day or not h.partition then return nil end
  local asked, other = false, nil
  for _, entry in ipairs(truth.keys(step.have_before, step.have)) do
    local old, new = step.have_before[entry.key], step.have[entry.key]
    if not truth.same(old, new) then
      local day = truth.day_of(h, new or old)
      if day == step.day then asked = true else other = other or day end
    end
  end
  if other and not asked then return "R10", ("asked for %s, and %s was written"):format(step.day, other) end
  local w = step.window
  if not asked and w and w.column == h.partition and not xray.holds(w, data.ms(step.day)) then
    return "R10", ("asked for %s, and the window is %s"):format(step.day, xray.text(w))
  end
  if other then return "R11", ("asked for %s, and %s changed too"):format(step.day, other) end
end

-- A day of a backfill is not as the source has it.
local function unfinished(play, step, d, found, holding)
  local h = play.history.truth
  if not h.partition then return nil end
  local day = truth.day_of(h, d.want or d.have)
  local touched = step.day and wrote(step, h.table)
  for _, c in ipairs(step.commits or {}) do touched = touched or c.days[1] == day end
  if step.event.resume and not touched then
    return "R15", ("%s passes for finished, and it is not: it was written down before its rows were kept, or never by itself"):format(day)
  end
  local days = step.day and backfill.touches(play, step) or {}
  if #days > 0 then
    local asked
    for _, name in ipairs(days) do asked = asked or name == step.day end
    if not asked then return "R10", ("asked for %s, and %s was written"):format(step.day, days[1]) end
  end
  local rule, why = nil, nil
  if #found.runs > 0 then rule, why = behind(play, step, d, found.runs, found.t, holding) end
  if rule then return rule, why end
  if h.group then return "R16", ("the sums of %s are not made with the values that were true on that day"):format(day) end
  return "R11", ("%s is not there as a whole"):format(day)
end

-- { step, key, class, rule, evidence, difference, runs, t }
function diverge.first(play)
  local step = play.first
  if not step then return nil end
  local d = step.differences[1]
  local found = { step = step, key = d.value, class = d.class, difference = d, runs = {} }
  if d.why then
    found.rule, found.evidence = d.rule, d.why
    return found
  end
  if play.history.probe then found.runs = diverge.windows(play, step) end
  local side = d.want or d.have
  local h = play.history.truth
  local t = side and data.ms(h.partition and truth.day_of(h, side) or side.stamp)
  found.t = t
  local holding = t and held(found.runs, t) or {}
  local rule, evidence
  if d.class == "TORN" then
    rule, evidence = "R11", "the machine stopped between two statements, and a part of the day is there"
  elseif d.class == "WRONG GROUP" then
    rule, evidence = "R16", "the totals are equal, and the split is not"
  else
    rule, evidence = other_days(play, step)
    if not rule and d.class == "ORPHAN" and play.history.truth.group then
      rule, evidence = "R16", "the source has no such group on that day"
    end
    if not rule and d.class == "ORPHAN" then rule, evidence = "R17", "the source has no such row any more" end
    if not rule and step.kind == "backfill" and (d.class == "MISSING" or d.class == "STALE") then
      rule, evidence = unfinished(play, step, d, found, holding)
    end
    if not rule and d.class == "DUPLICATE" then rule, evidence = duplicate(play, step, d, found.runs, t, holding) end
    if not rule and (d.class == "MISSING" or d.class == "STALE") then
      rule, evidence = behind(play, step, d, found.runs, t, holding)
    end
  end
  found.rule, found.evidence = rule, evidence or "no rule matched"
  if not rule then found.evidence = found.evidence .. (evidence and "; no rule matched" or "") end
  return found
end

-- The rows are right; are the windows? For a history that names what its windows
-- should be: { column = } half-open up to run_start; with day = true the logical date's day.
function diverge.silent(play)
  local want, before = play.history.window, nil
  if not want or play.first then return nil end
  local previous, ended -- the run before; whether one has come to its end
  for _, s in ipairs(diverge.windows(play)) do
    local w, run = s.window, data.ms(s.run_start)
    local rule, why
    if want.day then
      if s.day and w.column == want.column or w.all then rule, why = beside_the_day(s) end
    elseif want.newest then -- the end is what is newest: what comes later is above the mark
      if ended and (w.all or w.column and not w.start) then
        rule, why = "R1", "the run reads rows that earlier runs have loaded, back to the first"
      elseif w.column == want.column then
        why = misplaced(s)
        rule = why and "R18"
      end
    elseif want.only and ended and (w.all or (w.column and not w.start)) then
      rule, why = "R1", "the run reads rows that earlier runs have loaded, back to the first"
    elseif stood_still(previous, s) then
      rule, why = "R1", ("the window begins at %s once more: the watermark has not moved"):format(data.text(w.start))
    elseif w.column and w.column ~= want.column then
      rule, why = "R2", ("the window is on %s"):format(w.column)
    elseif w.other then
      rule, why = "R2", ("the window is on %s, but also on %s"):format(w.column, w.other)
    elseif w.column and not w.stop then
      rule, why = "R5", "the window has no end: what lands during the run is taken or not, as it happens"
    elseif w.column and w.stop_in and w.stop == run then
      rule, why = "R4", ("the end is included: a row of %s is read by this run and by the next"):format(data.text(w.stop))
    elseif w.column and w.stop > run then
      rule, why = "R5", "the window ends after run_start"
    elseif w.column and w.stop < run then
      rule = "R4"
      why = ("the window ends at %s and the run is of %s: what lies between is left to luck"):format(data.text(w.stop), data.text(run))
    elseif before and w.column and before.stop and w.start and
           (w.start > before.stop or (w.start == before.stop and not w.start_in and not before.stop_in)) then
      rule, why = "R4", ("no window holds %s"):format(data.text(before.stop))
    end
    if rule then
      return { step = s, class = "SILENT", rule = rule, evidence = why .. "; the X-ray sees " .. xray.text(w),
               runs = diverge.windows(play, s) }
    end
    before, previous, ended = w, s, ended or not s.crashed
  end
end

return diverge
