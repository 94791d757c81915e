-- scd2_join and group: each fact once, with the version that was true then.
local world = require "world"

local DIM = [[CREATE TABLE dim(k INTEGER, name TEXT, valid_from TEXT, valid_to TEXT);
  INSERT INTO dim VALUES (1,'A','2026-01-10 00:00:00','2026-01-20 00:00:00'), (1,'A2','2026-01-20 00:00:00',%s),
    (2,'B','2026-01-01',%s);]]
local FACTS = [[CREATE TABLE facts(id INTEGER PRIMARY KEY, k INTEGER, at TEXT, amount INTEGER);
  INSERT INTO facts VALUES (2,1,'2026-01-10 00:00:00',2), (3,1,'2026-01-19 23:59:59.999999',3),
    (4,1,'2026-01-20 00:00:00',4), (7,2,'2026-01-15',7);]]
local STRAYS = [[INSERT INTO facts VALUES (1,1,'2026-01-09 23:59:59.999999',1), (5,NULL,'2026-01-15',5), (6,99,'2026-01-15',6);]]

local JOIN = [[
job { grain = "month" }
local facts = extract { from = "facts", by = "at", window = window() }
local placed = scd2_join { facts, dim = "dim", key = "k", at = "at", take = "name"%s }
overwrite_partition { placed, into = "out" }
]]
local function joined(open, strays, options)
  local w = world.new { source = FACTS .. (strays and STRAYS or ""), warehouse = DIM:format(open, open) }
  w:job("j", JOIN:format(options or ""))
  return w
end
local function run(w) return w:ok("j.lua", "--logical-date", "2026-01") end
local function refused(w, words)
  local r = w:refused(1, words, "j.lua", "--logical-date", "2026-01")
  assert.equal("0", w:one "SELECT count(*) FROM sqlite_master WHERE name = 'out'")
  return r
end
local OUT = "SELECT id, name FROM out ORDER BY 1"

