-- What a learner reads: every lesson's text through the binary, on a terminal of 80 columns.
local World = require "world"
local lessons = require "lessons"

local function narrow(id, text)
  for line in text:gmatch "[^\n]+" do
    assert.is_true(utf8.len(line) <= 78, ("%s: %d columns: %s"):format(id, utf8.len(line), line))
  end
end

describe("the texts of learn", function()
  for _, id in ipairs(lessons.list()) do
    it(id .. ": text, hints, starter and solution stay within 78 columns", function()
      local w = World.new { source = false, warehouse = false }
      local r = w:lrun("learn", "start", id)
      assert.equal(0, r.status, r.err)
      assert.truthy(r.out:find(id, 1, true))
      narrow(id, r.out)
      for n = 1, 3 do
        local hint = w:lrun("learn", "hint")
        assert.truthy(hint.out:find(("HINT %d of 3"):format(n), 1, true), hint.out)
        narrow(id, hint.out)
      end
      w:lrun("learn", "solution")
      local solution = w:lrun("learn", "solution")
      assert.truthy(solution.out:find("job {", 1, true), solution.out)
      narrow(id, solution.out)
      narrow(id, require("files").read(w:path("lrun-course/" .. id .. "/job.lua")))
      narrow(id, require("files").read(w:path("lrun-course/" .. id .. "/README.txt")))
    end)
  end

  it("show of lateness what lateness shows", function()
    local w = World.new { source = false, warehouse = false }
    local text = w:lrun("learn", "start", "10-choosing-n").out
    local r = w:lrun("learn", "try", { stdin = 'lateness { from = "arrivals", by = "updated_at", arrived = "arrived_at" }\n' })
    local n = 0
    for line in r.out:gmatch "[^\n]+" do
      if line:find "^p%d%d " or line:find "^max " or line:find "^share " then
        n = n + 1
        assert.truthy(text:find("    " .. line .. "\n", 1, true), line .. " is not in:\n" .. text)
      end
    end
    assert.equal(5, n, r.out .. r.err)
  end)
end)
