-- The Lua half of the border to Python; bridge/crossing.py is the other half.
--
-- Values cross as lupa passes them, with a string of kinds in front, one letter a value,
-- or nil when all of them are plain:
--    v  nil, boolean, number, string, or a Lua object as lupa wraps it
--    A, B, ..., J  to Lua: a tensor, by its element type; z: one without a dimension. The
--       address as a number, borrowed
--    t  to Python: a tensor, s either way: a storage. To Python the address brings a
--       reference of its own
--    l  a table, c an object of a torch.class, m a layer, k a criterion, f a function: to Python only
--    p  a Python function, q a Python module, o another Python object: lupa's handle
--    u  either way: another value of Lua (a coroutine, userdata, cdata), in a box
--    i  a 64-bit integer as a string of digits
--    r  (graphs only) the number of another object of the graph
-- A failed call answers with the kinds '!'.
local ffi = require 'ffi'
local class = require 'torch.class'
local core = require 'relume.ffi'

local C = core.C
local raw_type = core.raw_type
local tensor_row, storage_row = core.tensor_row, core.storage_row
-- Scripts may change the globals, and closing a runtime takes them away.
local select, unpack, concat, pairs, ipairs, tostring = select, unpack, table.concat, pairs, ipairs, tostring
local error, pcall, xpcall, getmetatable = error, pcall, xpcall, getmetatable
local debug, gsub, traceback = debug, string.gsub, debug.traceback

local bridge = {}

-- Set by Python: call(handle, kinds, ...), get(handle, name), set(handle, name, kinds, value),
-- text(handle), traceback(handle), load(path), import(name).
local python = {}
bridge.python = python

----------------------------------------------------------------------------------------
-- Python objects in Lua.

-- An object is a table with a handle; functions are Lua functions, whose handle is noted.
local PythonObject = {}
local function_handles = setmetatable({}, {__mode = 'k'})
local functions_by_identity = setmetatable({}, {__mode = 'v'})
local objects_by_identity = setmetatable({}, {__mode = 'v'})

-- An exception on its way through Lua: a table that behaves like its message.
local PythonError = {}

local encode, decode

local function raise_or_return(kinds, ...)
   if kinds == '!' then
      local handle, text, raised = ...
      error(setmetatable({handle = handle, message = text, raised = raised}, PythonError), 0)
   end
   return decode(kinds, ...)
end

local function call_python(handle, ...)
   return raise_or_return(python.call(handle, encode(...)))
end

local function wrap_function(handle, identity)
   local known = functions_by_identity[identity]
   if known then return known end
   local function f(...) return call_python(handle, ...) end
   function_handles[f] = handle
   functions_by_identity[identity] = f
   return f
end

local function wrap_object(handle, identity)
   local known = objects_by_identity[identity]
   if known then return known end
   local object = setmetatable({handle = handle}, PythonObject)
   objects_by_identity[identity] = object
   return object
end

-- A layer that runs in Python; its Lua side is nn/python_module.lua.
local function wrap_module(handle, identity)
   local known = objects_by_identity[identity]
   if known then return known end
   require 'nn'
   local side = setmetatable({handle = handle}, PythonObject)
   local mt = class.getmetatable(side.typename)
   if not (mt and bridge.runs_in_python(mt)) then
      mt = class.getmetatable(side.is_criterion and 'nn.PythonCriterion' or 'nn.PythonModule')
   end
   local object = setmetatable({}, mt)
   class.find(mt, 'attach')(object, side)
   objects_by_identity[identity] = object
   return object
end

-- The Side of a new module, or of one with the fields of a file.
local function side_from(kinds, handle, text)
   if kinds == '!' then return raise_or_return(kinds, handle, text) end
   return setmetatable({handle = handle}, PythonObject)
end
function bridge.make_in_python(...) return side_from(python.make(encode(...))) end
function bridge.fill_in_python(...) return side_from(python.fill(encode(...))) end
function bridge.classes_in_python(package_name) return raise_or_return(python.classes(package_name)) end

