-- threads.sharedserialize: like threads.serialize, but tensors, storages and counters are passed by
-- their address: what is read is the same object. Bytes are to be read exactly once.
local ffi = require 'ffi'
local class = require 'torch.class'
local core = require 'relume.ffi'
local types = require 'relume.types'
require 'tds'

local C = core.C
local address_type, void_pointer = ffi.typeof 'uintptr_t', ffi.typeof 'void *'

-- Addresses are below 2^53, so that a double holds them.
local function pointer_at(address)
   return ffi.cast(void_pointer, ffi.cast(address_type, address))
end

local function write_tensor(self, file) file:writeDouble(core.give_tensor(self)) end

local function write_storage(self, file)
   C.relume_storage_retain(self)
   file:writeDouble(core.address_of(self))
end

-- Reading makes the object from its address, before its class would make an empty one.
local function tensor_factory(file) return core.adopt(pointer_at(file:readDouble())) end
local function storage_factory(file) return core.adopt_storage(pointer_at(file:readDouble())) end
local function nothing() end

-- What each class has in place of its own methods meanwhile.
local sharing = {}
for _, row in ipairs(types.rows) do
   local tensor, storage = class.getmetatable(row.tensor_class), class.getmetatable(row.storage_class)
   sharing[tensor] = {write = write_tensor, read = nothing, __factory = tensor_factory}
   sharing[storage] = {write = write_storage, read = nothing, __factory = storage_factory}
end

local counter = class.getmetatable 'tds.AtomicCounter'
sharing[counter] = {write = counter.write_shared, read = counter.read_shared, __factory = counter.__factory}

-- Calls f(...) with the methods that share.
local function with_sharing(f, ...)
   local before = {}
   for mt, methods in pairs(sharing) do
      before[mt] = {}
      for name, method in pairs(methods) do
         before[mt][name], mt[name] = rawget(mt, name) or false, method
      end
   end
   local ok, result = pcall(f, ...)
   for mt, methods in pairs(before) do
      for name, method in pairs(methods) do mt[name] = method or nil end
   end
   if not ok then error(result, 0) end
   return result
end

return {
   save = function(object) return with_sharing(torch.serializeToStorage, object) end,
   load = function(bytes) return with_sharing(torch.deserializeFromStorage, bytes) end,
}
