-- lrun learn where something is wrong that no lesson is about: a check that writes, a file
-- or a folder that cannot be read or written.
local Course = require "course"
local files = require "files"
local process = require "process"
local World = require "world"

-- Root reads and writes everything, so the learner is somebody else then, and the binary
-- is where they can reach it.
local function nobody(c)
  local pipe = assert(io.popen "id -u")
  local root = pipe:read "a" == "0\n"
  pipe:close()
  local dir = c.world.dir
  if not root then return function(...) return process.run({ World.bin, "learn", ... }, { cwd = dir }) end end
  local up = dir
  while up:find "/tmp%." or up:find "lrun" do
    os.execute("chmod a+rx '" .. up .. "'")
    up = up:match "^(.*)/[^/]+$" or ""
  end
  os.execute(("cp '%s' '%s/lrun'; chmod 755 '%s/lrun'; chown -R 65534:65534 '%s'"):format(World.bin, dir, dir, dir))
  return function(...)
    return process.run({ "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", dir .. "/lrun", "learn", ... }, { cwd = dir })
  end
end

local function has(text, ...)
  for _, word in ipairs { ... } do assert.is_truthy(text:find(word, 1, true), word .. " is not in:\n" .. text) end
end

describe("a weekly check", function()
  it("that names what differs and writes all the same is not let pass, whichever table it writes", function()
    local c = Course.new()
    c:ok("start", "S2")
    local right = Course.lesson("S2").solution
    local from, to = right:find('if since ~= "" then\n', 1, true)
    assert.truthy(from)
    local function first(statement)
      c:job("S2", right:sub(1, to) .. ('  execute { "%s" }\n'):format(statement) .. right:sub(to + 1))
      local r = c:learn "check"
      assert.equal(1, r.status, r.out .. r.err)
      return r.out:gsub("%s+", " ")
    end
    has(first "UPDATE wm SET watermark = '2026-01-01'", "the check changed wm; it must write nothing", "R9 MISSED")
    has(first "INSERT INTO staged VALUES (1, 'x', 1, 'x')", "the check changed staged; it must write nothing")
    has(first "CREATE TABLE mine(a)", "the check changed mine; it must write nothing")
    has(first "UPDATE dw_orders SET amount = 1", "the check changed dw_orders; it must write nothing")
    c:job("S2", right)
    c:ok "check"
  end)
end)

describe("a course", function()
  local JOB = "02-created-date/job.lua"
  local function at_02()
    local c = Course.new()
    c:ok("start", "02")
    return c
  end

  it("says why a job cannot be read, and keeps it through a reset", function()
    local c = at_02()
    c:job("02-created-date", "-- mine\n")
    local learn = nobody(c)
    os.execute("chmod 000 '" .. c:path(JOB) .. "'")
    for _, word in ipairs { "check", "step" } do
      World.says(learn(word), 2, { "job.lua cannot be read: Permission denied", "chmod u+r" })
    end
    local r = learn("reset", "--file")
    assert.equal(0, r.status, r.err)
    local copy = r.out:gsub("\n", " "):match "(lrun%-course/02%-created%-date/job%-%d+%-%d+[-%d]*%.lua)"
    os.execute("chmod 644 '" .. c.world:path(copy) .. "'")
    assert.equal("-- mine\n", files.read(c.world:path(copy)))
    assert.equal(Course.lesson("02-created-date").starter, c:read(JOB))
    os.execute(("rm '%s'; mkdir '%s'"):format(c:path(JOB), c:path(JOB)))
    for _, word in ipairs { "check", "step" } do
      World.says(learn(word), 2, { "job.lua cannot be read: Is a directory", "it is a folder" })
    end
    os.execute("rmdir '" .. c:path(JOB) .. "'")
    World.says(learn "check", 2, { "job.lua is not there", "reset --file" })
  end)

  it("whose folder cannot be written says so, and does not ask to move the progress away", function()
    local c = at_02()
    local learn = nobody(c)
    for _, what in ipairs { "lrun-course", "lrun-course/.learn", "lrun-course/.learn/progress.db" } do
      local path = c.world:path(what)
      os.execute("chmod -R a-w '" .. path .. "'")
      for _, word in ipairs { "check", "step" } do
        local r = learn(word)
        World.says(r, 5, { "the course's folder cannot be written", "chmod -R u+w lrun-course gives" })
        assert.is_nil(r.err:find("move the file away", 1, true))
      end
      os.execute("chmod -R u+w '" .. path .. "'")
      assert.equal(0, learn("step").status)
    end
  end)

  it("says in the head of a check that the job has an error, and counts no difference", function()
    local c = at_02()
    c:job("02-created-date", "error 'no'\n")
    local r = c:learn "check"
    assert.equal(5, r.status)
    has(r.out, "1 run, the job has an error\nERROR   ")
    assert.is_nil(r.out:find("no difference", 1, true))
  end)
end)
