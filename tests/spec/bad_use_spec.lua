-- Bad use: a clear message, the right exit status, nothing changed.
local files = require "files"
local process = require "process"
local world = require "world"

local COPY = 'job {}\nfull_load { extract { from = "t" }, into = "t", allow_empty = true }\n'
local function copy_world()
  local w = world.with_t("INSERT INTO t VALUES (1,'a','2026-01-01');")
  return w:job("j", COPY)
end
local function am_root() return process.sh "id -u".out == "0\n" end

describe("a database that is none", function()
  local GARBAGE = ("this is no database\n"):rep(100)

  it("as warehouse is status 5 and left as it is", function()
    local w = copy_world()
    for _, bytes in ipairs { GARBAGE, "x", "SQLite format 3\0" .. ("\1"):rep(2000) } do
      w:write("bad.db", bytes)
      w:refused(5, { "bad.db", hint = false }, "j.lua", "--warehouse", "sqlite:bad.db")
      assert.equal(bytes, files.read(w:path "bad.db"))
      assert.is_false(files.exists(w:path "bad.db-wal") or files.exists(w:path "bad.db-journal"))
    end
  end)

  it("as source is status 5", function()
    local w = copy_world()
    local bytes = w:bytes()
    w:write("bad.db", GARBAGE)
    w:refused(5, { "bad.db", hint = false }, "j.lua", "--source", "sqlite:bad.db")
    w:refused(5, { "missing.db", hint = false }, "j.lua", "--source", "sqlite:missing.db")
    w:refused(5, { w.dir, hint = false }, "j.lua", "--source", "sqlite:" .. w.dir)
    assert.is_false(files.exists(w:path "missing.db"))
    assert.equal(GARBAGE, files.read(w:path "bad.db"))
    assert.equal(bytes, w:bytes())
  end)

  it("as a directory, or in one that is missing, is status 5", function()
    local w = copy_world()
    os.execute("mkdir '" .. w:path "folder" .. "'")
    w:refused(5, { "folder", hint = false }, "j.lua", "--warehouse", "sqlite:folder")
    w:refused(5, { "nowhere/w.db", hint = false }, "j.lua", "--warehouse", "sqlite:nowhere/w.db")
    assert.same({}, files.list(w:path "folder"))
    assert.is_false(files.exists(w:path "nowhere"))
  end)

  it("of another engine whose driver or server is not there is status 5, without its password", function()
    local w = copy_world()
    local url = "postgresql://me:s3cr3tpw@127.0.0.1:1/db"
    local r = w:refused(5, { hint = false }, "j.lua", "--source", url)
    local r2 = w:refused(5, { hint = false }, "j.lua", { env = { LRUN_WAREHOUSE = url } })
    for _, text in ipairs { r.out, r.err, r2.out, r2.err, w:bytes() } do assert.is_nil(text:find("s3cr3tpw", 1, true)) end
  end)
end)

describe("a warehouse that cannot be written", function()
  -- Root writes everywhere, so the run is somebody else's then.
  local function as_nobody(w, ...)
    local argv = { world.bin, ... }
    if am_root() then argv = { "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", table.unpack(argv) } end
    return process.run(argv, { cwd = w.dir })
  end

  it("is status 5", function()
    local w = copy_world()
    -- The binary may lie in a folder that only root can enter.
    local bin = w:path "lrun"
    -- Nor may the folders above keep somebody else out.
    local up = w.dir
    while up:find "/tmp%." or up:find "lrun" do
      os.execute("chmod a+rx '" .. up .. "'")
      up = up:match "^(.*)/[^/]+$" or ""
    end
    os.execute(("cp '%s' '%s'; chmod 755 '%s' '%s'; chmod 444 '%s'/*.db; chmod 555 '%s'"):format(
      world.bin, bin, bin, w.dir, w.dir, w.dir))
    local old = world.bin
    world.bin = bin
    local before = files.list(w.dir)
    local r = as_nobody(w, "j.lua")
    world.bin = old
    world.says(r, 5, { "warehouse.db", hint = false })
    assert.same(before, files.list(w.dir))
    os.execute(("chmod -R u+w '%s'"):format(w.dir))
    assert.equal("0", w:one "SELECT count(*) FROM t")
  end)
end)

