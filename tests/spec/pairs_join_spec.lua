-- scd2_join and group on every pair: each fact once, with the version true then.
local pairs_of = require "pairs"

local DIM = [[CREATE TABLE dim(k INTEGER, name TEXT, valid_from TIMESTAMP, valid_to TIMESTAMP);
  INSERT INTO dim VALUES (1,'A','2026-01-10 00:00:00','2026-01-20 00:00:00'), (1,'A2','2026-01-20 00:00:00',%s),
    (2,'B','2026-01-01 00:00:00',%s);]]
local FACTS = [[CREATE TABLE s(id INTEGER PRIMARY KEY, k INTEGER, at TIMESTAMP, amount INTEGER);
  INSERT INTO s VALUES (2,1,'2026-01-10 00:00:00',2), (3,1,'2026-01-19 23:59:59.999999',3),
    (4,1,'2026-01-20 00:00:00',4), (7,2,'2026-01-15 00:00:00',7);]]
local STRAYS = [[INSERT INTO s VALUES (1,1,'2026-01-09 23:59:59.999999',1), (5,NULL,'2026-01-15 00:00:00',5), (6,99,'2026-01-15 00:00:00',6);]]

local JOIN = [[
job { grain = "month" }
local facts = extract { from = "s", by = "at", window = window() }
local placed = scd2_join { facts, dim = "dim", key = "k", at = "at", take = "name"%s }
overwrite_partition { placed, into = "t" }
]]
local OUT = "SELECT id, name FROM t ORDER BY id"
local RIGHT = { "2|A", "3|A", "4|A2", "7|B" }

pairs_of.each("scd2_join (S36)", function(pair)
  local function joined(open, strays, options)
    local w = pair.new { source = FACTS .. (strays and STRAYS or ""), warehouse = DIM:format(open, open) }
    w:job("j", JOIN:format(options or ""))
    return w
  end
  local function run(w) return w:ok("j.lua", "--logical-date", "2026-01") end
  local function refused(w, words)
    local r = w:refused(1, words, "j.lua", "--logical-date", "2026-01")
    assert.is_false(w:has "t")
    return r
  end

  it("takes the version true at the fact's time, open rows ending in every way", function()
    for _, open in ipairs { "NULL", "'9999-12-31 00:00:00'", "MIXED", pair.warehouse == "postgresql" and "'infinity'" or nil } do
      local w = joined(open == "MIXED" and "NULL" or open)
      if open == "MIXED" then w:warehouse "UPDATE dim SET valid_to = '9999-12-31 00:00:00' WHERE k = 2" end
      run(w)
      assert.same(RIGHT, w:rows(OUT), open)
      run(w)
      assert.same(RIGHT, w:rows(OUT), open)
    end
  end)

  it("stops at a fact with no version and names it", function()
    local r = refused(joined("NULL", true), { "j.lua:3", "dim", "unmatched" })
    assert.is_truthy(r.err:find("99", 1, true))
    assert.is_truthy(r.err:find "3")
  end)

  it('keeps such facts with "null", drops and counts them with "drop"', function()
    local w = joined("NULL", true, ', unmatched = "null"')
    run(w)
    assert.same({ "1|NULL", "2|A", "3|A", "4|A2", "5|NULL", "6|NULL", "7|B" }, w:rows(OUT))
    w:job("j", JOIN:format ', unmatched = "drop"')
    run(w)
    assert.same(RIGHT, w:rows(OUT))
    assert.equal("3", w:last_run().rows_skipped)
  end)

  it("names a key whose versions overlap", function()
    for sql, key in pairs {
      ["INSERT INTO dim VALUES (1,'X','2026-01-15 00:00:00','2026-01-16 00:00:00')"] = "1",
      ["INSERT INTO dim VALUES (1,'X','2026-01-25 00:00:00',NULL)"] = "1",
      ["INSERT INTO dim VALUES (2,'B','2026-01-01 00:00:00',NULL)"] = "2",
    } do
      local w = joined "NULL"
      w:warehouse(sql)
      refused(w, { "j.lua:3", "dim", key, "overlap", hint = false })
    end
  end)

  it("takes an old fact's version after a late one was slotted in", function()
    local w = joined "NULL"
    run(w)
    w:warehouse [[UPDATE dim SET valid_to = '2026-01-19 00:00:00' WHERE name = 'A';
      INSERT INTO dim VALUES (1,'M','2026-01-19 00:00:00','2026-01-20 00:00:00')]]
    run(w)
    assert.same({ "2|A", "3|M", "4|A2", "7|B" }, w:rows(OUT))
  end)

  it("knows columns by other names, takes several, and joins times with dates", function()
    local w = pair.new {
      source = FACTS,
      warehouse = [[CREATE TABLE dim(customer INTEGER, name TEXT, country TEXT, since DATE, till DATE);
        INSERT INTO dim VALUES (1,'A','IN','2026-01-01','2026-01-20'), (1,'A2','DE','2026-01-20',NULL), (2,'B','FR','2026-01-01','9999-12-31');]],
    }
    w:job("j", [[
job { grain = "month" }
local facts = extract { from = "s", by = "at", window = window() }
local placed = scd2_join { facts, dim = "dim", key = { k = "customer" }, at = "at", from = "since", to = "till", take = { "name", "country" } }
overwrite_partition { placed, into = "t" }
reconcile { facts, with = "t", sum = "amount" }
]])
    run(w)
    assert.same({ "2|A|IN", "3|A|IN", "4|A2|DE", "7|B|FR" }, w:rows "SELECT id, name, country FROM t ORDER BY id")
  end)

  it("joins facts that went through a map", function()
    local w = joined "NULL"
    w:job("j", (JOIN:format "":gsub("scd2_join { facts", "scd2_join { facts:map(function(row) row.amount = row.amount * 2 return row end)")))
    run(w)
    assert.same(RIGHT, w:rows(OUT))
    assert.equal("32", w:one "SELECT sum(amount) FROM t")
  end)

  it("names a missing dimension, key, or column", function()
    for from, to in pairs { ['dim = "dim"'] = 'dim = "dimm"', ['key = "k"'] = 'key = "kk"', ['take = "name"'] = 'take = "nam"', ['at = "at",'] = 'at = "att",' } do
      local w = joined "NULL"
      w:job("j", (JOIN:format "":gsub(from, to)))
      refused(w, { "j.lua:", to:match '"(.+)"', hint = false })
    end
  end)
end)

