-- lrun learn grade: a job against a scenario, or every */job.lua of a folder.
local apart = require "engine.apart"
local difference = require "course.difference"
local fail = require "show.fail"
local find = require "course.find"
local grade = require "engine.grade"
local json = require "show.json"
local junit = require "show.junit"
local lesson = require "engine.lesson"
local rules = require "engine.rules"
local sandbox = require "engine.sandbox"
local wrap = require "show.wrap"

local MOST_WORKERS = 8

-- ---- what is asked for ----

local function whole(o, cl, name)
  local n = cl.given[name] and math.tointeger(tonumber(cl.given[name]))
  if not cl.given[name] or n and n >= 0 and n < 2 ^ 31 then return n, true end
  fail.usage(o, ("--%s '%s' is no whole number up to 2147483647"):format(name, cl.given[name]), ("write --%s 7"):format(name))
  return nil, false
end

-- The job files: the one named, or those of the folders in a folder.
local function files(path)
  if core.stat(path) ~= "directory" then return { path } end
  local out = {}
  path = path:gsub("(.)/+$", "%1")
  for _, name in ipairs(core.list(path) or {}) do
    local inside = path .. "/" .. name .. "/job.lua"
    if name ~= "." and name ~= ".." and core.stat(inside) == "file" then out[#out + 1] = inside end
  end
  table.sort(out)
  return out, true
end

-- ---- the work ----

-- What is told of a file, as plain tables: it comes from a process of its own.
local function look(o, l, path, box, seed, variants)
  local text, why = find.text(path)
  if not text then return { file = path, exit = 5, requirements = {}, error = why } end
  local r = grade.within(box, l, text, seed, path, variants)
  return { file = path, seed = r.seed, requirements = r.requirements, exit = r.status, error = r.failed and r.failed.text or nil,
           limit = r.limit, variant = r.variant, difference = r.cause and difference.text(o, r) or nil }
end

-- One process for each processor; the answers come in the order of the files.
local function each(o, l, paths, seed, variants, take)
  local n = math.min(core.processors(), MOST_WORKERS, #paths)
  local boxes <close> = setmetatable({}, { __close = function(list) for _, box in ipairs(list) do box:close() end end })
  for i = 1, n do boxes[i] = sandbox.new() end
  local waiting = {}
  local function begin(i)
    local box = boxes[(i - 1) % n + 1]
    waiting[i] = paths[i] and apart.start(box, paths[i], function() return look(o, l, paths[i], box, seed, variants) end)
  end
  for i = 1, n do begin(i) end
  for i, path in ipairs(paths) do
    local ok, r = pcall(waiting[i])
    if not ok then r = { status = 5, problem = ("%s: it cannot be looked at: %s"):format(path, tostring(r)) } end
    if r.status == 130 then return 130 end
    if r.problem then
      r = { file = path, requirements = {}, exit = r.status, error = r.problem, limit = r.status == 4 and "time" or nil }
      for k, q in ipairs(l.requires) do r.requirements[k] = { id = q.id, state = "not reached", evidence = "the job did not end" } end
    end
    r.scenario, r.seed = l.id, r.seed or seed or 0
    begin(i + n)
    take(r)
  end
end

-- ---- what is shown ----

local function object(r)
  json.line("grade", r, { "file", "scenario", "seed", "requirements", "exit", "limit", "error" })
end

local function missed(r)
  for _, q in ipairs(r.requirements) do
    if q.state == "MISSED" then return q end
  end
end

-- FILE, the state, and the first rule that was missed, as one line.
local function line(r, width)
  local q = missed(r)
  local word = r.exit == 0 and "met" or r.exit == 4 and "LIMIT" or r.exit == 5 and "ERROR" or "MISSED"
  local rest = q and ("%-4s %s"):format(q.id, rules[q.id] or "the rows differ") or r.error and r.error:match "^[^\n]*" or ""
  core.write((("%-" .. width .. "s  %-6s  %s"):format(r.file, word, rest):gsub("%s+$", "")) .. "\n")
  core.flush()
end

local function whole_review(r)
  core.write(("grade %s  %s%s\n"):format(r.file, r.scenario, r.seed ~= 0 and ("  seed %d"):format(r.seed) or ""))
  if r.variant then core.write "  it passes as written; this is the same story with other dates, ids and amounts\n" end
  for _, q in ipairs(r.requirements) do
    core.write(wrap(q.evidence, ("  %-4s %-11s  "):format(q.id, q.state), 20) .. "\n")
  end
  if r.difference then core.write("\n" .. r.difference) end
end

local function summary(o, results)
  if o.json or o.quiet then return end
  local n = { [0] = 0, 0, 0, 0, 0, 0 }
  for _, r in ipairs(results) do n[r.exit] = n[r.exit] + 1 end
  core.write(("%d job%s: %d met, %d missed, %d with an error, %d at a limit\n"):format(
    #results, #results == 1 and "" or "s", n[0], n[1], n[5], n[4]))
end

return function(o, cl)
  local path, id = cl.args[2], cl.given.scenario
  if not path then return fail.usage(o, "learn grade needs a job file", "write lrun learn grade FILE.lua --scenario 02-created-date") end
  if not id then return fail.usage(o, "learn grade needs --scenario ID", "known: " .. table.concat(lesson.list, ", ")) end
  local seed, ok = whole(o, cl, "seed")
  local variants, fine
  if ok then variants, fine = whole(o, cl, "variants") end
  if not fine then return 2 end
  local l, problem = find.lesson(id)
  if not l then return fail.show(problem, o.json) end
  local paths, folder = files(path)
  if #paths == 0 then return fail.usage(o, ("%s: there is no */job.lua in it"):format(path), "name a folder with a folder for each job") end
  if not folder then
    local text, why = find.text(path)
    if not text then return fail.usage(o, why, "name a job file, such as job.lua") end
  end
  local width, status, results = 0, 0, {}
  for _, name in ipairs(paths) do width = math.max(width, #name) end
  local stopped = each(o, l, paths, seed, variants, function(r)
    results[#results + 1] = r
    status = math.max(status, r.exit)
    if o.json then object(r)
    elseif folder then line(r, width)
    else whole_review(r) end
    if r.error and (o.json or not folder) then core.warn(r.error .. "\n") end
  end)
  if stopped then return stopped end
  if folder then summary(o, results) end
  if cl.given.junit then
    local kept, why = junit.write(cl.given.junit, l, results)
    if not kept then
      return fail.show({ status = 7, message = why, hint = "the jobs were graded; name a file that can be written" }, o.json)
    end
  end
  return status
end
