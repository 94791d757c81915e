-- random.lua: LRUN_TEST_SEED repeats a random test; the seed is printed.

local M = {}

function M.seed()
  local seed = tonumber(os.getenv "LRUN_TEST_SEED") or os.time()
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
