-- Grades as JUnit's XML, for a CI: a test case for each requirement of each job.
local rules = require "engine.rules"
local junit = {}

local ESCAPES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["\n"] = "&#10;", ["\t"] = "&#9;" }

-- Control characters are in no XML, whatever stands for them.
local function attribute(text) return '"' .. text:gsub('[&<>"\n\t]', ESCAPES):gsub("%c", "?") .. '"' end

local function case(r, name, inside)
  local head = ("    <testcase classname=%s name=%s"):format(attribute(r.file), attribute(name))
  return inside and head .. ">" .. inside .. "</testcase>" or head .. "/>"
end

local function cases(r, out, n)
  for _, q in ipairs(r.requirements) do
    local name = q.id .. " " .. (rules[q.id] or "the rows are right")
    if q.state == "MISSED" then
      n.failures = n.failures + 1
      out[#out + 1] = case(r, name, ("<failure message=%s/>"):format(attribute(q.evidence)))
    elseif q.state == "not reached" then
      n.skipped = n.skipped + 1
      out[#out + 1] = case(r, name, ("<skipped message=%s/>"):format(attribute(q.evidence)))
    else
      out[#out + 1] = case(r, name)
    end
    n.tests = n.tests + 1
  end
  if r.error then
    n.tests, n.errors = n.tests + 1, n.errors + 1
    out[#out + 1] = case(r, "the job runs", ("<error message=%s/>"):format(attribute(r.error)))
  end
end

-- True, or nil and why. The file is whole or as it was.
function junit.write(path, lesson, results)
  local out, n = {}, { tests = 0, failures = 0, errors = 0, skipped = 0 }
  for _, r in ipairs(results) do cases(r, out, n) end
  local text = ('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n  <testsuite name=%s tests="%d" failures="%d" errors="%d" ' ..
                'skipped="%d">\n%s\n  </testsuite>\n</testsuites>\n'):format(
    attribute("lrun learn " .. lesson.id), n.tests, n.failures, n.errors, n.skipped, table.concat(out, "\n"))
  local part = path .. ".part"
  local f, why = io.open(part, "wb")
  if not f then return nil, why end
  local written, problem = f:write(text)
  local closed, later = f:close()
  if written and closed and os.rename(part, path) then return true end
  os.remove(part)
  return nil, problem or later or path .. ": cannot be written"
end

return junit
