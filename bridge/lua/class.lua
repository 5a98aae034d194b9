-- The `class` package: classes by name, with one parent, apart from those of torch.class.
local class = {}

local metatables = {}  -- by name
local names = {}       -- by metatable

local function metatable_of(name)
   return metatables[name] or error(('unknown class <%s>'):format(tostring(name)), 3)
end

function class.new(name, parent)
   if type(name) ~= 'string' then error('class: expected the name of the class', 2) end
   if metatables[name] then error(('class <%s> already exists'):format(name), 2) end
   local mt = {__typename = name}
   mt.__index = mt
   if parent then setmetatable(mt, metatable_of(parent)) end
   metatables[name], names[mt] = mt, name

   function mt.new(...)
      local object = setmetatable({}, mt)
      if object.__init then object:__init(...) end
      return object
   end

   local constructor = setmetatable({}, {
      __index = mt, __newindex = mt, __metatable = mt,
      __call = function(_, ...) return mt.new(...) end,
   })
   return constructor, parent and metatables[parent] or nil
end

-- An object without its constructor called.
function class.factory(name) return setmetatable({}, metatable_of(name)) end

function class.metatable(name) return metatables[name] end

local function class_of(object)
   local mt = type(object) == 'table' and getmetatable(object)
   return names[mt] and mt or nil
end

function class.type(object)
   local mt = class_of(object)
   return mt and names[mt] or type(object)
end

function class.istype(object, name)
   local mt = class_of(object)
   if not mt then return type(object) == name end
   while mt do
      if names[mt] == name then return true end
      mt = getmetatable(mt)
   end
   return false
end

return setmetatable(class, {__call = function(_, ...) return class.new(...) end})
