-- The course: words from the command line, or line by line at its prompt.
local check = require "course.check"
local fail = require "show.fail"
local folder = require "course.folder"
local manual = require "course.manual"
local reader = require "show.reader"
local session = require "course.session"
local talk = require "course.talk"
local try = require "course.try"
local walk = require "course.walk"

local function step_of(text)
  local n = text and math.tointeger(tonumber(text))
  return n and n >= 0 and n or nil
end

-- Each takes the session and { words..., at =, file =, ... }.
local commands = {
  step = function(s) return walk.step(s) end,
  back = function(s) return walk.back(s) end,
  ["goto"] = function(s, a) return walk.to(s, step_of(a[1])) end,
  check = function(s, a) return check.run(s, a[1], a.job) end,
  watch = function(s) return check.watch(s) end,
  hint = function(s) return talk.hint(s) end,
  solution = function(s) return talk.solution(s) end,
  diff = function(s) return talk.diff(s) end,
  show = function(s, a) return walk.show(s, a[1], a.at) end,
  try = function(s, a) return try(s, a.at) end,
  text = function(s, a) return talk.text(s, a[1]) end,
  list = function(s) return talk.list(s) end,
  start = function(s, a) return talk.start(s, a[1]) end,
  next = function(s) return talk.next(s) end,
  reset = function(s, a) return talk.reset(s, a) end,
  help = function(s, a)
    if a[1] then
      s.page(a[1])
      return 0
    end
    s:show(manual.lines() .. "\n")
    return 0
  end,
}

local MOST = { help = 1, ["goto"] = 1, check = 1, show = 1, text = 1, start = 1 }

local names = {}
for name in pairs(commands) do names[#names + 1] = name end
table.sort(names)

-- Words and options of a line of the prompt, or nil and what is wrong.
local function parse(line)
  local a, words = {}, {}
  for word in line:gmatch "%S+" do words[#words + 1] = word end
  local i = 1
  local function value(name)
    i = i + 1
    if not words[i] then return nil, name .. " needs a value" end
    return words[i]
  end
  while words[i] do
    local word, why = words[i], nil
    if word == "--at" then
      local v
      v, why = value "--at"
      a.at = step_of(v)
      if v and not a.at then why = ("--at '%s' is no step"):format(v) end
    elseif word == "-f" then a.job, why = value "-f"
    elseif word == "--file" or word == "--db" or word == "--all" then a[word:sub(3)] = true
    elseif word:find "^%-[^%d]" then why = word .. " is not known here"
    else a[#a + 1] = word end
    if why then return nil, why end
    i = i + 1
  end
  return a
end

-- What was typed, as it is told: a line that was pasted may be long.
local LONGEST = 60
local function cut(word)
  local after = utf8.len(word) and utf8.offset(word, LONGEST + 1) or not utf8.len(word) and LONGEST + 1
  return after and after <= #word and word:sub(1, after - 1) .. "..." or word
end

local function unknown(s, word)
  local near = core.nearest(word:lower(), names)
  return s.usage(("\"%s\" is no word of the course"):format(cut(word)), near and ("did you mean %s?"):format(near) or "help lists them")
end

-- A command; its errors are told, and the course goes on.
local function run(s, name, a)
  if #a > (MOST[name] or 0) then return s.usage(("%s: \"%s\" is one word too many"):format(name, cut(a[#a])), "see help") end
  local ok, status = pcall(commands[name], s, a)
  if ok then return status end
  if type(status) ~= "table" then status = { status = 1, message = tostring(status) } end
  return fail.show(status, s.o.json)
end

local QUIET = { help = true, list = true } -- for whom they are enough, where no prompt follows

local function footer(s, name, status)
  if not s.progress or not s.progress:current() or s.o.quiet or s.o.json or core.signal() then return end
  if QUIET[name] and not s.loop then return end
  local ok, text = pcall(name == "check" and check.footer or s.now, s, status)
  if ok and not s.typed then
    core.write("\n" .. text)
    core.flush()
  end
end

-- ---- the prompt ----

local function loop(s)
  s.loop = true
  local status = run(s, "on", {})
  if status ~= 0 then return status end
  footer(s, "on", status)
  while not s.ended do
    if core.signal() == 15 then return 143 end
    core.clear_signal()
    local line, why = s.typed, nil
    s.typed = nil
    if not line then line, why = s:read "learn> " end
    if line and not core.isatty(0) then core.write("\nlearn> " .. core.visible(line) .. "\n") end
    if not line and why == "interrupt" then core.clear_signal()
    elseif not line then break
    elseif line:find "%S" then
      local a, problem = parse(line)
      for _, known in ipairs { "lrun", "learn" } do -- as it is typed in a shell
        if a and a[1] == known then table.remove(a, 1) end
      end
      local word = a and (table.remove(a, 1) or "on")
      if word and reader.leave[word] and #a == 0 then break end
      if not a then status = s.usage(problem, "see help")
      elseif not commands[word:lower()] then status = unknown(s, word)
      else
        status = run(s, word:lower(), a)
        footer(s, word:lower(), status)
      end
    end
  end
  core.write "\n"
  if core.signal() == 15 then return 143 end
  return s.terminal and 0 or status
end

commands.on = function(s) return talk.on(s) end

return function(o, cl)
  local s = session.new(o, folder.path(cl.given.dir))
  s.usage = function(message, hint)
    return fail.usage(o, message, hint)
  end
  s.is_command = function(word) return commands[word:lower()] ~= nil or reader.leave[word] end
  s.page = function(topic)
    require "command.help"(o, { args = { topic }, table = cl.table, commands = cl.commands, options = cl.options })
  end
  local word = cl.args[1]
  local status
  if o.json and word ~= "check" then
    return fail.usage(o, "--json is for learn check and learn grade", "the other words of the course are for people")
  end
  if not word then status = loop(s)
  elseif reader.leave[word] and #cl.args == 1 then status = 0
  elseif not commands[word] or word == "on" then status = unknown(s, word)
  else
    local a = table.move(cl.args, 2, #cl.args, 1, { file = cl.given.file, db = cl.given.db, all = cl.given.all, job = cl.given.job })
    a.at = step_of(cl.given.at)
    if cl.given.at and not a.at then
      return fail.usage(o, ("--at '%s' is no step"):format(cl.given.at), "write --at 2")
    end
    status = run(s, word, a)
    footer(s, word, status)
    if core.signal() then status = core.signal() == 15 and 143 or 130 end
  end
  s:close()
  return status
end
