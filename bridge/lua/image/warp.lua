-- image.warp takes each value from another place; rotations and linear maps are warps.

local function planes_of(x) return x:dim() == 2 and x:view(1, x:size(1), x:size(2)) or x end

-- The value of a plane at a place (rows and columns from 0) inside the image.
local sample = {}

function sample.simple(plane, y, x)
   local height, width = plane:size(1), plane:size(2)
   return plane[math.min(math.floor(y + 0.5), height - 1) + 1][math.min(math.floor(x + 0.5), width - 1) + 1]
end

function sample.bilinear(plane, y, x)
   local height, width = plane:size(1), plane:size(2)
   local top, left = math.floor(y), math.floor(x)
   local bottom, right = math.min(top + 1, height - 1), math.min(left + 1, width - 1)
   local v, h = y - top, x - left
   return (1 - v) * ((1 - h) * plane[top + 1][left + 1] + h * plane[top + 1][right + 1])
      + v * ((1 - h) * plane[bottom + 1][left + 1] + h * plane[bottom + 1][right + 1])
end

local function cubic(a, b, c, d, t)
   return b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)))
end

function sample.bicubic(plane, y, x)
   local height, width = plane:size(1), plane:size(2)
   local top, left = math.floor(y), math.floor(x)
   local function at(row, column)
      return plane[math.min(math.max(row, 0), height - 1) + 1][math.min(math.max(column, 0), width - 1) + 1]
   end
   local rows = {}
   for i = -1, 2 do
      rows[i] = cubic(at(top + i, left - 1), at(top + i, left), at(top + i, left + 1), at(top + i, left + 2), x - left)
   end
   return cubic(rows[-1], rows[0], rows[1], rows[2], y - top)
end

local function sampler(mode, name)
   return sample[mode or 'bilinear']
      or error(('image.%s: mode must be one of: simple | bilinear | bicubic'):format(name), 3)
end

-- Fills an image from source(i, j) -> row, column, all from 0; places outside give `outside`.
local function resample(x, height, width, take, source, clamp, outside)
   local planes = planes_of(x)
   local rows, columns = planes:size(2), planes:size(3)
   local result = x.new(planes:size(1), height, width)
   for i = 0, height - 1 do
      for j = 0, width - 1 do
         local row, column = source(i, j)
         local is_inside = row > -1e-9 and row < rows - 1 + 1e-9 and column > -1e-9 and column < columns - 1 + 1e-9
         if is_inside or clamp then
            row, column = math.min(math.max(row, 0), rows - 1), math.min(math.max(column, 0), columns - 1)
            for p = 1, planes:size(1) do result[p][i + 1][j + 1] = take(planes[p], row, column) end
         else
            for p = 1, planes:size(1) do result[p][i + 1][j + 1] = outside end
         end
      end
   end
   return x:dim() == 2 and result[1] or result
end

local function give(result, value)
   if result then return result:resizeAs(value):copy(value) end
   return value
end

-- A result in front is told by the number of tensors.
local function split(count, ...)
   local list = {...}
   local tensors = 0
   while torch.isTensor(list[tensors + 1]) do tensors = tensors + 1 end
   if tensors > count then return list[1], select(2, ...) end
   return nil, ...
end

-- field[1] and field[2]: how far down and to the right each value comes from, or, without `offset`,
-- from which row and column (from 1). clamp: 'clamp' repeats the border, 'pad' fills in a value.
function image.warp(...)
   local result, x, field, mode, offset, clamp, value = split(2, ...)
   local relative = offset == nil or offset
   local down, right = field[1], field[2]
   local function source(i, j)
      local row, column = down[i + 1][j + 1], right[i + 1][j + 1]
      if relative then return i + row, j + column end
      return row - 1, column - 1
   end
   return give(result, resample(x, field:size(2), field:size(3), sampler(mode, 'warp'), source,
      (clamp or 'clamp') == 'clamp', value or 0))
end

-- Turned around the middle, by an angle in radians.
function image.rotate(...)
   local result, x, angle, mode = split(1, ...)
   local n = x:dim()
   local height, width = x:size(n - 1), x:size(n)
   local middle_row, middle_column = (height - 1) / 2, (width - 1) / 2
   local cosine, sine = math.cos(angle), math.sin(angle)
   local function source(i, j)
      local y, h = i - middle_row, j - middle_column
      return cosine * y + sine * h + middle_row, cosine * h - sine * y + middle_column
   end
   return give(result, resample(x, height, width, sampler(mode or 'simple', 'rotate'), source, false, 0))
end

-- A linear map around the middle of (row, column), and a translation in the same order.
function image.affinetransform(...)
   local result, x, map, mode, translation, clamp, value = split(2, ...)
   local n = x:dim()
   local height, width = x:size(n - 1), x:size(n)
   local middle_row, middle_column = (height - 1) / 2, (width - 1) / 2
   local down = translation and translation[1] or 0
   local right = translation and translation[2] or 0
   local function source(i, j)
      local y, h = i - middle_row, j - middle_column
      return map[1][1] * y + map[1][2] * h + middle_row - down, map[2][1] * y + map[2][2] * h + middle_column - right
   end
   return give(result, resample(x, height, width, sampler(mode, 'affinetransform'), source,
      (clamp or 'clamp') == 'clamp', value or 0))
end

-- For other maps: source(i, j) is the row and column that a value comes from, 0 outside.
return function(x, height, width, mode, source)
   return resample(x, height, width, sampler(mode, 'warp'), source, false, 0)
end
