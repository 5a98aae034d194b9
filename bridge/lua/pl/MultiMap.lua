-- pl.MultiMap: a Map whose values are lists: setting a key adds a value to its list.
local class = require 'pl.class'
local List = require 'pl.List'
local Map = require 'pl.Map'
local utils = require 'pl.utils'

local MultiMap = class(Map, nil, utils.stdmt.MultiMap)

function MultiMap:_init(source)
   if source then self:update(source) end
end

function MultiMap:update(source)
   utils.assert_arg(1, source, 'table')
   if Map:class_of(source) then
      for key, value in pairs(source) do
         self[key] = List()
         self[key]:append(value)
      end
   else
      for key, value in pairs(source) do self[key] = List(value) end
   end
   return self
end

function MultiMap:set(key, value)
   if value == nil then
      self[key] = nil
   else
      if not rawget(self, key) then self[key] = List() end
      self[key]:append(value)
   end
end

return MultiMap
