-- What a job's SQL may not do on PostgreSQL, which does not say what a statement
-- touches: it is told by its words, whatever stands around them.
local pairs_of = require "pairs"

local ALLOWED = {
  "INSERT INTO t SELECT 2, 'x', timestamp '2026-01-01' FROM lrun_runs LIMIT 1",
  "CREATE TABLE z AS SELECT r.* FROM lrun_runs r JOIN lrun_writes ON lrun_writes.run_id = r.run_id",
  "CREATE VIEW zv AS SELECT * FROM lrun_runs",
  "DELETE FROM t USING lrun_runs WHERE false",
  "UPDATE t SET v = 'lrun_runs' FROM lrun_runs WHERE false",
  "INSERT INTO t VALUES (3, 'DELETE FROM lrun_runs', '2026-01-01')",
  "INSERT INTO t VALUES (4, $a$ into lrun_runs $a$, '2026-01-01')",
  "SELECT 1 /* into lrun_runs */",
  "INSERT INTO t AS lrun_x VALUES (5, 'b', '2026-01-01')",
  "INSERT INTO t VALUES (6, E'\\'' || ' into lrun_runs', '2026-01-01')",
}

local LEDGER = {
  "DROP TABLE lrun_runs", 'DROP TABLE public."lrun_runs"', "ALTER TABLE lrun_runs RENAME TO x", "TRUNCATE lrun_writes",
  "INSERT INTO public.lrun_runs DEFAULT VALUES", "UPDATE ONLY lrun_watermarks SET value = 'x'", "DELETE /* a */ FROM\nlrun_watermarks",
  "WITH x AS (DELETE FROM lrun_watermarks RETURNING 1) SELECT * FROM x",
  "MERGE INTO LRUN_watermarks USING t ON false WHEN NOT MATCHED THEN DO NOTHING",
  "DO $$ BEGIN DELETE FROM lrun_watermarks; END $$", "CREATE INDEX i ON lrun_runs (job)",
  "CREATE TRIGGER x AFTER INSERT ON lrun_runs EXECUTE FUNCTION f()", "EXPLAIN ANALYZE DELETE FROM lrun_runs",
  "COPY lrun_watermarks FROM '/dev/null'", "LOCK TABLE lrun_runs", "CREATE TABLE IF NOT EXISTS lrun_mine (n int)",
}

describe("on PostgreSQL", function()
  local w
  setup(function()
    w = pairs_of.by_name["postgresql->postgresql"].with "INSERT INTO s VALUES (1, 'a', '2026-01-01 10:00:00');"
    w:job("first", 'job {}\nmerge { extract { from = "s" }, into = "t", key = "id" }'):ok "first.lua"
  end)

  local function run(sql, verb)
    w:job("j", ("job {}\nprint(#tostring(%s { [==[%s]==] }))\nerror 'the end'\n"):format(verb or "execute", sql))
    local r = w:lrun("j.lua", { timeout = 30 })
    assert.equal(1, r.status, r.out .. r.err)
    return r.err
  end

  for _, sql in ipairs(ALLOWED) do
    it("runs " .. sql, function() assert.truthy(run(sql):find("the end", 1, true)) end)
  end

  for _, sql in ipairs(LEDGER) do
    it("keeps the ledger from " .. sql:gsub("\n", " "), function()
      local said = run(sql)
      assert.truthy(said:find("is written by lrun only", 1, true), said)
    end)
  end

  for _, sql in ipairs { "COPY t FROM STDIN", "copy t TO stdout (FORMAT binary)", "COPY (SELECT 1) TO STDOUT" } do
    it("refuses " .. sql .. ", which would wait for nobody", function()
      assert.truthy(run(sql):find("COPY from or to the client is refused", 1, true))
    end)
  end

  for _, sql in ipairs { "", " \n", "-- nothing", "/* /* */ */ ;" } do
    it(("says that %q is empty"):format(sql), function() assert.truthy(run(sql):find("the statement is empty", 1, true)) end)
  end

  for _, sql in ipairs { "WITH x AS (DELETE FROM t RETURNING 1) SELECT * FROM x", "SELECT 1 INTO zz", "EXPLAIN ANALYZE DELETE FROM t",
                         "WITH x AS (SELECT 1) INSERT INTO t SELECT 9 FROM x" } do
    it("lets no query write: " .. sql, function() assert.truthy(run(sql, "query"):find("this statement writes", 1, true)) end)
  end

  for _, sql in ipairs { "SELECT * FROM t FOR UPDATE", "WITH a AS (SELECT 1 AS x) SELECT x FROM a", "SELECT 'insert into t'", "SHOW timezone",
                         "SELECT 1 AS a, update, q.delete FROM (SELECT 2 AS update, 3 AS delete) AS q" } do
    it("lets a query read: " .. sql, function() assert.truthy(run(sql, "query"):find("the end", 1, true)) end)
  end
end)
