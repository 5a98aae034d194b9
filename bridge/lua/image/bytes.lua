-- Images of bytes, whose 0 .. 255 stand for the numbers 0 .. 1; as in Torch7, single precision says how
-- the middle between two bytes is rounded.
local bytes = {}

local function is_bytes(x) return torch.type(x) == 'torch.ByteTensor' end

function bytes.as_numbers(x)
   if is_bytes(x) then return x:float():div(255):double() end
   return x:double()
end

-- Numbers rounded to bytes.
function bytes.rounded(x)
   return torch.add(x:double(), 0.5):floor():clamp(0, 255):byte()
end

-- What a function gives for the image `like`: of its type, and in `result` if there is one.
function bytes.give(value, like, result)
   if is_bytes(like) then
      value = bytes.rounded(value:float():mul(255))
   elseif torch.type(like):find 'Float' or torch.type(like):find 'Double' then
      value = value:type(torch.type(like))
   end
   if not result then return value end
   return result:resizeAs(value):copy(value)
end

return bytes
