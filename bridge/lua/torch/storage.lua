-- torch.DoubleStorage and its kin: memory by the element, 1-based.
local ffi = require 'ffi'
local class = require 'torch.class'
local core = require 'relume.ffi'
local elements = require 'torch.elements'
local types = require 'relume.types'

local C = core.C
local tonumber, type = tonumber, type

local storage = {}

-- What Torch7 said of a negative size as well.
local too_large = '$ Torch: invalid memory size -- maybe an overflow?'

local function size_of(self)
   return tonumber(self._bytes) / storage.row(self).bytes
end

function storage.row(self)
   return core.storage_row(self) or error('expected a storage, got ' .. class.type(self), 3)
end

-- A new storage of `size` elements; nothing is written into them.
function storage.new(row, size)
   core.count_bytes(size * row.bytes)
   local pointer = C.relume_storage_new(row.dtype, size)
   if pointer == nil then core.fail() end
   return core.adopt_storage(pointer)
end

-- The same; small ones are zero, as Torch7's mostly were (see tensor.lua).
function storage.new_small_zeroed(row, size)
   local result = storage.new(row, size)
   if result._bytes > 0 and result._bytes <= 4096 then ffi.fill(result._data, result._bytes) end
   return result
end

function storage.from_table(row, list)
   local result = storage.new(row, #list)
   for i = 1, #list do
      local number = tonumber(list[i])
      if not number then error(('element at index %d is not a number'):format(i), 3) end
      elements.write(row, result._data, i - 1, number)
   end
   return result
end

-- The bytes of a string.
function storage.of_text(row, text)
   local result = storage.new(row, #text)
   ffi.copy(result._data, text, #text)
   return result
end

-- `size` elements of another storage from `offset` on: the same memory, not resizable.
local function part_of(row, parent, offset, size)
   local available = size_of(parent)
   size = size or available - offset + 1
   if offset < 1 or offset > available then error('offset out of bounds', 3) end
   if size < 1 or offset + size - 1 > available then error('size out of bounds', 3) end
   return core.adopt_storage(C.relume_storage_part(parent, offset - 1, size))
end

local function python_memory()
   return require('relume.bridge').import('memory')
end

-- Makes the constructor of one class; the forms are those of Torch7's manual:
-- (), (size), (size, address), (table), (storage [, offset [, size]]),
-- (file name [, shared [, size]]).
local function constructor(row)
   return function(first, second, size, in_shared_memory)
      if first == nil then return storage.new(row, 0) end
      local kind = type(first)
      if kind == 'table' then return storage.from_table(row, first) end
      if kind == 'number' then
         if type(second) == 'number' then
            return python_memory().at_address(second, row.class, first)
         end
         if not (first >= 0) then error(too_large, 2) end
         return storage.new_small_zeroed(row, first)
      end
      if kind == 'string' then
         local memory = python_memory()
         if second and in_shared_memory then return memory.shared_memory(first, row.class, size) end
         local ok, result = pcall(memory.map_file, first, row.class, second or false, size)
         if ok then return result end
         if tostring(result):match('FileNotFoundError') then
            error(('unable to open file <%s> in read-only mode'):format(first), 2)
         end
         error(result, 0)
      end
      local source = core.storage_row(first)
      if source == row then return part_of(row, first, second or 1, size) end
      error(('bad argument #1 (%s expected, got %s)'):format(row.storage_class, class.type(first)), 2)
   end
end

----------------------------------------------------------------------------------------
-- Methods, shared by all classes.

local methods = {}

methods.size = size_of
function methods.data(self) return self._data end
function methods.retain() end  -- counts are the core's business
function methods.free() end

local function check_self(self)
   if not core.is_storage(self) then
      error('bad argument #1 (torch.*Storage expected, got '
         .. (self == nil and 'no value' or class.type(self)) .. ')', 3)
   end
end

local function number_expected(value)
   local got = value == nil and 'no value' or class.lua_type(value)
   error(('bad argument #2 (number expected, got %s)'):format(got), 3)
end

function methods.fill(self, value)
   check_self(self)
   local row = storage.row(self)
   value = tonumber(value) or number_expected(value)
   for i = 0, size_of(self) - 1 do elements.write(row, self._data, i, value) end
   return self
end

function methods.resize(self, size)
   check_self(self)
   size = tonumber(size) or number_expected(size)
   if not (size >= 0) then error(too_large, 2) end
   if not self._resizable then error('Trying to resize storage that is not resizable', 2) end
   if C.relume_storage_resize(self, size) < 0 then core.fail() end
   return self
end

function methods.copy(self, source)
   check_self(self)
   local from = core.storage_row(source)
   if not from then
      local got = source == nil and 'no value' or class.type(source)
      error('bad argument #2 (torch.*Storage expected, got ' .. got .. ')', 2)
   end
   local row, count = storage.row(self), size_of(self)
   if size_of(source) ~= count then error('bad argument #2 (size mismatch)', 2) end
   if row == from then
      ffi.copy(self._data, source._data, self._bytes)
   else
      for i = 0, count - 1 do
         elements.write(row, self._data, i, elements.read(from, source._data, i))
      end
   end
   return self
end

function methods.totable(self)
   check_self(self)
   local row, list = storage.row(self), {}
   for i = 1, size_of(self) do list[i] = elements.read(row, self._data, i - 1) end
   return list
end

-- Bytes of a Char or Byte storage as a string, or the string written into it.
function methods.string(self, text)
   check_self(self)
   if text == nil then return ffi.string(self._data, self._bytes) end
   methods.resize(self, #text)
   ffi.copy(self._data, text, #text)
   return self
end

function methods.type(self, name)
   if name == nil then return class.typename(self) end
   local wanted = class.factory(name)
   if not wanted then error(('<%s> is not a string describing a torch object'):format(name), 2) end
   if name == class.typename(self) then return self end
   return methods.copy(wanted():resize(size_of(self)), self)
end

for _, row in ipairs(types.rows) do
   methods[row.class:lower()] = function(self) return methods.type(self, row.storage_class) end
end

----------------------------------------------------------------------------------------

local function define(row)
   local mt = {}
   for name, method in pairs(methods) do mt[name] = method end
   local data_of = elements
   local bytes = row.bytes

   function mt.__index(self, key)
      local method = mt[key]
      if method ~= nil then return method end
      local index = tonumber(key)
      if index then
         index = index - index % 1
         if not (index >= 1 and index * bytes <= tonumber(self._bytes)) then error("bad argument #2 to '?' (out of bounds)", 2) end
         return data_of.read(row, self._data, index - 1)
      end
      return nil
   end

   function mt.__newindex(self, key, value)
      local index, number = tonumber(key), tonumber(value)
      if not index then
         error(('the class %s cannot be indexed'):format(row.storage_class), 2)
      end
      index = index - index % 1
      if not (index >= 1 and index * bytes <= tonumber(self._bytes)) then error("bad argument #2 to '?' (out of bounds)", 2) end
      if not number then error('number expected, got ' .. class.type(value), 2) end
      data_of.write(row, self._data, index - 1, number)
   end

   ffi.metatype(row.storage_struct, {
      __index = mt.__index,
      __newindex = mt.__newindex,
      __len = size_of,
      __eq = function(a, b)
         return core.is_storage(a) and core.is_storage(b) and core.address_of(a) == core.address_of(b)
      end,
      __tostring = function(self) return class.find(mt, '__tostring__')(self) end,
      __concat = function(a, b)
         error(('both %s and %s have no concat operator'):format(class.typename(a) or '(null)',
            class.typename(b) or '(null)'), 2)
      end,
   })
   -- asks no storage: torch.ByteStorage.elementSize()
   function mt.elementSize() return row.bytes end
   class.register_cdata(row.storage_class, mt, constructor(row))
   return mt
end

function storage.define_all()
   for _, row in ipairs(types.rows) do
      local mt = define(row)
      if not row.class:match('^[CB]') or row.class == 'Bool' or row.class == 'BFloat16' then
         mt.string = nil
      end
   end
end

storage.methods = methods
return storage
