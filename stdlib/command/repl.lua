-- lrun repl: primitives, SQL and Lua in one prompt.
local connect = require "connect"
local fail = require "show.fail"
local reader = require "show.reader"
local report = require "show.report"

local function history_file()
  local home = os.getenv("HOME")
  if not home or home == "" then return nil end
  return home .. "/.lrun_history"
end

return function(o, cl)
  local config, problem = connect.config(o, cl.args[1])
  if not config then return fail.show(problem, o.json) end
  config.on_event = report.new(o)
  local prompt, why = core.prompt(config)
  if not prompt then return fail.show(why, o.json) end
  local read, close = reader.open(history_file())
  if core.isatty(0) and not o.quiet then core.write("lrun " .. core.version .. "   help for help, q to leave\n") end
  require "prompt"(prompt, read, { label = "lrun", page = function(topic)
    require "command.help"(o, { args = { topic }, table = cl.table, commands = cl.commands, options = cl.options })
  end })
  prompt:close()
  close()
  if core.isatty(0) then core.write("\n") end
  if core.signal() == 15 then return 143 end
  return 0
end
