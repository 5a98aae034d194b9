-- Functions that make tensors: zeros, ones, eye, range, linspace, cat, ... Without a result
-- they make one of the default type.
local core = require 'relume.ffi'
local class = require 'torch.class'
local errors = require 'torch.errors'
local maths = require 'torch.maths'
local shapes = require 'torch.shapes'
local types = require 'relume.types'

local tensor_row, is_tensor, ops = core.tensor_row, core.is_tensor, core.ops
local dims, shape = shapes.dims, shapes.shape

local create = {default = types.by_class.Double}
local functions, methods = maths.functions, maths.methods

-- ([result,] sizes...): a tensor of these sizes.
function create.sized(...)
   local first = ...
   if is_tensor(first) then
      return shapes.resize(first, shapes.parse(2, false, select(2, ...)))
   end
   return shapes.new(create.default, shapes.parse(1, false, ...))
end

local function check_sizes(...)
   local count = select('#', ...)
   if count == 0 then errors.invalid_arguments(0) end
   for i = 1, count do
      local value = select(i, ...)
      if type(value) ~= 'number' and not is_tensor(value) and not shapes.is_long_storage(value) then
         errors.invalid_arguments(count, ...)
      end
   end
end

local function filled(value)
   return function(...)
      check_sizes(...)
      return create.sized(...):fill(value)
   end
end
functions.zeros, functions.ones = filled(0), filled(1)
methods.all.zeros, methods.all.ones = functions.zeros, functions.ones

-- Splits a leading result off; a fresh one otherwise.
local function result_first(f)
   return function(first, ...)
      if is_tensor(first) then return f(first, ...) end
      return f(shapes.new(create.default, 0), first, ...)
   end
end

local function enter(name, kind, f)
   functions[name] = result_first(f)
   methods[kind][name] = f
end

enter('eye', 'all', function(result, n, m)
   if n < 1 then errors.bad_argument(1, 'invalid argument') end
   if not m or m < 1 then m = n end
   shape[0], shape[1] = n, m
   shapes.resize(result, 2):zero()
   for i = 1, math.min(n, m) do result[i][i] = 1 end
   return result
end)

-- first, first + step, ... not beyond last.
enter('range', 'all', function(result, first, last, step)
   step = step or 1
   if tensor_row(result).integer then
      first, last, step = maths.truncate(first), maths.truncate(last), maths.truncate(step)
   end
   if step == 0 then errors.bad_argument(3, 'step must be a non-null number') end
   if (step > 0 and first > last) or (step < 0 and first < last) then
      errors.bad_argument(2, 'upper bound and larger bound incoherent with step sign')
   end
   local count = math.floor((last - first) / step) + 1
   if result._numel ~= count then result:resize(count) end
   local i = 0
   return result:apply(function()
      local value = first + i * step
      i = i + 1
      return value
   end)
end)

local function spaced(transform)
   return function(result, first, last, count)
      count = count or 100
      if count < 1 or (count == 1 and first ~= last) then
         errors.bad_argument(3, 'invalid number of points')
      end
      if result._numel ~= count then result:resize(count) end
      local step, i = count > 1 and (last - first) / (count - 1) or 0, 0
      return result:apply(function()
         local value = transform(first + i * step)
         i = i + 1
         return value
      end)
   end
end
enter('linspace', 'floating', spaced(function(x) return x end))
enter('logspace', 'floating', spaced(function(x) return 10 ^ x end))

----------------------------------------------------------------------------------------
-- cat([result,] x, y [, dim]) and cat([result,] {x, y, ...} [, dim]).

local function parse_cat(...)
   local list, result = {...}, nil
   local place = 1
   if type(list[1]) == 'table' then
      return nil, list[1], list[2]
   elseif type(list[2]) == 'table' then
      return list[1], list[2], list[3]
   elseif is_tensor(list[3]) then
      return list[1], {list[2], list[3]}, list[4]
   elseif is_tensor(list[1]) and is_tensor(list[2]) then
      return nil, {list[1], list[2]}, list[3]
   end
   errors.invalid_arguments(select('#', ...), ...)
end

