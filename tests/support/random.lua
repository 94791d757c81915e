-- random.lua: LRUN_TEST_SEED repeats a random test; the seed is printed. A test may have a
-- seed of its own, so that a failure is a change's and not the day's.

local M = {}

function M.seed(own)
  local seed = tonumber(os.getenv "LRUN_TEST_SEED") or own or os.time()
  print("seed " .. seed)
  math.randomseed(seed)
  return seed
end

-- The list itself, in another order.
function M.shuffled(list)
  for i = #list, 2, -1 do
    local j = math.random(i)
    list[i], list[j] = list[j], list[i]
  end
  return list
end

return M
