-- What users of 0.1.0 have goes on: its jobs, its ledger and its warehouse give the same rows and
-- statuses. data/0.1.0/README says what is there and what differs on purpose.
local files = require "files"
local old = require "old_files"

local function lines_of(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do list[#list + 1] = line end
  return list
end

-- The lines of one list that the other lacks; a line counts as often as it is there.
local function beyond(list, other)
  local count, rest = {}, {}
  for _, line in ipairs(other) do count[line] = (count[line] or 0) + 1 end
  for _, line in ipairs(list) do
    if (count[line] or 0) > 0 then count[line] = count[line] - 1 else rest[#rest + 1] = line end
  end
  return rest
end

describe("a warehouse and ledger of 0.1.0,", function()
  for _, name in ipairs(old.pairs) do
    if not os.getenv "LRUN_TEST_PAIR" or os.getenv "LRUN_TEST_PAIR" == name then
      it("with its jobs, goes on with the same rows and statuses, " .. name, function()
        local expected = lines_of(files.read(old.file("expected", name)))
        local gone, come = old.differs(name)
        for _, line in ipairs(gone) do
          local at
          for i, other in ipairs(expected) do if other == line.text then at = i end end
          assert.is_truthy(at, "differs.txt names a line that is not in expected: " .. line.text)
          table.remove(expected, at)
        end
        for _, line in ipairs(come) do expected[#expected + 1] = line.text end

        local w = old.world(name, true)
        w:source(files.read(old.dir .. "night.sql"))
        local found = old.run(w, old.second)
        local said = {}
        for _, line in ipairs(found) do
          if not line:find ": 0$" then said[#said + 1] = line .. "\n    " .. found[line] end
        end
        for _, line in ipairs(old.held(w)) do found[#found + 1] = line end
        local missing, extra = beyond(expected, found), beyond(found, expected)
        if #missing + #extra > 0 then
          error(("not as 0.1.0:\n  missing: %s\n  instead: %s\n  said:\n  %s"):format(
            table.concat(missing, "\n           "), table.concat(extra, "\n           "), table.concat(said, "  ")), 0)
        end
      end)

      it("is read by status, runs and watermark, and plan writes nothing, " .. name, function()
        local w = old.world(name, true)
        local before = w:state()
        assert.is_truthy(w:ok("status", "half.lua").out:find "2026%-01%-21")
        assert.is_truthy(w:ok("status").out:find "orders_incremental")
        assert.is_truthy(w:ok("runs").out:find "stream")
        assert.is_truthy(w:ok("watermark", "newest.lua").out:find "2026%-01%-20 23:30:00")
        for _, job in ipairs { "orders.lua", "dim_customer.lua", "times.lua" } do w:ok("plan", job, "--logical-date", "2026-01-20", "--run-start", "2026-01-21") end
        assert.equal(before, w:state())
      end)
    end
  end
end)
