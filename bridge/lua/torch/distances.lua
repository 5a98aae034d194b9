-- Functions of rows and of how values are spread: renorm, match, histc, bhistc.
local core = require 'relume.ffi'
local errors = require 'torch.errors'
local maths = require 'torch.maths'
local shapes = require 'torch.shapes'

local tensor_row, is_tensor, dims = core.tensor_row, core.is_tensor, shapes.dims
local functions, methods = maths.functions, maths.methods

local function enter(name, f)
   functions[name], methods.floating[name] = f, f
end

-- A leading result, or nil, in front of the other arguments.
local function split_result(first, second, ...)
   if is_tensor(second) then return first, second, ... end
   return nil, first, second, ...
end

local function check_floating(x, count, ...)
   local row = tensor_row(x)
   if not row or not row.floating then errors.invalid_arguments(count, ...) end
end

local function give(result, value)
   if result then return shapes.resize_as(result, value):copy(value) end
   return value
end

-- Makes each slice along a dimension at most `most` long, in the p-norm.
local function renorm(x, p, dim, most)
   local d = shapes.dimension(x, dim)
   if not d then errors.bad_argument(3, ('invalid dimension %d'):format(dim)) end
   if p <= 0 then errors.bad_argument(2, 'non-positive-norm not supported') end
   if dims(x) < 2 then
      errors.bad_argument(1, ('need at least 2 dimensions, got %d dimensions'):format(dims(x)))
   end
   return core.call('renorm', x, p, d, most)
end

function functions.renorm(...)
   local result, x, p, dim, most = split_result(...)
   check_floating(x, select('#', ...), ...)
   return give(result, renorm(x, p, dim, most))
end

function methods.floating.renorm(...)
   local result, x, p, dim, most = split_result(...)
   check_floating(x, select('#', ...), ...)
   return give(result or x, renorm(x, p, dim, most))
end

-- The squared distances between the rows of two matrices, times a gain.
local function match(...)
   local list = {...}
   local result = is_tensor(list[3]) and table.remove(list, 1) or nil
   local a, b, gain = list[1], list[2], list[3] or 1
   if not is_tensor(a) or tensor_row(a) ~= tensor_row(b) then
      errors.invalid_arguments(select('#', ...), ...)
   end
   local rows, others = a:view(a:size(1), 1, -1), b:view(1, b:size(1), -1)
   if rows:size(3) ~= others:size(3) then error('m1 and m2 must have the same inner vector dim', 2) end
   local difference = core.call('sub', rows, others)
   return give(result, difference:cmul(difference):sum(3):select(3, 1):mul(gain))
end
functions.match, methods.all.match = match, match

-- The limits of a histogram: those of the values unless given, with some room around a constant.
local function limits(x, low, high)
   low, high = low or 0, high or 0
   if low == high then low, high = x:min(), x:max() end
   if low == high then low, high = low - 1, high + 1 end
   return low, high
end

local function count_values(x, bins, low, high)
   low, high = limits(x, low, high)
   if low > high then return x.new(bins):zero() end
   return core.call('histc', x, bins, low, high)
end

-- How many values fall into each of the equal parts between two limits.
enter('histc', function(...)
   local result, x, bins, low, high = split_result(...)
   check_floating(x, select('#', ...), ...)
   return give(result, count_values(x, bins or 100, low, high))
end)

-- The same for each row of a matrix, with common limits.
enter('bhistc', function(...)
   local result, x, bins, low, high = split_result(...)
   check_floating(x, select('#', ...), ...)
   if dims(x) < 2 then errors.bad_argument(2, 'invalid dimension 2') end
   if dims(x) > 2 then
      errors.bad_argument(2, ('invalid dimension %d, the input must be a 2d tensor'):format(dims(x)))
   end
   bins = bins or 100
   low, high = limits(x, low, high)
   local value = x.new(x:size(1), bins)
   for i = 1, x:size(1) do value[i]:copy(count_values(x[i], bins, low, high)) end
   return give(result, value)
end)
