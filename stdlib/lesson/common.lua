-- What the lessons about the shop's orders share: their tables, and the job in
-- four steps of which each lesson breaks one.
local common = {}

-- ---- tables ----

common.ORDER = { { "order_id", "INTEGER", "id" }, { "order_date", "TEXT NOT NULL", "date" },
                 { "amount", "DECIMAL(10,2)", "amount" }, { "updated_at", "TEXT NOT NULL", "date" } }

-- The six orders of the shop on 2026-01-22; 105 is not paid yet.
local ROWS = {
  { 101, "2026-01-03", 40.00, "2026-01-03" }, { 102, "2026-01-08", 25.50, "2026-01-08" },
  { 103, "2026-01-10", 50.00, "2026-01-10" }, { 104, "2026-01-19", 35.00, "2026-01-19" },
  { 105, "2026-01-20", false, "2026-01-20" }, { 106, "2026-01-21", 70.00, "2026-01-21" },
}

-- The first n of them.
function common.orders(n) return table.move(ROWS, 1, n or #ROWS, 1, {}) end

function common.source(rows) return { { name = "orders", key = "order_id", columns = common.ORDER, rows = rows } } end

-- The target, the rows of a run between reading and writing, and the watermark.
function common.warehouse(rows, watermark)
  return {
    { name = "dw_orders", columns = common.ORDER, rows = rows },
    { name = "staged", columns = common.ORDER },
    { name = "wm", columns = { { "job", "TEXT PRIMARY KEY" }, { "watermark", "TEXT", "date" } }, rows = { { "orders", watermark } } },
  }
end

common.TRUTH = { table = "dw_orders", key = { "order_id" }, columns = { "order_id", "order_date", "amount", "updated_at" },
                 source = "SELECT order_id, order_date, amount, updated_at FROM orders", stamp = "updated_at", total = "amount" }

function common.probe(o)
  return { table = "orders", target = "dw_orders", key = "order_id", columns = { "updated_at", "order_date" }, row = { amount = 1.00 },
           times = o and o.times }
end

function common.paid(at, id, amount, stamp)
  return { at = at, update = "orders", set = { amount = amount, updated_at = stamp or at }, where = { order_id = id }, label = "paid" }
end

function common.placed(at, id, amount, stamp)
  return { at = at, insert = "orders", row = { id, at:sub(1, 10), amount, stamp or at } }
end

-- ---- the job in four steps ----

local HALF_OPEN = "updated_at >= :start AND updated_at < :stop"

local TODAY = [=[
local window = { start = saved, stop = os.date "%Y-%m-%d" }
]=]

-- Said at the head of a job in SQL, where a learner meets the words.
local ABOUT = [=[
-- Copies what has changed in orders to dw_orders. "manual": each statement is
-- kept by itself, unless the job says BEGIN and COMMIT. query asks the
-- warehouse, execute changes it; a :name in the SQL takes its value from
-- params.
]=]

local MANUAL = [=[
job { transaction = "manual" }

]=]

local SAVED = [=[
-- 1. The saved watermark, and the window of this run.
local saved =
  query { "SELECT watermark FROM wm WHERE job = 'orders'" }[1].watermark
]=]

local READ = [=[
execute { "DELETE FROM staged" }
execute { [[
  INSERT INTO staged
  SELECT order_id, order_date, amount, updated_at
  FROM   orders
  WHERE  %s
]], params = window }

]=]

common.DELETE = [=[
execute { [[
  DELETE FROM dw_orders
  WHERE  order_id IN (SELECT order_id FROM staged)
]] }
]=]

common.INSERT = [=[
execute { "INSERT INTO dw_orders SELECT * FROM staged" }
]=]

common.BY_KEY = common.DELETE .. common.INSERT

common.SAVE = [=[
execute { "UPDATE wm SET watermark = :mark WHERE job = 'orders'",
          params = { mark = window.stop } }
]=]

-- BY_KEY in other forms: change what is there, add what is not.
common.UPDATE_THEN_INSERT = [=[
execute { [[
  UPDATE dw_orders SET (order_date, amount, updated_at) =
    (SELECT s.order_date, s.amount, s.updated_at FROM staged s WHERE s.order_id = dw_orders.order_id)
  WHERE order_id IN (SELECT order_id FROM staged)
]] }
execute { [[
  INSERT INTO dw_orders (updated_at, order_id, amount, order_date)
  SELECT updated_at, order_id, amount, order_date FROM staged s
  WHERE NOT EXISTS (SELECT 1 FROM dw_orders d WHERE d.order_id = s.order_id)
]] }
]=]

common.UPSERT = [=[
execute { "CREATE UNIQUE INDEX IF NOT EXISTS dw_orders_key ON dw_orders(order_id)" }
execute { [[
  INSERT INTO dw_orders SELECT * FROM staged WHERE true
  ON CONFLICT (order_id) DO UPDATE SET
    order_date = excluded.order_date, amount = excluded.amount, updated_at = excluded.updated_at
]] }
]=]

-- window, where or read, write and save stand for a step of the right job, told for
-- what is said of step 3; first = true saves the watermark before the write;
-- each = true lets every statement commit by itself.
function common.job(o)
  o = o or {}
  local read = "-- 2. Read the rows of the window.\n" .. (o.read or READ:format(o.where or HALF_OPEN))
  local write = (o.told or "-- 3. Write by key: the old copy of an order goes, the new one comes.\n") .. (o.write or common.BY_KEY) .. "\n"
  local save = "-- 4. Save the watermark.\n" .. (o.save or common.SAVE)
  local body = read .. (o.first and save .. "\n" .. write or write .. save)
  if not o.each then body = 'execute { "BEGIN" }\n\n' .. body .. '\nexecute { "COMMIT" }\n' end
  return ABOUT .. MANUAL .. SAVED .. (o.window or TODAY) .. "\n" .. body
end

-- The job that adds what it has read, with other steps changed too.
function common.adding(o)
  o = o or {}
  o.told, o.write = "-- 3. Write the rows.\n", common.INSERT
  return common.job(o)
end

-- Once a week: which orders are not in the warehouse as they are in the source? It stands
-- behind the watermark, before the window.
common.CHECK = [=[
local since = param("check", "")
if since ~= "" then
  local there, wrong = {}, {}
  for _, d in ipairs(query { "SELECT * FROM dw_orders" }) do
    there[d.order_id] = d
  end
  local rows = query {
    "SELECT * FROM orders WHERE updated_at >= :since " ..
    "AND updated_at < :saved ORDER BY order_id",
    params = { since = since, saved = saved }, connection = "source",
  }
  for _, s in ipairs(rows) do
    local d = there[s.order_id]
    if not d or d.amount ~= s.amount or d.updated_at ~= s.updated_at then
      wrong[#wrong + 1] = tostring(s.order_id)
    end
  end
  if #wrong > 0 then
    error("differs from the source: " .. table.concat(wrong, " "))
  end
  return
end
]=]

-- The same by primitives; lrun keeps the watermark. lookback is a number of days, by the
-- window's column.
function common.merge(lookback, by)
  return ([=[
job { grain = "day" }

local changed = extract {
  from = "orders", by = "%s",
  window = window { since = watermark()%s },
}

merge { changed, into = "dw_orders", key = "order_id" }
]=]):format(by or "updated_at", lookback and (", lookback = days(%d)"):format(lookback) or "")
end

common.MERGE = common.merge()

-- Everything again, each night.
common.FULL_LOAD = MANUAL .. [=[
execute { "BEGIN" }
execute { "DELETE FROM dw_orders" }
execute { "INSERT INTO dw_orders SELECT order_id, order_date, amount, updated_at FROM orders" }
execute { "COMMIT" }
]=]

-- ---- a job for one day ----

-- The day's rows are deleted and inserted again: o.delete and o.insert are conditions
-- for what else goes or comes, o.write stands for both statements.
function common.day_in_sql(o)
  o = o or {}
  local one = "order_date >= :day AND order_date < :next_day"
  local begin, commit = 'execute { "BEGIN" }\n', 'execute { "COMMIT" }\n'
  if o.each then begin, commit = "", "" end
  return MANUAL .. "local one_day = { day = tostring(" .. (o.day or "logical_date") .. "), next_day = tostring(" ..
         (o.day or "logical_date") .. [=[ + days(1)) }

]=] .. begin .. (o.write or [=[
execute { "DELETE FROM dw_orders WHERE ]=] .. (o.delete or one) .. [=[", params = one_day }
execute { [[
  INSERT INTO dw_orders
  SELECT order_id, order_date, amount, updated_at
  FROM   orders
  WHERE  ]=] .. (o.insert or one) .. [=[

]], params = one_day }
]=]) .. commit
end

