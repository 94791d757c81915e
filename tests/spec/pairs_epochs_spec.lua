-- Times that are numbers, on every pair: each unit in each primitive that has a
-- window (S58). A value of another unit is refused: no window would hold it.
local pairs_of = require "pairs"
local world = require "world"

-- One time in each unit: seconds since 1970 (whole), with the digits of the unit.
local function date_of(seconds) return os.date("!%Y%m%d", seconds) end
local UNITS = {
  unix = { type = "{bigint}", of = function(s) return ("%d"):format(s) end },
  unix_ms = { type = "{bigint}", of = function(s) return ("%d000"):format(s) end },
  unix_us = { type = "{bigint}", of = function(s) return ("%d000000"):format(s) end },
  unix_ns = { type = "{bigint}", of = function(s) return ("%d000000000"):format(s) end },
  julian = { type = "{double}", of = function(s) return ("%.17g"):format(s / 86400 + 2440587.5) end },
  yyyymmdd = { type = "INTEGER", of = date_of, dates = true },
}
local VARIANTS = { -- other types of the column
  { "unix", "{double}", function(s) return s .. ".0" end },
  { "unix_ms", "NUMERIC(20,3)", function(s) return s .. "000.0" end },
  { "unix_us", "NUMERIC(20,0)", UNITS.unix_us.of },
  { "unix_ns", "NUMERIC(20,0)", UNITS.unix_ns.of },
  { "unix_us", "TEXT", function(s) return "'" .. UNITS.unix_us.of(s) .. "'" end },
  { "yyyymmdd", "TEXT", function(s) return "'" .. date_of(s) .. "'" end },
  { "yyyymmdd", "{bigint}", date_of },
}
local DAY = 86400
local D20 = 1768867200 -- 2026-01-20

