-- lrun accept JOB: columns that the source has dropped, renamed or retyped are right.
local connect = require "connect"
local fail = require "show.fail"
local json = require "show.json"
local ledger = require "ledger"

local null = require("cjson").null

local function text_of(f)
  if f.change == "dropped" then
    return ("%s.%s (%s) is gone from %s: no longer written"):format(f.target, f.column_name, f.type_before, f.source_table)
  elseif f.change == "new" then
    return ("%s lacks %s of %s: say new_columns = \"add\" or \"ignore\" in the write"):format(f.target, f.column_name, f.source_table)
  end
  return ("%s.%s was %s and is %s now in %s"):format(f.target, f.column_name, f.type_before, f.type_now, f.source_table)
end

-- What a plan finds changed, and the columns to be recorded.
local function look(config)
  local changes, writes, last = {}, {}, 0
  config.mode, config.accepting = "plan", true
  config.on_event = function(event, fields)
    if event == "drift" then
      changes[#changes + 1] = fields
    elseif event == "columns" then
      for i = last + 1, #changes do
        if changes[i].change ~= "new" then
          writes[#writes + 1] = fields
          break
        end
      end
      last = #changes
    end
  end
  return core.run(config), changes, writes
end

local function record(o, path, job, writes)
  local conn, problem, exists = ledger.open(o, path)
  if not conn then return nil, problem end
  local ok = exists
  if exists then ok, problem = conn:accept(job, writes) end
  conn:close()
  return ok, problem
end

return function(o, cl)
  local path = cl.args[1]
  local config, problem = connect.config(o, path)
  if not config then return fail.show(problem, o.json) end
  local result, changes, writes = look(config)
  if result.error then return fail.show(result.error, o.json) end
  local job, wrong = core.describe { path = path, params = o.params, max_memory = o.max_memory }
  if not job then return fail.show(wrong, o.json) end
  if #writes > 0 then
    local ok, why = record(o, path, job, writes)
    if not ok then return fail.show(why, o.json) end
  end
  for _, f in ipairs(changes) do
    if o.json then
      json.line("accept", { job = job.name, target = f.target, source_table = f.source_table, column_name = f.column_name,
                            change = f.change, type_before = f.type_before, type_now = f.type_now ~= null and f.type_now or nil,
                            accepted = f.change ~= "new" })
    elseif not o.quiet then
      core.write("  " .. core.visible(text_of(f)) .. "\n")
    end
  end
  if o.json then
    json.line("result", { job = job.name, accepted = #writes, exit = 0, status = #writes > 0 and "accepted" or "unchanged" })
  elseif not o.quiet then
    core.write(#writes > 0 and "accepted; the next run goes on\n" or "no column has changed since the last run\n")
  end
  return 0
end
