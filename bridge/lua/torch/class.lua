-- Classes: a metatable per class name, a constructor table where the name is looked up,
-- and the questions about types. Tensors and storages take part like every other class.
local core = require 'relume.ffi'

local class = {}

local metatables = {}  -- by name
local names = {}       -- by metatable
local constructors = {}  -- by metatable: the table that is called
local classes = {}       -- metatables by constructor
local userdata_metatables = setmetatable({}, {__index = function() end})
local raw_type = type

----------------------------------------------------------------------------------------
-- Looking up methods along the parents.

-- A tail call, which LuaJIT takes into the machine code of whoever asks; at a loop it would give up.
local function find(mt, key)
   if mt == nil then return nil end
   local value = rawget(mt, key)
   if value ~= nil then return value end
   local parent = getmetatable(mt)
   if parent then return find(parent, key) end
   return nil
end
class.find = find

-- Operators that a class may define as `__add__` and so on; a metamethod that a class
-- sets itself under Lua's own name replaces the one made here.
local binary_events = {'add', 'sub', 'mul', 'div', 'mod', 'pow', 'concat', 'lt', 'le'}

local function metatable_of(value)
   local kind = raw_type(value)
   if kind == 'table' then
      local mt = getmetatable(value)
      return names[mt] and not classes[value] and mt or nil
   elseif kind == 'cdata' then
      return class.metatable_of_cdata(value)
   elseif kind == 'userdata' then
      return userdata_metatables[getmetatable(value)]
   end
end
class.metatable_of = metatable_of

-- Objects of the class `mt` may be userdata with another metatable: `#` asks only those.
function class.register_userdata(userdata_metatable, mt)
   userdata_metatables[userdata_metatable] = mt
end

-- Set below by tensors and storages, whose metatables cannot be asked for.
local cdata_metatables = {}
function class.metatable_of_cdata(value)
   local row = core.tensor_row(value)
   if row then return metatables[row.tensor_class] end
   row = core.storage_row(value)
   if row then return metatables[row.storage_class] end
   return nil
end

local function operator(event)
   local method = '__' .. event .. '__'
   return function(a, b)
      local f = find(metatable_of(a), method) or find(metatable_of(b), method)
      if not f then
         error(('no %s operator for %s and %s'):format(event, class.type(a), class.type(b)), 2)
      end
      return f(a, b)
   end
end

local function new_metatable(name)
   local mt = {__typename = name, __version = 1}
   function mt.__index(self, key)
      local handler = find(mt, '__index__')
      if handler and self ~= mt then
         local value, done = handler(self, key)
         if done then return value end
      end
      return find(mt, key)
   end
   function mt.__newindex(self, key, value)
      local handler = rawget(self, '__typename') == nil and find(mt, '__newindex__')
      if handler and handler(self, key, value) then return end
      rawset(self, key, value)
   end
   for _, event in ipairs(binary_events) do mt['__' .. event] = operator(event) end
   function mt.__eq(a, b)
      local f = find(mt, '__eq__')
      if f then return f(a, b) end
      return rawequal(a, b)
   end
   function mt.__unm(a)
      local f = find(mt, '__unm__')
      if not f then error('no negation for ' .. name, 2) end
      return f(a)
   end
   function mt.__tostring(a)
      local f = find(mt, '__tostring__')
      return f and f(a) or name
   end
   function mt.__call(self, ...)
      local f = find(mt, '__call__')
      if not f then error('attempt to call a ' .. name .. ' value', 2) end
      return f(self, ...)
   end
   return mt
end

----------------------------------------------------------------------------------------
-- Registering.

-- The table and key where a class name lives: 'nn.Linear' is `Linear` of the global `nn`.
local function container_of(name, module)
   local path, last = name:match('^(.*)%.([^.]+)$')
   if module then return module, last or name end
   if not path then return _G, name end
   local place = _G
   for part in path:gmatch('[^.]+') do
      place = raw_type(place) == 'table' and rawget(place, part) or nil
      if raw_type(place) ~= 'table' then
         error(('while creating metatable %s: bad argument #1 (%s is an invalid module name)')
            :format(name, path), 3)
      end
   end
   return place, last
end

-- A constructor table: calling it makes an object, fields of the class shine through. As in Torch7,
-- getmetatable gives the class's.
local function new_constructor(mt)
   local constructor = {}
   constructors[mt], classes[constructor] = constructor, mt
   return setmetatable(constructor, {
      __metatable = mt,
      __index = function(_, key) return find(mt, key) end,
      __newindex = function(_, key, value) rawset(mt, key, value) end,
      __call = function(_, ...) return mt.new(...) end,
   })
end

-- Code that wants to know whether a table is a class looks into Lua's registry.
local registry = debug.getregistry()

local function enter(mt, name)
   metatables[name], names[mt] = mt, name
   registry[mt], registry[name] = name, mt
end

function class.newmetatable(name, parent, module)
   if metatables[name] then return metatables[name] end
   local place, key = container_of(name, module)
   local mt = new_metatable(name)
   if parent then
      local parent_mt = metatables[parent]
      if not parent_mt then error('invalid parent class name ' .. parent, 2) end
      setmetatable(mt, parent_mt)
   end
   enter(mt, name)
   rawset(place, key, new_constructor(mt))
   return mt
end

-- The metatable of a class that objects have come from elsewhere for (a file, Python)
-- before any Lua code has defined it. Defining it later gives these objects their methods.
local undefined = {}  -- metatables that wait for torch.class

