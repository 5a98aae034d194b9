-- Kernels, convolutions, morphology, ranges of values, pyramids.
local image_bytes = require 'image.bytes'

-- Convolution of each plane: 'valid', 'full', or 'same' (of the input's size).
function image.convolve(first, second, third, fourth)
   local result, x, kernel, mode = nil, first, second, third
   if torch.isTensor(third) then result, x, kernel, mode = first, second, third, fourth end
   mode = mode or 'valid'
   local letter = mode == 'valid' and 'V' or 'F'
   local value
   local is_bytes = torch.type(x) == 'torch.ByteTensor'
   if is_bytes then x = x:double() end
   if torch.type(kernel) ~= torch.type(x) then kernel = kernel:typeAs(x) end
   if x:dim() == 3 and kernel:dim() == 2 then
      local planes = {}
      for i = 1, x:size(1) do
         local plane = torch.conv2(x[i], kernel, letter)
         planes[i] = plane:view(1, plane:size(1), plane:size(2))
      end
      value = torch.cat(planes, 1)
   else
      value = torch.conv2(x, kernel, letter)
   end
   if mode == 'same' then
      local n = value:dim()
      local top, left = math.floor(kernel:size(kernel:dim() - 1) / 2), math.floor(kernel:size(kernel:dim()) / 2)
      value = value:narrow(n - 1, top + 1, x:size(x:dim() - 1)):narrow(n, left + 1, x:size(x:dim())):clone()
   end
   if is_bytes then value = image_bytes.rounded(value) end
   if result then return result:resizeAs(value):copy(value) end
   return value
end

----------------------------------------------------------------------------------------
-- Kernels. Sizes and places count in parts of the whole: sigma 0.25, mean 0.5 (the middle).

-- Arguments in order, or by name in one table.
local function arguments(defaults, ...)
   local given, result = {...}, {}
   local named = type(given[1]) == 'table' and given[1] or nil
   for i, row in ipairs(defaults) do
      local value = named and named[row[1]]
      if not named then value = given[i] end
      if value == nil then value = row[2] end
      result[row[1]] = value
   end
   return result
end

local kernel_arguments = {
   {'size', 3}, {'sigma', nil}, {'amplitude', 1}, {'normalize', false}, {'width'}, {'height'},
   {'sigma_horz'}, {'sigma_vert'}, {'mean_horz', 0.5}, {'mean_vert', 0.5}, {'tensor'},
}

local function kernel(default_sigma, f)
   return function(...)
      local a = arguments(kernel_arguments, ...)
      local width, height = a.width or a.size, a.height or a.size
      if a.tensor then height, width = a.tensor:size(1), a.tensor:size(2) end
      local sigma = a.sigma or default_sigma
      local result = torch.Tensor(height, width)
      local centre_x, centre_y = a.mean_horz * width + 0.5, a.mean_vert * height + 0.5
      for i = 1, height do
         for j = 1, width do
            local x = (j - centre_x) / ((a.sigma_horz or sigma) * width)
            local y = (i - centre_y) / ((a.sigma_vert or sigma) * height)
            result[i][j] = a.amplitude * f((x * x + y * y) / 2)
         end
      end
      if a.normalize then result:div(result:sum()) end
      if not a.tensor then return result end
      local is_bytes = torch.type(a.tensor) == 'torch.ByteTensor'
      return a.tensor:copy(is_bytes and image_bytes.rounded(result) or result)
   end
end

image.gaussian = kernel(0.25, function(half_square) return math.exp(-half_square) end)
image.laplacian = kernel(0.1, function(half_square) return (1 - half_square) * math.exp(-half_square) end)

function image.gaussian1D(...)
   local a = arguments({{'size', 3}, {'sigma', 0.25}, {'amplitude', 1}, {'normalize', false}, {'mean', 0.5}}, ...)
   local result = torch.Tensor(a.size)
   for i = 1, a.size do
      local x = (i - (a.mean * a.size + 0.5)) / (a.sigma * a.size)
      result[i] = a.amplitude * math.exp(-x * x / 2)
   end
   if a.normalize then result:div(result:sum()) end
   return result
end

----------------------------------------------------------------------------------------
-- Morphology: the smallest or the largest value under the ones of a kernel.

local function morphology(choose, outside)
   return function(x, ones, padding)
      ones = ones or torch.ones(3, 3)
      padding = padding or outside
      local height, width = x:size(1), x:size(2)
      local top, left = math.floor(ones:size(1) / 2), math.floor(ones:size(2) / 2)
      local result = x:clone()
      for i = 1, height do
         for j = 1, width do
            local value
            for a = 1, ones:size(1) do
               for b = 1, ones:size(2) do
                  if ones[a][b] ~= 0 then
                     local row, column = i + a - 1 - top, j + b - 1 - left
                     local inside = row >= 1 and row <= height and column >= 1 and column <= width
                     local here = inside and x[row][column] or padding
                     value = value and choose(value, here) or here
                  end
               end
            end
            result[i][j] = value
         end
      end
      return result
   end
end

image.erode, image.dilate = morphology(math.min, 1), morphology(math.max, 0)

----------------------------------------------------------------------------------------

-- Moves the values to the range from 0 to 1: {tensor =, min =, max =, symm =, inplace =, saturate =}.
function image.minmax(a)
   local x = a.inplace and a.tensor or a.tensor:clone()
   local low, high = a.min or x:min(), a.max or x:max()
   if a.symm then
      local most = math.max(math.abs(low), math.abs(high))
      low, high = -most, most
   end
   x:add(-low)
   if high ~= low then x:div(high - low) end
   if a.saturate then x:clamp(0, 1) end
   if a.tensorOut then
      return a.tensorOut:resizeAs(x):copy(x)
   end
   return x
end

-- Local contrast normalization: after the mean and the deviation of the whole image, those around each
-- pixel, weighted by a kernel, are taken out.
function image.lcn(source, kernel)
   local x = source:double()
   kernel = (kernel or image.gaussian(9)):double()
   kernel = kernel / kernel:sum()
   x = (x - x:mean()) / math.max(x:std(), 1e-12)
   local mean = image.convolve(x, kernel, 'same')
   local variance = image.convolve(torch.cmul(x, x), kernel, 'same') - torch.cmul(mean, mean)
   return (x - mean):cdiv(variance:clamp(1e-12, math.huge):sqrt()):typeAs(source)
end

-- Images of several sizes, each smoothed before it shrinks.
function image.gaussianpyramid(first, second, third)
   local list, x, scales = {}, first, second
   if third then list, x, scales = first, second, third end
   local n = x:dim()
   local smooth = image.gaussian(3, 0.25, 1, true)
   local current = x
   for i, scale in ipairs(scales) do
      local height = math.floor(x:size(n - 1) * scale + 0.5)
      local width = math.floor(x:size(n) * scale + 0.5)
      if scale ~= 1 then current = image.convolve(current, smooth, 'same') end
      list[i] = scale == 1 and x:clone() or image.scale(current, width, height)
   end
   return list
end

-- Several images side by side in one, for showing: {input =, padding =, nrow =, scaleeach =, min =, max =}.
function image.toDisplayTensor(a, ...)
   if torch.isTensor(a) then
      local given = {...}
      a = {input = a, padding = given[1], nrow = given[2], scaleeach = given[3], min = given[4], max = given[5]}
   end
   local packed = a.input
   if type(packed) == 'table' then
      local parts = {}
      for i, part in ipairs(packed) do parts[i] = part:view(1, unpack(part:size():totable())) end
      packed = torch.cat(parts, 1)
   end
   if packed:dim() == 2 then return image.minmax {tensor = packed:double(), min = a.min, max = a.max} end
   if packed:dim() == 3 and (packed:size(1) == 1 or packed:size(1) == 3) then
      return image.minmax {tensor = packed:double(), min = a.min, max = a.max}
   end
   if packed:dim() == 3 then packed = packed:view(packed:size(1), 1, packed:size(2), packed:size(3)) end
   local count, planes, height, width = packed:size(1), packed:size(2), packed:size(3), packed:size(4)
   local padding, columns = a.padding or 0, math.min(a.nrow or 6, count)
   local rows = math.ceil(count / columns)
   local shown = packed:double():clone()
   if a.scaleeach then
      for i = 1, count do shown[i]:copy(image.minmax {tensor = shown[i], min = a.min, max = a.max}) end
   else
      shown = image.minmax {tensor = shown, min = a.min, max = a.max}
   end
   local grid = torch.DoubleTensor(planes, rows * (height + padding) - padding, columns * (width + padding) - padding)
   grid:fill(shown:max())
   for i = 1, count do
      local row, column = math.floor((i - 1) / columns), (i - 1) % columns
      grid:narrow(2, row * (height + padding) + 1, height):narrow(3, column * (width + padding) + 1, width):copy(shown[i])
   end
   return planes == 1 and grid[1] or grid
end

local is_told = false

-- Scripts show what they do on the way; they go on without it.
function image.display()
   if is_told then return end
   is_told = true
   io.stderr:write('image.display: there are no windows here; image.save(path, image) writes files\n')
end
image.window = image.display
