-- lrun learn: to the part that a command's first word names.
local fail = require "show.fail"

return function(o, cl)
  o.plain = cl.given.plain
  local what = cl.args[1]
  if what == "grade" and #cl.args <= 2 then return require "command.learn_grade"(o, cl) end
  if what == "author" then return require "command.learn_author"(o, cl) end
  return fail.usage(o, ("learn has no \"%s\""):format(table.concat(cl.args, " ")),
                    "lrun learn grade FILE --scenario ID, lrun learn author check FILE.lua; see lrun help learn")
end
