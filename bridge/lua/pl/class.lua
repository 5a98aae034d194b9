-- pl.class: classes. `A = class(base)`, or `class.A(base)`, which makes a global `A` of that name;
-- `_init` is the constructor, in which `self:super(...)` calls the base's.
local class = {}
local builtin = {}  -- fields of a class that its children do not inherit

for _, name in ipairs {
   '_base', '_class', '_name', '_handler', '_init', '_create', '_post_init', '__index', 'class_of', 'cast',
} do
   builtin[name] = true
end

local function is_a(self, wanted)
   if wanted == nil then return getmetatable(self) end
   local found = getmetatable(self)
   if not wanted then return found end
   while found do
      if rawequal(found, wanted) then return true end
      found = rawget(found, '_base')
   end
   return false
end

local function class_of(wanted, object)
   if type(object) ~= 'table' or not rawget(wanted, 'is_a') then return false end
   return wanted.is_a(object, wanted)
end

local function cast(wanted, object) return setmetatable(object, wanted) end

-- The class itself or its nearest ancestor that has a constructor.
local function with_constructor(c)
   while c and not rawget(c, '_init') do c = rawget(c, '_base') end
   return c
end

-- Calls the constructor of a class; meanwhile `super` is that of the ancestor above.
local function construct(object, start, ...)
   local found = with_constructor(start)
   if not found then return nil end
   local base, before = with_constructor(rawget(found, '_base')), rawget(object, 'super')
   rawset(object, 'super', base and function(self, ...) return construct(self, base, ...) end or nil)
   local result = rawget(found, '_init')(object, ...)
   rawset(object, 'super', before)
   return result
end

local function new_object(c, ...)
   local object = c._create and c._create(...) or {}
   setmetatable(object, c)
   local replacement = construct(object, c, ...)
   if replacement then object = setmetatable(replacement, c) end
   local finish = c._post_init
   if finish then finish(object) end
   return object
end

-- What a class and its objects do with a field that they do not have: f(object, name).
local function set_handler(c, handler)
   if type(handler) == 'table' and not getmetatable(handler) then
      local list = handler
      handler = function(_, name) return list[name] end
   end
   c._handler = handler
   c.__index = function(object, name)
      local value = c[name]
      if value ~= nil then return value end
      return handler(object, name)
   end
end

local function inherit(c, base)
   for name, value in pairs(base) do
      if not builtin[name] and c[name] == nil then c[name] = value end
   end
   c._base = base
   local handler = rawget(c, '_handler') or rawget(base, '_handler')
   if handler then set_handler(c, handler) end
   if rawget(base, '_create') then c._create = base._create end
   if rawget(base, '_post_init') then c._post_init = base._post_init end
end

local function text_of(object)
   local mt = getmetatable(object)
   setmetatable(object, nil)
   local text = tostring(object)
   setmetatable(object, mt)
   return mt._name and mt._name .. text:gsub('^table', '') or text
end

-- A class derived from `base`; `argument` is for the base's `_class_init`; `c` may be a table of methods.
local function make(base, argument, c)
   -- class { methods } or class { _base = base, methods }
   if type(base) == 'table' and getmetatable(base) == nil and rawget(base, '_class') == nil then
      c = base
      base = c._base
   end
   if base and rawget(base, '_class') == nil then error('must derive from a class', 3) end
   c = c or {}
   c.__index = c
   c._class = c
   if base then inherit(c, base) end
   c.__tostring = c.__tostring or text_of
   c.is_a, c.class_of, c.cast = is_a, class_of, cast
   if base and rawget(base, '_class_init') then base._class_init(c, argument) end
   function c.catch(self, handler)
      if type(self) == 'function' then handler = self end
      if c._handler then error('set your handler in the class itself', 2) end
      set_handler(c, handler)
   end
   return setmetatable(c, {__call = new_object})
end

-- Objects whose fields may be properties: get_x and set_x methods, or defaults in `_x`.
class.properties = make()
class.properties._class_init = function(c)
   c.__index = function(object, name)
      local getter = c['get_' .. name]
      if getter then return getter(object) end
      local value = c[name]
      if value ~= nil then return value end
      return rawget(object, '_' .. name) or c['_' .. name]
   end
   c.__newindex = function(object, name, value)
      local setter = c['set_' .. name]
      if setter then
         setter(object, value)
      elseif c['_' .. name] ~= nil then
         object['_' .. name] = value
      else
         rawset(object, name, value)
      end
   end
end

return setmetatable(class, {
   __call = function(_, ...) return make(...) end,
   __index = function(_, name)
      if name == 'class' then return class end
      local place = getfenv(2)
      return function(...)
         local c = make(...)
         c._name = name
         rawset(place, name, c)
         return c
      end
   end,
})
