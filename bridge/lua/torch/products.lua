-- Products of matrices and vectors. A result that is given must have the right size.
local core = require 'relume.ffi'
local errors = require 'torch.errors'
local maths = require 'torch.maths'
local shapes = require 'torch.shapes'

local tensor_row, is_tensor = core.tensor_row, core.is_tensor
local dims, shape_text = shapes.dims, errors.shape_text

local functions, methods = maths.functions, maths.methods

-- The sizes of each product's result, checked as Torch7 does; `kinds` are the numbers of
-- dimensions of the two factors.
local products = {
   mm = {kinds = {2, 2}, op = 'mm', word = 'm', wrong_result = 'matrix expected, got %dD tensor for t',
      size = function(a, b) return a._shape[1] == b._shape[0], {a:size(1), b:size(2)} end},
   mv = {kinds = {2, 1}, op = 'mv', short = true, wrong_result = 'vector expected, got t: %dD',
      size = function(a, b) return a._shape[1] == b._shape[0], {a:size(1)} end},
   ger = {kinds = {1, 1}, op = 'outer', word = 'vec', wrong_result = 'expected matrix, got %dD tensor for t',
      size = function(a, b) return true, {a:size(1), b:size(1)} end},
   bmm = {kinds = {3, 3}, op = 'bmm', wrong_result = 'output tensor of incorrect size, it has %d dimensions',
      size = function(a, b)
         return a._shape[0] == b._shape[0] and a._shape[2] == b._shape[1],
            {a:size(1), a:size(2), b:size(3)}
      end},
}

local function size_error(product, a, b, target)
   if product.short then
      if target and a._shape[1] == b._shape[0] then
         error(('size mismatch, t: %s, mat: %s'):format(shape_text(target), shape_text(a)), 3)
      end
      error(('size mismatch, %s, %s'):format(shape_text(a), shape_text(b)), 3)
   elseif product.op == 'bmm' then
      local function text(x) return (shape_text(x):gsub('[%[%] ]', '')) end
      if a._shape[0] ~= b._shape[0] then
         errors.bad_argument(2, ('equal number of batches expected, got %d, %d'):format(a:size(1), b:size(1)))
      end
      if a._shape[2] ~= b._shape[1] then
         errors.bad_argument(2, ('wrong matrix size, batch1: %s, batch2: %s'):format(text(a[1]), text(b[1])))
      end
      errors.bad_argument(1, 'output tensor of incorrect size')
   end
   local first = target and ('t: %s, '):format(shape_text(target)) or ''
   error(('size mismatch, %s%s1: %s, %s2: %s'):format(first, product.word, shape_text(a), product.word,
      shape_text(b)), 3)
end

local function is_size(tensor, sizes)
   if dims(tensor) ~= #sizes then return false end
   for i, size in ipairs(sizes) do
      if tensor._shape[i - 1] ~= size then return false end
   end
   return true
end

local function check_factors(product, a, b)
   local row = tensor_row(a)
   return row and tensor_row(b) == row and dims(a) == product.kinds[1] and dims(b) == product.kinds[2]
end

-- ([result,] a, b)
for name, product in pairs(products) do
   local function multiply(result, a, b, count)
      if not check_factors(product, a, b) then
         if not result then errors.invalid_arguments(2, a, b) end
         errors.invalid_arguments(b ~= nil and 3 or 2, result, a, b)
      end
      local fits, sizes = product.size(a, b)
      if not fits then size_error(product, a, b) end
      if result == nil then return core.call(product.op, a, b) end
      if not is_size(result, sizes) then
         if dims(result) ~= #sizes then
            error(product.wrong_result:format(dims(result)), 3)
         end
         size_error(product, a, b, result)
      end
      return core.into(result, product.op, a, b)
   end
   functions[name] = function(a, b, c)
      if c == nil then return multiply(nil, a, b) end
      return multiply(a, b, c)
   end
   methods.all[name] = multiply
end

-- beta * M + alpha * (a x b): numbers may be left out, and M is the method's own tensor
-- when no other is given.
local sums = {addmm = 'mm', addmv = 'mv', addr = 'ger', baddbmm = 'bmm', addbmm = 'bmm'}

local function parse_sum(is_method, ...)
   local count = select('#', ...)
   local list = {...}
   local a, b = list[count - 1], list[count]
   local result, M, beta, alpha
   local numbers = {}
   local tensors = {}
   for i = 1, count - 2 do
      local value = list[i]
      if is_tensor(value) then
         tensors[#tensors + 1] = value
         if #tensors == 1 and #numbers > 0 or #tensors == 2 then beta = numbers[#numbers] end
         if not (is_method and #tensors == 1) then numbers = {} end
      elseif type(value) == 'number' then
         numbers[#numbers + 1] = value
      else
         return nil
      end
   end
   if #tensors == 0 or #tensors > 2 or not is_tensor(a) or not is_tensor(b) then return nil end
   if #tensors == 2 then
      result, M, alpha = tensors[1], tensors[2], numbers[1]
   elseif is_method then
      result, M = tensors[1], tensors[1]
      if #numbers == 2 then
         beta, alpha = numbers[1], numbers[2]
      else
         alpha = numbers[1]
      end
   else
      M, alpha = tensors[1], numbers[1]
   end
   return M, a, b, beta or 1, alpha or 1, result
end

local function add_product(name, result, M, a, b, beta, alpha)
   local product = products[sums[name]]
   if not check_factors(product, a, b) or tensor_row(M) ~= tensor_row(a) then
      errors.invalid_arguments(3, M, a, b)
   end
   local fits, sizes = product.size(a, b)
   if name == 'addbmm' then table.remove(sizes, 1) end
   if not fits or not is_size(M, sizes) then size_error(product, a, b, M) end
   if result == nil then
      result = shapes.new_like(M)
   elseif result ~= M then
      shapes.resize_as(result, M)
   end
   if name == 'addmm' then return core.into(result, 'addmm', M, a, b, beta, alpha) end
   local value = core.call(product.op, a, b)
   if name == 'addbmm' then value = core.call('sum', value, {0}) end
   if alpha ~= 1 then core.scalar_in_place(core.ops.mul, value, alpha, tensor_row(M).integer) end
   if beta == 0 then return result:copy(value) end
   if result ~= M then result:copy(M) end
   if beta ~= 1 then result:mul(beta) end
   return result:add(value)
end

for name in pairs(sums) do
   functions[name] = function(...)
      local M, a, b, beta, alpha, result = parse_sum(false, ...)
      if not M then errors.invalid_arguments(select('#', ...), ...) end
      return add_product(name, result, M, a, b, beta, alpha)
   end
   methods.all[name] = function(...)
      local M, a, b, beta, alpha, result = parse_sum(true, ...)
      if not M then errors.invalid_arguments(select('#', ...), ...) end
      return add_product(name, result, M, a, b, beta, alpha)
   end
end

return products
