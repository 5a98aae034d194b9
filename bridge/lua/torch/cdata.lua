-- torch.cdata(tensor): TH's struct of a tensor or a storage, for scripts that read its fields through
-- the FFI. It is a copy of the geometry: changing it changes nothing.
local ffi = require 'ffi'
local core = require 'relume.ffi'
local shapes = require 'torch.shapes'

ffi.cdef [[
typedef struct {
   void *data;
   ptrdiff_t size;
   int refcount;
   char flag;
} relume_THStorage;

typedef struct {
   int64_t *size;
   int64_t *stride;
   int nDimension;
   relume_THStorage *storage;
   ptrdiff_t storageOffset;
   int refcount;
   char flag;
} relume_THTensor;
]]

local tensor_struct = ffi.typeof 'relume_THTensor[1]'
local storage_struct = ffi.typeof 'relume_THStorage[1]'

-- What a struct points to lives as long as it.
local held = setmetatable({}, {__mode = 'k'})

local function storage_of(storage, row)
   local struct = storage_struct()
   struct[0].data = storage._data
   struct[0].size = tonumber(storage._bytes) / row.bytes
   struct[0].refcount = 1
   return struct
end

local cdata = {}

function cdata.of_storage(storage)
   local struct = storage_of(storage, core.storage_row(storage))
   local pointer = ffi.cast('relume_THStorage *', struct)
   held[pointer] = {struct, storage}
   return pointer
end

function cdata.of_tensor(tensor)
   local struct = tensor_struct()
   local kept = {struct, tensor}
   struct[0].size, struct[0].stride = tensor._shape, tensor._strides
   struct[0].nDimension = shapes.dims(tensor)
   struct[0].storageOffset = tensor._offset
   struct[0].refcount = 1
   if tensor._storage ~= nil then
      local storage = storage_of(tensor._storage, core.tensor_row(tensor))
      struct[0].storage = storage
      kept[3] = storage
   end
   local pointer = ffi.cast('relume_THTensor *', struct)
   held[pointer] = kept
   return pointer
end

return cdata
