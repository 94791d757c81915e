-- Names and values are never read as SQL.
local files = require "files"
local sqlite = require "sqlite"
local world = require "world"

local EVIL = { "tab\there", "new\nline", "cr\rhere", "back\\slash", "\\N", "\\.", "'", "''", '"', '""', "$$", "%s%n%d",
  "'); DROP TABLE t;--", '"); DROP TABLE t;--', "?1", ":start", "@x", "$x", "`", "[x]", "--", "/*", "NULL", "", " ",
  "\1\2\31\127", "${HOME}", "$(id)", "Straße", "日本語" }

local function lua(s) return (("%q"):format(s):gsub("\\\n", "\\n"):gsub("\r", "\\r"):gsub("\0", "\\0")) end

describe("a value (S26)", function()
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

  it("may hold = as --param, and the last of a name counts or is refused", function()
    local w = world.new()
    w:job("j", 'job {}\nassert(param "p" == "a=b=c")\nassert(param("q", "d") == "d")'):ok("j.lua", "--param", "p=a=b=c")
    w:refused(2, { "param", hint = false }, "j.lua", "--param", "novalue")
    w:job("k", 'job {}\nlocal x = param "missing"')
    w:refused(1, { "k.lua:2", "missing", "--param" }, "k.lua")
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
