-- Are two values the same, within a tolerance? What torch.Tester's `eq` and its kin ask.
-- Each function gives whether it is so, and in words why not.
local class = require 'torch.class'
local core = require 'relume.ffi'

local comparison = {}

local function is_storage(value) return core.is_storage(value) end

-- The greatest difference of two tensors or storages of the same type and size.
local function greatest_difference(a, b)
   if is_storage(a) then
      local greatest = 0
      for i = 1, #a do greatest = math.max(greatest, math.abs(a[i] - b[i])) end
      return greatest
   end
   if a:nElement() == 0 then return 0 end
   return (a:double() - b:double()):abs():max()
end

local function within(kind, a, b, tolerance, negated)
   local difference = greatest_difference(a, b)
   local same = difference <= tolerance
   if same ~= negated then return true end
   return false, ('%s%s violation: max diff=%s, tolerance=%s'):format(kind, negated and 'NE(==)' or 'EQ(==)',
      tostring(difference), tostring(tolerance))
end

-- Sizes as a string that can be compared.
local function sizes(tensor)
   return table.concat(tensor:size():totable(), 'x')
end

function comparison.tensors(a, b, tolerance, negated)
   if a:dim() ~= b:dim() then return negated, 'The tensors have different dimensions' end
   if a:type() ~= b:type() then return negated, 'The tensors have different types' end
   if a:dim() == 0 then return not negated, 'Both tensors are empty' end
   if sizes(a) ~= sizes(b) then return negated, 'The tensors have different sizes' end
   return within('Tensor', a, b, tolerance, negated)
end

function comparison.storages(a, b, tolerance, negated)
   if a:size() ~= b:size() then return negated, 'The storages have different sizes' end
   if class.typename(a) ~= class.typename(b) then
      return negated, 'The storages have different types'
   end
   return within('Storage', a, b, tolerance, negated)
end

-- Two things that are not the same, in the words of a failure.
local function relation(a, b, negated, tolerance)
   local text = negated and 'NE failed: %s == %s' or 'EQ failed: %s ~= %s'
   text = text:format(tostring(a), tostring(b))
   if tolerance and tolerance ~= 0 then text = text .. ' with tolerance=' .. tostring(tolerance) end
   return text
end

-- Tables have the same keys and values; the first difference is told.
function comparison.tables(a, b, tolerance, negated)
   for key, value in pairs(a) do
      local same, message = comparison.any(value, b[key], tolerance, false)
      if not same then
         return negated, ('At table location %s: %s'):format(tostring(key), message)
      end
   end
   for key, value in pairs(b) do
      if a[key] == nil then
         return negated, ('At table location %s: %s'):format(tostring(key), relation(nil, value, false))
      end
   end
   return not negated, 'The tables are equal'
end

local function typed(value)
   return ('%s (%s)'):format(tostring(value), class.type(value))
end

function comparison.any(a, b, tolerance, negated)
   tolerance = tolerance or 0
   if core.is_tensor(a) and core.is_tensor(b) then
      return comparison.tensors(a, b, tolerance, negated)
   elseif is_storage(a) and is_storage(b) then
      return comparison.storages(a, b, tolerance, negated)
   elseif type(a) ~= type(b) then
      return negated, ('EQ failed: values have different types (first: %s, second: %s)'):format(
         type(a), type(b))
   elseif type(a) == 'number' then
      local same = a == b or math.abs(a - b) <= tolerance
      return same ~= negated, relation(a, b, negated, tolerance)
   elseif type(a) == 'table' then
      return comparison.tables(a, b, tolerance, negated)
   end
   local same = a == b
   local text = negated and 'NE failed: %s == %s' or 'EQ failed: %s ~= %s'
   return same ~= negated, text:format(typed(a), typed(b))
end

return comparison
