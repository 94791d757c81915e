-- Makes warehouse.* and expected.* with a binary of 0.1.0, in the root of the repository, with a
-- PostgreSQL server for tests (tests/support/run_tests.sh):
--   LRUN_BIN=/path/of/0.1.0/lrun LRUN_TEST_PG_URL=... lua5.4 tests/spec/data/0.1.0/make.lua
package.path = "tests/support/?.lua;" .. package.path
local files = require "files"
local old = require "old_files"

for _, name in ipairs(old.pairs) do
  local w = old.world(name)
  local lines = old.run(w, old.first)
  files.write(old.file("warehouse", name), old.dump(w))
  -- The second night on the warehouse as it is loaded again.
  w = old.world(name, true)
  w:source(files.read(old.dir .. "night.sql"))
  local second = old.run(w, old.second)
  files.write(old.file("expected", name), table.concat(second, "\n") .. "\n" .. table.concat(old.held(w), "\n") .. "\n")
  print(name)
  for _, list in ipairs { lines, second } do
    for _, line in ipairs(list) do
      if not line:find ": 0$" then print(line, list[line]) end
    end
  end
end