-- Is it a class whose objects run in Python?
function bridge.runs_in_python(mt)
   while mt do
      local name = rawget(mt, '__typename')
      if name == 'nn.PythonModule' or name == 'nn.PythonCriterion' then return true end
      mt = getmetatable(mt)
   end
   return false
end

-- The class that a module of Python is written as: not one whose objects would be asked once more.
local written_classes = {}
function bridge.written_as(typename)
   local mt = class.getmetatable(typename)
   if not (mt and bridge.runs_in_python(mt)) then return class.metatable_for_objects(typename) end
   written_classes[typename] = written_classes[typename] or class.plain_metatable(typename)
   return written_classes[typename]
end

function PythonObject.__index(object, key)
   local value = raise_or_return(python.get(rawget(object, 'handle'), encode(key)))
   if raw_type(value) ~= 'function' then return value end
   -- object:method(x) and object.method(x) are the same call in Python
   return function(...)
      if rawequal((...), object) then return value(select(2, ...)) end
      return value(...)
   end
end
function PythonObject.__newindex(object, key, value)
   raise_or_return(python.set(rawget(object, 'handle'), encode(key, value)))
end
function PythonObject.__call(object, ...) return call_python(rawget(object, 'handle'), ...) end
function PythonObject.__tostring(object) return python.text(rawget(object, 'handle')) end

function PythonError.__tostring(failure) return rawget(failure, 'message') end
function PythonError.__concat(a, b) return tostring(a) .. tostring(b) end
function PythonError.__index(failure, key)
   if key == 'exception' then
      return setmetatable({handle = rawget(failure, 'handle')}, PythonObject)
   elseif key == 'traceback' then
      return python.traceback(rawget(failure, 'handle'))
   end
   -- an error of Lua that came through Python has the fields of what was raised
   local raised = rawget(failure, 'raised')
   if raised ~= nil then return raised[key] end
   -- err:match('...') works as on a message
   local method = string[key]
   if method then
      return function(_, ...) return method(rawget(failure, 'message'), ...) end
   end
end

----------------------------------------------------------------------------------------
-- Values.

-- The letter for an object of a class: layers and criterions are known by what they are derived from.
local letters = {
   ['nn.PythonModule'] = 'q', ['nn.PythonCriterion'] = 'q', ['nn.Module'] = 'm', ['nn.Criterion'] = 'k',
}
local letter_of_class = setmetatable({}, {__mode = 'k'})

local function find_letter(mt)
   local name = rawget(mt, '__typename')
   local parent = mt
   while parent do
      local letter = letters[rawget(parent, '__typename')]
      if letter then
         if class.getmetatable(name) then letter_of_class[mt] = letter end
         return letter
      end
      parent = getmetatable(parent)
   end
   return 'c'
end

local int64, uint64 = ffi.typeof 'int64_t', ffi.typeof 'uint64_t'

local function encode_one(value)
   local kind = raw_type(value)
   if kind == 'number' or kind == 'string' or kind == 'boolean' or kind == 'nil' then
      return 'v', value
   elseif kind == 'cdata' then
      if tensor_row(value) then return 't', core.give_tensor(value) end
      if storage_row(value) then
         C.relume_storage_retain(value)
         return 's', core.address_of(value)
      end
      if ffi.istype(int64, value) or ffi.istype(uint64, value) then
         return 'i', (tostring(value):gsub('U?LL$', ''))
      end
      return 'u', {value}
   elseif kind == 'table' then
      local mt = getmetatable(value)
      if mt == nil or class.is_constructor(value) then return 'l', value end
      if mt == PythonObject or mt == PythonError then return 'o', rawget(value, 'handle') end
      local letter = letter_of_class[mt]
      if not letter then
         if not class.typename(value) then return 'l', value end
         letter = find_letter(mt)
      end
      if letter == 'q' then return 'q', rawget(rawget(value, 'python'), 'handle') end
      return letter, value
   elseif kind == 'function' then
      local handle = function_handles[value]
      if handle then return 'o', handle end
      return 'f', value
   end
   if kind == 'userdata' and debug.getmetatable(value) == debug.getmetatable(python.call) then
      return 'v', value  -- a Python object that lupa itself has passed, such as an exception
   end
   return 'u', {value}
