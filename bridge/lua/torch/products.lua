-- Products of matrices and vectors. A result that is given must have the right size.
local core = require 'relume.ffi'
local errors = require 'torch.errors'
local maths = require 'torch.maths'
local shapes = require 'torch.shapes'

local tensor_row, is_tensor = core.tensor_row, core.is_tensor
local dims, shape_text = shapes.dims, errors.shape_text

local functions, methods = maths.functions, maths.methods

-- What each product's result is like, checked as Torch7 does; `kinds` are the numbers of dimensions of the two
-- factors. `size` says whether they fit, and the sizes of the result.
local products = {
   mm = {kinds = {2, 2}, op = 'mm', word = 'm', wrong_result = 'matrix expected, got %dD tensor for t',
      size = function(a, b) return a._shape[1] == b._shape[0], a._shape[0], b._shape[1] end},
   mv = {kinds = {2, 1}, op = 'mv', short = true, wrong_result = 'vector expected, got t: %dD',
      size = function(a, b) return a._shape[1] == b._shape[0], a._shape[0] end},
   ger = {kinds = {1, 1}, op = 'outer', word = 'vec', wrong_result = 'expected matrix, got %dD tensor for t',
      size = function(a, b) return true, a._shape[0], b._shape[0] end},
   bmm = {kinds = {3, 3}, op = 'bmm', wrong_result = 'output tensor of incorrect size, it has %d dimensions',
      size = function(a, b)
         return a._shape[0] == b._shape[0] and a._shape[2] == b._shape[1],
            a._shape[0], a._shape[1], b._shape[2]
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

-- Sizes that there are not are nil.
local function is_size(tensor, first, second, third)
   local n = third and 3 or second and 2 or 1
   local sizes = tensor._shape
   return dims(tensor) == n and sizes[0] == first and (n < 2 or sizes[1] == second)
      and (n < 3 or sizes[2] == third)
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
      local fits, first, second, third = product.size(a, b)
      if not fits then size_error(product, a, b) end
      if result == nil then return core.call(product.op, a, b) end
      if not is_size(result, first, second, third) then
         if dims(result) ~= (third and 3 or second and 2 or 1) then
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

-- What stands before the two factors, `count` values: [result,] [beta,] M, [alpha] or, of a method,
-- result, [beta,] [M,] [alpha]. Gives M, beta, alpha and the result.
local function parse_sum(is_method, count, x, y, z, w)
   local own = is_method and x or nil
   if count == 1 then
      return x, 1, 1, own
   elseif count == 2 then
      if is_tensor(x) and is_tensor(y) then return y, 1, 1, x end
      if is_tensor(x) then return x, 1, y, own end
      return y, x, 1
   elseif count == 3 then
      if is_tensor(x) and is_tensor(y) then return y, 1, z, x end
      if is_tensor(x) and is_tensor(z) then return z, y, 1, x end
      if is_method then return x, y, z, x end
      return y, x, z
   end
   return z, y, w, x
end

local function add_product(name, result, M, a, b, beta, alpha)
   local product = products[sums[name]]
   local row = tensor_row(M)
   if not check_factors(product, a, b) or row ~= tensor_row(a) then
      errors.invalid_arguments(3, M, a, b)
   end
   local fits, first, second, third = product.size(a, b)
   if name == 'addbmm' then first, second, third = second, third, nil end
   if not fits or not is_size(M, first, second, third) then size_error(product, a, b, M) end
   if result == nil then
      result = shapes.new_like(M)
   elseif result ~= M then
      shapes.resize_as(result, M)
   end
   if row.integer then beta, alpha = maths.truncate(beta), maths.truncate(alpha) end
   if name ~= 'addbmm' then return core.into(result, name, M, a, b, beta, alpha) end
   return result:copy(core.call(name, M, a, b, beta, alpha))
end

-- Without `...`, which would cost more than a small product.
local function sum_function(name, is_method)
   return function(x, y, z, w, p, q, more)
      local count, a, b = 1, y, z
      if q ~= nil then count, a, b = 4, p, q
      elseif p ~= nil then count, a, b = 3, w, p
      elseif w ~= nil then count, a, b = 2, z, w end
      local M, beta, alpha, result = parse_sum(is_method, count, x, y, z, w)
      if more ~= nil or not is_tensor(M) or type(beta) ~= 'number' or type(alpha) ~= 'number'
         or not is_tensor(a) or not is_tensor(b) or (result ~= nil and not is_tensor(result)) then
         errors.invalid_arguments(q and 6 or p and 5 or w and 4 or z and 3 or y and 2 or x and 1 or 0, x, y, z, w, p, q)
      end
      return add_product(name, result, M, a, b, beta, alpha)
   end
end

for name in pairs(sums) do
   functions[name], methods.all[name] = sum_function(name, false), sum_function(name, true)
end

return products