describe("a full disk", function()
  local BIG = [[
    PRAGMA synchronous = OFF;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
    INSERT INTO t SELECT i, hex(randomblob(400)), '2026-01-01' FROM n;]]

  -- A small disk of its own where mounting is allowed, else a limit on the size of files.
  local function small_disk(w)
    local dir = w:path "disk"
    os.execute("mkdir '" .. dir .. "'")
    if am_root() and process.sh("mount -t tmpfs -o size=2m none '" .. dir .. "'").status == 0 then
      return dir, nil, function() os.execute("umount '" .. dir .. "'") end
    end
    return dir, "-f 2000", function() end
  end

  it("is status 1, and what was there is still there", function()
    local w = world.with_t(BIG)
    w:job("j", 'job {}\nfull_load { extract { from = "t" }, into = "t" }')
    local dir, limit, done = small_disk(w)
    local db = dir .. "/w.db"
    require "sqlite".exec(db, "PRAGMA journal_mode = WAL;" .. world.T .. "INSERT INTO t VALUES (5, 'before', '2026-01-01')")
    local r = w:lrun("j.lua", "--warehouse", "sqlite:" .. db, { limit = limit, env = { TMPDIR = dir, SQLITE_TMPDIR = dir } })
    local rows = require "sqlite".rows(db, "SELECT id, v FROM t")
    local check = require "sqlite".one(db, "PRAGMA integrity_check")
    done()
    world.says(r, 1, { "w.db", hint = false })
    assert.is_truthy(r.err:lower():find "full" or r.err:lower():find "i/o" or r.err:lower():find "file size")
    assert.same({ "5|before" }, rows)
    assert.equal("ok", check)
  end)
end)

describe("a job that does not parse", function()
  it("is status 2 with its line, before anything is opened", function()
    for text, line in pairs { ["job {}\nlocal x = = 1"] = "j.lua:2", ["job {"] = "j.lua:1", ["\27Lua"] = "j.lua",
                              ["job {}\nlocal s = 'open"] = "j.lua:2", ["job {}\ngoto nowhere"] = "j.lua:2" } do
      local w = world.new { warehouse = false, source = false }
      w:job("j", text)
      w:refused(2, { line, hint = false }, "j.lua")
      assert.is_false(files.exists(w.warehouse_file))
    end
  end)

  it("is status 2 when the file is none", function()
    local w = world.new()
    os.execute("mkdir '" .. w:path "dir.lua" .. "'")
    w:refused(2, { "dir.lua", hint = false }, "dir.lua")
    w:write("empty.lua", "")
    w:ok "empty.lua"
    w:write("shebang.lua", "#!/usr/bin/env lrun\njob {}\nassert(1 == 1)")
    w:ok "shebang.lua"
    w:write("bom.lua", "\239\187\191job {}")
    w:ok "bom.lua"
  end)
end)

describe("a report that cannot be written", function()
  local function committed(w)
    assert.equal("1", w:one "SELECT count(*) FROM t")
    assert.equal("succeeded", w:last_run().status)
  end

  it("does not undo what was committed: /dev/full is status 7", function()
    local w = copy_world()
    local r = w:lrun("j.lua", { stdout = "/dev/full" })
    assert.equal(7, r.status, r.err)
    assert.is_truthy(r.err ~= "")
    committed(w)
  end)

  it("nor a closed standard output", function()
    local w = copy_world()
    local r = w:lrun("j.lua", { stdout = "closed" })
    assert.equal(7, r.status, r.err)
    committed(w)
  end)

  it("nor a closed pipe", function()
    local w = copy_world()
    -- The reader is gone before the first byte.
    local script = ("{ sleep 0.2; %s j.lua --json; echo $? >rc; } | true"):format(process.quote(world.bin))
    process.sh(script, { cwd = w.dir })
    assert.is_true(process.wait_for(function() return files.exists(w:path "rc") end))
    assert.equal("7\n", files.read(w:path "rc"))
    committed(w)
  end)

  it("of a job's own print neither", function()
    local w = copy_world()
    w:job("j", COPY .. "for i = 1, 100000 do print(i) end\n")
    local r = w:lrun("j.lua", { stdout = "/dev/full" })
    assert.equal(7, r.status, r.err)
    committed(w)
  end)

  it("is no matter with a closed standard error", function()
    local w = copy_world()
    local r = process.sh(process.quote(world.bin) .. " j.lua 2>&-", { cwd = w.dir })
    assert.equal(0, r.status)
    committed(w)
    w:job("j", "job {}\nerror 'x'")
    assert.equal(1, process.sh(process.quote(world.bin) .. " j.lua 2>/dev/full", { cwd = w.dir }).status)
  end)

  it("does not write into a database that took the place of standard output", function()
    local w = copy_world()
    for _ = 1, 2 do
      process.sh(process.quote(world.bin) .. " j.lua <&- >&- 2>&-", { cwd = w.dir })
      assert.equal("ok", w:one "PRAGMA integrity_check")
      committed(w)
    end
  end)
end)

describe("a ledger from the future", function()
  it("is refused and left", function()
    local w = copy_world()
    w:ok "j.lua"
    w:warehouse "UPDATE lrun_schema SET version = 999"
    local state = w:state()
    local r = w:lrun "j.lua"
    assert.is_true(r.status == 1 or r.status == 5, r.err)
    assert.is_truthy(r.err:find("999", 1, true))
    assert.equal(state, w:state())
    assert.equal("1", w:one "SELECT count(*) FROM lrun_runs")
  end)
end)
