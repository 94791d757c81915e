-- The lanes of dimensions: a type 2 merge of 10,000 changes among 100,000 keys, and
-- a join of the facts with 100,000 versions. The floor is set-based SQL written by
-- hand, run by the engine's own shell.
local measure = require "measure"
local sqlite = require "sqlite"
local call = measure.call

local dimension = {}

-- What differs between the two engines' SQL.
local DIALECT = {
  sqlite = { numbers = "(WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n) AS n",
             later = "datetime('%s', '+' || (%s) || ' %s')", is_not = "IS NOT", is = "IS", source = "source.",
             time = "TIMESTAMP" },
  postgres = { numbers = "generate_series(0, %d) AS n(i)",
               later = "timestamp '%s' + (%s) * interval '1 %s'", is_not = "IS DISTINCT FROM",
               is = "IS NOT DISTINCT FROM", source = "shop.", time = "timestamp" },
}

local function numbers(d, n) return d.numbers:format(n - 1) end

-- The source: customers of whom each tenth has changed, and facts over a year.
local function source_sql(d, prefix, facts)
  return ([[
CREATE TABLE %scustomers(customer_id bigint PRIMARY KEY, name text, country text, changed_at %s NOT NULL);
INSERT INTO %scustomers SELECT i, 'name ' || i, CASE WHEN i %% 10 = 0 THEN 'X' ELSE 'C' || (i %% 50) END,
  CASE WHEN i %% 10 = 0 THEN %s ELSE %s END FROM %s;
CREATE TABLE %sfacts(fact_id bigint PRIMARY KEY, customer_id bigint NOT NULL, at %s NOT NULL, amount decimal(10,2));
INSERT INTO %sfacts SELECT i, (CAST(i AS bigint) * 7919) %% 25000, %s, (i %% 9973) / 100.0 FROM %s;
]]):format(prefix, d.time, prefix, d.later:format("2026-02-01 10:00:00", "0", "day"), d.later:format("2026-01-01 09:00:00", "0", "day"),
           numbers(d, 100000), prefix, d.time, prefix,
           d.later:format("2025-01-01 00:00:00", "(CAST(i AS bigint) * 104729) % 525600", "minute"), numbers(d, facts))
end

-- The warehouse: the dimension as it was, and another of four versions a key.
local function warehouse_sql(d)
  local to = d.later:format("2024-12-01 06:00:00", "i % 4 * 100 + 100", "day")
  return ([[
CREATE TABLE dim(customer_id bigint NOT NULL, name text, country text, valid_from %s NOT NULL, valid_to %s,
  PRIMARY KEY (customer_id, valid_from));
INSERT INTO dim SELECT i, 'name ' || i, 'C' || (i %% 50), %s, '9999-12-31' FROM %s;
CREATE TABLE versions(customer_id bigint NOT NULL, country text, valid_from %s NOT NULL, valid_to %s,
  PRIMARY KEY (customer_id, valid_from));
INSERT INTO versions SELECT i / 4, 'C' || (i %% 50), %s, CASE WHEN i %% 4 = 3 THEN %s ELSE %s END FROM %s;
CREATE TABLE placed(fact_id bigint PRIMARY KEY, customer_id bigint NOT NULL, at %s NOT NULL, amount decimal(10,2), country text);
]]):format(d.time, d.time, d.later:format("2026-01-01 09:00:00", "0", "day"), numbers(d, 100000), d.time, d.time,
           d.later:format("2024-12-01 06:00:00", "i % 4 * 100", "day"), d.later:format("9999-12-31 00:00:00", "0", "day"), to,
           numbers(d, 100000), d.time)
end

local function merge_sql(d)
  return ([[
CREATE TEMP TABLE changed AS SELECT customer_id, name, country, changed_at FROM %scustomers WHERE changed_at >= '2026-01-15';
UPDATE dim SET valid_to = changed.changed_at FROM changed WHERE dim.customer_id = changed.customer_id AND dim.valid_to >= '9999-12-31'
  AND dim.valid_from < changed.changed_at AND (dim.name %s changed.name OR dim.country %s changed.country);
INSERT INTO dim(customer_id, name, country, valid_from, valid_to) SELECT customer_id, name, country, changed_at, '9999-12-31' FROM changed
  WHERE NOT EXISTS (SELECT 1 FROM dim WHERE dim.customer_id = changed.customer_id AND dim.valid_to >= '9999-12-31'
                    AND dim.name %s changed.name AND dim.country %s changed.country);
]]):format(d.source, d.is_not, d.is_not, d.is, d.is)
end

