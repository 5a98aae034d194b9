-- The argument lists that functions of `torch` and methods of tensors take, and their check. Words of a
-- list: T a tensor of the class that the call is about (T2 one of two dimensions), L a LongTensor, B a
-- ByteTensor, R probabilities, n a number (or text that is one), b a boolean, g a generator, S sizes, {T} a
-- list of tensors, N|V one of the letters. What is in brackets may be left out; lists are separated by ' or '.
local class = require 'torch.class'
local core = require 'relume.ffi'
local create = require 'torch.create'
local errors = require 'torch.errors'
local maths = require 'torch.maths'
local shapes = require 'torch.shapes'
local types = require 'relume.types'

local tensor_row, dims = core.tensor_row, shapes.dims
local byte_row, long_row = types.by_class.Byte, types.by_class.Long
local float_row, double_row = types.by_class.Float, types.by_class.Double

local reduction = 'T or [T] T n'
local ordered = '[T] [L] T [n]'
local histogram = '[T] T [n] [n] [n]'
local planes = '[T] T2 T2 [V|F] or [T] T3 T3 [V|F] or [T] T3 T4 [V|F]'
local volumes = '[T] T3 T3 [V|F] or [T] T4 T4 [V|F] or [T] T4 T5 [V|F]'
local comparison = '[B] T n or T T n or [B] T T or T T T'
local draw_of_two = '[g] [n] [n] or T [g] [n] [n]'
local draw_of_one = '[g] n or T [g] n'

-- A pair says what the function takes and what the method takes.
local signatures = {
   sum = reduction, prod = reduction, mean = reduction,
   max = 'T or [T] [L] T n', min = 'T or [T] [L] T n',
   std = 'T [b] or [T] T n [b]', var = 'T [b] or [T] T n [b]',
   norm = 'T [n] or [T] T n n', renorm = {'[T] T n n n', 'T [T] n n n'},
   dist = 'T T [n]', dot = 'T T', equal = 'T T', trace = 'T', all = 'T', any = 'T', numel = 'T',
   cumsum = '[T] T [n]', cumprod = '[T] T [n]',
   median = ordered, mode = ordered, kthvalue = '[T] [L] T n [n]',
   sort = '[T] [L] T [n] [b]', topk = '[T] [L] T [n] [n] [b] [b]',
   histc = histogram, bhistc = histogram,
   tril = '[T] T [n]', triu = '[T] T [n]', diag = '[T] T [n]', cross = '[T] T T [n]',
   cat = '[T] T T [n] or [T] {T} [n]',
   eye = {'[T] n [n]', 'T n [n]'}, range = {'[T] n n [n]', 'T n n [n]'},
   linspace = {'[T] n n [n]', 'T n n [n]'}, logspace = {'[T] n n [n]', 'T n n [n]'},
   zeros = {'[T] S', 'T S'}, ones = {'[T] S', 'T S'}, rand = {'[T] [g] S', 'T [g] S'},
   randn = {'[T] [g] S', 'T [g] S'}, randperm = {'[T] [g] n', 'T [g] n'}, reshape = '[T] T S',
   gather = '[T] T n L', scatter = 'T n L T or T n L n', nonzero = '[L] T',
   squeeze = '[T] T [n]',
   conv2 = planes, xcorr2 = planes, conv3 = volumes, xcorr3 = volumes,
   addmm = {'[T] [n] T2 [n] T2 T2', 'T2 [T2] [n] T2 T2 or T2 n [T2] n T2 T2'},
   addmv = {'[T] [n] T1 [n] T2 T1', 'T1 [T1] [n] T2 T1 or T1 n [T1] n T2 T1'},
   addr = {'[T] [n] T2 [n] T1 T1', 'T2 [T2] [n] T1 T1 or T2 n [T2] n T1 T1'},
   addbmm = {'[T] [n] T2 [n] T3 T3', 'T2 [T2] [n] T3 T3 or T2 n [T2] n T3 T3'},
   baddbmm = {'[T] [n] T3 [n] T3 T3', 'T3 [T3] [n] T3 T3 or T3 n [T3] n T3 T3'},
   clamp = {'[T] T n n', 'T [T] n n'}, lerp = {'[T] T T n or n n n', 'T [T] T n or n n n'},
   lt = comparison, le = comparison, gt = comparison, ge = comparison, eq = comparison, ne = comparison,
   addcmul = {'[T] T [n] T T', 'T [T] [n] T T'}, addcdiv = {'[T] T [n] T T', 'T [T] [n] T T'},
   random = '[g] [n] [n] or T [g] [n] [n]',
   uniform = draw_of_two, normal = draw_of_two, cauchy = draw_of_two, logNormal = draw_of_two,
   exponential = draw_of_one, geometric = draw_of_one,
   bernoulli = '[g] [n] or T [g] [n] or T [g] R',
   multinomial = {'[L] [g] T n [b]', 'L [g] T n [b]'},
   gesv = 'T T T T or T T', gels = 'T T T T or T T',
   trtrs = 'T T T T [U|L] [N|T] [N|U] or T T [U|L] [N|T] [N|U]',
   symeig = 'T T T [N|V] [U|L] or T [N|V] [U|L]', eig = 'T T T [N|V] or T [N|V]',
   svd = 'T T T T [S|A] or T [S|A]', inverse = 'T T or T',
   potrf = 'T T [U|L] or T [U|L]', potri = 'T T [U|L] or T [U|L]', potrs = 'T T T [U|L] or T T [U|L]',
   qr = 'T T T or T', geqrf = 'T T T or T', orgqr = 'T T T or T T',
   ormqr = 'T T T T [L|R] [N|T] or T T T [L|R] [N|T]',
}

