-- Reductions: x:f() gives a number, x:f(dim) a tensor that keeps the dimension with size 1.
-- A given result stands in front of x and is resized.
local core = require 'relume.ffi'
local elements = require 'torch.elements'
local errors = require 'torch.errors'
local maths = require 'torch.maths'
local selection = require 'torch.selection'
local shapes = require 'torch.shapes'
local types = require 'relume.types'

local tensor_row, is_tensor, ops = core.tensor_row, core.is_tensor, core.ops
local dims, shape = shapes.dims, shapes.shape
local long_row = types.by_class.Long
local unpack = unpack

local functions, methods = maths.functions, maths.methods

local function enter(name, kind, f)
   functions[name] = f
   methods[kind][name] = f
end

-- The only element of a tensor of any type.
local function number(tensor)
   return elements.read(tensor_row(tensor), tensor._storage._data, tensor._offset)
end

-- A 1-based dimension as the core's; an error when x has none such.
local function check_dimension(x, dim, position, text)
   dim = type(dim) == 'number' and maths.truncate(dim)
   local d = dim and shapes.dimension(x, dim)
   if not d then
      errors.bad_argument(position, (text or 'dimension %s out of range'):format(tostring(dim)))
   end
   return d
end

local function resize_reduced(result, x, d)
   local n = shapes.load(x)
   shape[d] = 1
   return shapes.resize(result, n)
end

-- (x), (x, dim), (result, x, dim): which is which.
local function parse(a, b, ...)
   if is_tensor(b) then return a, b, ... end
   return nil, a, b, ...
end

local function invalid(count, ...) errors.invalid_arguments(count, ...) end

-- Numbers come from sums in double precision, whatever the tensor holds.
local function accumulator(x)
   return tensor_row(x).floating and types.by_class.Double or nil
end

local function in_double(x)
   local row = tensor_row(x)
   return row.floating and row ~= types.by_class.Double and x:double() or x
end

-- Reductions that are one op of the core. `empty` is the value of a tensor without elements,
-- `identity` its name in the error when there is none.
local rows = {
   {'sum', kind = 'all', empty = 0},
   {'prod', kind = 'all', empty = 1},
   {'mean', kind = 'floating', text = 'invalid dimension %s'},
}
for _, row in ipairs(rows) do
   local name = row[1]
   enter(name, row.kind, function(...)
      local result, x, dim = parse(...)
      if not is_tensor(x) then invalid(select('#', ...), ...) end
      if dim == nil then
         if x._numel == 0 then
            if row.empty then return row.empty end
            errors.bad_argument(1, 'empty Tensor')
         end
         return number(core.call(name, x, nil, false, accumulator(x)))
      end
      local d = check_dimension(x, dim, 2, row.text)
      result = resize_reduced(result or shapes.new(tensor_row(x), 0), x, d)
      return core.into(result, name, x, {d}, true)
   end)
end

-- The largest and smallest, with their 1-based positions.
local function extreme(name, op, value_op)
   enter(name, 'all', function(...)
      local result, x, dim = nil, ...
      local indices
      if is_tensor(dim) then result, indices, x, dim = ... end
      if not is_tensor(x) then invalid(select('#', ...), ...) end
      if dim == nil then
         if x._numel == 0 then errors.bad_argument(1, 'tensor must have one dimension') end
         return number(core.call(value_op, x))
      end
      local d = check_dimension(x, dim, 2)
      result = resize_reduced(result or shapes.new(tensor_row(x), 0), x, d)
      indices = resize_reduced(indices or shapes.new(long_row, 0), x, d)
      core.into2(result, indices, op, x, d, true)
      core.scalar_in_place(ops.add, indices, 1, true)
      return result, indices
   end)
end
extreme('max', 'max_with_indices', 'amax')
extreme('min', 'min_with_indices', 'amin')

-- Spread: divides by n - 1 unless the flag says by n.
for _, name in ipairs {'std', 'var'} do
   enter(name, 'floating', function(...)
      local result, x, dim, biased = parse(...)
      if not is_tensor(x) then invalid(select('#', ...), ...) end
      if type(dim) ~= 'number' then
         if x._numel == 0 then errors.bad_argument(1, 'empty Tensor') end
         return number(core.call(name, in_double(x), nil, dim and 0 or 1))
      end
      local d = check_dimension(x, dim, 3, 'invalid dimension %s')
      result = resize_reduced(result or shapes.new(tensor_row(x), 0), x, d)
      return core.into(result, name, x, {d}, biased and 0 or 1, true)
   end)
end

enter('norm', 'floating', function(...)
   local result, x, p, dim = parse(...)
   if not is_tensor(x) then invalid(select('#', ...), ...) end
   p = p or 2
   if dim == nil then
      if x._numel == 0 then return 0 end
      return number(core.call('norm', in_double(x), p))
   end
   local d = check_dimension(x, dim, 3, 'invalid dimension %s')
   result = resize_reduced(result or shapes.new(tensor_row(x), 0), x, d)
   return core.into(result, 'norm', x, p, {d}, true)
end)

enter('dist', 'floating', function(x, y, p)
   if x._numel ~= y._numel then
      errors.inconsistent_size({'tensor', 'src'}, {x, y})
   end
   return number(core.call('norm', in_double(core.call('sub', x, shapes.as(y, x))), p or 2))
end)

