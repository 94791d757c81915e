-- How wide text is: 78 columns, or what a narrower terminal has.
return function() return math.max(40, math.min(78, core.width() - 1)) end