local DAY = [=[
job { grain = "day" }

local orders = extract {
  from = "orders", by = "order_date",
  window = %s,
}

%s
]=]

-- The same by primitives.
function common.day(write, window)
  return DAY:format(window or "window()", write or 'overwrite_partition { orders, into = "dw_orders" }')
end

-- A job that drives its days itself: body is a day's work, from the first line on.
function common.driver(body, first, last, step)
  return (MANUAL .. [=[
local function work(day)
%s
end

local d, last, step = param "%s", param "%s", "%s"
while step == "+1 day" and d <= last or step == "-1 day" and d >= last do
  work(d)
  d = query { "SELECT date(:d, :step) AS d", params = { d = d, step = step } }[1].d
end
]=]):format(body, first or "from", last or "to", step or "+1 day")
end

-- What is read is not what it is checked against: feed is a copy of orders that others may read.
local FEED = [=[
job { grain = "day" }

local orders = extract {
  from = "feed", by = "order_date", window = window(),
}
local placed = extract {
  from = "orders", by = "order_date", window = window(),
}

overwrite_partition { orders, into = "dw_orders" }
%s
]=]

-- A day by primitives, and its check.
function common.fed_day(check) return FEED:format(check or 'reconcile { placed, with = "dw_orders", sum = "amount" }') end

