-- Windows are half-open on every pair of databases.
local pairs_of = require "pairs"
local random = require "random"

local EDGES = [[INSERT INTO s VALUES (1, 'a', '2024-01-01 00:00:00'),
  (2, 'b', '2024-01-01 23:59:59.999999'), (3, 'c', '2024-01-02 00:00:00');]]
local ALL = "SELECT id, v FROM t ORDER BY id"

pairs_of.each("midnight", function(pair)
  local APPEND = [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window() }
insert_new { rows, into = "t", key = "id" }
reconcile { rows, with = "t", sum = "id" }
]]
  it("is in exactly one day, in either order (S01)", function()
    for _, days in ipairs { { "2024-01-01", "2024-01-02" }, { "2024-01-02", "2024-01-01" } } do
      local w = pair.only(EDGES)
      w:job("j", APPEND)
      local counts = {}
      for i, day in ipairs(days) do
        w:ok("j.lua", "--logical-date", day)
        local run = w:last_run()
        counts[i] = run.rows_read .. " " .. run.rows_inserted
      end
      assert.same(days[1] == "2024-01-01" and { "2 2", "1 1" } or { "1 1", "2 2" }, counts)
      assert.same({ "1|a", "2|b", "3|c" }, w:rows(ALL))
      assert.same(w:source_rows "SELECT * FROM s ORDER BY id", w:rows "SELECT * FROM t ORDER BY id")
    end
  end)

  it("belongs to the next day's partition (S02)", function()
    local w = pair.with(EDGES, "INSERT INTO t VALUES (1,'old','2024-01-01 00:00:00'), (2,'b','2024-01-01 23:59:59.999999'), (3,'c','2024-01-02 00:00:00');")
    w:source "UPDATE s SET v = 'x' WHERE id = 1"
    w:job("j", [[
job { grain = "day" }
local rows = extract { from = "s", by = "updated_at", window = window() }
overwrite_partition { rows, into = "t" }
reconcile { rows, with = "t", sum = "id" }
]])
    for _ = 1, 2 do
      local r = w:ok("j.lua", "--logical-date", "2024-01-01")
      assert.is_truthy(r.out:find("2 -> 2", 1, true), r.out)
      assert.same({ "1|x", "2|b", "3|c" }, w:rows(ALL))
    end
    assert.same({ "s|updated_at|2024-01-01|2024-01-02" },
      w:rows "SELECT DISTINCT source_table, column_name, window_start, window_stop FROM lrun_windows")
  end)

  it("is a column of dates' day, and hours are refused there", function()
    local w = pair.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, d DATE); INSERT INTO s VALUES (1,'2024-01-01'), (2,'2024-01-02');" }
    w:job("j", 'job { grain = "day" }\nlocal rows = extract { from = "s", by = "d", window = window() }\n' ..
      'overwrite_partition { rows, into = "t" }\nreconcile { rows, with = "t", sum = "id" }')
    for _, day in ipairs { "2024-01-01", "2024-01-02", "2024-01-01" } do w:ok("j.lua", "--logical-date", day) end
    assert.same({ "1|2024-01-01", "2|2024-01-02" }, w:rows "SELECT id, d FROM t ORDER BY id")
    w:job("h", 'job { grain = "hour" }\nmerge { extract { from = "s", by = "d", window = window() }, into = "t", key = "id" }')
    w:refused(1, { "h.lua:2", "s", "d", hint = false }, "h.lua", "--logical-date", "2024-01-01T05")
  end)
end)

pairs_of.each("a window of hours", function(pair)
  it("takes its own hour and not the next", function()
    local w = pair.only [[INSERT INTO s VALUES (1,'a','2026-01-20 11:59:59.999999'), (2,'b','2026-01-20 12:00:00'),
      (3,'c','2026-01-20 12:59:59.999999'), (4,'d','2026-01-20 13:00:00');]]
    w:job("j", 'job { grain = "hour" }\nlocal rows = extract { from = "s", by = "updated_at", window = window() }\n' ..
      'overwrite_partition { rows, into = "t" }\nreconcile { rows, with = "t" }')
    for hour = 11, 13 do w:ok("j.lua", "--logical-date", "2026-01-20T" .. hour) end
    w:ok("j.lua", "--logical-date", "2026-01-20T12")
    assert.equal("2", w:last_run().rows_read)
    assert.same({ "1|a", "2|b", "3|c", "4|d" }, w:rows(ALL))
  end)

  it("bounds a range with a time of day", function()
    local w = pair.only [[INSERT INTO s VALUES (1,'a','2026-01-20 09:59:59'), (2,'b','2026-01-20 10:00:00'), (3,'c','2026-01-20 11:30:00');]]
    w:job("j", 'job {}\nlocal rows = extract { from = "s", by = "updated_at", window = window("2026-01-20 10:00:00", "2026-01-20 11:30:00") }\n' ..
      'merge { rows, into = "t", key = "id" }'):ok "j.lua"
    assert.same({ "2|b" }, w:rows(ALL))
  end)
end)

pairs_of.each("a job in a zone", function(pair)
  it("reads times without a zone as its own", function()
    -- Local days of 23 and 25 hours: each holds its own local times.
    local w = pair.only [[INSERT INTO s VALUES (1,'a','2026-03-28 23:59:59'), (2,'b','2026-03-29 00:00:00'), (3,'c','2026-03-29 03:30:00'),
      (4,'d','2026-03-29 23:59:59'), (5,'e','2026-03-30 00:00:00'), (6,'f','2026-10-25 02:30:00');]]
    w:job("j", 'job { grain = "day", zone = "Europe/Berlin" }\nlocal rows = extract { from = "s", by = "updated_at", window = window() }\n' ..
      'insert_new { rows, into = "t", key = "id" }\nreconcile { rows, with = "t" }')
    local read = {}
    for i, day in ipairs { "2026-03-28", "2026-03-29", "2026-03-30", "2026-10-25" } do
      w:ok("j.lua", "--logical-date", day)
      read[i] = w:last_run().rows_inserted
    end
    assert.equal("1 3 1 1", table.concat(read, " "))
    assert.same(w:source_rows "SELECT id, updated_at FROM s ORDER BY id", w:rows "SELECT id, updated_at FROM t ORDER BY id")
  end)
end)

