-- Peak memory does not grow with the rows, and statements not with them either:
-- a run over a million rows has the peak of one over a fifth of them.
local world = require "world"

local FEW, MANY = 200000, 1000000
local MOST_MORE = 24 -- MB

local WAYS = {
  full_load = 'full_load { rows, into = "t" }',
  merge = 'merge { rows, into = "t", key = "id" }',
  ["merge of mapped rows"] = [[
local mapped = rows:map(function(row)
  row.v = row.v .. "!"
  return row
end)
merge { mapped, into = "t", key = "id" }]],
  overwrite_partition = 'overwrite_partition { rows, into = "t" }',
  reconcile = 'full_load { rows, into = "t" }\nreconcile { rows, with = "t", sum = "id" }',
  ["rows()"] = "local n = 0 for row in rows:rows() do n = n + row.id end",
}

-- A job's last line tells the most memory that the process had so far, with the
-- work done and only COMMIT to come.
local PEAK = '\nprint("peak " .. io.open("/proc/self/status"):read("a"):match "VmHWM:%s*(%d+) kB")\n'

-- A sanitizer keeps what was freed, unless told not to.
local ENV = { ASAN_OPTIONS = "exitcode=99:quarantine_size_mb=0:thread_local_quarantine_size_kb=0" }

local TABLE = "PRAGMA synchronous = OFF; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, at TEXT);\n"
local function filled(rows, text)
  return TABLE .. ([[WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
    INSERT INTO t SELECT i, '%s' || i, '2026-01-01 10:00:00' FROM n;]]):format(rows, text)
end

-- In MB; half of the rows are in the target before, with other values.
local function peak(rows, code)
  local w = world.new { source = filled(rows, "a value of some length "), warehouse = filled(rows // 2, "an older one ") }
  w:job("j", 'job {}\nlocal rows = extract { from = "t", by = "at", window = window "2026-01-01" }\n' .. code .. PEAK)
  return tonumber(w:ok("j.lua", { timeout = 300, env = ENV }).out:match "peak (%d+)") / 1024
end

describe("peak memory", function()
  for way, code in pairs(WAYS) do
    it("is flat: " .. way, function()
      local few, many = peak(FEW, code), peak(MANY, code)
      print(("%s: %.1f MB for %d rows, %.1f MB for %d"):format(way, few, FEW, many, MANY))
      assert.is_true(many - few < MOST_MORE, ("%.1f MB more"):format(many - few))
    end)
  end
end)

describe("the statements of a run", function()
  it("are as many for many rows as for few", function()
    local function count(rows)
      local w = world.new { source = filled(rows, "a value ") }
      w:job("j", 'job {}\nmerge { extract { from = "t" }, into = "t", key = "id" }')
      local r = w:ok("j.lua", "-v")
      local _, n = (r.out .. r.err):gsub("INSERT INTO", "")
      return n
    end
    local n = count(10)
    assert.is_true(n > 0)
    assert.equal(n, count(1000))
  end)
end)
