-- pl.Map: tables of keys and values, with methods.
local class = require 'pl.class'
local pretty = require 'pl.pretty'
local tablex = require 'pl.tablex'
local utils = require 'pl.utils'

local Map = class(nil, nil, utils.stdmt.Map)

function Map:_init(source)
   local mt = getmetatable(source)
   if mt == utils.stdmt.Set or mt == utils.stdmt.Map then
      self:update(source)
   else
      return source  -- a plain table is taken as it is
   end
end

-- Methods are found in the class; keys that are named like one hide it.
local function own_pairs(self) return next, self, nil end

function Map:keys() return tablex.keys(self) end
function Map:values() return tablex.values(self) end
function Map:iter() return own_pairs(self) end
function Map:len() return tablex.size(self) end

function Map:items()
   local items = require 'pl.List'()
   for key, value in tablex.sort(self) do items:append(require 'pl.List' {key, value}) end
   return items
end

function Map:set(key, value) self[key] = value end
function Map:get(key) return rawget(self, key) end

function Map:setdefault(key, default)
   if rawget(self, key) == nil then self[key] = default end
   return rawget(self, key)
end

function Map:getvalues(keys)
   local values = require 'pl.List'()
   for _, key in ipairs(keys) do values:append(rawget(self, key)) end
   return values
end

function Map:update(other)
   for key, value in pairs(other) do self[key] = value end
   return self
end

function Map:__eq(other)
   return tablex.deepcompare(setmetatable(tablex.copy(self), nil), setmetatable(tablex.copy(other), nil), true)
end

function Map:__tostring() return pretty.write(self, '') end

return Map
