-- 16-bit floating numbers: LuaJIT has no C type for them, so elements are read and written
-- by their bits. Conversion of whole tensors is an op of the core.
local bit = require 'bit'
local ffi = require 'ffi'

local halves = {}
local float_bits = ffi.new('union { float number; uint32_t bits; }')

function halves.to_number(bits)
   local sign = bits >= 0x8000 and -1 or 1
   local exponent = bit.band(bit.rshift(bits, 10), 0x1f)
   local fraction = bit.band(bits, 0x3ff)
   if exponent == 0 then return sign * math.ldexp(fraction, -24) end
   if exponent == 31 then return fraction == 0 and sign * math.huge or 0 / 0 end
   return sign * math.ldexp(fraction + 0x400, exponent - 25)
end

-- Rounds to the nearest, ties to even.
local function round_even(x)
   local low = math.floor(x)
   local rest = x - low
   if rest > 0.5 or (rest == 0.5 and low % 2 == 1) then return low + 1 end
   return low
end

function halves.from_number(number)
   if number ~= number then return 0x7e00 end
   local sign = 0
   if number < 0 or 1 / number < 0 then sign, number = 0x8000, -number end
   if number >= 65520 then return sign + 0x7c00 end
   if number < 2 ^ -14 then return sign + round_even(number * 2 ^ 24) end
   local _, exponent = math.frexp(number)
   -- a fraction that rounds up to 1024 carries into the exponent by itself
   return sign + (exponent + 13) * 0x400 + round_even(math.ldexp(number, 11 - exponent))
end

function halves.brain_to_number(bits)
   float_bits.bits = bits * 65536
   return tonumber(float_bits.number)
end

function halves.brain_from_number(number)
   float_bits.number = number
   local bits = tonumber(float_bits.bits)
   if number ~= number then return 0x7fc0 end
   return bit.band(round_even(bits / 65536), 0xffff)
end

return halves
