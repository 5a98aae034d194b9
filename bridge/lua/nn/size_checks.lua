-- What layers and criterions say of inputs whose sizes do not fit, in the words of Torch7: scripts match on
-- them.
local shape_text = require('torch.errors').shape_text

local checks = {}

local function bad_argument(position, text)
   error(("bad argument #%d to 'v' (%s)"):format(position, text), 0)
end

function checks.same_count(input, target)
   local a, b = input:nElement(), target:nElement()
   if a ~= b then
      error(('input and target have different number of elements: input%s has %d elements, while target%s has %d '
         .. 'elements'):format(shape_text(input), a, shape_text(target), b), 0)
   end
end

local function check_planes_dimensions(input)
   if input:dim() ~= 3 and input:dim() ~= 4 then
      bad_argument(2, '3D or 4D input tensor expected but got: ' .. shape_text(input))
   end
end

-- How many places a window of `k` has along `size` elements.
local function places(size, k, step, pad, dilation, up)
   local rest = size + 2 * pad - (dilation * (k - 1) + 1)
   local count = (up and math.ceil or math.floor)(rest / step) + 1
   if up and pad > 0 and (count - 1) * step >= size + pad then count = count - 1 end
   return count
end

local function check_places(self, input, planes, separator, up)
   local n = input:dim()
   local height, width = input:size(n - 1), input:size(n)
   local high = places(height, self.kH, self.dH, self.padH or 0, self.dilationH or 1, up)
   local wide = places(width, self.kW, self.dW, self.padW or 0, self.dilationW or 1, up)
   if high < 1 or wide < 1 then
      local text = 'Given input size: (%dx%dx%d). Calculated output size: (%dx%dx%d). Output size is too small'
      error(text:gsub('dx', 'd' .. separator):format(input:size(n - 2), height, width, planes or input:size(n - 2),
         high, wide), 0)
   end
end

-- Of what takes a number of planes.
function checks.planes(self, input)
   check_planes_dimensions(input)
   local n = input:dim()
   if input:size(n - 2) ~= self.nInputPlane then
      error(('Need input of dimension %d and input.size[%d] == %d but got input to be of shape: %s'):format(n, n - 3,
         self.nInputPlane, shape_text(input)), 0)
   end
end

-- Of a convolution over planes.
function checks.convolution(self, input)
   checks.planes(self, input)
   check_places(self, input, self.nOutputPlane, ' x ')
end

-- Of pooling over planes.
function checks.pooling(self, input)
   check_planes_dimensions(input)
   local padW, padH = self.padW or 0, self.padH or 0
   if padW > self.kW / 2 or padH > self.kH / 2 then
      bad_argument(2, ('pad should be smaller than half of kernel size, but got padW = %d, padH = %d, kW = %d, kH = %d')
         :format(padW, padH, self.kW, self.kH))
   end
   check_places(self, input, nil, 'x', self.ceil_mode)
end

-- Of a convolution over sequences.
function checks.frames(self, input)
   local n = input:dim()
   if n ~= 2 and n ~= 3 then
      bad_argument(2, '2D or 3D (batch mode) tensor expected for input, but got: ' .. shape_text(input))
   end
   if input:size(n) ~= self.inputFrameSize then
      bad_argument(2, ('invalid input frame size. Got: %d, Expected: %d'):format(input:size(n), self.inputFrameSize))
   end
   if input:size(n - 1) < self.kW then
      bad_argument(2, ('input sequence smaller than kernel size. Got: %d, Expected: %d'):format(input:size(n - 1),
         self.kW))
   end
end

-- Of classes for rows of a matrix.
function checks.classes(weights, rows, labels)
   if labels:size(1) ~= rows:size(1) then
      error("Assertion `THIndexTensor_(size)(target, 0) == batch_size' failed. ", 0)
   end
   if weights and weights:nElement() ~= rows:size(2) then
      error(('weight tensor should be defined either for all %d classes or no classes but got weight tensor of shape: %s')
         :format(rows:size(2), shape_text(weights)), 0)
   end
end

-- Of two factors, matrices or batches of them.
function checks.factors(a, b)
   local n = a:dim()
   if n ~= 2 and n ~= 3 then error('input tensors must be 2D or 3D', 0) end
   if b:dim() ~= n then error(('second input tensor must be %dD'):format(n), 0) end
   if n == 3 and a:size(1) ~= b:size(1) then error('inputs must contain the same number of minibatches', 0) end
   if a:size(n) ~= b:size(n - 1) then error('matrix sizes do not match', 0) end
end

return checks