function common.with_feed(orders, feed)
  return { common.source(orders)[1], { name = "feed", key = "order_id", columns = common.ORDER, rows = feed } }
end

common.FED = setmetatable({
  source = "SELECT order_id, order_date, amount, updated_at FROM feed",
  books = {
    name = "orders", copied = "feed", days = "SELECT order_date, COUNT(*), SUM(amount) FROM orders GROUP BY order_date",
    bad = "SELECT o.order_date FROM orders o WHERE NOT EXISTS (SELECT 1 FROM feed f " ..
          "WHERE f.order_id = o.order_id AND f.order_date = o.order_date AND f.amount IS NOT DISTINCT FROM o.amount)",
    mend = "UPDATE feed SET amount = (SELECT o.amount FROM orders o WHERE o.order_id = feed.order_id) WHERE order_date = :day",
    rows = "DELETE FROM feed WHERE order_date = :day",
    amount = "UPDATE feed SET amount = amount + 1 WHERE order_date = :day" },
}, { __index = function(_, name) return name == "partition" and "order_date" or common.TRUTH[name] end })

-- The work of a day in SQL; day is the date. copy, check and stop stand for their part.
function common.fed_in_sql(o)
  o = o or {}
  return 'execute { "BEGIN" }\n' .. (o.copy or common.FED_COPY) .. (o.check or common.FED_CHECK) .. (o.stop or common.FED_STOP) ..
         (o.done or "") .. 'execute { "COMMIT" }\n'
end

common.FED_COPY = [=[
execute { "DELETE FROM dw_orders WHERE order_date = :day", params = { day = day } }
execute { "INSERT INTO dw_orders SELECT * FROM feed WHERE order_date = :day", params = { day = day } }
]=]

common.FED_CHECK = [=[
local function totals(table_name, connection)
  return query { "SELECT COUNT(*) AS n, CAST(round(SUM(amount) * 100) AS INTEGER) AS cents FROM " .. table_name ..
                 " WHERE order_date = :day", params = { day = day }, connection = connection }[1]
end
local there, here = totals("orders", "source"), totals "dw_orders"
]=]

common.FED_STOP = [=[
if there.n ~= here.n or there.cents ~= here.cents then error("the day " .. day .. " differs") end
]=]

common.BY_DAY = setmetatable({ partition = "order_date" }, { __index = common.TRUTH })

return common
