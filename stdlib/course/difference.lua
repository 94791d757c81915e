-- The first difference of a play: the row on both sides, its time line, why.
local picture = require "engine.picture"
local timeline = require "engine.timeline"
local truth = require "engine.truth"
local wrap = require "show.wrap"

local function row_text(t, entry)
  if not entry then return "no row" end
  local parts = {}
  local i = 0
  for cell in (entry.rows[1] .. "\0"):gmatch "(.-)%z" do
    i = i + 1
    if t.columns[i] == t.total and tonumber(cell) then cell = ("%.2f"):format(tonumber(cell)) end
    parts[i] = t.columns[i] .. "=" .. cell:gsub("^'(.*)'$", "%1")
  end
  return table.concat(parts, " ") .. (#entry.rows > 1 and (" (%d times)"):format(#entry.rows) or "")
end

-- r: what grade.job gives, with its cause.
return function(o, r)
  local found, play = r.cause, r.play
  local t = play.history.truth
  core.write(wrap(("after the run of %s: %s%s"):format(timeline.when(found.step), found.class,
    found.key and (" %s %s"):format(t.key[1], tostring(found.key)) or ""), "FIRST DIFFERENCE  ", 18) .. "\n")
  local d = found.difference
  if d and not d.why then
    core.write(wrap(row_text(t, d.have), "    warehouse     ", 18) .. "\n" .. wrap(row_text(t, d.want), "    truth         ", 18) .. "\n")
  end
  local lines = picture.lines(play, found, { width = core.width(), plain = o.plain })
  if #lines > 0 then core.write("\n" .. table.concat(lines, "\n") .. "\n\n") end
  core.write(wrap(found.evidence, "WHY     ", 8) .. "\n")
  if d and t.total and found.step.want and found.step.have then
    local s, w = truth.total(t, found.step.want, t.total), truth.total(t, found.step.have, t.total)
    core.write(("TOTALS  source %.2f   warehouse %.2f   %s\n"):format(s / 100, w / 100,
      s == w and "equal" or ("%s by %.2f"):format(w < s and "short" or "over", math.abs(s - w) / 100)))
  end
end