pairs_of.each("group", function(pair)
  it("sums by columns and by expressions", function()
    local w = pair.new { source = FACTS }
    local day = pair.warehouse == "sqlite" and "substr(at, 1, 10)" or "at::date"
    w:job("j", ([[
job { grain = "month" }
local facts = extract { from = "s", by = "at", window = window() }
local sums = group { facts, by = { at = "%s", k = "k" }, total = "SUM(amount)", n = "COUNT(*)" }
overwrite_partition { sums, into = "t" }
reconcile { facts, with = "t", sum = { amount = "total" }, rows = false }
]]):format(day))
    for _ = 1, 2 do
      w:ok("j.lua", "--logical-date", "2026-01")
      assert.same({ "1|2026-01-10|2|1", "1|2026-01-19|3|1", "1|2026-01-20|4|1", "2|2026-01-15|7|1" },
        w:rows "SELECT k, at, total, n FROM t ORDER BY k, at")
    end
  end)

  it("must keep the time column for overwrite_partition", function()
    local w = pair.new { source = FACTS }
    w:job("j", [[
job { grain = "month" }
local facts = extract { from = "s", by = "at", window = window() }
overwrite_partition { group { facts, by = "k", total = "SUM(amount)" }, into = "t" }
]])
    w:refused(1, { "j.lua:3", "at", hint = false }, "j.lua", "--logical-date", "2026-01")
  end)

  it("says what SQL is wrong", function()
    local w = pair.new { source = FACTS }
    w:job("j", 'job {}\nlocal g = group { extract { from = "s" }, by = "k", total = "SUMM(amount)" }\nfull_load { g, into = "t" }')
    w:refused(1, { "j.lua:", "SUMM", hint = false }, "j.lua")
  end)
end)
