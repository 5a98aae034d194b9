-- Tensors in nested tables, by the names that package rnn has for them (`nn.rnn.recursiveCopy`).
local recursive = {
   recursiveResizeAs = nn.utils.recursiveResizeAs,
   recursiveCopy = nn.utils.recursiveCopy,
   recursiveAdd = nn.utils.recursiveAdd,
   recursiveType = nn.utils.recursiveType,
}

-- Gives `t1` the nesting of `t2`, its tensors as memory of the same elements.
function recursive.recursiveSet(t1, t2)
   if torch.isTensor(t2) then
      t1 = torch.isTensor(t1) and t1 or t2.new()
      return t1:set(t2), t2
   end
   t1 = type(t1) == 'table' and t1 or {}
   for key, part in pairs(t2) do t1[key] = recursive.recursiveSet(t1[key], part) end
   for key in pairs(t1) do
      if t2[key] == nil then t1[key] = nil end
   end
   return t1, t2
end

function recursive.recursiveFill(t, value) return nn.utils.recursiveFill(t, value) end

-- A new nest of tensors of the same sizes.
function recursive.recursiveNew(t)
   if torch.isTensor(t) then return t.new(t:size()) end
   local result = {}
   for key, part in pairs(t) do result[key] = recursive.recursiveNew(part) end
   return result
end

-- A copy of a nest, and the sum of two of which either may be nil.
function recursive.recursiveClone(t)
   return (recursive.recursiveCopy(nil, t))
end

function recursive.recursiveSum(first, second)
   if first == nil then return second end
   if second == nil then return first end
   return (recursive.recursiveAdd(recursive.recursiveClone(first), second))
end

-- f(tensor) in the place of each tensor.
function recursive.recursiveMap(t, f)
   if torch.isTensor(t) then return f(t) end
   local result = {}
   for key, part in pairs(t) do result[key] = recursive.recursiveMap(part, f) end
   return result
end

return recursive
