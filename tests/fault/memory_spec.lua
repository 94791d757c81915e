-- Peak memory does not grow with the rows, and statements not with them either.
local world = require "world"

local WAYS = {
  full_load = 'full_load { rows, into = "t" }',
  merge = 'merge { rows, into = "t", key = "id" }',
  ["merge of mapped rows"] = 'merge { rows:map(function(row) return row end), into = "t", key = "id" }',
  overwrite_partition = 'overwrite_partition { rows, into = "t" }',
  reconcile = 'full_load { rows, into = "t" }\nreconcile { rows, with = "t", sum = "id" }',
  ["rows()"] = "local n = 0 for row in rows:rows() do n = n + row.id end",
}

local function source(rows)
  return world.new { source = ([[PRAGMA synchronous = OFF; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, at TEXT);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
    INSERT INTO t SELECT i, 'a value of some length ' || i, '2026-01-01 10:00:00' FROM n;]]):format(rows) }
end

-- The most memory that the process ever had, in kB.
local function peak(rows, code)
  local w = source(rows)
  w:job("j", 'job {}\nlocal rows = extract { from = "t", by = "at", window = window "2026-01-01" }\n' .. code ..
    '\nfor line in io.lines "/proc/self/status" do\n  local kb = line:match "^VmHWM:%s*(%d+)"\n  if kb then print("peak " .. kb) end\nend')
  -- A sanitizer keeps what was freed; not so much of it here.
  local r = w:ok("j.lua", { timeout = 300, env = { ASAN_OPTIONS = "quarantine_size_mb=1:exitcode=99" } })
  return tonumber(r.out:match "peak (%d+)")
end

describe("peak memory", function()
  local few, many = 20000, world.sanitized and 100000 or 400000
  for way, code in pairs(WAYS) do
    it("is flat: " .. way, function()
      local a, b = peak(few, code), peak(many, code)
      -- The page caches of SQLite fill up to a bound of their own, and a sanitizer pads.
      assert.is_true(b - a < (world.sanitized and 64 or 16) * 1024, ("%d rows: %d kB, %d rows: %d kB"):format(few, a, many, b))
    end)
  end
end)

describe("the statements of a run", function()
  it("are as many for many rows as for few", function()
    local function count(rows)
      local w = source(rows)
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
