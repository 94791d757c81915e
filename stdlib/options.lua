-- The values of options: numbers, sizes, spans, parameters.
local options = {}

local function usage(message, hint)
  return nil, { status = 2, message = message, hint = hint }
end

local function number(text, name)
  local n = tonumber(text)
  if n and n > 0 and n < math.huge then return n end
  return usage(("--%s '%s' is no positive number"):format(name, text), ("write --%s 60"):format(name))
end

local units = { [""] = 1, K = 2 ^ 10, M = 2 ^ 20, G = 2 ^ 30, T = 2 ^ 40 }

local function size(text)
  local n, unit = text:match("^(%d+%.?%d*)([KMGTkmgt]?)[iI]?[bB]?$")
  local bytes = n and tonumber(n) * units[unit:upper()]
  if bytes and bytes >= 1 then return bytes // 1 end
  return usage(("--max-memory '%s' is no size"):format(text), "write --max-memory 512M")
end

local factors = { ms = 1, s = 1000, m = 60000, h = 3600000, [""] = 1000 }

local function milliseconds(text)
  local n, unit = text:match("^(%d+%.?%d*)(%a*)$")
  local factor = factors[unit or "?"]
  local ms = factor and tonumber(n) * factor
  if ms and ms <= 2 ^ 31 - 1 then return ms // 1 end
  return usage(("--lock-timeout '%s' is no time"):format(text), "write --lock-timeout 10s")
end

local function pairs_of(list, name)
  local out = {}
  for _, text in ipairs(list or {}) do
    local key, value = text:match("^([^=]+)=(.*)$")
    if name == "connection" and not text:find "^[%w_.-]+=" then key = nil end
    if not key then
      -- what is no plain word is not shown: it may be a URL with its password
      return usage(("--%s%s has no name"):format(name, text:find "^[%w_-]*$" and " '" .. text .. "'" or ""),
                   ("write --%s %s"):format(name, name == "connection" and "NAME=URL" or "NAME=VALUE"))
    end
    if not utf8.len(text) then
      return usage(("--%s %s is no UTF-8"):format(name, (text:gsub("[\128-\255]", "?"))), "pass it in UTF-8")
    end
    if out[key] then return usage(("--%s %s is given twice"):format(name, key)) end
    out[key] = value
  end
  return out
end

-- Nil and the problem where an option has a value that it cannot have.
function options.read(cl)
  local given = cl.given
  local o = {
    json = given.json, quiet = given.quiet, verbose = given.verbose, yes = given.yes,
    must_exist = given["must-exist"], ledger_schema = given["ledger-schema"],
    logical_date = given["logical-date"], run_start = given["run-start"], allow_open = given["allow-open"],
    from = given.from, to = given.to, again = given.again, rows = given.rows, accept_change = given["accept-change"],
    take_over = given["take-over"], no_reconcile = given["no-reconcile"], source = given.source, warehouse = given.warehouse,
    max_memory = 2 ^ 30 // 1, lock_timeout_ms = 10000,
  }
  local problem
  o.params, problem = pairs_of(given.param, "param")
  if not o.params then return nil, problem end
  o.connections, problem = pairs_of(given.connection, "connection")
  if not o.connections then return nil, problem end
  if given["max-seconds"] then
    o.max_seconds, problem = number(given["max-seconds"], "max-seconds")
    if not o.max_seconds then return nil, problem end
  end
  if given["max-memory"] then
    o.max_memory, problem = size(given["max-memory"])
    if not o.max_memory then return nil, problem end
  end
  if given["lock-timeout"] then
    o.lock_timeout_ms, problem = milliseconds(given["lock-timeout"])
    if not o.lock_timeout_ms then return nil, problem end
  end
  local color = given.color or "auto"
  if color ~= "auto" and color ~= "always" and color ~= "never" then
    return usage(("--color '%s' is not known"):format(color), "write auto, always or never")
  end
  local no_color = os.getenv("NO_COLOR")
  o.color = color == "always" or (color == "auto" and not (no_color and no_color ~= "") and core.isatty(1))
  return o
end

return options
