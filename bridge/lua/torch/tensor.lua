-- The tensor classes: constructors, geometry, copying and filling. Views are in views.lua,
-- mathematics in maths.lua, t[i] in indexing.lua, printing in print.lua.
local ffi = require 'ffi'
local class = require 'torch.class'
local cuda = require 'relume.cuda'
local core = require 'relume.ffi'
local elements = require 'torch.elements'
local errors = require 'torch.errors'
local indexing = require 'torch.indexing'
local printing = require 'torch.print'
local shapes = require 'torch.shapes'
local storage = require 'torch.storage'
local types = require 'relume.types'
local views = require 'torch.views'

local C = core.C
local shape, strides, dims = shapes.shape, shapes.strides, shapes.dims
local tensor_row, storage_row, is_tensor = core.tensor_row, core.storage_row, core.is_tensor
local tonumber, type = tonumber, type

local tensor = {}
local methods = {}
tensor.methods = methods

-- The number at an offset of a tensor's storage.
function views.element(self, offset)
   return elements.read(tensor_row(self), self._storage._data, offset)
end

----------------------------------------------------------------------------------------
-- Constructors.

-- Sizes of nested tables into `shape`; returns their number.
local function table_sizes(list)
   local n, level = 0, list
   while type(level) == 'table' do
      if n >= core.max_dims then error('invalid tensor definition', 4) end
      shape[n] = #level
      n, level = n + 1, level[1]
   end
   return n
end

local function fill_from_table(row, data, list, depth, n, place)
   local size = tonumber(shape[depth])
   if #list ~= size then error('invalid tensor sizes', 0) end
   for i = 1, size do
      local value = list[i]
      if depth == n - 1 then
         local number = type(value) ~= 'table' and type(value) ~= 'cdata' and tonumber(value)
         if not number then error('invalid element (not a number)', 0) end
         elements.write(row, data, place, number)
         place = place + 1
      else
         if type(value) ~= 'table' then error('invalid tensor definition', 0) end
         place = fill_from_table(row, data, value, depth + 1, n, place)
      end
   end
   return place
end

local function from_table(row, list)
   local n = table_sizes(list)
   for i = 0, n - 1 do
      if shape[i] == 0 then
         if n > 1 then error('invalid element (not a number)', 3) end
         return shapes.new(row, 0)
      end
   end
   local sizes = {}
   for i = 0, n - 1 do sizes[i] = shape[i] end
   local result = shapes.new(row, n)
   for i = 0, n - 1 do shape[i] = sizes[i] end
   fill_from_table(row, result._storage._data, list, 0, n, 0)
   return result
end

-- Strides that were not given (negative) continue those to the right, as if contiguous.
local function complete_strides(n)
   for i = n - 1, 0, -1 do
      if strides[i] < 0 then
         strides[i] = i == n - 1 and 1 or strides[i + 1] * shape[i + 1]
      end
   end
end

local function needed_elements(offset, n)
   local last = offset
   for i = 0, n - 1 do last = last + (tonumber(shape[i]) - 1) * tonumber(strides[i]) end
   return n == 0 and 0 or last + 1
end

-- (LongStorage sizes, LongStorage strides)
local function from_sizes_and_strides(row, sizes, steps)
   if #sizes ~= #steps then errors.bad_argument(2, 'provided stride and size are inconsistent') end
   local n = shapes.parse(1, false, sizes)
   for i = 0, n - 1 do strides[i] = steps._data[i] end
   complete_strides(n)
   local memory = storage.new(row, needed_elements(0, n))
   local result = core.adopt(C.relume_tensor_new_empty(row.dtype))
   if C.relume_tensor_set(result, memory, 0, n, shape, strides) < 0 then core.fail() end
   return result
end

