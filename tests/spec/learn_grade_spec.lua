-- learn grade of a folder: a line for each job, whatever one of them does; and its other forms.
local World = require "world"
local cjson = require "cjson"
local files = require "files"
local process = require "process"

local MERGE = [[
job { grain = "day" }
local changed = extract { from = "orders", by = "updated_at", window = window { since = watermark() } }
merge { changed, into = "dw_orders", key = "order_id" }
]]
local CREATED = MERGE:gsub('"updated_at"', '"order_date"')
local BROKEN = 'job { grain = "day" }\nlocal x = nil + 1\n'
local ENDLESS = 'job { grain = "day" }\nwhile true do end\n'
local HOPELESS = 'job { grain = "day" }\nlocal s = ("a"):rep(50)\nreturn s:find(("a?"):rep(50) .. s .. "b")\n'

local function class(jobs)
  local w = World.new { source = false, warehouse = false }
  assert(os.execute("mkdir " .. w.dir .. "/class"))
  for name, job in pairs(jobs) do
    assert(os.execute(("mkdir %s/class/%s"):format(w.dir, name)))
    w:write("class/" .. name .. "/job.lua", job)
  end
  return w
end

local function grade(w, ...) return w:lrun("learn", "grade", "class", "--scenario", "02-created-date", ...) end

