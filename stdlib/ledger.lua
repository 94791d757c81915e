-- Opening the ledger for the commands that read or mend it.
local connect = require "connect"
local ledger = {}

-- JOB is a path or a job's name: the name, and what the file says of itself.
function ledger.job(o, text)
  if not text:match("/") and not text:match("%.lua$") then return { name = text, params = nil } end
  return core.describe { path = text, params = o.params, max_memory = o.max_memory }
end

-- A connection with a ledger; nil and the problem; or nil and nil where there
-- is no ledger yet.
function ledger.open(o, path, readonly)
  local list, problem = connect.find(o, path)
  if not list then return nil, problem end
  local house
  for _, c in ipairs(list) do if c.name == "warehouse" then house = c end end
  if not house then
    return nil, { status = 2, message = "no warehouse is configured",
                  hint = "pass --warehouse sqlite:path.db, set LRUN_WAREHOUSE, or write connections.lua" }
  end
  local conn, why = core.connect { connections = { house }, readonly = readonly, lock_timeout_ms = o.lock_timeout_ms,
                                   must_exist = o.must_exist }
  if not conn then return nil, why end
  local exists, wrong = conn:ledger()
  if exists == nil then return nil, wrong end
  return conn, nil, exists
end

return ledger
