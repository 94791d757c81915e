-- random.lua: LRUN_TEST_SEED repeats a random test; the seed is printed.

local M = {}

function M.seed()
  local seed = tonumber(os.getenv "LRUN_TEST_SEED") or os.time()
  print("seed " .. seed)
  math.randomseed(seed)
  return seed
end

return M
