-- old_files.lua: jobs, ledgers and warehouses of an older version, kept in tests/spec/data. The
-- same functions make them (with the old binary) and hold the current one to them.

local files = require "files"
local pairs_of = require "pairs"
local process = require "process"
local sqlite = require "sqlite"
local postgres = require "postgres"
local world = require "world"

local M = {}

M.dir = world.root .. "/tests/spec/data/0.1.0/"
M.pairs = { "sqlite->sqlite", "sqlite->postgresql", "postgresql->sqlite", "postgresql->postgresql" }
function M.file(kind, name) return M.dir .. kind .. "." .. name:gsub("%->", "-") .. (kind == "warehouse" and ".sql" or ".txt") end

local WORDS = {
  sqlite = { instant = "TEXT", naive = "TEXT" },
  postgresql = { instant = "timestamptz", naive = "timestamp" },
}

-- Tables that were there before lrun, by the warehouse's engine.
local WAREHOUSE = {
  sqlite = [[CREATE TABLE dw_orders(order_id INTEGER PRIMARY KEY, customer_id INTEGER, order_date TEXT,
      amount DECIMAL(10,2), updated_at TEXT);
    CREATE TABLE dw_half(order_id INTEGER PRIMARY KEY, customer_id INTEGER, order_date DATE,
      amount DECIMAL(10,2) CHECK (amount < 60), updated_at DATE);
    CREATE TABLE dw_mixed(id INTEGER PRIMARY KEY, at TIMESTAMP, local_at TIMESTAMP, note TEXT);]],
  postgresql = [[CREATE TABLE dw_orders(order_id int PRIMARY KEY, customer_id int, order_date date, amount numeric(10,2), updated_at date);
    CREATE TABLE dw_half(order_id int PRIMARY KEY, customer_id int, order_date date,
      amount numeric(10,2) CHECK (amount < 60), updated_at date);
    CREATE TABLE dw_mixed(id int PRIMARY KEY, at timestamptz, local_at timestamptz, note text);]],
}

local function night(start, yesterday, placed, transferred)
  return {
    { "orders.lua", "--logical-date", "2026-01-20" },
    { "orders_incremental.lua", "--run-start", start },
    { "dim_customer.lua", "--logical-date", yesterday, "--run-start", start },
    { "revenue_by_country.lua", "--logical-date", placed },
    { "high_water_mark.lua", "--run-start", transferred },
    { "backfill", "half.lua", "--from", "2026-01-19", "--to", "2026-01-22" },
    { "newest.lua", "--run-start", start },
    { "history.lua", "--run-start", start },
    { "stream.lua", "--run-start", start },
    { "times.lua", "--logical-date", "2026-01-20" },
    { "zone.lua", "--logical-date", "2026-01-21" },
    { "columns.lua", "--run-start", start },
  }
end
M.first = night("2026-01-21", "2026-01-20", "2026-01-20", "2026-03-04")
M.second = night("2026-01-26", "2026-01-25", "2026-01-21", "2026-03-05")
table.insert(M.second, { "orders_full.lua", "--run-start", "2026-01-26" })
table.insert(M.second, { "reconcile", "orders.lua", "--from", "2026-01-19", "--to", "2026-01-21" })
table.insert(M.second, { "status", "orders_incremental.lua" })
table.insert(M.second, { "backfill", "half.lua", "--from", "2026-01-19", "--to", "2026-01-22" })

-- A world of a pair with the source, and the warehouse's tables or the one that is kept.
function M.world(name, kept)
  local pair = pairs_of.by_name[name]
  local source = files.read(M.dir .. "source.sql"):gsub("{(%l+)}", function(word) return WORDS[pair.source][word] end)
  local w = pair.new { source = source, warehouse = not kept and WAREHOUSE[pair.warehouse] or "" }
  if kept then
    local dump = files.read(M.file("warehouse", name))
    if pair.warehouse == "sqlite" then
      sqlite.exec(w.to.file, dump)
    else
      postgres.exec(w.to.database, dump)
    end
  end
  for _, job in ipairs(files.list(M.dir .. "jobs")) do files.write(w:path(job), files.read(M.dir .. "jobs/" .. job)) end
  return w
end

-- Run the commands of a night; a line for each: its words and its status.
function M.run(w, commands)
  local lines = {}
  for i, argv in ipairs(commands) do
    local r = w:lrun(table.unpack(argv))
    lines[i] = table.concat(argv, " ") .. ": " .. r.status
    lines[lines[i]] = r.err
  end
  return lines
end

local LEDGER = {
  "SELECT 'run', job, coalesce(logical_date, '-'), status, rows_read, rows_inserted, rows_updated, rows_deleted, rows_skipped " ..
    "FROM lrun_runs ORDER BY run_id",
  "SELECT 'check', run_id, target, metric, CASE metric WHEN 'checksum' THEN '-' ELSE source_value END, equal " ..
    "FROM lrun_checks ORDER BY run_id, target, metric, 5",
  "SELECT 'watermark', job, name, value FROM lrun_watermarks ORDER BY job, name",
  "SELECT 'backfill', job, first_date, last_date, status FROM lrun_backfills ORDER BY backfill_id",
}

-- What the warehouse holds, as lines; the ledger's last.
function M.held(w)
  local lines = {}
  for _, name in ipairs(w.to:tables()) do
    if not name:find "^lrun_" then
      for _, row in ipairs(w:rows(("SELECT * FROM %s ORDER BY 1, 2"):format(name))) do lines[#lines + 1] = name .. ": " .. row end
    end
  end
  for _, query in ipairs(LEDGER) do
    for _, row in ipairs(w:rows(query)) do lines[#lines + 1] = "ledger: " .. row end
  end
  return lines
end

-- What differs on purpose on a pair: lines of `expected` that go, lines that come.
function M.differs(name)
  local gone, come = {}, {}
  for line in files.read(M.dir .. "differs.txt"):gmatch "[^\n]+" do
    local pair, case, sign, text = line:match "^(%S+) (S%d+) ([-+]) (.*)$"
    if pair == name then
      local list = sign == "-" and gone or come
      list[#list + 1] = { text = text, case = case }
    end
  end
  return gone, come
end

-- The warehouse as SQL, without what belongs to a machine.
function M.dump(w)
  local text
  if w.to.engine == "sqlite" then
    text = sqlite.dump(w.to.file)
  else
    local r = process.run({ "pg_dump", "--inserts", "--no-owner", "--no-privileges", w.to:url() }, { tool = true })
    text = assert(r.status == 0 and r.out, r.err):gsub("%-%-[^\n]*\n", ""):gsub("\n\n+", "\n")
      :gsub("SELECT pg_catalog.set_config[^\n]*\n", "")
      :gsub("CREATE SCHEMA public;\n", "")
  end
  local host = process.run({ "uname", "-n" }, { tool = true }).out:gsub("%s+$", "")
  local function plain(s) return (s:gsub("%p", "%%%0")) end
  text = text:gsub(plain(w.from:url()), "source"):gsub(plain(w.to:url()), "warehouse"):gsub("'" .. plain(host) .. "'", "'host.example'")
  return (text:gsub("sqlite:/[^']*/source.db", "source"):gsub("sqlite:/[^']*/warehouse.db", "warehouse")
    :gsub("postgresql://[^']*", "server"))
end

return M
