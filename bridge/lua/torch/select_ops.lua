-- Picking elements by LongTensors of 1-based positions and by ByteTensor masks.
local core = require 'relume.ffi'
local class = require 'torch.class'
local errors = require 'torch.errors'
local maths = require 'torch.maths'
local reduce = require 'torch.reduce'
local shapes = require 'torch.shapes'
local types = require 'relume.types'

local tensor_row, is_tensor, ops = core.tensor_row, core.is_tensor, core.ops
local dims = shapes.dims
local bool_row, byte_row, long_row = types.by_class.Bool, types.by_class.Byte, types.by_class.Long

local functions, methods = maths.functions, maths.methods

-- The core's positions for Torch7's, checked against the size they point into.
local function zero_based(index, limit, text, position)
   if index._numel == 0 then return index end
   if functions.min(index) < 1 or functions.max(index) > limit then
      if position then errors.bad_argument(position, text) end
      error(text, 3)
   end
   return core.call('sub', index, 1)
end

-- Checks that the arguments are of these classes, in Torch7's words; 'same' is that of the first one.
local function check_arguments(wanted, ...)
   local count, own = select('#', ...), tensor_row((...)).tensor_class
   if count ~= #wanted then error(table.concat(wanted, ', '):gsub('same', own) .. ' expected', 3) end
   for i = 1, count do
      local value, class_name = select(i, ...), wanted[i]
      if class_name == 'same' then class_name = own end
      local fits = class_name == 'number' and type(value) == 'number'
         or class_name ~= 'number' and class.typename(value) == class_name
      if not fits and class_name == 'number' then errors.bad_argument(i, 'number expected, got ' .. class.lua_type(value)) end
      if not fits then errors.expected_object(i, class_name, value, (select(i - 1, ...))) end
   end
end

local indexed_tensor = {'same', 'number', 'torch.LongTensor', 'same'}
local indexed_number = {'same', 'number', 'torch.LongTensor', 'number'}
local masked_tensor = {'same', 'torch.ByteTensor', 'same'}
local masked_number = {'same', 'torch.ByteTensor', 'number'}

local function check_dimension(x, dim)
   local d = shapes.dimension(x, dim)
   if not d then errors.bad_argument(4, ('Indexing dim %d is out of bounds of tensor'):format(dim)) end
   return d
end

local function check_vector(index)
   if dims(index) ~= 1 then errors.bad_argument(3, 'Index is supposed to be a vector') end
end

local function index_select(result, x, dim, index)
   if tensor_row(index) ~= long_row then errors.expected_object(3, 'torch.LongTensor', index, dim) end
   if type(dim) ~= 'number' then errors.expected(2, 'number', dim) end
   check_vector(index)
   local d = check_dimension(x, dim)
   local whole_slices = d == 0 and x._contiguous or dims(x) == 1
   local places = zero_based(index, x._shape[d], whole_slices and 'index out of range' or 'out of range',
      not whole_slices and 3 or nil)
   local value = core.call('index_select', x, d, places)
   if result then return shapes.resize_as(result, value):copy(value) end
   return value
end

-- With a result in front the answer is the index, as in Torch7.
function methods.all.index(...)
   local a, b, c, d = ...
   local count = select('#', ...)
   if count < 3 or count > 4 then
      local name = tensor_row(a).tensor_class
      error(('%s, number, torch.LongTensor | %s, %s, number, torch.LongTensor expected'):format(name, name, name), 2)
   end
   if count == 4 then
      index_select(a, b, c, d)
      return d
   end
   return index_select(nil, a, b, c)
end

-- Changes slices of x in place: `op` of the core, or slice by slice where Torch7 takes a source that the core does
-- not, of another shape with as many elements.
local function change_slices(op, x, dim, index, value, f)
   check_vector(index)
   local d = check_dimension(x, dim)
   local places = zero_based(index, x._shape[d], 'out of range', dims(x) == 1 and 2 or 3)
   if core.try_in_place(op, x, d, places, value) then return value end
   for i = 1, index:size(1) do f(x:narrow(dim, index[i], 1), value:narrow(dim, i, 1)) end
   return value  -- Torch7 gives the last argument back
end

local function check_index_count(index, source, dim)
   check_dimension(source, dim)
   if index:size(1) ~= source:size(dim) then
      errors.bad_argument(4, 'Number of indices should be equal to source:size(dim)')
   end
end

function methods.all.indexCopy(...)
   local x, dim, index, source = ...
   check_arguments(indexed_tensor, ...)
   check_vector(index)
   check_index_count(index, source, dim)
   return change_slices('index_copy_', x, dim, index, source, function(slice, part) slice:copy(part) end)
end

function methods.all.indexAdd(...)
   local x, dim, index, source = ...
   check_arguments(indexed_tensor, ...)
   check_vector(index)
   check_index_count(index, source, dim)
   return change_slices('index_add_', x, dim, index, source, function(slice, part) slice:add(part) end)
