-- Element-wise mathematics. Each family is a table of rows; every row becomes a function of
-- `torch` and a method, with Torch7's argument forms:
--
--    torch.f(x, ...)          a fresh result
--    torch.f(result, x, ...)  into `result`, which takes the size of x
--    x:f(...)                 in place
--    result:f(x, ...)         into `result`
--
-- Both parse alike; they differ only in what the result is when none is given.
local ffi = require 'ffi'
local class = require 'torch.class'
local core = require 'relume.ffi'
local elements = require 'torch.elements'
local errors = require 'torch.errors'
local shapes = require 'torch.shapes'
local types = require 'relume.types'

local tensor_row, is_tensor, ops = core.tensor_row, core.is_tensor, core.ops
local resize_as, new_like = shapes.resize_as, shapes.new_like
local rawequal, tonumber, type = rawequal, tonumber, type

-- Functions of `torch`, and methods by the kinds of element types that have them.
local maths = {functions = {}, methods = {all = {}, floating = {}, integer = {}}}

-- Enters one function in both forms. `make(fresh)` builds it; `fresh` says that a missing
-- result is a new tensor rather than the source.
local function enter(name, kind, make)
   maths.functions[name] = make(true)
   for where in kind:gmatch('%a+') do maths.methods[where][name] = make(false) end
end
maths.enter = enter


-- All tensors of a call are of the class of the first.
local function same_class(row, other)
   return tensor_row(other) == row
end

-- The result of an element-wise function of `source`.
local function prepare(result, source, fresh)
   if result == nil then
      if fresh then return new_like(source) end
      return source
   end
   return rawequal(result, source) and result or resize_as(result, source)
end
maths.prepare = prepare

local function truncate(number)
   return number < 0 and math.ceil(number) or math.floor(number)
end

----------------------------------------------------------------------------------------
-- Functions of one tensor.

maths.truncate = truncate

-- A number as the elements of a class hold it.
local function as_element(row, number)
   return row.integer and tonumber(ffi.cast(row.element, number)) or number
end

local function check_floating(name, row)
   if row.integer then
      error(('%s does not implement the torch.%s() function'):format(row.tensor_class, name), 3)
   end
end

-- `round` of Torch7 goes away from zero at one half, that of the core to even. What is cut off is exact, and
-- so is twice that; of infinities it is no number, and nothing is added.
local function round_away(result, source)
   local whole = core.call('trunc', source)
   local rest = core.call('sub', source, whole)
   core.scalar_in_place(ops.mul, rest, 2)
   core.unary_in_place(ops.trunc, rest)
   return core.tensors_into(ops.add, result, whole, core.call('nan_to_num', rest))
end

local function sigmoid(x) return 1 / (1 + math.exp(-x)) end
local function round(x)
   local whole = truncate(x)
   return math.abs(x - whole) >= 0.5 and whole + (x < 0 and -1 or 1) or whole
end

local unary = {
   {'abs', number = math.abs, integers = true},
   {'sign', integers = true},
   {'floor', number = math.floor},
   {'ceil', number = math.ceil},
   {'round', number = round, apply = round_away},
   {'trunc', number = truncate},
   {'frac', number = function(x) return x - truncate(x) end},
   {'sqrt', number = math.sqrt},
   {'rsqrt', number = function(x) return 1 / math.sqrt(x) end},
   {'exp', number = math.exp},
   {'log', number = math.log},
   {'log1p', number = function(x) return math.log(1 + x) end},
   {'sin', number = math.sin},
   {'cos', number = math.cos},
   {'tan', number = math.tan},
   {'asin', number = math.asin},
   {'acos', number = math.acos},
   {'atan', number = math.atan},
   {'sinh', number = math.sinh},
   {'cosh', number = math.cosh},
   {'tanh', number = math.tanh},
   {'sigmoid', number = sigmoid},
   {'neg', number = function(x) return -x end},
   {'cinv', op = 'reciprocal', number = function(x) return 1 / x end},
}

