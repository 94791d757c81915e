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
local OUT = "SELECT id, name FROM out ORDER BY 1"

describe("scd2_join", function()
  for what, open in pairs { NULL = "NULL", ["9999-12-31"] = "'9999-12-31'", ["9999-12-31 00:00:00"] = "'9999-12-31 00:00:00'" } do
    it("takes the version true at the fact's time, open rows ending at " .. what, function()
      local w = joined(open)
      run(w)
      assert.same({ "2|A", "3|A", "4|A2", "7|B" }, w:rows(OUT))
    end)
  end

  it("takes open ends mixed", function()
    local w = joined "NULL"
    w:warehouse "UPDATE dim SET valid_to = '9999-12-31' WHERE k = 2"
    run(w)
    assert.same({ "2|A", "3|A", "4|A2", "7|B" }, w:rows(OUT))
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
end)

describe("group", function()
  it("needs by, and says what SQL is wrong", function()
    local w = world.new { source = FACTS }
    w:job("j", 'job {}\nlocal g = group { extract { from = "facts" }, total = "SUM(amount)" }')
    w:refused(1, { "j.lua:2", "by", hint = false }, "j.lua")
    w:job("j", 'job {}\nlocal g = group { extract { from = "facts" }, by = "k", total = "SUMM(amount)" }\nfull_load { g, into = "out" }')
    w:refused(1, { "j.lua:", "SUMM", hint = false }, "j.lua")
  end)
end)
