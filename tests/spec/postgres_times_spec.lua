-- Times of PostgreSQL: whatever zone the client, the server or the session is
-- in, the same rows, the same instants, the same marks (S23); and the times
-- that no calendar has (S24).
local pairs_of = require "pairs"

local by_name = pairs_of.by_name
local FROM_POSTGRES = { by_name["postgresql->sqlite"], by_name["postgresql->postgresql"], by_name["postgresql same database"] }

local ZONES = { "UTC", "America/New_York", "Asia/Kathmandu" }

-- Every way in which a zone or a form reaches a session.
local function settings(w, zone)
  for _, e in ipairs { w.from, w.to } do
    if e.engine == "postgresql" then e:exec(("ALTER DATABASE %s SET timezone = '%s'"):format(e.database, zone)) end
  end
end

for _, pair in ipairs(FROM_POSTGRES) do
  describe("times with a zone, " .. pair.name .. ",", function()
    local JOB = [[
job { grain = "day", zone = "America/New_York" }
local rows = extract { from = "s", by = "at", window = window() }
insert_new { rows, into = "t", key = "id" }
reconcile { rows, with = "t", sum = "id" }
]]
    local MARK = [[
job {}
local rows = extract { from = "s", by = "at", window = window { since = watermark { advance = "newest" } } }
merge { rows, into = "t2", key = "id" }
]]
    -- 05:00 UTC is midnight in New York.
    local ROWS = [[CREATE TABLE s(id int PRIMARY KEY, at timestamptz, naive timestamp, d date);
      INSERT INTO s VALUES (1, '2024-03-10 04:59:59+00', '2024-03-10 02:30:00', '2024-03-10'),
        (2, '2024-03-10 05:00:00+00', '2024-03-10 02:30:00.000001', '2024-03-09');]]
    local text = pair.warehouse == "sqlite" and "at, naive, d" or "at::text, naive::text, d::text"

    it("are the same in all nine cases (S23)", function()
      local seen = {}
      for _, server in ipairs(ZONES) do
        for _, client in ipairs(ZONES) do
          local w = pair.new { source = ROWS }
          settings(w, server)
          w:job("j", JOB):job("m", MARK)
          local env = { TZ = client, PGTZ = client }
          w:ok("j.lua", "--logical-date", "2024-03-10", { env = env })
          assert.same({ "2" }, w:rows "SELECT id FROM t ORDER BY id", server .. " " .. client)
          w:ok("j.lua", "--logical-date", "2024-03-09", { env = env })
          assert.same({ "1", "2" }, w:rows "SELECT id FROM t ORDER BY id", server .. " " .. client)
          w:ok("m.lua", "--run-start", "2024-04-01", { env = env })
          w:ok("m.lua", "--run-start", "2024-04-02", { env = env })
          assert.equal("1", w:last_run().rows_read) -- the one at the mark
          local rows = w:rows("SELECT id, " .. text .. " FROM t ORDER BY id")
          rows[3], rows[4] = w:watermark "m", table.concat(w:rows "SELECT window_start, window_stop FROM lrun_windows ORDER BY run_id", " ")
          seen[#seen + 1] = rows
          assert.same(seen[1], rows, server .. " " .. client)
        end
      end
      -- SQLite's own functions read an offset with minutes only (S44)
      local utc = pair.warehouse == "sqlite" and "+00:00" or "+00"
      assert.same({ "1|2024-03-10 04:59:59" .. utc .. "|2024-03-10 02:30:00|2024-03-10",
        "2|2024-03-10 05:00:00" .. utc .. "|2024-03-10 02:30:00.000001|2024-03-09" }, { seen[1][1], seen[1][2] })
      assert.is_truthy(seen[1][3]:find "^2024%-03%-10 05:00:00", seen[1][3])
    end)

    it("are in days of 23 and 25 hours, which tile the month", function()
      local w = pair.new { source = [[CREATE TABLE s(id int PRIMARY KEY, at timestamptz); CREATE INDEX ON s(at);
        INSERT INTO s SELECT i, '2024-03-01 00:00:00+00'::timestamptz + i * interval '30 minutes' FROM generate_series(0, 14500) i;]] }
      w:job("j", [[
        job { grain = "day", zone = "America/New_York" }
        local function count(a, b) return extract { from = "s", by = "at", window = window(a, b) }:count() end
        for month, last in pairs { ["2024-03"] = "2024-04-01", ["2024-11"] = "2024-12-01" } do
          local d, sum = date(month .. "-01"), 0
          while d < date(last) do
            local n = count(tostring(d), tostring(d + days(1)))
            if n ~= 48 then print(tostring(d) .. "=" .. n) end
            sum, d = sum + n, d + days(1)
          end
          assert(sum == count(month .. "-01", last), month)
        end
      ]])
      local out = w:ok "j.lua".out
      assert.is_truthy(out:find("2024-03-10=46", 1, true) and out:find("2024-11-03=50", 1, true), out)
      local odd = 0
      for _ in out:gmatch "=%d+" do odd = odd + 1 end
      -- Of March's first day, five hours are before the first row.
      assert.is_true(odd <= 4, out)
    end)

    it("are not moved by forms that the server or the role prefers", function()
      local w = pair.new { source = ROWS .. [[CREATE TABLE s2(id int PRIMARY KEY, i interval, b bytea, f float8, at timestamptz, d date);
        INSERT INTO s2 VALUES (1, '1 mon 2 days 03:04:05.6', '\x00ff5c', 0.1::float8 + 0.2, '2024-05-06 07:08:09+00', '2024-05-06');]] }
      local plain
      for _, forms in ipairs { {}, { datestyle = "SQL, DMY", intervalstyle = "iso_8601", bytea_output = "escape", extra_float_digits = "-5",
                                    timezone = "Asia/Kathmandu", standard_conforming_strings = "off", client_encoding = "LATIN1" },
                               { datestyle = "German", intervalstyle = "sql_standard", default_transaction_isolation = "serializable",
                                 search_path = "public", lc_numeric = "C" } } do
        for _, e in ipairs { w.from, w.to } do
          for name, value in pairs(forms) do
            if e.engine == "postgresql" then e:exec(("ALTER DATABASE %s SET %s = '%s'"):format(e.database, name, (value:gsub("'", "")))) end
          end
        end
        w:warehouse "DROP TABLE IF EXISTS t2"
        w:job("j", 'job {}\nlocal rows = extract { from = "s2" }\nfull_load { rows, into = "t2" }\n' ..
          'reconcile { rows, with = "t2", sum = "f" }\nmerge { rows:map(function(r) return r end), into = "t2", key = "id" }')
        w:ok "j.lua"
        assert.equal("0", w:last_run().rows_updated)
        local rows = w:rows(pair.warehouse == "sqlite" and "SELECT id, i, hex(b), f, at, d FROM t2"
          or "SELECT id, i::text, upper(encode(b, 'hex')), f::text, at::text, d::text FROM t2")
        plain = plain or rows
        assert.same(plain, rows)
      end
      assert.same({ "1|1 mon 2 days 03:04:05.6|00FF5C|0.30000000000000004|2024-05-06 07:08:09" ..
        (pair.warehouse == "sqlite" and "+00:00" or "+00") .. "|2024-05-06" }, plain)
    end)
  end)

  describe("extreme times (S24), " .. pair.name .. ",", function()
    local TIMES = { "infinity", "-infinity", "0044-03-15 00:00:00 BC", "15000-01-01 00:00:00", "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00",
      "0001-01-01 00:00:00", "4713-01-01 00:00:00 BC", "294276-12-31 23:59:59.999999", "9999-12-31 23:59:59.999999" }
    local function world()
      local rows = {}
      for i, time in ipairs(TIMES) do
        local zoned = time:gsub("^(%S+ [%d:.]+)", "%1+00")
        rows[i] = ("(%d, '%s', '%s', '%s')"):format(i, time, zoned, (time:gsub(" [%d:.]+", "")))
      end
      return pair.new { source = "CREATE TABLE s(id int PRIMARY KEY, n timestamp, z timestamptz, d date); INSERT INTO s VALUES " .. table.concat(rows, ", ") .. ";" }
    end
    local AS_TEXT = "SELECT id, n::text, z::text, d::text FROM %s ORDER BY id"

    for way, write in pairs { full_load = 'full_load { rows, into = "t" }', merge = 'merge { rows, into = "t", key = "id" }',
                              mapped = 'merge { rows:map(function(row) return row end), into = "t", key = "id" }' } do
      it("are verbatim, by " .. way, function()
        local w = world()
        w:job("j", 'job {}\nlocal rows = extract { from = "s" }\n' .. write .. '\nreconcile { rows, with = "t" }')
        w:ok "j.lua"
        local expected = w:source_rows(AS_TEXT:format "s")
        if pair.warehouse == "postgresql" then
          assert.same(expected, w:rows(AS_TEXT:format "t"))
        else
          for i, row in ipairs(expected) do
            if not row:find " BC" and not row:find "|%d%d%d%d%d" then expected[i] = row:gsub("(%d)%+00|", "%1+00:00|") end
          end
          assert.same(expected, w:rows "SELECT id, n, z, d FROM t ORDER BY id")
        end
        w:ok "j.lua"
        if way ~= "full_load" then assert.equal("0 0", w:last_run().rows_inserted .. " " .. w:last_run().rows_updated) end
      end)
    end

    it("are no watermark: nothing newer than the clock is", function()
      for _, by in ipairs { "n", "z" } do
        local w = world()
        w:job("j", ([[
          job {}
          local rows = extract { from = "s", by = "%s", window = window { since = watermark { advance = "newest" } } }
          merge { rows, into = "t", key = "id" }
        ]]):format(by))
        w:ok("j.lua", "--run-start", "2026-01-01")
        -- All that is before the clock: -infinity, BC, 1969, 1970, year 1.
        assert.same({ "2", "3", "5", "6", "7", "8" }, w:rows "SELECT id FROM t ORDER BY id")
        assert.is_truthy(w:watermark():find "^1970%-01%-01", w:watermark())
        w:source(("INSERT INTO s(id, %s) VALUES (100, '2025-12-31 00:00:00+00')"):format(by))
        w:ok("j.lua", "--run-start", "2026-01-02")
        assert.equal("2", w:last_run().rows_read) -- with the one at the mark
        assert.is_truthy(w:watermark():find "^2025%-12%-31", w:watermark())
      end
    end)

    it("are in a first run of run_start too", function()
      local w = world()
      w:job("j", [[
        job { grain = "day" }
        merge { extract { from = "s", by = "z", window = window { since = watermark() } }, into = "t", key = "id" }
      ]])
      w:ok("j.lua", "--run-start", "2026-01-01")
      assert.same({ "2", "3", "5", "6", "7", "8" }, w:rows "SELECT id FROM t ORDER BY id")
      assert.equal("2026-01-01", w:watermark())
    end)
  end)
end

describe("times of SQLite in PostgreSQL", function()
  local pair = by_name["sqlite->postgresql"]
  local function loaded(type, into, value)
    local w = pair.new { source = ("CREATE TABLE s(id INTEGER PRIMARY KEY, at %s); INSERT INTO s VALUES (77, %s);"):format(type, value),
                         warehouse = into and ("CREATE TABLE t(id bigint PRIMARY KEY, at %s);"):format(into) }
    w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }')
    return w
  end

  for value, text in pairs {
    ["'2026-01-01 10:00:00'"] = "2026-01-01 10:00:00", ["'2026-01-01T10:00:00Z'"] = "2026-01-01 10:00:00", ["'2026-01-01'"] = "2026-01-01 00:00:00",
    ["'2026-01-01 10:00:00.5'"] = "2026-01-01 10:00:00.5", ["'2026-01-01 10:00'"] = "2026-01-01 10:00:00",
    ["'2026-01-01 10:00:00.1230000'"] = "2026-01-01 10:00:00.123", ["'infinity'"] = "infinity", ["'0044-03-15 00:00:00 BC'"] = "0044-03-15 00:00:00 BC",
  } do
    it("are read in every ISO form: " .. value, function()
      local w = loaded("TIMESTAMP", nil, value)
      w:ok "j.lua"
      assert.equal(text, w:one "SELECT at::text FROM t")
      w = loaded("TIMESTAMP", "timestamptz", value)
      w:ok "j.lua"
      assert.equal(text:find "%d:%d" and text:gsub("^(%S+ [%d:.]+)", "%1+00") or text, w:one "SELECT at::text FROM t")
    end)
  end

  for value, class in pairs { ["'yesterday'"] = "text", ["'2026-02-30 10:00:00'"] = "text", ["''"] = "text", ["1767261600"] = "integer",
                              ["x'00'"] = "blob", ["'2026-01-01 10:00:00.1234567'"] = "text", ["'now'"] = "text", ["'2026-01-01 25:00:00'"] = "text" } do
    it("that are none are refused with column, key and class: " .. value, function()
      local w = loaded("TIMESTAMP", nil, value)
      w:refused(1, { "j.lua:2", "t", "at", "77", class, hint = false }, "j.lua")
      assert.is_false(w:has "t")
    end)
  end

  it("with a time of day are refused by a column of dates", function()
    local w = loaded("TIMESTAMP", "date", "'2026-01-01 10:00:00'")
    w:refused(1, { "j.lua:2", "t", "at", "77", "2026-01-01 10:00:00", hint = false }, "j.lua")
    w = loaded("TIMESTAMP", "date", "'2026-01-01 00:00:00'")
    w:ok "j.lua"
    assert.equal("2026-01-01", w:one "SELECT at::text FROM t")
  end)
end)