for _, row in ipairs(unary) do
   local name, op, apply, of_number = row[1], row.op or row[1], row.apply, row.number
   enter(name, row.integers and 'all' or 'floating', function(fresh)
      return function(a, b)
         local result, source = nil, a
         if b ~= nil then result, source = a, b end
         local kind = tensor_row(source)
         if not kind or b ~= nil and tensor_row(a) ~= kind then
            local number = b == nil and not kind and type(source) ~= 'cdata' and tonumber(source)
            if number and of_number then return of_number(number) end
            if a == nil then errors.invalid_arguments(0) end
            if b == nil then errors.invalid_arguments(1, a) end
            errors.invalid_arguments(2, a, b)
         end
         if not row.integers or fresh and kind.bytes < 4 and name == 'abs' then check_floating(name, kind) end
         result = prepare(result, source, fresh)
         if source._numel == 0 then return result end
         if apply then return apply(result, source) end
         if rawequal(result, source) then return core.unary_in_place(ops[op], source) end
         return core.unary_into(ops[op], result, source)
      end
   end)
end

----------------------------------------------------------------------------------------
-- A tensor with a number or with another tensor.

-- (r_, t, src) of the message are the result, the source and the other tensor.
local default_names = {'r_', 't', 'src'}

local function check_count(result, source, other, names)
   if source._numel ~= other._numel then
      errors.inconsistent_size(names or default_names, {result or source, source, other})
   end
end

-- Runs a Lua function over the elements: for integer division and bits, where the core's
-- types would differ from C's.
local function elementwise(result, source, other, f)
   local row = tensor_row(source)
   local out = result._contiguous and result or new_like(result)
   local x = source:contiguous()
   local target, a = out._storage._data + out._offset, x._storage._data + x._offset
   if is_tensor(other) then
      local y = other:contiguous()
      local b = y._storage._data + y._offset
      for i = 0, tonumber(x._numel) - 1 do
         elements.write(row, target, i, f(elements.read(row, a, i), elements.read(row, b, i), row))
      end
   else
      for i = 0, tonumber(x._numel) - 1 do
         elements.write(row, target, i, f(elements.read(row, a, i), other, row))
      end
   end
   if not rawequal(out, result) then result:copy(out) end
   return result
end

local function with_number(op, result, source, number, row)
   if rawequal(result, source) then
      return core.scalar_in_place(ops[op], source, number, row.integer)
   end
   return core.scalar_into(ops[op], result, source, number, row.integer)
end

-- Torch7 goes through a result that shares its memory with the other tensor one element at
-- a time, in order, and so does this.
local formulas = {
   add = function(a, b, factor) return a + (factor or 1) * b end,
   sub = function(a, b, factor) return a - (factor or 1) * b end,
   mul = function(a, b) return a * b end,
   div = function(a, b) return a / b end,
}

local function in_order(op, result, other, factor)
   local formula = formulas[op]
   local row, n = tensor_row(result), shapes.dims(result)
   local function walk(a, b, dimension)
      for i = 1, a:size(1) do
         if dimension == n then
            a[i] = formula(a[i], b[i], factor)
         else
            walk(a[i], b[i], dimension + 1)
         end
      end
   end
   walk(result, other, 1)
   return result
end

-- Do both look at one storage in different ways?
local function entangled(result, other)
   return result._storage == other._storage and result._storage ~= nil and not result:isSetTo(other)
end

local function with_tensor(op, result, source, other)
   if entangled(result, other) and formulas[op] and rawequal(result, source)
      and shapes.same(result, other) then
      return in_order(op, result, other)
   end
   other = shapes.as(other, source)
   if rawequal(result, source) then return core.tensors_in_place(ops[op], source, other) end
   return core.tensors_into(ops[op], result, source, other)
end

-- (x, value), (x, y), (x, value, y) and the same after a result: x + value * y.
local function scaled(op)
   return function(fresh)
      return function(a, b, c, d)
         local result, source, value, other
         if type(b) == 'number' then
            source, value, other = a, b, c
         elseif c == nil then
            source, other = a, b
         elseif type(c) == 'number' then
            result, source, value, other = a, b, c, d
         else
            result, source, other = a, b, c
         end
         local row = tensor_row(source)
         if not row or (other ~= nil and not same_class(row, other))
            or (result ~= nil and not same_class(row, result)) or (value == nil and other == nil) then
            errors.invalid_arguments(d and 4 or c and 3 or b and 2 or a and 1 or 0, a, b, c, d)
         end
         if other ~= nil then check_count(result, source, other) end
         result = prepare(result, source, fresh)
         if source._numel == 0 then return result end
         if other == nil then return with_number(op, result, source, value, row) end
         if value == nil then return with_tensor(op, result, source, other) end
         if entangled(result, other) and rawequal(result, source) and shapes.same(result, other) then
            return in_order(op, result, other, value)
         end
         other = shapes.as(other, source)
         if rawequal(result, source) then
            return core.scaled_in_place(ops[op], source, other, value, row.integer)
         end
         return core.scaled_into(ops[op], result, source, other, value, row.integer)
      end
   end
