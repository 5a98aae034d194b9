-- Colour spaces. Each function takes (x) or (result, x), planes in front. Numbers are from 0 to 1; bytes from
-- 0 to 255 stand for them.
local image_bytes = require 'image.bytes'

local function check_planes(x)
   if not torch.isTensor(x) or x:dim() ~= 3 or x:size(1) ~= 3 then
      error('expected an image of three planes', 3)
   end
end

local function each_colour(f)
   return function(first, second)
      local x = second or first
      check_planes(x)
      local colours = image_bytes.as_numbers(x):contiguous()
      local count = x:size(2) * x:size(3)
      local data = colours:data()
      local result = torch.DoubleTensor(3, x:size(2), x:size(3))
      local target = result:data()
      for i = 0, count - 1 do
         target[i], target[count + i], target[2 * count + i] = f(data[i], data[count + i], data[2 * count + i])
      end
      return image_bytes.give(result, x, second and first)
   end
end

-- The same for spaces whose numbers bytes cannot hold.
local function each_colour_of_numbers(f)
   local convert = each_colour(f)
   return function(...)
      local first, second = ...
      if torch.type(second or first) == 'torch.ByteTensor' then
         error('Lab has numbers that bytes cannot hold: convert the image to floats from 0 to 1', 2)
      end
      return convert(...)
   end
end

-- The hue from 0 to 1, and the largest and the smallest of three numbers.
local function hue(r, g, b)
   local most, least = math.max(r, g, b), math.min(r, g, b)
   local d = most - least
   if d == 0 then return 0, most, least end
   local h
   if most == r then
      h = (g - b) / d + (g < b and 6 or 0)
   elseif most == g then
      h = (b - r) / d + 2
   else
      h = (r - g) / d + 4
   end
   return h / 6, most, least
end

image.rgb2hsv = each_colour(function(r, g, b)
   local h, most, least = hue(r, g, b)
   return h, most == 0 and 0 or (most - least) / most, most
end)

image.hsv2rgb = each_colour(function(h, s, v)
   local sector = math.floor(h * 6)
   local f = h * 6 - sector
   local p, q, t = v * (1 - s), v * (1 - f * s), v * (1 - (1 - f) * s)
   local turns = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}}
   return unpack(turns[sector % 6 + 1])
end)

image.rgb2hsl = each_colour(function(r, g, b)
   local h, most, least = hue(r, g, b)
   local l, d = (most + least) / 2, most - least
   if d == 0 then return h, 0, l end
   return h, l > 0.5 and d / (2 - most - least) or d / (most + least), l
end)

local function from_hue(p, q, t)
   t = t % 1
   if t < 1 / 6 then return p + (q - p) * 6 * t end
   if t < 1 / 2 then return q end
   if t < 2 / 3 then return p + (q - p) * (2 / 3 - t) * 6 end
   return p
end

image.hsl2rgb = each_colour(function(h, s, l)
   if s == 0 then return l, l, l end
   local q = l < 0.5 and l * (1 + s) or l + s - l * s
   local p = 2 * l - q
   return from_hue(p, q, h + 1 / 3), from_hue(p, q, h), from_hue(p, q, h - 1 / 3)
end)

image.rgb2yuv = each_colour(function(r, g, b)
   return 0.299 * r + 0.587 * g + 0.114 * b, -0.14713 * r - 0.28886 * g + 0.436 * b,
      0.615 * r - 0.51499 * g - 0.10001 * b
end)

image.yuv2rgb = each_colour(function(y, u, v)
   return y + 1.13983 * v, y - 0.39465 * u - 0.58060 * v, y + 2.03211 * u
end)

-- CIE L*a*b* of sRGB under the white D65.
local function linear(c) return c <= 0.04045 and c / 12.92 or ((c + 0.055) / 1.055) ^ 2.4 end
local epsilon, kappa = 216 / 24389, 24389 / 27
local function lightness(t) return t > epsilon and t ^ (1 / 3) or (kappa * t + 16) / 116 end

image.rgb2lab = each_colour_of_numbers(function(r, g, b)
   r, g, b = linear(r), linear(g), linear(b)
   local x = lightness((0.412453 * r + 0.357580 * g + 0.180423 * b) / 0.950456)
   local y = lightness(0.212671 * r + 0.715160 * g + 0.072169 * b)
   local z = lightness((0.019334 * r + 0.119193 * g + 0.950227 * b) / 1.088754)
   return 116 * y - 16, 500 * (x - y), 200 * (y - z)
end)

local function delinear(c) return c <= 0.0031308 and 12.92 * c or 1.055 * c ^ (1 / 2.4) - 0.055 end
local function from_lightness(t) return t ^ 3 > epsilon and t ^ 3 or (116 * t - 16) / kappa end

image.lab2rgb = each_colour_of_numbers(function(l, a, b)
   local fy = (l + 16) / 116
   local x, z = from_lightness(fy + a / 500) * 0.950456, from_lightness(fy - b / 200) * 1.088754
   local y = from_lightness(fy)
   return delinear(3.240479 * x - 1.537150 * y - 0.498535 * z),
      delinear(-0.969256 * x + 1.875992 * y + 0.041556 * z),
      delinear(0.055648 * x - 0.204043 * y + 1.057311 * z)
end)

-- Each colour as part of the sum of all three.
image.rgb2nrgb = each_colour(function(r, g, b)
   local total = r + g + b + 1e-6
   return r / total, g / total, b / total
end)

function image.rgb2y(first, second)
   local x = second or first
   check_planes(x)
   local colours = image_bytes.as_numbers(x)
   local y = torch.mul(colours[1], 0.299):add(0.587, colours[2]):add(0.114, colours[3])
   return image_bytes.give(y:view(1, x:size(2), x:size(3)), x, second and first)
end

-- A colour map from blue over green to red, one row for each of `count` numbers.
function image.jetColormap(count)
   local map = torch.Tensor(count, 3)
   for i = 1, count do
      local x = count > 1 and (i - 1) / (count - 1) or 0
      for channel, centre in ipairs {0.75, 0.5, 0.25} do
         map[i][channel] = math.max(0, math.min(1, 1.5 - math.abs(4 * (x - centre))))
      end
   end
   return map
end

-- A map of colours around the wheel of hues, one row for each.
function image.colormap(count)
   local wheel = torch.ones(3, 1, count)
   for i = 1, count do wheel[1][1][i] = (i - 1) / count end
   return image.hsv2rgb(wheel):view(3, count):t():contiguous()
end

-- Numbers from 1 on as colours of a map, one row each.
function image.colorize(values, map)
   local n = values:dim()
   local height, width = n > 1 and values:size(n - 1) or 1, values:size(n)
   local result = torch.Tensor(map:size(2), height, width)
   local flat = values:contiguous():view(height, width)
   for i = 1, height do
      for j = 1, width do
         local row = math.max(1, math.min(map:size(1), math.floor(flat[i][j])))
         for channel = 1, map:size(2) do result[channel][i][j] = map[row][channel] end
      end
   end
   return result
end

function image.y2jet(first, second)
   local x = second or first
   local value = image.colorize(x, image.jetColormap(math.ceil(x:max())))
   if torch.type(x) == 'torch.ByteTensor' then value = image_bytes.rounded(value * 255) end
   if not second then return value end
   return first:resizeAs(value):copy(value)
end
