-- A history and a job: events in order on a virtual clock, every step kept.
--
-- An event is a table with one of these:
--   { at = T, insert = TABLE, row = { ... } }           the source's application writes
--   { at = T, update = TABLE, set = { ... }, where = { ... } }
--   { at = T, delete = TABLE, where = { ... } }
--   { at = T, sql = "..." }                             anything else on the source
--   { run = T, day = D }        a run at T; D is its logical date, if it has one
--   { skip = T }                a night without a run
--   { twice = T, day = D }      the same run, two times
--   { retry = T, day = D }      the run again after a failure
--   { backfill = { D, D2 }, at = T }   each date on its own, oldest first; with fail = POINT
--                               and fail_on = D the machine stops in that date's run
--   { reconcile = D, at = T, expect = "equal" or "differs" }
-- label = "paid" of an insert or update is drawn beside its row. A run takes two more:
--   during = { events }   the source's rows that land between the job's read and its write
--   fail = POINT          the machine stops there: before_read, after_read, in_write,
--                         after_write, before_commit, at_commit
--
-- The events may come from a lesson or from a generator: play does not care.
local data = require "engine.data"
local truth = require "engine.truth"
local timeline = {}

-- ---- what a statement is ----

local function first_words(sql)
  local s = sql
  while true do
    local n
    s, n = s:gsub("^%s+", "")
    local m, k = s:gsub("^%-%-[^\n]*", "")
    local o, l = m:gsub("^/%*.-%*/", "")
    s = o
    if n + k + l == 0 then break end
  end
  return s
end

-- read, write with its table, begin, commit, rollback; own: lrun's own work.
function timeline.kind(sql)
  local s = first_words(sql)
  local word = (s:match "^%a+" or ""):lower()
  if word == "begin" or word == "rollback" then return word end
  if word == "commit" or word == "end" then return "commit" end
  local low = s:lower()
  local name = low:match "^insert%s+or%s+%a+%s+into%s+([%w_.\"]+)" or low:match "^insert%s+into%s+([%w_.\"]+)"
    or low:match "^replace%s+into%s+([%w_.\"]+)" or low:match "^delete%s+from%s+([%w_.\"]+)"
    or low:match "^update%s+or%s+%a+%s+([%w_.\"]+)" or low:match "^update%s+([%w_.\"]+)"
    or (word == "with" and (low:match "%sinsert%s+into%s+([%w_.\"]+)" or low:match "%sdelete%s+from%s+([%w_.\"]+)"))
  if name then
    name = name:gsub('"', "")
    if name:find "^temp%." or name:match "[^.]+$":find "^lrun_" then return "own" end
    return "write", name:match "[^.]+$"
  end
  if low:find "^create" or low:find "^drop" or low:find "^pragma" or low:find "^alter" then return "own" end
  if low:find('from%s+"?lrun_') or low:find 'sqlite_' or low:find "^savepoint" or low:find "^release" then return "own" end
  return "read"
end

-- ---- where a run stops ----

local POINTS = { before_read = true, after_read = true, in_write = true, after_write = true, before_commit = true, at_commit = true }

-- The number of the event of a trace at which the machine stops. The trace is of
-- the same run on a copy, so the same numbers come again.
local function stop_at(trace, point, target)
  if not POINTS[point] then error(("there is no point \"%s\" to fail at"):format(tostring(point)), 0) end
  local first, write, last_write, begun, ended, last = nil, nil, nil, nil, nil, nil
  local n = 0
  for i, t in ipairs(trace) do
    local before = t.phase == "before"
    if before and (t.kind == "read" or t.kind == "write") then first = first or i end
    if t.kind == "write" and t.table == target then
      if before then
        n = n + 1
        write = write or i
        if n == 2 then begun = i end
      else
        last_write = i
      end
    end
    if t.kind == "commit" then
      if before then ended = i else last = i end
    end
  end
  if point == "before_read" then return first end
  if point == "after_read" then return write end
  if point == "in_write" then return begun or write end
  if point == "after_write" then return last_write end
  if not ended then -- each statement commits by itself: the last one is the end
    for i, t in ipairs(trace) do
      if t.kind == "write" then
        if t.phase == "before" then ended = i else last = i end
      end
    end
  end
  return point == "before_commit" and ended or last