describe("scd2_join", function()
  for what, open in pairs { NULL = "NULL", ["9999-12-31"] = "'9999-12-31'", ["9999-12-31 00:00:00"] = "'9999-12-31 00:00:00'" } do
    it("takes the version true at the fact's time, open rows ending at " .. what, function()
      local w = joined(open)
      run(w)
      assert.same({ "2|A", "3|A", "4|A2", "7|B" }, w:rows(OUT))
    end)
  end

  -- Midnights as dates, times with a blank, a T, without seconds, with milliseconds:
  -- where the texts do not sort as the times, the times are compared.
  local STYLES = {
    dates = function(t) return "substr(" .. t .. ", 1, 10)" end,
    short = function(t) return ("CASE WHEN %s LIKE '%%00:00:00' THEN substr(%s, 1, 10) ELSE %s END"):format(t, t, t) end,
    long = function(t) return t end,
    T = function(t) return ("replace(%s, ' ', 'T')"):format(t) end,
    minutes = function(t) return ("substr(%s, 1, 16)"):format(t) end,
    millis = function(t) return t .. " || '.000'" end,
    offset = function(t) return t .. " || '+00:00'" end,
    mixed = function(t) return ("CASE rowid %% 3 WHEN 0 THEN replace(%s, ' ', 'T') WHEN 1 THEN %s || '.000' ELSE substr(%s, 1, 16) END"):format(t, t, t) end,
  }
  for bound, of_bound in pairs(STYLES) do
    it("takes bounds written as " .. bound .. " with facts written in every way", function()
      for fact, of_fact in pairs(STYLES) do
        local w = world.new {
          source = ([[CREATE TABLE facts(id INTEGER PRIMARY KEY, k INTEGER, at TEXT);
            INSERT INTO facts VALUES (1,1,'2026-01-10 00:00:00'), (2,1,'2026-01-19 23:59:00'), (3,1,'2026-01-20 00:00:00'),
              (4,1,'2026-01-20 09:30:00'), (5,1,'2026-01-20 09:31:00'), (6,1,'2026-01-10 00:01:00');
            UPDATE facts SET at = %s;]]):format(of_fact "at"),
          warehouse = ([[CREATE TABLE dim(k INTEGER, name TEXT, valid_from TEXT, valid_to TEXT, PRIMARY KEY (k, valid_from));
            INSERT INTO dim VALUES (1,'A','2026-01-10 00:00:00','2026-01-20 00:00:00'), (1,'B','2026-01-20 00:00:00','2026-01-20 09:30:00'),
              (1,'C','2026-01-20 09:30:00','9999-12-31');
            UPDATE dim SET valid_from = %s, valid_to = CASE WHEN valid_to < '9999' THEN %s ELSE valid_to END %s;]]):format(
              of_bound "valid_from", of_bound "valid_to", bound == "dates" and "WHERE name = 'A'" or ""),
        }
        if bound == "dates" then w:warehouse "DELETE FROM dim WHERE name = 'C'; UPDATE dim SET valid_from = '2026-01-20', valid_to = NULL WHERE name = 'B'" end
        w:job("j", 'job {}\nfull_load { scd2_join { extract { from = "facts" }, dim = "dim", key = "k", at = "at", take = "name" }, into = "out" }')
        w:ok("j.lua")
        local c = bound == "dates" and "B" or "C"
        local want = fact == "dates" and { "1|A", "2|A", "3|B", "4|B", "5|B", "6|A" } or { "1|A", "2|A", "3|B", "4|" .. c, "5|" .. c, "6|A" }
        assert.same(want, w:rows(OUT), "facts as " .. fact)
      end
    end)
  end

  it("takes open ends mixed", function()
    local w = joined "NULL"
    w:warehouse "UPDATE dim SET valid_to = '9999-12-31' WHERE k = 2"
    run(w)
    assert.same({ "2|A", "3|A", "4|A2", "7|B" }, w:rows(OUT))
  end)

  it("stops at a fact with no version and names it", function()
    local w = joined("NULL", true)
    local r = refused(w, { "j.lua:3", "dim", "unmatched" })
    assert.is_truthy(r.err:find("99", 1, true))
    assert.is_truthy(r.err:find "3")
  end)

  it('keeps such facts with unmatched = "null", one row each', function()
    local w = joined("NULL", true, ', unmatched = "null"')
    run(w)
    assert.same({ "1|NULL", "2|A", "3|A", "4|A2", "5|NULL", "6|NULL", "7|B" }, w:rows(OUT))
  end)

  it('drops and counts them with unmatched = "drop"', function()
    local w = joined("NULL", true, ', unmatched = "drop"')
    run(w)
    assert.same({ "2|A", "3|A", "4|A2", "7|B" }, w:rows(OUT))
    assert.equal("3", w:last_run().rows_skipped)
  end)

  it("names a key whose versions overlap", function()
    for what, sql in pairs {
      overlap = "INSERT INTO dim VALUES (1,'X','2026-01-15','2026-01-16')",
      ["two open"] = "INSERT INTO dim VALUES (1,'X','2026-01-25',NULL)",
      ["the same twice"] = "INSERT INTO dim VALUES (2,'B','2026-01-01',NULL)",
    } do
      local w = joined "NULL"
      w:warehouse(sql)
      refused(w, { "j.lua:3", "dim", what:find "same" and "2" or "1", "overlap", hint = false })
    end
  end)

  it("takes an old fact's version after a late one was slotted in", function()
    local w = joined "NULL"
    run(w)
    w:warehouse "UPDATE dim SET valid_to = '2026-01-19' WHERE name = 'A'; INSERT INTO dim VALUES (1,'M','2026-01-19','2026-01-20')"
    run(w)
    assert.same({ "2|A", "3|M", "4|A2", "7|B" }, w:rows(OUT))
  end)

  it("knows columns by other names, and takes several", function()
    local w = world.new {
      source = FACTS,
      warehouse = [[CREATE TABLE dim(customer INTEGER, name TEXT, country TEXT, since TEXT, till TEXT);
        INSERT INTO dim VALUES (1,'A','IN','2026-01-01','2026-01-20'), (1,'A2','DE','2026-01-20',NULL), (2,'B','FR','2026-01-01',NULL);]],
    }
    w:job("j", [[
job { grain = "month" }
local facts = extract { from = "facts", by = "at", window = window() }
local placed = scd2_join { facts, dim = "dim", key = { k = "customer" }, at = "at", from = "since", to = "till", take = { "name", "country" } }
overwrite_partition { placed, into = "out" }
reconcile { facts, with = "out", sum = "amount" }
]])
    run(w)
    assert.same({ "2|A|IN", "3|A|IN", "4|A2|DE", "7|B|FR" }, w:rows "SELECT id, name, country FROM out ORDER BY 1")
    w:job("j", [[
job { grain = "month" }
local facts = extract { from = "facts", by = "at", window = window() }
scd2_join { facts, dim = "dim", key = { k = "customer" }, at = "at", from = "since", to = "till", take = "nation" }
]])
    w:refused(1, { "j.lua:3", "scd2_join with dim: dim has no column \"nation\"" }, "j.lua", "--logical-date", "2026-01-01")
  end)

  it("joins a time of day with dates: the day's midnight", function()
    local w = world.new {
      source = [[CREATE TABLE facts(id INTEGER PRIMARY KEY, k INTEGER, at TEXT);
        INSERT INTO facts VALUES (1,1,'2026-01-19T23:30:00'), (2,1,'2026-01-20T00:00:00');]],
      warehouse = [[CREATE TABLE dim(k INTEGER, name TEXT, valid_from DATE, valid_to DATE);
        INSERT INTO dim VALUES (1,'A','2026-01-01','2026-01-20'), (1,'A2','2026-01-20','9999-12-31');]],
    }
    w:job("j", JOIN:format "")
    run(w)
    assert.same({ "1|A", "2|A2" }, w:rows(OUT))
  end)

  it("names a missing dimension, key, or column", function()
    for from, to in pairs { ['dim = "dim"'] = 'dim = "dimm"', ['key = "k"'] = 'key = "kk"', ['take = "name"'] = 'take = "nam"',
                            ['at = "at",'] = 'at = "att",' } do
      local w = joined "NULL"
      w:job("j", (JOIN:format "":gsub(from, to)))
      refused(w, { "j.lua:", to:match '"(.+)"', hint = false })
    end
  end)
end)

