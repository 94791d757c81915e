-- plan and --dry-run say what would be done and write nothing.
local cjson = require "cjson"
local files = require "files"
local shop = require "shop"
local world = require "world"

local PLANS = {
  ["lrun plan"] = function(job, ...) return "plan", job, ... end,
  ["--dry-run"] = function(job, ...) return job, "--dry-run", ... end,
}

for name, args in pairs(PLANS) do
  describe(name, function()
    it("prints windows, statements and target, and leaves the file's bytes", function()
      local s = shop.new()
      -- A run first, so that there is a ledger.
      s:ok("jobs/orders.lua", "--logical-date", "2026-01-19")
      local bytes, source = s:bytes(), files.read(s.source_file)
      local r = s:ok(args("jobs/orders.lua", "--logical-date", "2026-01-20"))
      assert.equal(bytes, s:bytes())
      assert.equal(source, files.read(s.source_file))
      for _, word in ipairs { "[2026-01-20, 2026-01-21)", "DELETE", "INSERT", "dw_orders", "overwrite_partition", "reconcile" } do
        assert.is_truthy(r.out:find(word, 1, true), word .. "\n" .. r.out)
      end
    end)

    it("shows the window that the watermark gives", function()
      local s = shop.new()
      s:ok("jobs/orders_incremental.lua", "--run-start", "2026-01-26")
      local bytes = s:bytes()
      local r = s:ok(args("jobs/orders_incremental.lua", "--run-start", "2026-01-27"))
      assert.is_truthy(r.out:find("[2026-01-24, 2026-01-27)", 1, true), r.out)
      assert.equal(bytes, s:bytes())
      assert.equal("2026-01-26", s:watermark())
    end)

    it("does not make a warehouse", function()
      local w = world.new { warehouse = false, source = world.T }
      w:job("j", 'job {}\nmerge { extract { from = "t" }, into = "t", key = "id" }')
      local before = files.list(w.dir)
      w:ok(args "j.lua")
      assert.same(before, files.list(w.dir))
      -- Nor in an empty file.
      w:write("warehouse.db", "")
      w:ok(args "j.lua")
      assert.equal("", files.read(w.warehouse_file))
    end)

    it("works on a warehouse without a ledger and one that cannot be written", function()
      local s = shop.new()
      os.execute("chmod -R a-w '" .. s:path "examples" .. "'")
      local bytes = s:bytes()
      s:ok(args("jobs/orders.lua", "--logical-date", "2026-01-20"))
      assert.equal(bytes, s:bytes())
    end)

    it("lists execute and says that its result is not known", function()
      local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01');"
      w:job("j", 'job {}\nexecute { "DELETE FROM t WHERE id = 5" }\nfull_load { extract { from = "t" }, into = "t" }')
      local r = w:ok(args "j.lua")
      assert.is_truthy(r.out:find("DELETE FROM t WHERE id = 5", 1, true), r.out)
      w:job("j", 'job {}\nlocal n = merge { extract { from = "t" }, into = "t", key = "id" }\nprint(n.inserted + 1)')
      w:refused(1, { "j.lua:3", "plan", hint = false }, args "j.lua")
      assert.equal("0", w:one "SELECT count(*) FROM t")
    end)

    it("does real reads, and finds what a run would find", function()
      local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01');"
      w:job("j", 'job {}\nassert(extract { from = "t" }:count() == 1)\nassert(query { "SELECT 5 AS n" }[1].n == 5)'):ok(args "j.lua")
      w:job("j", 'job {}\nmerge { extract { from = "tt" }, into = "t", key = "id" }')
      w:refused(1, { "j.lua:2", "tt", hint = false }, args "j.lua")
      w:job("j", 'job {}\nmerge { extract { from = "t" }, into = "t", kee = "id" }')
      w:refused(1, { "j.lua:2", "kee" }, args "j.lua")
    end)
  end)
end

