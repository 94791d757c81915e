local width_of = require "show.width"

-- Words into lines as wide as the terminal, or of width: the first begins as it is given,
-- those after it are indented.
return function(text, first, indent, width)
  local lines, line = {}, first
  width = width or width_of()
  for word in text:gmatch "%S+" do
    if #line > indent and #line + 1 + #word > width then
      lines[#lines + 1] = line
      line = (" "):rep(indent) .. word
    else
      line = #line > 0 and not line:find "%s$" and line .. " " .. word or line .. word
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end
