-- Objects in files: writeObject and readObject, how tensors and storages write themselves, and
-- torch.save, torch.load and their relatives. An object is a number for its kind and what
-- follows from it; an object that was written before is just its number in the file.
local ffi = require 'ffi'
local class = require 'torch.class'
local core = require 'relume.ffi'
local errors = require 'torch.errors'
local File = require 'torch.file.File'
local functions = require 'torch.file.functions'
local shapes = require 'torch.shapes'
local storage = require 'torch.storage'
local types = require 'relume.types'

local as_written

local tags = {['nil'] = 0, number = 1, string = 2, table = 3, torch = 4, boolean = 5}
local char = types.by_class.Char

----------------------------------------------------------------------------------------
-- Writing.

-- The method `__write` or `write`, ... of an object's class: tables of data may have an entry of its name.
local function method_of(object, name)
   local mt = class.metatable_of(object)
   return class.find(mt, '__' .. name) or class.find(mt, name)
end

-- The number for the kind of an object; nil when it cannot be written.
local function tag_of(object)
   local kind = type(object)
   if class.typename(object) then
      local writes = kind == 'table' or method_of(object, 'write') ~= nil
      return writes and tags.torch or nil
   end
   if kind == 'function' then
      return functions.is_writable(object) and functions.tag(object) or nil
   end
   return tags[kind]
end

function File:isWritableObject(object)
   return tag_of(object)
end

-- referenced(false): each object is written whole each time.
function File:referenced(enabled)
   self.references.enabled = enabled
   return self
end
function File:isReferenced() return self.references.enabled end

