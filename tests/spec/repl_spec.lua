-- The prompt, fed from a pipe: SQL, Lua and primitives line by line.
local pairs_of = require "pairs"
local process = require "process"
local world = require "world"

local function has(text, ...)
  for _, word in ipairs { ... } do assert.is_truthy(text:find(word, 1, true), word .. " is not in:\n" .. text) end
end

describe("lrun repl", function()
  local function repl(w, text, ...) return w:lrun("repl", ..., { stdin = text, timeout = 20 }) end

  it("takes SQL and Lua in one prompt, and prints tables as tables", function()
    local w = world.with_t("INSERT INTO t VALUES (1,'source row','2026-01-01');", "INSERT INTO t VALUES (7,'warehouse row','2026-01-01');")
    local r = repl(w, "SELECT id, v FROM t;\nselect 40 + 2 as answer\n1 + 1\nx = 5\nprint(x * 2)\nextract { from = 't' }\n")
    assert.equal(0, r.status, r.err)
    has(r.out, "warehouse row", "answer", "42", "10", "source row")
    assert.is_truthy(r.out:find "2")
  end)

  it("goes on after a wrong line", function()
    local w = world.with_t()
    local r = repl(w, "SELEC 1;\nSELECT x FROM nowhere;\nerror 'x'\nx ==\nmerge {}\nundefined_name\nprint('still here')\n")
    assert.equal(0, r.status, r.err)
    has(r.out, "still here")
    has(r.out .. r.err, "nowhere", "undefined_name")
  end)

  it("keeps what is committed and drops the rest", function()
    local w = world.with_t()
    repl(w, "INSERT INTO t VALUES (1, 'a', 'x');\nrollback\nINSERT INTO t VALUES (2, 'b', 'x');\ncommit\nINSERT INTO t VALUES (3, 'c', 'x');\n")
    assert.same({ "2" }, w:rows "SELECT id FROM t")
  end)

  it("is left by quit words and by the end of its input", function()
    local w = world.with_t()
    for _, word in ipairs { "quit", "exit", ".exit", "\\q", "q" } do
      local r = repl(w, word .. "\nprint('not ' .. 'left')\n")
      assert.equal(0, r.status, word)
      assert.is_nil(r.out:find("not left", 1, true), word)
    end
    assert.equal(0, repl(w, "").status)
    assert.equal(0, repl(w, "print(1)").status)
  end)
end)

describe("lrun repl on a terminal", function()
  local function type_in(w, keys) return process.keys({ world.bin, "repl" }, keys, { cwd = w.dir }) end

  it("drops the line at Ctrl-C, stops what runs, and leaves at Ctrl-D", function()
    local w = world.with_t("", "INSERT INTO t VALUES (41, 'a', '2026-01-01');")
    local r = type_in(w, { "print(\"never", "\\003", "print(\"fir\" .. \"st\")\\n", "select id + 1 as x from t\\n", "while true do end\\n",
                           "\\003", "print(\"sec\" .. \"ond\")\\n", "\\004" })
    assert.equal(0, r.status, r.out)
    has(r.out, "first", "42", "second")
    assert.is_nil(r.out:find("never%s*\n[^\n]*never"))
    assert.same({ "41" }, w:rows "SELECT id FROM t")
  end)

  it("brings the last line back with the up key, in a later session too", function()
    local w = world.with_t()
    has(type_in(w, { "print(\"a\" .. \"b\" .. \"c\")\\n", "\\033[A\\n", "\\004" }).out:gsub("abc", "ABC", 1), "ABC", "abc")
    has(type_in(w, { "\\033[A\\n", "\\004" }).out, "abc")
  end)
end)

pairs_of.each("the prompt", function(pair)
  it("lists the tables and views of the warehouse", function()
    local w = pair.with "INSERT INTO s VALUES (1, 'a', '2026-01-01 10:00:00');"
    w:warehouse "CREATE VIEW seen AS SELECT id FROM t"
    local r = w:lrun("repl", { stdin = "tables\n", timeout = 20 })
    assert.equal("", r.err)
    assert.truthy(r.out:find "seen%s+view", r.out)
    assert.truthy(r.out:find "\nt%s+table", r.out)
    assert.falsy(r.out:find("pg_", 1, true), r.out)
  end)
end)

pairs_of.each("a write at the prompt", function(pair)
  it("opens the transaction, and is kept by commit alone", function()
    local w = pair.with("INSERT INTO s VALUES (1, 'a', '2026-01-01 10:00:00'), (2, 'b', '2026-01-01 11:00:00');")
    local write = "merge { extract { from = 's' }, into = 't', key = 'id' }\n"
    local rows = "extract { from = 's' }:map(function(row) return row end):rows()\n"
    local r = w:lrun("repl", { stdin = rows .. write .. "rollback\n" .. write, timeout = 20 })
    assert.equal("", r.err)
    assert.equal("0", w:one "SELECT count(*) FROM t")
    r = w:lrun("repl", { stdin = write .. "rollback\n" .. write .. "commit\n", timeout = 20 })
    assert.equal("", r.err)
    assert.same({ "1|a", "2|b" }, w:rows "SELECT id, v FROM t ORDER BY id")
  end)
end)