describe("group", function()
  it("sums by columns and by expressions", function()
    local w = world.new { source = FACTS }
    w:job("j", [[
job { grain = "month" }
local facts = extract { from = "facts", by = "at", window = window() }
local sums = group { facts, by = { day = "substr(at, 1, 10)", at = "substr(at, 1, 10)", k = "k" }, total = "SUM(amount)", n = "COUNT(*)" }
overwrite_partition { sums, into = "out" }
]])
    run(w)
    assert.same({ "1|2026-01-10|2|1", "1|2026-01-19|3|1", "1|2026-01-20|4|1", "2|2026-01-15|7|1" },
      w:rows "SELECT k, day, total, n FROM out ORDER BY 1, 2")
  end)

  it("must keep the time column for overwrite_partition", function()
    local w = world.new { source = FACTS }
    w:job("j", [[
job { grain = "month" }
local facts = extract { from = "facts", by = "at", window = window() }
overwrite_partition { group { facts, by = "k", total = "SUM(amount)" }, into = "out" }
]])
    w:refused(1, { "j.lua:3", "at", hint = false }, "j.lua", "--logical-date", "2026-01")
  end)

  it("needs by, and says what SQL is wrong", function()
    local w = world.new { source = FACTS }
    w:job("j", 'job {}\nlocal g = group { extract { from = "facts" }, total = "SUM(amount)" }')
    w:refused(1, { "j.lua:2", "by", hint = false }, "j.lua")
    w:job("j", 'job {}\nlocal g = group { extract { from = "facts" }, by = "k", total = "SUMM(amount)" }\nfull_load { g, into = "out" }')
    w:refused(1, { "j.lua:", "SUMM", hint = false }, "j.lua")
  end)
end)
