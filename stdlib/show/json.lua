-- One JSON object per line: `event`, `v` and the fields by their names.
local cjson = require "cjson"
local json = {}

cjson.encode_number_precision(14)

-- Bytes that are no UTF-8 would make the line none of JSON.
local function clean(text)
  if utf8.len(text) then return text end
  local out, at = {}, 1
  while at <= #text do
    local ok, bad = utf8.len(text, at)
    if ok then
      out[#out + 1] = text:sub(at)
      break
    end
    out[#out + 1] = text:sub(at, bad - 1) .. "?"
    at = bad + 1
  end
  return table.concat(out)
end

-- cjson writes integers of 64 bits as floats, so they are put in as digits.
local function value(v)
  if math.type(v) == "integer" then return ("%d"):format(v) end
  if type(v) == "table" then
    if #v > 0 or next(v) == nil then
      local parts = {}
      for i, item in ipairs(v) do parts[i] = value(item) end
      return "[" .. table.concat(parts, ",") .. "]"
    end
    local names, parts = {}, {}
    for name in pairs(v) do names[#names + 1] = name end
    table.sort(names)
    for i, name in ipairs(names) do parts[i] = cjson.encode(name) .. ":" .. value(v[name]) end
    return "{" .. table.concat(parts, ",") .. "}"
  end
  if type(v) == "number" and (v ~= v or v == math.huge or v == -math.huge) then return "null" end
  if type(v) == "string" then v = clean(v) end
  return cjson.encode(v)
end

function json.line(event, fields, order)
  local parts = { '"event":' .. cjson.encode(event), '"v":1' }
  if not order then
    order = {}
    for name in pairs(fields) do order[#order + 1] = name end
    table.sort(order)
  end
  for _, name in ipairs(order) do
    if fields[name] ~= nil then parts[#parts + 1] = cjson.encode(name) .. ":" .. value(fields[name]) end
  end
  core.write("{" .. table.concat(parts, ",") .. "}\n")
end

return json
