-- The order of text (S48): log positions by their numbers, text of one width by
-- its bytes, ISO times as times; anything else is refused by name. The same in
-- apply_changes, in merge { newest }, and against the mark.
local pairs_of = require "pairs"

local S = "CREATE TABLE s(lsn %s, seq INTEGER, op TEXT, id INTEGER, v TEXT);\n"
local T = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);\n"
local JOB = [[
job {}
local c = apply_changes { extract { from = "s"%s }, into = "t", key = "id", order = %s }
print(("inserted %%d updated %%d deleted %%d skipped %%d"):format(c.inserted, c.updated, c.deleted, c.skipped))
]]
local UUID, OTHER = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"

-- Positions in their order.
local ORDERED = {
  { "0/9", "0/10", "0/A0", "1/0", "10/00" },
  { "00/0000000a", "0/B", "00/C" },
  { "mysql-bin.3:998", "mysql-bin.000003:1002", "mysql-bin.000012:4", "mysql-bin.1000000:4" },
  { "bin.log.9/5", "bin.log.9/10", "bin.log.10/1" },
  { UUID .. ":9", UUID .. ":10", UUID:upper() .. ":11" },
  { "01ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FB0", "01BX5ZZKBKACTAV9WEVGEMMVRZ" },
  { "0009", "0010", "0100" },
  { "00000025:00000a60:0002", "00000025:00000a60:000b", "00000026:00000001:0000" },
  { "0ujsswThIGTUYm2K8FjOOfXtY1K", "0ujsszwN8NRY24YaXiTIE2VWDTS", "0ujtsYcgvSTl8PAuAdqWYSMnLOv" },
  { "2026-01-01T09:00:00Z", "2026-01-01 10:30:00+01:00", "2026-01-01 10:00:00" },
}
local REFUSED = {
  { { "9.5", "10.5" }, "'9.5'" },
  { { "9", "10" }, "'9' sorts after '10'" },
  { { "-1", "-2" }, "'-" },
  { { "-5", "10" }, "'-5'" },
  { { "v9", "v10" }, "'v9'" },
  { { "0af", "0B0" }, "'0af'" },
  { { "mysql-bin.3:9", "other-bin.1:4" }, "two logs" },
  { { UUID .. ":9", OTHER .. ":1" }, "two logs" },
  { { "2026-01-01", "tomorrow" }, "'tomorrow'" },
  { { "0-1-9", "0-1-10" }, "'0-1-9'" },
  { { "", "a" }, "''" },
}

