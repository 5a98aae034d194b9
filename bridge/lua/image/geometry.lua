-- Flips, crops and translations.

-- Calls f(source, ...) with the result in a tensor that may be given in front.
local function result_first(f)
   return function(first, second, ...)
      if not torch.isTensor(second) then return f(first, second, ...) end
      local value = f(second, ...)
      first:resize(value:size()):copy(value)
      return first
   end
end

-- The slices of a dimension in the opposite order.
local function reversed(x, dim)
   local size = x:size(dim)
   local order = torch.range(size, 1, -1):long()
   return x:index(dim, order)
end

local function check_image(x, name)
   if x:dim() ~= 2 and x:dim() ~= 3 then error(('image.%s: expected two or three dimensions'):format(name), 3) end
end

image.hflip = result_first(function(x) return reversed(x, x:dim()) end)

image.vflip = result_first(function(x)
   check_image(x, 'vflip')
   return reversed(x, x:dim() - 1)
end)

image.flip = result_first(function(x, dim) return reversed(x, dim) end)

----------------------------------------------------------------------------------------

-- Where a crop begins, from a place's letters: c, tl, tr, bl, br.
local places = {
   c = function(room) return math.floor(room[1] / 2), math.floor(room[2] / 2) end,
   tl = function() return 0, 0 end,
   tr = function(room) return room[1], 0 end,
   bl = function(room) return 0, room[2] end,
   br = function(room) return room[1], room[2] end,
}

-- (x, startx, starty, endx, endy) or (x, place, width, height); the end does not belong to it.
image.crop = result_first(function(x, left, top, right, bottom)
   check_image(x, 'crop')
   local n = x:dim()
   local height, width = x:size(n - 1), x:size(n)
   if type(left) == 'string' then
      local find = places[left] or error(('crop type "%s" is unrecognized'):format(left), 2)
      local crop_width, crop_height = top, right
      left, top = find {width - crop_width, height - crop_height}
      right, bottom = left + crop_width, top + crop_height
   elseif not right then
      right, bottom, left, top = left, top, 0, 0
   end
   if left < 0 or top < 0 or right > width or bottom > height or right <= left or bottom <= top then
      error('image.crop: crop goes outside bounds of src', 2)
   end
   return x:narrow(n - 1, top + 1, bottom - top):narrow(n, left + 1, right - left):clone()
end)

-- Moved to the right and down; what comes in is zero.
image.translate = result_first(function(x, right, down)
   check_image(x, 'translate')
   local n = x:dim()
   local result = x:clone():zero()
   local width, height = x:size(n) - math.abs(right), x:size(n - 1) - math.abs(down)
   if width <= 0 or height <= 0 then return result end
   local function part(tensor, horizontal, vertical)
      return tensor:narrow(n, math.max(horizontal, 0) + 1, width):narrow(n - 1, math.max(vertical, 0) + 1, height)
   end
   part(result, right, down):copy(part(x, -right, -down))
   return result
end)