end

function encode(...)
   local count = select('#', ...)
   if count == 0 then return end
   if count == 1 then
      local kind, value = encode_one((...))
      if kind == 'v' then return nil, value end
      return kind, value
   end
   local kinds, values = {}, {...}
   local plain = true
   for i = 1, count do
      kinds[i], values[i] = encode_one(values[i])
      if kinds[i] ~= 'v' then plain = false end
   end
   return not plain and concat(kinds) or nil, unpack(values, 1, count)
end
bridge.encode = encode

-- By kind. A handle of Python knows the identity of what it stands for.
local decoders = {
   v = function(value) return value end,
   z = core.scalar_at,
   s = core.storage_at,
   p = function(handle) return wrap_function(handle, handle.identity) end,
   o = function(handle) return wrap_object(handle, handle.identity) end,
   q = function(handle) return wrap_module(handle, handle.identity) end,
   u = function(box) return box[1] end,
}
for dtype, at in pairs(core.tensor_at) do decoders[string.char(65 + dtype)] = at end

function decode(kinds, ...)
   if kinds == nil then return ... end
   local one = decoders[kinds]
   if one then return one((...)) end
   local count = #kinds
   local values = {...}
   for i = 1, count do
      local kind = kinds:sub(i, i)
      if kind ~= 'v' then values[i] = decoders[kind](values[i]) end
   end
   return unpack(values, 1, count)
end

-- Objects of a file that Python reads and builds here.
function bridge.python_load(path)
   return raise_or_return(python.load(path))
end

function bridge.python_knows(typename)
   return raise_or_return(python.knows(typename))
end
function bridge.python_loads(bytes)
   return raise_or_return(python.loads(bytes))
end

-- Loads the package that a class is named after or known to come from, unless somebody has defined it.
function bridge.load_package_of(typename)
   for _, name in ipairs {typename:match('^(%w+)%.'), raise_or_return(python.package_of(typename))} do
      if class.getmetatable(typename) then return end
      if package.loaded[name] == nil then pcall(require, name) end
   end
end

-- The Python half of a Lua package: a module of bridge/packages.
function bridge.import(name)
   return raise_or_return(python.import(name))
end

----------------------------------------------------------------------------------------
-- Calls from Python.

-- What a stack says about the border itself, and what it is to say instead.
local border_lines = {
   -- from Python into Lua
   {"%s*%[C%]: in function 'xpcall'\n[^\n]*relume/bridge%.lua[^\n]*", ''},
   -- who says that a source has a mistake
   {"^%[C%]: in function 'error'\n[^\n]*relume/bridge%.lua:%d+: in function <[^\n]*$", ''},
   -- from Lua into Python: the name it was called by; back with an exception
   {"%[C%]: in function 'call'\n[^\n]*relume/bridge%.lua:%d+:", '[Python]:'},
   {"%[C%]: in function 'error'\n[^\n]*relume/bridge%.lua:%d+:", '[Python]:'},
   {"^%[C%]: in function 'error'$", ''},
   {'^%s+', ''},
}

-- What an error becomes on its way to Python: its value and the stack where it arose.
local last_stack
local function describe_error(value)
   local stack = gsub(traceback('', 2), '^%s*stack traceback:%s*\n?', '')
   for _, row in ipairs(border_lines) do stack = gsub(stack, row[1], row[2]) end
   last_stack = stack
   return {value = value, stack = stack}
end

-- `tostring`, whatever a metatable makes of it.
local function text_of(value)
   local ok, text = pcall(tostring, value)
   if ok and raw_type(text) == 'string' then return text end
   return '(a ' .. raw_type(value) .. ' whose __tostring gives no string)'
end

