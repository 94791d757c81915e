-- Days as a small calendar: what differs from its source stands out. Drawn at
-- the prompt of a terminal, below the table.
local calendar = {}

local MONTHS = { "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December" }
local MOST = 12 -- months
local MARKS = { equal = " ", differs = "!", missing = "-", extra = "+" }
local PAINT = { differs = "31", missing = "31", extra = "31", equal = "32" }
local MEANS = { { "differs", "! differs" }, { "missing", "- not at the warehouse" }, { "extra", "+ only at the warehouse" } }

local function days_in(year, month)
  if month == 2 then return (year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0)) and 29 or 28 end
  return (month == 4 or month == 6 or month == 9 or month == 11) and 30 or 31
end

-- 0 for Monday (Zeller).
local function weekday(year, month, day)
  local m, y = month, year
  if m < 3 then m, y = m + 12, y - 1 end
  return (day + 13 * (m + 1) // 5 + y + y // 4 - y // 100 + y // 400 + 5) % 7
end

local function paint(color, code, text)
  return color and code and ("\27[%sm%s\27[0m"):format(code, text) or text
end

-- A day with rows has its number, one without a point.
local function month_lines(year, month, days, color)
  local lines = { ("%s %d"):format(MONTHS[month], year), " Mo  Tu  We  Th  Fr  Sa  Su" }
  local line, column = ("    "):rep(weekday(year, month, 1)), weekday(year, month, 1)
  for day = 1, days_in(year, month) do
    local state = days[day]
    local text = state and ("%3d%s"):format(day, MARKS[state] or " ") or "  . "
    line = line .. paint(color, state and PAINT[state], text)
    column = column + 1
    if column == 7 then
      lines[#lines + 1] = line
      line, column = "", 0
    end
  end
  if line:find "%S" then lines[#lines + 1] = line end
  for i, text in ipairs(lines) do lines[i] = text:gsub("%s+$", "") end
  return lines
end

-- rows: of partitions, by days. Nil where they hold no days.
function calendar.text(rows, color)
  local months, order, seen = {}, {}, {}
  for _, row in ipairs(rows) do
    local y, m, d = tostring(row.partition):match "^(%d%d%d%d)%-(%d%d)%-(%d%d)$"
    if y then
      local key = y .. m
      if not months[key] then
        months[key] = { year = tonumber(y), month = tonumber(m), days = {} }
        order[#order + 1] = key
      end
      local state = row.state or "plain"
      months[key].days[tonumber(d)] = state
      seen[state] = true
    end
  end
  if #order == 0 then return nil end
  table.sort(order)
  local lines = {}
  if #order > MOST then
    lines[1] = ("(the last %d of %d months)"):format(MOST, #order)
    order = table.move(order, #order - MOST + 1, #order, 1, {})
  end
  for _, key in ipairs(order) do
    local month = months[key]
    if #lines > 0 then lines[#lines + 1] = "" end
    for _, text in ipairs(month_lines(month.year, month.month, month.days, color)) do lines[#lines + 1] = text end
  end
  local legend = { ". no rows" }
  for _, mean in ipairs(MEANS) do
    if seen[mean[1]] then table.insert(legend, #legend, mean[2]) end
  end
  lines[#lines + 1] = table.concat(legend, "   ")
  return table.concat(lines, "\n")
end

return calendar
