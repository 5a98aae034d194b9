-- Other looks at the same memory. Each is a method and, where Torch7 has it, a function of
-- `torch`; a tensor as second argument makes the first one the result, which is then set.
local class = require 'torch.class'
local core = require 'relume.ffi'
local errors = require 'torch.errors'
local shapes = require 'torch.shapes'

local C, shape, strides = core.C, shapes.shape, shapes.strides
local dims, load_geometry, make_view = shapes.dims, shapes.load, shapes.view
local floor, tonumber = math.floor, tonumber

local views = {}

local function integer(value, position)
   local number = tonumber(value)
   if not number then
      local got = value == nil and 'no value' or class.lua_type(value)
      errors.bad_argument(position, 'number expected, got ' .. got)
   end
   if number ~= number then errors.bad_argument(position, 'out of range') end
   return number < 0 and math.ceil(number) or floor(number)
end

function views.narrow(self, dim, first, length)
   dim, first, length = integer(dim, 2), integer(first, 3), integer(length, 4)
   local d = shapes.dimension(self, dim)
   if not d then errors.bad_argument(2, 'out of range') end
   local size = tonumber(self._shape[d])
   if first < 1 or first > size then errors.bad_argument(3, 'out of range') end
   if length < 1 or first + length - 1 > size then errors.bad_argument(4, 'out of range') end
   return core.adopt_view(core.tensor_row(self), C.relume_tensor_narrow(self, d, first - 1, length))
end

-- One slice less a dimension; the element itself where only one dimension is left.
function views.select(self, dim, index)
   dim, index = integer(dim, 2), integer(index, 3)
   if self._ndim == 1 then dim = 1 end  -- a vector takes any dimension
   local d = shapes.dimension(self, dim)
   if not d then errors.bad_argument(2, 'out of range') end
   if index < 1 or index > self._shape[d] then errors.bad_argument(3, 'out of range') end
   if self._ndim == 1 then return views.element(self, self._offset + (index - 1) * self._strides[0]) end
   return core.select(core.tensor_row(self), self, d, index - 1)
end

-- x:sub(first1, last1 [, first2, last2, ...]), negative positions from the end.
function views.sub(self, ...)
   local pairs_given = math.max(1, math.ceil(select('#', ...) / 2))
   local n = load_geometry(self)
   local offset = self._offset
   for d = 0, pairs_given - 1 do
      local first, last = select(2 * d + 1, ...)
      first, last = integer(first, 2 * d + 2), integer(last, 2 * d + 3)
      if d >= dims(self) then errors.bad_argument(2 * d + 2, 'invalid dimension') end
      local size = tonumber(self._shape[d])
      if first < 0 then first = size + first + 1 end
      if last < 0 then last = size + last + 1 end
      if first < 1 or first > size then errors.bad_argument(2 * d + 2, 'out of range') end
      if last < 1 or last > size then errors.bad_argument(2 * d + 3, 'out of range') end
      if last < first then errors.bad_argument(2 * d + 3, 'end smaller than beginning') end
      offset = offset + (first - 1) * strides[d]
      shape[d] = last - first + 1
   end
   return make_view(self, offset, n)
end

function views.transpose(self, first, second)
   local a = shapes.dimension(self, integer(first, 2))
   local b = shapes.dimension(self, integer(second, 3))
   if not a then errors.bad_argument(1, 'out of range') end
   if not b then errors.bad_argument(2, 'out of range') end
   local n = load_geometry(self)
   shape[a], shape[b] = self._shape[b], self._shape[a]
   strides[a], strides[b] = self._strides[b], self._strides[a]
   return make_view(self, self._offset, n)
end

function views.t(self)
   if dims(self) ~= 2 then errors.bad_argument(1, 'Tensor must have 2 dimensions') end
   return views.transpose(self, 1, 2)
end

function views.permute(self, ...)
   local n = dims(self)
   local seen = {}
   if select('#', ...) ~= n then error('Invalid permutation', 2) end
   for i = 1, n do
      local d = tonumber((select(i, ...)))
      if not d or d < 1 or d > n or seen[d] then error('Invalid permutation', 2) end
      seen[d] = true
      shape[i - 1], strides[i - 1] = self._shape[d - 1], self._strides[d - 1]
   end
   return make_view(self, self._offset, n)
end

-- Windows of `size` along a dimension, `step` apart, as a new last dimension.
function views.unfold(self, dim, size, step)
   dim, size, step = integer(dim, 2), integer(size, 3), integer(step, 4)
   local d = shapes.dimension(self, dim)
   if not d then errors.bad_argument(2, 'out of range') end
   if size > self._shape[d] or size < 1 then errors.bad_argument(3, 'out of range') end
   if step < 1 then errors.bad_argument(4, 'invalid step') end
   local n = load_geometry(self)
   if n == core.max_dims then error('at most 16 dimensions', 2) end
   shape[n], strides[n] = size, strides[d]
   shape[d] = floor((tonumber(self._shape[d]) - size) / step) + 1
   strides[d] = strides[d] * step
   return make_view(self, self._offset, n + 1)
end

-- Runs `make(source, ...)`; with a result given in front, points that at it instead.
local function result_first(make)
   return function(first, second, ...)
      if core.is_tensor(second) and core.is_tensor(first) then
         return shapes.set(first, make(second, ...))
      end
      return make(first, second, ...)
   end
