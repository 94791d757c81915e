-- Where the databases' names come from, and what a new warehouse is.
local files = require "files"
local process = require "process"
local world = require "world"

describe("connections", function()
  local COUNT = 'job {}\nfull_load { extract { from = "t" }, into = "t", allow_empty = true }'
  -- Three pairs of databases; the source of pair n has n rows.
  local function pairs_of()
    local w = world.new { source = false, warehouse = false }
    for n = 1, 3 do
      require "sqlite".exec(w:path("s" .. n), world.T ..
        ("WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < %d) INSERT INTO t SELECT n, '', '' FROM i"):format(n))
    end
    w:job("j", COUNT)
    w:write("connections.lua", 'return { source = "sqlite:s1", warehouse = "sqlite:w1" }')
    return w
  end
  local function loaded(w, name) return require "sqlite".one(w:path(name), "SELECT count(*) FROM t") end

  it("come from the command line, then the environment, then connections.lua", function()
    local w = pairs_of()
    local env = { LRUN_SOURCE = "sqlite:s2", LRUN_WAREHOUSE = "sqlite:w2" }
    w:ok "j.lua"
    assert.equal("1", loaded(w, "w1"))
    w:ok("j.lua", { env = env })
    assert.equal("2", loaded(w, "w2"))
    w:ok("j.lua", "--source", "sqlite:s3", "--warehouse", "sqlite:w3", { env = env })
    assert.equal("3", loaded(w, "w3"))
    w:ok("j.lua", "--connection", "source=sqlite:s2", { env = { LRUN_WAREHOUSE = "sqlite:w1" } })
    assert.equal("2", loaded(w, "w1"))
  end)

  it("are looked for beside the job and then upwards, relative to their file", function()
    local w = pairs_of()
    os.execute("mkdir -p '" .. w:path "a/b" .. "'")
    w:write("a/b/k.lua", COUNT)
    w:ok(w:path "a/b/k.lua", { cwd = "/" })
    assert.equal("1", loaded(w, "w1"))
    w:write("a/connections.lua", 'return { source = "sqlite:../s2", warehouse = "sqlite:w" }')
    w:ok("a/b/k.lua")
    assert.equal("2", loaded(w, "a/w"))
  end)

  it("have other names too", function()
    local w = pairs_of()
    w:job("k", 'job {}\nfull_load { extract { from = "t", connection = "other" }, into = "t" }')
    w:ok("k.lua", "--connection", "other=sqlite:s3")
    assert.equal("3", loaded(w, "w1"))
    w:refused(1, { "k.lua:2", "other", hint = false }, "k.lua")
  end)

  it("files that are wrong are wrong use", function()
    for text, word in pairs { ["return {"] = "connections.lua", ["return 5"] = "connections.lua", ["error 'x'"] = "connections.lua",
                              ["return { source = 5, warehouse = 'sqlite:w' }"] = "source",
                              ["return { source = 'mysql://x', warehouse = 'sqlite:w' }"] = "mysql",
                              ["return { source = 'sqlite:s1', warehouse = { uri = 'sqlite:w' } }"] = "warehouse" } do
      local w = pairs_of()
      w:write("connections.lua", text)
      w:refused(2, { word, hint = false }, "j.lua")
      assert.is_false(files.exists(w:path "w"))
    end
  end)

  it("that are missing are named with how to give them", function()
    local w = pairs_of()
    os.remove(w:path "connections.lua")
    w:refused(2, { "source", "--source" }, "j.lua", "--warehouse", "sqlite:w1")
    w:refused(2, { "warehouse", "--warehouse" }, "j.lua", "--source", "sqlite:s1")
  end)

  it("may insist on an existing warehouse", function()
    local w = pairs_of()
    w:refused(5, { "w1", hint = false }, "j.lua", "--must-exist")
    assert.is_false(files.exists(w:path "w1"))
    w:write("connections.lua", 'return { source = "sqlite:s1", warehouse = { url = "sqlite:w1", must_exist = true } }')
    w:refused(5, { "w1", hint = false }, "j.lua")
    require "sqlite".exec(w:path "w1", world.T)
    w:refused(5, { "w1", hint = false }, "j.lua")
    w:write("connections.lua", 'return { source = "sqlite:s1", warehouse = "sqlite:w1" }')
    w:ok "j.lua"
    w:ok("j.lua", "--must-exist")
  end)

  it("make a new warehouse in WAL and say so", function()
    local w = pairs_of()
    local r = w:ok "j.lua"
    assert.is_truthy((r.out .. r.err):lower():find "new warehouse")
    assert.equal("wal", require "sqlite".one(w:path "w1", "PRAGMA journal_mode"))
    r = w:ok "j.lua"
    assert.is_nil((r.out .. r.err):lower():find "new warehouse")
  end)

  it("leave a warehouse in the journal mode it has", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01');"
    w:warehouse "PRAGMA journal_mode = DELETE"
    w:job("j", COUNT):ok "j.lua"
    assert.equal("delete", w:one "PRAGMA journal_mode")
  end)

  it("may be in memory", function()
    local w = pairs_of()
    w:ok("j.lua", "--warehouse", "sqlite::memory:")
    assert.equal(0, process.run({ "test", "!", "-e", w:path ":memory:" }).status)
  end)
end)
