-- Values are never altered: decimals into new tables, totals, type modifiers and
-- types known by their name (S38 to S40, S45, S46), in every primitive that writes.
local copies = require "copies"
local pairs_of = require "pairs"

pairs_of.each("values", function(pair)
  local to_postgres = pair.warehouse == "postgresql"

  it("S38 a declared type that does not keep the value refuses it in a new table", function()
    -- SQLite keeps such values beyond their declaration, and a copy of SQLite has the same column.
    local function beyond(declared, value, kept) return { source = { sqlite = declared }, value = value, expect = { sqlite = kept, postgresql = false } } end
    copies.check(pair, {
      beyond("DECIMAL(10,2)", "1.005", "1.005"),
      beyond("NUMERIC(6,1)", "2.25", "2.25"),
      beyond("DECIMAL(4,2)", "123.45", "123.45"),
      beyond("DECIMAL(10,0)", "0.5", "0.5"),
      beyond("INTEGER", "2.5", "2.5"),
      beyond("INTEGER", "'abc'", "abc"),
      beyond("BOOLEAN", "2", "2"),
      beyond("DATE", "'2024-01-05 10:00:00'", "2024-01-05 10:00:00"),
      { source = "DECIMAL(10,2)", value = "1.25", expect = "1.25" },
      { source = { postgresql = "numeric(6,1)" }, value = "2.3", expect = "2.3" },
      { source = { postgresql = "numeric" }, value = "1.005", expect = "1.005" },
      { source = { postgresql = "numeric(10,3)" }, value = "1.005", expect = "1.005" },
      { source = "SMALLINT", value = { sqlite = "40000", postgresql = "32767" }, expect = pair.source == "sqlite" and "40000" or "32767" },
      { source = { sqlite = "VARCHAR(3)" }, value = "'abcd'", expect = "abcd" },
    })
  end)

  it("S39 a total or a dimension's value is refused where the target would round it", function()
    local function rounded(source, value, target, lite)
      return { source = source, value = value, target = { sqlite = target, postgresql = target }, expect = { sqlite = lite, postgresql = false } }
    end
    local exact = { sqlite = "DECIMAL(12,3)", postgresql = "numeric(12,3)" }
    local double = { sqlite = "REAL", postgresql = "double precision" }
    copies.check(pair, {
      rounded(exact, "2.251", "numeric(6,1)", "2.251"),
      rounded(exact, "2.251", "integer", "2.251"),
      rounded(exact, "2.5", "bigint", "2.5"),
      rounded(exact, "123456.5", "numeric(6,1)", "123456.5"),
      rounded(double, "2.75", "numeric(6,1)", "2.75"),
      rounded(double, "0.1", "integer", "0.1"),
      rounded("TEXT", "'abcd'", "varchar(3)", "abcd"),
      rounded("INTEGER", "40000", "smallint", "40000"),
      { source = exact, value = "2.5", target = "numeric(6,1)", expect = "2.5" },
      { source = exact, value = "3", target = "integer", expect = "3" },
    }, { "group", "join", "map" })
    -- A sum over several rows, before the warehouse sees it.
    for _, total in ipairs { { "SUM(v)", "numeric(6,1)" }, { "SUM(v)", "integer" }, { "AVG(v)", "numeric(6,1)" }, { "SUM(v) * 2", "bigint" } } do
      local w = pair.new {
        source = "CREATE TABLE s(id INTEGER PRIMARY KEY, k TEXT, v DECIMAL(10,3)); INSERT INTO s VALUES (1, 'a', 1.25), (2, 'a', 1.001), (3, 'b', 1);",
        warehouse = ("CREATE TABLE t(k TEXT PRIMARY KEY, n %s);"):format(total[2]),
      }
      w:job("j", ('job {}\nlocal r = extract { from = "s" }\nmerge { group { r, by = "k", n = "%s" }, into = "t", key = "k" }'):format(total[1]))
      if to_postgres then
        w:refused(1, { "j.lua:3", "t", "column n", "at k a", hint = false }, "j.lua")
        assert.equal("0", w:one "SELECT count(*) FROM t")
      elseif total[1] == "SUM(v)" then
        w:ok "j.lua"
        assert.same({ "a|2.251", "b|1" }, w:rows "SELECT k, n FROM t ORDER BY k")
      end
    end
  end)

  it("S40 a type modifier that would cut or round refuses the value", function()
    local function cut(source, value, target, says)
      return { source = { sqlite = "TEXT", postgresql = source }, value = value, target = { postgresql = target }, expect = false, says = says }
    end
    local function fits(source, value, target, printed)
      return { source = { sqlite = "TEXT", postgresql = source }, value = value, target = { postgresql = target }, expect = printed or value:sub(2, -2) }
    end
    copies.check(pair, {
      cut("timestamp", "'2024-01-05 23:59:59.857'", "timestamp(0)", { "23:59:59.857" }),
      cut("timestamp", "'2024-01-05 23:59:59.000001'", "timestamp(5)"),
      cut("timestamptz", "'2024-01-05 23:59:59.857+00:00'", "timestamptz(0)"),
      cut("time", "'23:59:59.857'", "time(0)"),
      cut("timetz", "'23:59:59.857+02'", "timetz(1)"),
      cut("interval", "'1 day 00:00:00.5'", "interval(0)"),
      cut("interval", "'1 day 10:30:00'", "interval day to hour"),
      cut("text", "'abcd'", "varchar(3)"),
      cut("text", "'abcd'", "char(3)"),
      cut("numeric", "'123.45'", "numeric(5,1)"),
      cut("bit varying", "'1011'", "bit varying(3)"),
      cut("bit varying", "'10'", "bit(3)"),
      cut("text", "'" .. ("n"):rep(64) .. "'", "name"),
      cut("text", "'xy'", '"char"'),
      cut("numeric", "'1.005'", "money"),
      cut("inet", "'192.168.0.1/24'", "cidr"),
      fits("timestamp", "'2024-01-05 23:59:59'", "timestamp(0)"),
      fits("timestamp", "'2024-01-05 23:59:59.85'", "timestamp(2)"),
      fits("time", "'23:59:59.5'", "time(1)"),
      fits("interval", "'1 day 00:00:01'", "interval(0)"),
      fits("text", "'abc'", "varchar(3)"),
      fits("text", "'ab'", "char(3)", "ab "),
      fits("bit varying", "'101'", "bit varying(3)"),
    })
  end)

  it("S40 a partition run twice has each row once, and the next day's run leaves it", function()
    if not to_postgres then return end
    local at = pair.source == "sqlite" and "TEXT" or "timestamp"
    for target, refused in pairs { ["timestamp(0)"] = true, ["timestamp(3)"] = false, ["timestamptz(0)"] = true, ["timestamp"] = false } do
      local w = pair.new {
        source = ("CREATE TABLE s(id INTEGER PRIMARY KEY, at %s); INSERT INTO s VALUES (77, '2024-01-05 23:59:59.857');"):format(at),
        warehouse = ("CREATE TABLE t(id INTEGER PRIMARY KEY, at %s); CREATE TABLE u(id INTEGER, at %s);"):format(target, target),
      }
      w:job("j", 'job { grain = "day" }\noverwrite_partition { extract { from = "s", by = "at", window = window() }, into = "u" }')
      w:job("m", 'job { grain = "day" }\nmerge { extract { from = "s", by = "at", window = window() }, into = "t", key = "id", newest = "at" }')
      for _, job in ipairs { "j.lua", "m.lua" } do
        for _, day in ipairs { "2024-01-05", "2024-01-05", "2024-01-06" } do
          if refused and day == "2024-01-05" then w:refused(1, { job .. ":2", "column at", "23:59:59.857", hint = false }, job, "--logical-date", day)
          else w:ok(job, "--logical-date", day) end
        end
        assert.equal(refused and "0" or "1", w:one("SELECT count(*) FROM " .. (job == "j.lua" and "u" or "t")))
      end
    end
  end)
end)