end

-- ---- steps ----

-- The kinds of steps that are a run of the job.
timeline.RUNS = { run = true, again = true, retry = true, backfill = true }

-- What a step is told by: its logical date, else its time.
function timeline.when(step) return step.day or step.run_start or step.at end

-- ---- playing ----

local Play = {}
Play.__index = Play

local function changes(self, e)
  local v = self.variant
  if e.insert then return { data.insert(data.table(self.history.source, e.insert), e.row, v) } end
  if e.update then return { data.update(data.table(self.history.source, e.update), e, v) } end
  if e.delete then return { data.delete(data.table(self.history.source, e.delete), e, v) } end
  return { e.sql }
end

-- One run. Returns the result, the trace, and whether the machine stopped.
function Play:run(o)
  local trace, crashed, landed = {}, false, false
  local function note(phase, kind, fields, name)
    trace[#trace + 1] = { phase = phase, kind = kind, table = name, sql = fields.sql, connection = fields.connection, rows = fields.rows }
    if o.during and not landed and phase == "before" and kind == "write" then
      landed = true
      for _, e in ipairs(o.during) do self.box:exec("source", changes(self, e)) end
    end
    if o.stop and #trace == o.stop then
      crashed = true
      error("the machine stopped here", 0)
    end
  end
  local prints = {}
  local result = self.box:run { run_start = o.run_start, logical_date = o.day, mode = o.mode, shown = self.shown,
    on_event = function(event, fields)
      if event == "before" or event == "sql" then
        local kind, name = timeline.kind(fields.sql)
        if kind ~= "own" then note(event == "before" and "before" or "after", kind, fields, name) end
      elseif event == "committing" then note("before", "commit", fields)
      elseif event == "committed" then note("after", "commit", fields)
      elseif event == "print" then prints[#prints + 1] = fields.message end
    end }
  if o.during and not landed then
    for _, e in ipairs(o.during) do self.box:exec("source", changes(self, e)) end
  end
  return result, trace, crashed, prints
end

-- Run on a copy: what the job would do, and nothing is kept.
function Play:rehearse(state, o, prepare)
  local now = self.box:state()
  self.box:restore(state)
  if prepare then prepare(self.box) end
  local result, trace = self:run(o)
  local after = o.look and o.look(self.box)
  self.box:restore(now)
  return result, trace, after
end

local function differences(self, step)
  local h = self.history.truth
  local want = truth.of_source(self.box, h)
  if step.day and h.partition then want = truth.of_day(h, want, step.have_before, step.day) end
  local have, why = truth.of_warehouse(self.box, h)
  if not have then return { { key = "", class = "MISSING", why = why } }, want, {} end
  -- rows that landed meanwhile may be there or not
  return truth.compare(h, want, have, step.event.during and step.want_before, step.run_start), want, have
end

-- After a stop every key must be as it was or as it should be.
local function torn(self, step)
  local h = self.history.truth
  local have = truth.of_warehouse(self.box, h) or {}
  local out = {}
  for _, entry in ipairs(truth.keys(step.have_before, step.want_before, have)) do
    local now = have[entry.key]
    if not truth.same(now, step.have_before[entry.key]) and not truth.same(now, step.want_before[entry.key]) then
      out[#out + 1] = { key = entry.key, value = entry.value, class = "TORN", want = step.want_before[entry.key], have = now }
    end
  end
  return out
end

-- A step of a run; returns false where the play ends here.
function Play:night(e, at, kind, day)
  local step = { kind = kind, event = e, run_start = at, day = day, before = self.box:state(), number = #self.steps + 1 }
  self.steps[step.number] = step
  step.want_before = truth.of_source(self.box, self.history.truth)
  step.have_before = truth.of_warehouse(self.box, self.history.truth) or {}
  local o = { run_start = at, day = day, during = e.during }
  if e.fail then
    local result, trace = self:rehearse(step.before, o)
    if result.status == 0 then o.stop = stop_at(trace, e.fail, self.history.truth.table) end
  end
  step.result, step.trace, step.crashed, step.prints = self:run(o)
  step.after = self.box:state()
  if not step.crashed and step.result.status ~= 0 then
    self.failed = step
    return false
  end
  if step.crashed then
    step.differences = torn(self, step)
  else
    step.differences, step.want, step.have = differences(self, step)
  end
  if #step.differences > 0 and not self.first then self.first = step end
  return true
end

local function next_day(text) return data.text(data.ms(text) + 86400000) end

function Play:event(e)
  local v = self.variant
  local at = v:date(e.at or e.run or e.skip or e.twice or e.retry)
  if e.insert or e.update or e.delete or e.sql then
    self.steps[#self.steps + 1] = { kind = "change", event = e, at = at, before = self.box:state(), number = #self.steps + 1 }
    self.box:exec("source", changes(self, e))
    self.steps[#self.steps].after = self.box:state()
    return true
  end
  if e.skip then
    self.steps[#self.steps + 1] = { kind = "skip", event = e, at = at, number = #self.steps + 1 }
    return true
  end
  if e.run then return self:night(e, at, "run", v:date(e.day)) end
  if e.retry then return self:night(e, at, "retry", v:date(e.day)) end
  if e.twice then
    return self:night(e, at, "run", v:date(e.day)) and self:night({}, at, "again", v:date(e.day))
  end
  if e.backfill then
    local day, last = v:date(e.backfill[1]), v:date(e.backfill[2])
    while day <= last do
      if not self:night({ fail = v:date(e.fail_on) == day and e.fail or nil }, at, "backfill", day) then return false end
      day = next_day(day)
    end
    return true
  end
  if e.reconcile then
    local step = { kind = "reconcile", event = e, at = at, number = #self.steps + 1, differences = {} }
    self.steps[step.number] = step
    step.result, step.trace = self:run { run_start = at, day = v:date(e.reconcile), mode = "reconcile" }
    local found = step.result.status == 3 or (step.result.status == 0 and step.result.differs > 0)
    if step.result.status ~= 0 and step.result.status ~= 3 then
      self.failed = step
      return false
    end
    if found ~= (e.expect == "differs") then
      step.differences = { { key = "", class = "SILENT",
                             why = found and "the check differs, and the rows are right" or "the check says equal, and it is not" } }
      if not self.first then self.first = step end
    end
    return true
  end
  error("an event is not known", 0)
end

-- history: { source = tables, warehouse = tables, events, truth }. job: the text.
-- o: variant, shown, box (a sandbox to use; it is closed by the caller).
function timeline.play(history, job, o)
  local self = setmetatable({ history = history, variant = o.variant or data.variant(0), shown = o.shown, steps = {}, box = o.box }, Play)
  self.box:restore {}
  self.box:exec("source", data.setup(history.source, self.variant))
  self.box:exec("warehouse", data.setup(history.warehouse, self.variant))
  self.box:set_job(job)
  for i, e in ipairs(history.events) do
    local ok, why = pcall(self.event, self, e)
    if not ok then error(("event %d: %s"):format(i, tostring(why)), 0) end
    if why == false then break end
    if self.first and not o.to_the_end then break end
  end
  return self
end

-- The sandbox as it was after step n; 0 is before the first.
function Play:go(n)
  local state
  for i = 1, n do
    local s = self.steps[i]
    if s and s.after then state = s.after end
  end
  state = state or self.steps[1] and self.steps[1].before
  if state then self.box:restore(state) end
end

return timeline
