-- Blocks of memory that several Lua states hold, each by its address. A block begins with the
-- count of its holders and goes with the last of them.
local ffi = require 'ffi'
local core = require 'relume.ffi'

ffi.cdef [[
int64_t relume_atomic_add(int64_t *counter, int64_t amount);
void relume_atomic_set(int64_t *counter, int64_t value);
void *relume_calloc(size_t count, size_t bytes) __asm__("calloc");
void relume_free(void *block) __asm__("free");
]]

local counter_pointer = ffi.typeof 'int64_t *'
local address_type = ffi.typeof 'uintptr_t'

local shared = {add = core.C.relume_atomic_add, set = core.C.relume_atomic_set}

-- A block of zeros, held once: a pointer of the C type `pointer_type` to `bytes` bytes.
function shared.new(pointer_type, bytes)
   local block = ffi.C.relume_calloc(1, bytes)
   if block == nil then error('no memory left', 2) end
   ffi.cast(counter_pointer, block)[0] = 1
   return ffi.cast(pointer_type, block)
end

-- The block of an id that `shared.id` gave, held once more.
function shared.at(pointer_type, id)
   if type(id) ~= 'number' or id <= 0 then
      error(('%s is no id of a shared object'):format(tostring(id)), 3)
   end
   local block = ffi.cast(pointer_type, ffi.cast(address_type, id))
   return shared.retain(block)
end

function shared.retain(block)
   shared.add(ffi.cast(counter_pointer, block), 1)
   return block
end

-- Lets go of a block; the last holder calls `destroy` first.
function shared.release(block, destroy)
   if shared.add(ffi.cast(counter_pointer, block), -1) ~= 1 then return end
   if destroy then destroy(block) end
   ffi.C.relume_free(block)
end

-- A number that stands for the block in all states of this process.
function shared.id(block)
   return tonumber(ffi.cast(address_type, block))
end

return shared
