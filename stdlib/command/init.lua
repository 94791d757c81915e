-- lrun init DIR: a new project that runs at once.
local fail = require "show.fail"

local files = {
  { "connections.lua", [[
-- Where the databases are. Relative paths are relative to this file.
return {
  source = "sqlite:app.db",
  warehouse = "sqlite:warehouse.db",
}
]] },
  { "jobs/orders.lua", [[
-- One day of orders. Safe to run again for any day.
job { grain = "day" }

local orders = extract { from = "orders", by = "order_date", window = window() }

overwrite_partition { orders, into = "dw_orders" }
reconcile { orders, with = "dw_orders", sum = "amount" }
]] },
  { "tests/orders.sh", [[
#!/bin/sh
# Runs the job on a database of its own and looks at what it wrote.
# Usage: sh tests/orders.sh   (LRUN names the program, lrun without it)
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sqlite3 "$work/app.db" "
  CREATE TABLE orders (order_id INTEGER PRIMARY KEY, order_date TEXT NOT NULL, amount DECIMAL(10,2));
  INSERT INTO orders VALUES (1, '2026-01-19', 35), (2, '2026-01-20', 22), (3, '2026-01-21', 70);"
for twice in 1 2; do
  "${LRUN:-lrun}" "$here/jobs/orders.lua" --logical-date 2026-01-20 -q \
    --source "sqlite:$work/app.db" --warehouse "sqlite:$work/warehouse.db"
done
found=$(sqlite3 "$work/warehouse.db" "SELECT order_id, amount FROM dw_orders")
if [ "$found" = "2|22" ]; then
  echo "ok: one day was written, and once"
else
  echo "not ok: expected 2|22, found $found" >&2
  exit 1
fi
]] },
}

return function(o, cl)
  local dir = cl.args[1]
  local function problem(message, hint) return fail.show({ status = 2, message = message, hint = hint }, o.json) end
  for _, folder in ipairs { dir, dir .. "/jobs", dir .. "/tests" } do
    local ok, why = core.mkdir(folder)
    if not ok then return problem(("%s: %s"):format(folder, why), "name a folder that can be made") end
  end
  for _, file in ipairs(files) do
    local path = dir .. "/" .. file[1]
    if core.stat(path) then
      if not o.quiet then core.write("kept   " .. path .. "\n") end
    else
      local f, why = io.open(path, "w")
      if not f then return problem(why, "check the folder's permissions") end
      f:write(file[2])
      f:close()
      if not o.quiet then core.write("wrote  " .. path .. "\n") end
    end
  end
  if not o.quiet then
    core.write(([[
next: put the paths of your databases into %s/connections.lua, then
      lrun plan %s/jobs/orders.lua --logical-date 2026-01-20
      sh %s/tests/orders.sh
]]):format(dir, dir, dir))
  end
  return 0
end
