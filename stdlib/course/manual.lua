-- What can be typed in the course, for its prompt and for lrun help learn.
local wrap = require "show.wrap"
local manual = {}

manual.words = {
  { "step", "play the next event with your job, and tell what happened" },
  { "back, goto N", "the step before; step N, 0 being before the first" },
  { "check [ID] [-f FILE]", "play it all from the start, and compare" },
  { "watch", "check again whenever the job is saved" },
  { "hint", "the next of the lesson's hints" },
  { "show WHAT [--at N]", "timeline, partitions, scd, state, diff, trace, sql" },
  { "try [--at N]", "SQL and primitives on a copy; nothing there counts" },
  { "diff", "what you changed in the job" },
  { "solution", "one solution, when it is asked for twice" },
  { "text [ID]", "the lesson's text again" },
  { "list", "the lessons, and which are passed" },
  { "start ID, next", "go to a lesson; to the next one" },
  { "reset [--file | --db | --all]", "the job as it was (yours is kept beside it); step 0; all of the lesson" },
  { "q, quit, exit, \\q, Ctrl-D", "leave; lrun learn comes back to the same place" },
}

function manual.lines()
  local out = {}
  for _, w in ipairs(manual.words) do
    local first = "  " .. w[1]
    if #first > 24 then
      out[#out + 1] = first
      first = ""
    end
    out[#out + 1] = wrap(w[2], ("%-25s"):format(first), 25)
  end
  return table.concat(out, "\n")
end

manual.page = [[
lrun learn goes on where you were, and leads you the first time. It is a prompt on a terminal, and reads a line at a
time from a pipe; each word below is a command of its own too: lrun learn step.

]] .. manual.lines() .. [[


The course is a folder: a folder for each lesson with job.lua and README.txt, and .learn/progress.db. It is the
folder of --dir, else the nearest one upwards that is a course, else ./lrun-course. Your file is never written over.
Status of check: 0 passed, 1 not yet; of check, step and show: 4 a limit was hit, 5 the job has an error; 2 wrong use.

With --pg URL all of it runs on that PostgreSQL, in schemas that are made for it and dropped again, so that MERGE works
as it is taught. Give it with every command; it is not written down.

lrun learn grade FILE --scenario ID tells of each requirement whether it is met, MISSED or not reached, with the first
difference and its cause. Without --seed the scenario is played as it is written and, when it is passed, once with
other dates, ids and amounts; --variants N plays more of them. Status: 0 all met, 1 missed, 2 wrong use, 4 a limit was
hit, 5 the job has an error. A folder in the place of FILE grades every */job.lua in it, a line each: the file, the
state, the first rule that was missed; the status is then the highest of all. --json gives an object for each file,
--junit FILE writes JUnit's XML as well.

lrun learn author new FILE.lua writes a small scenario with comments to begin with; author check FILE.lua checks one, or
a built-in one by its name; author preview FILE.lua shows it as a learner sees it. A scenario's days in the past, its
check of a week, and what is found of them from outside are told at the head of stdlib/engine/backfill.lua, weekly.lua.
]]

return manual