end
enter('add', 'all', scaled('add'))
enter('csub', 'all', scaled('sub'))

-- One argument after the source. `row.numbers` and `row.tensors` say which it may be;
-- `row.number` computes on two plain numbers; `row.integer` on integer elements; `row.cuts` says that the
-- quotient of integers is cut towards zero.

local function shift_left(a, b) return a * 2 ^ b end
local function shift_right(a, b) return a / 2 ^ b end
-- integers shift as if they had no sign
local function shift_right_integer(a, b, row)
   if a < 0 then a = a + 2 ^ (8 * row.bytes) end
   return math.floor(a / 2 ^ b)
end
-- a comparison with NaN is false, so NaN as the first gives way and as the second stays
local function larger(a, b) return a > b and a or b end
local function smaller(a, b) return a < b and a or b end

local binary = {
   {'mul', op = 'mul', numbers = true},
   {'div', op = 'div', numbers = true, cuts = true},
   {'cmul', op = 'mul', tensors = true},
   {'cdiv', op = 'div', tensors = true, cuts = true},
   {'fmod', op = 'fmod', numbers = true},
   {'remainder', op = 'remainder', numbers = true, positive_zero = true},
   {'mod', op = 'fmod', numbers = true},
   {'cfmod', op = 'fmod', tensors = true},
   {'cremainder', op = 'remainder', tensors = true, positive_zero = true},
   {'cmod', op = 'fmod', tensors = true},
   {'cmax', op = 'maximum', numbers = true, tensors = true, choose = 'gt', names = {'r', 't', 'src'}},
   {'cmin', op = 'minimum', numbers = true, tensors = true, choose = 'lt', names = {'r', 't', 'src'}},
   {'cpow', op = 'pow', tensors = true, kind = 'floating integer'},
   {'atan2', op = 'atan2', tensors = true, number = math.atan2, kind = 'floating'},
   {'bitand', op = 'bitwise_and', numbers = true, bits = true},
   {'bitor', op = 'bitwise_or', numbers = true, bits = true},
   {'bitxor', op = 'bitwise_xor', numbers = true, bits = true},
   {'cbitand', op = 'bitwise_and', tensors = true, bits = true},
   {'cbitor', op = 'bitwise_or', tensors = true, bits = true},
   {'cbitxor', op = 'bitwise_xor', tensors = true, bits = true},
   {'lshift', lua = shift_left, integer = shift_left, numbers = true},
   {'rshift', lua = shift_right, integer = shift_right_integer, numbers = true},
   {'clshift', lua = shift_left, integer = shift_left, tensors = true},
   {'crshift', lua = shift_right, integer = shift_right_integer, tensors = true},
}

local function binary_function(entry)
   local name, op = entry[1], entry.op
   return function(fresh)
      return function(a, b, c)
         local result, source, argument = nil, a, b
         if c ~= nil then result, source, argument = a, b, c end
         local row = tensor_row(source)
         local is_number = type(argument) == 'number'
         if type(source) == 'number' and is_number and entry.number then
            return entry.number(source, argument)
         end
         local fits = row and (is_number and entry.numbers
            or not is_number and entry.tensors and same_class(row, argument))
         if not fits or (result ~= nil and not same_class(row, result)) then
            errors.invalid_arguments(c ~= nil and 3 or b ~= nil and 2 or a ~= nil and 1 or 0, a, b, c)
         end
         if entry.kind == 'floating' then check_floating(name, row) end
         if entry.bits and not row.integer then
            error(name .. ' is only supported for integer type tensors', 2)
         end
         if not is_number then check_count(result, source, argument, entry.names) end
         result = prepare(result, source, fresh)
         if source._numel == 0 then return result end
         if is_number and row.integer then argument = truncate(argument) end
         if entry.cuts and row.integer then
            if not is_number then argument = shapes.as(argument, source) end
            return core.elementwise_into(result, op, source, argument, 'trunc')
         end
         local f = row.integer and entry.integer or entry.lua
         if f then
            if not is_number then argument = shapes.as(argument, source) end
            return elementwise(result, source, argument, f)
         end
         if entry.choose and row.floating then
            local other = is_number and argument or shapes.as(argument, source)
            local first = core.call(entry.choose, source, other)
            return core.into(result, 'where', first, source, other)
         end
         if is_number then
            with_number(op, result, source, argument, row)
         else
            with_tensor(op, result, source, argument)
         end
         -- Torch7 computes a - b * floor(a / b), which has no negative zeros
         if entry.positive_zero and row.floating then core.scalar_in_place(ops.add, result, 0) end
         return result
      end
   end
