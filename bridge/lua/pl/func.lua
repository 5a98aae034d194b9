-- pl.func: functions out of expressions in which _1, _2, ... stand for arguments: `_1 + 1`, `bind(f, _2)`.
local operator = require 'pl.operator'
local utils = require 'pl.utils'

local func = {}
local Expression = {}

local signs = {
   __add = '+', __sub = '-', __mul = '*', __div = '/', __mod = '%', __pow = '^', __concat = '..', __unm = 'unm',
   __len = '#', __index = '[]', __call = '()',
}

local function is_expression(value) return getmetatable(value) == Expression end
func.isPE = is_expression

-- An operation on values or expressions; its fields are read with rawget, since `e.x` makes another.
local function new(op, ...)
   return setmetatable({op = op, arguments = {...}, count = select('#', ...)}, Expression)
end

for event, sign in pairs(signs) do
   Expression[event] = function(...) return new(sign, ...) end
end
Expression.__unm = function(a) return new('unm', a) end
Expression.__len = function(a) return new('#', a) end

for name, sign in pairs {And = 'and', Or = 'or', Eq = '==', Ne = '~=', Gt = '>', Lt = '<', Le = '<=', Ge = '>='} do
   func[name] = function(a, b) return new(sign, a, b) end
end
func.Not = function(a) return new('not', a) end
func.Len = function(a) return new('#', a) end

for i = 0, 5 do
   func['_' .. i] = setmetatable({op = 'argument', position = i}, Expression)
end

local operations = {['not'] = operator.lnot, unm = operator.unm}
setmetatable(operations, {__index = operator.optable})

local evaluate

-- The arguments of an operation; _0 stands for all arguments of the function.
local function evaluate_all(e, given)
   local values, count = {}, 0
   local arguments = rawget(e, 'arguments')
   for i = 1, rawget(e, 'count') do
      local argument = arguments[i]
      if is_expression(argument) and rawget(argument, 'op') == 'argument' and rawget(argument, 'position') == 0 then
         for k = 1, given.count do values[count + k] = given[k] end
         count = count + given.count
      else
         count = count + 1
         values[count] = evaluate(argument, given)
      end
   end
   return values, count
end

function evaluate(e, given)
   if not is_expression(e) then return e end
   if rawget(e, 'op') == 'argument' then return given[rawget(e, 'position')] end
   local values, count = evaluate_all(e, given)
   return operations[rawget(e, 'op')](unpack(values, 1, count))
end

local names = {}  -- of functions that were registered, for `repr`

-- The function of an expression.
function func.I(e)
   if not is_expression(e) then return e end
   return function(...) return evaluate(e, {count = select('#', ...), ...}) end
end
func.instantiate = func.I
utils.add_function_factory(Expression, func.I)

-- What can stand in an expression in the place of `f`.
function func.register(f, name)
   if name then names[f] = name end
   return function(...)
      for i = 1, select('#', ...) do
         if is_expression((select(i, ...))) then return new('()', f, ...) end
      end
      return f(...)
   end
end

-- The functions of a module, by its name or of the globals, for use in expressions.
function func.import(module, target)
   local source = type(module) == 'string' and (_G[module] or require(module)) or module or math
   target = target or getfenv(2)
   for name, f in pairs(source) do
      if type(f) == 'function' then target[name] = func.register(f, name) end
   end
end

func.tail = function(list) return {unpack(list, 2)} end

local function text_of(e)
   if not is_expression(e) then return names[e] or (type(e) == 'string' and ('%q'):format(e)) or tostring(e) end
   local op, arguments = rawget(e, 'op'), rawget(e, 'arguments')
   if op == 'argument' then return '_' .. rawget(e, 'position') end
   local parts = {}
   for i = 1, rawget(e, 'count') do
      local part = arguments[i]
      parts[i] = text_of(part)
      local inner = is_expression(part) and rawget(part, 'op') or 'argument'
      local is_tight = inner == 'argument' or inner == '()' or inner == '[]'
      if not is_tight and op ~= '()' then parts[i] = '(' .. parts[i] .. ')' end
   end
   if op == '()' then return parts[1] .. '(' .. table.concat(parts, ',', 2) .. ')' end
   if op == '[]' then return parts[1] .. '[' .. parts[2] .. ']' end
   if #parts == 1 then return (op == 'unm' and '-' or op == 'not' and 'not ' or op) .. parts[1] end
   return parts[1] .. ' ' .. op .. ' ' .. parts[2]
end
func.repr = text_of
Expression.__tostring = text_of

func.bind1 = utils.bind1

function func.compose(...)
   local functions = {...}
   for i, f in ipairs(functions) do functions[i] = utils.function_arg(i, f) end
   return function(...)
      local values = {count = select('#', ...), ...}
      for i = #functions, 1, -1 do
         values = utils.pack(functions[i](unpack(values, 1, values.count or values.n)))
      end
      return unpack(values, 1, values.n)
   end
end

function func.bind(f, ...) return func.I(new('()', utils.function_arg(1, f), ...)) end

return func
