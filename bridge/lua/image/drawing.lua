-- Rectangles and text on images of three planes, and pictures to try things on.
local bridge = require 'relume.bridge'

local red = {255, 0, 0}

-- The image to draw on: the given one, or a copy. Colours are from 0 to 255; in images whose numbers are no
-- bytes and do not exceed 1, they become numbers from 0 to 1.
local function canvas(source, options, name)
   if not torch.isTensor(source) or source:dim() ~= 3 or source:size(1) ~= 3 then
      error(('image.%s: expected an image of three planes'):format(name), 3)
   end
   local is_unit = torch.type(source) ~= 'torch.ByteTensor' and source:max() <= 1
   return options.inplace and source or source:clone(), is_unit and 1 / 255 or 1
end

-- Fills columns x1 .. x2 of rows y1 .. y2, as far as they are on the image.
local function fill(image_, x1, y1, x2, y2, color, scale)
   x1, y1 = math.max(1, x1), math.max(1, y1)
   x2, y2 = math.min(image_:size(3), x2), math.min(image_:size(2), y2)
   if x1 > x2 or y1 > y2 then return end
   for plane = 1, 3 do image_[{plane, {y1, y2}, {x1, x2}}]:fill(color[plane] * scale) end
end

-- image.drawRect(source, x1, y1, x2, y2 [, {color, lineWidth, inplace}])
function image.drawRect(source, x1, y1, x2, y2, options)
   options = options or {}
   local target, scale = canvas(source, options, 'drawRect')
   if x1 > x2 or y1 > y2 then error('image.drawRect: x1, y1 is the upper left corner', 2) end
   local color, width = options.color or red, options.lineWidth or 1
   local before = math.floor((width - 1) / 2)
   local after = width - 1 - before
   fill(target, x1 - before, y1 - before, x2 + after, y1 + after, color, scale)
   fill(target, x1 - before, y2 - before, x2 + after, y2 + after, color, scale)
   fill(target, x1 - before, y1 - before, x1 + after, y2 + after, color, scale)
   fill(target, x2 - before, y1 - before, x2 + after, y2 + after, color, scale)
   return target
end

-- Draws one character with its upper left corner at x, y; returns the width of its cell.
local function draw_character(target, glyph, x, y, options, scale)
   local size = options.size or 1
   local height, width = glyph:size(1), glyph:size(2)
   if options.bg then
      fill(target, x, y, x + width * size - 1, y + height * size - 1, options.bg, scale)
   end
   for i = 1, height do
      for j = 1, width do
         if glyph[i][j] > 0 then
            local left, top = x + (j - 1) * size, y + (i - 1) * size
            fill(target, left, top, left + size - 1, top + size - 1, options.color or red, scale)
         end
      end
   end
end

-- image.drawText(source, text, x, y [, {color, bg, size, wrap, inplace}])
function image.drawText(source, text, x, y, options)
   options = options or {}
   local target, scale = canvas(source, options, 'drawText')
   local pictures, glyphs, size = bridge.import 'image', {}, options.size or 1
   local column, row = x, y
   for character in text:gmatch '.' do
      glyphs[character] = glyphs[character] or character ~= '\n' and pictures.glyph(character) or nil
      local glyph = glyphs[character] or pictures.glyph ' '
      local width, height = glyph:size(2) * size, glyph:size(1) * size
      local is_out = options.wrap ~= false and column > x and column + width - 1 > target:size(3)
      if character == '\n' or is_out then column, row = x, row + height end
      if character ~= '\n' then
         draw_character(target, glyph, column, row, options, scale)
         column = column + width
      end
   end
   return target
end

----------------------------------------------------------------------------------------
-- The package came with two photographs, which are not here; these are drawn, with their sizes.

local function picture(planes, height, width)
   local x = torch.linspace(0, 1, width):view(1, width):expand(height, width)
   local y = torch.linspace(0, 1, height):view(height, 1):expand(height, width)
   local result = torch.Tensor(planes, height, width)
   for plane = 1, planes do
      local waves = torch.cmul(torch.sin(x * (6 + 5 * plane)), torch.cos(y * (9 + 2 * plane)))
      local distance = torch.add(torch.pow(x - 0.2 - 0.2 * plane, 2), torch.pow(y - 0.5, 2))
      result[plane]:copy(waves * 0.25 + 0.5):add(distance:lt(0.03):typeAs(result) * 0.25)
   end
   return result:mul(255):round():div(255)  -- as if it had come from a file
end

function image.lena() return picture(3, 512, 512) end
function image.fabio() return picture(1, 257, 271)[1] end
