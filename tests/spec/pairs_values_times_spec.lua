-- Times are never altered (S41 to S44): naive and aware ones in the job's zone, offsets in
-- text, the hour that comes twice, and timestamptz in SQLite.
local copies = require "copies"
local pairs_of = require "pairs"
local world = require "world"

-- The first words of what a run wrote: "inserted 0, updated 0, deleted 0" of its last run.
local function wrote(w)
  return (w:one [[SELECT 'inserted ' || sum(rows_inserted) || ', updated ' || sum(rows_updated) || ', deleted ' || sum(rows_deleted)
    FROM lrun_writes WHERE run_id = (SELECT max(run_id) FROM lrun_runs)]])
end

pairs_of.each("times", function(pair)
  local to_postgres, from_sqlite = pair.warehouse == "postgresql", pair.source == "sqlite"
  local NAIVE = from_sqlite and "TEXT" or "timestamp"
  local AWARE = from_sqlite and "TEXT" or "timestamptz"

  it("S41 a naive time is a time of the job's zone, and what is not exact is refused", function()
    if not to_postgres then return end
    local function member(zone, source, value, target, expect)
      return { zone = zone, source = source, value = "'" .. value .. "'", target = { postgresql = target }, expect = expect }
    end
    local BERLIN, NEW_YORK, KATHMANDU, APIA = "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Apia"
    copies.check(pair, {
      member(BERLIN, NAIVE, "2024-01-01 23:30:00", "timestamptz", "2024-01-01 22:30:00+00"),
      member(BERLIN, NAIVE, "2024-03-31 02:30:00", "timestamptz", false),
      member(BERLIN, NAIVE, "2024-10-27 02:30:00", "timestamptz", false),
      member(BERLIN, NAIVE, "2024-10-27 03:00:00", "timestamptz", "2024-10-27 02:00:00+00"),
      member(NEW_YORK, NAIVE, "2024-07-01 00:00:00.000001", "timestamptz", "2024-07-01 04:00:00.000001+00"),
      member(NEW_YORK, NAIVE, "2024-03-10 02:00:00", "timestamptz", false),
      member(KATHMANDU, NAIVE, "2024-01-01 05:45:00", "timestamptz", "2024-01-01 00:00:00+00"),
      member(APIA, NAIVE, "2011-12-30 12:00:00", "timestamptz", false),
      member(nil, NAIVE, "2024-01-01 23:30:00", "timestamptz", "2024-01-01 23:30:00+00"),
      member(BERLIN, AWARE, "2024-01-01 22:30:00+00:00", "timestamp", "2024-01-01 23:30:00"),
      member(BERLIN, AWARE, "2024-10-27 00:30:00+00:00", "timestamp", false),
      member(NEW_YORK, AWARE, "2024-11-03 06:30:00+00:00", "timestamp", false),
      member(KATHMANDU, AWARE, "2024-01-01 00:00:00+00:00", "timestamp", "2024-01-01 05:45:00"),
      member(BERLIN, "DATE", "2024-01-01", "timestamptz", "2023-12-31 23:00:00+00"),
      member(NEW_YORK, "DATE", "2024-07-01", "timestamptz", "2024-07-01 04:00:00+00"),
      member(APIA, "DATE", "2011-12-30", "timestamptz", false),
      member(BERLIN, "DATE", "2024-01-01", "timestamp", "2024-01-01 00:00:00"),
      member(BERLIN, AWARE, "2023-12-31 23:00:00+00:00", "date", "2024-01-01"),
      member(BERLIN, AWARE, "2024-01-01 00:00:00+00:00", "date", false),
      member(KATHMANDU, NAIVE, "2024-01-01 00:00:00", "date", "2024-01-01"),
      member(KATHMANDU, NAIVE, "2024-01-01 05:45:00", "date", false),
    }, { "merge", "insert_new", "full_load", "keyed", "map", "scd2", "changes" })
  end)

  it("S41 a partition run twice has each row once, the next day leaves it, and deep is equal", function()
    for zone, value in pairs { ["Europe/Berlin"] = "2024-01-01 23:30:00", ["America/New_York"] = "2024-01-01 20:30:00",
                               ["Asia/Kathmandu"] = "2024-01-01 01:30:00", ["Pacific/Apia"] = "2024-01-01 00:00:00" } do
      for source, target in pairs { [NAIVE] = to_postgres and "timestamptz" or "TIMESTAMP", [AWARE] = to_postgres and "timestamp" or "TIMESTAMP" } do
        local w = pair.new {
          source = ("CREATE TABLE s(id INTEGER PRIMARY KEY, at %s); INSERT INTO s VALUES (77, '%s');"):format(source, value),
          warehouse = ("CREATE TABLE t(id INTEGER, at %s); CREATE TABLE u(id INTEGER PRIMARY KEY, at %s);"):format(target, target),
        }
        if source == "timestamptz" then w:source(("UPDATE s SET at = '%s'::timestamp AT TIME ZONE '%s'"):format(value, zone)) end
        w:job("j", ([[
job { grain = "day", zone = %q }
local rows = extract { from = "s", by = "at", window = window() }
overwrite_partition { rows, into = "t" }
overwrite_partition { rows, into = "u", key = "id" }
reconcile { rows, with = "t", key = "id", deep = true }
reconcile { rows, with = "u", key = "id", deep = true }
]]):format(zone))
        for _, day in ipairs { "2024-01-01", "2024-01-01", "2024-01-02", "2023-12-31" } do w:ok("j.lua", "--logical-date", day) end
        local what = zone .. " " .. source .. " -> " .. target
        assert.equal("1", w:one "SELECT count(*) FROM t", what)
        assert.equal("1", w:one "SELECT count(*) FROM u", what)
      end
    end
  end)

  it("S41 a row outside the partition is seen by the value as stored", function()
    if not to_postgres then return end
    -- What the function gives is the next day of Berlin, and the same day of UTC.
    for _, case in ipairs { { "timestamptz", "2024-01-02 00:15:00" }, { "timestamptz", "2024-01-01 23:30:00+00:00" },
                            { "timestamp", "2024-01-01 23:30:00+00:00" }, { "timestamp", "2024-01-01T23:00:00Z" } } do
      local w = pair.new {
        source = ("CREATE TABLE s(id INTEGER PRIMARY KEY, at %s); INSERT INTO s VALUES (77, '2024-01-01 23:30:00');"):format(NAIVE),
        warehouse = ("CREATE TABLE t(id INTEGER, at %s);"):format(case[1]),
      }
      w:job("j", ([[
job { grain = "day", zone = "Europe/Berlin" }
local rows = extract { from = "s", by = "at", window = window() }
overwrite_partition { rows:map(function(row) row.at = %q return row end, { at = "text" }), into = "t" }
]]):format(case[2]))
      w:refused(1, { "j.lua:3", "t", "partition", hint = false }, "j.lua", "--logical-date", "2024-01-01")
    end
  end)

  it("S42 offsets in text are instants at every warehouse", function()
    local text = from_sqlite and "TEXT" or "text"
    local w = pair.new {
      source = ("CREATE TABLE s(n INTEGER PRIMARY KEY, id INTEGER, at %s, v TEXT);"):format(text) .. [[
        INSERT INTO s VALUES (1, 1, '2024-01-05T01:30:00+02:00', 'early'), (2, 1, '2024-01-04T23:45:00Z', 'late'),
          (3, 2, '2024-01-05 00:00:00-05:00', 'late'), (4, 2, '2024-01-05 04:59:59.999999Z', 'early'),
          (5, 3, '2024-01-05T05:15:00+05:45', 'early'), (6, 3, '2024-01-04T23:31:00', 'late');
        CREATE TABLE f(id INTEGER PRIMARY KEY, at ]] .. text .. [[, arrived ]] .. text .. [[);
        INSERT INTO f VALUES (1, '2024-01-05T01:40:00+02:00', '2024-01-05T00:40:00+01:00'), (2, '2024-01-05T05:00:00Z', '2024-01-06 05:00:00+00:00');]],
    }
    w:job("m", [[
job {}
local rows = extract { from = "s", columns = { "id", "at", "v" } }
merge { rows, into = "t", key = "id", newest = "at" }
scd2_merge { rows, into = "dim", key = "id", at = "at" }
]])
    w:job("j", [[
job {}
local facts = extract { from = "f", columns = { "id", "at" } }
merge { scd2_join { facts, dim = "dim", key = "id", at = "at", take = "v" }, into = "joined", key = "id" }
for _, r in ipairs(partitions { "joined", by = "at" }) do print(("day %s %d"):format(tostring(r.partition):sub(1, 10), r.rows)) end
for _, r in ipairs(lateness { from = "f", by = "at", arrived = "arrived" }) do print(("late %s %.3f"):format(r.share, r.days)) end
]])
    for round = 1, 2 do
      w:ok "m.lua"
      if round == 2 then assert.equal("inserted 0, updated 0, deleted 0", wrote(w)) end
      assert.same({ "1|late", "2|late", "3|late" }, w:rows "SELECT id, v FROM t ORDER BY id")
      assert.same({ "1|late", "2|late", "3|late" }, w:rows "SELECT id, v FROM dim WHERE valid_to IS NULL OR CAST(valid_to AS TEXT) >= '9999' ORDER BY id")
      assert.equal("6", w:one "SELECT count(*) FROM dim")
    end
    for round = 1, 2 do
      local out = w:ok "j.lua".out
      if round == 2 then assert.equal("inserted 0, updated 0, deleted 0", wrote(w)) end
      assert.same({ "1|early", "2|late" }, w:rows "SELECT id, v FROM joined ORDER BY id")
      assert.is_truthy(out:find "day 2024%-01%-04 1" and out:find "day 2024%-01%-05 1", out)
      assert.is_truthy(out:find "late max 1%.000" and out:find "late p50 0%.000", out)
    end
  end)

  it("S42 a text column that the run makes takes the same rows again, in every form", function()
    local w = pair.new {
      source = "CREATE TABLE s(id INTEGER PRIMARY KEY, at TEXT, v TEXT); INSERT INTO s VALUES (1, '2024-01-05T10:00:00Z', 'a'), " ..
        "(2, '2024-01-05 10:00:00.5+02:00', 'b'), (3, '2024-01-05T10:00:00-0330', 'c'), (4, '2024-01-05 10:00', 'd');",
    }
    w:job("j", [[
job { grain = "day" }
local rows = extract { from = "s", by = "at", window = window "2024-01-05" }
merge { rows, into = "t", key = "id" }
merge { rows, into = "n", key = "id", newest = "at" }
overwrite_partition { rows, into = "o" }
overwrite_partition { rows, into = "k", key = "id" }
delete_missing { rows, from = "t", key = "id" }
reconcile { rows, with = "t", key = "id", deep = true }
]])
    for _ = 1, 2 do
      w:ok "j.lua"
      for _, name in ipairs { "t", "n", "o", "k" } do assert.same(w:source_rows "SELECT id, at, v FROM s ORDER BY id", w:rows("SELECT id, at, v FROM " .. name .. " ORDER BY id"), name) end
    end
  end)

  -- An hour that comes twice: its two instants, with their offsets.
  local TWICE = {
    ["Europe/Berlin"] = { "2024-10-27 00:50:00", "2024-10-27 01:20:00", "+02:00", "+01:00" },
    ["America/New_York"] = { "2024-11-03 05:50:00", "2024-11-03 06:20:00", "-04:00", "-05:00" },
    ["Australia/Lord_Howe"] = { "2024-04-06 14:40:00", "2024-04-06 15:05:00", "+11:00", "+10:30" },
    ["Pacific/Apia"] = { "2012-03-31 13:30:00", "2012-03-31 14:10:00", "+14:00", "+13:00" },
  }

  it("S43 a dimension keeps the order of changes in the hour that comes twice", function()
    for zone, case in pairs(TWICE) do
      for _, order in ipairs { { 1, 2 }, { 2, 1 }, { 0 } } do
        local w = pair.new { source = ("CREATE TABLE s(n INTEGER PRIMARY KEY, id INTEGER, at %s, v TEXT);"):format(AWARE) ..
          ("INSERT INTO s VALUES (0, 1, '2024-01-01 00:00:00+00:00', 'before'), (1, 1, '%s+00:00', 'older'), (2, 1, '%s+00:00', 'newer');"):format(case[1], case[2]) }
        if zone == "Pacific/Apia" then w:source "UPDATE s SET at = '2011-01-01 00:00:00+00:00' WHERE n = 0" end
        w:job("j", ('job { zone = %q }\nlocal only = param("only", "0")\nlocal rows = extract { from = "s", columns = { "id", "at", "v" }, ' ..
          'where = only == "0" and "1 = 1" or "n IN (0, " .. only .. ")" }\nscd2_merge { rows, into = "dim", key = "id", at = "at" }'):format(zone))
        local what, refused = zone .. " " .. table.concat(order, " "), nil
        for i = 1, #order + 1 do
          local r = w:lrun("j.lua", "--param", "only=" .. (order[i] or order[#order]))
          refused = refused or r.status ~= 0 and r or nil
        end
        if refused and to_postgres and from_sqlite then
          -- A timestamp without a zone has no offset: refused, and named.
          world.says(refused, 1, { "j.lua:3", "dim", "valid_from", "twice", hint = false })
        else
          if refused then error(what .. "\n" .. refused.err, 0) end
          assert.equal("inserted 0, updated 0, deleted 0", wrote(w), what)
          assert.same({ "newer" }, w:rows "SELECT v FROM dim WHERE valid_to IS NULL OR CAST(valid_to AS TEXT) >= '9999'", what)
          assert.equal("3", w:one "SELECT count(*) FROM dim", what)
          assert.equal("2", w:one "SELECT count(*) FROM dim a JOIN dim b ON a.valid_to = b.valid_from", what)
          for i, v in ipairs(to_postgres and {} or { "older", "newer" }) do
            local from = w:one("SELECT valid_from FROM dim WHERE v = '" .. v .. "'")
            assert.equal(case[2 + i], from:sub(-6), what .. " " .. v .. " " .. from)
          end
        end
      end
    end
  end)

  it("S43 windows in the hour that comes twice are shown with their offsets", function()
    for zone, case in pairs(TWICE) do
      local w = pair.new { source = ("CREATE TABLE s(id INTEGER PRIMARY KEY, at %s, v TEXT); INSERT INTO s VALUES (1, '%s+00:00', 'a');"):format(AWARE, case[1]) }
      w:job("j", ('job { zone = %q }\nlocal rows = extract { from = "s", by = "at", window = window { since = watermark() } }\n' ..
        'merge { rows, into = "t", key = "id" }\nreconcile { rows, with = "t" }'):format(zone))
      local first, second = (case[1]:gsub(" ", "T")) .. "Z", (case[2]:gsub(" ", "T")) .. "Z"
      local texts = { w:ok("j.lua", "--run-start", first).out }
      assert.is_truthy(texts[1]:find(case[3], 1, true), zone .. "\n" .. texts[1])
      texts = { plan = w:ok("plan", "j.lua", "--run-start", second).out, json = w:ok("j.lua", "--run-start", second, "--json").out }
      for what, out in pairs(texts) do
        assert.is_truthy(out:find(case[3], 1, true) and out:find(case[4], 1, true), zone .. " " .. what .. "\n" .. out)
      end
      for _, column in ipairs { "window_start", "window_stop" } do
        local held = w:one(("SELECT %s FROM lrun_windows ORDER BY run_id DESC LIMIT 1"):format(column))
        assert.is_truthy(held:find "[+-]%d%d:%d%d$", zone .. " " .. column .. " " .. held)
      end
    end
  end)
end)
