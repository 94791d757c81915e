-- course.lua: a folder in which lrun learn is used: words as commands, lines through a
-- pipe, keys on a terminal.

local files = require "files"
local process = require "process"
local sqlite = require "sqlite"
local World = require "world"

local M = {}

local Course = {}
Course.__index = Course

function M.new()
  return setmetatable({ world = World.new { source = false, warehouse = false } }, Course)
end

function Course:path(name) return self.world:path("lrun-course/" .. name) end
function Course:read(name) return files.read(self:path(name)) end
function Course:job(id, text) return files.write(self:path(id .. "/job.lua"), text) end

-- learn(words..., [options of process.run])
function Course:learn(...) return self.world:lrun("learn", ...) end

-- The same; it has to end with status 0.
function Course:ok(...) return self.world:ok("learn", ...) end

-- Lines through a pipe.
function Course:lines(...)
  return self:learn { stdin = table.concat({ ... }, "\n") .. "\n" }
end

-- What lrun keeps of the learner.
function Course:kept(query) return sqlite.one(self:path ".learn/progress.db", query) end

-- Every file of the course by its name.
function Course:files()
  local pipe = assert(io.popen("find " .. process.quote(self.world:path "lrun-course") .. " -type f | sort"))
  local out = {}
  for path in pipe:lines() do out[#out + 1] = path end
  pipe:close()
  return out
end

-- Keys on a terminal of 80x24 (keys.columns: another width), to lrun learn and words.
function Course:keys(keys, ...)
  return process.keys({ World.bin, "learn", ... }, keys, { cwd = self.world.dir, columns = keys.columns })
end

-- The lessons that are built in, as the source has them: their ids in order, and the
-- parts of one.
package.path = package.path .. ";" .. World.root .. "/stdlib/?.lua"
M.list = require("engine.lesson").list
function M.lesson(id) return require("lesson." .. id) end

return M
