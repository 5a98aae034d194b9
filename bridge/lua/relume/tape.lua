-- The core's tape in Lua: `tape.op.name(...)` calls a registered op; within `tape.record` such
-- calls are recorded, and `gradients` runs what was recorded backwards.
local ffi = require 'ffi'
local core = require 'relume.ffi'

ffi.cdef [[
void *relume_tensor_watch(void *tensor);
int relume_gradients(void *const *outputs, void *const *output_gradients, int output_count,
                     void *const *inputs, int input_count, void **results);
]]

local C, adopt, is_tensor = core.C, core.adopt, core.is_tensor
local tape = {}

-- Ops by name; dimensions count from 0, shapes follow NumPy's rules.
tape.op = setmetatable({}, {
   __index = function(ops, name)
      local function f(...) return core.call(name, ...) end
      ops[name] = f
      return f
   end,
})

----------------------------------------------------------------------------------------
-- Tensors in nested tables.

-- The same nesting with f(tensor) in the place of each tensor.
function tape.map(value, f)
   if is_tensor(value) then return f(value) end
   if type(value) ~= 'table' then return value end
   local result = {}
   for key, part in pairs(value) do result[key] = tape.map(part, f) end
   return result
end

-- Zeros in the nesting of a value.
function tape.zeros_like(value)
   if is_tensor(value) then return value.new(value:size()):zero() end
   if type(value) ~= 'table' then return 0 end
   local result = {}
   for key, part in pairs(value) do result[key] = tape.zeros_like(part) end
   return result
end

-- f(tensor, its counterpart in `other`), in an order that only depends on the keys.
function tape.each(value, other, f)
   if is_tensor(value) then return f(value, other) end
   if type(value) ~= 'table' then return end
   local keys = {}
   for key in pairs(value) do keys[#keys + 1] = key end
   table.sort(keys, function(a, b)
      if type(a) == type(b) then return a < b end
      return type(a) == 'number'
   end)
   for _, key in ipairs(keys) do tape.each(value[key], other and other[key], f) end
end

----------------------------------------------------------------------------------------

local function watch(tensor)
   return adopt(C.relume_tensor_watch(tensor))
end

-- Calls compute(input, parameters...) with leaves that share memory with the tensors given. The
-- record holds the leaves and what came out.
function tape.record(compute, input, parameters)
   local record = {inputs = {}, input_leaves = {}, parameter_leaves = {}}
   tape.each(input, nil, function(tensor) table.insert(record.inputs, tensor) end)
   local leaves = tape.map(input, watch)
   tape.each(leaves, nil, function(leaf) table.insert(record.input_leaves, leaf) end)
   local count = #parameters
   for i = 1, count do
      record.parameter_leaves[i] = parameters[i] and watch(parameters[i]) or false
   end
   local arguments = {}
   for i = 1, count do arguments[i] = record.parameter_leaves[i] or nil end
   record.output = core.recorded(compute, leaves, unpack(arguments, 1, count))
   return record
end

-- Was it made from these very tensors?
function tape.is_of(record, input)
   local place, same = 0, true
   tape.each(input, nil, function(tensor)
      place = place + 1
      same = same and record.inputs[place] == tensor
   end)
   return same and place == #record.inputs
end

local function pointers(list)
   local array = ffi.new('void *[?]', math.max(1, #list))
   for i, tensor in ipairs(list) do array[i - 1] = tensor end
   return array
end

-- The recorded outputs that have a gradient, and these gradients in their shapes.
local function match(output, gradOutput)
   local outputs, gradients = {}, {}
   tape.each(output, gradOutput, function(tensor, gradient)
      if not is_tensor(gradient) or not tensor._requires_grad then return end
      if gradient._numel ~= tensor._numel then
         error('gradOutput must look like the output', 0)
      end
      local shape = {}
      for i = 1, tensor._ndim do shape[i] = tonumber(tensor._shape[i - 1]) end
      outputs[#outputs + 1] = tensor
      gradients[#gradients + 1] = core.call('reshape', gradient, shape)
   end)
   return outputs, gradients
end

-- The gradients of the leaves in `wanted`, each nil where it plays no part.
function tape.gradients(record, gradOutput, wanted)
   local outputs, gradients = match(record.output, gradOutput)
   local leaves, places = {}, {}
   for i, leaf in ipairs(wanted) do
      if leaf and leaf._requires_grad then
         leaves[#leaves + 1] = leaf
         places[#places + 1] = i
      end
   end
   local result = {}
   if #outputs == 0 or #leaves == 0 then return result end
   local found = ffi.new('void *[?]', #leaves)
   local status = C.relume_gradients(pointers(outputs), pointers(gradients), #outputs, pointers(leaves),
      #leaves, found)
   if status < 0 then core.fail() end
   for i, place in ipairs(places) do
      if found[i - 1] ~= nil then result[place] = adopt(found[i - 1]) end
   end
   return result
end

return tape
