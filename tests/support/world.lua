-- world.lua: a folder with a source, a warehouse, jobs and connections, and
-- the binary to run in it. LRUN_BIN names the binary (build/lrun).

local files = require "files"
local process = require "process"
local sqlite = require "sqlite"

local function absolute(path)
  if path:sub(1, 1) == "/" then return path end
  local pipe = assert(io.popen "pwd")
  local here = pipe:read "l"
  pipe:close()
  return here .. "/" .. path
end

local M = {}
M.root = absolute "."
M.bin = absolute(os.getenv "LRUN_BIN" or "build/lrun")
M.sanitized = M.bin:find("/asan/", 1, true) ~= nil

local World = {}
World.__index = World

-- An instant after everything that the tests' data holds.
M.late = "2026-06-01"

-- new{ source = SQL, warehouse = SQL, connections = text }: both files are made,
-- the warehouse in WAL mode, unless they are false.
function M.new(o)
  o = o or {}
  local w = setmetatable({ dir = files.temp_dir() }, World)
  w.source_file, w.warehouse_file = w:path "source.db", w:path "warehouse.db"
  if o.source ~= false then w:source("VACUUM;" .. (o.source or "")) end
  if o.warehouse ~= false then w:warehouse("PRAGMA journal_mode = WAL; VACUUM;" .. (o.warehouse or "")) end
  w:write("connections.lua", o.connections or
    'return { source = "sqlite:source.db", warehouse = "sqlite:warehouse.db" }\n')
  return w
end

-- The usual table t on both ends.
M.T = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, updated_at TIMESTAMP NOT NULL);\n"
function M.with_t(source, warehouse)
  return M.new { source = M.T .. (source or ""), warehouse = M.T .. (warehouse or "") }
end

function World:path(name) return self.dir .. "/" .. name end
function World:write(name, text) return files.write(self:path(name), text) end
function World:source(sql) return sqlite.exec(self.source_file, sql) end
function World:warehouse(sql) return sqlite.exec(self.warehouse_file, sql) end

-- Rows of the warehouse, of the source; each as one string.
function World:rows(query) return sqlite.rows(self.warehouse_file, query) end
function World:one(query) return sqlite.one(self.warehouse_file, query) end
function World:source_rows(query) return sqlite.rows(self.source_file, query) end
function World:table(query) return sqlite.table(self.warehouse_file, query) end

-- Write NAME.lua.
function World:job(name, text)
  self:write(name .. ".lua", text)
  return self
end

local function options_of(argv)
  local o = {}
  if type(argv[#argv]) == "table" then o = table.remove(argv) end
  return o
end

-- lrun(arguments..., [options of process.run])
function World:lrun(...)
  local argv = { ... }
  local o = options_of(argv)
  o.cwd = o.cwd or self.dir
  return process.run({ M.bin, table.unpack(argv) }, o)
end

function World:start(...)
  local argv = { ... }
  local o = options_of(argv)
  o.cwd = o.cwd or self.dir
  return process.start({ M.bin, table.unpack(argv) }, o)
end

-- The same, but it has to succeed.
function World:ok(...)
  local r = self:lrun(...)
  if r.status ~= 0 then
    error(string.format("lrun %s: status %d\n%s%s", table.concat({ ... }, " ", 1, 1), r.status, r.out, r.err), 2)
  end
  return r
end

-- It has to fail with the status, its standard error holding every one of the
-- words (in any case of letters), and to say what to do next.
function World:refused(status, words, ...)
  local r = self:lrun(...)
  M.says(r, status, words)
  return r
end

function M.says(r, status, words)
  local text = r.err:lower()
  local missing = {}
  for _, word in ipairs(words) do
    if not text:find(word:lower(), 1, true) then missing[#missing + 1] = string.format("%q", word) end
  end
  if words.hint ~= false and not text:find "\n%s*hint: %S" then missing[#missing + 1] = "a hint: line" end
  if text:find "asan" or text:find "runtime error" then missing[#missing + 1] = "(a sanitizer's report)" end
  if r.status ~= status or #missing > 0 then
    error(string.format("status %s, expected %s; not said: %s\nstdout: %s\nstderr: %s",
      r.status, status, #missing > 0 and table.concat(missing, ", ") or "-", r.out, r.err), 3)
  end
end

-- The newest row of the ledger (of a job), as a table by column.
local RUN = { "run_id", "job", "status", "logical_date", "run_start", "rows_read", "rows_inserted",
  "rows_updated", "rows_deleted", "rows_skipped", "error", "params", "started_at", "finished_at",
  "source", "warehouse", "pid", "host", "lrun_version", "job_sha256", "attempt" }
function World:last_run(job)
  local rows = self:table(string.format(
    "SELECT %s FROM lrun_runs %s ORDER BY run_id DESC LIMIT 1", table.concat(RUN, ", "),
    job and "WHERE job = '" .. job .. "'" or ""))
  if not rows[1] then return nil end
  local run = {}
  for i, name in ipairs(RUN) do run[name] = rows[1][i] end
  return run
end

function World:statuses()
  return table.concat(self:rows "SELECT status FROM lrun_runs ORDER BY run_id", " ")
end

function World:watermark(job)
  return self:one("SELECT value FROM lrun_watermarks" .. (job and " WHERE job = '" .. job .. "'" or ""))
end

-- What must be as it was after a run that failed: all tables but the ledger's
-- notes of runs.
function World:state()
  local lines, skipping = {}, false
  for line in sqlite.dump(self.warehouse_file):gmatch "[^\n]+" do
    if line:find '^CREATE [%u ]*"?lrun_' or line:find "sqlite_sequence" or line:find "^PRAGMA" then
      skipping = true
    elseif line:find '^INSERT INTO "?lrun_' and not line:find '^INSERT INTO "?lrun_watermarks' then
      skipping = true
    end
    if not skipping then lines[#lines + 1] = line end
    if line:find ";$" then skipping = false end
  end
  return table.concat(lines, "\n")
end

-- The bytes of the warehouse, its log beside it included.
function World:bytes()
  return (files.read(self.warehouse_file) or "none") .. "\0" .. (files.read(self.warehouse_file .. "-wal") or "")
end

M.World = World
return M
