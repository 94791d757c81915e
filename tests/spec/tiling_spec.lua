-- Windows of local days, hours, weeks and months tile the time line: every
-- half hour of it is in exactly one window, whatever the zone does.
local random = require "random"
local world = require "world"

local ZONES = { "UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu" }
-- Days of 2026 on which the clocks change.
local CHANGES = {
  ["Europe/Berlin"] = { ["2026-03-29"] = 46, ["2026-10-25"] = 50 },
  ["America/New_York"] = { ["2026-03-08"] = 46, ["2026-11-01"] = 50 },
}

-- A row for every half hour from December 2025 to January 2027, in epoch
-- seconds and as text in UTC.
local function half_hours()
  return world.new { source = [[
    CREATE TABLE s(id INTEGER PRIMARY KEY, at INTEGER, text TEXT);
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19200)
    INSERT INTO s SELECT i, 1764547200 + i * 1800, strftime('%Y-%m-%dT%H:%M:%SZ', 1764547200 + i * 1800, 'unixepoch') FROM n;
    CREATE INDEX s_at ON s(at); CREATE INDEX s_text ON s(text);]] }
end

local function lines(out)
  local list = {}
  for a, b in out:gmatch "W ([^|\n]*)|([^\n]*)" do list[#list + 1] = { a, tonumber(b) or b } end
  return list
end

describe("a year of days", function()
  for _, zone in ipairs(ZONES) do
    for column, time in pairs { at = ', time = "unix"', text = "" } do
      it("tiles in " .. zone .. ", by " .. (time == "" and "text" or "epoch"), function()
        local w = half_hours()
        w:job("j", ([[
          job { grain = "day", zone = "%s" }
          local d, last = date "2026-01-01", nil
          while d < date "2027-01-01" do
            local w = window(tostring(d))
            assert(last == nil or last == w.start, tostring(w.start))
            last = w.stop
            print("W " .. tostring(w.start):sub(1, 10) .. "|" ..
              extract { from = "s", by = "%s", window = w %s }:count())
            d = d + days(1)
          end
          print("W year|" .. extract { from = "s", by = "%s",
            window = window("2026-01-01", "2027-01-01") %s }:count())
        ]]):format(zone, column, time, column, time))
        local counts = lines(w:ok("j.lua", { timeout = 120 }).out)
        assert.equal(366, #counts)
        local total, changes = 0, CHANGES[zone] or {}
        for i = 1, 365 do
          local day, n = counts[i][1], counts[i][2]
          assert.equal(changes[day] or 48, n, day)
          total = total + n
        end
        assert.equal(counts[366][2], total)
        assert.equal(365 * 48, total)
      end)
    end
  end
end)

describe("windows of a grain", function()
  -- The half hours of the window of one logical date.
  local function count(w, grain, zone, label)
    w:job("j", ([[
      job { grain = "%s", zone = "%s" }
      local rows = extract { from = "s", by = "at", time = "unix", columns = { "id" }, window = window() }
      insert_new { rows, into = "t_%s", key = "id" }
    ]]):format(grain, zone, grain))
    local r = w:ok("j.lua", "--logical-date", label, "--run-start", "2027-06-01")
    local run = w:last_run()
    -- No half hour was in an earlier window.
    assert.equal(run.rows_read, run.rows_inserted, label .. " " .. r.out)
    return tonumber(run.rows_read)
  end

  for _, zone in ipairs(ZONES) do
    it("month and week tile in " .. zone, function()
      local w = half_hours()
      local total = 0
      for month = 1, 12 do total = total + count(w, "month", zone, ("2026-%02d"):format(month)) end
      assert.equal(365 * 48, total)
      total = 0
      local monday = os.time { year = 2025, month = 12, day = 29, hour = 12 }
      for week = 0, 52 do
        total = total + count(w, "week", zone, os.date("%Y-%m-%d", monday + week * 7 * 86400))
      end
      assert.equal(53 * 7 * 48, total)
      assert.equal("1|0", w:one "SELECT count(*) > 0, max(id) - min(id) + 1 - count(*) FROM t_week")
    end)
  end

  for zone, changes in pairs(CHANGES) do
    it("hour tiles on the days when the clocks of " .. zone .. " change", function()
      for day, expected in pairs(changes) do
        local w = half_hours()
        local total = 0
        for hour = 0, 23 do
          local label = ("%sT%02d"):format(day, hour)
          w:job("j", ([[
            job { grain = "hour", zone = "%s" }
            local rows = extract { from = "s", by = "at", time = "unix", columns = { "id" }, window = window() }
            insert_new { rows, into = "t", key = "id" }
          ]]):format(zone))
          local r = w:lrun("j.lua", "--logical-date", label, "--run-start", "2027-06-01")
          if r.status == 2 then
            -- An hour that is not there, or is there twice and needs its offset.
            local offsets = { r.err:match "T%d%d([+-]%d%d:%d%d).-T%d%d([+-]%d%d:%d%d)" }
            for _, offset in ipairs(expected > 48 and offsets or {}) do
              w:ok("j.lua", "--logical-date", label .. offset, "--run-start", "2027-06-01")
              total = total + tonumber(w:last_run().rows_inserted)
            end
            if expected > 48 then assert.equal(2, #offsets, r.err) end
          else
            assert.equal(0, r.status, r.err)
            assert.equal("2", w:last_run().rows_inserted, label)
            total = total + 2
          end
        end
        assert.equal(expected, total, day)
      end
    end)
  end

  it("hours of Kathmandu begin a quarter past", function()
    local w = half_hours()
    assert.equal(2, count(w, "hour", "Asia/Kathmandu", "2026-01-20T05"))
    assert.same({ "2026-01-19T23:30:00Z", "2026-01-20T00:00:00Z" }, w:source_rows(
      "SELECT text FROM s WHERE id IN (" .. table.concat(w:rows "SELECT id FROM t_hour", ",") .. ") ORDER BY 1"))
  end)
end)

describe("windows cut at random instants", function()
  local FORMS = {
    ["%Y-%m-%d %H:%M:%S"] = "text with a space", ["%Y-%m-%dT%H:%M:%S"] = "text with a T", unix = "epoch seconds",
  }
  local function at(form, second)
    return form == "unix" and tostring(second) or "'" .. os.date("!" .. form, second) .. "'"
  end

  for form, name in pairs(FORMS) do
    it("hold every row once, in " .. name, function()
      local seed = random.seed()
      local first, last = 1767225600, 1767225600 + 5 * 86400 -- five days of January
      local w = world.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, at, second INTEGER);" }
      local cuts, values = { first, last }, {}
      for _ = 1, 30 do cuts[#cuts + 1] = math.random(first, last) end
      -- Midnights too, and rows on every cut and a second to either side.
      for day = 1, 4 do cuts[#cuts + 1] = first + day * 86400 end
      table.sort(cuts)
      for _, cut in ipairs(cuts) do
        for second = cut - 1, cut + 1 do values[#values + 1] = ("(%s, %d)"):format(at(form, second), second) end
      end
      for _ = 1, 100 do
        local second = math.random(first, last)
        values[#values + 1] = ("(%s, %d)"):format(at(form, second), second)
      end
      w:source("INSERT INTO s(at, second) VALUES " .. table.concat(values, ", "))
      local bounds = {}
      for i, cut in ipairs(cuts) do bounds[i] = '"' .. os.date("!%Y-%m-%d %H:%M:%S", cut) .. '"' end
      w:job("j", ([[
        job {}
        local bounds = { %s }
        for i = 2, #bounds do
          print("W " .. i .. "|" .. extract { from = "s", by = "at", window = window(bounds[i - 1], bounds[i]) %s }:count())
        end
      ]]):format(table.concat(bounds, ", "), form == "unix" and ', time = "unix"' or ""))
      local counts = lines(w:ok "j.lua".out)
      assert.equal(#cuts - 1, #counts)
      for i = 2, #cuts do
        local expected = w:source_rows(("SELECT count(*) FROM s WHERE second >= %d AND second < %d"):format(cuts[i - 1], cuts[i]))[1]
        assert.equal(tonumber(expected), counts[i - 1][2], ("seed %d, window %d"):format(seed, i))
      end
    end)
  end
end)
