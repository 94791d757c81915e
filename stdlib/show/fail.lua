-- Why it failed: one line on stderr, with the hint below.
local json = require "show.json"
local fail = {}

function fail.text(e)
  if e.text then return e.text end
  local line = e.message or "failed"
  if e.where then line = e.where .. ": " .. line end
  if e.hint and e.hint ~= "" then line = line .. "\n  hint: " .. e.hint end
  return line
end

-- Returns the exit status.
function fail.show(e, as_json)
  local text = fail.text(e)
  core.warn((e.where and "" or "lrun: ") .. text .. "\n")
  if as_json then
    json.line("error", { status = e.status, message = e.message, where = e.where, step = e.step, hint = e.hint,
                         sqlstate = e.sqlstate, code = e.code, statement = e.statement })
  end
  return e.status
end

-- A command line of learn that cannot be meant.
function fail.usage(o, message, hint)
  return fail.show({ status = 2, message = message, hint = hint or "see lrun help learn" }, o.json)
end

return fail
