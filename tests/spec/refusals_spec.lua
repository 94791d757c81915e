-- Every refusal says the job line, the object, the value and what next.
local world = require "world"

local function refused(code, words, ...)
  local w = world.with_t("INSERT INTO t VALUES (1,'a','2026-01-01 10:00:00');", "INSERT INTO t VALUES (9,'old','2025-01-01');")
  w:job("job", code)
  local state = w:state()
  local r = w:refused(words.status or 1, words, "job.lua", ...)
  assert.equal(state, w:state())
  return r
end

local LINE2 = 'job {}\n%s\n'

describe("an unknown option", function()
  for _, case in ipairs {
    { 'extract { from = "t", colums = { "id" } }', "extract", "colums", "columns" },
    { 'extract { form = "t" }', "extract", "form", "from" },
    { 'merge { extract { from = "t" }, int = "t", key = "id" }', "merge", "int", "into" },
    { 'merge { extract { from = "t" }, into = "t", keys = "id" }', "merge", "keys", "key" },
    { 'insert_new { extract { from = "t" }, into = "t", kye = "id" }', "insert_new", "kye", "key" },
    { 'full_load { extract { from = "t" }, into = "t", allow_emtpy = true }', "full_load", "allow_emtpy", "allow_empty" },
    { 'overwrite_partition { extract { from = "t" }, into = "t", colum = "x" }', "overwrite_partition", "colum", "column" },
    { 'reconcile { extract { from = "t" }, with = "t", summ = "id" }', "reconcile", "summ", "sum" },
    { 'scd2_join { extract { from = "t" }, dim = "d", key = "k", at = "a", takes = "x" }', "scd2_join", "takes", "take" },
    { 'query { "SELECT 1", conection = "source" }', "query", "conection", "connection" },
    { 'window { since = watermark(), lookbak = days(1) }', "window", "lookbak", "lookback" },
    { 'watermark { advnce = "newest" }', "watermark", "advnce", "advance" },
  } do
    it("of " .. case[2] .. " names the nearest: " .. case[3], function()
      refused(LINE2:format("local x = " .. case[1]), { "job.lua:2", case[2], case[3], case[4] })
    end)
  end

  it("of job names the nearest, before anything is opened", function()
    refused('job { grian = "day" }', { "job.lua:1", "grian", "grain", status = 2 })
  end)
end)

describe("an option of the wrong kind", function()
  for code, word in pairs {
    ["extract { from = 5 }"] = "from",
    ['extract { from = "t", window = "2026-01-01" }'] = "window",
    ['extract { from = "t", window = window("2026-01-01", "2026-01-02") }'] = "by",
    ['extract { from = "t", sql = "SELECT 1" }'] = "sql",
    ["extract {}"] = "from",
    ["extract()"] = "extract",
    ['extract "t"'] = "extract",
    ['merge { "t", into = "t", key = "id" }'] = "merge",
    ['merge { into = "t", key = "id" }'] = "merge",
    ['merge { extract { from = "t" }, key = "id" }'] = "into",
    ['merge { extract { from = "t" }, into = "t" }'] = "key",
    ['merge { extract { from = "t" }, into = "t", key = {} }'] = "key",
    ['merge { extract { from = "t" }, into = "t", key = { "id", "id" } }'] = "id",
    ['merge { extract { from = "t" }, extract { from = "t" }, into = "t", key = "id" }'] = "merge",
    ['full_load { extract { from = "t" }, into = "t", allow_empty = "yes" }'] = "allow_empty",
    ['window { since = "2026-01-01" }'] = "since",
    ["days('two')"] = "days",
    ["days(1.5)"] = "days",
    ['date "2026-02-30"'] = "2026-02-30",
    ['instant "25 o\'clock"'] = "25 o'clock",
    ["query {}"] = "query",
    ['extract { from = "t", connection = "sauce" }'] = "sauce",
    ['watermark { advance = "oldest" }'] = "oldest",
    ['extract { from = "t", time = "unix_us", by = "updated_at" }'] = "unix_us",
  } do
    it("is refused: " .. code, function()
      refused(LINE2:format("local x = " .. code .. " if type(x) == 'userdata' and x.count then x:count() end"),
        { "job.lua:2", word, hint = false })
    end)
  end
end)

describe("a global that is not defined", function()
  it("is an error that names the nearest", function()
    refused(LINE2:format 'mrege { extract { from = "t" }, into = "t", key = "id" }', { "job.lua:2", "mrege", "merge" })
    refused(LINE2:format "print(logical_dat)", { "job.lua:2", "logical_dat", "logical_date" })
    refused(LINE2:format "print(undefined_thing)", { "job.lua:2", "undefined_thing", hint = false })
  end)

  it("may be set and read by the job itself", function()
    local w = world.new()
    w:job("j", "job {}\nmine = 1\nfunction helper() return mine end\nassert(helper() == 1)"):ok "j.lua"
  end)
end)

