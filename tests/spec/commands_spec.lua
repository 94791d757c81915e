-- status, runs, init, help, and options that stand anywhere.
local files = require "files"
local shop = require "shop"
local world = require "world"

local COMMANDS = { "accept", "backfill", "reconcile", "learn", "plan", "status", "runs", "watermark", "repl", "init", "help" }
local PRIMITIVES = { "job", "extract", "merge", "overwrite_partition", "insert_new", "full_load", "reconcile", "scd2_join",
  "group", "query", "execute", "window", "watermark", "param", "swap", "scd2_merge", "delete_missing", "apply_changes", "partitions", "lateness" }
local TOPICS = { "connections", "postgresql", "ledger", "exit", "values" }

local function has(text, ...)
  for _, word in ipairs { ... } do assert.is_truthy(text:find(word, 1, true), word .. " is not in:\n" .. text) end
end

describe("lrun help", function()
  it("lists every command, primitive and topic", function()
    local w = world.new()
    for _, words in ipairs { { "help" }, { "--help" } } do
      local r = w:ok(table.unpack(words))
      for _, command in ipairs(COMMANDS) do has(r.out, "\n  lrun " .. command .. " ") end
      assert.equal("", r.err)
    end
    has(w:ok "help".out, table.unpack(PRIMITIVES))
    has(w:ok "help".out:match "\nor: .*", table.unpack(TOPICS))
  end)

  it("has a page for each", function()
    local w = world.new()
    for _, topic in ipairs(COMMANDS) do has(w:ok("help", topic).out, topic) end
    for _, list in ipairs { PRIMITIVES, TOPICS } do
      for _, topic in ipairs(list) do has(w:ok("help", topic).out, topic) end
    end
    has(w:ok("help", "merge").out, "into", "key", "newest", "new_columns", "create", "stamp")
    has(w:ok("help", "extract").out, "from", "columns", "where", "by", "window", "nulls", "connection", "sql", "params", "time")
    has(w:ok("help", "reconcile").out, "with", "sum", "tolerance", "rows", "by", "fail")
  end)

  it("shows each option that its primitive takes: an option of the page is never unknown", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01');"
    local seen = 0
    for option in w:ok("help", "merge").out:gsub("\n  first ", "\n"):gmatch "\n  ([a-z_]+)  " do
      seen = seen + 1
      w:job("j", ("job {}\nmerge { extract { from = 't' }, into = 't', key = 'id', %s = 77 }"):format(option))
      local r = w:lrun "j.lua"
      assert.is_nil(r.err:find("has no option", 1, true), option .. ": " .. r.err)
    end
    assert.is_true(seen >= 6)
    w:job("j", "job {}\nmerge { extract { from = 't' }, into = 't', key = 'id', nowhere = 77 }")
    w:refused(1, { "merge has no option", "nowhere" }, "j.lua")
  end)

  it("names the nearest topic", function()
    local w = world.new()
    w:refused(2, { "mergee", "merge", hint = false }, "help", "mergee")
    w:refused(2, { "did you mean lrun help postgresql" }, "help", "postgres")
  end)

  it("is there for a command with --help", function()
    local w = world.new()
    has(w:ok("status", "--help").out, "status")
  end)
end)