pairs_of.each("S48 the order of text", function(pair)
  local function new(type, warehouse) return pair.new { source = S:format(type or "TEXT"), warehouse = warehouse or T } end
  local function changes(w, columns, order)
    columns = columns or order and '{ "lsn", "seq", "op", "id", "v" }' or '{ "lsn", "op", "id", "v" }'
    return w:job("j", JOB:format(", columns = " .. columns, order or '"lsn"'))
  end
  -- { position, op, id, v, seq }
  local function deliver(w, rows)
    local sql = { "DELETE FROM s;" }
    for _, r in ipairs(rows) do
      sql[#sql + 1] = ("INSERT INTO s VALUES ('%s', %d, '%s', %d, %s);"):format(r[1], r[5] or 0, r[2], r[3], r[4] and "'" .. r[4] .. "'" or "NULL")
    end
    w:source(table.concat(sql, "\n"))
  end
  local function run(w) return w:ok "j.lua".out:match "inserted %d+ [^\n]+" end
  local function all(w) return w:rows "SELECT id, v FROM t ORDER BY id" end
  local function last_first(list)
    local rows = {}
    for i = #list, 1, -1 do rows[#rows + 1] = { list[i], "u", 1, "v" .. i } end
    return rows
  end

  it("S48 is a log position's numbers, or one width's bytes", function()
    for _, list in ipairs(ORDERED) do
      local w = changes(new())
      deliver(w, last_first(list))
      run(w)
      assert.same({ "1|v" .. #list }, all(w), list[1])
      assert.equal(list[#list], w:one "SELECT value FROM lrun_watermarks")
      assert.equal("inserted 0 updated 0 deleted 0 skipped " .. #list, run(w), list[1])
      w = changes(new())
      for i = 2, #list, 2 do -- against the mark
        deliver(w, { { list[1], "u", 1, "v1" }, { list[i], "u", 1, "v" .. i } })
        run(w)
        assert.same({ "1|v" .. i }, all(w), list[i])
      end
    end
  end)

  it("S48 is refused where the year is not first, a word stands for a number, or the case changes", function()
    for _, list in ipairs { { "31-01-2026", "01-02-2026" }, { "31.01.26", "01.02.26" }, { "12/31/2025", "01/01/2026" }, { "Jan 31 2026", "Feb 01 2026" },
      { "31-JAN-2026", "01-FEB-2026" }, { "2026-01-02 11:00 AM", "2026-01-02 01:00 PM" }, { "31-Jan-2026", "01-Feb-2026" },
      { "01arz3ndektsv4rrffq69g5fax", "01ARZ3NDEKTSV4RRFFQ69G5FAZ" }, { "01ARZ3NDEKTSV4RRFFQ69G5faX", "01ARZ3NDEKTSV4RRFFQ69G5FAZ" } } do
      local w = changes(new())
      deliver(w, last_first(list))
      w:refused(1, { "j.lua:2", "apply_changes into t", "lsn" }, "j.lua")
      assert.same({}, all(w), list[1])
    end
  end)

  it("S48 is refused by name where it has none, also against the mark", function()
    for _, case in ipairs(REFUSED) do
      local w = changes(new())
      deliver(w, last_first(case[1]))
      w:refused(1, { "j.lua:2", "apply_changes into t", "lsn", case[2] }, "j.lua")
      assert.same({}, all(w))
      if not case[1][1]:find "^-" then
        deliver(w, { { case[1][1], "u", 1, "a" } })
        run(w)
        deliver(w, { { case[1][2], "u", 1, "b" } })
        w:refused(1, { "lsn" }, "j.lua")
        assert.same({ "1|a" }, all(w))
      end
    end
    local w = changes(new()):job("k", JOB:format(', columns = { lsn = "CAST(lsn AS numeric)", op = "op", id = "id", v = "v" }', '"lsn"'))
    deliver(w, { { "9.5", "u", 1, "a" }, { "10.5", "u", 1, "b" } })
    w:refused(1, { 'CAST(lsn AS numeric)' }, "j.lua")
    w:ok "k.lua"
    assert.same({ "1|b" }, all(w))
    deliver(w, { { "9.75", "u", 1, "old" }, { "100", "u", 1, "c" }, { "-3", "u", 1, "older" }, { "99.999", "u", 1, "x" } })
    w:ok "k.lua"
    assert.same({ "1|c" }, all(w))
  end)

  if pair.source == "postgresql" then
    it("S48 is a pg_lsn's value", function()
      local w = changes(new "pg_lsn")
      deliver(w, { { "0/10", "u", 1, "b" }, { "0/9", "i", 1, "a" } })
      run(w)
      assert.same({ "1|b" }, all(w))
      assert.equal("0/10", w:one "SELECT value FROM lrun_watermarks")
      deliver(w, { { "0/A", "u", 1, "old" }, { "1/0", "u", 1, "c" }, { "0/FFFFFFFF", "u", 1, "x" } })
      assert.equal("inserted 0 updated 1 deleted 0 skipped 1", run(w))
      assert.same({ "1|c" }, all(w))
      w = pair.new { source = S:format "pg_lsn", warehouse = "" }
      w:job("j", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id", newest = "lsn" }')
      deliver(w, { { "0/9", "", 1, "a" }, { "0/10", "", 1, "b" } })
      w:ok "j.lua"
      deliver(w, { { "0/F", "", 1, "old" } })
      w:ok "j.lua"
      assert.same({ "1|b" }, all(w))
    end)
  end

  it("S48 is the same in merge { newest }", function()
    local NEWEST = 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id", newest = "lsn" }'
    local WIDE = "CREATE TABLE t(id INTEGER, v TEXT, lsn TEXT, seq INTEGER, op TEXT%s);"
    for n, list in ipairs(ORDERED) do
      local w = new(nil, WIDE:format(n % 2 == 0 and "" or ", PRIMARY KEY (id)")):job("j", NEWEST)
      deliver(w, last_first(list))
      w:ok "j.lua"
      assert.same({ "1|v" .. #list }, all(w), list[1])
      deliver(w, { { list[1], "", 1, "old" } })
      w:ok "j.lua"
      assert.same({ "1|v" .. #list }, all(w), list[1])
    end
    for _, case in ipairs(REFUSED) do
      local w = new(nil, WIDE:format ", PRIMARY KEY (id)"):job("j", NEWEST)
      deliver(w, last_first(case[1]))
      w:refused(1, { "j.lua:2", "merge into t", "lsn" }, "j.lua")
      if not case[1][1]:find "^-" then
        w:warehouse(("INSERT INTO t VALUES (1, 'a', '%s', 0, ''), (2, 'b', 'of another kind', 0, '')"):format(case[1][1]))
        deliver(w, { { case[1][2], "", 1, "b" } })
        w:refused(1, { "j.lua:2", "lsn" }, "j.lua")
        assert.same({ "1|a", "2|b" }, all(w))
      end
    end
  end)

  it("S48 may be shared by changes of different keys, also when one comes later", function()
    local w = changes(new())
    deliver(w, { { "0/9", "i", 1, "a" }, { "0/9", "i", 2, "b" } })
    assert.equal("inserted 2 updated 0 deleted 0 skipped 0", run(w))
    deliver(w, { { "0/9", "i", 2, "b" }, { "0/9", "i", 3, "c" }, { "0/8", "i", 4, "old" } })
    run(w)
    assert.same({ "1|a", "2|b", "3|c" }, all(w))
    deliver(w, { { "0/10", "d", 1 }, { "0/10", "u", 2, "B" } })
    run(w)
    assert.same({ "2|B", "3|c" }, all(w))
    assert.equal("inserted 0 updated 0 deleted 0 skipped 2", run(w))
  end)

  it("S48 takes a second column where changes of one key share the first", function()
    local w = changes(new())
    local same = { { "0/9", "i", 1, "a", 1 }, { "0/9", "u", 1, "b", 10 }, { "0/9", "u", 1, "ab", 9 } }
    deliver(w, same)
    w:refused(1, { "j.lua:2", "one key", "lsn", '0/9', 'order = { "lsn"' }, "j.lua")
    changes(w, nil, '{ "lsn", "seq" }')
    run(w)
    assert.same({ "1|b" }, all(w))
    assert.equal("t.lsn|0/9 | 10", w:one "SELECT name, value FROM lrun_watermarks")
    deliver(w, { { "0/9", "u", 1, "old", 9 }, { "0/9", "u", 1, "c", 11 }, { "0/8", "u", 1, "older", 99 } })
    assert.equal("inserted 0 updated 1 deleted 0 skipped 2", run(w))
    assert.same({ "1|c" }, all(w))
    deliver(w, { { "0/10", "d", 1, nil, 1 } })
    run(w)
    assert.same({}, all(w))
    -- a mark of one column goes on with two
    w = changes(new())
    deliver(w, { { "0/9", "i", 1, "a", 1 } })
    run(w)
    changes(w, nil, '{ "lsn", "seq" }')
    deliver(w, { { "0/8", "u", 1, "old", 5 }, { "0/9", "u", 1, "b", 2 } })
    run(w)
    assert.same({ "1|b" }, all(w))
    changes(w, nil, '{ "lsn", "nothing" }'):refused(1, { "nothing" }, "j.lua")
  end)
end)
