-- Rows of PostgreSQL that go into SQLite by key: one by one as they are read
-- where the source's constraints prove the key, else looked at before.
local pairs_of = require "pairs"

local pair = pairs_of.by_name["postgresql->sqlite"]

local JOB = [[
job {}
%s { extract { from = "s" }, into = "t", key = "id" }
]]

local function shop(columns)
  return pair.new { source = ("CREATE TABLE s(%s); INSERT INTO s VALUES (1, 'a', 1.50), (2, 'b', 2), (3, NULL, -0.05)"):format(columns),
    warehouse = [[CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, amount NUMERIC(12,2), own TEXT);
      INSERT INTO t VALUES (1, 'a', 1.5, 'kept'), (2, 'old', 2, 'kept')]] }
end

local PROVEN = "id bigint PRIMARY KEY, name text, amount numeric(12,2)"
local STATE = "SELECT id, name, amount, typeof(amount), own FROM t ORDER BY id"

describe("rows by key from PostgreSQL into SQLite", function()
  for what, columns in pairs { ["as they are read"] = PROVEN, ["staged first"] = "id bigint, name text, amount numeric(12,2)" } do
    it(("are written only where they differ, and counted: %s"):format(what), function()
      local w = shop(columns)
      w:job("m", JOB:format "merge"):job("i", JOB:format "insert_new")
      local r = w:ok("m.lua", "-v")
      assert.equal(columns ~= PROVEN, r.out:find("lrun_stage", 1, true) ~= nil, r.out)
      assert.same({ "1|a|1.5|real|kept", "2|b|2|integer|kept", "3|NULL|-0.05|real|NULL" }, w:rows(STATE))
      local run = w:last_run()
      assert.equal("3 1 1", ("%s %s %s"):format(run.rows_read, run.rows_inserted, run.rows_updated))
      w:ok "m.lua"
      run = w:last_run()
      assert.equal("3 0 0", ("%s %s %s"):format(run.rows_read, run.rows_inserted, run.rows_updated))
      w:source "UPDATE s SET name = 'x'; INSERT INTO s VALUES (4, 'd', 4)"
      w:ok "i.lua"
      run = w:last_run()
      assert.equal("4 1 0", ("%s %s %s"):format(run.rows_read, run.rows_inserted, run.rows_updated))
      assert.same({ "a", "b", "NULL", "d" }, w:rows "SELECT name FROM t ORDER BY id")
    end)
  end

  it("are refused by key where nothing proves it, and nothing is kept", function()
    local w = shop "id bigint, name text, amount numeric(12,2)"
    w:job("m", JOB:format "merge")
    w:source "INSERT INTO s VALUES (2, 'again', 0)"
    w:refused(1, { "m.lua:2", "id", "2", "twice" }, "m.lua")
    w:source "UPDATE s SET id = NULL WHERE name = 'again'"
    w:refused(1, { "m.lua:2", "id", "NULL" }, "m.lua")
    assert.equal("old", w:one "SELECT name FROM t WHERE id = 2")
  end)

  it("are refused by name and row where the column would bend a value, and nothing is kept", function()
    local w = shop "id bigint PRIMARY KEY, name text, amount numeric"
    w:job("m", JOB:format "merge")
    w:source "INSERT INTO s VALUES (4, 'long', 1234567890123456789.25)"
    w:refused(1, { "m.lua:2", "amount", "1234567890123456789.25", "id 4" }, "m.lua")
    assert.equal("old", w:one "SELECT name FROM t WHERE id = 2")
  end)

  it("keep every digit for a second table, whatever the first one makes of them", function()
    local w = shop "id bigint, name text, amount numeric(12,2)"
    w:warehouse "CREATE TABLE u(id INTEGER, name TEXT, amount TEXT)"
    w:job("m", 'job {}\nlocal s = extract { from = "s" }\nmerge { s, into = "t", key = "id" }\nfull_load { s, into = "u" }'):ok "m.lua"
    assert.same({ "1.50", "2.00", "-0.05" }, w:rows "SELECT amount FROM u ORDER BY id")
  end)
end)
