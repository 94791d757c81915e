-- scd2_oracle.lua: the versions that follow from all that was ever seen of each
-- key, in whatever order it came. At one moment a value outranks a presence, and
-- a presence that the key was gone.

local Oracle = {}
Oracle.__index = Oracle
local function new() return setmetatable({ seen = {} }, Oracle) end

local function rank(state) return state == false and 0 or state == true and 1 or 2 end

-- state: a value; true where the key was there, with the value that it had by
-- then; false where it was gone.
function Oracle:see(key, at, state)
  local of_key = self.seen[key] or {}
  self.seen[key] = of_key
  if of_key[at] == nil or rank(state) >= rank(of_key[at]) then of_key[at] = state end
end

-- Lines "key|value|from|to", sorted.
function Oracle:rows()
  local out = {}
  for key, of_key in pairs(self.seen) do
    local times, open, value = {}, nil, nil
    for at in pairs(of_key) do times[#times + 1] = at end
    table.sort(times)
    for _, at in ipairs(times) do
      local state = of_key[at]
      if state == true then state = value or false end
      if of_key[at] and of_key[at] ~= true then value = state end
      if open and open.state ~= state then
        out[#out + 1] = ("%s|%s|%s|%s"):format(key, open.state, open.at, at)
        open = nil
      end
      if not open and state then open = { state = state, at = at } end
    end
    if open then out[#out + 1] = ("%s|%s|%s|9999-12-31"):format(key, open.state, open.at) end
  end
  table.sort(out)
  return out
end

return new
