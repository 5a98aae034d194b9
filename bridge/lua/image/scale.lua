-- image.scale: every mode is a matrix of weights for the rows, and one for the columns.
local image_bytes = require 'image.bytes'

-- The weights of one row of the matrix: set(column, weight), columns from 0.
local modes = {}

function modes.simple(i, target, source, set) set(math.floor(i * source / target), 1) end

-- Between neighbours when it grows, with the corners on the corners; means of areas when it shrinks.
function modes.bilinear(i, target, source, set)
   if target > source then
      local place = target > 1 and i * (source - 1) / (target - 1) or 0
      local left = math.min(math.floor(place), source - 1)
      set(left, 1 - (place - left))
      if place > left then set(left + 1, place - left) end
      return
   end
   local width = source / target
   local first, last = i * width, (i + 1) * width
   for column = math.floor(first), math.min(math.ceil(last), source) - 1 do
      set(column, (math.min(last, column + 1) - math.max(first, column)) / width)
   end
end

-- Cubics through four neighbours (Catmull and Rom); beyond the border the slope goes on.
function modes.bicubic(i, target, source, set)
   local place = target > 1 and i * (source - 1) / (target - 1) or 0
   local left = math.floor(place)
   local x = place - left
   local weights = {
      -0.5 * x + x ^ 2 - 0.5 * x ^ 3, 1 - 2.5 * x ^ 2 + 1.5 * x ^ 3,
      0.5 * x + 2 * x ^ 2 - 1.5 * x ^ 3, -0.5 * x ^ 2 + 0.5 * x ^ 3,
   }
   for k, weight in ipairs(weights) do
      local column = left + k - 2
      local edge = math.min(math.max(column, 0), source - 1)
      local beyond = math.abs(column - edge)
      if beyond == 0 or source == 1 then
         set(edge, weight)
      else
         local inner = edge == 0 and 1 or source - 2
         set(edge, weight * (1 + beyond))
         set(inner, -weight * beyond)
      end
   end
end

local function matrix(target, source, mode)
   local result = torch.zeros(target, source):double()
   for i = 0, target - 1 do
      mode(i, target, source, function(column, weight)
         result[i + 1][column + 1] = result[i + 1][column + 1] + weight
      end)
   end
   return result
end

-- Sizes from a text: "WxH", "*f" (times), "^n" (the shorter side at least), "n" (the longer side).
local function sizes_of(text, width, height)
   local w, h = text:match('^(%d+)x(%d+)$')
   if w then return tonumber(w), tonumber(h) end
   local numerator, denominator = text:match('^%*([%d.]+)/([%d.]+)$')
   local factor = numerator and numerator / denominator or tonumber(text:match('^%*([%d.]+)$') or '')
   if factor then return math.max(1, math.floor(width * factor + 0.5)), math.max(1, math.floor(height * factor + 0.5)) end
   local shorter = tonumber(text:match('^%^(%d+)$') or '')
   local side = shorter or tonumber(text)
   if not side then error(('image.scale: cannot read the size "%s"'):format(text), 3) end
   local reference = shorter and math.min(width, height) or math.max(width, height)
   return math.max(1, math.floor(width * side / reference + 0.5)), math.max(1, math.floor(height * side / reference + 0.5))
end

local function scaled(x, width, height, mode)
   local compute = modes[mode or 'bilinear']
   if not compute then
      error('image.scale: mode must be one of: simple | bilinear | bicubic', 3)
   end
   local planes = x:dim() == 2 and x:view(1, x:size(1), x:size(2)) or x
   local rows, columns = matrix(height, planes:size(2), compute), matrix(width, planes:size(3), compute):t()
   local result = torch.DoubleTensor(planes:size(1), height, width)
   local is_bytes = torch.type(x) == 'torch.ByteTensor'
   for i = 1, planes:size(1) do
      local wide = torch.mm(planes[i]:double(), columns)
      if is_bytes then wide = image_bytes.rounded(wide):double() end  -- as Torch7 kept what is between
      result[i]:copy(torch.mm(rows, wide))
   end
   if x:dim() == 2 then result = result[1] end
   if is_bytes then return image_bytes.rounded(result) end
   return result:type(x:type())
end

-- (x, width, height [, mode]), (x, size [, mode]) or (result, x [, mode])
function image.scale(first, second, third, fourth)
   if torch.isTensor(second) then
      local n = first:dim()
      first:copy(scaled(second, first:size(n), first:size(n - 1), third))
      return first
   end
   local n = first:dim()
   local width, height = first:size(n), first:size(n - 1)
   if type(third) == 'number' then return scaled(first, second, third, fourth) end
   width, height = sizes_of(tostring(second), width, height)
   return scaled(first, width, height, third)
end
