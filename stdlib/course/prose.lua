-- A lesson's words for the screen: paragraphs wrapped, indented lines as they are.
local wrap = require "show.wrap"
local prose = {}

function prose.text(text, width)
  local out, paragraph = {}, {}
  local function close()
    if #paragraph > 0 then out[#out + 1] = wrap(table.concat(paragraph, " "), "", 0, width) end
    paragraph = {}
  end
  for line in (text:gsub("%s+$", "") .. "\n"):gmatch "(.-)\n" do
    if line:find "^%s" or line == "" then
      close()
      if line ~= "" or out[#out] ~= "" then out[#out + 1] = line end
    else
      paragraph[#paragraph + 1] = line
    end
  end
  close()
  return table.concat(out, "\n") .. "\n"
end

return prose
