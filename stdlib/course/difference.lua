-- The first difference of a play as text: the row on both sides, its time line, why.
local picture = require "engine.picture"
local timeline = require "engine.timeline"
local truth = require "engine.truth"
local width = require "show.width"
local wrap = require "show.wrap"
local difference = {}

-- What the rows below it do not say.
local MEANS = { SILENT = ": no row shows it", ORPHAN = ": the source has it no more", TORN = ": a part of it is there",
                ["WRONG GROUP"] = ": the total is right" }

local function cells_of(t, text)
  local out = {}
  for cell in (text .. "\0"):gmatch "(.-)%z" do
    local i = #out + 1
    if t.columns[i] == t.total and tonumber(cell) then cell = ("%.2f"):format(tonumber(cell)) end
    out[i] = cell:gsub("^'(.*)'$", "%1")
  end
  return out
end

-- Both sides of a difference as lists of texts, a column each, without the key. What
-- is alike is left out where there is one row on each side.
function difference.sides(t, d)
  local have, want = d.have and cells_of(t, d.have.rows[1]), d.want and cells_of(t, d.want.rows[1])
  local both = have and want and #d.have.rows == #d.want.rows
  local alike = have and want and d.have.rows[1] == d.want.rows[1] -- they differ in number only
  local left, right, key = {}, {}, {}
  for _, name in ipairs(t.key) do key[name] = true end
  for i, name in ipairs(t.columns) do
    if not key[name] and not alike and (not both or have[i] ~= want[i]) then
      local a, b = have and name .. " " .. have[i] or "", want and name .. " " .. want[i] or ""
      local wide = both and math.max(#a, #b) or 0
      left[#left + 1], right[#right + 1] = a .. (" "):rep(wide - #a), b .. (" "):rep(wide - #b)
    end
  end
  local function side(parts, entry)
    if not entry then return { "no row" } end
    local n = #entry.rows
    if d.have and d.want and not both then table.insert(parts, 1, ("%d row%s%s"):format(n, n == 1 and "" or "s", alike and "" or ":")) end
    return parts
  end
  return side(left, d.have), side(right, d.want)
end

-- Parts in a line, or in more where they are too long, each whole.
function difference.line(first, parts)
  local out, line = {}, first .. (parts[1] or "")
  for i = 2, #parts do
    if #line + 3 + #parts[i] > width() then
      out[#out + 1] = line
      line = (" "):rep(#first) .. parts[i]
    else
      line = line .. "   " .. parts[i]
    end
  end
  out[#out + 1] = line
  for i, text in ipairs(out) do out[i] = text:gsub("%s+$", "") end
  return table.concat(out, "\n")
end

function difference.totals(want, have)
  return ("source %.2f   warehouse %.2f   %s"):format(want / 100, have / 100,
    want == have and "equal" or ("%s by %.2f"):format(have < want and "short" or "over", math.abs(want - have) / 100))
end

-- A key by its columns' names; only the first of them is known where no row shows it.
local function key_text(t, found)
  if found.key == nil or found.key == "" then return "" end
  local side = found.difference and (found.difference.have or found.difference.want)
  if not side then return (" %s %s"):format(t.key[1], tostring(found.key)) end
  local cells, at, parts = cells_of(t, side.rows[1]), {}, {}
  for i, name in ipairs(t.columns) do at[name] = i end
  for i, name in ipairs(t.key) do parts[i] = name .. " " .. cells[at[name]] end
  return " " .. table.concat(parts, ", ")
end

-- r: what grade.job gives, with its cause.
function difference.text(o, r)
  local found, play = r.cause, r.play
  local t, d = play.history.truth, r.cause.difference
  local out = { wrap(("%s: %s%s%s"):format(timeline.place(found.step), found.class, key_text(t, found),
                                                            MEANS[found.class] or ""), "FIRST DIFFERENCE  ", 18) }
  if d and not d.why then
    local have, want = difference.sides(t, d)
    out[#out + 1] = difference.line("    warehouse   ", have)
    out[#out + 1] = difference.line("    truth       ", want)
  end
  local lines = picture.lines(play, found, { width = core.width(), plain = o.plain })
  if #lines > 0 then out[#out + 1] = "\n" .. table.concat(lines, "\n") .. "\n" end
  out[#out + 1] = wrap(found.evidence, "WHY     ", 8)
  if d and not d.why and t.total and found.step.want and found.step.have then
    out[#out + 1] = "TOTALS  " .. difference.totals(truth.total(t, found.step.want, t.total), truth.total(t, found.step.have, t.total))
  end
  return table.concat(out, "\n") .. "\n"
end

return difference
