-- shop.lua: the example shop in a folder of its own, as the repository has it:
-- jobs/ and examples/ side by side.

local files = require "files"
local process = require "process"
local sqlite = require "sqlite"
local world = require "world"

local M = {}

local Shop = setmetatable({}, { __index = world.World })
Shop.__index = Shop

function M.new()
  local s = setmetatable({ dir = files.temp_dir() }, Shop)
  assert(os.execute(string.format("cd %s && mkdir examples && cp -R %s/jobs . && rm -rf jobs/*.db",
    process.quote(s.dir), process.quote(world.root))))
  for _, side in ipairs { "source", "warehouse" } do
    local file = s:path("examples/" .. side .. ".db")
    s[side .. "_file"] = file
    sqlite.exec(file, files.read(world.root .. "/examples/" .. side .. ".sql"))
  end
  return s
end

-- The evening of 2026-01-21: order 105 is not paid.
function Shop:unpaid()
  self:source "UPDATE orders SET amount = NULL, updated_at = '2026-01-20' WHERE order_id = 105"
end

function Shop:pay()
  self:source "UPDATE orders SET amount = 22.00, updated_at = '2026-01-25' WHERE order_id = 105"
end

function Shop:totals()
  local sum = "SELECT count(*), printf('%.2f', sum(amount)) FROM "
  return self:source_rows(sum .. "orders")[1], self:rows(sum .. "dw_orders")[1]
end

return M