-- What a value has to be to fit a word, in a call about the class `row`: conditions in Lua, compiled below.
local conditions = {
   T = 'tensor_row(%s) == row',
   L = 'tensor_row(%s) == long_row',
   B = 'tensor_row(%s) == byte_row',
   R = 'are_probabilities(%s, row)',
   n = "raw_type(%s) == 'number'",
   b = "raw_type(%s) == 'boolean'",
   g = "typename(%s) == 'torch.Generator'",
   ['{T}'] = "raw_type(%s) == 'table'",
}
for n = 1, 5 do conditions['T' .. n] = conditions.T .. ' and dims(%s) == ' .. n end

-- What the conditions name.
local known = {
   tensor_row = tensor_row, long_row = long_row, byte_row = byte_row, dims = dims,
   raw_type = core.raw_type, typename = class.typename, select = select,
}

function known.are_probabilities(value, row)
   local other = tensor_row(value)
   return other == float_row or other == double_row and row ~= float_row
end

function known.is_one_of(value, letters)
   return type(value) == 'string' and #value == 1 and value ~= '|' and letters:find(value, 1, true) ~= nil
end

-- One LongStorage, or numbers. Most often there are few: LuaJIT compiles no loop over `...`.
function known.are_sizes(count, first, second, ...)
   if count < 1 then return false end
   if count == 1 and shapes.is_long_storage(first) then return true end
   if type(first) ~= 'number' or count > 1 and type(second) ~= 'number' then return false end
   for i = 1, count - 2 do
      if type((select(i, ...))) ~= 'number' then return false end
   end
   return true
end

local function condition_of(word, value)
   local condition = conditions[word] or ('is_one_of(%%s, %q)'):format(word)  -- N|V
   return (condition:gsub('%%s', value))
end