local function finish(ok, ...)
   if ok then return encode(...) end
   local failure = ...
   if raw_type(failure) ~= 'table' then  -- the handler itself failed: no memory, no stack
      return '!', 'v', failure, ''
   end
   local kind, value = encode_one(failure.value)
   if getmetatable(failure.value) == PythonError then kind = 'x' end
   local text = kind ~= 'x' and raw_type(failure.value) ~= 'string' and text_of(failure.value) or nil
   return '!', kind, value, failure.stack, text
end

function bridge.call(f, kinds, ...)
   if kinds == nil then return finish(xpcall(f, describe_error, ...)) end
   return finish(xpcall(f, describe_error, decode(kinds, ...)))
end

-- The same for one argument: LuaJIT compiles it, as it does not with `...`.
function bridge.call_with_one(f, kind, value)
   return finish(xpcall(f, describe_error, decoders[kind](value)))
end

----------------------------------------------------------------------------------------
-- What Python does with Lua objects.

-- What is called before everything goes, by the object that it is for.
bridge.closing = setmetatable({}, {__mode = 'k'})

bridge.operations = {
   get = function(object, key) return object[key] end,
   set = function(object, key, value) object[key] = value end,
   length = function(object) return #object end,
   same = function(a, b) return rawequal(a, b) end,
   identity = function(object) return object end,
   pointer = function(object) return class.pointer(object) end,
   typename = function(object) return class.type(object) end,
   text = text_of,
   is_empty = function(object)
      for _ in pairs(object) do return false end
      return true
   end,
   -- All keys and values, one after another, and how many these are.
   entries = function(object)
      local list, n = {}, 0
      for key, value in pairs(object) do
         list[n + 1], list[n + 2] = key, value
         n = n + 2
      end
      return list, n
   end,
   slice = function(list, first, last) return unpack(list, first, last) end,
   last_stack = function() return last_stack end,
   -- Does `object[name]` act on its object? Functions of classes and fields do.
   method = function(object, name)
      local f = object[name]
      if raw_type(f) == 'function' then return f, true end
      return f, false
   end,
   -- Has Lua code defined this class, or does the package that it is named after?
   defines = function(typename)
      bridge.load_package_of(typename)
      return class.getmetatable(typename) ~= nil
   end,
   runs_in_python = function(typename)
      bridge.load_package_of(typename)
      local mt = class.getmetatable(typename)
      return mt ~= nil and bridge.runs_in_python(mt)
   end,
   compile = function(source, name)
      local chunk, message = loadstring(source, name)
      if not chunk then error(message, 0) end
      return chunk
   end,
   load_file = function(path)
      local chunk, message = loadfile(path)
      if not chunk then error(message, 0) end
      return chunk
   end,
   set_arguments = function(path, ...)
      arg = {...}
      arg[0] = path
   end,
   require = function(name) return require(name) end,
   -- Puts another object in the place of one, in everything that can be reached.
   replace_everywhere = function(root, old, new)
      local seen, waiting = {[root] = true}, {root}
      while #waiting > 0 do
         local holder = table.remove(waiting)
         for key, value in next, holder do
            if rawequal(value, old) then
               holder[key] = new
            elseif raw_type(value) == 'table' and not seen[value] then
               seen[value] = true
               waiting[#waiting + 1] = value
            end
         end
      end
   end,
   globals = function() return _G end,
   flush = function() io.stdout:flush() end,
   collect = function()
      collectgarbage()
      collectgarbage()
   end,
   -- Lets go of everything that Lua code has made.
   close = function()
      for _, finish in pairs(bridge.closing) do finish() end
      local globals, collect = _G, collectgarbage
      for _, place in ipairs {package.loaded, python, globals} do
         for key in next, place do place[key] = nil end
      end
      collect()
      collect()
   end,
}

-- The address of a lua_State, whose hooks stop the runtime.
local watched = coroutine.create(function() end)
function bridge.watched_state() return string.format('%p', watched) end

bridge.decoders, bridge.encode_one = decoders, encode_one
return bridge
