-- image.polar and image.logpolar: rows become angles, columns distances from the middle.
local sys = require 'sys'
local resample = require 'image.warp'

-- How far out the last column is: to the corners, or to the nearer sides.
local reaches = {
   full = function(height, width) return math.sqrt(height ^ 2 + width ^ 2) / 2 end,
   valid = function(height, width) return math.min(height, width) / 2 end,
}

local function fail(name, text)
   error(('%s<image.%s> %s%s'):format(sys.COLORS.Red, name, text, sys.COLORS.none), 0)
end

-- distance(part, reach): how far out a column is, from its place between 0 and 1.
local function polar(name, distance)
   return function(...)
      local list = {...}
      local result = torch.isTensor(list[2]) and table.remove(list, 1) or nil
      local x, interpolation, mode = list[1], list[2], list[3] or 'valid'
      if interpolation ~= 'simple' and interpolation ~= 'bilinear' then
         fail(name, 'interpolation must be one of: simple | bilinear')
      end
      local reach = reaches[mode] or fail(name, 'mode must be one of: full | valid')
      local n = x:dim()
      local height, width = x:size(n - 1), x:size(n)
      local rows, columns = height, width
      if result then rows, columns = result:size(n - 1), result:size(n) end
      local most = reach(height, width)
      local function source(i, j)
         local angle, radius = 2 * math.pi * i / rows, distance(j / columns, most)
         return (height - 1) / 2 + radius * math.cos(angle), (width - 1) / 2 + radius * math.sin(angle)
      end
      local value = resample(x, rows, columns, interpolation, source)
      return result and result:copy(value) or value
   end
end

image.polar = polar('polar', function(part, most) return part * most end)
image.logpolar = polar('logpolar', function(part, most) return math.exp(part * math.log(most)) end)
