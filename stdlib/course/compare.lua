-- What was changed in a text, line by line, against another.

local function lines_of(text)
  local out = {}
  for line in (text:gsub("\n$", "") .. "\n"):gmatch "(.-)\r?\n" do out[#out + 1] = line end
  return out
end

-- How long the longest run of common lines is from each place on.
local function lengths(a, b)
  local at = {}
  for i = #a + 1, 1, -1 do
    at[i] = {}
    for j = #b + 1, 1, -1 do
      if i > #a or j > #b then at[i][j] = 0
      elseif a[i] == b[j] then at[i][j] = at[i + 1][j + 1] + 1
      else at[i][j] = math.max(at[i + 1][j], at[i][j + 1]) end
    end
  end
  return at
end

local AROUND, MOST = 2, 2000

-- Lines with "- " of before, "+ " of after, and two around them. Nil where the
-- texts are alike.
return function(before, after)
  local a, b = lines_of(before), lines_of(after)
  if #a > MOST or #b > MOST then return { "- (too long to compare line by line)" } end
  local at, all, i, j = lengths(a, b), {}, 1, 1
  local changed = false
  while i <= #a or j <= #b do
    if i <= #a and j <= #b and a[i] == b[j] then
      all[#all + 1] = { " ", b[j] }
      i, j = i + 1, j + 1
    elseif i <= #a and (j > #b or at[i + 1][j] >= at[i][j + 1]) then
      all[#all + 1] = { "-", a[i] }
      i, changed = i + 1, true
    else
      all[#all + 1] = { "+", b[j] }
      j, changed = j + 1, true
    end
  end
  if not changed then return nil end
  local keep, out, gap = {}, {}, false
  for n, line in ipairs(all) do
    if line[1] ~= " " then
      for m = n - AROUND, n + AROUND do keep[m] = true end
    end
  end
  for n, line in ipairs(all) do
    if keep[n] then
      if gap then out[#out + 1] = "..." end
      gap = false
      out[#out + 1] = line[1] .. " " .. line[2]
    else
      gap = true
    end
  end
  return out
end
