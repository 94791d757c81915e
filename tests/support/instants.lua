-- instants.lua: dates, times and the zones of the specs of values, computed here and not by
-- lrun. A time is microseconds since 1970-01-01: of the clock on the wall, or of UTC.

local M = {}

local DAY, SECOND = 86400000000, 1000000

-- Days since 1970-01-01 of a date of the proleptic calendar.
local function days(y, m, d)
  if m <= 2 then y = y - 1 end
  local era = y // 400
  local yoe = y - era * 400
  local doy = (153 * (m + (m > 2 and -3 or 9)) + 2) // 5 + d - 1
  return era * 146097 + yoe * 365 + yoe // 4 - yoe // 100 + doy - 719468
end
local function civil(n)
  n = n + 719468
  local era = n // 146097
  local doe = n - era * 146097
  local yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
  local doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
  local mp = (5 * doy + 2) // 153
  local m = mp < 10 and mp + 3 or mp - 9
  return yoe + era * 400 + (m <= 2 and 1 or 0), m, doy - (153 * mp + 2) // 5 + 1
end

-- When each zone's offset (in minutes) begins to hold, UTC; right around the specs' times.
local function at(text) return (M.parse(text)).us end
local ZONES = {
  ["UTC"] = { { nil, 0 } },
  ["Asia/Kathmandu"] = { { nil, 345 } },
  ["Europe/Berlin"] = { { nil, 60 }, { "2024-03-31 01:00:00", 120 }, { "2024-10-27 01:00:00", 60 } },
  ["America/New_York"] = { { nil, -300 }, { "2024-03-10 07:00:00", -240 }, { "2024-11-03 06:00:00", -300 } },
  ["Pacific/Apia"] = { { nil, -600 }, { "2011-12-30 10:00:00", 840 }, { "2012-03-31 14:00:00", 780 } },
}
M.zones = { "UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Apia" }

local function offset_at(zone, utc)
  local minutes
  for _, change in ipairs(ZONES[zone]) do
    if not change[1] or utc >= at(change[1]) then minutes = change[2] end
  end
  return minutes * 60 * SECOND
end

-- The clock on the wall at an instant, and whether it shows that reading twice.
function M.reading(zone, utc)
  local wall = utc + offset_at(zone, utc)
  return wall, #M.instants(zone, wall) > 1
end

-- The instants (none, one or two) at which the clock shows a reading.
function M.instants(zone, wall)
  local list, seen = {}, {}
  for _, change in ipairs(ZONES[zone]) do
    local utc = wall - change[2] * 60 * SECOND
    if not seen[utc] and utc + offset_at(zone, utc) == wall then
      seen[utc] = true
      list[#list + 1] = utc
    end
  end
  return list
end

-- The first instant of a local day, nil where the day does not exist.
function M.first_of_day(zone, midnight)
  local found = M.instants(zone, midnight)
  if found[1] then return math.min(table.unpack(found)) end
  -- A day that begins with the clock set forward: its first instant is the change itself.
  for _, change in ipairs(ZONES[zone]) do
    if change[1] then
      local utc = at(change[1])
      local wall = utc + offset_at(zone, utc)
      if wall // DAY == midnight // DAY and wall > midnight then return utc end
    end
  end
  return nil
end

-- An ISO date or time: { us = , date = without a time of day, aware = with an offset }, nil
-- where the text is none or has more than microseconds.
function M.parse(text)
  local y, m, d, rest = text:match "^(%d%d%d%d)%-(%d%d)%-(%d%d)(.*)$"
  if not y then return nil end
  y, m, d = tonumber(y), tonumber(m), tonumber(d)
  local n = days(y, m, d)
  local cy, cm, cd = civil(n)
  if cy ~= y or cm ~= m or cd ~= d then return nil end
  if rest == "" then return { us = n * DAY, date = true } end
  local h, min, sec, tail = rest:match "^[ T](%d%d):(%d%d):(%d%d)(.*)$"
  if not h then return nil end
  local fraction, zone = tail:match "^%.(%d+)(.*)$"
  if fraction and #fraction > 6 then return nil end
  local us = n * DAY + (tonumber(h) * 3600 + tonumber(min) * 60 + tonumber(sec)) * SECOND +
    (fraction and math.tointeger(tonumber(fraction .. ("0"):rep(6 - #fraction))) or 0)
  zone = fraction and zone or tail
  if zone == "" then return { us = us } end
  if zone == "Z" then return { us = us, aware = true } end
  local sign, oh, om = zone:match "^([+-])(%d%d):?(%d*)$"
  if not sign then return nil end
  local minutes = tonumber(oh) * 60 + (tonumber(om) or 0)
  return { us = us - (sign == "-" and -minutes or minutes) * 60 * SECOND, aware = true }
end

-- The digits of a second's fraction that are not zero at the end.
function M.fraction(us)
  local text = ("%06d"):format(us % SECOND):gsub("0+$", "")
  return #text
end
function M.midnight(us) return us % DAY == 0 end

return M
