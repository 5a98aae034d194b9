-- Shapes on their way to C: two preallocated arrays and how arguments fill them.
local ffi = require 'ffi'
local class = require 'torch.class'
local core = require 'relume.ffi'
local errors = require 'torch.errors'
local storage = require 'torch.storage'
local types = require 'relume.types'

local shapes = {
   shape = ffi.new('int64_t[16]'),
   strides = ffi.new('int64_t[16]'),
}
local shape, strides = shapes.shape, shapes.strides
local long_row = types.by_class.Long
local C, copy, tonumber, type = core.C, ffi.copy, tonumber, type
local all_bytes = ffi.sizeof(shape)

-- No loops over dimensions where speed matters: LuaJIT gives up compiling a loop that few turns make hot, and
-- then everything around it.

-- Number of dimensions as Torch7 counts: a tensor without elements has none.
local function dims(tensor)
   if tensor._numel == 0 then return 0 end
   return tensor._ndim
end
shapes.dims = dims

-- Dimension `d` (1-based, negative from the end where `wrap`) as 0-based; nil when there is none.
function shapes.dimension(tensor, d)
   local n = dims(tensor)
   if not (d >= 1 and d <= n) then return nil end
   return d - 1
end

-- Copies a tensor's own geometry into the arrays; returns the number of dimensions.
function shapes.load(tensor)
   copy(shape, tensor._shape, all_bytes)
   copy(strides, tensor._strides, all_bytes)
   return tensor._ndim
end

function shapes.is_long_storage(value)
   return core.storage_row(value) == long_row
end

-- A LongStorage of `n` numbers of an int64 array.
function shapes.to_storage(numbers, n)
   local result = storage.new(long_row, n)
   copy(result._data, numbers, 8 * n)
   return result
end

-- Fills `shape` from numbers or one LongStorage and returns how many sizes there are. As in
-- Torch7, the first size that is not positive ends the list; `keep_negative` leaves -1 alone.
-- `position` is the place of the first size among the arguments of the function, for errors.
function shapes.parse(position, keep_negative, first, ...)
   local n = 0
   if shapes.is_long_storage(first) then
      n = #first
      if n > core.max_dims then error('at most 16 dimensions', 3) end
      for i = 0, n - 1 do shape[i] = first._data[i] end
   elseif first ~= nil then
      n = 1 + select('#', ...)
      if n > core.max_dims then error('at most 16 dimensions', 3) end
      for i = 0, n - 1 do
         local value = first
         if i > 0 then value = (select(i, ...)) end
         local size = tonumber(value)
         if not size or type(value) == 'cdata' then
            errors.bad_argument(position + i,
               'number expected, got ' .. class.lua_type(value))
         end
         shape[i] = size
      end
   end
   if keep_negative then return n end
   for i = 0, n - 1 do
      if shape[i] <= 0 then return i end
   end
   return n
end

-- A fresh view of `tensor`'s memory with the first `n` entries of the arrays.
function shapes.view(tensor, offset, n)
   return core.adopt_view(core.tensor_row(tensor), C.relume_tensor_view(tensor, offset, n, shape, strides))
end

-- A fresh tensor of the first `n` sizes; nothing is written into it.
function shapes.new(row, n)
   local pointer
   if n == 0 then
      pointer = C.relume_tensor_new_empty(row.dtype)
      if pointer == nil then core.fail() end
      return core.adopt(pointer)
   end
   pointer = C.relume_tensor_new(row.dtype, n, shape)
   if pointer == nil then core.fail() end
   local result = core.adopt(pointer)
   core.count_bytes(tonumber(result._numel) * row.bytes)
   return result
end

function shapes.new_like(tensor, row)
   row = row or core.tensor_row(tensor)
   return core.adopt(C.relume_tensor_new_like(tensor, row.dtype), tonumber(tensor._numel) * row.bytes)
end

function shapes.same(a, b)
   return C.relume_tensor_same_shape(a, b) ~= 0
end

local function check_tensor(value)
   if not core.is_tensor(value) then
      error('expected a tensor, got ' .. (value == nil and 'nil' or class.type(value)), 3)
   end
end

local function storage_bytes(tensor)
   return tensor._storage == nil and 0 or tonumber(tensor._storage._bytes)
end

-- Counts the memory of a tensor that has been resized, with `result` as the core's answer.
local function resized(tensor, result, before)
   if result < 0 then core.fail() end
   local grown = storage_bytes(tensor) - before
   if grown > 0 then core.count_bytes(grown) end
   return tensor
end

-- Gives `tensor` the first `n` sizes; contents beyond what it had are not initialised.
function shapes.resize(tensor, n)
   check_tensor(tensor)
   if n == 0 then
      n, shape[0] = 1, 0
   end
   local before = storage_bytes(tensor)
   return resized(tensor, C.relume_tensor_resize(tensor, n, shape), before)
end

function shapes.resize_as(tensor, like)
   check_tensor(tensor)
   check_tensor(like)
   if shapes.same(tensor, like) then return tensor end
   local before = storage_bytes(tensor)
   return resized(tensor, C.relume_tensor_resize_as(tensor, like), before)
end

-- Points `tensor` at what `source` looks at.
function shapes.set(tensor, source)
   check_tensor(tensor)
   check_tensor(source)
   if C.relume_tensor_set(tensor, source._storage, source._offset, source._ndim, source._shape,
         source._strides) < 0 then
      core.fail()
   end
   return tensor
end

-- `source` with the shape of `like` (as many elements), sharing its memory where possible.
function shapes.as(source, like)
   if shapes.same(source, like) then return source end
   local list = {}
   for i = 1, like._ndim do list[i] = tonumber(like._shape[i - 1]) end
   return core.call('reshape', source, list)
end

-- A function that gives where element i, counted from 0, lies behind the first one.
function shapes.place_of_element(tensor)
   if tensor._contiguous then return function(i) return i end end
   local n, sizes, strides = tensor._ndim, {}, {}
   for d = 1, n do sizes[d], strides[d] = tonumber(tensor._shape[d - 1]), tonumber(tensor._strides[d - 1]) end
   return function(i)
      local place = 0
      for d = n, 1, -1 do
         local index = i % sizes[d]
         place, i = place + index * strides[d], (i - index) / sizes[d]
      end
      return place
   end
end

-- Both without the elements of an expanded target that others overwrite, since they come first.
function shapes.without_repetition(target, source)
   if target._contiguous then return target, source end
   for d = 1, target._ndim do
      local size = tonumber(target._shape[d - 1])
      if target._strides[d - 1] == 0 and size > 1 then
         target, source = target:narrow(d, size, 1), source:narrow(d, size, 1)
      end
   end
   return target, source
end

return shapes
