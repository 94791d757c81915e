-- The weekly check: { check = { D, D2 }, at = T }. What came later than the lookback
-- reaches must be noticed, and named by its key; what is right must not be.
--
-- A job with reconcile is compared day by day, as lrun reconcile --rows does. A job that
-- reads the parameter check (the first day) compares by itself: it is run on a copy with
-- it, and what it prints, or its error, must name the keys. Neither may write.
local data = require "engine.data"
local quote = require("engine.sandbox").quote
local truth = require "engine.truth"
local weekly = {}

-- The rows of each table of the warehouse as one text, but for those of lrun's own.
local function contents(box)
  local out = {}
  for _, name in ipairs(box:tables "warehouse") do
    if not name:find "^lrun_" then
      local rows = box:rows("warehouse", "SELECT * FROM " .. quote(name)) or {}
      for i, row in ipairs(rows) do
        for k, v in ipairs(row) do row[k] = truth.canon(v) end
        rows[i] = table.concat(row, "\0")
      end
      table.sort(rows)
      out[name] = table.concat(rows, "\1")
    end
  end
  return out
end

-- The tables that are not as they were, in order.
local function changed(before, after)
  local out = {}
  for name, rows in pairs(before) do if after[name] ~= rows then out[#out + 1] = name end end
  for name in pairs(after) do if not before[name] then out[#out + 1] = name end end
  table.sort(out)
  return out
end

local function by_lrun(self, step, first, last)
  local said, checks, differs = {}, 0, 0
  for ms = data.ms(first), data.ms(last), 86400000 do
    local result = self:run { run_start = step.run_start, day = data.text(ms), mode = "reconcile", by_rows = true,
      compared = function(f)
        if not f.equal then said[#said + 1] = ("%s %s"):format(f.text or "", f.group_value or "") end
      end }
    if result.status ~= 0 and result.status ~= 3 then
      step.result = result
      return nil
    end
    checks, differs = checks + result.checks, differs + result.differs
  end
  return table.concat(said, "\n"), checks > 0, differs > 0, contents(self.box)
end

-- What it says, whether it looks, whether it differs, and the tables that it leaves. Nil
-- where the job has an error.
local function look(self, step, first, last)
  local o = { run_start = step.run_start, params = { check = first }, after = contents }
  local result, _, after, prints = self:rehearse(step.before, o)
  if result.params_read and result.params_read.check then
    if result.limit then
      step.result = result
      return nil
    end
    prints[#prints + 1] = result.error and result.error.text
    return table.concat(prints, "\n"), true, result.status ~= 0, after
  end
  return by_lrun(self, step, first, last)
end

-- Is a row of the source one of the days that are checked, and has a run come by since?
-- One that is gone from the source is.
local function reaches(entry, first, last, run)
  local ms = entry and data.ms(entry.stamp)
  return not ms or ms >= data.ms(first) and ms < math.min(data.ms(last) + 86400000, run or math.huge)
end

-- When the last run began that was not stopped.
local function last_run(self)
  local at
  for _, s in ipairs(self.steps) do
    if s.prints and not s.crashed then at = data.ms(s.run_start) end
  end
  return at
end

function weekly.play(self, e, at)
  local v = self.variant
  local step = self:begin("check", e, at)
  step.differences = {}
  local first, last = v:date(e.check[1]), v:date(e.check[2])
  local was = contents(self.box)
  local said, looks, cries, left = look(self, step, first, last)
  if not said then
    self.failed = step
    return false
  end
  local function miss(id, why)
    step.differences[#step.differences + 1] = { key = id and truth.canon(id) or "", value = id, class = "SILENT", rule = "R9", why = why }
  end
  local touched = changed(was, left)
  if #touched > 0 then miss(nil, ("the check changed %s; it must write nothing"):format(table.concat(touched, " and "))) end
  local wrong, right, cried, run = 0, 0, 0, last_run(self)
  local text = said:match "^%s*([^\n]+)"
  text = text and (", it says: " .. text) or ", and says nothing"
  step.want, step.have = self:source(), self:warehouse() or {}
  for _, entry in ipairs(truth.keys(step.want, step.have)) do
    local named = said:find("%f[%w]" .. tostring(entry.value):gsub("%W", "%%%0") .. "%f[%W]")
    if truth.same(step.want[entry.key], step.have[entry.key]) then
      right, cried = right + 1, cried + (named and 1 or 0)
    elseif reaches(step.want[entry.key], first, last, run) then
      wrong = wrong + 1
      if not looks then
        miss(entry.value, "it came later than the lookback, and the job has no check that could find it")
      elseif not named then
        miss(entry.value, "it came later than the lookback, and the weekly check does not name it" .. text)
      end
    end
  end
  if wrong == 0 and cries then miss(nil, "the weekly check differs, and the rows are right" .. text) end
  if right > 2 and cried == right then miss(nil, "the weekly check names every row, also those that are right") end
  return self:judge(step)
end

return weekly
