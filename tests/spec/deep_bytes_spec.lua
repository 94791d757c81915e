-- reconcile { deep = true } between two PostgreSQL databases: what the servers
-- send is counted by a proxy. Checksums come over the wire, and of the rows only
-- those of segments that differ.
local pairs_of = require "pairs"
local servers = require "servers"

local ROWS = 30000
local WIDE = 200 -- bytes of a row's text
local TABLE = "CREATE TABLE %s(id INTEGER PRIMARY KEY, v TEXT);" ..
  ("INSERT INTO %%s SELECT i, repeat('v', %d) || i FROM generate_series(1, %d) AS i;"):format(WIDE, ROWS)

it("sends no rows of equal tables, and few of others", function()
  local w = pairs_of.by_name["postgresql->postgresql"].new { source = TABLE:format("s", "s"), warehouse = TABLE:format("t", "t") }
  local proxy = servers.proxy {}
  w:connect(proxy:url(w.from:url()), proxy:url(w.to:url()))
  w:job("load", 'job {}\nlocal n = 0\nfor _ in extract { from = "s" }:rows() do n = n + 1 end\nassert(n == ' .. ROWS .. ")\n"):ok "load.lua"
  local all = proxy:bytes()
  assert.is_true(all > ROWS * WIDE, tostring(all)) -- so the counter counts

  w:job("check", [[job {}
    local rows = extract { from = "s" }
    reconcile { rows, with = "t", deep = true, key = "id" }]]):ok "check.lua"
  local equal = proxy:bytes()
  assert.is_true(equal < all / 30, ("%d of %d bytes"):format(equal, all))

  w:warehouse "UPDATE t SET v = 'x' WHERE id = 7; DELETE FROM t WHERE id = 8; INSERT INTO t VALUES (30001, 'new')"
  assert.equal(3, w:lrun("check.lua").status)
  local few = proxy:bytes()
  assert.is_true(few > equal and few < all / 20, ("%d of %d bytes, %d where equal"):format(few, all, equal))
  proxy:close()
end)
