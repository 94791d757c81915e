-- scd2_merge without a time of the change (S80): the logical date dates what the
-- source holds now, so only the current or the last complete grain may be run,
-- and none before the latest that was.
local pairs_of = require "pairs"

local S = "CREATE TABLE s(id INTEGER, a TEXT, at TIMESTAMP); INSERT INTO s VALUES (1, 'x', '2026-01-02 08:00:00'), (2, 'y', '2026-01-02 08:00:00');\n"

local function job(grain, options, zone)
  return ([[job { grain = %q%s }
scd2_merge { extract { from = "s", columns = { "id", "a"%s } }, into = "dim", key = "id", absent = "close"%s }
]]):format(grain, zone and (", zone = %q"):format(zone) or "", (options or ""):find "at =" and ', "at"' or "", options or "")
end

pairs_of.each("S80 scd2_merge dated by the logical date", function(pair)
  local function scene() return pair.new { source = S }:job("j", job "day") end
  local function versions(w)
    local rows = w:rows "SELECT id, a, valid_from, valid_to FROM dim ORDER BY id, valid_from"
    for n, row in ipairs(rows) do rows[n] = row:gsub(" 00:00:00", "") end
    return rows
  end

  it("S80 refuses a past date before anything is written, and plan says so", function()
    local w = scene()
    for _, command in ipairs { { "j.lua" }, { "plan", "j.lua" } } do
      local argv = { table.unpack(command) }
      argv[#argv + 1] = "--logical-date"
      argv[#argv + 1] = "2026-01-03"
      argv[#argv + 1] = "--run-start"
      argv[#argv + 1] = "2026-01-10 03:00:00"
      w:refused(1, { "j.lua:2", "scd2_merge", "read at 2026-01-10 03:00:00", "as those of 2026-01-03", "at = \"updated_at\"", "swap",
        "backdate = true" }, table.unpack(argv))
    end
    w:refused(1, { "as those of 2026-01-03" }, "j.lua", "--logical-date", "2026-01-03") -- by the machine's clock
    assert.is_false(w:has "dim")
    w:ok("j.lua", "--logical-date", "2026-01-09", "--run-start", "2026-01-10 03:00:00")
    w:ok("j.lua", "--logical-date", "2026-01-10", "--run-start", "2026-01-10 03:00:00", "--allow-open")
    assert.same({ "1|x|2026-01-09|9999-12-31", "2|y|2026-01-09|9999-12-31" }, versions(w))
  end)

  it("S80 refuses a date that has not begun", function()
    scene():refused(1, { "2026-01-11" }, "j.lua", "--logical-date", "2026-01-11", "--run-start", "2026-01-10 03:00:00", "--allow-open")
  end)

  it("S80 refuses a backfill over the past, also of a new dimension", function()
    local w = scene()
    w:refused(1, { "as those of 2026-01-03", "backdate = true" }, "backfill", "j.lua", "--from", "2026-01-03", "--to", "2026-01-05",
      "--no-reconcile", "--run-start", "2026-01-10")
    assert.is_false(w:has "dim")
    w:ok("backfill", "j.lua", "--from", "2026-01-09", "--to", "2026-01-09", "--no-reconcile", "--run-start", "2026-01-10")
    w:refused(1, { "as those of 2026-01-04" }, "backfill", "j.lua", "--from", "2026-01-04", "--to", "2026-01-05", "--no-reconcile",
      "--run-start", "2026-01-10")
    assert.same({ "1|x|2026-01-09|9999-12-31", "2|y|2026-01-09|9999-12-31" }, versions(w))
  end)

  it("S80 makes no hole for a key that was deleted since then", function()
    local w = scene()
    w:ok("j.lua", "--logical-date", "2026-01-03", "--run-start", "2026-01-04")
    w:source "DELETE FROM s WHERE id = 2"
    w:refused(1, { "as those of 2026-01-04" }, "j.lua", "--logical-date", "2026-01-04", "--run-start", "2026-01-06")
    w:ok("j.lua", "--logical-date", "2026-01-05", "--run-start", "2026-01-06")
    assert.same({ "1|x|2026-01-03|9999-12-31", "2|y|2026-01-03|2026-01-05" }, versions(w))
  end)

  it("S80 refuses a date before the latest that was run, of any job and grain", function()
    local w = scene():job("other", job "day"):job("month", job "month"):job("hour", job "hour")
    w:ok("j.lua", "--logical-date", "2026-01-31", "--run-start", "2026-02-01")
    w:ok("j.lua", "--logical-date", "2026-01-31", "--run-start", "2026-02-01") -- the latest itself
    w:refused(1, { "dim was run for 2026-01-31 already", "2026-01-30 is before it", "backdate" }, "other.lua", "--logical-date", "2026-01-30",
      "--run-start", "2026-01-31")
    w:refused(1, { "2026-01-31 already", "2026-01-01" }, "month.lua", "--logical-date", "2026-01", "--run-start", "2026-02-01")
    w:refused(1, { "2026-01-31 already" }, "plan", "month.lua", "--logical-date", "2026-01", "--run-start", "2026-02-01")
    w:ok("hour.lua", "--logical-date", "2026-01-31T23", "--run-start", "2026-02-01")
    w:refused(1, { "2026-01-31T22" }, "hour.lua", "--logical-date", "2026-01-31T22", "--run-start", "2026-01-31 23:00:00")
    w:warehouse "DELETE FROM dim"
    w:ok("other.lua", "--logical-date", "2026-01-30", "--run-start", "2026-01-31") -- emptied: it begins anew
  end)

  it("S80 takes any date with backdate = true", function()
    local w = pair.new { source = S }:job("j", job("day", ", backdate = true"))
    w:ok("j.lua", "--logical-date", "2026-01-05")
    w:source "UPDATE s SET a = 'old' WHERE id = 1"
    w:ok("j.lua", "--logical-date", "2026-01-03")
    assert.same({ "1|old|2026-01-03|2026-01-05", "1|x|2026-01-05|9999-12-31", "2|y|2026-01-03|9999-12-31" }, versions(w))
  end)

  it("S80 needs nothing where at gives the time; but what closes is dated too", function()
    local w = pair.new { source = S }
    w:job("at", (job("day", ', at = "at"'):gsub(', absent = "close"', ""))):job("close", job("day", ', at = "at"'))
    w:ok("at.lua", "--logical-date", "2026-01-03")
    w:source "DELETE FROM s WHERE id = 2"
    w:refused(1, { "keys that it lacks would be closed at 2026-01-04", "without --logical-date" }, "close.lua", "--logical-date", "2026-01-04")
    w:ok("close.lua", "--run-start", "2026-01-05")
    assert.same({ "1|x|2026-01-02 08:00:00|9999-12-31", "2|y|2026-01-02 08:00:00|2026-01-05" }, versions(w))
  end)
end)

-- Each grain, by the local clock of a zone: { grain, clock, allowed, refused }.
local GRAINS = {
  { "hour", "2026-01-10 03:20:00", "2026-01-10T02", "2026-01-10T01" },
  { "hour", "2026-10-25 02:10:00+01:00", "2026-10-25T02+02:00", "2026-10-25T01" },
  { "day", "2026-03-30 00:30:00", "2026-03-29", "2026-03-28" },
  { "week", "2026-01-14 12:00:00", "2026-01-05", "2025-12-29" },
  { "month", "2026-03-01 00:00:00", "2026-02", "2026-01" },
  { "year", "2026-06-01 00:00:00", "2025", "2024" },
}
for _, name in ipairs { "sqlite->sqlite", "postgresql->postgresql" } do
  describe("S80 " .. name .. ", the last complete grain of Europe/Berlin", function()
    for _, g in ipairs(GRAINS) do
      it("S80 is " .. g[3] .. " at " .. g[2], function()
        local w = pairs_of.by_name[name].new { source = S }:job("j", job(g[1], nil, "Europe/Berlin"))
        w:refused(1, { "backdate = true" }, "j.lua", "--logical-date", g[4], "--run-start", g[2])
        w:ok("j.lua", "--logical-date", g[3], "--run-start", g[2])
        w:ok("j.lua", "--logical-date", g[3], "--run-start", g[2])
      end)
    end
  end)
end
