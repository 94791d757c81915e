-- What a run tells of itself, as lines for people or as JSON.
local json = require "show.json"
local report = {}

local null = require("cjson").null
local function present(v) return v ~= nil and v ~= null end

local function paint(o, code, text)
  return o.color and ("\27[%sm%s\27[0m"):format(code, text) or text
end

local function rows(n) return n == 1 and "1 row" or n .. " rows" end

-- "1 -> 1 rows" for what was replaced, counts for what was merged.
local function write_line(f)
  local what
  if f.primitive == "overwrite_partition" or f.primitive == "full_load" or f.primitive == "swap" then
    what = ("%d -> %s"):format(f.rows_deleted, rows(f.rows_inserted))
  elseif f.primitive == "delete_missing" then
    what = ("keys %d, deleted %d"):format(f.rows_read, f.rows_deleted)
  else
    what = ("read %d, inserted %d, updated %d"):format(f.rows_read, f.rows_inserted, f.rows_updated)
    if f.rows_deleted > 0 then what = what .. (", deleted %d"):format(f.rows_deleted) end
  end
  local window = present(f.window) and "  " .. f.window or ""
  return ("%s %s%s   %s"):format(f.primitive, f.target, window, what)
end

-- One comparison; prefix names its target where several are shown together.
local function check_text(o, f, prefix)
  prefix = prefix or ""
  if present(f.text) then return paint(o, "31", core.visible(prefix .. f.text)) end
  local shown = function(v) return present(v) and v or "NULL" end
  local group = present(f.group_value) and "[" .. f.group_value .. "] " or ""
  local text = core.visible(("%s%s%s %s %s %s"):format(prefix, group, f.label, shown(f.source_value), f.equal and "=" or "<>",
    shown(f.warehouse_value)))
  if f.equal then return text end
  if present(f.difference) then text = text .. (" (difference %s)"):format(f.difference) end
  return paint(o, "31", text)
end

-- A function for core.run's on_event.
function report.new(o)
  if o.json then
    return function(event, fields, order)
      if o.quiet and event ~= "error" then return end
      json.line(event, fields, order)
    end
  end
  local parts = {}
  local function line(text) if not o.quiet then core.write(text .. "\n") end end
  local on = {
    run = function(f)
      local date = present(f.logical_date) and "  " .. f.logical_date or ""
      line(("run %s%s   %s -> %s"):format(core.visible(f.job), date, present(f.source) and f.source or "no source", f.warehouse))
    end,
    note = function(f) line("  note: " .. core.visible(f.message)) end,
    print = function(f) line(f.message) end,
    write = function(f) line("  " .. core.visible(write_line(f))) end,
    check = function(f) parts[#parts + 1] = check_text(o, f) end,
    checked = function(f)
      local shown = #parts <= 12 and parts or { table.unpack(parts, 1, 12) }
      local more = #parts > 12 and ("   and %d more"):format(#parts - 12) or ""
      local moved = f.moved_on > 0 and ("   moved on: %d"):format(f.moved_on) or ""
      line(("  check %s   %s%s%s   %s"):format(core.visible(f.target), table.concat(shown, "   "), more, moved,
           f.equal and paint(o, "32", "equal") or paint(o, "31", "DIFFERS")))
      parts = {}
    end,
    watermark = function(f)
      line(("  watermark %s   %s -> %s"):format(core.visible(f.name), present(f.before) and f.before or "none", f.value))
    end,
    step = function(f) line(("  %s %s"):format(f.primitive, f.target)) end,
    statement = function(f) line("  would run: " .. f.sql:gsub("%s*\n%s*", " ")) end,
    window = function(f)
      if o.show_windows then line(("  window on %s.%s   %s"):format(f.source_table, f.column_name, f.text)) end
    end,
    sql = function(f)
      local n = present(f.rows) and ("  %s"):format(rows(f.rows)) or ""
      line(("  %s: %s   %.2f ms%s"):format(f.connection, f.sql:gsub("%s*\n%s*", " "), f.ms, n))
    end,
  }
  return function(event, fields)
    if on[event] then on[event](fields) end
  end
end

report.present = present
report.paint = paint
report.rows = rows
report.check_text = check_text
return report
