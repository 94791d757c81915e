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
--   { backfill = { D, D2 }, at = T }   days in the past: see engine/backfill.lua; with
--                               fail = POINT and fail_on = D the machine stops in that day's
--                               work; resume = true: the command of before, once more
--   { reconcile = D, at = T, expect = "equal" or "differs" }
--   { check = { D, D2 }, at = T }   the weekly check: see engine/weekly.lua
-- label = "paid" of an insert or update is drawn beside its row. beyond = true of one says
-- that it comes later than any lookback is asked to reach: the row may be there or not from
-- then on, and the weekly check must name it as long as it is not. An sql with
-- on = "warehouse" is run there. A run takes two more:
--   during = { events }   the source's rows that land between the job's read and its write
--   fail = POINT          the machine stops there: before_read, after_read, in_write,
--                         after_write, before_commit, at_commit
--
-- The events may come from a lesson or from a generator: play does not care.
local backfill = require "engine.backfill"
local data = require "engine.data"
local truth = require "engine.truth"
local weekly = require "engine.weekly"
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

-- Where in the play it is, in words that go before "the warehouse differs".
function timeline.place(step)
  if step.kind == "check" or step.kind == "reconcile" then return "at the check of " .. step.at end
  if step.days then return ("in the backfill of %s to %s"):format(step.days[1], step.days[#step.days]) end
  return "after the run of " .. timeline.when(step)
end

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

-- ---- the databases as they are now; nobody else changes them ----

function Play:state()
  self.now = self.now or self.box:state()
  return self.now
end

function Play:source()
  self.wanted = self.wanted or truth.of_source(self.box, self.history.truth)
  return self.wanted
end

-- Nil and why where the job has dropped or changed the table.
function Play:warehouse()
  if not self.had then
    local why
    self.had, why = truth.of_warehouse(self.box, self.history.truth)
    if not self.had then return nil, why end
  end
  return self.had
end

local function touch(self) self.now, self.wanted, self.had = nil, nil, nil end

local function land(self, events)
  for _, e in ipairs(events) do self.box:exec("source", changes(self, e)) end
  touch(self)
end

-- Does a statement take a table away, or give it other columns?
local function alters(sql, table_)
  local low = sql:lower()
  return (low:find "^%s*drop%s+table" or low:find "^%s*alter%s+table") and low:find(table_:lower(), 1, true)
end

-- One run. Returns the result, the trace, whether the machine stopped, and what
-- was printed. o.look(n) is called when the n-th event of the trace is over.
function Play:run(o)
  local trace, crashed, landed = {}, false, false
  local function note(phase, kind, fields, name)
    trace[#trace + 1] = { phase = phase, kind = kind, table = name, sql = fields.sql, connection = fields.connection, rows = fields.rows }
    if o.during and not landed and phase == "before" and kind == "write" and name == self.history.truth.table then
      landed = true
      land(self, o.during)
    end
    if o.look and phase == "after" then o.look(#trace) end
    if o.stop and #trace == o.stop then
      crashed = true
      error("the machine stopped here", 0)
    end
  end
  local prints = {}
  local result = self.box:run { run_start = o.run_start, logical_date = o.day, mode = o.mode, shown = self.shown,
    params = o.params, by_rows = o.mode == "reconcile" and o.by_rows,
    on_event = function(event, fields)
      if event == "before" or event == "sql" then
        local kind, name = timeline.kind(fields.sql)
        if event == "before" and alters(fields.sql, self.history.truth.table) then
          trace.altered = self.box:shown(fields.where, self.shown or "job.lua")
        end
        if kind ~= "own" then note(event == "before" and "before" or "after", kind, fields, name) end
      elseif event == "committing" then note("before", "commit", fields)
      elseif event == "committed" then note("after", "commit", fields)
      elseif event == "print" then prints[#prints + 1] = fields.message
      elseif event == "check" and o.compared then o.compared(fields) end
    end }
  if o.during and not landed then land(self, o.during) end
  self.now, self.had = nil, nil
  return result, trace, crashed, prints
end

-- Run on a copy: what the job would do, and nothing is kept. o.after(box) looks
-- at the copy at the end.
function Play:rehearse(state, o, prepare)
  local now, wanted, had = self:state(), self.wanted, self.had
  self.box:restore(state)
  if prepare then prepare(self.box) end
  local result, trace, _, prints = self:run(o)
  local after = o.after and o.after(self.box)
  self.box:restore(now)
  self.now, self.wanted, self.had = now, wanted, had
  return result, trace, after, prints
end

-- ---- steps of a play ----

-- A new step; event is the entry of the history that it belongs to.
function Play:begin(kind, e, at)
  local step = { kind = kind, event = e, run_start = at, at = at, before = self:state(), number = #self.steps + 1, place = self.place }
  self.steps[step.number] = step
  if kind ~= "change" and kind ~= "skip" then
    step.want_before, step.have_before = self:source(), self:warehouse() or {}
  end
  return step
end

-- Run it, and keep what came of it.
function Play:perform(step, o)
  step.result, step.trace, step.crashed, step.prints = self:run(o)
  step.after = self:state()
end

function Play:stop_at(trace, point) return stop_at(trace, point, self.history.truth.table) end

-- Keep the first difference; false where the play ends.
function Play:judge(step)
  if #step.differences > 0 and not self.first then self.first = step end
  return true
end

function Play:over() return self.first and not self.to_the_end end

function Play:day_of(entry) return truth.day_of(self.history.truth, entry) end

-- The warehouse against what is wanted. What came too late for any lookback may be there
-- or not.
function Play:compare(step, want)
  local have, why = self:warehouse()
  if not have then
    step.want, step.have = want, {}
    local altered = step.trace and step.trace.altered
    if altered then why = ("%s: the job takes away what is compared: %s"):format(altered, why) end
    return { { key = "", class = "MISSING", why = why } }
  end
  if next(self.beyond) then
    local others = {}
    for key, entry in pairs(want) do others[key] = entry end
    want = others
  end
  for key, former in pairs(self.beyond) do
    if truth.same(have[key], former.entry) then want[key] = have[key] end
  end
  step.want, step.have = want, have
  -- rows that landed meanwhile may be there or not
  return truth.compare(self.history.truth, want, have, step.event.during and step.want_before, step.run_start)
end

-- After a stop every key must be as it was or as it should be; but for a day that the job
-- itself has found to differ: it is not finished, whatever is there.
function Play:torn(step, want, left)
  local have = self:warehouse() or {}
  local out = {}
  for _, entry in ipairs(truth.keys(step.have_before, want, have)) do
    local now = have[entry.key]
    if not (left and self:day_of(entry) == left) and not truth.same(now, step.have_before[entry.key]) and
       not truth.same(now, want[entry.key]) then
      out[#out + 1] = { key = entry.key, value = entry.value, class = "TORN", want = want[entry.key], have = now }
    end
  end
  return out
end

-- A step of a run; returns false where the play ends here. differs: the day is one at
-- which the run must end with an error.
function Play:night(e, at, kind, day, params, differs)
  local h = self.history.truth
  local step = self:begin(kind, e, at)
  step.day = day
  step.params = params or day and self.ranged and backfill.params(day, day) or nil
  local o = { run_start = at, day = day, during = e.during, params = step.params }
  if e.fail then
    local result, trace = self:rehearse(step.before, o)
    if result.status == 0 then o.stop = self:stop_at(trace, e.fail) end
  end
  self:perform(step, o)
  step.stopped = not step.crashed and step.result.status ~= 0
  if step.stopped and (not differs or step.result.limit) then
    self.failed = step
    return false
  end
  local want = self:source()
  if day and h.partition then want = truth.of_day(h, want, step.have_before, day) end
  if step.crashed then
    step.differences = self:torn(step, step.want_before)
  elseif step.stopped then
    step.differences = self:torn(step, want, day)
  else
    step.differences = self:compare(step, want)
  end
  return self:judge(step)
end

-- What comes too late for any lookback: the key, and the warehouse's row. A change in
-- time is asked for like any other.
local function late(self, e)
  if not e.beyond and not next(self.beyond) then return end
  local before = self:source()
  return function()
    local after, have = self:source(), self:warehouse() or {}
    for _, entry in ipairs(truth.keys(before, after)) do
      if not truth.same(before[entry.key], after[entry.key]) then
        self.beyond[entry.key] = e.beyond and { entry = have[entry.key] } or nil
      end
    end
  end
end

function Play:change(e, at)
  local step = self:begin("change", e, at)
  local came = late(self, e)
  land(self, { e })
  if came then came() end
  step.after = self:state()
  return true
end

-- lrun reconcile of one day must find what there is to find, and no more.
function Play:reconcile(e, at)
  local step = self:begin("reconcile", e, at)
  step.differences = {}
  step.result, step.trace = self:run { run_start = at, day = self.variant:date(e.reconcile), mode = "reconcile" }
  local found = step.result.status == 3 or (step.result.status == 0 and step.result.differs > 0)
  if step.result.status ~= 0 and step.result.status ~= 3 then
    self.failed = step
    return false
  end
  if found ~= (e.expect == "differs") then
    step.differences = { { key = "", class = "SILENT", rule = "R13",
                           why = found and "the check differs, and the rows are right" or "the check says equal, and it is not" } }
  end
  return self:judge(step)
end

function Play:event(e)
  local v = self.variant
  local at = v:date(e.at or e.run or e.skip or e.twice or e.retry)
  if e.insert or e.update or e.delete or e.sql then return self:change(e, at) end
  if e.skip then
    self:begin("skip", e, at)
    return true
  end
  if e.run then return self:night(e, at, "run", v:date(e.day)) end
  if e.retry then return self:night(e, at, "retry", v:date(e.day)) end
  if e.twice then
    return self:night(e, at, "run", v:date(e.day)) and (self:over() or self:night({}, at, "again", v:date(e.day)))
  end
  if e.backfill then return backfill.play(self, e, at) end
  if e.check then return weekly.play(self, e, at) end
  if e.reconcile then return self:reconcile(e, at) end
  error("an event is not known", 0)
end

-- history: { source = tables, warehouse = tables, events, truth }. job: the text.
-- o: variant, shown, box (a sandbox to use; it is closed by the caller), to_the_end
-- (go on after the first difference), upto (events after that step are not played),
-- rows_only (nothing is rehearsed to see how right rows came).
function timeline.play(history, job, o)
  local self = setmetatable({ history = history, variant = o.variant or data.variant(0), shown = o.shown, steps = {}, box = o.box,
                              to_the_end = o.to_the_end, rows_only = o.rows_only, finished = {}, beyond = {} }, Play)
  for _, e in ipairs(history.events) do self.ranged = self.ranged or e.backfill ~= nil end
  self.box:restore {}
  local declare = self.box:declare(history)
  self.box:exec("source", data.setup(history.source, self.variant, declare))
  self.box:exec("warehouse", data.setup(history.warehouse, self.variant, declare))
  self.box:set_job(job)
  for i, e in ipairs(history.events) do
    self.place = i
    local ok, why = pcall(self.event, self, e)
    if not ok then error(("event %d: %s"):format(i, tostring(why)), 0) end
    if why == false or self:over() then break end
    if o.upto and #self.steps >= o.upto then break end
  end
  return self
end

-- The sandbox as it was after step n; 0 is before the first.
function Play:go(n)
  local state
  for i = 1, math.min(n, #self.steps) do
    local s = self.steps[i]
    if s and s.after then state = s.after end
  end
  state = state or self.steps[1] and self.steps[1].before
  touch(self)
  if state then self.box:restore(state) end
end

return timeline
