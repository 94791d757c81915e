-- Names and values are never read as SQL.
local files = require "files"
local sqlite = require "sqlite"
local world = require "world"

local EVIL = { "tab\there", "new\nline", "cr\rhere", "back\\slash", "\\N", "\\.", "'", "''", '"', '""', "$$", "%s%n%d",
  "'); DROP TABLE t;--", '"); DROP TABLE t;--', "?1", ":start", "@x", "$x", "`", "[x]", "--", "/*", "NULL", "", " ",
  "\1\2\31\127", "${HOME}", "$(id)", "Straße", "日本語" }

local function ident(name) return '"' .. name:gsub('"', '""') .. '"' end
local function lua(s) return (("%q"):format(s):gsub("\\\n", "\\n"):gsub("\r", "\\r"):gsub("\0", "\\0")) end

describe("a value (S26)", function()
  it("is the same after the way, as data and as key", function()
    local w = world.new { source = "CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT, at TEXT);" }
    for _, v in ipairs(EVIL) do
      w:source(("INSERT INTO t VALUES (%s, %s, '2026-01-01')"):format(sqlite.text(v), sqlite.text(v)))
    end
    w:source "INSERT INTO t VALUES ('null', NULL, '2026-01-01')"
    w:job("j", [[
job { grain = "day" }
local rows = extract { from = "t", by = "at", window = window() }
merge { rows, into = "t", key = "k" }
overwrite_partition { rows, into = "t2" }
reconcile { rows, with = "t", by = "k" }
]])
    for _ = 1, 2 do
      w:ok("j.lua", "--logical-date", "2026-01-01")
      for _, t in ipairs { "t", "t2" } do
        assert.same(w:source_rows "SELECT hex(k), quote(v), typeof(v) FROM t ORDER BY 1",
          w:rows("SELECT hex(k), quote(v), typeof(v) FROM " .. t .. " ORDER BY 1"))
      end
    end
  end)

  it("is only a value in where, in params and in partition", function()
    for _, v in ipairs(EVIL) do
      local w = world.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT, at TEXT);" }
      w:source(("INSERT INTO s VALUES (1, %s, '2026-01-01'), (2, 'other', '2026-01-01')"):format(sqlite.text(v)))
      w:job("j", ([[
job { grain = "day" }
local v = %s
local a = extract { from = "s", where = { v = v } }
local b = extract { from = "s", where = { v = { v, "none" } } }
local c = extract { from = "s", where = "v = :v", params = { v = v } }
local d = extract { sql = "SELECT * FROM s WHERE v = :v", params = { v = v } }
for _, rows in ipairs { a, b, c, d } do assert(rows:count() == 1, rows:count()) end
overwrite_partition { extract { from = "s", where = { v = v }, by = "at", window = window() }, into = "t", partition = { v = v } }
]]):format(lua(v)))
      w:ok("j.lua", "--logical-date", "2026-01-01")
      w:ok("j.lua", "--logical-date", "2026-01-01")
      assert.same({ "1|" .. sqlite.one(w.source_file, "SELECT quote(v) FROM s WHERE id = 1") }, w:rows "SELECT id, quote(v) FROM t")
    end
  end)

  it("is only a value as --param", function()
    for _, v in ipairs(EVIL) do
      local w = world.new()
      w:job("j", 'job {}\nlocal f = io.open("got", "wb") f:write(param "p") f:close()')
      w:ok("j.lua", "--param", "p=" .. v)
      assert.equal(v, files.read(w:path "got"))
      assert.equal("1", w:one "SELECT count(*) FROM lrun_runs WHERE json_valid(params)")
      assert.equal(v, (sqlite.table(w.warehouse_file, "SELECT json_extract(params, '$.p') FROM lrun_runs"))[1][1])
    end
  end)

  it("may hold = as --param, and the last of a name counts or is refused", function()
    local w = world.new()
    w:job("j", 'job {}\nassert(param "p" == "a=b=c")\nassert(param("q", "d") == "d")'):ok("j.lua", "--param", "p=a=b=c")
    w:refused(2, { "param", hint = false }, "j.lua", "--param", "novalue")
    w:job("k", 'job {}\nlocal x = param "missing"')
    w:refused(1, { "k.lua:2", "missing", "--param" }, "k.lua")
  end)
end)