local function join_sql(d)
  return ([[
DELETE FROM placed;
INSERT INTO placed SELECT f.fact_id, f.customer_id, f.at, f.amount, v.country FROM %sfacts f JOIN versions v
  ON v.customer_id = f.customer_id AND f.at >= v.valid_from AND (v.valid_to IS NULL OR f.at < v.valid_to);
]]):format(d.source)
end

local WORK = { { name = "scd2_merge, 10,000 of 100,000 keys", job = "scd2", sql = merge_sql, target = "<= 1.30" },
               { name = "scd2_join with 100,000 versions", job = "join", sql = join_sql, target = "<= 1.10" } }

local function write(path, text)
  local f <close> = assert(io.open(path, "w"))
  assert(f:write(text))
  return path
end

-- The rows that both must have made, or the time means nothing.
local CHECK = "SELECT (SELECT count(*) FROM dim WHERE valid_to < '9999-12-31') || ' ' || (SELECT count(*) FROM placed)"

function dimension.sqlite(dir, facts)
  local d, lanes = DIALECT.sqlite, {}
  local source = dir .. "/dim_source.db"
  call("sqlite3", source, "PRAGMA journal_mode = WAL", source_sql(d, "", facts))
  call("sqlite3", dir .. "/dim.db", "PRAGMA journal_mode = WAL", warehouse_sql(d))
  -- a ledger is made once in a warehouse's life
  call(table.unpack(measure.job("empty", "sqlite:" .. source, "sqlite:" .. dir .. "/dim.db")))
  for i, work in ipairs(WORK) do
    local script = write(("%s/%s.sql"):format(dir, work.job),
                         ("ATTACH '%s' AS source;\nBEGIN IMMEDIATE;\n%sCOMMIT;\n"):format(source, work.sql(d)))
    local target
    lanes[i] = {
      name = "SQLite, " .. work.name, figure = measure.slowness, target = work.target,
      floor = function()
        target = sqlite.fresh(dir, "dim", "by_floor")
        return { "sqlite3", target, ".read " .. script }
      end,
      lrun = function()
        target = sqlite.fresh(dir, "dim", "by_lrun")
        return measure.job(work.job, "sqlite:" .. source, "sqlite:" .. target)
      end,
      after = function()
        local made = measure.output_of { "sqlite3", target, CHECK }
        assert(made == ("%d %d\n"):format(i == 1 and 10000 or 0, i == 2 and facts or 0), made)
      end,
    }
  end
  return lanes
end

function dimension.postgres(server, dir, facts)
  local d, lanes = DIALECT.postgres, {}
  server:sql("postgres", "CREATE DATABASE of_dim")
  server:sql("of_dim", "CREATE SCHEMA shop", source_sql(d, "shop.", facts), warehouse_sql(d))
  call(table.unpack(measure.job("empty", server:url "of_dim", server:url "of_dim")))
  server:sql("of_dim", "VACUUM (ANALYZE, FREEZE)")
  for i, work in ipairs(WORK) do
    local script = write(dir .. "/" .. work.job .. "_pg.sql", "BEGIN;\n" .. work.sql(d) .. "COMMIT;\n")
    local function ready() server:copy("of_dim", "target") end
    lanes[i] = {
      name = "PostgreSQL, " .. work.name, figure = measure.slowness, target = work.target,
      floor = function()
        ready()
        return { server.psql, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", server:url "target", "-f", script }
      end,
      lrun = function()
        ready()
        return measure.job(work.job, server:url "target", server:url "target", "--param", "schema=shop.")
      end,
      after = function()
        local made = server:sql("target", CHECK)
        assert(made == ("%d %d\n"):format(i == 1 and 10000 or 0, i == 2 and facts or 0), made)
      end,
    }
  end
  return lanes
end

return dimension