end

for _, entry in ipairs(binary) do
   enter(entry[1], entry.kind or 'all', binary_function(entry))
end

-- pow: (x, exponent), (base, x), and after a result.
enter('pow', 'floating', function(fresh)
   return function(a, b, c)
      if type(a) == 'number' and type(b) == 'number' then return a ^ b end
      local result, first, second = nil, a, b
      if c ~= nil then result, first, second = a, b, c end
      local source = is_tensor(first) and first or second
      local row = tensor_row(source)
      if not row or (is_tensor(first) and type(second) ~= 'number') then
         errors.invalid_arguments(c ~= nil and 3 or b ~= nil and 2 or a ~= nil and 1 or 0, a, b, c)
      end
      check_floating('pow', row)
      result = prepare(result, source, fresh or not is_tensor(first))
      if source._numel == 0 then return result end
      if is_tensor(first) then
         if second == 1 then return rawequal(result, source) and result or result:copy(source) end
         return with_number('pow', result, source, second, row)
      end
      return core.elementwise_into(result, 'pow', first, source)
   end
end)

-- Two arguments after the source: numbers for clamp, (tensor, number) for lerp.
enter('clamp', 'all', function(fresh)
   return function(a, b, c, d)
      local result, source, low, high = nil, a, b, c
      if d ~= nil then result, source, low, high = a, b, c, d end
      if not is_tensor(source) or type(low) ~= 'number' or type(high) ~= 'number' then
         errors.invalid_arguments(d and 4 or c and 3 or b and 2 or a and 1 or 0, a, b, c, d)
      end
      result = prepare(result, source, fresh)
      if source._numel == 0 then return result end
      low, high = as_element(tensor_row(source), low), as_element(tensor_row(source), high)
      if low > high then  -- what is not below the lower end is above the upper one
         local below = core.call('lt', source, low):byte()
         result:fill(high):maskedFill(below, low)
         return result
      end
      return core.elementwise_into(result, 'clamp', source, low, high)
   end
end)

enter('lerp', 'floating', function(fresh)
   return function(a, b, c, d)
      if type(a) == 'number' and type(b) == 'number' then return a + (b - a) * c end
      local result, first, second, weight = nil, a, b, c
      if d ~= nil then result, first, second, weight = a, b, c, d end
      check_count(result, first, second)
      result = prepare(result, first, fresh)
      return core.elementwise_into(result, 'lerp', first, shapes.as(second, first), weight)
   end
end)

-- ([result,] x [, value], y, z): x + value * y * z, and the same with y / z.
for _, name in ipairs {'addcmul', 'addcdiv'} do
   enter(name, 'all', function(fresh)
      return function(a, b, c, d, e)
         local result, source, value, y, z = nil, a, 1, b, c
         if e ~= nil then result, source, value, y, z = a, b, c, d, e
         elseif type(b) == 'number' then value, y, z = b, c, d
         elseif d ~= nil then result, source, y, z = a, b, c, d end
         if not is_tensor(source) or type(value) ~= 'number' or not is_tensor(y) or not is_tensor(z) then
            errors.invalid_arguments(e and 5 or d and 4 or c and 3 or b and 2 or a and 1 or 0, a, b, c, d, e)
         end
         check_count(result, source, y)
         check_count(result, source, z)
         local row = tensor_row(source)
         result = prepare(result, source, fresh)
         y, z = shapes.as(y, source), shapes.as(z, source)
         if row.integer then
            value = truncate(value)
            if name == 'addcdiv' then
               local scaled = with_number('mul', new_like(y), y, value, row)
               local part = elementwise(new_like(y), scaled, z, quotient)
               return with_tensor('add', result, source, part)
            end
            return core.scaled_into(ops.add, result, source, core.call('mul', y, z), value, true)
         end
         return core.elementwise_into(result, name, source, y, z, value)
      end
   end)
end

----------------------------------------------------------------------------------------
-- Comparisons: 1 or 0 in a ByteTensor, or in a given result of x's own type.

local byte_row = types.by_class.Byte