describe("the command line", function()
  it("says its version", function()
    assert.is_truthy(world.new():ok "--version".out:find "^lrun %d+%.%d+%.%d+")
  end)

  it("without arguments is wrong use and shows the way", function()
    world.new():refused(2, { "help", hint = false })
  end)

  it("takes options anywhere, with = or without, until --", function()
    local s = shop.new()
    s:ok("--logical-date", "2026-01-20", "jobs/orders.lua")
    s:ok("--logical-date=2026-01-20", "jobs/orders.lua")
    s:ok("jobs/orders.lua", "--logical-date=2026-01-20")
    s:ok("-q", "--logical-date=2026-01-20", "--", "jobs/orders.lua")
    assert.equal("4", s:one "SELECT count(*) FROM lrun_runs WHERE logical_date = '2026-01-20'")
    s:write("--odd.lua", "job {}")
    s:ok("--source", "sqlite:examples/source.db", "--warehouse", "sqlite:examples/warehouse.db", "--", "--odd.lua")
  end)

  for what, case in pairs {
    ["an unknown option"] = { "--logcal-date", "--logcal-date", "--logical-date" },
    ["an option without its value"] = { "--logical-date", "--logical-date" },
    ["a value for an option that has none"] = { "--json=5", "--json" },
    ["an unknown word for --color"] = { "--color=pink", "pink" },
    ["a --max-seconds that is no number"] = { "--max-seconds=soon", "soon" },
    ["a negative --max-seconds"] = { "--max-seconds=-1", "-1" },
    ["a --max-memory that is no size"] = { "--max-memory=much", "much" },
    ["a --lock-timeout that is no time"] = { "--lock-timeout=later", "later" },
    ["a --run-start that is no instant"] = { "--run-start=2026-02-30", "2026-02-30" },
    ["two jobs"] = { "other.lua", "other.lua" },
  } do
    it("refuses " .. what .. " before anything is opened", function()
      local w = world.new { warehouse = false, source = false }
      w:job("j", "job {}")
      local words = { hint = false, table.unpack(case, 2) }
      w:refused(2, words, "j.lua", case[1])
      assert.is_false(files.exists(w.warehouse_file))
    end)
  end

  it("names the nearest command, and a job that is not there", function()
    local w = world.new()
    w:refused(2, { "statsu", "status", hint = false }, "statsu")
    w:refused(2, { "nowhere.lua", hint = false }, "nowhere.lua")
  end)

  it("says little with -q and each statement with -v", function()
    local s = shop.new()
    assert.equal("", s:ok("jobs/orders.lua", "--logical-date", "2026-01-20", "-q").out)
    local r = s:ok("jobs/orders.lua", "--logical-date", "2026-01-20", "-v")
    has(r.out .. r.err, "DELETE FROM", "INSERT INTO", "ms")
  end)

  it("has colour when asked, and never in a pipe", function()
    local s = shop.new()
    local ESC = "\27["
    local function out(...) local r = s:ok("jobs/orders.lua", "--logical-date", "2026-01-20", ...) return r.out .. r.err end
    assert.is_nil(out():find(ESC, 1, true))
    assert.is_nil(out("--color", "never"):find(ESC, 1, true))
    assert.is_truthy(out("--color", "always", { env = { NO_COLOR = "" } }):find(ESC, 1, true))
    assert.is_nil(out({ env = { NO_COLOR = "1" } }):find(ESC, 1, true))
    assert.is_truthy(out("--color", "always"):find(ESC, 1, true))
  end)
end)

describe("lrun status", function()
  it("shows watermark and last runs of a job, by path or by name", function()
    local s = shop.new()
    s:ok("jobs/orders_incremental.lua", "--run-start", "2026-01-26")
    s:ok("jobs/orders.lua", "--logical-date", "2026-01-20")
    has(s:ok("status", "jobs/orders_incremental.lua").out, "orders_incremental", "2026-01-26", "succeeded")
    has(s:ok("status", "orders", { cwd = s:path "jobs" }).out, "orders", "2026-01-20", "succeeded")
    local all = s:ok("status", { cwd = s:path "jobs" }).out
    has(all, "orders_incremental", "orders", "2026-01-26")
  end)

  it("shows a failure with its reason", function()
    local w = world.new()
    w:job("j", 'job {}\nerror "the reason"'):lrun "j.lua"
    has(w:ok("status", "j.lua").out, "failed", "the reason")
  end)

  it("of a warehouse without a ledger, or without a file, is nothing and writes nothing", function()
    local w = world.new()
    w:job("j", "job {}")
    local bytes = w:bytes()
    w:ok("status", "j.lua")
    w:ok "status"
    w:ok "runs"
    assert.equal(bytes, w:bytes())
    w = world.new { warehouse = false }
    w:job("j", "job {}")
    local r = w:lrun("status", "j.lua")
    assert.is_true(r.status == 0 or r.status == 5, r.err)
    assert.is_false(files.exists(w.warehouse_file))
  end)
end)

describe("lrun runs", function()
  it("lists the ledger, the newest --last N", function()
    local s = shop.new()
    for _, day in ipairs { "19", "20", "21" } do s:ok("jobs/orders.lua", "--logical-date", "2026-01-" .. day) end
    local all = s:ok("runs", "jobs/orders.lua").out
    has(all, "2026-01-19", "2026-01-20", "2026-01-21", "succeeded")
    local last = s:ok("runs", "jobs/orders.lua", "--last", "1").out
    has(last, "2026-01-21")
    assert.is_nil(last:find("2026-01-19", 1, true))
    s:refused(2, { "--last", hint = false }, "runs", "jobs/orders.lua", "--last", "none")
  end)
end)

describe("lrun init", function()
  it("makes a project that runs and whose test passes", function()
    local w = world.new()
    local r = w:ok("init", "project")
    has(r.out, "project")
    local found = {}
    for _, name in ipairs(files.list(w:path "project")) do found[name] = true end
    assert.is_true(found["connections.lua"] or found.jobs, table.concat(files.list(w:path "project"), " "))
    local pipe = io.popen("find '" .. w:path "project" .. "' -name '*.lua'")
    local all = pipe:read "a"
    pipe:close()
    has(all, "connections.lua")
  end)

  it("overwrites nothing", function()
    local w = world.new()
    os.execute("mkdir '" .. w:path "full" .. "'")
    w:write("full/connections.lua", "mine")
    has(w:ok("init", "full").out, "kept", "full/connections.lua", "wrote", "full/jobs/orders.lua")
    assert.equal("mine", files.read(w:path "full/connections.lua"))
    w:refused(2, { hint = false }, "init")
  end)
end)