end

function methods.all.indexFill(...)
   local x, dim, index, value = ...
   check_arguments(indexed_number, ...)
   if tensor_row(x).integer then value = maths.truncate(value) end
   return change_slices('index_fill_', x, dim, index, value)
end

local function gather(a, b, c, d)
   local result, x, dim, index = nil, a, b, c
   if is_tensor(b) then result, x, dim, index = a, b, c, d end
   if tensor_row(index) ~= long_row then errors.invalid_arguments(3, x, dim, index) end
   if dims(index) ~= dims(x) or (result and dims(result) ~= dims(index)) then
      errors.bad_argument(2, 'Input tensor must have same dimensions as output tensor')
   end
   local target = shapes.dimension(x, dim)
   if not target then errors.bad_argument(3, 'Index dimension is out of bounds') end
   for i = 0, dims(x) - 1 do
      if i ~= target and index._shape[i] ~= x._shape[i] then
         error(('Expected tensor %s, src %s and index %s to have the same size in dimension %d'):format(
            errors.shape_text(result or index), errors.shape_text(x), errors.shape_text(index), i + 1), 2)
      end
   end
   local picked = core.call('gather', x, target,
      zero_based(index, x._shape[target], 'Invalid index in gather'))
   if result then return result:copy(picked) end
   return picked
end
functions.gather, methods.all.gather = gather, gather

local function scatter(x, dim, index, source)
   if tensor_row(index) ~= long_row then errors.invalid_arguments(4, x, dim, index, source) end
   local d = reduce.check_dimension(x, dim, 2)
   local places = zero_based(index, x._shape[d], 'Invalid index in scatter')
   core.call_in_place('scatter_', x, d, places, source)  -- the source may be larger than the index
   return x
end
functions.scatter, methods.all.scatter = scatter, scatter

-- The positions of the elements that are not zero, one row each.
local function nonzero(a, b)
   local result, x = nil, a
   if b ~= nil then result, x = a, b end
   result = result or shapes.new(long_row, 0)
   if x._numel == 0 then return result:resize(0) end
   local places = core.call('nonzero', x)
   if places._numel == 0 then return result:resize(0) end
   shapes.resize_as(result, places):copy(places)
   return core.scalar_in_place(ops.add, result, 1, true)
end
functions.nonzero, methods.all.nonzero = nonzero, nonzero

----------------------------------------------------------------------------------------
-- Masks.

-- The mask as the core wants it, of the shape of x.
local function as_mask(mask, x, name)
   local row = tensor_row(mask)
   if row ~= byte_row and row ~= bool_row then
      errors.expected_object(2, 'torch.ByteTensor', mask, x)
   end
   if mask._numel ~= x._numel then
      errors.inconsistent_size({name, 'mask'}, {x, mask})
   end
   mask = shapes.as(mask, x)
   if row == bool_row then return mask end
   return mask:type(bool_row.tensor_class)
end

local function check_ones(mask)
   if tensor_row(mask) == byte_row and mask._numel > 0 and functions.max(mask) > 1 then
      error('Mask tensor can take 0 and 1 values only', 3)
   end
end

function methods.all.maskedSelect(a, b, c)
   if b == nil then
      local name = tensor_row(a).tensor_class
      error(('%s, torch.ByteTensor | %s, %s, torch.ByteTensor expected'):format(name, name, name), 2)
   end
   local x, mask = a, b
   if c ~= nil then x, mask = b, c end
   local picked = core.call('masked_select', x, as_mask(mask, x, 'src'))
   if c == nil then
      if picked._numel == 0 then return shapes.new(tensor_row(x), 0) end
      return picked
   end
   -- with a result in front, Torch7 fills it and gives the mask back
   shapes.resize_as(a, picked):copy(picked)
   return mask
end

function methods.all.maskedFill(...)
   local x, mask, value = ...
   check_arguments(masked_number, ...)
   local places = as_mask(mask, x, 'tensor')
   check_ones(mask)
   core.call_in_place('masked_fill', x, places, value)
   return value  -- Torch7 gives the last argument back
end

function methods.all.maskedCopy(...)
   local x, mask, source = ...
   check_arguments(masked_tensor, ...)
   if mask._numel ~= x._numel then
      error('Number of elements of destination tensor != Number of elements in mask', 2)
   end
   local places = as_mask(mask, x, 'tensor')
   check_ones(mask)
   local count = functions.sum(mask)
   if count == 0 then return x end
   local values = source:type(x:type()):contiguous():view(-1)
   local missing = source._numel < count
   if missing then
      -- what there is arrives before the error does
      local positions = functions.nonzero(places:view(-1)):view(-1):narrow(1, 1, source:nElement())
      local flat = x:contiguous():view(-1)
      flat:indexCopy(1, positions, values)
      x:copy(flat)
      error('Number of elements of src < number of ones in mask', 2)
   end
   core.call_in_place('masked_scatter_', x, places, values)
   return x
end

return methods
