-- Lines from a terminal, with editing and history; or from a pipe.
local reader = {}

-- Words that leave a prompt.
reader.leave = { q = true, quit = true, exit = true, [".exit"] = true, ["\\q"] = true, [".quit"] = true }

-- history: a file, or nil. read(prompt) gives a line; or nil and "interrupt" or
-- "end". close() keeps the history.
function reader.open(history)
  if core.isatty(0) and core.isatty(1) and core.edit_open(history) then
    return function(prompt)
      core.flush()
      local line, why = core.edit_line(prompt)
      if line and line:match("%S") then core.edit_add(line) end
      return line, why
    end, core.edit_close
  end
  local interactive = core.isatty(0)
  return function(prompt)
    if interactive then core.write(prompt) end
    core.flush()
    local line = io.read("l")
    if not line and core.signal() == 2 then return nil, "interrupt" end
    return line, "end"
  end, function() end
end

return reader
