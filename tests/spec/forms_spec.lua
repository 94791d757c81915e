-- Times whose text does not sort as time: every form falls into its own window,
-- also in the target that is overwritten, and what is no time is named.
local world = require "world"

local DAY = [[
local o = extract { from = "t", by = "d", window = window() }
overwrite_partition { o, into = "dw" }
reconcile { o, with = "dw" }
]]

local function with(values, type, index)
  local w = world.new { source = ("CREATE TABLE t(id INTEGER PRIMARY KEY, d %s); %s"):format(type or "TEXT", index or "") }
  for i, v in ipairs(values) do w:source(("INSERT INTO t VALUES (%d, '%s')"):format(i, v)) end
  return w
end

describe("overwriting a partition", function()
  it("leaves the other hours alone where times have a T", function()
    local w = with { "2026-01-20T10:30:00", "2026-01-20T23:30:00" }
    w:job("h", 'job { grain = "hour" }\n' .. DAY)
    for _, hour in ipairs { "10", "23", "10" } do w:ok("h.lua", "--logical-date", "2026-01-20T" .. hour) end
    assert.same({ "1", "2" }, w:rows "SELECT id FROM dw ORDER BY id")
  end)

  it("leaves the other days alone where times have offsets, and doubles none", function()
    local w = with { "2026-01-21T01:00:00+02:00", "2026-01-21T12:00:00Z", "2026-01-20" }
    w:job("d", 'job { grain = "day" }\n' .. DAY)
    for _, day in ipairs { "20", "20", "21", "20", "21" } do w:ok("d.lua", "--logical-date", "2026-01-" .. day) end
    assert.same({ "1", "2", "3" }, w:rows "SELECT id FROM dw ORDER BY id")
  end)

  -- a column of dates with an index is looked through day by day
  for _, type in ipairs { "DATE", "DATE COLLATE NOCASE" } do
    it("finds the one value of another form among many dates of a " .. type, function()
      local days = { "2026-01-20", "2026-01-20", "2026-01-21", "2026-01-21", "2026-01-21T12:00:00Z", "2026-01-21T00:30:00+02:00" }
      local w = with(days, type, "CREATE INDEX i ON t(d COLLATE BINARY);")
      w:job("d", 'job { grain = "day" }\n' .. DAY)
      for _, day in ipairs { "20", "20", "21", "20", "21" } do w:ok("d.lua", "--logical-date", "2026-01-" .. day) end
      assert.same({ "1", "2", "3", "4", "5", "6" }, w:rows "SELECT id FROM dw ORDER BY id")
      w:source "INSERT INTO t VALUES (7, '2026-01-21 noon')"
      w:refused(1, { "d.lua", "t.d", "2026-01-21 noon", hint = false }, "d.lua", "--logical-date", "2026-01-21")
      w:source "UPDATE t SET d = x'00' WHERE id = 7"
      w:refused(1, { "d.lua", "t.d", "blob", hint = false }, "d.lua", "--logical-date", "2026-01-21")
    end)
  end

  it("knows the two hours of the night when clocks are set back", function()
    local w = with { "2025-10-26T00:30:00Z", "2025-10-26T01:30:00Z" }
    w:job("b", 'job { grain = "hour", zone = "Europe/Berlin" }\n' .. DAY)
    w:ok("b.lua", "--logical-date", "2025-10-26T02+02:00")
    assert.same({ "1" }, w:rows "SELECT id FROM dw")
    w:ok("b.lua", "--logical-date", "2025-10-26T02+01:00")
    assert.same({ "1", "2" }, w:rows "SELECT id FROM dw ORDER BY id")
  end)
end)

describe("text that is no time", function()
  for _, value in ipairs { "2026/01/20", "20.01.2026", "20260120", "2026-1-20", "2026-02-30", "2026-01-20 25:00", "2026-01-20x" } do
    for _, index in ipairs { "", "CREATE INDEX i ON t(d);" } do
      it(("stops an incremental run and is named: %s %s"):format(value, index), function()
        local w = with { value, "2026-01-21T12:00:00" }
        w:source(index)
        w:job("m", 'job {}\nmerge { extract { from = "t", by = "d", window = window { since = watermark() } }, into = "dw", key = "id" }')
        w:refused(1, { "m.lua:2", "t.d", value, hint = false }, "m.lua")
      end)
    end
  end
end)
