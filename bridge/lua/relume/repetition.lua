-- A tensor that `expand` made shows places of its memory several times. The core does not write into such a tensor;
-- Torch7 goes through the elements in order, so that a place changes once for each time that it is shown.
local repetition = {}

-- The first dimension, 0-based, along which `tensor` shows the same places again; nil when there is none.
local function repeated_dimension(tensor)
   for d = 0, tensor._ndim - 1 do
      if tensor._strides[d] == 0 and tensor._shape[d] > 1 then return d end
   end
end

-- `values` are the arguments of a call, the array that `invoke(op, count, target)` passes to the core; `is_tensor(i)`
-- says which are tensors and `adopt` wraps what C hands out. Gives a function that makes an element-wise call again for
-- each slice of its target, whose tensors have the target's shape; it is false when the target shows nothing twice.
function repetition.make(C, values, is_tensor, adopt)
   local function narrow(tensor, d, place) return adopt(C.relume_tensor_narrow(tensor, d, place, 1)) end

   local function in_order(invoke, op, count, target)
      local d = repeated_dimension(target)
      if not d then return false end
      local whole = {}
      for i = 0, count - 1 do
         if is_tensor(i) then whole[i] = adopt(C.relume_tensor_alias(values[i].tensor)) end
      end
      for place = 0, tonumber(target._shape[d]) - 1 do
         local parts = {}  -- alive during the call
         for i, tensor in pairs(whole) do
            parts[i] = narrow(tensor, d, place)
            values[i].tensor = parts[i]
         end
         local part = narrow(target, d, place)
         if invoke(op, count, part) < 0 and not in_order(invoke, op, count, part) then return false end
      end
      return true
   end
   return in_order
end

return repetition