describe("a name (S28)", function()
  local NAMES = { "select", "Order", "camelCase", "with space", 'q"uote', "Straße", "a.b", "1st", "sql--", "sin'gle", "%s", "日本" }

  it("is quoted as column and as table", function()
    for _, table_name in ipairs(NAMES) do
      local columns, values = {}, {}
      for i, c in ipairs(NAMES) do
        columns[i], values[i] = ident(c) .. " TEXT", "'" .. i .. "'"
      end
      local t = ident(table_name)
      local create = ("CREATE TABLE %s(%s, at TEXT, PRIMARY KEY (%s));"):format(t, table.concat(columns, ", "), ident "select")
      local w = world.new { source = create .. ("INSERT INTO %s VALUES (%s, '2026-01-01');"):format(t, table.concat(values, ", ")),
                            warehouse = create }
      -- A dot parts a schema from a table, so this one has to say which.
      local name = table_name == "a.b" and '"a.b"' or table_name
      if table_name ~= "a.b" then
        w:job("j", ([[
job { grain = "day" }
local name = %s
local rows = extract { from = name, by = "at", window = window() }
merge { rows, into = name, key = { "select", "with space", 'q"uote' } }
overwrite_partition { rows, into = name }
reconcile { rows, with = name, sum = { select = "Order", ['q"uote'] = 'q"uote' } , fail = false }
full_load { extract { from = name, columns = { ["new name"] = "camelCase", select = "select" } }, into = name .. " copy" }
]]):format(lua(name)))
        w:ok("j.lua", "--logical-date", "2026-01-01")
        w:ok("j.lua", "--logical-date", "2026-01-01")
        assert.same(w:source_rows("SELECT * FROM " .. t), w:rows("SELECT * FROM " .. t))
        assert.same({ "3|1" }, w:rows("SELECT * FROM " .. ident(table_name .. " copy")))
        assert.equal("2", w:one "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'lrun%' AND name NOT LIKE 'sqlite_%'")
      end
    end
  end)

  it("of 63 bytes keeps its staging apart", function()
    local base = ("x"):rep(60)
    local a, b = base .. "aaa", base .. "bbb"
    local w = world.new { source = ([[
      CREATE TABLE %s(id INTEGER PRIMARY KEY, v); CREATE TABLE %s(id INTEGER PRIMARY KEY, v);
      INSERT INTO %s VALUES (1,'a'); INSERT INTO %s VALUES (1,'b');]]):format(a, b, a, b) }
    w:job("j", ([[
      job {}
      for _, name in ipairs { "%s", "%s" } do
        merge { extract { from = name }:map(function(row) return row end), into = name, key = "id" }
      end
    ]]):format(a, b))
    w:ok "j.lua"
    w:ok "j.lua"
    assert.equal("a", w:one("SELECT v FROM " .. a))
    assert.equal("b", w:one("SELECT v FROM " .. b))
  end)

  it("that is none is refused, not made into SQL", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01');"
    w:job("j", 'job {}\nmerge { extract { from = "t; DROP TABLE t" }, into = "t", key = "id" }')
    w:refused(1, { "j.lua:2", "t; DROP TABLE t", hint = false }, "j.lua")
    w:job("j", 'job {}\nmerge { extract { from = "" }, into = "t", key = "id" }')
    w:refused(1, { "j.lua:2", hint = false }, "j.lua")
    assert.equal("1", w:source_rows "SELECT count(*) FROM t"[1])
  end)

  it("with a schema is found", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01');"
    w:job("j", 'job {}\nmerge { extract { from = "main.t" }, into = "main.t", key = "id" }'):ok "j.lua"
    assert.equal("1", w:one "SELECT count(*) FROM t")
  end)
end)

describe("a path", function()
  it("may have spaces, quotes and more", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01');"
    local dir = w:path "it's a \"dir\" %s ; $x ü"
    assert(os.execute("mkdir " .. require "process".quote(dir)))
    local name = "my 'job' \"q\".lua"
    files.write(dir .. "/" .. name, 'job {}\nmerge { extract { from = "t" }, into = "t", key = "id" }')
    files.write(dir .. "/connections.lua", [[return { source = "sqlite:../source.db", warehouse = "sqlite:ware 'house' ?#%20.db" }]])
    w:ok(dir .. "/" .. name)
    assert.equal("1", sqlite.one(dir .. "/ware 'house' ?#%20.db", "SELECT count(*) FROM t"))
    assert.equal("my 'job' \"q\"", sqlite.one(dir .. "/ware 'house' ?#%20.db", "SELECT job FROM lrun_runs"))
    w:ok("status", dir .. "/" .. name)
  end)
end)
