-- What is known of a learner: where they are, what they have predicted, which
-- lessons are passed. Each change is one transaction of a SQLite file, so a kill
-- leaves the state before it or after it. Nothing of a lesson's answer is in it.
local folder = require "course.folder"
local progress = {}

local Progress = {}
Progress.__index = Progress

local VERSION = "1"

local TABLES = {
  "CREATE TABLE IF NOT EXISTS course(name TEXT PRIMARY KEY, value TEXT)",
  "CREATE TABLE IF NOT EXISTS lessons(id TEXT PRIMARY KEY, started_at TEXT, step INTEGER NOT NULL DEFAULT 0, steps INTEGER, " ..
    "hints INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0, passed_at TEXT, asked_at TEXT, solution_at TEXT)",
  "CREATE TABLE IF NOT EXISTS predictions(lesson TEXT, number INTEGER, answer TEXT, given_at TEXT, told INTEGER NOT NULL " ..
    "DEFAULT 0, PRIMARY KEY(lesson, number))",
  "INSERT INTO course VALUES ('version', '" .. VERSION .. "') ON CONFLICT DO NOTHING",
}

local COLUMNS = { "started_at", "step", "steps", "hints", "attempts", "passed_at", "asked_at", "solution_at" }

-- Is it the right to write that is missing? Then why.
local function unwritable(path, e)
  local f, why = io.open(path, "r+b")
  if f then f:close() end
  local denied = why and (why:find "Permission denied$" or why:find "Read%-only") and why:match "[^:]+$":gsub("^ ", "")
  return denied or e.message:find "read%-only" and e.message:match "[^:]+$":gsub("^ ", "")
end

local function refuse(path, e)
  local why = unwritable(path, e)
  if why then
    local at = path:match "^(.*)/[^/]+/[^/]+$" or "."
    error({ status = 5, message = ("%s: the course's folder cannot be written: %s"):format(path, why),
            hint = ("chmod -R u+w %s gives its owner the right to write there; --dir DIR puts a course elsewhere"):format(at) }, 0)
  end
  error({ status = 5, message = ("%s: %s"):format(path, e.message),
          hint = "move the file away, and the course begins anew; your jobs stay as they are" }, 0)
end

-- Connected for one piece of work only: a play runs in a process of its own.
function Progress:with(fn)
  local conn, e = core.connect { lock_timeout_ms = 10000, connections = {
    { name = "warehouse", url = "sqlite:" .. self.path }, { name = "source", url = "sqlite::memory:" } } }
  if not conn then refuse(self.path, e) end
  local work <close> = conn
  local function query(text, values)
    local rows, why = work:query(text, values)
    if not rows then refuse(self.path, why) end
    return rows
  end
  local ok
  ok, e = work:begin()
  if not ok then refuse(self.path, e) end
  local result = fn(query)
  ok, e = work:commit()
  if not ok then refuse(self.path, e) end
  return result
end

-- Makes what is not there yet.
function progress.open(dir)
  local self = setmetatable({ path = folder.progress(dir) }, Progress)
  self:with(function(query)
    for _, text in ipairs(TABLES) do query(text) end
  end)
  return self
end

function Progress:current()
  local row = self:with(function(query) return query("SELECT value FROM course WHERE name = 'lesson'")[1] end)
  return row and row[1]
end

local function entry(row)
  if not row then return nil end
  local out = {}
  for i, name in ipairs(COLUMNS) do out[name] = row[i] or nil end
  return out
end

-- A lesson's { started_at, step, hints, ... }; nil where it was never started.
function Progress:lesson(id)
  return self:with(function(query)
    return entry(query("SELECT " .. table.concat(COLUMNS, ", ") .. " FROM lessons WHERE id = ?", { id })[1])
  end)
end

-- All of them, by id.
function Progress:all()
  return self:with(function(query)
    local out = {}
    for _, row in ipairs(query("SELECT " .. table.concat(COLUMNS, ", ") .. ", id FROM lessons")) do
      out[row[#COLUMNS + 1]] = entry(row)
    end
    return out
  end)
end

function Progress:start(id)
  self:with(function(query)
    query("INSERT INTO lessons(id, started_at) VALUES (?, ?) ON CONFLICT(id) DO NOTHING", { id, core.now() })
    query("INSERT INTO course VALUES ('lesson', ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value", { id })
  end)
end

-- One more of a column of COLUMNS. Returns how many there are.
function Progress:add(id, name)
  return self:with(function(query)
    query(("UPDATE lessons SET %s = %s + 1 WHERE id = ?"):format(name, name), { id })
    local row = query(("SELECT %s FROM lessons WHERE id = ?"):format(name), { id })[1]
    return row and row[1] or 0
  end)
end

-- The moment of something that happens once; true where it is the first time.
function Progress:once(id, name)
  return self:with(function(query)
    local row = query(("SELECT %s FROM lessons WHERE id = ?"):format(name), { id })[1]
    if not row or row[1] then return false end
    query(("UPDATE lessons SET %s = ? WHERE id = ?"):format(name), { core.now(), id })
    return true
  end)
end

-- Answers by the prediction's number: { answer =, told = }.
function Progress:predictions(id)
  return self:with(function(query)
    local out = {}
    for _, row in ipairs(query("SELECT number, answer, told FROM predictions WHERE lesson = ?", { id })) do
      out[row[1]] = { answer = row[2] or "", told = row[3] == 1 }
    end
    return out
  end)
end

function Progress:predict(id, number, answer)
  self:with(function(query)
    query("INSERT INTO predictions(lesson, number, answer, given_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
          { id, number, answer, core.now() })
  end)
end

-- To a step, of so many where that is known; told: the predictions whose answers
-- have been told there.
function Progress:move(id, step, steps, told)
  self:with(function(query)
    query("UPDATE lessons SET step = ? WHERE id = ?", { step, id })
    if steps then query("UPDATE lessons SET steps = ? WHERE id = ?", { steps, id }) end
    for _, number in ipairs(told) do
      query("UPDATE predictions SET told = 1 WHERE lesson = ? AND number = ?", { id, number })
    end
  end)
end

-- As if the lesson had just been started.
function Progress:forget(id)
  self:with(function(query)
    query("DELETE FROM predictions WHERE lesson = ?", { id })
    query("DELETE FROM lessons WHERE id = ?", { id })
    query("INSERT INTO lessons(id, started_at) VALUES (?, ?)", { id, core.now() })
  end)
end

return progress
