-- What `show` draws of a play as it stands after its last step.
local data = require "engine.data"
local difference = require "course.difference"
local picture = require "engine.picture"
local quote = require("engine.sandbox").quote
local show = require "show.table"
local stage = require "course.stage"
local tell = require "course.tell"
local timeline = require "engine.timeline"
local truth = require "engine.truth"
local versions = require "course.versions"
local wrap = require "show.wrap"
local null = require("cjson").null
local views = {}

local function last_run(play)
  local last
  for _, s in ipairs(play.steps) do if s.trace then last = s end end
  return last
end

local function last_step(play) return play.steps[#play.steps] end

-- ---- timeline ----

function views.timeline(play, o)
  local runs = {}
  for _, s in ipairs(play.steps) do
    if timeline.RUNS[s.kind] and (s.crashed or s.result.status == 0) then
      if play.history.probe then stage.window(play, s) end
      runs[#runs + 1] = s
    end
  end
  local lines = picture.lines(play, { runs = runs, step = last_step(play) }, { width = core.width(), plain = o.plain })
  if #lines > 0 then return table.concat(lines, "\n") .. "\n" end
  local out = {}
  for _, s in ipairs(play.steps) do out[#out + 1] = tell.line(play, s) end
  return #out > 0 and table.concat(out, "\n") .. "\n" or "Nothing has happened yet.\n"
end

-- ---- partitions ----

-- The day's column of the rows that are compared.
local function day_column(h)
  if h.truth.partition then return h.truth.partition end
  for _, name in ipairs(h.truth.columns) do
    for _, t in ipairs(h.source) do
      if data.kinds(t)[name] == "date" then return name end
    end
  end
end

-- Per day: rows, sum (nil where it is NULL), and the rows as one text.
local function by_day(t, side, column)
  local at, out = nil, {}
  for i, name in ipairs(t.columns) do
    if name == column then at = i end
  end
  for _, entry in pairs(side) do
    local day = tostring(entry.raw[at] or "NULL"):sub(1, 10)
    local d = out[day] or { rows = 0, set = {} }
    out[day] = d
    for _, row in ipairs(entry.rows) do
      d.rows = d.rows + 1
      d.set[#d.set + 1] = row
    end
    if t.total then
      local sum, values = truth.total(t, { entry }, t.total)
      if values > 0 then d.sum = (d.sum or 0) + sum end
    end
  end
  for _, d in pairs(out) do
    table.sort(d.set)
    d.set = table.concat(d.set, "\1")
  end
  return out
end

-- The same of the books, which need not say the number of rows.
local function of_books(play, books)
  local rows, why = play.box:rows("source", books.days)
  if not rows then error("the query of the books' days fails: " .. why, 0) end
  local out = {}
  for _, row in ipairs(rows) do
    local sum = tonumber(row[3] or nil)
    out[tostring(row[1] or "NULL"):sub(1, 10)] = { rows = row[2] or nil, sum = sum and math.floor(sum * 100 + 0.5) }
  end
  return out
end

local function days_of(...)
  local days, seen = {}, {}
  for _, side in ipairs { ... } do
    for day in pairs(side) do
      if not seen[day] then
        seen[day] = true
        days[#days + 1] = day
      end
    end
  end
  table.sort(days)
  return days
end

local NONE = { rows = 0, set = "" }

local function state_of(a, b)
  return a.set == b.set and "equal" or b.rows == 0 and "MISSING" or a.rows == 0 and "EXTRA" or "DIFFERS"
end

-- As SUM gives it: NULL where no value is.
local function total_of(d) return d.sum and ("%.2f"):format(d.sum / 100) or null end

local function day_text(d)
  if d.rows == 0 then return "no row" end
  local total = show.text(total_of(d))
  return d.rows and ("%d row%s, %s"):format(d.rows, d.rows == 1 and "" or "s", total) or total
end

-- Where a day is checked against books, and copied from elsewhere: all three.
local function with_books(t, s, w, b, column)
  local rows, copied = {}, t.books.copied or "source"
  for i, day in ipairs(days_of(s, w, b)) do
    local from, here, books = s[day] or NONE, w[day] or NONE, b[day] or NONE
    local state = state_of(from, here)
    if state == "equal" and ((books.rows or here.rows) ~= here.rows or books.sum ~= here.sum) then
      state = books.rows == 0 and "EXTRA" or here.rows == 0 and "MISSING" or "DIFFERS"
    end
    rows[i] = { day, day_text(books), day_text(from), day_text(here), state }
  end
  local counted = false
  for _, d in pairs(b) do counted = counted or d.rows ~= nil end
  local text = ("%s is compared with both: with %s, the books, by the day's %s; with %s, which is copied, row by row."):format(
    t.table, t.books.name, (counted and "number of rows and " or "") .. (t.total or "total"), copied)
  return show.table({ column, t.books.name, copied, t.table, "" }, rows) .. "\n" .. wrap(text, "", 0) .. "\n"
end

function views.partitions(play)
  local t = play.history.truth
  local column = day_column(play.history)
  if not column then return "These rows have no day.\n" end
  local have, why = truth.of_warehouse(play.box, t)
  if not have then return wrap(why, "", 0) .. "\n" end
  local s, w = by_day(t, truth.of_source(play.box, t), column), by_day(t, have, column)
  if t.books and t.books.days then return with_books(t, s, w, of_books(play, t.books), column) end
  local rows = {}
  for i, day in ipairs(days_of(s, w)) do
    local a, b = s[day] or NONE, w[day] or NONE
    rows[i] = { day, a.rows, b.rows, total_of(a), total_of(b), state_of(a, b) }
    if not t.total then
      rows[i] = { day, a.rows, b.rows, state_of(a, b) }
    end
  end
  local columns = t.total and { column, "source", t.table, "source " .. t.total, "warehouse " .. t.total, "" } or
                  { column, "source", t.table, "" }
  return show.table(columns, rows) .. "\n" ..
         (t.books and wrap("The source is what the rows are copied from; the books that a day is checked against are not shown here.",
                           "", 0) .. "\n" or "")
end

-- ---- state, versions ----

local MOST = 20

-- Of lrun's own only what it keeps for the job.
local function tables_of(box, which)
  local out = {}
  for _, name in ipairs(box:tables(which)) do
    if not name:find "^lrun_" or name == "lrun_watermarks" then out[#out + 1] = name end
  end
  return out
end

-- NULL as such, and amounts with their cents, whichever table they are in.
local function cells(h, columns, rows)
  local kinds = {}
  for _, list in ipairs { h.source, h.warehouse } do
    for _, t in ipairs(list) do
      for name, kind in pairs(data.kinds(t)) do kinds[name] = kinds[name] or kind end
    end
  end
  for _, row in ipairs(rows) do
    for i, v in ipairs(row) do
      if v == false then row[i] = null
      elseif type(v) == "number" and (kinds[columns[i]] == "amount" or math.type(v) == "float") then row[i] = ("%.2f"):format(v) end
    end
  end
  return rows
end

function views.state(play)
  local out = {}
  for _, which in ipairs { "source", "warehouse" } do
    for _, name in ipairs(tables_of(play.box, which)) do
      local columns = play.box:columns(which, name)
      local rows = play.box:rows(which, ("SELECT * FROM %s LIMIT %d"):format(quote(name), MOST + 1)) or {}
      local more = #rows > MOST
      if more then rows[#rows] = nil end
      local text = ("%s: %s"):format(which, name == "lrun_watermarks" and "the watermark that lrun keeps" or name)
      local drawn = #rows == 0 and "(no rows)" or show.table(columns, cells(play.history, columns, rows), 19)
      out[#out + 1] = text .. "\n" .. drawn .. "\n" .. (more and "...\n" or "")
    end
  end
  return table.concat(out, "\n")
end

function views.scd(play, o)
  local out = {}
  for _, which in ipairs { "warehouse", "source" } do
    for _, name in ipairs(tables_of(play.box, which)) do
      local columns = play.box:columns(which, name)
      if versions.has(columns) then
        local rows = play.box:rows(which, ("SELECT * FROM %s"):format(quote(name))) or {}
        out[#out + 1] = ("%s: %s\n"):format(which, name) .. versions.text(columns, rows, { width = core.width(), plain = o.plain })
      end
    end
  end
  return #out > 0 and table.concat(out, "\n") or "No table here has versions (valid_from and valid_to).\n"
end

-- ---- diff ----

function views.diff(play)
  local t = play.history.truth
  local have, why = truth.of_warehouse(play.box, t)
  if not have then return wrap(why, "", 0) .. "\n" end
  local want = truth.of_source(play.box, t)
  local list, out = truth.compare(t, want, have), {}
  for i, d in ipairs(list) do
    if i > MOST then
      out[#out + 1] = ("... %d more"):format(#list - MOST)
      break
    end
    local h, w = difference.sides(t, d)
    local key = d.key:gsub("'", "")
    out[#out + 1] = ("%-11s %s %s"):format(d.class, table.concat(t.key, ", "), key)
    out[#out + 1] = difference.line("    warehouse   ", h)
    out[#out + 1] = difference.line("    source      ", w)
  end
  if #list == 0 then out[1] = ("%s and the source: no difference"):format(t.table) end
  if t.total then out[#out + 1] = "TOTALS  " .. difference.totals(truth.total(t, want, t.total), truth.total(t, have, t.total)) end
  return table.concat(out, "\n") .. "\n"
end

-- ---- trace, sql ----

local function of_run(play, fn)
  local step = last_run(play)
  if not step then return "No run yet.\n" end
  local lines = fn(step)
  if #lines == 0 then lines[1] = "no statement that reads or writes rows" end
  return ("the run of %s\n"):format(timeline.when(step)) .. table.concat(lines, "\n") .. "\n"
end

local function one_line(sql) return (sql:gsub("%s+", " "):gsub("^ ", "")) end

-- Both phases of a statement are one line, where nothing came between them.
function views.trace(play)
  return of_run(play, function(step)
    local out, landed, n = {}, false, 0
    for i, t in ipairs(step.trace) do
      local follows = step.trace[i + 1]
      if step.event.during and not landed and t.phase == "before" and t.kind == "write" then
        landed = true
        out[#out + 1] = "      ----  here rows land in the source"
      end
      if t.phase == "before" then n = n + 1 end
      if t.phase == "after" or not follows or follows.phase == "before" then
        local line = ("%4d  %-6s %-9s %s"):format(n, t.kind, t.connection or "", one_line(t.sql or ""))
        if #line > 68 then line = line:sub(1, 65) .. "..." end
        local rows = t.phase == "before" and "begun"
        if t.phase == "after" and t.kind == "write" and t.rows then rows = ("%d row%s"):format(t.rows, t.rows == 1 and "" or "s") end
        out[#out + 1] = rows and ("%-68s %s"):format(line, rows) or line
      end
    end
    if step.crashed then out[#out + 1] = "      ----  here the machine stopped" end
    return out
  end)
end

function views.sql(play)
  return of_run(play, function(step)
    local out, n = {}, 0
    for _, t in ipairs(step.trace) do
      if t.phase == "before" and t.sql then
        n = n + 1
        out[#out + 1] = wrap(one_line(t.sql), ("%4d  %-9s  "):format(n, t.connection or ""), 17)
      end
    end
    return out
  end)
end

views.order = { "timeline", "partitions", "scd", "state", "diff", "trace", "sql" }

return views