describe("lrun plan over a range", function()
  it("prints the days and their windows", function()
    local s = shop.new()
    local bytes = s:bytes()
    local r = s:ok("plan", "jobs/orders.lua", "--from", "2026-01-19", "--to", "2026-01-21")
    assert.is_truthy(r.out:find("3 days, windows [2026-01-19, 2026-01-20) to [2026-01-21, 2026-01-22)", 1, true), r.out)
    assert.equal(bytes, s:bytes())
  end)

  it("refuses a range that is none before anything is opened", function()
    for _, range in ipairs { { "2026-01-21", "2026-01-19" }, { "2026-02-29", "2026-03-01" }, { "2026-01-19", "2026-1-20", wrong = "2026-1-20" } } do
      local w = world.new { warehouse = false, source = false }
      w:job("j", "job {}")
      local r = w:refused(2, { range.wrong or range[1], hint = false }, "plan", "j.lua", "--from", range[1], "--to", range[2])
      assert.equal("", r.out)
    end
  end)
end)

describe("--json", function()
  -- Each line one object with an event and v = 1.
  local function events(out)
    local list = {}
    assert.is_truthy(out == "" or out:sub(-1) == "\n", "no line break at the end")
    for line in out:gmatch "([^\n]*)\n" do
      local ok, object = pcall(cjson.decode, line)
      assert.is_true(ok and type(object) == "table" and object[1] == nil, line)
      assert.equal("string", type(object.event), line)
      assert.equal(1, object.v, line)
      list[#list + 1] = object
    end
    return list
  end

  it("prints one object a line and nothing else: a run", function()
    local s = shop.new()
    local list = events(s:ok("jobs/orders.lua", "--logical-date", "2026-01-20", "--json").out)
    local last
    for _, e in ipairs(list) do if e.status then last = e end end
    assert.equal("succeeded", last.status)
    assert.equal("orders", last.job)
    assert.equal(1, last.rows_read)
    assert.equal(tonumber(s:last_run().run_id), last.run_id)
  end)

  for what, words in pairs {
    plan = { "plan", "jobs/orders.lua", "--logical-date", "2026-01-20" },
    range = { "plan", "jobs/orders.lua", "--from", "2026-01-19", "--to", "2026-01-21" },
    status = { "status", "jobs/orders.lua" },
    runs = { "runs", "jobs/orders.lua" },
    watermark = { "watermark", "jobs/orders_incremental.lua" },
    ["the run with -v"] = { "jobs/orders.lua", "--logical-date", "2026-01-20", "-v" },
  } do
    it("prints one object a line and nothing else: " .. what, function()
      local s = shop.new()
      s:ok("jobs/orders.lua", "--logical-date", "2026-01-19")
      s:ok("jobs/orders_incremental.lua", "--run-start", "2026-01-26")
      words[#words + 1] = "--json"
      local list = events(s:ok(table.unpack(words)).out)
      assert.is_true(#list > 0)
    end)
  end

  it("says a failure on stderr and stays JSON on stdout", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01');"
    w:job("j", 'job {}\nprint("a word")\nfull_load { extract { from = "t" }, into = "t" }\nerror "stop\\nhere"')
    local r = w:refused(1, { "j.lua:4", "stop", hint = false }, "j.lua", "--json")
    events(r.out)
  end)

  it("keeps what the job itself writes off standard output", function()
    local w = world.new()
    w:job("j", 'job {}\nprint("a", 1)\nio.write("b\\n")\nio.stdout:write("c")\nio.stdout:flush()')
    events(w:ok("j.lua", "--json").out)
  end)

  it("keeps odd bytes in values from breaking a line", function()
    local w = world.new { source = 'CREATE TABLE "a\nb"(id INTEGER PRIMARY KEY); INSERT INTO "a\nb" VALUES (1);' }
    w:job("j", 'job { name = "q\\"\\n\\1" }\nfull_load { extract { from = "a\\nb" }, into = "a\\nb" }')
    local r = w:lrun("j.lua", "--json")
    events(r.out)
  end)

  it("has the ledger's columns in runs", function()
    local s = shop.new()
    s:ok("jobs/orders.lua", "--logical-date", "2026-01-20")
    local list = events(s:ok("runs", "jobs/orders.lua", "--json").out)
    local run
    for _, e in ipairs(list) do if e.run_id then run = e end end
    for _, column in ipairs { "job", "status", "logical_date", "run_start", "rows_read", "rows_inserted", "started_at", "finished_at" } do
      assert.is_truthy(run[column] ~= nil, column)
    end
  end)
end)
