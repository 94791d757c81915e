-- Rows as a table with a head, numbers to the right, cut to the screen's width.
local show = {}
local null = require("cjson").null

-- Characters, not bytes, make the width; control characters are shown by name.
local function clean(text)
  return (text:gsub("[%z\1-\31\127]", function(c)
    return ({ ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r" })[c] or ("\\x%02x"):format(c:byte())
  end))
end

local function width(text) return utf8.len(text) or #text end

local function cut(text, n)
  if width(text) <= n then return text end
  if not utf8.len(text) then return text:sub(1, n - 1) .. "~" end
  return text:sub(1, utf8.offset(text, n) - 1) .. "~"
end

function show.text(v)
  if v == nil or v == null then return "NULL" end
  return clean(tostring(v))
end

-- columns: a list of names; rows: a list of lists.
function show.table(columns, rows, most)
  local widths, numeric, cells = {}, {}, {}
  for i, name in ipairs(columns) do
    widths[i] = width(show.text(name))
    numeric[i] = #rows > 0
  end
  for r, row in ipairs(rows) do
    cells[r] = {}
    for i = 1, #columns do
      local v = row[i]
      local text = cut(show.text(v), most or 48)
      cells[r][i] = text
      widths[i] = math.max(widths[i], width(text))
      if v ~= nil and v ~= null and type(v) ~= "number" and not tostring(v):match("^-?%d+%.?%d*$") then numeric[i] = false end
    end
  end
  local function pad(text, i)
    local space = (" "):rep(widths[i] - width(text))
    return numeric[i] and space .. text or text .. space
  end
  local function line(list)
    local parts = {}
    for i, text in ipairs(list) do parts[i] = pad(text, i) end
    return (table.concat(parts, "  "):gsub("%s+$", ""))
  end
  local out, head, rule = {}, {}, {}
  for i, name in ipairs(columns) do
    head[i] = show.text(name)
    rule[i] = ("-"):rep(widths[i])
  end
  out[1] = line(head)
  out[2] = table.concat(rule, "  ")
  for r = 1, #cells do out[#out + 1] = line(cells[r]) end
  return table.concat(out, "\n")
end

return show