end

local function squeeze(self, dim)
   local n, place = dims(self), 0
   local only
   if dim ~= nil then
      only = shapes.dimension(self, integer(dim, 2))
      if not only then errors.bad_argument(2, 'dimension out of range') end
   end
   for i = 0, n - 1 do
      local dropped = self._shape[i] == 1 and (only == nil or only == i)
      if not dropped then
         shape[place], strides[place] = self._shape[i], self._strides[i]
         place = place + 1
      end
   end
   if place == 0 and n > 0 then
      shape[0], strides[0], place = 1, 1, 1
   end
   return make_view(self, self._offset, place)
end

-- Without the dimensions of size 1; a single element becomes a number, as in Torch7.
function views.squeeze(first, second, third)
   if core.is_tensor(second) then return shapes.set(first, squeeze(second, third)) end
   local view = squeeze(first, second)
   if view._numel == 1 and dims(view) == 1 and (second == nil or dims(first) == 1) then
      return views.element(view, view._offset)
   end
   return view
end

local function sizes_text(n)
   local words = {}
   for i = 0, n - 1 do words[i + 1] = tostring(tonumber(shape[i])) end
   return table.concat(words, 'x')
end

-- Replaces a -1 in `shape` by what is left; returns the number of sizes.
local function infer_size(self, n)
   local missing, known = nil, 1
   for i = 0, n - 1 do
      if shape[i] == -1 then
         if missing then error('Only one of torch.view dimensions can be -1.', 3) end
         missing = i
      else
         known = known * tonumber(shape[i])
      end
   end
   local total = tonumber(self._numel)
   if missing then
      if known <= 0 or total % known ~= 0 then
         error('The number of covered elements is not a multiple of all elements.', 3)
      end
      shape[missing] = total / known
   elseif known ~= total then
      local wanted = sizes_text(n)
      local m = dims(self)
      for i = 0, m - 1 do shape[i] = self._shape[i] end
      error(('Wrong size for view. Input size: %s. Output size: %s'):format(sizes_text(m), wanted), 3)
   end
   return n
end

local function view(self, ...)
   local first = ...
   if type(first) ~= 'number' and not shapes.is_long_storage(first) then
      error('torch.view, expected (torch.Tensor, torch.Tensor, number [, number ]*) or', 2)
   end
   for i = 2, select('#', ...) do
      if type((select(i, ...))) ~= 'number' then error(('element at index %d is not a number'):format(i), 2) end
   end
   if not self._contiguous then error('expecting a contiguous tensor', 2) end
   local n = infer_size(self, shapes.parse(2, true, ...))
   local stride = 1
   for i = n - 1, 0, -1 do
      strides[i] = stride
      stride = stride * shape[i]
   end
   return make_view(self, self._offset, n)
end
views.view = result_first(view)

function views.viewAs(first, second, third)
   if third ~= nil then
      return shapes.set(first, view(second, shapes.to_storage(third._shape, dims(third))))
   end
   return view(first, shapes.to_storage(second._shape, dims(second)))
end

local function expand(self, ...)
   local n = shapes.parse(2, false, ...)
   local m = dims(self)
   if n ~= m then error('the number of dimensions provided must equal tensor:dim()', 2) end
   for i = 0, n - 1 do
      strides[i] = self._strides[i]
      if shape[i] ~= self._shape[i] then
         if self._shape[i] ~= 1 then
            error('incorrect size: only supporting singleton expansion (size=1)', 2)
         end
         strides[i] = 0
      end
   end
   return make_view(self, self._offset, n)
end
views.expand = result_first(expand)

function views.expandAs(first, second, third)
   if third ~= nil then
      return shapes.set(first, expand(second, shapes.to_storage(third._shape, dims(third))))
   end
   return expand(first, shapes.to_storage(second._shape, dims(second)))
end

-- The words in which Torch7 said these, of functions that it called inside.
local function size_along(self, dim)
   if not shapes.dimension(self, dim) then
      error(("bad argument #1 to 'size' (dimension %d out of range of %dD tensor)"):format(dim, dims(self)), 3)
   end
   return self:size(dim)
end

local function check_part(count)
   if type(count) ~= 'number' then
      error(("bad argument #1 to 'ceil' (number expected, got %s)"):format(class.lua_type(count)), 3)
   end
end

-- Parts of `size` along a dimension (the last may be shorter), in a table.
function views.split(first, ...)
   local result, self, size, dim
   if type(first) == 'table' then
      result, self, size, dim = first, ...
      for i = #result, 1, -1 do result[i] = nil end
   else
      result, self, size, dim = {}, first, ...
   end
   dim = dim or 1
   local total = size_along(self, dim)
   check_part(size)
   if size < 1 then errors.bad_argument(3, 'out of range') end
   for start = 1, total, size do
      result[#result + 1] = views.narrow(self, dim, start, math.min(size, total - start + 1))
   end
   return result
end

function views.chunk(first, ...)
   local result, self, count, dim
   if type(first) == 'table' then
      result, self, count, dim = first, ...
   else
      result, self, count, dim = {}, first, ...
   end
   dim = dim or 1
   local total = size_along(self, dim)
   return views.split(result, self, count + 0 > 0 and math.ceil(total / count) or total, dim)
end

views.functions = {
   'view', 'viewAs', 'expand', 'expandAs', 'split', 'chunk', 'permute',
}

return views
