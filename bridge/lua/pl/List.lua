-- pl.List: lists with the methods of Python's. Methods that change a list return it.
local class = require 'pl.class'
local tablex = require 'pl.tablex'
local utils = require 'pl.utils'

local function_arg = utils.function_arg

local List = class(nil, nil, utils.stdmt.List)

-- Without a metatable, a table is taken as it is.
function List:_init(source)
   if source == nil then return end
   if type(source) == 'table' and getmetatable(source) == nil then return source end
   for value in List.iterate(source) do self[#self + 1] = value end
end

local function like(self, values)
   return setmetatable(values, getmetatable(self) or List)
end

local function new_like(self) return like(self, {}) end

-- Values of a table, of an iterator, characters of a string, lines of a file.
function List.iterate(source)
   if type(source) == 'string' then
      return source:gmatch '.'
   elseif type(source) == 'table' then
      local i = 0
      return function()
         i = i + 1
         return source[i]
      end
   elseif type(source) == 'function' then
      return source
   elseif io.type(source) == 'file' then
      return source:lines()
   end
   error('argument 1: expected a sequence', 2)
end
List.iter = List.iterate

function List.range(first, last, step)
   if last == nil then first, last = 1, first end
   local result = List()
   for i = first, last, step or 1 do result[#result + 1] = i end
   return result
end

function List.split(s, separator) return List(utils.split(s, separator)) end

function List:clone()
   local copy = new_like(self)
   return copy:extend(self)
end

----------------------------------------------------------------------------------------
-- Changing.

function List:append(value)
   self[#self + 1] = value
   return self
end
List.push = List.append

function List:extend(other)
   for i = 1, #other do self[#self + 1] = other[i] end
   return self
end

function List:insert(position, value)
   table.insert(self, position, value)
   return self
end

function List:put(value) return self:insert(1, value) end

function List:remove(position)
   table.remove(self, position)
   return self
end

function List:remove_value(value)
   for i = 1, #self do
      if self[i] == value then return self:remove(i) end
   end
   return self
end

function List:pop(position) return table.remove(self, position or #self) end
List.get = List.pop

function List:sort(before)
   if before then before = function_arg(1, before) end
   table.sort(self, before)
   return self
end

function List:reverse()
   local count = #self
   for i = 1, math.floor(count / 2) do self[i], self[count - i + 1] = self[count - i + 1], self[i] end
   return self
end

function List:clear()
   tablex.clear(self)
   return self
end

function List:chop(first, last) return tablex.removevalues(self, first, last) end

function List:splice(position, values)
   utils.assert_arg(1, position, 'number')
   tablex.insertvalues(self, position, values)
   return self
end

function List:slice_assign(first, last, values)
   utils.assert_arg(1, first, 'number')
   utils.assert_arg(1, last, 'number')
   if last < 0 then last = #self + last + 1 end
   if first < 0 then first = #self + first + 1 end
   if last >= first then self:chop(first, last) end
   return self:splice(first, values)
end

function List:transform(f, ...)
   tablex.transform(f, self, ...)
   return self
end

----------------------------------------------------------------------------------------
-- Asking.

List.index = tablex.find

function List:contains(value) return tablex.find(self, value) ~= nil end

function List:count(value)
   local count = 0
   for i = 1, #self do
      if self[i] == value then count = count + 1 end
   end
   return count
end

function List:len() return #self end

function List:minmax()
   local low, high = math.huge, -math.huge
   for i = 1, #self do low, high = math.min(low, self[i]), math.max(high, self[i]) end
   return low, high
end

function List:__eq(other)
   if #self ~= #other then return false end
   for i = 1, #self do
      if self[i] ~= other[i] then return false end
   end
   return true
end

function List:join(separator)
   return table.concat(utils.array_tostring(self), separator or '')
end
List.concat = table.concat


function List:__tostring() return '{' .. self:join(',') .. '}' end

function List:foreach(f, ...)
   f = function_arg(1, f)
   for i = 1, #self do f(self[i], ...) end
end

function List:foreachm(name, ...)
   for i = 1, #self do
      local value = self[i]
      local f = value[name]
      if not f then error(("method not found: '%s'"):format(name), 2) end
      f(value, ...)
   end
end

----------------------------------------------------------------------------------------
-- New lists.

function List:sorted(before) return List(self):sort(before) end
function List:slice(first, last) return tablex.sub(self, first, last) end
function List:__concat(other) return self:clone():extend(other) end

function List:filter(condition, argument) return like(self, tablex.filter(self, condition, argument)) end
function List:map(f, ...) return like(self, tablex.imap(f, self, ...)) end
function List:map2(f, other, ...) return like(self, tablex.imap2(f, self, other, ...)) end
function List:mapm(name, ...) return like(self, tablex.map_named_method(name, self, ...)) end
function List:reduce(f, start) return tablex.reduce(f, self, start) end

-- For `catch`: what is no method of the list is a function of `module`, applied to all elements.
function List.default_map_with(module)
   return function(_, name)
      local f = type(name) == 'string' and module[name]
      if not f then return nil end
      return function(self, ...) return self:map(f, ...) end
   end
end

-- Lists of values by what a function says of them.
function List:partition(f, ...)
   f = function_arg(1, f)
   local parts = {}
   for i = 1, #self do
      local value = self[i]
      local key = f(value, ...)
      if key == nil then key = '<nil>' end
      parts[key] = parts[key] or List()
      parts[key]:append(value)
   end
   return setmetatable(parts, utils.stdmt.MultiMap)
end

return List