pairs_of.each("a column of epoch numbers", function(pair)
  for unit, times in pairs { unix = { "1768867200", "1768953599", "1768953600" },
                             unix_ms = { "1768867200000", "1768953599999", "1768953600000" } } do
    it("is windowed with time = " .. unit, function()
      local w = pair.new { source = ("CREATE TABLE s(id INTEGER PRIMARY KEY, at {bigint}); INSERT INTO s VALUES (1,%s), (2,%s), (3,%s);")
        :format(table.unpack(times)) }
      w:job("j", ([[
job { grain = "day" }
local rows = extract { from = "s", by = "at", time = "%s", window = window() }
insert_new { rows, into = "t", key = "id" }
]]):format(unit))
      w:ok("j.lua", "--logical-date", "2026-01-20")
      assert.equal("2", w:last_run().rows_inserted)
      w:ok("j.lua", "--logical-date", "2026-01-21")
      assert.equal("1", w:last_run().rows_inserted)
      assert.same(w:source_rows "SELECT id, at FROM s ORDER BY id", w:rows "SELECT id, at FROM t ORDER BY id")
    end)
  end
end)

pairs_of.each("windows cut at random instants", function(pair)
  it("hold every row once", function()
    local seed = random.seed()
    local first = 1767225600 -- 2026-01-01
    local last = first + 3 * 86400
    local function text(second) return os.date("!%Y-%m-%d %H:%M:%S", second) end
    local cuts, values = { first, last }, {}
    for _ = 1, 10 do cuts[#cuts + 1] = math.random(first, last) end
    for day = 1, 2 do cuts[#cuts + 1] = first + day * 86400 end
    table.sort(cuts)
    local id = 0
    local function row(second)
      id = id + 1
      values[#values + 1] = ("(%d, '%d', '%s')"):format(id, second, text(second))
    end
    for _, cut in ipairs(cuts) do for second = cut - 1, cut + 1 do row(second) end end
    for _ = 1, 50 do row(math.random(first, last)) end
    local w = pair.only("INSERT INTO s VALUES " .. table.concat(values, ", ") .. ";")
    local bounds, expected = {}, {}
    for i, cut in ipairs(cuts) do
      bounds[i] = '"' .. text(cut) .. '"'
      expected[i - 1] = w:source_rows(("SELECT count(*) FROM s WHERE CAST(v AS {bigint}) >= %d AND CAST(v AS {bigint}) < %d")
        :format(cuts[i - 1] or 0, cut))[1]
    end
    w:job("j", ([[
job {}
local bounds, out = { %s }, {}
for i = 2, #bounds do
  local rows = extract { from = "s", by = "updated_at", window = window(bounds[i - 1], bounds[i]) }
  out[#out + 1] = insert_new { rows, into = "t", key = "id" }.inserted
end
print("counts " .. table.concat(out, " "))
]]):format(table.concat(bounds, ", ")))
    assert.equal(table.concat(expected, " "), w:ok "j.lua".out:match "counts ([%d ]+)", "seed " .. seed)
  end)
end)

-- Times without an offset are readings of the job's zone, one instant each: in
-- the hour that comes twice the first, in the hour that is skipped the moment after.
pairs_of.each("the hours in which the clocks change", function(pair)
  local HOURS = { "2026-03-29T01", "2026-03-29T03", "2026-03-29T04", "2026-10-25T01", "2026-10-25T02+02:00", "2026-10-25T02+01:00", "2026-10-25T03" }
  it("have each row once, run after run and on both engines", function()
    local w = pair.only [[INSERT INTO s VALUES (1, 'a', '2026-03-29 01:59:59'), (2, 'b', '2026-03-29 02:00:00'), (3, 'c', '2026-03-29 02:30:00'),
      (4, 'd', '2026-03-29 03:00:00'), (5, 'e', '2026-03-29 04:00:00'), (6, 'f', '2026-10-25 01:59:59'), (7, 'g', '2026-10-25 02:00:00'),
      (8, 'h', '2026-10-25 02:30:00'), (9, 'i', '2026-10-25 02:59:59.999999'), (10, 'j', '2026-10-25 03:00:00');]]
    w:job("j", [[job { grain = "hour", zone = "Europe/Berlin" }
      local rows = extract { from = "s", by = "updated_at", window = window() }
      overwrite_partition { rows, into = "t" }
      reconcile { rows, with = "t", sum = "id" }]])
    local seen = {}
    for round = 1, 2 do
      for i, hour in ipairs(HOURS) do
        w:ok("j.lua", "--logical-date", hour)
        seen[i] = w:last_run().rows_read
      end
      assert.same({ "1", "3", "1", "1", "3", "0", "1" }, seen, "round " .. round)
      assert.equal("10|10", w:one "SELECT count(*), count(DISTINCT id) FROM t")
    end
    w:ok("backfill", "j.lua", "--from", "2026-10-25T00", "--to", "2026-10-25T05")
    assert.equal("10|10", w:one "SELECT count(*), count(DISTINCT id) FROM t")
  end)
end)
