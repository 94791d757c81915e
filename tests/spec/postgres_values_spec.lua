-- Values of SQLite that PostgreSQL's columns or encoding cannot keep: refused and
-- named with table, column, key and class, before anything is visible (S21, S25).
local pairs_of = require "pairs"
local sqlite = require "sqlite"

local pair = pairs_of.by_name["sqlite->postgresql"]

local WAYS = {
  merge = 'merge { rows, into = "t", key = "id" }',
  insert_new = 'insert_new { rows, into = "t", key = "id" }',
  full_load = 'full_load { rows, into = "t" }',
  ["merge of mapped rows"] = 'merge { rows:map(function(row) return row end), into = "t", key = "id" }',
  overwrite = 'overwrite_partition { rows, into = "t" }',
}

-- A table of one column, filled, and a job that copies it in a way.
local function world(type, values, way, target)
  local rows = {}
  for i, value in ipairs(values) do rows[i] = ("(%d, %s, '2026-01-01')"):format(i == #values and 77 or i, value) end
  local w = pair.new {
    source = ("CREATE TABLE s(id INTEGER PRIMARY KEY, v %s, day DATE); INSERT INTO s VALUES %s;"):format(type, table.concat(rows, ", ")),
    warehouse = target and ("CREATE TABLE t(id bigint PRIMARY KEY, v %s, day date);"):format(target),
  }
  w:job("j", 'job {}\nlocal rows = extract { from = "s", by = "day", window = window "2026-01-01" }\n' .. WAYS[way])
  return w
end
local function refused(w, words)
  w:refused(1, { "j.lua:3", "t", "v", "77", hint = false, table.unpack(words) }, "j.lua")
  assert.is_true(not w:has "t" or w:one "SELECT count(*) FROM t" == "0")
  assert.equal("failed", w:last_run().status)
end

-- The last value is the odd one.
local ODD = {
  -- declared, target (nil: made by lrun), values, what is said
  { "INTEGER", nil, { "1", "NULL", "'toto'" }, { "text", "toto" } },
  { "INTEGER", "bigint", { "1", "'toto'" }, { "text", "toto" } },
  { "INTEGER", nil, { "1", "12.3" }, { "real", "12.3" } },
  { "INTEGER", nil, { "1", "''" }, { "text" } },
  { "INTEGER", nil, { "1", "x'00ff'" }, { "blob" } },
  { "INTEGER", "integer", { "1", "2147483648" }, { "2147483648" } },
  { "INTEGER", "smallint", { "1", "-32769" }, { "-32769" } },
  { "REAL", nil, { "1.5", "'toto'" }, { "text", "toto" } },
  { "REAL", "real", { "1.5", "0.123456789" }, { "0.123456789" } },
  { "DECIMAL(10,2)", nil, { "1.5", "'toto'" }, { "text", "toto" } },
  { "DECIMAL(10,2)", "numeric(10,2)", { "1.5", "1.005" }, { "1.005" } },
  { "DECIMAL(10,2)", "numeric(4,1)", { "1.5", "12345" }, { "12345" } },
  { "DATE", nil, { "'2026-01-01'", "'yesterday'" }, { "text", "yesterday" } },
  { "DATE", nil, { "'2026-01-01'", "'2026-02-30'" }, { "text", "2026-02-30" } },
  { "DATE", nil, { "'2026-01-01'", "5" }, { "integer", "5" } },
  { "TIMESTAMP", nil, { "'2026-01-01 00:00:00'", "'soon'" }, { "text", "soon" } },
  { "BOOLEAN", nil, { "1", "0", "2" }, { "integer", "2" } },
  { "BOOLEAN", nil, { "1", "'yes'" }, { "text", "yes" } },
  { "BLOB", nil, { "x'00'", "'text'" }, { "text" } },
  { "BLOB", nil, { "x'00'", "7" }, { "integer", "7" } },
  { "TEXT", nil, { "'a'", "x'00ff'" }, { "blob" } },
  { "TEXT", "varchar(3)", { "'abc'", "'abcd'" }, { "abcd" } },
}

for way in pairs(WAYS) do
  describe("by " .. way, function()
    for _, case in ipairs(ODD) do
      it(("a value that does not fit is named: %s into %s%s"):format(case[3][#case[3]], case[1], case[2] and " -> " .. case[2] or ""), function()
        refused(world(case[1], case[3], way, case[2]), case[4])
      end)
    end

    it("what the server itself refuses is named with its column and key, and nothing is written", function()
      for target, value in pairs { uuid = "'no uuid'", jsonb = "'{\"a\": '", inet = "'1.2.3'", ["int[]"] = "'{1,'" } do
        local w = world("TEXT", { "NULL", value }, way, target)
        w:refused(1, { "j.lua:3", "t", "column v", target == "int[]" and "integer[]" or target, value:match "'(.*)'", "at id 77" }, "j.lua")
        assert.equal("0", w:one "SELECT count(*) FROM t")
        assert.equal("failed", w:last_run().status)
      end
    end)

    it("a NUL byte and invalid UTF-8 in text are refused, never cut (S25)", function()
      for _, bytes in ipairs { "a\0b", "\0", "a\0", "\252", "ab\xc3", "\xed\xa0\x80", "\xc0\xaf", "\xf4\x90\x80\x80", "\xe2\x82" } do
        refused(world("TEXT", { "'a'", sqlite.text(bytes) }, way), {})
      end
    end)

    it("what fits goes through, each by its class", function()
      local w = world("INTEGER", { "1", "NULL", "9223372036854775807" }, way)
      w:ok "j.lua"
      assert.same({ "1|1", "2|NULL", "77|9223372036854775807" }, w:rows "SELECT id, v FROM t ORDER BY id")
      for _, declared in ipairs { "", "FOO BAR(3)", "TEXT" } do
        w = world(declared, { "1", "2.5", "'text'", "NULL", "''" }, way)
        w:ok "j.lua"
        assert.same({ "1|1", "2|2.5", "3|text", "4|NULL", "77|" }, w:rows "SELECT id, v FROM t ORDER BY id", declared)
      end
      w = world("REAL", { "1", "0.1", "1e300" }, way)
      w:ok "j.lua"
      assert.same({ "1|1", "2|0.1", "77|1e+300" }, w:rows "SELECT id, v FROM t ORDER BY id")
      w = world("NUMERIC", { "1", "0.1", "9007199254740993" }, way)
      w:ok "j.lua"
      assert.same({ "1|1", "2|0.1", "77|9007199254740993" }, w:rows "SELECT id, v FROM t ORDER BY id")
    end)
  end)
end

describe("a blob in a column of no type", function()
  it("is kept as bytes or refused, never made into text", function()
    local w = world("", { "'a'", "x'00ff'" }, "merge")
    refused(w, { "blob" })
  end)
end)

describe("text that PostgreSQL refuses", function()
  local function with(values, job)
    local w = pair.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, k TEXT, v TEXT);" .. values,
                         warehouse = "CREATE TABLE t(id bigint PRIMARY KEY, k text, v jsonb);" }
    w:job("j", job)
    return w
  end

  it("in a key is named too", function()
    local w = with("INSERT INTO s VALUES (1, 'a' || char(0) || 'b', NULL);", 'job {}\nmerge { extract { from = "s", columns = { "k", "id" } }, into = "t2", key = "k" }')
    w:refused(1, { "j.lua:2", "k", "NUL", hint = false }, "j.lua")
    assert.is_false(w:has "t2")
  end)

  it("in a document: an escaped NUL in a jsonb", function()
    for _, write in ipairs { 'merge { extract { from = "s" }, into = "t", key = "id" }', 'full_load { extract { from = "s" }, into = "t" }' } do
      local w = with([[INSERT INTO s VALUES (1, 'a', '{}'), (77, 'b', '{"k":"\u0000"}');]], "job {}\n" .. write)
      w:refused(1, { "j.lua:2", "t", "v", hint = false }, "j.lua")
      assert.equal("0", w:one "SELECT count(*) FROM t")
    end
  end)

  it("as a parameter, in where and in a map is refused with the line", function()
    local w = with("INSERT INTO s VALUES (1, 'a', NULL);", [[
job {}
query { "SELECT 1 AS n WHERE 'a' = :v", params = { v = "a\0b" } }
]])
    w:refused(1, { "j.lua:2", "NUL", hint = false }, "j.lua")
    w:job("j", 'job {}\nlocal rows = extract { from = "s" }:map(function(row) row.k = "a\\0b" return row end)\nmerge { rows, into = "t", key = "id" }')
    w:refused(1, { "j.lua:3", "k", "NUL", hint = false }, "j.lua")
    w:job("j", 'job {}\nlocal rows = extract { from = "s" }:map(function(row) row.k = "\\xff" return row end)\nmerge { rows, into = "t", key = "id" }')
    w:refused(1, { "j.lua:3", "k", "UTF-8", hint = false }, "j.lua")
    assert.equal("0", w:one "SELECT count(*) FROM t")
  end)

  it("in the job's own error does not lose the ledger's row", function()
    local w = with("", 'job {}\nerror("bad \\0 \\xff byte")')
    assert.equal(1, w:lrun("j.lua").status)
    assert.equal("failed", w:last_run().status)
    assert.is_truthy(w:last_run().error:find("bad", 1, true))
  end)

  it("as a --param is wrong use or kept, and no crash", function()
    local w = with("", "job {}")
    local r = w:lrun("j.lua", "--param", "p=\xff")
    assert.is_true(r.status == 0 or ((r.status == 1 or r.status == 2) and r.err:find "param" ~= nil), r.status .. r.err)
  end)
end)
