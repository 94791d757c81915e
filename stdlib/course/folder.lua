-- The course folder: a folder for each lesson with the learner's job and the text,
-- and .learn/ for what lrun keeps. A learner's file is never written over.
local prose = require "course.prose"
local find = require "course.find"
local folder = {}

local NAME, KEPT = "lrun-course", ".learn"

-- Where the course is: the folder that --dir names; else the nearest one upwards
-- that is a course; else ./lrun-course.
function folder.path(given)
  if given then return (given:gsub("(.)/+$", "%1")) end
  local up = "."
  for _ = 1, 32 do
    if core.stat(up .. "/" .. KEPT .. "/progress.db") then return up end
    up = up == "." and ".." or up .. "/.."
  end
  return NAME
end

local function join(dir, name) return dir == "." and name or dir .. "/" .. name end

function folder.exists(dir) return core.stat(folder.progress(dir)) == "file" end
function folder.progress(dir) return join(dir, KEPT .. "/progress.db") end
function folder.history(dir) return join(dir, KEPT .. "/history") end
function folder.job(dir, id) return join(dir, id .. "/job.lua") end

local function must(ok, why, what)
  if not ok then
    error({ status = 1, message = ("%s: %s"):format(what, why), hint = "--dir DIR puts the course elsewhere" }, 0)
  end
  return ok
end

local function make(path)
  local ok, why = core.mkdir(path)
  must(ok, "the folder cannot be made: " .. tostring(why), path)
end

-- Whole or not at all: a kill leaves no half of a file.
local function write(path, text)
  local half = path .. ".new"
  local f, why = io.open(half, "wb")
  must(f, why, half)
  local ok
  ok, why = f:write(text)
  must(ok, why, half)
  must(f:close(), "cannot be written", half)
  ok, why = os.rename(half, path)
  must(ok, why, path)
end

function folder.make(dir)
  make(dir)
  make(join(dir, KEPT))
end

local README = [[
%s  %s

%s
Your job is the file job.lua beside this one. It is the only thing that is
looked at. Mend it in your own editor, save it, and type: lrun learn check
]]

-- The files of a lesson, where they are not there yet.
function folder.start(dir, l)
  local at = join(dir, l.id)
  make(at)
  if not core.stat(at .. "/job.lua") then write(at .. "/job.lua", l.starter) end
  if not core.stat(at .. "/README.txt") then
    write(at .. "/README.txt", README:format(l.id, l.title, l.text and prose.text(l.text, 78) .. "\n" or ""))
  end
end

-- The learner's job; or nil, why, and whether there is none.
function folder.read(dir, id) return find.text(folder.job(dir, id)) end

-- A copy of the job beside it, with the date in its name. Nil where there is no job.
local function keep(dir, id)
  local text, _, gone = folder.read(dir, id)
  if not text and gone then return nil end
  local base = join(dir, id) .. os.date "/job-%Y%m%d-%H%M%S"
  local path, n = base .. ".lua", 1
  while core.stat(path) do
    n = n + 1
    path = ("%s-%d.lua"):format(base, n)
  end
  if text then write(path, text) else -- what cannot be read is kept as it is
    local job = folder.job(dir, id)
    must(os.rename(job, path), "cannot be given another name", job)
  end
  return path
end

-- The starter again. Returns the copy's path.
function folder.restore(dir, l)
  make(join(dir, l.id))
  local copy = keep(dir, l.id)
  write(folder.job(dir, l.id), l.starter)
  return copy
end

return folder
