-- apply_changes on every pair: the table is what the whole stream says, however
-- it was cut into runs and however often it was delivered.
local pairs_of = require "pairs"
local random = require "random"

local S = "CREATE TABLE s(seq %s, op TEXT, id INTEGER, v TEXT, n INTEGER);\n"
local T = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, n INTEGER);\n"

local JOB = [[
job {}
local c = apply_changes { extract { from = "s" }, into = "t", key = "id"%s }
print(("read %%d inserted %%d updated %%d deleted %%d skipped %%d"):format(c.read, c.inserted, c.updated, c.deleted, c.skipped))
]]

local function literal(v) return v == nil and "NULL" or type(v) == "string" and "'" .. v .. "'" or tostring(v) end

-- Changes in any order, as the source delivers them.
local function deliver(w, changes)
  local rows = {}
  for i, c in ipairs(changes) do
    rows[i] = ("(%s,%s,%s,%s,%s)"):format(literal(c.seq), literal(c.op), literal(c.id), literal(c.v), literal(c.n))
  end
  w:source("DELETE FROM s;" .. (#rows > 0 and "INSERT INTO s VALUES " .. table.concat(rows, ", ") or ""))
end

local OPS = { insert = { "insert", "I", "c", "R", "INSERT", "create" }, update = { "update", "U", "u" }, delete = { "delete", "D", "d" } }

local function random_stream(n)
  local stream = {}
  for seq = 1, n do
    local kind = ({ "insert", "update", "update", "delete" })[math.random(4)]
    local names = OPS[kind]
    local c = { seq = seq, op = names[math.random(#names)], kind = kind, id = math.random(6) }
    if kind ~= "delete" or math.random(2) == 1 then
      c.v = ({ "a", "b", "", " b", "it''s" })[math.random(6)]
      c.n = math.random(3) < 3 and math.random(5) or nil
    end
    stream[seq] = c
  end
  return stream
end

-- The slow, obvious way.
local oracle = {}
oracle.__index = oracle
function oracle.new() return setmetatable({ rows = {}, mark = 0 }, oracle) end
function oracle:apply(delivered)
  local sorted, seen, skipped = {}, {}, 0
  for _, c in ipairs(delivered) do
    if c.seq <= self.mark then skipped = skipped + 1
    elseif not seen[c.seq] then
      seen[c.seq] = true
      sorted[#sorted + 1] = c
    end
  end
  table.sort(sorted, function(a, b) return a.seq < b.seq end)
  for _, c in ipairs(sorted) do
    self.rows[c.id] = c.kind ~= "delete" and { v = c.v, n = c.n } or nil
    self.mark = c.seq
  end
  return skipped
end
function oracle:list()
  local out = {}
  for id = 1, 6 do
    local r = self.rows[id]
    if r then out[#out + 1] = ("%d|%s|%s"):format(id, r.v and r.v:gsub("''", "'") or "NULL", r.n or "NULL") end
  end
  return out
end

pairs_of.each("apply_changes", function(pair)
  local function new(warehouse, order) return pair.new { source = S:format(order or "INTEGER"), warehouse = warehouse or T } end
  local function all(w) return w:rows "SELECT id, v, n FROM t ORDER BY id" end
  local function run(w) return w:ok "j.lua".out:match "read %d+ inserted [^\n]+" end

  it("gives what the oracle gives after every run, any split and repetition", function()
    local seed = random.seed()
    for round = 1, 2 do
      -- a target with and without a constraint over its key
      local w, truth = new(round == 2 and T:gsub(" PRIMARY KEY", "") or nil), oracle.new()
      w:job("j", JOB:format "")
      local stream, at = random_stream(40), 1
      while at <= #stream do
        local stop = math.min(#stream, at + math.random(2, 14))
        local delivered = {}
        for seq = math.max(1, at - math.random(0, 6)), stop do
          for _ = 1, math.random(5) == 1 and 2 or 1 do delivered[#delivered + 1] = stream[seq] end
        end
        -- a few are late: they come with a later run, or never
        for i = #delivered, 1, -1 do
          if math.random(12) == 1 then table.remove(delivered, i) end
        end
        for _ = 1, 2 do
          deliver(w, random.shuffled(delivered))
          local skipped = truth:apply(delivered)
          local counts = run(w)
          assert.same(truth:list(), all(w), "LRUN_TEST_SEED=" .. seed)
          assert.is_true(tonumber(counts:match "skipped (%d+)") >= skipped, "LRUN_TEST_SEED=" .. seed .. " " .. counts)
          assert.equal(#delivered, tonumber(counts:match "read (%d+)"))
        end
        at = stop + 1
      end
    end
  end)

  it("counts, keeps the mark with the rows, and shows it", function()
    local w = new()
    w:job("j", JOB:format "")
    deliver(w, { { seq = 1, op = "i", id = 1, v = "a" }, { seq = 2, op = "i", id = 2, v = "b" }, { seq = 4, op = "d", id = 2 },
                 { seq = 3, op = "u", id = 2, v = "c" }, { seq = 5, op = "d", id = 9 }, { seq = 6, op = "u", id = 3, v = "new" } })
    assert.equal("read 6 inserted 2 updated 0 deleted 0 skipped 2", run(w))
    assert.same({ "1|a|NULL", "3|new|NULL" }, all(w))
    assert.same({ "j|t.seq|6" }, w:rows "SELECT job, name, value FROM lrun_watermarks")
    assert.is_truthy(w:ok("status", "j.lua").out:find "t.seq +6")
    local bytes = all(w)
    assert.equal("read 6 inserted 0 updated 0 deleted 0 skipped 6", run(w))
    assert.same(bytes, all(w))
    deliver(w, { { seq = 7, op = "d", id = 1 }, { seq = 8, op = "u", id = 3, v = "newer" }, { seq = 9, op = "I", id = 1, v = "again" } })
    assert.equal("read 3 inserted 0 updated 2 deleted 0 skipped 0", run(w))
    assert.same({ "1|again|NULL", "3|newer|NULL" }, all(w))
    deliver(w, { { seq = 10, op = "D", id = 1 } })
    assert.equal("read 1 inserted 0 updated 0 deleted 1 skipped 0", run(w))
    deliver(w, {})
    assert.equal("read 0 inserted 0 updated 0 deleted 0 skipped 0", run(w))
    assert.equal("10", w:one "SELECT value FROM lrun_watermarks")
    -- a run that fails keeps neither rows nor mark
    deliver(w, { { seq = 11, op = "d", id = 3 } })
    w:job("j", JOB:format "" .. 'error "stop"')
    assert.equal(1, w:lrun("j.lua").status)
    assert.same({ "3|newer|NULL" }, all(w))
    assert.equal("10", w:one "SELECT value FROM lrun_watermarks")
    -- forgotten, the stream is applied from its start
    w:ok("watermark", "j.lua", "t.seq", "--clear")
    w:job("j", JOB:format "")
    assert.equal("read 1 inserted 0 updated 0 deleted 1 skipped 0", run(w))
  end)

  it("refuses an unknown operation, and names it with its key", function()
    local w = new()
    w:job("j", JOB:format "")
    deliver(w, { { seq = 1, op = "i", id = 7, v = "a" }, { seq = 2, op = "truncate", id = 8 } })
    w:refused(1, { "j.lua:2", "truncate (8)" }, "j.lua")
    assert.same({}, all(w))
  end)

  it("refuses NULL in op, order and key", function()
    for name, c in pairs { op = { seq = 2, id = 8 }, seq = { op = "u", id = 8 }, id = { seq = 2, op = "u" } } do
      local w = new()
      w:job("j", JOB:format "")
      deliver(w, { { seq = 1, op = "i", id = 7, v = "a" }, c })
      w:refused(1, { "j.lua:2", name, "NULL" }, "j.lua")
      assert.same({}, all(w))
    end
  end)

  it("refuses two changes of one order that differ, and takes two that are the same", function()
    local w = new()
    w:job("j", JOB:format "")
    deliver(w, { { seq = 1, op = "i", id = 7, v = "a" }, { seq = 5, op = "u", id = 7, v = "b" }, { seq = 5, op = "u", id = 7, v = "c" } })
    w:refused(1, { "j.lua:2", "seq", "5" }, "j.lua")
    assert.same({}, all(w))
    deliver(w, { { seq = 1, op = "i", id = 7, v = "a" }, { seq = 5, op = "u", id = 7 }, { seq = 5, op = "u", id = 7 } })
    run(w)
    assert.same({ "7|NULL|NULL" }, all(w))
  end)

  it('refuses a gap with gaps = "refuse", within the stream and after the mark', function()
    local w = new()
    w:job("j", JOB:format ', gaps = "refuse"')
    deliver(w, { { seq = 5, op = "i", id = 1, v = "a" }, { seq = 7, op = "i", id = 2, v = "b" }, { seq = 11, op = "i", id = 3 } })
    w:refused(1, { "j.lua:2", "gaps", "missing 6, 8 to 10" }, "j.lua")
    assert.same({}, all(w))
    deliver(w, { { seq = 6, op = "i", id = 2, v = "b" }, { seq = 5, op = "i", id = 1, v = "a" } })
    run(w)
    deliver(w, { { seq = 6, op = "i", id = 2, v = "b" }, { seq = 8, op = "d", id = 1 } })
    w:refused(1, { "j.lua:2", "a gap", "missing 7", "mark is 6" }, "j.lua")
    assert.same({ "1|a|NULL", "2|b|NULL" }, all(w))
    deliver(w, { { seq = 8, op = "d", id = 1 }, { seq = 7, op = "u", id = 2, v = "c" } })
    run(w)
    assert.same({ "2|c|NULL" }, all(w))
  end)

  it("follows times, and text of one width", function()
    local w = new(nil, "TIMESTAMP")
    w:job("j", JOB:format "")
    deliver(w, { { seq = "2026-01-01 00:00:00.000002", op = "u", id = 1, v = "b" }, { seq = "2026-01-01 00:00:00.000001", op = "i", id = 1, v = "a" } })
    run(w)
    deliver(w, { { seq = "2026-01-01 00:00:00.000002", op = "u", id = 1, v = "b" }, { seq = "2026-01-01 00:00:00.000003", op = "u", id = 1, v = "c" } })
    assert.equal("read 2 inserted 0 updated 1 deleted 0 skipped 1", run(w))
    assert.same({ "1|c|NULL" }, all(w))
    w:job("j", JOB:format ', gaps = "refuse"')
    deliver(w, { { seq = "2026-01-01 00:00:00.000004", op = "u", id = 1, v = "d" } })
    w:refused(1, { "gaps", "whole numbers" }, "j.lua")

    w = new(nil, "TEXT")
    w:job("j", JOB:format "")
    deliver(w, { { seq = "00/0B", op = "u", id = 1, v = "b" }, { seq = "00/0A", op = "i", id = 1, v = "a" } })
    run(w)
    deliver(w, { { seq = "00/0B", op = "u", id = 1, v = "b" }, { seq = "00/1A", op = "u", id = 1, v = "c" } })
    assert.equal("read 2 inserted 0 updated 1 deleted 0 skipped 1", run(w))
    w = new(nil, "TEXT")
    w:job("j", JOB:format "")
    deliver(w, { { seq = "9", op = "u", id = 1, v = "b" }, { seq = "10", op = "i", id = 1, v = "a" } })
    w:refused(1, { "j.lua:2", "seq", "'9' sorts after '10'" }, "j.lua")
  end)

  it("stores op and order where the target has them, and makes a target without", function()
    local w = new "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, n INTEGER, op TEXT, seq INTEGER);"
    w:job("j", JOB:format "")
    deliver(w, { { seq = 1, op = "i", id = 1, v = "a" }, { seq = 2, op = "U", id = 1, v = "b" } })
    run(w)
    assert.same({ "1|b|U|2" }, w:rows "SELECT id, v, op, seq FROM t")
    w = new ""
    w:job("j", JOB:format "")
    deliver(w, { { seq = 1, op = "i", id = 1, v = "a" } })
    run(w)
    assert.same({ "id", "v", "n" }, w.to:columns "t")
    assert.same({ "id" }, w.to:key "t")
    w:warehouse "DROP TABLE t"
    w:refused(1, { "j.lua:2", "does not exist", "--clear" }, "j.lua")
  end)

  it("has the options of the other writes", function()
    local w = new "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);"
    w:job("j", JOB:format "")
    deliver(w, { { seq = 1, op = "i", id = 1, v = "a", n = 5 } })
    w:refused(1, { "j.lua:2", "t lacks column n", "new_columns" }, "j.lua")
    w:job("j", JOB:format ', new_columns = "add", stamp = "loaded_at"')
    run(w)
    assert.same({ "1|a|5" }, w:rows "SELECT id, v, n FROM t WHERE loaded_at IS NOT NULL")
    assert.is_nil(table.concat(w.to:columns "t", " "):find "seq")
    w:job("j", JOB:format ', gaps = "maybe"')
    w:refused(1, { "j.lua:2", "gaps", "maybe" }, "j.lua")
    w:job("j", JOB:format ', order = "nr"')
    w:refused(1, { "j.lua:2", "nr" }, "j.lua")
  end)

  it("lets one job only apply a stream to a table, unless each has a mark of its own", function()
    local w = new()
    w:job("j", JOB:format ""):job("k", JOB:format ""):job("l", JOB:format ', mark = "other"')
    deliver(w, { { seq = 5, op = "i", id = 1, v = "a" } })
    run(w)
    w:refused(1, { "k.lua:2", "t.seq", "job j", "mark" }, "k.lua")
    deliver(w, { { seq = 1, op = "i", id = 2, v = "b" } })
    w:ok "l.lua"
    assert.same({ "1|a|NULL", "2|b|NULL" }, all(w))
    assert.same({ "j|t.seq|5", "l|other|1" }, w:rows "SELECT job, name, value FROM lrun_watermarks ORDER BY 1")
  end)

  it("takes keys of several columns, and changes that went through a function", function()
    local w = pair.new { source = "CREATE TABLE s(nr INTEGER, what TEXT, a TEXT, b INTEGER, v TEXT); INSERT INTO s VALUES " ..
      "(1,'+','x',1,'one'), (2,'+','x',2,'two'), (3,'+','y',1,'three'), (4,'-','x',1,NULL), (5,'~','y',1,'four');" }
    w:job("j", [[
job {}
local ops = { ["+"] = "insert", ["-"] = "delete", ["~"] = "update" }
local changes = extract { from = "s" }:map(function(row) row.what = ops[row.what] return row end)
apply_changes { changes, into = "t", key = { "a", "b" }, op = "what", order = "nr" }
]])
    w:ok "j.lua"
    assert.same({ "x|2|two", "y|1|four" }, w:rows "SELECT a, b, v FROM t ORDER BY a, b")
  end)

  it("is shown in a plan, which writes nothing", function()
    local w = new()
    w:job("j", (JOB:format "":gsub("\nprint.*", "\n")))
    deliver(w, { { seq = 1, op = "i", id = 1, v = "a" } })
    local bytes = w:bytes()
    assert.is_truthy(w:ok("plan", "j.lua").out:find "would run: DELETE FROM")
    assert.equal(bytes, w:bytes())
  end)
end)