for _, name in ipairs {'lt', 'le', 'gt', 'ge', 'eq', 'ne'} do
   local function compare(result, source, other)
      result = result and resize_as(result, source) or new_like(source, byte_row)
      if source._numel == 0 then return result end
      if is_tensor(other) then
         return core.tensors_into(ops[name], result, source, shapes.as(other, source))
      end
      local row = tensor_row(source)
      other = as_element(row, other)
      return core.scalar_into(ops[name], result, source, other, false)
   end

   local function as_method(a, b, c)
      local result, source, other = nil, a, b
      if c ~= nil then result, source, other = a, b, c end
      local row = tensor_row(source)
      if not row or (type(other) ~= 'number' and not same_class(row, other)) then
         errors.invalid_arguments(c ~= nil and 3 or b ~= nil and 2 or a ~= nil and 1 or 0, a, b, c)
      end
      if is_tensor(other) then check_count(result, source, other, {'r_', 'ta', 'tb'}) end
      return compare(result, source, other)
   end
   maths.methods.all[name] = as_method
   -- the function goes by the class of its first tensor, so that must be x's own
   maths.functions[name] = function(a, b, c)
      if c ~= nil and tensor_row(a) ~= tensor_row(b) then errors.invalid_arguments(3, a, b, c) end
      return as_method(a, b, c)
   end
end

function maths.methods.all.equal(a, b)
   if not same_class(tensor_row(a), b) then errors.invalid_arguments(2, a, b) end
   if not shapes.same(a, b) then return false end
   if a._numel == 0 then return true end
   local equal = core.call('all', core.call('eq', a, b))
   return elements.read(types.by_class.Bool, equal._storage._data, equal._offset) ~= 0
end
maths.functions.equal = maths.methods.all.equal

----------------------------------------------------------------------------------------
-- Operators.

local function operand_error(value)
   errors.bad_operand(2, 'number expected, got ' .. class.lua_type(value))
end

local function add_or_subtract(op, sign)
   return function(a, b)
      local row = tensor_row(a)
      if row and type(b) == 'number' then return with_number(op, new_like(a), a, b, row) end
      if row and same_class(row, b) then
         if shapes.same(a, b) and a._numel ~= 0 then return core.of_tensors(ops[op], a, b) end
         if a._numel ~= b._numel then errors.inconsistent_size({'r_', 't', 'src'}, {a, a, b}) end
         return with_tensor(op, new_like(a), a, b)
      end
      if not row then
         if type(a) ~= 'number' then operand_error(a) end
         -- number + x, number - x
         local result = sign == 1 and b or with_number('mul', new_like(b), b, -1, tensor_row(b))
         return with_number('add', new_like(b), result, a, tensor_row(b))
      end
      operand_error(b)
   end
end

local function multiply(a, b)
   if type(a) == 'number' then a, b = b, a end
   local row = tensor_row(a)
   if type(b) == 'number' then
      if row.integer then b = truncate(b) end
      return with_number('mul', new_like(a), a, b, row)
   end
   if not same_class(row, b) then operand_error(b) end
   local n, m = shapes.dims(a), shapes.dims(b)
   local methods = maths.methods.all
   if n == 1 and m == 1 then return methods.dot(a, b) end
   if n == 2 and m == 1 then return maths.functions.mv(a, b) end
   if n == 2 and m == 2 then return maths.functions.mm(a, b) end
   error(('multiplication between %dD and %dD tensors not yet supported'):format(n, m), 2)
end

local function number_only(name)
   local f = maths.functions[name]
   return function(a, b)
      if type(b) ~= 'number' then
         errors.bad_operand(2, 'number expected')
      end
      if not is_tensor(a) then error('number expected, got userdata', 2) end
      return f(a, b)
   end
end

local divide, modulo = number_only('div'), number_only('remainder')

maths.operators = {
   __add = add_or_subtract('add', 1),
   __sub = add_or_subtract('sub', -1),
   __mul = multiply,
   __div = function(a, b)
      if type(a) == 'number' then
         -- the words of Torch7, which looked at its own result flag here
         errors.bad_operand(1, tensor_row(b).tensor_class .. ' expected, got boolean')
      end
      return divide(a, b)
   end,
   __mod = modulo,
   __unm = function(a) return with_number('mul', new_like(a), a, -1, tensor_row(a)) end,
   __pow = function(a, b)
      error(('both %s and %s have no power operator'):format(class.typename(a) or '(null)',
         class.typename(b) or '(null)'), 2)
   end,
}

return maths
