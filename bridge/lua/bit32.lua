-- The `bit32` package, Lua 5.2's operations on the bits of numbers below 2^32.
local bit = require 'bit'

local bit32 = {}

-- LuaJIT's results are signed.
local function unsigned(number) return number % 2 ^ 32 end

for _, name in ipairs {'band', 'bor', 'bxor'} do
   local of_any_count = bit[name]
   local of_none = name == 'band' and -1 or 0
   bit32[name] = function(...)
      if select('#', ...) == 0 then return unsigned(of_none) end
      return unsigned(of_any_count(...))
   end
end

function bit32.bnot(number) return unsigned(bit.bnot(number)) end
function bit32.btest(...) return bit32.band(...) ~= 0 end

-- Shifts by 32 or more leave nothing; by a negative number they go the other way.
function bit32.lshift(number, places)
   if places < 0 then return bit32.rshift(number, -places) end
   return places > 31 and 0 or unsigned(bit.lshift(number, places))
end
function bit32.rshift(number, places)
   if places < 0 then return bit32.lshift(number, -places) end
   return places > 31 and 0 or unsigned(bit.rshift(number, places))
end
function bit32.arshift(number, places)
   if places < 0 then return bit32.lshift(number, -places) end
   return unsigned(bit.arshift(number, math.min(places, 31)))
end
function bit32.lrotate(number, places) return unsigned(bit.rol(number, places)) end
function bit32.rrotate(number, places) return unsigned(bit.ror(number, places)) end

local function mask(field, width)
   width = width or 1
   if field < 0 or width < 1 or field + width > 32 then
      error('trying to access non-existent bits', 3)
   end
   return width == 32 and 2 ^ 32 - 1 or 2 ^ width - 1
end
function bit32.extract(number, field, width)
   local ones = mask(field, width)
   return bit32.band(bit32.rshift(number, field), ones)
end
function bit32.replace(number, value, field, width)
   local ones = mask(field, width)
   local kept = bit32.band(number, bit32.bnot(bit32.lshift(ones, field)))
   return bit32.bor(kept, bit32.lshift(bit32.band(value, ones), field))
end

return bit32
