-- pl.operator: Lua's operators as functions, and the functions by their signs.
local operator = {
   call = function(f, ...) return f(...) end,
   index = function(t, key) return t[key] end,
   eq = function(a, b) return a == b end,
   neq = function(a, b) return a ~= b end,
   lt = function(a, b) return a < b end,
   le = function(a, b) return a <= b end,
   gt = function(a, b) return a > b end,
   ge = function(a, b) return a >= b end,
   len = function(a) return #a end,
   add = function(a, b) return a + b end,
   sub = function(a, b) return a - b end,
   mul = function(a, b) return a * b end,
   div = function(a, b) return a / b end,
   pow = function(a, b) return a ^ b end,
   mod = function(a, b) return a % b end,
   concat = function(a, b) return a .. b end,
   unm = function(a) return -a end,
   lnot = function(a) return not a end,
   land = function(a, b) return a and b end,
   lor = function(a, b) return a or b end,
   table = function(...) return {...} end,
   match = function(a, b) return string.find(a, b) ~= nil end,
   nop = function(...) return ... end,
}

operator.optable = {
   ['+'] = operator.add, ['-'] = operator.sub, ['*'] = operator.mul, ['/'] = operator.div,
   ['%'] = operator.mod, ['^'] = operator.pow, ['..'] = operator.concat,
   ['()'] = operator.call, ['[]'] = operator.index,
   ['<'] = operator.lt, ['<='] = operator.le, ['>'] = operator.gt, ['>='] = operator.ge,
   ['=='] = operator.eq, ['~='] = operator.neq, ['#'] = operator.len,
   ['and'] = operator.land, ['or'] = operator.lor, ['{}'] = operator.table, ['~'] = operator.match,
   [''] = operator.nop,
}

return operator