function class.metatable_for_objects(name)
   local mt = metatables[name]
   if not mt then
      mt = new_metatable(name)
      metatables[name], names[mt], undefined[mt] = mt, name, true
   end
   return mt
end

-- A metatable that says the name of a class and nothing else.
function class.plain_metatable(name)
   local mt = new_metatable(name)
   names[mt] = name
   return mt
end

-- Until then such objects may have the methods of a stand-in.
function class.stand_in(mt, parent)
   if undefined[mt] and not getmetatable(mt) then setmetatable(mt, metatables[parent]) end
end

-- torch.class(name [, parent] [, module table])
function class.class(name, parent, module)
   if raw_type(name) ~= 'string' then
      error('torch.class: expected the name of the class as a string', 2)
   end
   if raw_type(parent) == 'table' then parent, module = nil, parent end
   local known = metatables[name]
   if known and rawget(known, '__factory') then
      error(name .. ' has been already assigned a factory', 2)
   end
   if parent and not metatables[parent] then error('invalid parent class name ' .. parent, 2) end
   if undefined[known] then
      local place, key = container_of(name, module)
      rawset(place, key, new_constructor(known))
      undefined[known] = nil
      setmetatable(known, parent and metatables[parent])
   end
   local mt = class.newmetatable(name, parent, module)
   if parent and not getmetatable(mt) then setmetatable(mt, metatables[parent]) end
   function mt.__factory()
      return setmetatable({}, mt)
   end
   function mt.new(...)
      local object = setmetatable({}, mt)
      local init = find(mt, '__init')
      if init then init(object, ...) end
      return object
   end
   if parent then return mt, metatables[parent] end
   return mt
end

-- Gives a class the methods and defaults of another that it does not descend from: in Torch7 both
-- have the same parent, and torch.isTypeOf tells them apart.
function class.take_methods(mt, other)
   for name, value in pairs(other) do
      local is_own = name ~= 'new' and (not name:find '^__' or name == '__init' or name == '__tostring__')
      if is_own and rawget(mt, name) == nil then mt[name] = value end
   end
end

-- Enters a class whose objects are cdata: `mt` holds its methods, `construct` makes one.
function class.register_cdata(name, mt, construct)
   mt.__typename, mt.__version = name, 1
   mt.__factory = function() return construct() end
   mt.new = construct
   enter(mt, name)
   local place, key = container_of(name)
   rawset(place, key, new_constructor(mt))
   return mt
end

----------------------------------------------------------------------------------------
-- Questions.

function class.typename(value)
   local mt = metatable_of(value)
   if not mt then return nil end
   return names[mt]
end

-- Classes that were written in C in Torch7: `type` called their objects userdata.
local userdata_classes = {}
function class.mark_as_userdata(mt) userdata_classes[mt] = true end

-- What `type` was before tensors were cdata: they are userdata to a script.
function class.lua_type(value)
   local kind = raw_type(value)
   if kind == 'table' and userdata_classes[getmetatable(value)] and not classes[value] then return 'userdata' end
   if kind == 'cdata' and (core.is_tensor(value) or core.is_storage(value)) then
      return 'userdata'
   end
   return kind
end

function class.type(value)
   return class.typename(value) or class.lua_type(value)
end

function class.getmetatable(name)
   local mt = metatables[name]
   if mt and not undefined[mt] then return mt end
end

-- All classes that somebody has defined, and (nearest first) what one is derived from.
function class.defined_names()
   local list = {}
   for name, mt in pairs(metatables) do
      if rawget(mt, '__factory') then list[#list + 1] = name end
   end
   table.sort(list)
   return list
end

function class.ancestors(name)
   local list, mt = {}, getmetatable(metatables[name])
   while mt and names[mt] do
      list[#list + 1] = names[mt]
      mt = getmetatable(mt)
   end
   return list
end

function class.setmetatable(object, name)
   local mt = metatables[name]
   if not mt then error('unknown typename ' .. tostring(name), 2) end
   return setmetatable(object, mt)
end

function class.factory(name)
   local mt = metatables[name]
   return mt and rawget(mt, '__factory') or nil
end

function class.getconstructortable(name)
   return constructors[metatables[name]]
end

function class.is_constructor(value) return classes[value] ~= nil end

function class.version(value)
   local mt = metatable_of(value)
   return mt and rawget(mt, '__version') or nil
end

-- Does `value` belong to the class, or a child of it? `wanted` is a pattern, a constructor table
-- or a metatable. A pattern that is found just as it is written must be the whole name.
function class.isTypeOf(value, wanted)
   local pattern = wanted
   if raw_type(wanted) ~= 'string' then pattern = wanted.__typename end
   local mt = metatable_of(value) or classes[value]
   while mt do
      local name = names[mt]
      local found = name and name:match(pattern)
      if found and (found ~= pattern or found == name) then return true end
      mt = getmetatable(mt)
   end
   return false
end

-- Something that stands for a class, to be compared: of a name, or of an object.
local ids = setmetatable({}, {__index = function(self, mt)
   self[mt] = newproxy()
   return self[mt]
end})
function class.typename2id(name) return metatables[name] and ids[metatables[name]] end
function class.id(value)
   local mt = metatable_of(value)
   return mt and ids[mt]
end

-- An address that tells objects apart.
function class.pointer(value)
   local kind = raw_type(value)
   if kind == 'cdata' then return core.address_of(value) end
   if kind == 'number' then return value end
   if kind == 'boolean' or kind == 'nil' then
      error('Torch object, table, thread, cdata or function expected', 2)
   end
   return tonumber(string.format('%p', value))
end

return class
