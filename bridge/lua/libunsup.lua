-- What the C half of the package unsup added to tensors; the rest of that package is Lua.
local core = require 'relume.ffi'

-- Moves every element towards zero by `size`, in place; those nearer than that become zero.
local function shrinkage(tensor, size)
   if not core.is_tensor(tensor) or type(size) ~= 'number' or size < 0 then
      error('shrinkage: expected a tensor and a number that is not negative', 2)
   end
   return tensor:copy(torch.cmul(torch.sign(tensor), torch.abs(tensor):csub(size):cmax(0)))
end

for _, class in ipairs {'torch.FloatTensor', 'torch.DoubleTensor'} do
   torch.getmetatable(class).shrinkage = shrinkage
end

unsup = unsup or {}
return unsup
