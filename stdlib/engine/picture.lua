-- The time line as text: days as columns, rows where they are stamped, windows
-- as brackets. A list of the same facts where it would not fit or is not wanted.
local data = require "engine.data"
local truth = require "engine.truth"
local xray = require "engine.xray"
local picture = {}

local DAY, LEFT = 86400000, 13
local MONTHS = { "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December" }

local function put(line, at, text)
  line = line .. (" "):rep(at - #line)
  return line:sub(1, at) .. text .. line:sub(at + #text + 1)
end

-- What stands on the time line: { column =, ms =, text = }, of the keys given.
local function marks(play, keys, upto)
  local probe, key = play.history.probe, play.history.truth.key[1]
  local t = data.table(play.history.source, probe.table)
  local kind, out, wanted = data.kinds(t), {}, {}
  for _, k in ipairs(keys) do wanted[truth.canon(k)] = true end
  local letter = probe.table:sub(1, 1)
  local function mark(value, column, when, label)
    if not wanted[truth.canon(value)] or not when then return end
    local ms = data.ms(when)
    if ms then out[#out + 1] = { column = column, ms = ms, text = letter .. tostring(value) .. (label and " " .. label or "") } end
  end
  local function row(r, label)
    local function at(name) return play.variant:value(kind[name], data.cell(t, r, name)) end
    for _, column in ipairs(probe.columns) do mark(at(key), column, at(column), label) end
  end
  for _, r in ipairs(t.rows or {}) do row(r) end
  for _, s in ipairs(play.steps) do
    if s.number > upto.number then break end
    local list = s.kind == "change" and { s.event } or s.event.during or {}
    for _, e in ipairs(list) do
      if e.insert == probe.table then row(e.row, e.label)
      elseif e.update == probe.table and e.where[key] then
        local value = play.variant:value(kind[key], e.where[key])
        local label = e.label
        for _, c in ipairs(t.columns) do
          if c[3] == "amount" and e.set[c[1]] then label = (label or "now") .. (" %.2f"):format(play.variant:amount(e.set[c[1]])) end
        end
        for _, column in ipairs(probe.columns) do
          if e.set[column] then mark(value, column, play.variant:date(e.set[column]), label) end
        end
      end
    end
  end
  return out
end

-- Which keys a run wrote: those whose rows are not as they were.
local function moved(step)
  if not step.have then return step.crashed and "stopped" or "" end
  local before, lists = step.have_before or {}, { wrote = {}, removed = {} }
  for _, entry in ipairs(truth.keys(before, step.have)) do
    local list = step.have[entry.key] and lists.wrote or lists.removed
    if not truth.same(before[entry.key], step.have[entry.key]) then list[#list + 1] = tostring(entry.value) end
  end
  local parts = {}
  for _, word in ipairs { "wrote", "removed" } do
    local list = lists[word]
    if #list > 6 then parts[#parts + 1] = ("%s %d rows"):format(word, #list)
    elseif #list > 0 then parts[#parts + 1] = word .. " " .. table.concat(list, " ") end
  end
  return #parts > 0 and table.concat(parts, ", ") or "wrote nothing"
end

local function keys_of(found)
  local set, list = {}, {}
  local function add(v)
    if v ~= nil and v ~= false and not set[truth.canon(v)] then
      set[truth.canon(v)] = true
      list[#list + 1] = v
    end
  end
  add(found.key)
  for _, s in ipairs(found.runs) do
    for _, entry in ipairs(s.have and truth.keys(s.have_before or {}, s.have) or {}) do
      if not truth.same((s.have_before or {})[entry.key], s.have[entry.key]) and #list < 6 then add(entry.value) end
    end
  end
  return list
end

local WEEK, MOST = 7 * DAY, 8

-- Where nothing differs: what the runs wrote, and the source's rows of the week
-- before the first event and since.
local function keys_at_large(play, found)
  local list, set = keys_of(found), {}
  for _, k in ipairs(list) do set[truth.canon(k)] = true end
  local first = play.history.events[1] or {}
  local from = data.ms(play.variant:date(first.at or first.run or first.skip or first.twice or first.retry) or "")
  local function add(v)
    if v ~= nil and v ~= false and not set[truth.canon(v)] and #list < MOST then
      set[truth.canon(v)] = true
      list[#list + 1] = v
    end
  end
  local t = data.table(play.history.source, play.history.probe.table)
  local kind, index = data.kinds(t), {}
  for i, c in ipairs(t.columns) do index[c[1]] = i end
  local key = play.history.truth.key[1]
  local function event(e)
    if (e.insert or e.update or e.delete) ~= t.name then return end
    local v = e.insert and (#e.row > 0 and e.row[index[key]] or e.row[key]) or e.where and e.where[key]
    add(play.variant:value(kind[key], v))
  end
  for _, s in ipairs(play.steps) do
    if s.kind == "change" then event(s.event) end
    for _, e in ipairs(s.event.during or {}) do event(e) end
  end
  for i = #(t.rows or {}), 1, -1 do
    local r = t.rows[i]
    for _, column in ipairs(play.history.probe.columns) do
      local v = r[index[column]]
      if #r == 0 then v = r[column] end
      local ms = data.ms(play.variant:value(kind[column], v) or "")
      if from and ms and ms >= from - WEEK then add(play.variant:value(kind[key], #r > 0 and r[index[key]] or r[key])) end
    end
  end
  return list
end

local function as_list(found, list)
  local out = {}
  for _, m in ipairs(list) do out[#out + 1] = ("%s: %s on %s"):format(m.column, m.text, data.text(m.ms)) end
  for _, s in ipairs(found.runs) do
    out[#out + 1] = ("run %s: window %s, %s"):format(s.day or s.run_start, xray.text(s.window), moved(s))
  end
  return out
end

-- Lines of at most o.width columns; o.plain asks for the list. found: a cause of
-- engine/diverge.lua; or { runs =, step = } for a play as it stands.
function picture.lines(play, found, o)
  local width = math.min(o.width or 80, 80)
  if not play.history.probe or (found.class and #found.runs == 0) then return {} end
  local list = marks(play, found.class and keys_of(found) or keys_at_large(play, found), found.step)
  if #list == 0 and #found.runs == 0 then return {} end
  if o.plain or width < 72 then return as_list(found, list) end
  local from, to = math.huge, -math.huge
  local function within(ms)
    if not ms then return end
    from, to = math.min(from, ms // DAY), math.max(to, ms // DAY)
  end
  for _, m in ipairs(list) do within(m.ms) end
  for _, s in ipairs(found.runs) do
    within(s.window.stop)
    within(data.ms(s.run_start))
  end
  for _, s in ipairs(found.runs) do -- a start far back is left of the picture
    local start = s.window.start
    if start and (to - start // DAY + 1) * 4 < width - LEFT then within(start) end
  end
  local days = to - from + 1
  local step = math.min(8, (width - LEFT - 1) // days)
  if step < 4 then return as_list(found, list) end
  local function column(ms)
    return math.max(LEFT, math.min(width - 1, LEFT + (ms - from * DAY) * step // DAY))
  end
  local out = {}
  local month = tonumber(data.text(from * DAY):sub(6, 7))
  local head = MONTHS[month]
  for d = from, to do
    local text = data.text(d * DAY)
    head = put(head, column(d * DAY), text:sub(9, 10) == "01" and d > from and text:sub(6) or text:sub(9, 10))
  end
  out[#out + 1] = head
  for _, name in ipairs(play.history.probe.columns) do
    local mine = {}
    for _, m in ipairs(list) do if m.column == name then mine[#mine + 1] = m end end
    table.sort(mine, function(a, b) if a.ms ~= b.ms then return a.ms < b.ms end return a.text < b.text end)
    local label = name:sub(1, LEFT - 1)
    while #mine > 0 do -- what would lie upon another goes into a line below
      local line, rest = label, {}
      for _, m in ipairs(mine) do
        local at = column(m.ms) -- the place is right, whatever of the label has room there
        while at + #m.text > width and m.text:find " " do m.text = m.text:gsub(" [^ ]*$", "") end
        at = math.min(at, width - #m.text)
        if at > #line or #line <= #label and at >= #line then line = put(line, at, m.text) else rest[#rest + 1] = m end
      end
      out[#out + 1] = line
      label, mine = "", #rest < #mine and rest or {}
    end
  end
  for _, s in ipairs(found.runs) do
    local w, line = s.window, "run " .. (s.day or s.run_start):sub(6, 10)
    if s.kind == "again" or s.kind == "retry" then line = line .. " +" end
    if w.all or w.none then
      out[#out + 1] = put(line, LEFT, (w.all and "every row   " or "no row   ") .. moved(s))
    else
      local start = w.start and w.start >= from * DAY and w.start or nil
      local a, b = start and column(start) or LEFT, w.stop and column(w.stop) or width - 1
      line = put(line, a, (start and (w.start_in and "[" or "(") or "<") .. ("="):rep(math.max(0, b - a - 1)) ..
                          (w.stop and (w.stop_in and "]" or ")") or ">"))
      local text = "  " .. moved(s)
      if #line + #text <= width then out[#out + 1] = line .. text
      else
        out[#out + 1] = line
        out[#out + 1] = put("", LEFT, text:sub(3))
      end
    end
  end
  if found.t then
    local text, at = ("%s, %s"):format(found.class, data.text(found.t)), column(found.t)
    if at + 2 + #text <= width then out[#out + 1] = put("", at, "^ " .. text)
    else out[#out + 1] = put("", at - #text - 1, text .. " ^") end
  end
  return out
end

return picture
