-- conv2, xcorr2, conv3, xcorr3: convolutions and correlations of planes and volumes, over the
-- places where the kernel fits ('V') or wherever it touches ('F').
local core = require 'relume.ffi'
local errors = require 'torch.errors'
local maths = require 'torch.maths'
local shapes = require 'torch.shapes'

local tensor_row, is_tensor, dims = core.tensor_row, core.is_tensor, shapes.dims

-- How planes and kernels are put together, by what their numbers of dimensions exceed those of a
-- plane by: one with one, each with its own, all with a set of kernels for each result.
local pairings = {['0 0'] = 'mul', ['1 1'] = 'cmul', ['1 2'] = 'mv'}

local function with_leading_ones(x, count)
   local sizes = x:size():totable()
   for _ = 1, count do table.insert(sizes, 1, 1) end
   return core.call('reshape', x, sizes)
end

local function check_planes(x, k, pairing)
   if pairing == 'cmul' and x:size(1) ~= k:size(1) then
      errors.bad_argument(2, 'invalid number of input/kernel planes')
   elseif pairing == 'mv' and x:size(1) ~= k:size(2) then
      errors.bad_argument(2, 'invalid number of input planes')
   end
end

local function check_sizes(x, k, n, mode, name)
   if mode == 'F' then return end
   for i = 0, n - 1 do
      if x:size(dims(x) - i) < k:size(dims(k) - i) then
         errors.bad_argument(2, name .. ' : Input image is smaller than kernel')
      end
   end
end

local function trailing(n, value)
   local list = {}
   for i = 1, n do list[i] = type(value) == 'function' and value(i) or value end
   return list
end

-- The correlation as the layers' convolution: a batch of one, kernels (outputs, inputs, ...).
local function correlate(x, k, n, mode)
   local padding = trailing(n, function(i) return mode == 'F' and k:size(dims(k) - n + i) - 1 or 0 end)
   local ones = trailing(n, 1)
   local input = with_leading_ones(x, n + 2 - dims(x))
   local kernel = with_leading_ones(k, n + 2 - dims(k))
   return core.call('conv' .. n .. 'd', input, kernel, nil, ones, padding, ones, 1)[1]
end

local compute = {
   mul = function(x, k, n, mode) return correlate(x, k, n, mode)[1] end,
   mv = correlate,
   cmul = function(x, k, n, mode)
      local planes = {}
      for i = 1, x:size(1) do planes[i] = correlate(x[i], k[i], n, mode) end
      return torch.cat(planes, 1)
   end,
}

local function convolution(n, flipped)
   return function(...)
      local list, count = {...}, select('#', ...)
      local result
      if is_tensor(list[3]) then result = table.remove(list, 1) end
      local x, k, mode = list[1], list[2], list[3] or 'V'
      local pairing = is_tensor(x) and is_tensor(k) and tensor_row(x) == tensor_row(k)
         and pairings[('%d %d'):format(dims(x) - n, dims(k) - n)]
      if not pairing or (mode ~= 'V' and mode ~= 'F') then errors.invalid_arguments(count, ...) end
      check_planes(x, k, pairing)
      check_sizes(x, k, n, mode, ('conv%dD%s'):format(n, pairing))
      local row = tensor_row(x)
      if not row.floating then x, k = x:double(), k:double() end  -- whole numbers, exactly
      if flipped then
         k = core.call('flip', k, trailing(n, function(i) return i - n - 1 end))
      end
      local value = compute[pairing](x, k, n, mode)
      if not result then return row.floating and value or value:type(row.tensor_class) end
      return shapes.resize_as(result, value):copy(value)
   end
end

for name, row in pairs {conv2 = {2, true}, xcorr2 = {2, false}, conv3 = {3, true}, xcorr3 = {3, false}} do
   local f = convolution(row[1], row[2])
   maths.functions[name], maths.methods.all[name] = f, f
end
