-- Reading and writing single elements by element type, with C's conversions: fractions are
-- cut towards zero and integers wrap.
local ffi = require 'ffi'
local halves = require 'torch.halves'

local elements = {}
local tonumber = tonumber
local int64 = ffi.typeof 'int64_t'

function elements.read(row, data, index)
   local value = data[index]
   if row.half then
      if row.class == 'Half' then return halves.to_number(value) end
      return halves.brain_to_number(value)
   end
   return tonumber(value)
end

function elements.write(row, data, index, number)
   if row.half then
      local encode = row.class == 'Half' and halves.from_number or halves.brain_from_number
      data[index] = encode(number)
   elseif row.integer and (number >= 2147483648 or number < -2147483648) then
      data[index] = int64(number)  -- beyond what LuaJIT converts exactly on its own
   else
      data[index] = number
   end
end

return elements