-- Where in what is written a message is about: the variables of functions are called by their names.
local function path_of(names)
   local shown = {}
   for i, name in ipairs(names) do
      local of_list = name == functions.variables or names[i - 1] == functions.variables
      if not of_list then shown[#shown + 1] = name end
   end
   return table.concat(shown, '.')
end

local function write_text(file, text)
   file:writeInt(#text)
   file:_write_elements(char, text, #text)
end

-- The fields of an object that does not write itself; what no file can hold is left out.
local function writable_fields(file, object)
   local fields = {}
   for key, value in pairs(object) do
      if file:isWritableObject(value) then
         fields[key] = value
      else
         print(('$ Warning: cannot write object field <%s> of <%s> %s'):format(tostring(key),
            class.typename(object), path_of(file.writing)))
      end
   end
   return fields
end

local function write_table(file, object, hook)
   local count = 0
   for _ in pairs(object) do count = count + 1 end
   file:writeInt(count)
   local is_variable = file.writing[#file.writing - 1] == functions.variables
   for key, value in pairs(object) do
      local name = (type(key) == 'string' or type(key) == 'number') and tostring(key) or nil
      if is_variable and key == 'value' then name = object.name end
      file:writeObject(key, name, hook)
      file:writeObject(value, name, hook)
   end
end

local function write_torch_object(file, object, hook)
   local name = class.typename(object)
   write_text(file, 'V ' .. class.version(object))
   write_text(file, name)
   local write = method_of(object, 'write')
   if write then
      write(object, file)
   else
      file:writeObject(writable_fields(file, object), name, hook)
   end
end

-- The number of an object in this file, and whether it is new.
local function reference(file, object)
   local references = file.references
   if not references.enabled then
      references.last = (references.last or 0) + 1
      return references.last, true
   end
   local key = class.pointer(object)
   local number = references.written[key]
   if number then return number, false end
   number = #references.held + 1
   references.written[key] = number
   references.held[number] = object  -- its address must not be given to another
   return number, true
end

-- `original` is what the object stands for in the file: a hook may have put it in that one's place.
local function write_value(file, tag, object, original, hook)
   file:writeInt(tag)
   if tag == tags['nil'] then
      return
   elseif tag == tags.number then
      return file:writeDouble(object)
   elseif tag == tags.boolean then
      return file:writeBool(object)
   elseif tag == tags.string then
      return write_text(file, object)
   elseif tag == functions.tags.anonymous then
      return functions.write(file, object, hook)
   end
   local number, is_new = reference(file, original)
   file:writeInt(number)
   if not is_new then return end
   if tag == tags.torch then
      write_torch_object(file, object, hook)
   elseif tag == tags.table then
      write_table(file, object, hook)
   else
      functions.write(file, object, hook)
   end
end

-- Layers that run in Python are written as what they are there; the same each time in one file.
function as_written(file, object)
   local mt = type(object) == 'table' and getmetatable(object)
   if not (mt and class.find(mt, 'saved') and rawget(object, 'python')) then return object end
   local written = file.references.written
   local found = written[object]
   if not found then
      found = object:saved()
      written[object] = found
   end
   return found
end

-- Writes any object. `name` is what messages call it; `hook(object)`, if given, says what is
-- written in the place of each object.
function File:writeObject(object, name, hook)
   local original = object
   if hook then object = hook(object) end
   object = as_written(self, object)
   if not hook then original = object end
   local outermost = self.writing == nil
   self.writing = self.writing or {}
   table.insert(self.writing, name or '<?>')
   local tag = self:isWritableObject(object)
   if not tag then
      local path = path_of(self.writing)
      self.writing = nil
      error(('Unwritable object <%s> at %s'):format(type(object), path), 2)
   end
   write_value(self, tag, object, original, hook)
   if outermost then self.writing = nil else table.remove(self.writing) end
end

----------------------------------------------------------------------------------------
-- Reading.

-- What makes objects of a class; a package that has the name of the class's prefix is loaded.
local function factory_of(name)
   local factory = class.factory(name)
   if factory then return factory end
   local package_name = name:match('^([%w_]+)%.')
   if package_name and package.loaded[package_name] == nil then
      pcall(require, package_name)
      factory = class.factory(name)
   end
   return factory or error(('unknown Torch class <%s>'):format(name), 0)
end

local text_place = ffi.new 'char[256]'

local function read_text(file)
   local count = file:readInt()
   if not (count >= 0 and count <= ffi.sizeof(text_place)) then return file:readChar(count):string() end
   return ffi.string(text_place, file:_read_elements(char, text_place, count))
end

local function read_torch_object(file, number)
   local name = read_text(file)
   local version = tonumber(name:match('^V (.*)$'))
   if version then
      name = read_text(file)
   end
   local object = factory_of(name)(file)
   file.references.read[number] = object
   local read = method_of(object, 'read')
   if read then
      read(object, file, version or 0)
   else
      for key, value in pairs(file:readObject()) do object[key] = value end
   end
   if object.completeFields then object:completeFields(file.references.completed) end
   return object
end

local function read_table(file, number)
   local result = {}
   file.references.read[number] = result
   for _ = 1, file:readInt() do
      local key, value = file:readObject(), nil
      value = file:readObject()
      if key == nil then error('a table of the file has nil as a key: the file is damaged', 0) end
      result[key] = value
   end
   return result
end

local function read_referenced(file, tag)
   local number = file:readInt()
   local known = file.references.read[number]
   if known ~= nil then return known end
   if tag == tags.torch then return read_torch_object(file, number) end
   if tag == tags.table then return read_table(file, number) end
   return functions.read(file, tag, function(f) file.references.read[number] = f end)
end

local readers = {
   [tags['nil']] = function() return nil end,
   [tags.number] = function(file) return file:readDouble() end,
   [tags.boolean] = function(file) return file:readBool() end,
   [tags.string] = read_text,
   [tags.table] = read_referenced,
   [tags.torch] = read_referenced,
   [functions.tags.anonymous] = function(file, tag)
      return functions.read(file, tag, function() end)
   end,
   [functions.tags.referenced] = read_referenced,
   [functions.tags.named] = read_referenced,
}

function File:readObject()
   local tag = self:readInt()
   local read = readers[tag]
   if not read then
      error(('unknown object type %d: is this a file of torch.save, in this format?'):format(tag), 2)
   end
   return read(self, tag)
end

----------------------------------------------------------------------------------------
-- Tensors and storages.

local long = types.by_class.Long

local function write_tensor(self, file)
   local n = shapes.dims(self)
   file:writeInt(n)
   file:_write_elements(long, self._shape, n)
   file:_write_elements(long, self._strides, n)
   file:writeLong(self._offset + 1)
   file:writeObject(self:storage())
end

local function read_tensor(self, file)
   local n = file:readInt()
   if n < 0 or n > core.max_dims then
      error(('a tensor of the file has %d dimensions: the file is damaged'):format(n), 0)
   end
   local sizes, strides = ffi.new 'int64_t[16]', ffi.new 'int64_t[16]'
   file:_read_elements(long, sizes, n)
   file:_read_elements(long, strides, n)
   local offset = file:readLong() - 1
   local memory = file:readObject()
   if memory == nil then return end
   if n == 0 then
      n, offset, sizes[0], strides[0] = 1, 0, 0, 1
   end
   if core.C.relume_tensor_set(self, memory, offset, n, sizes, strides) < 0 then core.fail() end
end

for _, row in ipairs(types.rows) do
   local element = row.class == 'Bool' and 'Byte' or row.class
   local mt, memory = class.getmetatable(row.tensor_class), class.getmetatable(row.storage_class)
   mt.write, mt.read = write_tensor, read_tensor

   function memory.write(self, file)
      file:writeLong(#self)
      file['write' .. element](file, self)
   end

   function memory.read(self, file)
      self:resize(file:readLong())
      file['read' .. element](file, self)
   end
end

----------------------------------------------------------------------------------------
-- torch.save and torch.load.

-- Sets what a format is called: 'binary', 'ascii', or 'b32' and 'b64', binary with longs of
-- 32 or 64 bits.
local function set_format(file, format)
   if format == 'ascii' then return file:ascii() end
   if format == 'binary' then return file:binary() end
   if format == 'b32' or format == 'b64' then
      return file:binary():longSize(format == 'b32' and 4 or 8)
   end
   error(("'%s' is no format of files: expected ascii, binary, b32 or b64"):format(tostring(format)), 3)
end

function torch.save(path, object, format, referenced)
   local file = torch.DiskFile(path, 'w')
   set_format(file, format or 'binary'):referenced(referenced ~= false)
   file:writeObject(object)
   file:close()
end

local function load(path, format, referenced)
   local file = torch.DiskFile(path, 'r')
   set_format(file, format):referenced(referenced ~= false)
   local object = file:readObject()
   file:close()
   return object
end

-- A file without a given format that Torch7 would not have read as it is (longs of 32 bits, text,
-- classes that nobody knows) goes to the Python side, which knows them or says what is wrong.
function torch.load(path, format, referenced)
   if format then return load(path, format, referenced) end
   torch.DiskFile(path, 'r'):close()  -- is there one?
   local ok, object = pcall(load, path, 'binary', referenced)
   if ok then return object end
   return require('relume.bridge').python_load(path)
end

torch.saveobj, torch.loadobj = torch.save, torch.load

-- The bytes of the file, without the final 0 of a MemoryFile.
function torch.serializeToStorage(object, format)
   local file = torch.MemoryFile()
   set_format(file, format or 'binary'):writeObject(object)
   local bytes = file:storage()
   file:close()
   return bytes:resize(#bytes - 1)
end

function torch.serialize(object, format)
   return torch.serializeToStorage(object, format):string()
end

-- Does the reader miss a class that Python has, of a layer that runs there?
local function misses_class_of_python(message)
   local name = type(message) == 'string' and message:match('unknown Torch class <(.-)>')
   return name and require('relume.bridge').python_knows(name)
end

local function deserialize(text, format)
   local file = torch.MemoryFile(storage.of_text(char, text .. '\0'), 'r')
   set_format(file, format or 'binary')
   local ok, object = pcall(file.readObject, file)
   file:close()
   if ok then return object end
   if not format and misses_class_of_python(object) then return require('relume.bridge').python_loads(text) end
   error(object, 0)
end

-- `bytes` is a storage, or a tensor of its elements.
function torch.deserializeFromStorage(bytes, format)
   if core.is_tensor(bytes) then bytes = bytes:clone():storage() end
   if core.storage_row(bytes) ~= char then errors.expected(1, 'torch.CharStorage', bytes) end
   return deserialize(bytes:string(), format)
end

function torch.deserialize(text, format)
   if type(text) ~= 'string' then errors.expected(1, 'string', text) end
   return deserialize(text, format)
end
