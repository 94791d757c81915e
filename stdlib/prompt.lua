-- A session at a prompt: SQL, Lua and primitives, line by line, until it is left.
local leave = require "show.reader".leave

local words = {}
for word in ([[select insert update delete with create drop alter explain replace values pragma analyze reindex
  begin attach detach vacuum savepoint release end truncate merge copy table]]):gmatch("%a+") do words[word] = true end

-- What is SQL: it starts with a word of SQL that is no Lua here, or ends with ;
local function is_sql(line)
  local first = line:match("^%s*(%a+)")
  if not first then return line:match(";%s*$") and line:match("^%s*%-%-") == nil end
  local lower = first:lower()
  if words[lower] then
    -- merge { ... } and end are Lua too
    local rest = line:match("^%s*%a+%s*(.?)")
    if rest == "{" or rest == "(" or rest == "=" or rest == "." then return lower ~= "merge" and rest == "(" and lower ~= "table" end
    if lower == "end" or lower == "table" then return false end
    return true
  end
  return line:match(";%s*$") ~= nil and not line:match("^%s*local%s") and not line:match("^%s*[%w_%.]+%s*=")
end

local help = [[
SQL      a line that starts with a SQL word, or ends with ;
Lua      anything else; a value is printed, rows as a table
window "2026-01-20", extract { ... }, merge { ... }: the primitives
tables             the warehouse's tables        help merge   the page of a primitive
commit, rollback   keep or take back what was written since the last of them
q, \q, Ctrl-D      leave; what was not committed is rolled back]]

local function say(text)
  if text ~= "" then core.write(text .. "\n") end
  core.flush()
end

local function complain(e)
  core.warn(((e.text or e.message):gsub("^prompt:%d+: ", "")) .. "\n")
end

-- prompt: of core.prompt. o.label stands before each line; o.page(topic) shows a
-- page of help. Returns when it is left; what was not committed is rolled back.
return function(prompt, read, o)
  local function answer(text, e)
    if text then say(text) else complain(e) end
  end

  local commands = {
    commit = function()
      local was = prompt:open()
      local ok, e = prompt:commit()
      if ok then say(was and "committed" or "nothing to commit") else complain(e) end
    end,
    rollback = function()
      local was = prompt:open()
      prompt:rollback()
      say(was and "rolled back" or "nothing to roll back")
    end,
    help = function(topic)
      if not topic then return say(help) end
      o.page(topic)
    end,
    tables = function() answer(prompt:tables()) end,
  }

  local pending
  while true do
    if core.signal() == 15 then break end
    core.clear_signal()
    local line, ended = read(pending and (" "):rep(#o.label - 2) .. ">> " or prompt:open() and o.label .. "*> " or o.label .. "> ")
    if not line and ended == "interrupt" then
      core.clear_signal()
      pending = nil
    elseif not line then
      break
    else
      local text = pending and pending .. "\n" .. line or line
      local word, topic = text:match("^%s*([%a\\%.]+)%s*([%w_]*)%s*;?%s*$")
      pending = nil
      if text:match("^%s*$") then text = nil end
      if word and leave[word] and topic == "" then break
      elseif word and commands[word:lower()] and (topic == "" or word:lower() == "help") then
        commands[word:lower()](topic ~= "" and topic or nil)
      elseif text and is_sql(text) then
        local out, e = prompt:sql((text:gsub(";%s*$", "")))
        answer(out, e)
      elseif text then
        local out, e, more = prompt:eval(text)
        if not out and more then pending = text
        else
          answer(out, e)
        end
      end
    end
  end
  if pending then
    local _, e = prompt:eval(pending)
    complain(e)
  end
  local open = prompt:open()
  if open then
    prompt:rollback()
    say("what was not committed is rolled back")
  end
end
