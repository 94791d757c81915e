-- Words into lines of 78 columns: the first as it is, those after it indented.
return function(text, first, indent)
  local lines, line = {}, first
  for word in text:gmatch "%S+" do
    if #line > indent and #line + 1 + #word > 78 then
      lines[#lines + 1] = line
      line = (" "):rep(indent) .. word
    else
      line = #line > 0 and not line:find "%s$" and line .. " " .. word or line .. word
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end
