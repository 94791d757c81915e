-- What happened in a step, in a few lines.
local data = require "engine.data"
local quote = require("engine.sandbox").quote
local stage = require "course.stage"
local timeline = require "engine.timeline"
local truth = require "engine.truth"
local wrap = require "show.wrap"
local xray = require "engine.xray"
local tell = {}

local POINTS = {
  before_read = "before it read", after_read = "after it had read, before it wrote",
  in_write = "in the middle of the write", after_write = "after the write, before the next statement",
  before_commit = "before COMMIT", at_commit = "at COMMIT, before it heard the answer",
}

local function number(v) return type(v) == "number" and math.type(v) == "float" and ("%.2f"):format(v) or tostring(v) end

local function value(t, name, v, variant)
  local kind = data.kinds(t)[name]
  local is = variant:value(kind, v)
  if is == false then return "NULL" end
  if kind == "amount" and type(is) == "number" then return ("%.2f"):format(is) end
  return number(is)
end

local function pairs_text(t, map, variant)
  local parts = {}
  for i, c in ipairs(t.columns) do
    local v = map[c[1]]
    if #map > 0 then v = map[i] end
    if v ~= nil then parts[#parts + 1] = c[1] .. " " .. value(t, c[1], v, variant) end
  end
  return table.concat(parts, ", ")
end

-- An event of the source as one line: "orders: order_id 105 now has amount 22.00".
local function change(play, e)
  local name = e.insert or e.update or e.delete
  if not name then return "the source runs " .. (e.sql or "") end
  local t = data.table(play.history.source, name)
  if e.insert then return ("%s gets a row: %s"):format(name, pairs_text(t, e.row, play.variant)) end
  local where = pairs_text(t, e.where, play.variant)
  if e.delete then return ("%s loses the row %s"):format(name, where) end
  return ("%s, row %s, becomes: %s%s"):format(name, where, pairs_text(t, e.set, play.variant), e.label and " (" .. e.label .. ")" or "")
end

local function head(step)
  if step.kind == "change" then return "the source changes" end
  if step.kind == "skip" then return "no run this night" end
  if step.kind == "reconcile" then return ("the check of %s"):format(timeline.when(step)) end
  if step.kind == "check" then return ("the weekly check of %s to %s"):format(step.event.check[1], step.event.check[2]) end
  local words = { again = "the same run once more", retry = "the run again", backfill = "a run" }
  local days = step.days and (" for %s to %s"):format(step.days[1], step.days[#step.days]) or step.day and " for " .. step.day or ""
  return (words[step.kind] or "a run") .. days
end

-- Which source rows the window of a run holds.
local function inside(play, step)
  local probe, w = play.history.probe, step.window
  play.box:restore(step.before)
  local rows = play.box:rows("source", ("SELECT %s, %s FROM %s ORDER BY 1"):format(probe.key, w.column, probe.table)) or {}
  local list = {}
  for _, row in ipairs(rows) do
    if row[2] and xray.holds(w, data.ms(row[2])) then list[#list + 1] = tostring(row[1]) end
  end
  if #list == 0 then return "no row" end
  if #list > 8 then return #list .. " rows" end
  return (#list == 1 and "row " or "rows ") .. table.concat(list, " ")
end

-- Keys that are new, that changed, that are gone.
local function written(step)
  local sets, order = { added = {}, changed = {}, removed = {} }, { "added", "changed", "removed" }
  for _, entry in ipairs(truth.keys(step.have_before, step.have)) do
    local was, is = step.have_before[entry.key], step.have[entry.key]
    if not truth.same(was, is) then
      local set = not was and sets.added or not is and sets.removed or sets.changed
      set[#set + 1] = tostring(entry.value) .. (is and #is.rows > 1 and (" (%d times)"):format(#is.rows) or "")
    end
  end
  local parts = {}
  for _, name in ipairs(order) do
    local set = sets[name]
    if #set > 8 then parts[#parts + 1] = ("%s %d rows"):format(name, #set)
    elseif #set > 0 then parts[#parts + 1] = name .. " " .. table.concat(set, " ") end
  end
  return #parts > 0 and table.concat(parts, ", ") or "nothing"
end

local function after(play, step)
  local t = play.history.truth
  local n = 0
  for _, entry in pairs(step.have) do n = n + #entry.rows end
  return ("%d row%s%s"):format(n, n == 1 and "" or "s",
    t.total and (", %s %s"):format(t.total, ("%.2f"):format(truth.total(t, step.have, t.total) / 100)) or "")
end

local function statements(step)
  local n, writes = 0, 0
  for _, t in ipairs(step.trace or {}) do
    if t.phase == "after" and (t.kind == "read" or t.kind == "write") then
      n = n + 1
      if t.kind == "write" then writes = writes + 1 end
    end
  end
  return ("%d: %d read, %d write"):format(n, n - writes, writes)
end

-- The watermark in the sandbox: that of a table of the lesson's, else lrun's own.
local function watermark(play, state)
  play.box:restore(state)
  for _, t in ipairs(play.history.warehouse) do
    for _, c in ipairs(t.columns) do
      if c[1] == "watermark" then
        local rows = play.box:rows("warehouse", ("SELECT watermark FROM %s"):format(quote(t.name)))
        if rows and #rows == 1 and rows[1][1] then return tostring(rows[1][1]) end
      end
    end
  end
end

local function lrun_watermark(play, state)
  play.box:restore(state)
  local rows = play.box:rows("warehouse", "SELECT value FROM lrun_watermarks")
  return rows and #rows == 1 and rows[1][1] and tostring(rows[1][1]) or nil
end

local function marks(play, step, say)
  for _, look in ipairs { lrun_watermark, watermark } do
    local was, is = look(play, step.before), look(play, step.after)
    if is then
      say("watermark", was == is and "still " .. is or is .. (was and ", it was " .. was or ""))
      return
    end
  end
end

local function lines_of_run(play, step, say)
  for _, e in ipairs(step.event.during or {}) do say("meanwhile", change(play, e)) end
  if play.failed == step then
    say("ERROR", step.result.error.text)
    return
  end
  if step.stopped then say("ended", "with an error, and its day is as it was: " .. step.result.error.text) end
  if play.history.probe then
    stage.window(play, step)
    local w = step.window
    say("window", (w.none or w.all) and xray.text(w) or xray.text(w) .. ": " .. inside(play, step))
  end
  say("statements", statements(step))
  local have = step.have
  if step.crashed then say("STOPPED", "the machine stopped " .. (POINTS[step.event.fail] or "")) end
  if step.crashed then
    play.box:restore(step.after)
    have = truth.of_warehouse(play.box, play.history.truth)
  end
  local gone = step.differences and step.differences[1]
  if gone and gone.class == "MISSING" and gone.why then
    say("ERROR", gone.why)
  elseif have then
    local seen = setmetatable({ have = have }, { __index = step })
    say("wrote", written(seen))
    say(play.history.truth.table, "now " .. after(play, seen))
  end
  marks(play, step, say)
  for i, text in ipairs(step.prints or {}) do
    if i > 10 then say("", ("... %d more lines"):format(#step.prints - 10)) break end
    say(i == 1 and "printed" or "", text)
  end
end

-- A step as one line.
function tell.line(play, step)
  local what = step.kind == "change" and change(play, step.event) or head(step)
  if step.crashed then what = what .. ": the machine stopped " .. (POINTS[step.event.fail] or "")
  elseif step.stopped or play.failed == step then what = what .. ": an error"
  elseif step.have then what = what .. ": wrote " .. written(step) end
  return wrap(what, ("%3d  %-19s  "):format(step.number, step.run_start or step.at), 26)
end

-- total: how many steps there are, or nil.
function tell.step(play, step, total)
  local first = ("step %d%s   %s   "):format(step.number, total and " of " .. total or "", step.run_start or step.at)
  local out = { wrap(head(step), first, #first) }
  local function say(word, text) out[#out + 1] = wrap(text, ("    %-12s "):format(word), 17) end
  if step.kind == "change" then out[#out + 1] = wrap(change(play, step.event), "    ", 4)
  elseif step.kind == "reconcile" then
    say("says", step.result.status == 3 and "the day differs" or step.result.status == 0 and
                (step.result.differs > 0 and "the day differs" or "equal") or step.result.error.text)
  elseif step.kind == "check" then
    if play.failed == step then say("ERROR", step.result.error.text) end
    for _, d in ipairs(step.differences) do say(d.value and "key " .. tostring(d.value) or "wrong", d.why) end
    if play.failed ~= step and #step.differences == 0 then say("names", "every row that differs") end
  elseif step.result then lines_of_run(play, step, say) end
  return table.concat(out, "\n") .. "\n"
end

return tell
