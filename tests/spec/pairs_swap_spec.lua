-- swap on every pair: the new rows are checked beside the target, and readers
-- see the old table or the new one.
local pairs_of = require "pairs"
local files = require "files"
local process = require "process"

local S = "CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT, n INTEGER); INSERT INTO s VALUES (1,'new',1), (2,'new',2), (3,'new',3);"
local T = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT DEFAULT 'd', n INTEGER CHECK (n < 100)); CREATE INDEX t_v ON t (v);" ..
  "INSERT INTO t VALUES (1,'old',10), (9,'old',90);"
local OLD, NEW = { "1|old|10", "9|old|90" }, { "1|new|1", "2|new|2", "3|new|3" }

local JOB = [[
job {}
local rows = extract { from = "s" }
local c = swap { rows, into = "t"%s }
print(("read %%d inserted %%d deleted %%d"):format(c.read, c.inserted, c.deleted))
]]

pairs_of.each("swap", function(pair)
  local function new(source, warehouse) return pair.new { source = S .. (source or ""), warehouse = T .. (warehouse or "") } end
  local function all(w) return w:rows "SELECT id, v, n FROM t ORDER BY id" end
  local BYS = { "rows", "rename" }
  -- A program that reads the warehouse from outside.
  local function reader(w)
    if w.to.engine == "sqlite" then return { "sqlite3", "-batch", w.to.file } end
    return { "psql", "-X", "-q", "-A", "-t", w.to:url() }
  end
  local function no_copy(w)
    for _, name in ipairs(w:tables()) do assert.is_nil(name:find "swap", name) end
    assert.is_nil(table.concat(w:tables(), " "):find "copy")
  end

  for _, by in ipairs(BYS) do
    it("puts checked rows in the target's place, by " .. by, function()
      local w = new()
      w:job("j", JOB:format((', by = "%s", check = function(t) reconcile { rows, with = t, sum = "n" } ' ..
        'assert(query { "SELECT count(*) AS n FROM " .. t }[1].n == 3) assert(query { "SELECT count(*) AS n FROM t" }[1].n == tonumber(param("was", 2))) end'):format(by)))
      local r = w:ok "j.lua"
      assert.is_truthy(r.out:find("read 3 inserted 3 deleted 2", 1, true), r.out)
      assert.is_truthy(r.out:find("swap t   2 -> 3 rows", 1, true), r.out)
      assert.same(NEW, all(w))
      assert.same({ "t|swap|3|2" }, w:rows "SELECT target, primitive, rows_inserted, rows_deleted FROM lrun_writes")
      no_copy(w)
      w:ok("j.lua", "--param", "was=3")
      assert.same(NEW, all(w))
      no_copy(w)
      -- what the target refuses, it still refuses
      for _, bad in ipairs { "INSERT INTO t VALUES (1,'twice',5)", "INSERT INTO t VALUES (4,'large',100)" } do
        assert.is_false(pcall(w.warehouse, w, bad))
      end
      w:warehouse "INSERT INTO t(id) VALUES (5)"
      assert.equal("5|d|NULL", all(w)[4])
    end)

    it("keeps the old table when the check fails, by " .. by, function()
      local w = new()
      for what, words in pairs {
        ["return false"] = { "check", "failed" },
        ["return nil, 'too few'"] = { "check", "failed: too few" },
        ["error 'stop here'"] = { "j.lua:3", "stop here", hint = false },
        ["execute { 'SELECT 1 / 0 FROM nowhere' }"] = { "j.lua:3", "nowhere", hint = false },
        ["pcall(query, { 'SELECT nothing' })"] = { "j.lua:3", hint = false },
      } do
        w:job("j", JOB:format((', by = "%s", check = function(t) %s end'):format(by, what)))
        w:refused(1, words, "j.lua")
        assert.same(OLD, all(w), what)
        no_copy(w)
      end
      w:source "UPDATE s SET n = 5 WHERE id = 1"
      w:job("j", JOB:format((', by = "%s", check = function(t) reconcile { rows, with = t, sum = { id = "n" } } end'):format(by)))
      w:refused(3, { "j.lua:3", "id 6 <> 10" }, "j.lua")
      assert.same(OLD, all(w))
      w:job("j", JOB:format((', by = "%s"'):format(by)) .. 'error "later"')
      w:refused(1, { "j.lua:5", "later", hint = false }, "j.lua")
      assert.same(OLD, all(w))
      no_copy(w)
    end)

    it("holds the rows to the target's constraints before the check, by " .. by, function()
      local w = new("UPDATE s SET n = 100 WHERE id = 2", "CREATE UNIQUE INDEX t_n ON t (n);")
      w:job("j", JOB:format((', by = "%s", check = function(t) io.open("asked", "w"):close() end'):format(by)))
      w:refused(1, { "j.lua:3", hint = false }, "j.lua")
      w:source "UPDATE s SET n = 1"
      w:refused(1, { "j.lua:3", hint = false }, "j.lua")
      assert.is_false(files.exists(w:path "asked"))
      assert.same(OLD, all(w))
    end)
  end

  it("refuses an empty extract over a full target, unless allow_empty", function()
    local w = new "DELETE FROM s"
    w:job("j", JOB:format "")
    w:refused(1, { "j.lua:3", "empty", "t", "allow_empty" }, "j.lua")
    assert.same(OLD, all(w))
    w:job("j", JOB:format ", allow_empty = true"):ok "j.lua"
    assert.same({}, all(w))
  end)

  it("keeps views working by rows, and refuses by rename what depends on the table, before any work", function()
    local w = new(nil, "CREATE VIEW seen AS SELECT v, count(*) AS n FROM t GROUP BY v;")
    w:job("j", JOB:format ', by = "rename"')
    local r = w:refused(1, { "j.lua:3", "the view seen", "by rows" }, "j.lua", "-v")
    assert.is_nil(r.out:find 'FROM [%w".]*"s"')
    assert.same(OLD, all(w))
    w:job("j", JOB:format ""):ok "j.lua"
    assert.same({ "new|3" }, w:rows "SELECT v, n FROM seen")
    w = new(nil, "CREATE TABLE child(t_id INTEGER REFERENCES t(id)); INSERT INTO child VALUES (1);")
    w:job("j", JOB:format ', by = "rename"')
    w:refused(1, { "j.lua:3", "a foreign key of child" }, "j.lua")
    w:job("j", JOB:format ', by = "names"')
    w:refused(1, { "j.lua:3", "names", "rename" }, "j.lua")
    assert.same(OLD, all(w))
  end)

  it("shows another session the old rows until the commit, and the new ones after", function()
    local w = new()
    local argv = reader(w)
    if w.to.engine ~= "sqlite" then argv[#argv + 1] = "-c" end
    argv[#argv + 1] = "SELECT count(*), min(v), max(v) FROM t"
    local words = {}
    for i, word in ipairs(argv) do words[i] = process.quote(word) end
    w:job("j", ([[
job {}
local command = %q
local function look(name)
  local pipe = io.popen(command)
  io.open(name, "w"):write(pipe:read "a"):close()
  pipe:close()
end
swap { extract { from = "s" }, into = "t", check = function() look "during" end }
look "before_commit"
]]):format(table.concat(words, " ")))
    -- one that has begun before, and reads on after the commit
    local begin = w.to.engine == "sqlite" and "BEGIN;" or "BEGIN ISOLATION LEVEL REPEATABLE READ;"
    local shell = w.to.engine == "sqlite" and ".shell " or "\\! "
    local select = "SELECT count(*), min(v), max(v) FROM t;\n"
    local long = process.start(reader(w), { cwd = w.dir, stdin = begin .. "\n" .. select .. shell .. "touch reading\n" ..
      shell .. "while [ ! -e go ]; do sleep 0.02; done\n" .. select .. "COMMIT;\n" .. select })
    w:wait_for "reading"
    w:ok "j.lua"
    files.write(w:path "go", "")
    local seen = long:wait()
    assert.equal("2|old|old\n2|old|old\n3|new|new\n", seen.out, seen.err)
    assert.equal("2|old|old\n", files.read(w:path "during"))
    assert.equal("2|old|old\n", files.read(w:path "before_commit"))
    assert.same(NEW, all(w))
  end)

  it("makes a target, stamps, and takes rows of a function", function()
    local w = pair.new { source = S }
    w:job("j", [[
job {}
local rows = extract { from = "s" }:map(function(row) row.n = row.n * 2 return row end)
swap { rows, into = "t", key = "id", stamp = "at", check = function(t) reconcile { rows, with = t, sum = "n" } end }
]])
    for _ = 1, 2 do
      w:ok "j.lua"
      assert.same({ "1|new|2", "2|new|4", "3|new|6" }, w:rows "SELECT id, v, n FROM t WHERE at IS NOT NULL ORDER BY id")
    end
    assert.same({ "id" }, w.to:key "t")
    no_copy(w)
  end)

  it("is shown in a plan, which writes nothing and asks no check", function()
    local w = new()
    w:job("j", 'job {}\nswap { extract { from = "s" }, into = "t", check = function() io.open("asked", "w"):close() end }')
    local bytes = w:bytes()
    local r = w:ok("plan", "j.lua")
    assert.is_truthy(r.out:find "would run: CREATE", r.out)
    assert.equal(bytes, w:bytes())
    assert.is_false(files.exists(w:path "asked"))
  end)
end)
