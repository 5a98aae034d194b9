-- pl.OrderedMap: a Map that keeps the order in which keys came.
local class = require 'pl.class'
local List = require 'pl.List'
local Map = require 'pl.Map'
local tablex = require 'pl.tablex'
local utils = require 'pl.utils'

local OrderedMap = class(Map)
OrderedMap._name = 'OrderedMap'

function OrderedMap:_init(source)
   rawset(self, '_keys', List())
   if source then
      local ok, message = self:update(source)
      if not ok then error(message, 2) end
   end
end

-- A table of keys and values, or a list of {key = value} tables, which says the order.
function OrderedMap:update(source)
   if OrderedMap:class_of(source) then
      for key, value in source:iter() do self:set(key, value) end
   elseif #source > 0 then
      if type(source[1]) ~= 'table' then return utils.raise "cannot create an OrderedMap from this table" end
      for _, pair in ipairs(source) do
         local key, value = next(pair)
         if not key then return utils.raise 'empty pair initialization table' end
         self:set(key, value)
      end
   else
      for key, value in pairs(source) do self:set(key, value) end
   end
   return self
end

function OrderedMap:set(key, value)
   local known = rawget(self, key) ~= nil
   if value == nil then
      if known then self._keys:remove_value(key) end
   elseif not known then
      self._keys:append(key)
   end
   rawset(self, key, value)
   return self
end

function OrderedMap:get(key) return rawget(self, key) end

function OrderedMap:setdefault(key, default)
   if rawget(self, key) == nil then self:set(key, default) end
   return rawget(self, key)
end

-- Sets a pair at a position in the order; without a value, a known key only moves there.
function OrderedMap:insert(position, key, value)
   local before = rawget(self, key)
   if value == nil then value = before end
   if value == nil then return self end
   if before ~= nil then self._keys:remove_value(key) end
   self._keys:insert(position, key)
   rawset(self, key, value)
   return self
end

function OrderedMap:keys() return self._keys end
function OrderedMap:values() return List(tablex.index_by(self, self._keys)) end

function OrderedMap:sort(before)
   local keys = self._keys
   local function compare(a, b)
      if before then return utils.function_arg(1, before)(a, b) end
      return a < b
   end
   table.sort(keys, compare)
   return self
end

function OrderedMap:iter()
   local i, keys = 0, self._keys
   return function()
      i = i + 1
      if keys[i] ~= nil then return keys[i], rawget(self, keys[i]) end
   end
end
OrderedMap.__pairs = OrderedMap.iter
OrderedMap.__newindex = OrderedMap.set

function OrderedMap:len() return #self._keys end
OrderedMap.__len = OrderedMap.len

function OrderedMap:__tostring()
   local parts = {}
   for key, value in self:iter() do
      parts[#parts + 1] = tostring(key) .. '=' .. (type(value) == 'string' and '"' .. value .. '"' or tostring(value))
   end
   return '{' .. table.concat(parts, ',') .. '}'
end

return OrderedMap