local function cat(...)
   local result, list, dim = parse_cat(...)
   local row = tensor_row(list[1])
   if not row then errors.invalid_arguments(select('#', ...), ...) end
   local parts, most = {}, 0
   for i, part in ipairs(list) do
      if tensor_row(part) ~= row then errors.invalid_arguments(select('#', ...), ...) end
      most = math.max(most, dims(part))
      if part._numel > 0 then parts[#parts + 1] = part end
   end
   result = result or shapes.new(row, 0)
   if #parts == 0 then return result:resize(0) end
   if dim == nil or dim == -1 then dim = most end
   if not (dim >= 1 and dim <= core.max_dims) then
      errors.bad_argument(3, 'invalid dimension ' .. tostring(dim))
   end
   -- sizes of size 1 are added on the right up to `dim`
   local n = math.max(most, dim)
   local total = 0
   local sizes = {}
   for i, part in ipairs(parts) do
      if dims(part) < n then
         local grown = {}
         for d = 1, n do grown[d] = d <= dims(part) and part:size(d) or 1 end
         part = core.call('reshape', part, grown)
         parts[i] = part
      end
      for d = 1, n do
         local size = tonumber(part._shape[d - 1])
         if d == dim then
            total = total + size
         elseif sizes[d] and sizes[d] ~= size then
            error('inconsistent tensor sizes', 2)
         else
            sizes[d] = size
         end
      end
   end
   sizes[dim] = total
   for d = 1, n do shape[d - 1] = sizes[d] end
   if result._numel > 0 then
      for _, part in ipairs(parts) do
         if part._storage == result._storage then result = shapes.set(result, result:clone()) end
      end
      for d = 1, n do shape[d - 1] = sizes[d] end
   end
   shapes.resize(result, n)
   local start = 1
   for _, part in ipairs(parts) do
      local size = part:size(dim)
      result:narrow(dim, start, size):copy(part)
      start = start + size
   end
   return result
end
functions.cat = cat
methods.all.cat = cat

----------------------------------------------------------------------------------------
-- Parts of matrices.

local function triangle(name)
   local function f(a, b, c)
      local result, x, k = nil, a, b
      if is_tensor(b) then result, x, k = a, b, c end
      if dims(x) ~= 2 then errors.bad_argument(1, 'expected a matrix') end
      result = shapes.resize_as(result or shapes.new(tensor_row(x), 0), x)
      return core.into(result, name, x, k or 0)
   end
   functions[name], methods.all[name] = f, f
end
triangle('tril')
triangle('triu')

-- The k-th diagonal of a matrix, or a matrix with a vector on it.
local function diag(a, b, c)
   local result, x, k = nil, a, b
   if is_tensor(b) then result, x, k = a, b, c end
   k = k or 0
   result = result or shapes.new(tensor_row(x), 0)
   if dims(x) == 2 then
      local part = core.call('diagonal', x, k)
      if part._numel == 0 then errors.bad_argument(2, 'dimension 1 out of range of 0D tensor') end
      return shapes.resize_as(result, part):copy(part)
   end
   if dims(x) ~= 1 then errors.bad_argument(1, 'matrix or a vector expected') end
   local n = x:size(1) + math.abs(k)
   local values = x:clone()
   result:resize(n, n):zero()
   for i = 1, values:size(1) do
      result[i + math.max(0, -k)][i + math.max(0, k)] = values[i]
   end
   return result
end
functions.diag, methods.all.diag = diag, diag

-- The cross product along the first dimension of size 3, or the one given.
local function cross(a, b, c, d)
   local result, x, y, dim = nil, a, b, c
   if is_tensor(c) then result, x, y, dim = a, b, c, d end
   if dims(x) ~= dims(y) then
      error(('inconsistent tensor dimension %dD, %dD'):format(dims(x), dims(y)), 2)
   end
   if not dim then
      for i = 1, dims(x) do
         if x:size(i) == 3 then
            dim = i
            break
         end
      end
      if not dim then error('no dimension of size 3 in a: ' .. errors.shape_text(x), 2) end
   end
   if not shapes.same(x, y) then
      error(('inconsistent tensor sizes %s, %s'):format(errors.shape_text(x), errors.shape_text(y)), 2)
   end
   if not shapes.dimension(x, dim) then errors.bad_argument(3, ('dimension %d out of range'):format(dim)) end
   if x:size(dim) ~= 3 then errors.bad_argument(3, ('dimension %d does not have size 3'):format(dim)) end
   local value = shapes.new_like(x)
   for i = 1, 3 do
      local j, k = i % 3 + 1, (i + 1) % 3 + 1
      local part = value:narrow(dim, i, 1)
      part:copy(x:narrow(dim, j, 1)):cmul(y:narrow(dim, k, 1))
      part:csub(x:narrow(dim, k, 1):clone():cmul(y:narrow(dim, j, 1)))
   end
   if result then return shapes.resize_as(result, value):copy(value) end
   return value
end
functions.cross, methods.all.cross = cross, cross

----------------------------------------------------------------------------------------
-- A last argument that names a type, as in torch.zeros(2, 'torch.IntTensor'), says of which the result is.

local row_by_name = {}
for _, row in ipairs(types.rows) do row_by_name[row.tensor_class] = row end

local function make_of(row, f, ...)
   local default = create.default
   create.default = row
   local ok, result = pcall(f, ...)
   create.default = default
   if not ok then error(result, 0) end
   return result
end

-- Lets the functions of these names take such an argument.
function create.accept_type_names(names)
   for name in names:gmatch '%a+' do
      local f = functions[name]
      functions[name] = function(...)
         local count = select('#', ...)
         local last = count > 0 and select(count, ...)
         local row = type(last) == 'string' and row_by_name[last]
         if not row then return f(...) end
         return make_of(row, f, unpack({...}, 1, count - 1))
      end
   end
end
create.accept_type_names 'zeros ones eye range linspace logspace'

return create