describe("a job", function()
  it("says job once, first, with literals", function()
    refused('job {}\njob {}\n', { "job.lua:2", "job", status = 1, hint = false })
    refused('local x = extract { from = "t" }\njob {}\n', { "job.lua:2", "job", status = 1, hint = false })
    refused('job { grain = "fortnight" }\n', { "job.lua:1", "fortnight", status = 2, hint = false })
    refused('job { zone = "Europe/Atlantis" }\n', { "job.lua:1", "Europe/Atlantis", status = 2, hint = false })
    refused('job { name = "" }\n', { "job.lua:1", "name", status = 2, hint = false })
    refused('job { name = 5 }\n', { "job.lua:1", "name", status = 2, hint = false })
  end)

  it("without a job line is a day's job with its file's name", function()
    local w = world.new()
    w:job("plain", "assert(tostring(window()) == '[2026-01-20, 2026-01-21)')"):ok("plain.lua", "--logical-date", "2026-01-20")
    assert.equal("plain", w:last_run().job)
  end)

  it("may name itself by a parameter", function()
    local w = world.new()
    w:job("j", 'job { name = "load_" .. param "region" }'):ok("j.lua", "--param", "region=EU")
    assert.equal("load_EU", w:last_run().job)
  end)
end)

describe("a write", function()
  it("into a source is refused", function()
    refused(LINE2:format 'execute { "DELETE FROM t", connection = "source" }', { "job.lua:2", "source", hint = false })
    refused(LINE2:format 'query { "DELETE FROM t RETURNING id", connection = "source" }', { "job.lua:2", "source", hint = false })
    refused(LINE2:format 'extract { sql = "DELETE FROM t RETURNING id" }:count()', { "job.lua:2", hint = false })
  end)

  it("by query is refused", function()
    refused(LINE2:format 'query { "DELETE FROM t RETURNING id" }', { "job.lua:2", hint = false })
  end)
end)

describe("execute", function()
  for _, sql in ipairs { "BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT x", "RELEASE x", "ATTACH 'x.db' AS x", "DETACH main",
                         "VACUUM", "PRAGMA journal_mode = DELETE", "PRAGMA user_version = 5", "PRAGMA foreign_keys = OFF",
                         "/* a */ COMMIT", "-- b\nROLLBACK", "  commit  ;" } do
    it("refuses " .. sql:gsub("\n", " "), function()
      refused("job {}\nexecute { [[" .. sql .. "]] }\n", { "job.lua:2", hint = false })
    end)
  end

  it("takes one statement", function()
    refused(LINE2:format 'execute { "DELETE FROM t; DROP TABLE t" }', { "job.lua:2", "one statement", hint = false })
    refused(LINE2:format 'execute { "DELETE FROM t; COMMIT" }', { "job.lua:2", hint = false })
    refused(LINE2:format 'execute { "" }', { "job.lua:2", hint = false })
  end)

  it("says what SQL is wrong", function()
    refused(LINE2:format 'execute { "DELETE FRM t" }', { "job.lua:2", "FRM", hint = false })
    refused(LINE2:format 'execute { "DELETE FROM tt" }', { "job.lua:2", "tt", hint = false })
  end)

  it("leaves the ledger alone", function()
    local w = world.new()
    w:job("j", "job {}"):ok "j.lua"
    w:job("k", [[job {} execute { "DELETE FROM lrun_runs" }]])
    local r = w:lrun "k.lua"
    if r.status == 0 then
      -- Allowed or not, the run's own row says what happened.
      assert.equal("succeeded", w:last_run("k").status)
    else
      world.says(r, 1, { "k.lua:1", "lrun_runs", hint = false })
    end
  end)
end)

describe("an endless job", function()
  it("is stopped by --max-seconds with its line", function()
    for _, code in ipairs { "while true do end", "while true do pcall(error, 'x') end",
                            "repeat local ok = pcall(function() while true do end end) until false" } do
      refused("job {}\n\n" .. code, { "job.lua:3", "max-seconds", hint = false }, "--max-seconds", "1")
    end
  end)

  it("is stopped by --max-seconds in SQL and in a pattern", function()
    refused("job {}\nquery { 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n' }",
      { "job.lua:2", "max-seconds", hint = false }, "--max-seconds", "1")
  end)

  it("may not take more memory than --max-memory", function()
    for _, code in ipairs { "local t = {} while true do t[#t + 1] = ('x'):rep(1000000) .. #t end",
                            "local s = 'x' while true do s = s .. s end",
                            "local t = {} while true do pcall(function() while true do t[#t + 1] = ('x'):rep(100000) .. #t end end) end" } do
      refused("job {}\n" .. code, { "job.lua:2", "memory", hint = false }, "--max-memory", "64MB", "--max-seconds", "20")
    end
  end)

  it("that recurses without end is an error with its line", function()
    refused("job {}\nlocal function f() return 1 + f() end\nf()", { "job.lua:2", "overflow", hint = false })
  end)
end)

