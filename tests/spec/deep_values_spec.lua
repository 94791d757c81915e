-- reconcile { deep = true }: values that only one engine has, many columns, and
-- servers that hash or encode in another way.
local pairs_of = require "pairs"
local postgres = require "postgres"

local CHECK = [[
job {}
local rows = extract { from = "s" }
full_load { rows, into = "t" }
reconcile { rows, with = "t", deep = true, key = "id" }
%s
reconcile { rows, with = "t", deep = true, key = "id" }
]]

local MOOD = "CREATE TYPE mood AS ENUM ('sad', 'ok');"
local POSTGRES_ROWS = [[
CREATE TABLE s(id bigint PRIMARY KEY, u uuid, j jsonb, js json, i int[], t text[], e mood, iv interval, ti time, ip inet,
  c character(10), vc character varying(20), r real, f double precision, n numeric, nn numeric(30,10), d date, ts timestamp, tz timestamptz,
  b boolean, y bytea, small smallint);
INSERT INTO s VALUES
 (1, '6f1a8a1e-5a3b-4d3e-9f43-6a3b8f1c2d3e', '{"b":1, "a":18446744073709551616}', '{"x": 1}', '{1,NULL,3}', '{"a,b","\"q\""}', 'ok', '1 mon 2 days',
  '10:00:00.5', '10.0.0.1/8', 'ab', 'ab ', 0.1, 1e308, 0.00000000000000006938893903907228, 12345678901234567890.1234567890, '0044-03-15 BC',
  '15000-01-01 10:00:00.5', '2026-01-01 10:00:00.000001+05:30', true, '\x00ff', 5),
 (2, NULL, 'null', NULL, '{}', '{}', NULL, '-1 day', '00:00', '::1', '', '', -0.1, -1e-7, 'NaN', -0.10, 'infinity', '-infinity', 'infinity', false, '', -5),
 (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1e30, -1e300, 100000000, 0, '1969-12-31', '1969-12-31 23:59:59.999999',
  '1900-01-01 00:00:00+00', NULL, NULL, NULL);
]]

pairs_of.each("reconcile deep of PostgreSQL's types", function(pair)
  if pair.source ~= "postgresql" then return end

  it("finds each equal after a load, and sees any change of one", function()
    local w = pair.new { source = MOOD .. POSTGRES_ROWS, warehouse = pair.warehouse == "postgresql" and not pair.same and MOOD or "" }
    w:job("j", CHECK:format ""):ok "j.lua"
    for _, column in ipairs { "u", "j", "js", "i", "t", "e", "iv", "ti", "ip", "c", "vc", "r", "f", "n", "nn", "d", "ts", "tz", "b", "y", "small" } do
      w:job("j", CHECK:format(('execute { "UPDATE t SET %s = NULL WHERE id = 1" }'):format(column)))
      w:refused(3, { "j.lua:6", "different 1 (" .. column .. " ", hint = false }, "j.lua")
    end
  end)
end)

pairs_of.each("reconcile deep of many columns", function(pair)
  it("compares each of 300", function()
    local names, ones = { "id INTEGER PRIMARY KEY" }, { "1" }
    for i = 1, 299 do
      names[#names + 1] = ("c%d %s"):format(i, i % 2 == 0 and "TEXT" or "INTEGER")
      ones[#ones + 1] = i % 2 == 0 and "'v'" or "7"
    end
    local w = pair.new { source = ("CREATE TABLE s(%s); INSERT INTO s VALUES (%s);"):format(table.concat(names, ", "), table.concat(ones, ", ")) }
    for _, c in ipairs { "c1", "c120", "c121", "c241", "c299" } do
      w:job("j", CHECK:format(('execute { "UPDATE t SET %s = NULL" }'):format(c)))
      w:refused(3, { "j.lua:6", "different 1 (" .. c .. " ", hint = false }, "j.lua")
    end
  end)

  it("names columns and keys with quotes, percent signs and newlines", function()
    local w = pair.new { source = [[CREATE TABLE s(id TEXT PRIMARY KEY, "with ""q"" and %s" TEXT); INSERT INTO s VALUES ('a''b%s"c', 'x');]] }
    w:job("j", CHECK:format [[execute { 'UPDATE t SET "with ""q"" and %s" = \'$$\'' }]])
    w:refused(3, { "j.lua:6", [[different a'b%s"c (with "q" and %s 'x' <> '$$')]], hint = false }, "j.lua")
  end)
end)

describe("reconcile deep with a server whose encoding is LATIN1", function()
  it("compares the characters, not their bytes", function()
    for _, pair in ipairs(pairs_of.all) do
      if pair.warehouse == "postgresql" and not pair.same then
        local w = pair.new { source = "CREATE TABLE s(id INTEGER PRIMARY KEY, v TEXT, k TEXT); INSERT INTO s VALUES (1, 'Käse', 'ä'), (2, 'Kase', 'a');" }
        local name = w.to.database .. "_latin"
        postgres.exec("postgres", ("CREATE DATABASE %s ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"):format(name))
        w:connect(w.from:url(), postgres.url(name))
        w:job("j", CHECK:format [[execute { "UPDATE t SET v = 'Kase' WHERE id = 1" }]])
        w:refused(3, { "j.lua:6", "different 1 (v 'käse' <> 'kase')", hint = false }, "j.lua")
        postgres.exec("postgres", "DROP DATABASE " .. name)
      end
    end
  end)
end)
