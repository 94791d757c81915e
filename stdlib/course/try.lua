-- try: a prompt on a copy of the databases as they are after a step.
local data = require "engine.data"
local sandbox = require "engine.sandbox"
local stage = require "course.stage"
local walk = require "course.walk"

-- The time at the virtual clock: of the last step, else of the first event.
local function clock(play, l)
  local last = play.steps[#play.steps]
  if last then return last.run_start or last.at end
  local e = l.events[1]
  return data.variant(0):date(e.at or e.run or e.skip or e.twice or e.retry)
end

local function open(box, at)
  return core.prompt { sandbox = true, run_start = at, allow_open = true, lock_timeout_ms = 2000, params = {}, max_memory = 2 ^ 28 // 1,
    on_event = function(event, fields)
      if event == "print" or event == "note" then core.write(tostring(fields.message) .. "\n") end
    end,
    connections = box:connections(at) }
end

return function(s, at)
  local l, known = s:here()
  local n = at or known.step
  local box <close> = setmetatable({ box = sandbox.new() }, { __close = function(b) b.box:close() end })
  local job, shown = s:job(l)
  -- the play writes the files of this box, and they stay
  local got = stage.within(box.box, shown, function(b)
    local play = stage.play(l, job, b, n, shown)
    return { at = clock(play, l), n = #play.steps }
  end)
  local status = walk.finish(got)
  if status then return status end
  local prompt, e = open(box.box, got.at)
  if not prompt then error(e, 0) end
  s:show(("A copy of the databases %s. The clock says %s.\n" ..
          "SQL and primitives; nothing here counts. tables: what there is; q goes back.\n"):format(
          got.n == 0 and "before the first step" or "after step " .. got.n, got.at))
  require "prompt"(prompt, function(label) return s:read(label) end, { label = "try", page = function(topic) s.page(topic) end })
  prompt:close()
  return 0
end