-- The elements of an XML text that are not closed, in their order; and what is no element.
local function unclosed(xml)
  local open = {}
  local rest = xml:gsub("^<%?xml.-%?>", ""):gsub("<(/?)([%w]+)([^<>]-)(/?)>", function(close, name, attributes, alone)
    local left = attributes:gsub('%s+[%w]+="[^"<]*"', "")
    if left ~= "" then open[#open + 1] = "in " .. name .. ": " .. left end
    if close == "/" then
      if open[#open] == name then open[#open] = nil else open[#open + 1] = "/" .. name end
    elseif alone == "" then
      open[#open + 1] = name
    end
    return ""
  end)
  if rest:find "[<>]" or rest:gsub("&%w+;", ""):find "&" then open[#open + 1] = rest end
  return open
end

describe("learn grade of a folder", function()
  it("says a line for each job, in the order of their names, and goes on whatever one does", function()
    local w = class { ann = MERGE, ben = CREATED, cat = BROKEN, dan = ENDLESS, eve = HOPELESS, flo = MERGE }
    w:write("class/readme.txt", "no job")
    assert(os.execute("mkdir " .. w.dir .. "/class/empty"))
    local r = grade(w)
    assert.equal(5, r.status, r.err)
    local lines = {}
    for line in r.out:gmatch "[^\n]+" do lines[#lines + 1] = line end
    assert.equal(7, #lines, r.out)
    assert.equal("class/ann/job.lua  met", lines[1])
    assert.equal("class/ben/job.lua  MISSED  R2   find rows that changed", lines[2])
    assert.truthy(lines[3]:find("^class/cat/job.lua  ERROR   class/cat/job.lua:2: "), lines[3])
    assert.truthy(lines[4]:find("^class/dan/job.lua  LIMIT   class/dan/job.lua:2: "), lines[4])
    assert.truthy(lines[5]:find("^class/eve/job.lua  LIMIT   class/eve/job.lua:3: "), lines[5])
    assert.equal("class/flo/job.lua  met", lines[6])
    assert.equal("6 jobs: 2 met, 1 missed, 1 with an error, 2 at a limit", lines[7])
  end)

  it("ends with 0 where all are met, and with 1 where one is missed", function()
    assert.equal(0, grade(class { ann = MERGE, flo = MERGE }).status)
    assert.equal(1, grade(class { ann = MERGE, ben = CREATED }).status)
  end)

  it("gives an object for each, the same bytes each time", function()
    local w = class { ann = MERGE, ben = CREATED, cat = BROKEN }
    local one, two = grade(w, "--json", "--seed", "4"), grade(w, "--json", "--seed", "4")
    assert.equal(one.out, two.out)
    local seen = {}
    for line in one.out:gmatch "[^\n]+" do
      local g = cjson.decode(line)
      seen[#seen + 1] = ("%s %d %d %s"):format(g.file, g.seed, g.exit, g.requirements[1].state)
    end
    assert.same({ "class/ann/job.lua 4 0 met", "class/ben/job.lua 4 1 MISSED", "class/cat/job.lua 4 5 not reached" }, seen)
  end)

  it("takes a key of text, and a finalizer that would never end, for what they are", function()
    local w = class {
      ann = 'job { transaction = "manual" }\nexecute "INSERT INTO dw_orders VALUES (\'abc\', \'2026-01-20\', 1, \'2026-01-20\')"\n',
      ben = 'job { transaction = "manual" }\nsetmetatable({}, { __gc = function() while true do end end })\n',
      cat = MERGE }
    local r = grade(w, { timeout = 30 })
    assert.equal(5, r.status, r.err)
    assert.truthy(r.out:find("class/ann/job.lua  MISSED  R17", 1, true), r.out)
    assert.truthy(r.out:find("class/ben/job.lua  ERROR   class/ben/job.lua:2: __gc is not there in the sandbox", 1, true), r.out)
    assert.truthy(r.out:find("class/cat/job.lua  met", 1, true), r.out)
  end)

  it("refuses a nightly full copy where only the window is to be read", function()
    local w = World.new { source = false, warehouse = false }
    w:write("job.lua", 'job { transaction = "manual" }\nexecute { "BEGIN" }\nexecute { "DELETE FROM dw_orders" }\n' ..
      'execute { "INSERT INTO dw_orders SELECT order_id, order_date, amount, updated_at FROM orders" }\nexecute { "COMMIT" }\n')
    for id, status in pairs { ["02-created-date"] = 0, ["05-half-open"] = 1, ["09"] = 1, ["10"] = 1, s2 = 1 } do
      local r = w:lrun("learn", "grade", "job.lua", "--scenario", id)
      assert.equal(status, r.status, id .. r.out .. r.err)
      if status == 1 then assert.truthy(r.out:find("R1   MISSED", 1, true), id .. r.out) end
    end
  end)

  it("reads the source's tables by their names in plain SQL, and writes none", function()
    local w = World.new { source = false, warehouse = false }
    w:write("job.lua", 'job { transaction = "manual" }\nerror("rows " .. #query { "SELECT * FROM orders" })\n')
    local r = w:lrun("learn", "grade", "job.lua", "--scenario", "02-created-date")
    assert.truthy(r.err:find("rows 6", 1, true), r.err)
  end)

  it("writes JUnit's XML, with what a CI counts", function()
    local w = class { ann = MERGE, ben = CREATED, cat = BROKEN:gsub("nil %+ 1", 'error("<&\\">")') }
    local r = grade(w, "--junit", "grades.xml")
    assert.equal(5, r.status, r.err)
    local xml = files.read(w.dir .. "/grades.xml")
    assert.truthy(xml:find('<testsuite name="lrun learn 02-created-date" tests="10" failures="1" errors="1" skipped="5">', 1, true), xml)
    assert.truthy(xml:find('<testcase classname="class/ann/job.lua" name="R2 find rows that changed"/>', 1, true), xml)
    assert.truthy(xml:find('<testcase classname="class/ben/job.lua" name="R2 find rows that changed"><failure message="', 1, true), xml)
    assert.truthy(xml:find("&lt;&amp;", 1, true), xml)
    assert.same({}, unclosed(xml))
    r = grade(w, "--junit", "none/grades.xml")
    assert.equal(7, r.status)
    assert.is_nil(files.read(w.dir .. "/grades.xml.part"))
  end)

  it("grades a hundred jobs in less than twenty seconds", function()
    local jobs = {}
    for n = 1, 100 do jobs["p" .. n] = n % 3 == 0 and CREATED or MERGE end
    local w = class(jobs)
    local from = os.time()
    local r = w:lrun("learn", "grade", "class", "--scenario", "05-half-open", "-q")
    assert.equal(1, r.status, r.err)
    assert.is_true(os.difftime(os.time(), from) < (World.sanitized and 120 or 20))
    local _, lines = r.out:gsub("\n", "")
    assert.equal(100, lines)
  end)
end)

describe("learn grade", function()
  it("plays as many variants as asked for", function()
    -- right for the story as it is told, and for its first variant by chance of the hour
    local job = MERGE .. [[
if tonumber(os.date "%Y") > 2027 then execute { "UPDATE dw_orders SET amount = 0" } end
]]
    local w = class { ann = job }
    local function of(...) return w:lrun("learn", "grade", "class/ann/job.lua", "--scenario", "02-created-date", ...) end
    assert.equal(0, of("--variants", "0").status)
    local r = of("--variants", "19")
    assert.equal(1, r.status, r.out)
    assert.truthy(r.out:find("the same story with other dates", 1, true), r.out)
    World.says(of("--variants", "many"), 2, { "--variants", "no whole number" })
  end)

  it("says what is wrong with a folder", function()
    local w = class {}
    World.says(grade(w), 2, { "class", "job.lua" })
    World.says(w:lrun("learn", "grade", "nowhere", "--scenario", "S1"), 2, { "nowhere" })
  end)
end)

describe("the folder of a sandbox", function()
  local function shell(text) return (process.sh(text).out:gsub("\n$", "")) end
  local under = shell "test -w /dev/shm && echo /dev/shm || echo ${TMPDIR:-/tmp}"
  local dead, live = shell "echo $$", files.read("/proc/self/stat"):match "^%d+"
  local made = {}

  -- A folder of that name with a file in it, both as old as the words say.
  local function leave(name, age, file_age)
    local path = ("%s/lrun-%s"):format(under, name)
    made[#made + 1] = path
    assert(os.execute(("mkdir -m 700 %s && echo x > %s/source.db && touch -d '%s' %s/source.db %s"):format(path, path, age, path, path)))
    if file_age then assert(os.execute(("touch -d '%s' %s/source.db"):format(file_age, path))) end
    return path
  end

  local function there(path) return os.execute("test -e " .. path) == true end

  after_each(function()
    for _, path in ipairs(made) do os.execute("rm -rf " .. path) end
    made = {}
  end)

  it("that a killed process left is taken away by the next, and no other", function()
    local w = class { ann = MERGE }
    local left = leave(dead .. "-aaaaaa", "2 hours ago")
    local kept = {
      leave(dead .. "-bbbbbb", "30 minutes ago"),
      leave(dead .. "-cccccc", "2 hours ago", "1 minute ago"),
      leave(live .. "-dddddd", "2 hours ago"),
      leave(dead .. "-eeeeee.keep", "2 hours ago"),
      leave("notes-ffffff", "2 hours ago"),
    }
    -- What a link leads to is not lrun's, whether the link is the folder or in it.
    local mine = w:path "mine"
    assert(os.execute(("mkdir %s && echo x > %s/file && touch -d '2 hours ago' %s/file %s"):format(mine, mine, mine, mine)))
    local link = ("%s/lrun-%s-gggggg"):format(under, dead)
    made[#made + 1] = link
    assert(os.execute(("ln -s %s %s && touch -h -d '2 hours ago' %s"):format(mine, link, link)))
    local holder = leave(dead .. "-hhhhhh", "2 hours ago")
    assert(os.execute(("ln -s %s/file %s/link && mkdir %s/below && echo x > %s/below/file"):format(mine, holder, holder, holder)))
    assert(os.execute(("touch -h -d '2 hours ago' %s/link %s/below/file %s/below %s"):format(holder, holder, holder, holder)))
    local others
    if shell "id -u" == "0" then
      others = leave(dead .. "-iiiiii", "2 hours ago")
      assert(os.execute("chown 65534 " .. others))
      kept[#kept + 1] = others
    end

    assert.equal(0, grade(w).status)
    assert.is_false(there(left))
    for _, path in ipairs(kept) do assert.is_true(there(path .. "/source.db"), path) end
    assert.is_true(there(link .. "/file"))
    assert.is_true(there(holder .. "/below/file"))
  end)
end)
