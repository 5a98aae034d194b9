-- t[i], t[{...}], t[mask] and assignment to them. These functions are the metatables'
-- __index and __newindex for keys that are no method names.
local class = require 'torch.class'
local core = require 'relume.ffi'
local elements = require 'torch.elements'
local errors = require 'torch.errors'
local shapes = require 'torch.shapes'
local views = require 'torch.views'

local shape, strides = shapes.shape, shapes.strides
local dims = shapes.dims
local tonumber, type = tonumber, type

local indexing = {}

local function truncate(number)
   return number < 0 and math.ceil(number) or math.floor(number)
end

-- The 0-based place of slice `index` along the first dimension.
local function first_place(self, index, position)
   local size = self._numel == 0 and 0 or tonumber(self._shape[0])
   index = truncate(index)
   local place = index < 0 and size + index or index - 1
   if not (place >= 0 and place < size) then  -- NaN is out of range as well
      errors.bad_operand(position or 2, 'out of range')
   end
   return place
end

-- The same as an offset in elements.
local function first_offset(self, index, position)
   return self._offset + first_place(self, index, position) * self._strides[0]
end

-- Applies the entries of `{...}`: a number picks, a table {first, last} cuts, anything else
-- takes all. Returns the offset and leaves what remains in the arrays, with its length.
local function apply_ranges(self, keys, count)
   local n = dims(self)
   if count > n or n == 0 then errors.bad_operand(2, 'too many indices provided') end
   local offset, place = self._offset, 0
   local stopped = false  -- by something that is neither a number nor a table
   for d = 0, n - 1 do
      local key = keys[d + 1]
      if key ~= nil and type(key) ~= 'number' and type(key) ~= 'table' then stopped = true end
      if stopped then key = nil end
      local size, stride = self._shape[d], self._strides[d]
      if type(key) == 'number' then
         local index = truncate(key)
         index = index < 0 and size + index + 1 or index
         if not (index >= 1 and index <= size) then errors.bad_operand(2, 'index out of bound') end
         offset = offset + (index - 1) * stride
      else
         local first, last = 1, tonumber(size)
         if type(key) == 'table' and type(key[1]) == 'number' then
            first, last = truncate(key[1]), truncate(key[2] or key[1])
            if first < 0 then first = tonumber(size) + first + 1 end
            if last < 0 then last = tonumber(size) + last + 1 end
            if not (first >= 1 and first <= size) then errors.bad_operand(2, 'start index out of bound') end
            if not (last >= 1 and last <= size) then errors.bad_operand(2, 'end index out of bound') end
            if last < first then errors.bad_operand(2, 'end index must be greater or equal to start index') end
         end
         offset = offset + (first - 1) * stride
         shape[place], strides[place] = last - first + 1, stride
         place = place + 1
      end
   end
   return offset, place
end

-- How many positions a table of ranges names, holes included.
local function key_count(keys)
   local count = 0
   for key in pairs(keys) do
      if type(key) == 'number' and key > count then count = key end
   end
   return count
end

local function ranges(self, keys)
   return apply_ranges(self, keys, key_count(keys))
end

local function position(self, key)
   if #key == 0 or #key ~= dims(self) then errors.bad_operand(2, 'invalid size') end
   local offset = self._offset
   for d = 0, #key - 1 do
      local index = tonumber(key._data[d])
      if index < 1 or index > self._shape[d] then errors.bad_operand(2, 'index out of bound') end
      offset = offset + (index - 1) * self._strides[d]
   end
   return offset
end

local function is_mask(key)
   local row = core.tensor_row(key)
   return row and (row.class == 'Byte' or row.class == 'Bool')
end

-- The value of self[key] for a key that is neither a number nor a method name.
function indexing.get(self, key)
   local kind = type(key)
   if kind == 'table' then
      local offset, n = ranges(self, key)
      if n == 0 then return views.element(self, offset) end
      return shapes.view(self, offset, n)
   elseif kind == 'cdata' then
      if is_mask(key) then return self:maskedSelect(key) end
      if shapes.is_long_storage(key) then return views.element(self, position(self, key)) end
   elseif kind == 'string' and tonumber(key) then
      return self[tonumber(key)]
   end
   return nil
end

local function assign(view, value)
   local kind = type(value)
   if kind == 'number' or (kind == 'string' and tonumber(value)) then
      view:fill(tonumber(value))
   elseif core.is_tensor(value) then
      view:copy(value)
   else
      errors.bad_operand(3, 'torch.*Tensor expected, got ' .. class.type(value))
   end
end

local function set_element(self, offset, value)
   local number = type(value) ~= 'cdata' and tonumber(value)
   if not number then errors.bad_operand(3, 'number expected, got ' .. class.lua_type(value)) end
   elements.write(core.tensor_row(self), self._storage._data, offset, number)
end

function indexing.set(self, key, value)
   local kind = type(key)
   if kind == 'table' then
      local offset, n = ranges(self, key)
      if n == 0 then return set_element(self, offset, value) end
      return assign(shapes.view(self, offset, n), value)
   elseif kind == 'cdata' then
      if is_mask(key) then
         if type(value) == 'number' then
            self:maskedFill(key, value)
         elseif core.tensor_row(value) == core.tensor_row(self) then
            self:maskedCopy(key, value)
         else
            error('number or ' .. class.typename(self) .. ' expected', 3)
         end
         return
      end
      if shapes.is_long_storage(key) then
         return set_element(self, position(self, key), value)
      end
   end
   error(('the class %s cannot be indexed'):format(class.typename(self)), 3)
end

-- __index and __newindex of one class whose methods are in `mt`.
function indexing.make(row, mt)
   local read, write = elements.read, elements.write
   local plain = not row.half
   local get_other, set_other = indexing.get, indexing.set

   -- The element of a vector, at an index that is truncated.
   local function element(self, key)
      local place = key - 1
      if place >= 0 and place < tonumber(self._shape[0]) then
         local offset = self._offset + place * self._strides[0]
         if plain then return tonumber(self._storage._data[offset]) end
         return read(row, self._storage._data, offset)
      end
      return read(row, self._storage._data, first_offset(self, key))
   end

   local function get(self, key)
      if type(key) == 'number' then
         if self._ndim == 1 and self._numel ~= 0 then return element(self, key) end
         return core.select(row, self, 0, first_place(self, key))
      end
      local method = mt[key]
      if method ~= nil then return method end
      return get_other(self, key)
   end

   local function set(self, key, value)
      if type(key) == 'number' then
         local number = tonumber(value)
         if self._ndim == 1 and self._numel ~= 0 and number then
            write(row, self._storage._data, first_offset(self, key, 3), number)
         elseif self._ndim == 1 and self._numel ~= 0 then
            set_element(self, first_offset(self, key, 3), value)
         elseif number then
            core.select(row, self, 0, first_place(self, key, 3)):fill(number)
         else
            assign(self:narrow(1, first_place(self, key, 3) + 1, 1), value)
         end
         return
      end
      return set_other(self, key, value)
   end
   return get, set
end

return indexing
