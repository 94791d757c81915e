-- lrun learn: to the part that a command's first word names; the course else.
return function(o, cl)
  o.plain = cl.given.plain
  local what = cl.args[1]
  local problem = cl.given.pg and require "engine.sandbox".use(cl.given.pg)
  if problem then return require "show.fail".show(problem, o.json) end
  if what == "grade" then return require "command.learn_grade"(o, cl) end
  if what == "author" then return require "command.learn_author"(o, cl) end
  return require "course.course"(o, cl)
end
