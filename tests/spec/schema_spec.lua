-- The target's shape: made when missing, never changed silently, as wide as
-- SQLite allows.
local world = require "world"

local MERGE = [[
job { grain = "day" }
local rows = extract { from = "t", by = "updated_at", window = window { since = watermark() } }
merge { rows, into = "t", key = "id"%s }
]]

describe("a target that does not exist", function()
  it("is not made with create = false", function()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01');"
    w:job("j", 'job {}\nmerge { extract { from = "t" }, into = "nowhere", key = "id", create = false }')
    w:refused(1, { "j.lua:2", "nowhere", "create" }, "j.lua")
  end)

  it("is not left behind by a run that fails", function()
    local w = world.new { source = world.T }
    w:job("j", 'job {}\nmerge { extract { from = "t" }, into = "t", key = "id" }\nerror "stop"'):lrun "j.lua"
    assert.equal("0", w:one "SELECT count(*) FROM sqlite_master WHERE name = 't'")
  end)
end)

describe("a schema that drifts (S30)", function()
  local function loaded()
    local w = world.with_t "INSERT INTO t VALUES (1,'a','2026-01-01 10:00:00');"
    w:job("j", MERGE:format ""):ok("j.lua", "--run-start", "2026-01-02")
    return w
  end
  local function refuses(w, words)
    local state = w:state()
    w:refused(1, words, "j.lua", "--run-start", "2026-01-05")
    assert.equal(state, w:state())
    assert.equal("2026-01-02", w:watermark())
  end
  local ROW = "INSERT INTO t VALUES (2,'b','2026-01-03 10:00:00'%s);"

  it("by a new column is refused, naming it", function()
    local w = loaded()
    w:source("ALTER TABLE t ADD COLUMN c INTEGER; ALTER TABLE t ADD COLUMN d TEXT;" .. ROW:format ",5,'d'")
    refuses(w, { "j.lua:3", "merge into t", "c", "d", "new_columns" })
  end)

  it("by a new column is refused even when there are no rows", function()
    local w = loaded()
    w:source "ALTER TABLE t ADD COLUMN brand_new INTEGER"
    refuses(w, { "j.lua:3", "brand_new", "new_columns" })
  end)

  it('by a new column is followed with new_columns = "add"', function()
    local w = loaded()
    w:source("ALTER TABLE t ADD COLUMN c INTEGER;" .. ROW:format ",5")
    w:job("j", MERGE:format ', new_columns = "add"'):ok("j.lua", "--run-start", "2026-01-05")
    assert.same({ "1|a|NULL", "2|b|5" }, w:rows "SELECT id, v, c FROM t ORDER BY 1")
    assert.equal("INTEGER|0", w:one "SELECT type, \"notnull\" FROM pragma_table_info('t') WHERE name = 'c'")
  end)

  it('by a new column is left with new_columns = "ignore"', function()
    local w = loaded()
    w:source("ALTER TABLE t ADD COLUMN c INTEGER;" .. ROW:format ",5")
    w:job("j", MERGE:format ', new_columns = "ignore"'):ok("j.lua", "--run-start", "2026-01-05")
    assert.same({ "1|a", "2|b" }, w:rows "SELECT id, v FROM t ORDER BY 1")
    assert.equal("0", w:one "SELECT count(*) FROM pragma_table_info('t') WHERE name = 'c'")
  end)

  it("by a column that is gone never touches what the target has", function()
    local w = loaded()
    w:source("ALTER TABLE t DROP COLUMN v; UPDATE t SET updated_at = '2026-01-03 10:00:00'")
    w:lrun("j.lua", "--run-start", "2026-01-05")
    assert.equal("a", w:one "SELECT v FROM t WHERE id = 1")
  end)

  it("of generated columns is left to the target", function()
    local GENERATED = "CREATE TABLE t(id INTEGER PRIMARY KEY, at TEXT, day TEXT GENERATED ALWAYS AS (substr(at, 1, 10)) %s);"
    for _, kind in ipairs { "STORED", "VIRTUAL" } do
      local w = world.new {
        source = GENERATED:format(kind) .. "INSERT INTO t(id, at) VALUES (1, '2026-01-01 10:00:00');",
        warehouse = GENERATED:format(kind),
      }
      w:job("j", 'job {}\nlocal rows = extract { from = "t" }\nmerge { rows, into = "t", key = "id" }\nfull_load { rows, into = "plain" }')
      w:ok "j.lua"
      w:ok "j.lua"
      assert.same({ "1|2026-01-01 10:00:00|2026-01-01" }, w:rows "SELECT id, at, day FROM t")
      assert.same({ "1|2026-01-01 10:00:00|2026-01-01" }, w:rows "SELECT id, at, day FROM plain")
    end
  end)
end)