-- Geometry after a storage: nothing, (LongStorage [, LongStorage]) or (size, stride, ...).
local function parse_geometry(memory, offset, sizes, steps, ...)
   if sizes == nil then
      shape[0], strides[0] = #memory - offset, 1
      return 1
   end
   if shapes.is_long_storage(sizes) then
      if shapes.is_long_storage(steps) and #steps ~= #sizes then
         errors.bad_argument(4, 'provided stride and size are inconsistent')
      end
      local n = shapes.parse(1, false, sizes)
      for i = 0, n - 1 do strides[i] = shapes.is_long_storage(steps) and steps._data[i] or -1 end
      complete_strides(n)
      return n
   end
   local list = {sizes, steps, ...}
   local n = math.ceil(#list / 2)
   if n > core.max_dims then error('at most 16 dimensions', 4) end
   for i = 0, n - 1 do
      shape[i] = list[2 * i + 1]
      local step = list[2 * i + 2]
      strides[i] = step or -1
   end
   complete_strides(n)
   return n
end

-- Points `self` at part of a storage, which grows when it is too short.
local function set_storage(self, memory, offset, ...)
   local whole = offset == nil
   offset = (offset or 1) - 1
   if offset < 0 then error('Tensor: invalid storage offset', 3) end
   -- an offset without sizes gives a tensor without elements
   local n = (whole or (...) ~= nil) and parse_geometry(memory, offset, ...) or 0
   local needed = needed_elements(offset, n)
   if needed > #memory then memory:resize(needed) end
   if n == 0 or shape[0] <= 0 then
      n, shape[0], strides[0] = 1, 0, 1
   end
   if C.relume_tensor_set(self, memory, offset, n, shape, strides) < 0 then core.fail() end
   return self
end

-- Torch7 took small tensors from memory that was mostly zero, and scripts have come to rely
-- on it; larger ones are left as they come.
local small = 4096

local function fresh(row, n)
   local result = shapes.new(row, n)
   local bytes = result._numel * row.bytes
   if bytes > 0 and bytes <= small then ffi.fill(result._storage._data, bytes) end
   return result
end

local function constructor(row)
   local function wrong()
      error(("bad argument #1 (expecting number or %s or %s)"):format(row.tensor_class,
         row.storage_class), 3)
   end

   return function(...)
      local first, second = ...
      if first == nil then
         if select('#', ...) > 0 then wrong() end
         return shapes.new(row, 0)
      end
      local kind = type(first)
      if kind == 'number' then
         if second == nil then
            shape[0] = first
            return fresh(row, first > 0 and 1 or 0)
         end
         return fresh(row, shapes.parse(1, false, ...))
      elseif kind == 'table' then
         return from_table(row, first)
      elseif kind == 'cdata' then
         local same = tensor_row(first)
         if same then
            if same ~= row then wrong() end
            return core.adopt(C.relume_tensor_alias(first))
         end
         local memory = storage_row(first)
         if memory == row and not (row.class == 'Long' and shapes.is_long_storage(second)) then
            return set_storage(shapes.new(row, 0), ...)
         elseif shapes.is_long_storage(first) then
            if shapes.is_long_storage(second) then
               return from_sizes_and_strides(row, first, second)
            end
            return fresh(row, shapes.parse(1, false, first))
         end
      elseif kind == 'string' and tonumber(first) then
         return shapes.new(row, shapes.parse(1, false, ...))
      end
      wrong()
   end
end

----------------------------------------------------------------------------------------
-- Geometry.

methods.dim = dims
methods.nDimension = dims

function methods.nElement(self) return tonumber(self._numel) end
methods.numel = methods.nElement

local function sizes_or_one(field, word)
   return function(self, d)
      if self == nil then
         error(("bad argument #1 (torch.DoubleTensor expected, got boolean)"), 2)
      end
      if d == nil then return shapes.to_storage(self[field], dims(self)) end
      d = type(d) ~= 'cdata' and tonumber(d)
      if not d then return shapes.to_storage(self[field], dims(self)) end
      if not (d >= 1 and d <= dims(self)) then
         errors.bad_argument(2, ('dimension %d out of range of %dD tensor'):format(d, dims(self)))
      end
      return tonumber(self[field][d - 1])
   end
end
methods.size = sizes_or_one('_shape')
methods.stride = sizes_or_one('_strides')

function methods.storage(self) return core.share_storage(self._storage) end
function methods.storageOffset(self) return tonumber(self._offset) + 1 end
function methods.isContiguous(self) return self._contiguous end
function methods.elementSize(self) return tensor_row(self).bytes end
function methods.retain() end  -- counts are the core's business
function methods.free() end
function methods.isTensor() return true end

function methods.data(self, as_number)
   if self._storage == nil then return as_number and 0LL or nil end
   local pointer = self._storage._data + self._offset
   return as_number and ffi.cast('int64_t', pointer) or pointer
end

function methods.isSameSizeAs(self, other)
   if tensor_row(other) ~= tensor_row(self) then
      errors.expected_object(2, tensor_row(self).tensor_class, other, self)
   end
   return shapes.same(self, other)
end

function methods.isSize(self, sizes)
   if #sizes ~= dims(self) then return false end
   for i = 1, #sizes do
      if sizes[i] ~= self:size(i) then return false end
   end
   return true
end

function methods.isSetTo(self, other)
   if tensor_row(other) ~= tensor_row(self) then
      errors.expected_object(2, tensor_row(self).tensor_class, other, self)
   end
   if self._storage == nil or self._storage ~= other._storage or self._offset ~= other._offset
      or not shapes.same(self, other) then
      return false
   end
   for i = 0, self._ndim - 1 do
      if self._strides[i] ~= other._strides[i] then return false end
   end
   return true
end

function methods.resize(self, first, second, ...)
   if not is_tensor(self) then errors.expected(1, 'torch.*Tensor', self) end
   if shapes.is_long_storage(first) and shapes.is_long_storage(second) then
      local n = shapes.parse(2, false, first)
      for i = 0, n - 1 do strides[i] = second._data[i] end
      complete_strides(n)
      local memory = self:storage() or storage.new(tensor_row(self), 0)
      local offset = tonumber(self._offset)
      if needed_elements(offset, n) > #memory then memory:resize(needed_elements(offset, n)) end
      if C.relume_tensor_set(self, memory, offset, n, shape, strides) < 0 then core.fail() end
      return self
   end
   if second == nil and type(first) == 'number' then
      shape[0] = first
      return shapes.resize(self, first > 0 and 1 or 0)
   end
   if second == nil then return shapes.resize(self, shapes.parse(2, false, first)) end
   return shapes.resize(self, shapes.parse(2, false, first, second, ...))
end

local function same_type(self, other, position)
   if tensor_row(other) ~= tensor_row(self) then
      errors.expected_object(position, tensor_row(self).tensor_class, other, self)
   end
end

function methods.resizeAs(self, like)
   same_type(self, like, 2)
   return shapes.resize_as(self, like)
end

function methods.set(self, source, ...)
   if not is_tensor(self) then errors.expected(1, 'torch.*Tensor', self) end
   if source == nil then
      shape[0], strides[0] = 0, 1
      if C.relume_tensor_set(self, nil, 0, 1, shape, strides) < 0 then core.fail() end
      return self
   end
   local row = tensor_row(self)
   if tensor_row(source) == row then return shapes.set(self, source) end
   if storage_row(source) == row then return set_storage(self, source, ...) end
   error(('bad argument #2 (expecting number or %s or %s)'):format(row.tensor_class, row.storage_class),
      2)
end

----------------------------------------------------------------------------------------
-- Contents.

local copy_op, fill_op, zero_op = core.ops.copy_, core.ops.fill_, core.ops.zero_

function methods.copy(self, source)
   if not is_tensor(source) then
      local got = source == nil and 'no value' or class.type(source)
      errors.bad_argument(2, 'torch.*Tensor expected, got ' .. got)
   end
   if self._numel ~= source._numel then
      errors.inconsistent_size({'tensor', 'src'}, {self, source})
   end
   if self._numel == 0 then return self end
   core.tensors_in_place(copy_op, shapes.without_repetition(self, shapes.as(source, self)))
   return self
end

function methods.fill(self, value, extra)
   local number = type(value) ~= 'cdata' and tonumber(value)
   if not number or extra ~= nil then
      errors.invalid_arguments(extra ~= nil and 3 or value ~= nil and 2 or 1, self, value, extra)
   end
   return core.scalar_in_place(fill_op, self, number, tensor_row(self).integer)
end

function methods.zero(self, extra)
   if extra ~= nil then errors.invalid_arguments(2, self, extra) end
   if not is_tensor(self) then errors.expected(1, 'torch.*Tensor', self) end
   return core.unary_in_place(zero_op, self)
end

function methods.clone(self)
   local result = shapes.new_like(self)
   if self._numel == 0 then return result end
   return core.tensors_in_place(copy_op, result, self)
end

function methods.contiguous(self)
   if self._contiguous then return self end
   return methods.clone(self)
end

-- The tensor as one of another element type; itself if it has that already.
local function convert(self, wanted)
   if wanted == tensor_row(self) then return self end
   local result = shapes.new_like(self, wanted)
   if self._numel == 0 then return result end
   return core.tensors_in_place(copy_op, result, self)
end

local row_by_name = {}
for _, row in ipairs(types.rows) do row_by_name[row.tensor_class] = row end

function methods.type(self, name)
   if name == nil then return tensor_row(self).tensor_class end
   local wanted = row_by_name[name] or row_by_name[cuda.resolve(name)]
   if not wanted then
      error(("attempt to convert a tensor to '%s', which is no tensor class"):format(tostring(name)), 2)
   end
   return convert(self, wanted)
end

function methods.cuda(self) return methods.type(self, 'torch.CudaTensor') end
function methods.typeAs(self, other) return methods.type(self, other:type()) end

for _, row in ipairs(types.rows) do
   methods[row.class:lower()] = function(self) return convert(self, row) end
end

function methods.totable(self)
   local n = dims(self)
   if n == 0 then return {} end
   local result = {}
   for i = 1, self:size(1) do
      local part = self[i]
      result[i] = n == 1 and part or part:totable()
   end
   return result
end

local function reshape(self, ...)
   local result = shapes.new(tensor_row(self), shapes.parse(2, false, ...))
   if result._numel ~= self._numel then
      errors.inconsistent_size({'tensor', 'src'}, {result, self})
   end
   return methods.copy(result, self)
end

function methods.reshape(first, second, ...)
   if is_tensor(second) then
      shapes.resize(first, shapes.parse(3, false, ...))
      return methods.copy(first, second)
   end
   return reshape(first, second, ...)
end

local function repeat_tensor(self, ...)
   local n = shapes.parse(2, false, ...)
   local missing = n - dims(self)
   if missing < 0 then
      error('Number of dimensions of repeat dims can not be smaller than number of dimensions of '
         .. 'tensor', 2)
   end
   local counts = {}
   for i = 1, n do counts[i] = tonumber(shape[i - 1]) end
   return core.call('repeat', self, counts)
end

function methods.repeatTensor(first, second, ...)
   if is_tensor(second) then
      local result = repeat_tensor(second, ...)
      shapes.resize_as(first, result)
      return methods.copy(first, result)
   end
   return repeat_tensor(first, second, ...)
end

-- Calls f(element) for each element in order; a number that it returns takes its place.
-- `others` are read along.
local function map(self, others, f)
   if self._numel == 0 then return self end
   local row, place_of = tensor_row(self), shapes.place_of_element(self)
   local data = self._storage._data + self._offset
   local sources = {}
   for i, other in ipairs(others) do
      local source = other:contiguous()
      sources[i] = {row = tensor_row(other), data = source._storage._data + source._offset, source}
   end
   local a, b = sources[1], sources[2]
   for i = 0, tonumber(self._numel) - 1 do
      local place = place_of(i)
      local value = elements.read(row, data, place)
      local x = a and elements.read(a.row, a.data, i)
      local y = b and elements.read(b.row, b.data, i)
      local result
      if b then result = f(value, x, y) elseif a then result = f(value, x) else result = f(value) end
      if result ~= nil then
         if type(result) == 'boolean' then
            result = result and 1 or 0
         elseif type(result) ~= 'number' then
            error(("cannot convert '%s' to 'double'"):format(class.type(result)), 3)
         end
         elements.write(row, data, place, result)
      end
   end
   return self
end

function methods.apply(self, f)
   return map(self, {}, f)
end

local function check_mapped(self, other, position)
   if not is_tensor(other) then errors.bad_argument(position, 'tensor expected') end
   if tensor_row(other) ~= tensor_row(self) then
      errors.expected_object(position, tensor_row(self).tensor_class, other)
   end
end

function methods.map(self, other, f)
   check_mapped(self, other, 1)
   if self._numel ~= other._numel then error('size mismatch', 2) end
   return map(self, {other}, f)
end

function methods.map2(self, first, second, f)
   check_mapped(self, first, 1)
   check_mapped(self, second, 2)
   if self._numel ~= first._numel or self._numel ~= second._numel then error('size mismatch', 2) end
   return map(self, {first, second}, f)
end

for name, view in pairs(views) do
   if type(view) == 'function' and name ~= 'element' then methods[name] = view end
end

----------------------------------------------------------------------------------------
-- The classes.

-- Functions for the operators of all classes; maths.lua fills them in.
tensor.operators = {}

local function define(row)
   local mt = {}
   for name, method in pairs(methods) do mt[name] = method end
   local get, set = indexing.make(row, mt)
   mt.__index, mt.__newindex = get, set
   mt.__tostring__ = printing.tensor

   local meta = {
      __index = get,
      __newindex = set,
      __len = function(self) return shapes.to_storage(self._shape, dims(self)) end,
      __tostring = function(self) return class.find(mt, '__tostring__')(self) end,
      __eq = function(a, b)
         return is_tensor(a) and is_tensor(b) and core.address_of(a) == core.address_of(b)
      end,
   }
   function meta.__call(self) error(('%s has no call operator'):format(class.typename(self)), 2) end
   for event, operator in pairs(tensor.operators) do meta[event] = operator end
   for event, sign in pairs({__concat = 'concat', __lt = 'less-than', __le = 'less-equal'}) do
      meta[event] = function(a, b)
         error(('both %s and %s have no %s operator'):format(class.typename(a) or '(null)',
            class.typename(b) or '(null)', sign), 2)
      end
   end
   ffi.metatype(row.tensor_struct, meta)
   class.register_cdata(row.tensor_class, mt, constructor(row))
end

function tensor.define_all()
   storage.methods.__tostring__ = printing.storage
   storage.define_all()
   for _, row in ipairs(types.rows) do define(row) end
end

return tensor
