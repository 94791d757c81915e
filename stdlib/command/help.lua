-- lrun help: pages made from the tables that check the command line and the
-- options of primitives.
local fail = require "show.fail"

local topics = {}

topics.connections = [[
connections: where the databases are

Order: --source, --warehouse and --connection NAME=URL; then LRUN_SOURCE and LRUN_WAREHOUSE; then the nearest
connections.lua, beside the job and upwards. It returns a table, and its relative paths are relative to it:

  return {
    source = "sqlite:app.db",
    warehouse = { url = "sqlite:warehouse.db", must_exist = true },
    -- crm = { url = "postgresql://tenant@host/crm", row_security = true },
  }

A URL is sqlite:path.db, postgresql://user@host/database, or libpq's key=value form; everything that libpq
reads (service file, pgpass, PG* variables) works.

must_exist refuses a warehouse that lrun has not written before, so that a wrong path is no empty start.
row_security = true says that a PostgreSQL role may see a part of the rows (lrun help postgresql).
A source is opened read-only. sqlite::memory: is an empty database that is gone at the end.]]

topics.postgresql = [[
postgresql: how rows move and are written by key

merge and insert_new take the best way that the server does for the target. A refusal is found out behind a
savepoint, once for each target of a run. LRUN_PG_MERGE forces one, and is refused by name where the server
cannot do it:

  merge          MERGE (PostgreSQL 15 and later)
  update_insert  UPDATE ... FROM of what differs, INSERT of what is not there
  on_conflict    INSERT ... ON CONFLICT; needs a unique constraint over the key
  delete_insert  DELETE ... USING and INSERT: where a row cannot be updated in place, such as one whose
                 partition is a foreign table, or the key that shards are cut by

Whichever it is, a row that is there unchanged is not written.

Rows travel by COPY in binary where every type of the table has a form that both ends read alike, else as text.
Between two PostgreSQL databases whose columns have the same types they are passed through as they are.
LRUN_PG_COPY=text forces text. A server that refuses binary COPY gets text by itself.

Row level security: every transaction sets row_security = off, and the server refuses what a policy would filter. A role
with BYPASSRLS sees all rows. With row_security = true in connections.lua a part is read and written, the run notes it,
and delete_missing without a window and scd2_merge { absent = "close" } need partition. A foreign table is filtered by the
other server: ALTER SERVER x OPTIONS (ADD options '-c row_security=off') makes that one refuse too.]]

topics.ledger = [[
ledger: tables of the warehouse that lrun keeps, to be queried

  lrun_runs         each run: job, logical_date, run_start, status, rows, error, backfill_id
  lrun_watermarks   the saved watermarks
  lrun_windows      what each run read: table, column, window_start, window_stop (lrun plan shows which ends are inside)
  lrun_writes       what each run wrote: target, primitive, rows
  lrun_checks       each comparison: both sides, equal
  lrun_backfills    each range of dates, how it ended, and whose it is
  lrun_columns      the columns that a job wrote last into each target
  lrun_write_columns  the same for each of its writes: target, source_table, and place among its writes of that table;
                    a change in the source is refused by them until lrun accept, or the job, says that it is right
  lrun_scd2_seen    sightings that made no version of a dimension

status is running, succeeded, failed, differs or interrupted. succeeded is true exactly when the rows are there.
lrun status, lrun runs and lrun watermark show them; a job cannot write them.]]

topics.types = [[
types: what a value becomes in a column of another type

A value arrives equal, or the run is refused before anything is written; the message names table, column, key and value.

  integers      exact; beyond the target's range: refused. Into numeric(p,s), double precision: only if equal
  decimals      into numeric(p,s): no digit is cut; into integers: whole ones; into doubles: if the double's shortest
                text is the same decimal. SQLite keeps up to 15 digits as a number; wider ones are TEXT in new tables
  text          every byte; longer than varchar(n), a NUL byte or invalid UTF-8 into PostgreSQL: refused
  date          into a timestamp: midnight; into a timestamptz: the first instant of that day in the job's zone
  timestamp     a local time of the job's zone (job { zone = "Europe/Berlin" }). Into a timestamptz: that instant; a
                local time that occurs twice or not at all when clocks change is refused. Into a date: only midnight
  timestamptz   an instant. Into a timestamp: the local time in the job's zone. In SQLite 2026-01-20 10:00:00+00:00, or
                the form that the column already has (+00, Z, a T, a local time)
  text times    SQLite keeps times as text: without an offset a local time, with one (Z, +02:00) an instant
  modifiers     timestamp(0), time(n), interval(n), varchar(n), bit(n) ...: what would be cut or rounded is refused
  others        uuid, json, enums, intervals, arrays, ranges: word for word between PostgreSQL databases, text in SQLite

Keys are compared by the target's type and collation: 'Tag' and 'tag' are one key in a citext or NOCASE column, 'A' and
'A  ' in char(6), two spellings of a uuid. Duplicate keys are refused by name.

group: SUM of integers and decimals is exact; SUM and AVG of doubles are doubles.]]

topics["exit"] = [[
exit statuses

  0    done, or nothing to do
  1    the run failed: an error in the job or from a database; rolled back
  2    wrong use: options, dates, connections file, a job that does not parse; nothing was opened
  3    reconcile found a difference; rolled back
  4    busy: another run holds the lock, or the lock timeout passed
  5    a database cannot be reached; nothing was written
  6    the outcome of COMMIT could not be learned
  7    committed, but the report could not be written
  130  stopped by SIGINT; rolled back
  143  stopped by SIGTERM; rolled back]]

