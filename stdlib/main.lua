-- From the parsed command line to a command. Returns the exit status.
local cl = ...
local fail = require "show.fail"
local options = require "options"

if cl.given.version then
  core.write("lrun " .. core.version .. "\n")
  return 0
end
if cl.given.help then
  cl.args = { cl.command ~= "help" and cl.command or cl.args[1] }
  cl.command = "help"
end

if cl.bare then
  return fail.show({ status = 2, message = "no command and no job",
                     hint = "for example: lrun jobs/orders.lua --logical-date 2026-01-20; see lrun help" }, cl.given.json)
end

local opts, problem = options.read(cl)
if not opts then return fail.show(problem, cl.given.json) end

if opts.max_seconds then core.deadline(opts.max_seconds) end
local command = cl.command
if (command == "run" or command == "backfill") and cl.given["dry-run"] then command = "plan" end
return require("command." .. command)(opts, cl)