local all = {}
for name, u in pairs(UNITS) do all[#all + 1] = { name, u.type, u.of, u.dates } end
for _, v in ipairs(VARIANTS) do v[4], v[5] = v[1] == "yyyymmdd", true; all[#all + 1] = v end
table.sort(all, function(a, b) return a[1] .. a[2] < b[1] .. b[2] end)

local function table_of(name, type, rows)
  local values = {}
  for i, at in ipairs(rows) do values[i] = ("(%d,'%s',%s)"):format(i, string.char(96 + i), at) end
  return ("CREATE TABLE %s(id INTEGER PRIMARY KEY, v TEXT, at %s);%s"):format(name, type,
    #rows > 0 and "INSERT INTO " .. name .. " VALUES " .. table.concat(values, ",") .. ";" or "")
end
local function ids(w) return table.concat(w:rows "SELECT id FROM t ORDER BY id", ",") end
local function job(unit, rest, window, grain)
  return ([[
job { grain = "%s" }
local rows = extract { from = "s", by = "at", time = "%s", window = %s }
%s
]]):format(grain or "day", unit, window or "window()", rest)
end

-- A binary with sanitizers is slow: every third is enough for it.
local function some(list)
  if not world.sanitized then return list end
  local out = {}
  for i = 1, #list, 3 do out[#out + 1] = list[i] end
  return out
end

pairs_of.each("S58 a column of", function(pair)
  for _, u in ipairs(some(all)) do
    local unit, type, of, dates, variant = table.unpack(u)
    local times = dates and { D20 - DAY, D20, D20 + DAY } or { D20 - 1, D20, D20 + DAY - 1, D20 + DAY }
    local values = {}
    for i, t in ipairs(times) do values[i] = of(t) end
    local inside, past = dates and "2" or "2,3", -3653 * DAY -- 1959-12-31

    it(unit .. " as " .. type .. " has exact days in each write, twice", function()
      for _, write in ipairs { 'merge { rows, into = "t", key = "id" }', 'insert_new { rows, into = "t", key = "id" }',
                               'overwrite_partition { rows, into = "t" }' } do
        local w = pair.new { source = table_of("s", type, values) }
        w:job("j", job(unit, write .. '\nreconcile { rows, with = "t", key = "id" }\nreconcile { rows, with = "t", deep = true, key = "id" }'))
        w:ok("plan", "j.lua", "--logical-date", "2026-01-20")
        for _ = 1, 2 do w:ok("j.lua", "--logical-date", "2026-01-20") end
        assert.equal(inside, ids(w))
        for _, day in ipairs { "2026-01-19", "2026-01-21", "2026-01-20" } do w:ok("j.lua", "--logical-date", day) end
        assert.equal(dates and "1,2,3" or "1,2,3,4", ids(w))
      end
    end)

    if not variant then it(unit .. " as " .. type .. " finds what is missing in its window only", function()
      local w = pair.new { source = table_of("s", type, values) }
      w:job("j", job(unit, 'merge { rows, into = "t", key = "id" }\ndelete_missing { rows, from = "t", key = "id", column = "at", allow_empty = true }'))
      for _, day in ipairs { "2026-01-19", "2026-01-20", "2026-01-21" } do w:ok("j.lua", "--logical-date", day) end
      w:source "DELETE FROM s WHERE id <= 2"
      for _ = 1, 2 do w:ok("j.lua", "--logical-date", "2026-01-20") end
      assert.equal(dates and "1,3" or "1,3,4", ids(w))
    end) end

    it(unit .. " as " .. type .. " has watermarks by the run and by the newest value", function()
      for _, mark in ipairs { "", 'advance = "newest", start = "2026-01-20", ' } do
        local w = pair.new { source = table_of("s", type, values) }
        w:job("j", job(unit, 'merge { rows, into = "t", key = "id" }\nreconcile { rows, with = "t" }',
          "window { since = watermark { " .. mark .. " }, lookback = days(1) }"))
        w:ok("j.lua", "--run-start", "2026-01-22")
        assert.equal(mark == "" and (dates and "1,2,3" or "1,2,3,4") or (dates and "2,3" or "2,3,4"), ids(w))
        w:source(("INSERT INTO s VALUES (8,'h',%s), (9,'i',%s)"):format(of(D20 + 2 * DAY), of(past)))
        for _ = 1, 2 do w:ok("j.lua", "--run-start", "2026-01-23") end
        assert.equal("1", w:one "SELECT count(*) FROM t WHERE id = 8")
        assert.equal("0", w:one "SELECT count(*) FROM t WHERE id = 9")
        local saved = w:one "SELECT value FROM lrun_watermarks"
        if mark ~= "" then assert.equal(tonumber((of(D20 + 2 * DAY):gsub("'", ""))), tonumber(saved)) end
      end
    end)

    it(unit .. " as " .. type .. " has times before 1970", function()
      local w = pair.new { source = table_of("s", type, { of(past - DAY), of(past), of(past + DAY) }) }
      w:job("j", job(unit, 'overwrite_partition { rows, into = "t" }\nreconcile { rows, with = "t" }'))
      for _ = 1, 2 do w:ok("j.lua", "--logical-date", os.date("!%Y-%m-%d", past)) end
      assert.equal("2", ids(w))
    end)

    it(unit .. " as " .. type .. " makes versions, and finds them", function()
      local w = pair.new { source = table_of("s", type, { of(D20), of(D20 + DAY) }) }
      w:job("d", job(unit, 'scd2_merge { rows, into = "t", key = "id", track = "v", at = "at" }', 'window("2026-01-01", "2026-02-01")'))
      for _ = 1, 2 do w:ok "d.lua" end
      local from = w:rows "SELECT id, valid_from FROM t ORDER BY id"
      assert.equal("1|2026-01-20", from[1]:sub(1, 12))
      assert.equal("2|2026-01-21", from[2]:sub(1, 12))
      w:job("f", job(unit, 'merge { scd2_join { rows, dim = "t", key = "id", at = "at", take = { found = "v" } }, into = "f", key = "id" }',
        'window("2026-01-01", "2026-02-01")'))
      for _ = 1, 2 do w:ok "f.lua" end
      assert.same({ "1|a", "2|b" }, w:rows "SELECT id, found FROM f ORDER BY id")
    end)

    it(unit .. " as " .. type .. " is shown by day", function()
      local w = pair.new { source = table_of("s", type, values) }
      w:job("j", job(unit, ('merge { rows, into = "t", key = "id" }\nfor _, p in ipairs(partitions { "t", by = "at", from = "s", time = "%s" }) do ' ..
        'print(p.partition, p.source_rows, p.state) end\nprint(#lateness { from = "s", by = "at", arrived = "at", time = "%s" })')
        :format(unit, unit), 'window("2026-01-01", "2026-02-01")'))
      local out = w:ok("j.lua").out
      assert.is_truthy(out:find("2026%-01%-20%s+" .. (dates and 1 or 2) .. "%s+equal"), out)
    end)
  end
end)

-- value, the declared unit, what it looks like
local WRONG = {
  { "1768867200000000", "unix_ms", 'microseconds: time = "unix_us"' },
  { "1768867200000", "unix", 'milliseconds: time = "unix_ms"' },
  { "1768867200", "unix_ms", 'seconds: time = "unix"' },
  { "1768867200000", "unix_us", 'milliseconds: time = "unix_ms"' },
  { "1768867200000000000", "unix_us", 'nanoseconds: time = "unix_ns"' },
  { "1768867200000000", "unix_ns", 'microseconds: time = "unix_us"' },
  { "1768867200", "julian", 'seconds: time = "unix"' },
  { "20260120", "julian", 'dates of eight digits: time = "yyyymmdd"' },
  { "20260120", "unix", 'dates of eight digits: time = "yyyymmdd"' },
  { "2461060", "unix", 'julian days: time = "julian"' },
  { "2461060", "yyyymmdd", 'julian days: time = "julian"' },
  { "1768867200", "yyyymmdd", 'seconds: time = "unix"' },
  { "20260230", "yyyymmdd", "20260230" },
  { "-1768867200000000", "unix_ms", 'microseconds: time = "unix_us"' },
}

pairs_of.each("S58 a value of another unit", function(pair)
  for _, c in ipairs(some(WRONG)) do
    local value, unit, like = table.unpack(c)
    it(value .. " as " .. unit .. " is refused", function()
      local w = pair.new { source = table_of("s", "{bigint}", { value }) }
      local words = { "s", "at", value, unit, like }
      for _, window in ipairs { "window()", "window { since = watermark() }", 'window { since = watermark { advance = "newest" } }' } do
        w:job("j", job(unit, 'merge { rows, into = "t", key = "id" }', window))
        local date = window == "window()" and "--logical-date" or "--run-start"
        w:refused(1, words, "j.lua", date, "2026-01-20")
        assert.equal(false, w:has "t")
      end
      w:job("p", ('job { grain = "day" }\npartitions { "p", by = "at", from = "s", time = "%s" }'):format(unit))
      w:warehouse "CREATE TABLE p(id INTEGER PRIMARY KEY, at TEXT)"
      w:refused(1, words, "p.lua")
      w:job("l", ('job { grain = "day" }\nlateness { from = "s", by = "at", arrived = "at", time = "%s" }'):format(unit))
      w:refused(1, words, "l.lua")
      w:job("n", ('job { grain = "day" }\nscd2_merge { extract { from = "s", by = "at", time = "%s" }, into = "t", key = "id", track = "v", at = "at" }')
        :format(unit))
      w:refused(1, words, "n.lua")
    end)
  end

  it("is refused in the target", function()
    local w = pair.new { source = table_of("s", "{bigint}", { "1768867200000" }), warehouse = table_of("t", "{bigint}", { "1768867200000000" }) }
    w:job("j", job("unix_ms", 'overwrite_partition { rows, into = "t" }'))
    w:refused(1, { "t.at", "1768867200000000", 'looks like microseconds: time = "unix_us"' }, "j.lua", "--logical-date", "2026-01-20")
  end)

  it("is refused in text, and in a column of times", function()
    local w = pair.new { source = table_of("s", "TEXT", { "'2026-01-20'" }) .. "CREATE TABLE ts(id INTEGER PRIMARY KEY, v TEXT, at TIMESTAMP);" ..
      "INSERT INTO ts VALUES (1,'a','2026-01-20 00:00:00');" }
    w:job("j", job("unix", 'merge { rows, into = "t", key = "id" }'))
    w:refused(1, { "s.at", "2026-01-20", "unix" }, "j.lua", "--logical-date", "2026-01-20")
    w:job("k", (job("unix", 'merge { rows, into = "t", key = "id" }'):gsub('"s"', '"ts"')))
    w:refused(1, { "ts.at", "unix" }, "k.lua", "--logical-date", "2026-01-20")
  end)
end)

pairs_of.each("S58 exactness:", function(pair)
  it("nanoseconds and microseconds are on their side of an edge", function()
    local edge = 1768867200
    for unit, digits in pairs { unix_us = 6, unix_ns = 9 } do
      local zeros, nines = ("0"):rep(digits), ("9"):rep(digits)
      local w = pair.new { source = table_of("s", "{bigint}",
        { (edge - 1) .. nines, edge .. zeros, (edge + DAY - 1) .. nines, (edge + DAY) .. zeros }) }
      w:job("j", job(unit, 'insert_new { rows, into = "t", key = "id" }'))
      w:ok("j.lua", "--logical-date", "2026-01-20")
      assert.equal("2,3", ids(w))
      assert.same(w:source_rows "SELECT id, at FROM s WHERE id IN (2, 3) ORDER BY id", w:rows "SELECT id, at FROM t ORDER BY id")
    end
  end)

  it("a run_start with a fraction cuts seconds and milliseconds where it is", function()
    for unit, values in pairs { unix = { "1768903199", "1768903200", "1768903201" }, unix_ms = { "1768903200499", "1768903200500", "1768903200501" } } do
      for _, type in ipairs { "{bigint}", "{double}", "NUMERIC(20,3)" } do
        local w = pair.new { source = table_of("s", type, values) }
        w:job("j", job(unit, 'insert_new { rows, into = "t", key = "id" }\nreconcile { rows, with = "t" }', "window { since = watermark() }"))
        w:ok("j.lua", "--run-start", "2026-01-20T10:00:00.5001")
        assert.equal("1,2", ids(w))
        w:ok("j.lua", "--run-start", "2026-01-20T10:00:01.001")
        assert.equal("1,2,3", ids(w))
      end
    end
  end)

  it("a time of julian days is the nearest millisecond", function()
    local w = pair.new { source = table_of("s", "{double}", { "2461061.2083333335", "2461061.208333322", "2461061.25" }) }
    w:job("j", job("julian", 'overwrite_partition { rows, into = "t" }\nreconcile { rows, with = "t" }', nil, "hour"))
    w:ok("j.lua", "--logical-date", "2026-01-20T17")
    assert.equal("1", ids(w))
    w:ok("j.lua", "--logical-date", "2026-01-20T16")
    assert.equal("1,2", ids(w))
  end)

  it("dates of eight digits are those of the job's zone, and hours are refused", function()
    local w = pair.new { source = table_of("s", "INTEGER", { "20260119", "20260120", "20260121" }) }
    w:job("j", (job("yyyymmdd", 'overwrite_partition { rows, into = "t" }'):gsub('"day"', '"day", zone = "Europe/Berlin"')))
    w:ok("j.lua", "--logical-date", "2026-01-20")
    assert.equal("2", ids(w))
    w:job("h", job("yyyymmdd", 'overwrite_partition { rows, into = "t" }', nil, "hour"))
    w:refused(1, { "s.at", "dates" }, "h.lua", "--logical-date", "2026-01-20T05")
  end)

  it("nanoseconds that valid_from would cut are refused", function()
    local w = pair.new { source = table_of("s", "{bigint}", { "1768867200000000001" }) }
    w:job("j", job("unix_ns", 'scd2_merge { rows, into = "t", key = "id", track = "v", at = "at" }'))
    w:refused(1, { "1768867200000000001", "nanoseconds" }, "j.lua", "--logical-date", "2026-01-20")
  end)
end)

pairs_of.each("S58 by an expression:", function(pair)
  local function made(expression, time, rest, window)
    return ([[
job { grain = "day" }
local rows = extract { from = "s", columns = { id = "id", v = "v", at = "%s" }, by = "at"%s, nulls = "skip", window = %s }
%s
]]):format(expression, time and (', time = "%s"'):format(time) or "", window or "window()", rest)
  end
  -- milliseconds in a column of text, with a letter before them
  local ROWS = [[CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT, code TEXT);
    INSERT INTO s VALUES (1,'a','x1768867199999'), (2,'b','x1768867200000'), (3,'c','x1768953599999'), (4,'d','x1768953600000'), (5,'e',NULL);]]
  local MS = "CAST(substr(code, 2) AS {bigint})"

  it("has days, in each write, twice", function()
    for _, write in ipairs { 'merge { rows, into = "t", key = "id" }', 'overwrite_partition { rows, into = "t" }',
                             'merge { rows, into = "t", key = "id" }\ndelete_missing { rows, from = "t", key = "id" }' } do
      local w = pair.new { source = ROWS }
      w:job("j", made(w.from:sql(MS), "unix_ms", write .. '\nreconcile { rows, with = "t", key = "id" }'))
      for _ = 1, 2 do w:ok("j.lua", "--logical-date", "2026-01-20") end
      w:ok("plan", "j.lua", "--logical-date", "2026-01-20")
      assert.equal("2,3", ids(w))
      w:source "DELETE FROM s WHERE id = 2"
      if not write:find '^merge { rows, into = "t", key = "id" }$' then
        w:ok("j.lua", "--logical-date", "2026-01-20")
        assert.equal("3", ids(w))
      end
    end
  end)

  it("has watermarks, nulls and a newest value", function()
    for _, mark in ipairs { "", 'advance = "newest"' } do
      local w = pair.new { source = ROWS }
      w:job("j", made(w.from:sql(MS), "unix_ms", 'merge { rows, into = "t", key = "id" }\nreconcile { rows, with = "t" }',
        "window { since = watermark { " .. mark .. " }, lookback = days(1) }"))
      for _ = 1, 2 do w:ok("j.lua", "--run-start", "2026-01-22") end
      assert.equal("1,2,3,4", ids(w))
      if mark ~= "" then assert.equal("1768953600000", w:one "SELECT value FROM lrun_watermarks") end
    end
    local w = pair.new { source = ROWS }
    w:job("j", (made(w.from:sql(MS), "unix_ms", 'merge { rows, into = "t", key = "id" }'):gsub('"skip"', '"error"')))
    w:refused(1, { "NULL", "at" }, "j.lua", "--logical-date", "2026-01-20")
  end)

  it("may be ISO text, another name, and is checked", function()
    local w = pair.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT, d TEXT);INSERT INTO s VALUES (1,'a','20.01.2026'), (2,'b','21.01.2026');" }
    w:job("j", made("substr(d, 7) || '-' || substr(d, 4, 2) || '-' || substr(d, 1, 2)", nil, 'overwrite_partition { rows, into = "t" }'))
    for _ = 1, 2 do w:ok("j.lua", "--logical-date", "2026-01-20") end
    assert.equal("1", ids(w))
    w:job("k", made("d", nil, 'overwrite_partition { rows, into = "t" }'))
    w:refused(1, { "20.01.2026" }, "k.lua", "--logical-date", "2026-01-20")
    local m = pair.new { source = ROWS }
    m:job("j", made(m.from:sql(MS), "unix_us", 'merge { rows, into = "t", key = "id" }'))
    m:refused(1, { "s.at", 'looks like milliseconds: time = "unix_ms"' }, "j.lua", "--logical-date", "2026-01-20")
  end)
end)