topics.values = [[
values in a job

  logical_date          the date of --logical-date
  run_start             the instant that the run is fixed to; os.time() and os.date() answer with it
  days(n) weeks(n) months(n) hours(n) minutes(n)   spans; a date + or - a span is a date
  date "2026-01-20"     instant "2026-01-20 09:30:00"     they compare, and print in ISO form
  param "name"          the value of --param name=value; param("name", default)
  null                  NULL of a database
  blob(s)               bytes to be stored as such, in rows that a map gives

Columns of exact decimals (DECIMAL, NUMERIC) arrive as text in map and rows(): tonumber(row.amount) > 3.

Rows have :map(fn, new_columns), :filter(fn), :rows() and :count(). In a map integers are exact 64-bit numbers,
NULL is null, and a row that the function answers with nil is dropped. A new column is declared:
rows:map(fn, { total = "numeric(12,2)" }).]]

-- Names that have no page of their own, and where they are told of.
local within = { param = "values", null = "values", blob = "values", date = "values", instant = "values", days = "values",
                 hours = "values", minutes = "values", weeks = "values", months = "values", logical_date = "values",
                 run_start = "values", map = "values", filter = "values", rows = "values", count = "values" }

local function wrap(text, width, indent)
  local lines, line = {}, ""
  for word in text:gmatch("%S+") do
    if #line > 0 and #line + 1 + #word > width then
      lines[#lines + 1] = line
      line = word
    else
      line = #line > 0 and line .. " " .. word or word
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n" .. (" "):rep(indent))
end

local function print_options(cl, command)
  local out = {}
  for _, option in ipairs(cl.options) do
    if not command or (option.of and option.of:find(" " .. command .. " ", 1, true)) then
      if command or not option.of then
        local name = (option.letter and "-" .. option.letter .. ", " or "") .. "--" .. option.name ..
          (option.value and " " .. option.value or "")
        out[#out + 1] = ("  %-28s %s"):format(name, wrap(option.help, 86, 31))
      end
    end
  end
  return out
end

local function overview(cl)
  local out = { "lrun: incremental loads and backfills, each run one warehouse transaction", "" }
  for _, c in ipairs(cl.commands) do out[#out + 1] = ("  %-58s %s"):format(c.usage, c.summary) end
  out[#out + 1] = ""
  out[#out + 1] = "Options of every command:"
  for _, line in ipairs(print_options(cl)) do out[#out + 1] = line end
  local names = {}
  for _, p in ipairs(core.primitives()) do names[#names + 1] = p.name end
  out[#out + 1] = ""
  out[#out + 1] = "lrun help TOPIC for a command, a primitive (" .. wrap(table.concat(names, ", "), 100, 2) .. "),"
  out[#out + 1] = "or: connections, postgresql, types, ledger, exit, and values for logical_date, run_start, param, days, date, null" ..
    " and others"
  return out
end

local function command_page(cl, c)
  local out = { c.name .. ": " .. c.summary, "", "usage: " .. c.usage }
  if c.help ~= "" then
    out[#out + 1] = ""
    out[#out + 1] = c.help
  end
  if c.name == "learn" then
    out[#out + 1] = ""
    out[#out + 1] = require("course.manual").page
  end
  local options = print_options(cl, c.name)
  if #options > 0 then
    out[#out + 1] = ""
    for _, line in ipairs(options) do out[#out + 1] = line end
  end
  out[#out + 1] = ""
  out[#out + 1] = "Options of every command: lrun help"
  return out
end

local function primitive_page(p)
  local out = { p.name .. ": " .. wrap(p.summary, 100, 2), "" }
  if p.first then out[#out + 1] = "  first           " .. p.first end
  for _, o in ipairs(p.options) do
    local note = o.required and "required" or o.default and "default " .. o.default or "optional"
    out[#out + 1] = ("  %-15s %s; %s"):format(o.name, o.type, note)
    out[#out + 1] = "                  " .. wrap(o.help, 96, 18)
  end
  if p.free_names then out[#out + 1] = "  NAME = \"SQL\"    any further name is an aggregate" end
  out[#out + 1] = ""
  out[#out + 1] = "returns  " .. wrap(p.returns, 100, 9)
  out[#out + 1] = "refuses  " .. wrap(p.refuses, 100, 9)
  out[#out + 1] = "example  " .. p.example
  if p.idea then out[#out + 1] = "idea     " .. wrap(p.idea, 100, 9) end
  return out
end

return function(o, cl)
  local topic = within[cl.args[1]] or cl.args[1]
  local out
  if not topic then out = overview(cl) end
  for _, c in ipairs(cl.commands) do if c.name == topic then out = command_page(cl, c) end end
  for _, p in ipairs(core.primitives()) do
    if p.name == topic then
      local page = primitive_page(p)
      -- reconcile and watermark are a command and a primitive
      if out then
        out[#out + 1] = ""
        out[#out + 1] = "In a job:"
        out[#out + 1] = ""
        table.move(page, 1, #page, #out + 1, out)
      else
        out = page
      end
    end
  end
  if not out and topics[topic] then out = { topics[topic] } end
  if not out then
    local names = {}
    for name in pairs(topics) do names[#names + 1] = name end
    table.sort(names)
    for _, c in ipairs(cl.commands) do names[#names + 1] = c.name end
    for _, p in ipairs(core.primitives()) do names[#names + 1] = p.name end
    local near = core.nearest(topic, names)
    return fail.show({ status = 2, message = ("there is no page about \"%s\""):format(topic),
                       hint = near and ("did you mean lrun help %s?"):format(near) or "see lrun help" }, o.json)
  end
  core.write(table.concat(out, "\n") .. "\n")
  return 0
end
