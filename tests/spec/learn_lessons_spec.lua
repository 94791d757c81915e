-- The lessons of learn prove themselves.
local lessons = require "lessons"

describe("learn's lessons", function()
  for _, id in ipairs(lessons.some "^%d") do
    it(id .. ": the starter fails, the solutions pass on 20 seeds, each mutant fails as it says", function() lessons.proves_itself(id) end)
  end

  it("are all there, in the order in which they are learned, the exercises and the scenarios behind them", function()
    local want, list = {}, lessons.list()
    for n = 0, 16 do want[#want + 1] = ("%02d"):format(n) end
    for n = 1, 2 do want[#want + 1] = "E" .. n end
    for n = 1, 5 do want[#want + 1] = "S" .. n end
    for i, id in ipairs(list) do list[i] = id:match "^[^-]+" end
    assert.same(want, list)
  end)
end)