-- All ways to leave out words of a list in brackets.
local function expand(words, first, chosen, found)
   local word = words[first]
   if not word then
      found[#found + 1] = {unpack(chosen)}
      return
   end
   local optional = word:match '^%[(.*)%]$'
   chosen[#chosen + 1] = optional or word
   expand(words, first + 1, chosen, found)
   chosen[#chosen] = nil
   if optional then expand(words, first + 1, chosen, found) end
end

local function lists_of(signature)
   local lists = {}
   for form in (signature .. ' or '):gmatch '(.-) or ' do
      local words = {}
      for word in form:gmatch '%S+' do words[#words + 1] = word end
      expand(words, 1, {}, lists)
   end
   return lists
end

-- The condition that arguments a1, a2, ... are those of a list, in Lua.
local function list_condition(list)
   local words = {unpack(list)}
   local has_sizes = words[#words] == 'S'
   if has_sizes then words[#words] = nil end
   local parts = {has_sizes and 'count > ' .. #words or 'count == ' .. #words}
   for i, word in ipairs(words) do parts[#parts + 1] = condition_of(word, 'a' .. i) end
   if has_sizes then
      parts[#parts + 1] = ('are_sizes(count - %d, select(%d, ...))'):format(#words, #words + 1)
   end
   return '(' .. table.concat(parts, ' and ') .. ')'
end

-- fits(row, count, ...): are these `count` arguments those of one of the lists of a signature? Written out for
-- each signature, as LuaJIT makes machine code of conditions, and not of loops over `...`.
local function compile(signature)
   local choices = {}
   for _, list in ipairs(lists_of(signature)) do choices[#choices + 1] = list_condition(list) end
   local source = ([[
      return function(row, count, ...)
         local a1, a2, a3, a4, a5, a6, a7 = ...
         return %s
      end]]):format(table.concat(choices, '\n or '))
   return setfenv(assert(loadstring(source, '=signature')), known)()
end

-- The arguments with numbers in place of text that is one; nil when there is no such text.
local function with_numbers(...)
   local list, found = {...}, false
   for i = 1, select('#', ...) do
      local number = type(list[i]) == 'string' and tonumber(list[i])
      if number then list[i], found = number, true end
   end
   return found and list or nil
end

-- The class that a call is about: that of the first tensor among its arguments.
local function subject(...)
   for i = 1, select('#', ...) do
      local value = select(i, ...)
      local row = tensor_row(value)
      if row then return row end
      if i == 1 and core.raw_type(value) == 'table' and tensor_row(value[1]) then
         return tensor_row(value[1])
      end
   end
   return create.default
end

local function is_class_name(value)
   return type(value) == 'string' and value:match '^torch%.%a+Tensor$' ~= nil
end

-- The same call where its arguments do not fit as they are: with text that is a number, or a class's name.
local function call_otherwise(f, fits, row, ...)
   local count = select('#', ...)
   if count > 0 and is_class_name((select(count, ...))) then return f(...) end
   local list = with_numbers(...)
   if list and fits(row, count, unpack(list, 1, count)) then return f(unpack(list, 1, count)) end
   errors.invalid_arguments(count, ...)
end

-- f after a check of its arguments, for tensors of the class `of` or that of the first one;
-- `refuse(row)` says no to classes that do not have it.
local function checked(f, signature, refuse, of)
   local fits = compile(signature)
   return function(...)
      local row = of or tensor_row((...)) or subject(...)
      if refuse then refuse(row) end
      if fits(row, select('#', ...), ...) then return f(...) end
      return call_otherwise(f, fits, row, ...)
   end
end

local function refusal(name, kinds)
   return function(row)
      if row.half or kinds.all or kinds.floating and row.floating or kinds.byte and row.class == 'Byte' then
         return
      end
      error(('%s does not implement the torch.%s() function'):format(row.tensor_class, name), 3)
   end
end

local signature_check = {}

-- Puts the check in front of all functions that have a signature.
function signature_check.guard_functions()
   for name, pair in pairs(signatures) do
      local kinds, any = {}, false
      for kind, methods in pairs(maths.methods) do
         if methods[name] then kinds[kind], any = true, true end
      end
      if not any then kinds.floating = true end  -- functions only, of linear algebra
      local text = type(pair) == 'table' and pair[1] or pair
      local f = maths.functions[name]
      if f then maths.functions[name] = checked(f, text, refusal(name, kinds)) end
   end
end

-- The same for the methods of one class: they are about tensors of that class.
function signature_check.guard_methods(mt, row)
   for name, pair in pairs(signatures) do
      local text = type(pair) == 'table' and pair[2] or pair
      if mt[name] then mt[name] = checked(mt[name], text, nil, row) end
   end
end

return signature_check
