-- A bar on the terminal, redrawn in place: parts done, rows a second, time left.
-- In a pipe, with --json or with -q there is none.
local progress = {}

local WIDTH = 24
local EVERY = 100 -- milliseconds between two drawings

local Bar = {}
Bar.__index = Bar

local function clock(seconds)
  local s = math.max(0, seconds) // 1
  if s >= 3600 then return ("%d:%02d:%02d"):format(s // 3600, s // 60 % 60, s % 60) end
  return ("%d:%02d"):format(s // 60, s % 60)
end

local function count(n)
  local text = ("%d"):format(n)
  return (text:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", ""))
end

-- total: how many parts there are, in words of `unit`.
function progress.new(o, total, unit)
  local on = not o.json and not o.quiet and core.isatty(1)
  return setmetatable({ on = on, total = total, unit = unit, done = 0, rows = 0, from = core.ticks(), drawn = -EVERY }, Bar)
end

function Bar:text()
  local seconds = (core.ticks() - self.from) / 1000
  local full = self.total > 0 and WIDTH * self.done // self.total or WIDTH
  local parts = { ("[%s%s] %d/%d %s"):format(("#"):rep(full), ("."):rep(WIDTH - full), self.done, self.total, self.unit) }
  if seconds > 0 and self.rows > 0 then parts[#parts + 1] = count(self.rows / seconds // 1) .. " rows/s" end
  if self.done > 0 and self.done < self.total then
    parts[#parts + 1] = clock(seconds / self.done * (self.total - self.done)) .. " left"
  end
  return table.concat(parts, "   "):sub(1, core.width() - 1)
end

-- Take the bar away before a line is printed.
function Bar:clear()
  if not self.on or not self.shown then return end
  core.write("\r\27[K")
  self.shown = false
end

function Bar:draw()
  if not self.on or core.ticks() - self.drawn < EVERY then return end
  core.write("\r\27[K" .. self:text())
  core.flush()
  self.shown, self.drawn = true, core.ticks()
end

function Bar:step(rows)
  self.done = self.done + 1
  self.rows = self.rows + (rows or 0)
end

return progress