enter('dot', 'all', function(x, y)
   if tensor_row(x) ~= tensor_row(y) then invalid(2, x, y) end
   if x._numel ~= y._numel then
      errors.inconsistent_size({'tensor', 'src'}, {x, y})
   end
   if x._numel == 0 then return 0 end
   y = shapes.as(y, x)
   -- that of integers wraps like its elements
   if tensor_row(x).floating then
      x, y = in_double(x), in_double(y)
      if x._ndim == 1 then return number(core.call('dot', x, y)) end
      return number(core.call('sum', core.call('mul', x, y)))
   end
   local result = x.new(1)
   result[1] = number(core.call('sum', core.call('mul', x, y)))
   return result[1]
end)

-- Running sums along a dimension (the first when none is given).
for _, name in ipairs {'cumsum', 'cumprod'} do
   enter(name, 'all', function(...)
      local result, x, dim = parse(...)
      if not is_tensor(x) then invalid(select('#', ...), ...) end
      local d = check_dimension(x, dim or 1, 2)
      result = shapes.resize_as(result or shapes.new(tensor_row(x), 0), x)
      return core.into(result, name, x, d)
   end)
end

-- Of ByteTensors: are all (any) of the elements other than zero?
for _, name in ipairs {'all', 'any'} do
   local function f(x)
      local row = tensor_row(x)
      if not row or (row.class ~= 'Byte' and row.class ~= 'Bool') then invalid(1, x) end
      if x._numel == 0 then errors.bad_argument(1, 'empty Tensor') end
      return number(core.call(name, x)) ~= 0
   end
   functions[name] = f
   methods.byte = methods.byte or {}
   methods.byte[name] = f
end

enter('trace', 'all', function(x)
   if dims(x) ~= 2 then errors.bad_argument(1, 'expected a matrix') end
   return functions.sum(core.call('diagonal', x))
end)

-- Sorted values with their 1-based positions.
local function sorted_pair(result, indices, values, positions)
   result = result and shapes.resize_as(result, values):copy(values) or values
   core.scalar_in_place(ops.add, positions, 1, true)
   indices = indices and shapes.resize_as(indices, positions):copy(positions) or positions
   return result, indices
end

local function with_indices(...)
   if is_tensor((select(2, ...))) then return ... end
   return nil, nil, ...
end

enter('sort', 'all', function(...)
   local result, indices, x, dim, descending = with_indices(...)
   if not is_tensor(x) or (result ~= nil and tensor_row(result) ~= tensor_row(x)) then
      invalid(select('#', ...), ...)
   end
   if type(dim) == 'boolean' then dim, descending = nil, dim end
   local d = shapes.dimension(x, dim or dims(x))
   if not d then errors.bad_argument(2, 'invalid dimension ' .. tostring(dim or dims(x))) end
   local values, positions = core.call('sort', x, d, descending or false)
   return sorted_pair(result, indices, values, positions)
end)

enter('topk', 'all', function(...)
   local result, indices, x, k, dim, largest, sorted = with_indices(...)
   k = k or 1
   local d = check_dimension(x, dim or dims(x), 3, 'dim not in range')
   if k < 1 or k > x._shape[d] then errors.bad_argument(2, 'k not in range for dimension') end
   -- Torch7's default is the smallest ones, in any order
   local values, positions = core.call('topk', x, k, d, largest or false, true)
   return sorted_pair(result, indices, values, positions)
end)

-- A contiguous copy with dimension `d` last, in which selection runs through one row after the other, and
-- the positions (from 0) that moved along.
local function select_rows(x, k, d)
   local n = dims(x)
   local values = x:transpose(d + 1, n):clone()
   local places = shapes.new_like(values, long_row)
   local count = values:size(n)
   local data, order = values._storage._data, places._storage._data
   for start = 0, tonumber(values._numel) - 1, count do
      for i = 0, count - 1 do order[start + i] = i end
      selection.select(data + start, order + start, count, k)
   end
   return values:transpose(d + 1, n), places:transpose(d + 1, n)
end

-- The k-th smallest along a dimension.
local function kth(result, indices, x, k, d)
   local values, places = select_rows(x, k - 1, d)
   return sorted_pair(result, indices, values:narrow(d + 1, k, 1):clone(), places:narrow(d + 1, k, 1):clone())
end

enter('kthvalue', 'all', function(...)
   local result, indices, x, k, dim = with_indices(...)
   local d = check_dimension(x, dim or dims(x), 3, 'dimension out of range')
   if k < 1 or k > x._shape[d] then errors.bad_argument(2, 'selected index out of range') end
   return kth(result, indices, x, k, d)
end)

enter('median', 'all', function(...)
   local result, indices, x, dim = with_indices(...)
   local d = check_dimension(x, dim or dims(x), 3, 'dimension out of range')
   return kth(result, indices, x, math.floor((x:size(d + 1) + 1) / 2), d)
end)

-- The most frequent value along a dimension; the smallest of equally frequent ones.
enter('mode', 'all', function(...)
   local result, indices, x, dim = with_indices(...)
   local d = check_dimension(x, dim or dims(x), 3, 'dimension out of range')
   return sorted_pair(result, indices, core.call('mode', x, d, true))
end)

enter('numel', 'all', function(x) return tonumber(x._numel) end)

return {number = number, check_dimension = check_dimension}
