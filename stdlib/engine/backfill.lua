-- Days in the past: { backfill = { D, D2 }, at = T } of a time line.
--
-- A job for one logical date is called for each day, oldest first, and no more after
-- the day whose run fails, as lrun backfill does. With resume = true the same command is
-- given again: the days that are finished are left out, or, where the history says
-- record = TABLE, all are asked for again, and the job must know by that table of its own.
-- A job that reads the parameters from and to drives its days itself: it is run once.
--
-- What is looked for, from outside: which days each commit touches (triggers on a copy),
-- whether a day that differs in the source is noticed, and what was done after it.
-- truth.books = { bad = SQL, mend = SQL, rows = SQL, amount = SQL }, each on the source:
-- bad gives the days that a check must find; the others take :day and make that day
-- right, wrong in its number of rows, wrong in an amount.
local data = require "engine.data"
local truth = require "engine.truth"
local backfill = {}

local LOG = "learn_touched_days" -- not lrun_...: a job may not write a table of the ledger, by a trigger neither

local function range(first, last)
  local out, ms = {}, data.ms(first)
  for at = ms, data.ms(last), 86400000 do out[#out + 1] = data.text(at) end
  return out
end

function backfill.params(first, last) return { from = first, to = last } end

-- ---- which days a run touches ----

-- The days touched since the n-th entry, each once, in their order, and the last entry.
local function touched(box, n)
  local days, seen = {}, {}
  for _, row in ipairs(box:rows("warehouse", ("SELECT n, day FROM %s WHERE n > %d ORDER BY n"):format(LOG, n)) or {}) do
    n = row[1]
    if row[2] and not seen[row[2]] then
      seen[row[2]] = true
      days[#days + 1] = row[2]
    end
  end
  return days, n
end

local function with_day(sql, day) return (sql:gsub(":day", data.literal(day))) end

-- { result, trace, commits = { { at = place in the trace, days = { ... } }, ... } } of a
-- run on a copy where no day differs.
local function rehearse(self, step, o, bad)
  local h = self.history.truth
  local out, n = { commits = {} }, 0
  local function look(at)
    local days, last = touched(self.box, n)
    n = last
    if #days > 0 then out.commits[#out.commits + 1] = { at = at, days = days } end
  end
  out.result, out.trace = self:rehearse(step.before, { run_start = o.run_start, day = o.day, params = o.params, look = look,
    after = function() look(math.huge) end }, function(box)
      box:watch(LOG, h.table, h.partition) -- also where a row is the same again
      for _, day in ipairs(bad) do box:exec("source", { with_day(h.books.mend, day) }) end
    end)
  return out
end

-- The days that a run touches, for one step of a job for one day.
function backfill.touches(play, step)
  local o = { run_start = step.run_start, day = step.day, params = step.params }
  local days = {}
  for _, c in ipairs(rehearse(play, step, o, {}).commits) do table.move(c.days, 1, #c.days, #days + 1, days) end
  return days
end

-- ---- what is wrong with the way it was done ----

local function finding(rule, why) return { key = "", class = "SILENT", rule = rule, why = why } end

-- A job that drives its days itself must do one at a time, oldest first.
local function order(commits)
  local last
  for _, c in ipairs(commits) do
    if #c.days > 1 then
      return finding("R12", ("one commit wrote the days %s to %s: what fails takes all of them with it"):format(
        c.days[1], c.days[#c.days]))
    end
    if last and c.days[1] < last then
      return finding("R12", ("the day %s was written after the day %s"):format(c.days[1], last))
    end
    last = c.days[1]
  end
end

local function again(self, commits)
  for _, c in ipairs(commits) do
    for _, day in ipairs(c.days) do
      if self.finished[day] then
        return finding("R15", ("%s was finished before the stop, and the backfill that went on did it again"):format(day))
      end
    end
  end
end

-- A day differs, and the run went on: does it look at all, and at what?
local function blind(self, state, o, day, result, prints)
  local books = self.history.truth.books
  if result.differs and result.differs > 0 then
    return finding("R14", ("the check of %s differs, and the run ends as if it did not"):format(day))
  end
  if result.status ~= 0 then
    return finding("R14", ("%s differs, and the job ends with an error only after later days were done"):format(day))
  end
  local function try(sql)
    local r, _, _, said = self:rehearse(state, o, function(box)
      box:exec("source", { with_day(books.mend, day), sql and with_day(sql, day) })
    end)
    return r.status ~= 0, table.concat(said, "\n")
  end
  if books.amount and try(books.amount) then
    return finding("R13", ("%s differs by an amount that is NULL, and the check lets it pass; it stops at any other amount"):format(day))
  end
  if books.rows and try(books.rows) then
    return finding("R13", ("the amounts of %s differ, and the check compares the number of rows only"):format(day))
  end
  local _, said = try(nil)
  if said ~= table.concat(prints, "\n") then
    return finding("R14", ("%s differs, the job says so, and goes on"):format(day))
  end
  return finding("R13", ("%s differs from the source, and nothing in the run looks at it"):format(day))
end

-- The days in the source that a check must find, of those asked for.
local function bad_days(self, days)
  local books, asked, out = self.history.truth.books, {}, {}
  if not books then return out end
  for _, day in ipairs(days) do asked[day] = true end
  local rows, why = self.box:rows("source", books.bad)
  if not rows then error("the query of the days that differ fails: " .. why, 0) end
  for _, row in ipairs(rows) do if asked[row[1]] then out[#out + 1] = row[1] end end
  table.sort(out)
  return out
end

-- ---- a job that drives its days ----

-- The place in the trace at which the machine stops in a day's work.
local function stop_in(self, seen, day, point)
  local from, to = 0, nil
  for _, c in ipairs(seen.commits) do
    if c.days[1] == day then to = math.min(c.at, #seen.trace)
    elseif not to then from = c.at end
  end
  if not to then return nil end
  local part = table.move(seen.trace, from + 1, to, 1, {})
  local at = self:stop_at(part, point)
  return at and from + at
end

-- The days up to the one that the work ended in as the source has them, the others as they
-- were; that one day either way, or, where the job itself stopped at it, anyhow.
local function compare(self, step, days, last)
  local source, want = self:source(), step.have_before
  local function expect(day) want = truth.of_day(self.history.truth, source, want, day) end
  for _, day in ipairs(days) do
    if not last or day < last then expect(day) end
  end
  local found = self:compare(step, want)
  if #found == 0 or not last then return found end
  expect(last)
  found = self:compare(step, want)
  return #found > 0 and self:torn(step, want, not step.crashed and last) or found
end

-- Did the job go on after a day that differs?
local function went_on(self, step, day)
  for _, entry in ipairs(truth.keys(step.have_before, step.have)) do
    if self:day_of(entry) > day and not truth.same(step.have_before[entry.key], step.have[entry.key]) then
      local o = { run_start = step.run_start, day = day, params = backfill.params(day, day) }
      return blind(self, step.before, o, day, step.result, step.prints)
    end
  end
end

local function whole(self, e, at, days)
  local step = self:begin("backfill", e, at)
  step.days, step.params = days, backfill.params(days[1], days[#days])
  local bad, crash = bad_days(self, days), self.variant:date(e.fail_on)
  local o = { run_start = at, day = days[1], params = step.params }
  local seen = rehearse(self, step, o, bad)
  step.commits = seen.commits
  if e.fail and seen.result.status == 0 then o.stop = stop_in(self, seen, crash, e.fail) end
  self:perform(step, o)
  if not step.crashed and (seen.result.status ~= 0 or step.result.status ~= 0 and not bad[1]) then
    -- told of the copy, where no day differs
    if seen.result.status ~= 0 then step.result = seen.result end
    self.failed = step
    return false
  end
  local last = o.stop and crash or bad[1]
  step.differences = compare(self, step, days, last)
  local wrong = e.resume and again(self, seen.commits) or order(seen.commits) or
                not step.crashed and bad[1] and went_on(self, step, bad[1])
  if wrong then step.differences = { wrong } end
  for _, day in ipairs(days) do
    if #step.differences == 0 and (not last or day < last) then self.finished[day] = true end
  end
  return self:judge(step)
end

-- ---- a job for one day ----

local function writes(step)
  for _, t in ipairs(step.trace) do if t.kind == "write" then return true end end
end

local function by_day(self, e, at, days)
  local bad = {}
  for _, day in ipairs(bad_days(self, days)) do bad[day] = true end
  for _, day in ipairs(days) do
    local known = e.resume and self.finished[day]
    if not known or self.history.record then
      local o = { run_start = at, day = day, params = backfill.params(days[1], days[#days]) }
      local fail = self.variant:date(e.fail_on) == day and e.fail or nil
      local ok = self:night({ fail = fail, resume = e.resume }, at, "backfill", day, o.params, bad[day])
      if not ok then return false end
      local step = self.steps[#self.steps]
      local wrong = known and not self.rows_only and writes(step) and again(self, rehearse(self, step, o, {}).commits)
      if wrong then
        step.differences = { wrong }
      elseif bad[day] and not step.crashed and not step.stopped and not known then
        step.differences = { blind(self, step.before, o, day, step.result, step.prints) }
      end
      self:judge(step)
      if step.crashed or step.stopped or self:over() then return true end
      self.finished[day] = true
    end
  end
  return true
end

-- A job that asks for the parameters from and to drives its days itself.
local function drives(self, days, at)
  local result = self:rehearse(self:state(), { run_start = at, day = days[1], params = backfill.params(days[1], days[#days]) })
  return result.params_read and result.params_read.from and result.params_read.to
end

function backfill.play(self, e, at)
  local days = range(self.variant:date(e.backfill[1]), self.variant:date(e.backfill[2]))
  if not e.resume then
    for _, day in ipairs(days) do self.finished[day] = nil end
  end
  if self.drives == nil then self.drives = drives(self, days, at) or false end
  return (self.drives and whole or by_day)(self, e, at, days)
end

return backfill
