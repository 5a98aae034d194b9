-- pl.seq: iterators as sequences. `seq(x)` wraps one, so that the functions are methods of it.
local List = require 'pl.List'
local tablex = require 'pl.tablex'
local types = require 'pl.types'
local utils = require 'pl.utils'

local seq = {}
local function_arg = utils.function_arg
local Sequence = {}

-- An iterator over values: a list gives its elements.
local function iterator(source)
   if types.is_callable(source) then return source end
   if type(source) == 'table' then return seq.list(source) end
   error(('argument 1: %s is not a sequence'):format(type(source)), 3)
end

function seq.list(t)
   if not types.is_indexable(t) then error('argument 1: list expects a table', 2) end
   local i = 0
   return function()
      i = i + 1
      return t[i]
   end
end

function seq.keys(t)
   local key
   return function()
      key = next(t, key)
      return key
   end
end

function seq.range(first, last)
   local i = first - 1
   return function()
      i = i + 1
      if i <= last then return i end
   end
end

function seq.matching(s)
   return function(value) return value:match(s) == s and value or value:find(s, 1, true) ~= nil end
end

function seq.greater_than(x) return function(value) return tonumber(value) > x end end
function seq.less_than(x) return function(value) return tonumber(value) < x end end
function seq.equal_to(x)
   if type(x) == 'number' then return function(value) return tonumber(value) == x end end
   return function(value) return value == x end
end

----------------------------------------------------------------------------------------
-- Ends of sequences.

function seq.minmax(source)
   local low, high = math.huge, -math.huge
   for value in iterator(source) do low, high = math.min(low, value), math.max(high, value) end
   return low, high
end

function seq.sum(source, f)
   local sum, count = 0, 0
   f = f and function_arg(1, f)
   for value in iterator(source) do
      sum, count = sum + (f and f(value) or value), count + 1
   end
   return sum, count
end

function seq.copy(source)
   local result = List()
   for value in iterator(source) do result[#result + 1] = value end
   return result
end

function seq.copy2(source, state, control)
   local result = {}
   for a, b in source, state, control do result[#result + 1] = {a, b} end
   return result
end

function seq.copy_tuples(source)
   local result, f = {}, iterator(source)
   local row = {f()}
   while #row > 0 do
      result[#result + 1] = row
      row = {f()}
   end
   return result
end

function seq.count_map(source)
   local counts = {}
   for value in iterator(source) do counts[value] = (counts[value] or 0) + 1 end
   return setmetatable(counts, require 'pl.Map')
end

function seq.count(source, condition, argument)
   condition = function_arg(2, condition)
   local count = 0
   for value in iterator(source) do
      if condition(value, argument) then count = count + 1 end
   end
   return count
end

function seq.reduce(f, source, memo)
   f = function_arg(1, f)
   local next_value = iterator(source)
   if memo == nil then memo = next_value() end
   if memo == nil then return nil end
   for value in next_value do memo = f(memo, value) end
   return memo
end

function seq.foreach(source, f)
   f = function_arg(2, f)
   for a, b, c in iterator(source) do f(a, b, c) end
end

function seq.printall(source, separator, per_line, format)
   separator, per_line = separator or ' ', per_line or 7
   local count = 0
   for value in iterator(source) do
      count = count + 1
      io.write(format and format:format(value) or tostring(value), count % per_line == 0 and '\n' or separator)
   end
   if count % per_line ~= 0 then io.write '\n' end
end

----------------------------------------------------------------------------------------
-- Sequences of sequences.

function seq.random(count, low, high)
   if type(count) ~= 'number' or count < 1 then error("argument 1: expected a 'number'", 2) end
   return function()
      count = count - 1
      if count < 0 then return nil end
      if low then return high and math.random(low, high) or math.random(low) end
      return math.random()
   end
end

function seq.sort(source, before)
   local values = seq.copy(source)
   table.sort(values, before and function_arg(2, before))
   return seq.list(values)
end

function seq.zip(a, b)
   a, b = iterator(a), iterator(b)
   return function() return a(), b() end
end

function seq.splice(...)
   local sources, place = {...}, 1
   local current = iterator(sources[1])
   return function()
      local value = current()
      while value == nil and place < #sources do
         place = place + 1
         current = iterator(sources[place])
         value = current()
      end
      return value
   end
end

function seq.map(f, source, argument)
   f = function_arg(1, f)
   local next_value = iterator(source)
   return function()
      local a, b = next_value()
      if a == nil then return nil end
      if argument ~= nil then return f(a, argument) end
      return f(a, b)
   end
end

function seq.mapmethod(source, name, ...)
   local next_value, arguments = iterator(source), {...}
   return function()
      local value = next_value()
      if value == nil then return nil end
      return value[name](value, unpack(arguments))
   end
end

function seq.filter(source, condition, argument)
   condition = function_arg(2, condition)
   local next_value = iterator(source)
   return function()
      while true do
         local a, b = next_value()
         if a == nil then return nil end
         local second = argument
         if second == nil then second = b end
         if condition(a, second) then return a, b end
      end
   end
end

function seq.take(source, count)
   local next_value = iterator(source)
   return function()
      if count < 1 then return nil end
      count = count - 1
      return next_value()
   end
end

function seq.skip(source, count)
   local next_value = iterator(source)
   for _ = 1, count do
      if next_value() == nil then return seq.list {} end
   end
   return next_value
end

function seq.enum(source)
   local i, next_value = 0, iterator(source)
   return function()
      local a, b = next_value()
      if a == nil then return nil end
      i = i + 1
      return i, a, b
   end
end

function seq.last(source)
   local next_value = iterator(source)
   local last = next_value()
   return function()
      local current = next_value()
      if current == nil then return nil end
      local before = last
      last = current
      return current, before
   end
end

function seq.unique(source, as_table)
   local keys = tablex.keys(seq.count_map(source))
   return as_table and keys or seq.list(keys)
end

function seq.lines(file, ...)
   if file == 'STDIN' then file = io.stdin end
   if type(file) == 'string' then return seq(io.lines(file, ...)) end
   return seq(file:lines(...))
end

----------------------------------------------------------------------------------------
-- Methods: those whose sequence is not the first argument have it moved there.

local methods = {}
for name, f in pairs(seq) do methods[name] = function(self, ...) return f(self.iter, ...) end end
for _, name in ipairs {'map', 'reduce'} do
   local f = seq[name]
   methods[name] = function(self, g, ...) return f(g, self.iter, ...) end
end
methods.copy2 = function(self) return seq.copy2(self.iter) end

local wrapped = {
   map = true, filter = true, take = true, skip = true, enum = true, last = true, zip = true, sort = true,
   splice = true, mapmethod = true, unique = true,
}

function Sequence.__call(self) return self.iter() end
function Sequence.__index(_, name)
   local f = methods[name]
   if f then
      if not wrapped[name] then return f end
      return function(...) return setmetatable({iter = f(...)}, Sequence) end
   end
   -- any other name is a method of all elements
   return function(self, ...) return setmetatable({iter = seq.mapmethod(self.iter, name, ...)}, Sequence) end
end
return setmetatable(seq, {
   __call = function(_, source, state, control)
      if state ~= nil then
         local f = source
         source = function()
            local value, more = f(state, control)
            control = value
            return value, more
         end
      end
      return setmetatable({iter = iterator(source)}, Sequence)
   end,
})