describe("control characters in an error", function()
  local COURSE = { source = false, warehouse = false }
  local RAW = [[error("a\27[31mRED\27]0;pwn\7\n\0x \u{e9} \u{1F600} \u{9b}1m \127")]]
  local SEEN = [[job.lua:2: a\x1b[31mRED\x1b]0;pwn\x07 \x00x é 😀 \xc2\x9b1m \x7f]]

  -- The text is told, and nothing that a terminal would act upon.
  local function visible(r, word)
    local text = r.out .. r.err
    assert.is_truthy(text:find(word, 1, true), text)
    assert.is_nil(text:find "[%z\1-\8\11-\31\127]", text)
    assert.is_nil(text:find("\u{9b}", 1, true), text)
  end

  it("of a job are written as their bytes, in the ledger too", function()
    local w = world.new()
    w:job("job", "job {}\n" .. RAW)
    local r = w:lrun "job.lua"
    assert.equal(1, r.status)
    visible(r, SEEN)
    assert.equal(SEEN, w:last_run().error)
    visible(w:lrun("runs", "job.lua"), "RED")
    visible(w:lrun("job.lua", "--json"), SEEN)
  end)

  it("of a job's name are written as their bytes by every command", function()
    local w = world.with_t("INSERT INTO t VALUES (1,'a','2026-01-01 10:00:00');")
    w:job("job", 'job { name = "n\\27[31m", grain = "day" }\nlocal days = extract { from = "t", by = "updated_at", window = window() }\n' ..
      'overwrite_partition { days, into = "t", column = "updated_at" }\nreconcile { days, with = "t" }')
    local range = { "job.lua", "--from", "2026-01-01", "--to", "2026-01-02" }
    visible(w:lrun("job.lua", "--logical-date", "2026-01-01"), [[run n\x1b[31m  2026-01-01]])
    visible(w:lrun("plan", table.unpack(range)), [[plan n\x1b[31m ]])
    visible(w:lrun("backfill", table.unpack(range)), [[backfill n\x1b[31m ]])
    visible(w:lrun("backfill", table.unpack(range)), [[nothing to do]])
    visible(w:lrun("reconcile", table.unpack(range)), [[reconcile n\x1b[31m ]])
    visible(w:lrun("watermark", "job.lua"), [[ of n\x1b[31m ]])
    visible(w:lrun "status", "n")
    visible(w:lrun "runs", "n")
  end)

  it("of a value that is compared are written as their bytes", function()
    local w = world.with_t("INSERT INTO t VALUES (1,'a'||char(27)||'[31m','2026-01-01');", "INSERT INTO t VALUES (1,'b'||char(27)||'[31m','2026-01-01');")
    w:job("job", 'job {}\nreconcile { extract { from = "t" }, with = "t", by = "v" }')
    visible(w:lrun "job.lua", [[a\x1b[31m]])
  end)

  it("of SQL are written as their bytes", function()
    local w = world.new()
    w:job("job", [[job {} query { "SELECT \27 x" }]])
    visible(w:lrun "job.lua", [[unrecognized token: "\x1b"]])
    assert.is_truthy(w:last_run().error:find([["\x1b"]], 1, true))
  end)

  it("of a learner's job are written as their bytes", function()
    local w = world.new(COURSE)
    w:job("job", "job {}\n" .. RAW)
    visible(w:lrun("learn", "grade", "job.lua", "--scenario", "02-created-date"), SEEN)
    w:ok("learn", "start", "02")
    w:write("lrun-course/02-created-date/job.lua", "job {}\n" .. RAW)
    visible(w:lrun("learn", "check"), SEEN)
    visible(w:lrun("learn", "step"), [[\x1b[31mRED]])
  end)

  it("of a word typed at the course's prompt are written as their bytes, and the word is cut", function()
    local w = world.new(COURSE)
    local r = w:lrun("learn", { stdin = "a\27[31mb\n" .. ("é"):rep(61) .. "\n" .. ("\255"):rep(61) .. "\nstep 1 \27]0;x\n" })
    visible(r, [["a\x1b[31mb" is no word of the course]])
    assert.is_truthy(r.err:find('"' .. ("é"):rep(60) .. '..." is no word', 1, true), r.err)
    assert.is_truthy(r.err:find('"' .. ("\255"):rep(60) .. '..." is no word', 1, true), r.err)
    assert.is_truthy(r.err:find([["\x1b]0;x" is one word too many]], 1, true), r.err)
    visible(w:lrun("learn", "w\27[31m"), [["w\x1b[31m" is no word]])
  end)
end)
