-- Names and values are never read as SQL, on every pair.
local files = require "files"
local pairs_of = require "pairs"

local EVIL = { "tab\there", "new\nline", "cr\rhere", "back\\slash", "\\N", "\\.", "'", "''", '"', '""', "$$", "$1", "%s%n%d",
  "'); DROP TABLE t;--", '"); DROP TABLE t;--', "?1", ":start", "@x", "$x", "`", "[x]", "--", "/*", "NULL", "", " ",
  "\1\2\31\127", "${HOME}", "$(id)", "Straße", "日本語", "E'\\x'", "{a,b}", "\\x00ff" }

local function ident(name) return '"' .. name:gsub('"', '""') .. '"' end
local function lua(s) return (("%q"):format(s):gsub("\\\n", "\\n"):gsub("\r", "\\r")) end

pairs_of.each("a value (S26)", function(pair)
  it("is the same after the way, as data and as key", function()
    local w = pair.new { source = "CREATE TABLE s(k TEXT PRIMARY KEY, v TEXT, at TIMESTAMP);" }
    local rows = {}
    for i, v in ipairs(EVIL) do
      rows[i] = ("(%s, %s, '2026-01-01 00:00:00')"):format(w.from:text(v), w.from:text(v))
    end
    w:source("INSERT INTO s VALUES ('null', NULL, '2026-01-01 00:00:00'), " .. table.concat(rows, ", "))
    w:job("j", [[
job { grain = "day" }
local rows = extract { from = "s", by = "at", window = window() }
merge { rows, into = "t", key = "k" }
overwrite_partition { rows, into = "t2" }
merge { rows:map(function(row) return row end), into = "t3", key = "k" }
reconcile { rows, with = "t", by = "k" }
]])
    local all = "SELECT {hex k}, {hex v} FROM %s WHERE v IS NOT NULL ORDER BY 1"
    local expected = w:source_rows(all:format "s")
    assert.equal(#EVIL, #expected)
    for _ = 1, 2 do
      w:ok("j.lua", "--logical-date", "2026-01-01")
      for _, t in ipairs { "t", "t2", "t3" } do
        assert.same(expected, w:rows(all:format(t)))
        assert.same({ "null" }, w:rows("SELECT k FROM " .. t .. " WHERE v IS NULL"))
      end
    end
    -- The checks name each group, and are kept.
    assert.equal(tostring(#EVIL + 1), w:one "SELECT count(DISTINCT group_value) FROM lrun_checks WHERE equal = 1 AND group_value IS NOT NULL AND run_id = 1")
  end)

  it("is only a value in where, in params, in partition and as a parameter", function()
    local w = pair.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT, at TIMESTAMP);" }
    local rows = {}
    for i, v in ipairs(EVIL) do rows[i] = ("(%d, %s, '2026-01-01 00:00:00')"):format(i, w.from:text(v)) end
    w:source("INSERT INTO s VALUES (1000, 'other', '2026-01-01 00:00:00'), " .. table.concat(rows, ", "))
    local list = {}
    for i, v in ipairs(EVIL) do list[i] = lua(v) end
    w:job("j", ([[
job { grain = "day" }
for i, v in ipairs { %s } do
  local a = extract { from = "s", where = { v = v } }
  local b = extract { from = "s", where = { v = { v, "none" } } }
  local c = extract { from = "s", where = "v = :v", params = { v = v } }
  local d = extract { sql = "SELECT * FROM s WHERE v = :v", params = { v = v } }
  for n, rows in ipairs { a, b, c, d } do assert(rows:count() == 1, ("%%q %%d"):format(v, n)) end
  overwrite_partition { extract { from = "s", where = { v = v }, by = "at", window = window() }, into = "t", partition = { v = v } }
  assert(query { "SELECT id FROM t WHERE v = :v", params = { v = v } }[1].id == i)
end
]]):format(table.concat(list, ", ")))
    w:ok("j.lua", "--logical-date", "2026-01-01")
    w:ok("j.lua", "--logical-date", "2026-01-01")
    assert.same(w:source_rows "SELECT id, {hex v} FROM s WHERE id < 1000 ORDER BY id", w:rows "SELECT id, {hex v} FROM t ORDER BY id")
  end)

  it("is only a value as --param", function()
    local w = pair.new()
    w:job("j", 'job {}\nlocal f = io.open("got", "wb") f:write(param "p") f:close()')
    for _, v in ipairs { "it's", '"', "\\", "$$", "'); DROP TABLE t;--", "日本語\n" } do
      w:ok("j.lua", "--param", "p=" .. v)
      assert.equal(v, files.read(w:path "got"))
      local params = w:one "SELECT {hex params} FROM lrun_runs ORDER BY run_id DESC LIMIT 1"
        :gsub("%x%x", function(x) return string.char(tonumber(x, 16)) end)
      assert.same({ p = v }, require "cjson".decode(params))
    end
  end)
end)

pairs_of.each("a name (S28)", function(pair)
  local NAMES = { "select", "Order", "camelCase", "with space", 'q"uote', "Straße", "1st", "sql--", "sin'gle", "%s", "$1", "日本" }

  it("is quoted as column and as table", function()
    local columns, values = {}, {}
    for i, c in ipairs(NAMES) do columns[i], values[i] = ident(c) .. " TEXT", "'" .. i .. "'" end
    for _, name in ipairs { "Order", "select", 'q"uote', "with space", "Straße" } do
      local from, into = name .. " s", name .. " t"
      local create = "CREATE TABLE %s(" .. table.concat(columns, ", ") .. ", at TIMESTAMP, PRIMARY KEY (" .. ident "select" .. "));"
      local w = pair.new {
        source = create:gsub("%%s", function() return ident(from) end, 1) ..
          "INSERT INTO " .. ident(from) .. " VALUES (" .. table.concat(values, ", ") .. ", '2026-01-01 00:00:00');",
        warehouse = create:gsub("%%s", function() return ident(into) end, 1),
      }
      w:job("j", ([[
job { grain = "day" }
local from, into = %s, %s
local rows = extract { from = from, by = "at", window = window() }
merge { rows, into = into, key = { "select", "with space", 'q"uote' } }
overwrite_partition { rows, into = into }
reconcile { rows, with = into, sum = { select = "Order", ['q"uote'] = 'q"uote' }, fail = false }
full_load { extract { from = from, columns = { ["new name"] = "camelCase", select = "select" } }, into = into .. " copy" }
full_load { rows:map(function(row) return row end), into = into .. " mapped" }
]]):format(lua(from), lua(into)))
      w:ok("j.lua", "--logical-date", "2026-01-01")
      w:ok("j.lua", "--logical-date", "2026-01-01")
      assert.same(w:source_rows("SELECT * FROM " .. ident(from)), w:rows("SELECT * FROM " .. ident(into)))
      assert.same(w:source_rows("SELECT * FROM " .. ident(from)), w:rows("SELECT * FROM " .. ident(into .. " mapped")))
      assert.same({ "3|1" }, w:rows('SELECT "new name", "select" FROM ' .. ident(into .. " copy")))
      -- No second table of the same name in small letters.
      assert.equal(pair.same and 4 or 3, #w:tables(), table.concat(w:tables(), " "))
    end
  end)

  it("of 63 bytes keeps its staging apart", function()
    local base = ("x"):rep(60)
    local a, b = base .. "aaa", base .. "bbb"
    local w = pair.new { source = ([[
      CREATE TABLE s1(id INTEGER PRIMARY KEY, %s TEXT); CREATE TABLE s2(id INTEGER PRIMARY KEY, %s TEXT);
      INSERT INTO s1 VALUES (1,'a'); INSERT INTO s2 VALUES (1,'b');]]):format(a, b) }
    w:job("j", ([[
      job {}
      for from, into in pairs { s1 = "%s", s2 = "%s" } do
        merge { extract { from = from }:map(function(row) return row end), into = into, key = "id" }
        merge { extract { from = from }, into = into, key = "id" }
      end
    ]]):format(a, b))
    w:ok "j.lua"
    w:ok "j.lua"
    assert.equal("a", w:one(("SELECT %s FROM %s"):format(a, a)))
    assert.equal("b", w:one(("SELECT %s FROM %s"):format(b, b)))
  end)

  it("that is none is refused, not made into SQL", function()
    local w = pair.with "INSERT INTO s VALUES (1,'a','2026-01-01 00:00:00');"
    for _, name in ipairs { "s; DROP TABLE s", "" } do
      w:job("j", 'job {}\nmerge { extract { from = "' .. name .. '" }, into = "t", key = "id" }')
      w:refused(1, { "j.lua:2", name, hint = false }, "j.lua")
    end
    assert.equal("1", w:source_rows "SELECT count(*) FROM s"[1])
  end)

  it("with a schema is found", function()
    local schema = { sqlite = "main", postgresql = "public" }
    local w = pair.with "INSERT INTO s VALUES (1,'a','2026-01-01 00:00:00');"
    w:job("j", ('job {}\nmerge { extract { from = "%s.s" }, into = "%s.t", key = "id" }\nreconcile { extract { from = "%s.s" }, with = "%s.t" }')
      :format(schema[pair.source], schema[pair.warehouse], schema[pair.source], schema[pair.warehouse])):ok "j.lua"
    assert.equal("1", w:one "SELECT count(*) FROM t")
  end)
end)
