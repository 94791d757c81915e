-- scd2_join at full strength: the examples as their pages tell them, on every
-- pair, and what they refuse.
local files = require "files"
local pairs_of = require "pairs"
local world = require "world"

local function text(name) return assert(files.read(world.root .. "/examples/" .. name)) end

local CASES = {
  currency = {
    job = "revenue_eur", query = "SELECT {day sold_on}, {money eur} FROM dw_revenue_eur ORDER BY 1",
    run = function(w) return w:lrun("backfill", "j.lua", "--from", "2026-02-01", "--to", "2026-02-03") end,
    rows = { "2026-02-01|80.00", "2026-02-02|230.00", "2026-02-03|12.50" },
    gap = "DELETE FROM dim_rate WHERE currency = 'GBP'", missing = "GBP, 2026-02-03", kept = "2", target = "dw_revenue_eur",
    fan_out = "INSERT INTO dim_rate VALUES ('USD', 0.85, '2026-01-20', '2026-02-03')", twice = "(USD)", dim = "dim_rate",
  },
  tax = {
    job = "invoices", query = "SELECT invoice_id, {money percent} FROM dw_invoices ORDER BY 1",
    rows = { "1|7.00", "2|19.00", "3|16.00", "4|20.00" },
    gap = "DELETE FROM dim_tax WHERE country = 'DE' AND percent = 16", missing = "DE, goods, 2026-07-01",
    fan_out = "INSERT INTO dim_tax VALUES ('DE', 'food', 8, '2026-07-01', NULL)", twice = "(DE, food)", dim = "dim_tax", target = "dw_invoices",
  },
  history = {
    job = "orders_placed", query = "SELECT order_id, country, region FROM dw_orders_placed ORDER BY 1",
    rows = { "1|IN|south", "2|DE|south", "3|DE|north" },
    gap = "UPDATE dim_salesman SET till = '2026-01-15' WHERE region = 'south'", missing = "1, 2026-01-15",
    fan_out = "UPDATE dim_customer SET valid_to = '2026-01-11' WHERE country = 'IN'", twice = "(7)", dim = "dim_salesman",
    fanned = "dim_customer", target = "dw_orders_placed",
  },
}

for name, case in pairs(CASES) do
  pairs_of.each("the example " .. name, function(pair)
    local function new(more)
      local w = pair.new { source = text(name .. "/source.sql"), warehouse = text(name .. "/warehouse.sql") .. ";" .. (more or "") }
      w:job("j", text(name .. "/" .. case.job .. ".lua"))
      return w
    end
    local run = case.run or function(w) return w:lrun "j.lua" end

    it("gives what its page says, the same twice, and names a gap and a fan-out", function()
      local w = new()
      for _ = 1, 2 do
        local r = run(w)
        assert.equal(0, r.status, r.err)
        assert.same(case.rows, w:rows(case.query))
      end
      w = new(case.gap)
      world.says(run(w), 1, { case.dim, "without a version", case.missing, "unmatched" })
      if case.kept then assert.equal(case.kept, w:one("SELECT count(*) FROM " .. case.target)) else assert.is_false(w:has(case.target)) end
      w = new(case.fan_out)
      world.says(run(w), 1, { case.fanned or case.dim, "overlapping", case.twice })
      assert.is_false(w:has(case.target))
    end)
  end)
end

describe("the examples' pages", function()
  for name, case in pairs(CASES) do
    it("can be typed as they are: " .. name, function()
      local dir = files.temp_dir()
      assert(os.execute(("cp %s/examples/%s/* %s/"):format(world.root, name, dir)))
      local lines = {}
      for line in text(name .. "/README.md"):gmatch "\n    ([^\n]+)" do lines[#lines + 1] = (line:gsub("^lrun", world.bin)) end
      local r = require "process".sh("set -e\n" .. table.concat(lines, "\n"), { cwd = dir })
      assert.equal(0, r.status, r.err)
      assert.equal(#case.rows, tonumber(require "sqlite".one(dir .. "/warehouse.db", "SELECT count(*) FROM " .. case.target)))
    end)
  end
end)

-- Forms that sort as time compare as they are, others by their instants.
describe("scd2_join in SQLite", function()
  local function joined(facts, versions)
    local w = world.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, k INTEGER, at TEXT);" .. facts,
                          warehouse = "CREATE TABLE dim(k INTEGER, v TEXT, valid_from TEXT, valid_to TEXT, PRIMARY KEY (k, valid_from));" .. versions }
    w:job("j", 'job {}\nfull_load { scd2_join { extract { from = "s" }, dim = "dim", key = "k", at = "at", take = "v" }, into = "t" }')
    return w
  end
  local DATES = "INSERT INTO dim VALUES (1,'a','2026-01-01','2026-01-20'), (1,'b','2026-01-20',NULL);"

  it("takes offsets for the instants that they are", function()
    local w = joined("INSERT INTO s VALUES (1,1,'2026-01-20 01:00:00+02:00'), (2,1,'2026-01-19T23:00:00-01:00'), (3,1,'2026-01-20');", DATES)
    w:ok "j.lua"
    assert.same({ "1|a", "2|b", "3|b" }, w:rows "SELECT id, v FROM t")
  end)

  it("takes a date for its midnight where bounds have a time of day", function()
    local w = joined("INSERT INTO s VALUES (1,1,'2026-01-20'), (2,1,'2026-01-20 00:00:00.000');",
      "INSERT INTO dim VALUES (1,'a','2026-01-01 00:00:00','2026-01-20 00:00:00'), (1,'b','2026-01-20 00:00:00','9999-12-31');")
    w:ok "j.lua"
    assert.same({ "1|b", "2|b" }, w:rows "SELECT id, v FROM t")
  end)

  it("refuses what is no time, in the facts and in the dimension", function()
    for _, wrong in ipairs { "2026-02-30", "2026-13-01", "yesterday" } do
      local w = joined(("INSERT INTO s VALUES (1,1,'2026-01-05'), (2,1,'%s');"):format(wrong), DATES)
      w:refused(1, { "j.lua:2", wrong, hint = false }, "j.lua")
      w = joined("INSERT INTO s VALUES (1,1,'2026-01-05');", DATES .. ("INSERT INTO dim VALUES (1,'c','%s','2020-01-01')"):format(wrong))
      w:refused(1, { "j.lua:2", wrong, hint = false }, "j.lua")
    end
  end)

  it("finds an overlap by an index over key and start, and passes over versions of no length", function()
    local w = joined("INSERT INTO s VALUES (1,1,'2026-01-05');", DATES .. "INSERT INTO dim VALUES (1,'none','2026-01-10','2026-01-10');")
    w:ok "j.lua"
    w:warehouse "INSERT INTO dim VALUES (1,'c','2026-03-01','2026-03-02')"
    w:refused(1, { "overlapping", "(1)", "2026-01-20", hint = false }, "j.lua")
    w:warehouse "UPDATE dim SET k = 2 WHERE v = 'c'; INSERT INTO dim VALUES (2,'d','2026-03-01 12:00:00','2026-03-04')"
    w:ok "j.lua" -- of a key that no fact uses
  end)
end)
