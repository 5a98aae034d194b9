-- Layers of dpnn that take one line of arithmetic.
local Module = torch.getmetatable 'nn.Module'

-- The elements of a table, last first.
local ReverseTable = torch.class('nn.ReverseTable', 'nn.Module')

local function reversed(list)
   local result = {}
   for i = #list, 1, -1 do result[#result + 1] = list[i] end
   return result
end

function ReverseTable:__init()
   Module.__init(self)
   self.output, self.gradInput = {}, {}
end

function ReverseTable:updateOutput(input)
   self.output = reversed(input)
   return self.output
end

function ReverseTable:updateGradInput(input, gradOutput)
   self.gradInput = reversed(gradOutput)
   return self.gradInput
end

-- Elements within bounds; the gradient passes unchanged.
local Clip = torch.class('nn.Clip', 'nn.Module')

function Clip:__init(minval, maxval)
   if minval >= maxval then error('nn.Clip: the bounds must be in order', 2) end
   Module.__init(self)
   self.minval, self.maxval = minval, maxval
end

function Clip:updateOutput(input)
   self.output:resizeAs(input):copy(input):clamp(self.minval, self.maxval)
   return self.output
end

function Clip:updateGradInput(input, gradOutput)
   self.gradInput:set(gradOutput)
   return self.gradInput
end

-- The place of the largest element along a dimension.
local ArgMax = torch.class('nn.ArgMax', 'nn.Module')

function ArgMax:__init(dim, nInputDim, asLong)
   Module.__init(self)
   self.dim, self.nInputDim = dim or 1, nInputDim or 9999
   self.asLong = asLong == nil or asLong
   if self.asLong then self.output = torch.LongTensor() end
end

function ArgMax:updateOutput(input)
   local dim = input:dim() > self.nInputDim and self.dim + 1 or self.dim
   local _, places = torch.max(input, dim)
   if input:dim() > 1 then places = places:select(dim, 1) end
   self.output = self.asLong and places:clone() or places:type(self._type)
   return self.output
end

function ArgMax:updateGradInput(input)
   self.gradInput:resizeAs(input):zero()
   return self.gradInput
end

-- In training, drops the whole input with probability p.
local TotalDropout = torch.class('nn.TotalDropout', 'nn.Module')

function TotalDropout:__init(p)
   Module.__init(self)
   self.p, self.train = p or 0.5, true
   if self.p >= 1 or self.p < 0 then error('<TotalDropout> illegal percentage, must be 0 <= p < 1', 2) end
end

function TotalDropout:updateOutput(input)
   self.output:resizeAs(input):copy(input)
   if self.train ~= false then
      self.noise = torch.bernoulli(1 - self.p)
      self.output:mul(self.noise)
   end
   return self.output
end

function TotalDropout:updateGradInput(input, gradOutput)
   if self.train == false then error('backward only defined while training', 2) end
   self.gradInput:resizeAs(gradOutput):copy(gradOutput):mul(self.noise)
   return self.gradInput
end

function TotalDropout:__tostring__() return ('%s(%f)'):format(torch.type(self), self.p) end

local Dictionary = torch.class('nn.Dictionary', 'nn.LookupTable')

function Dictionary:__init(dictSize, embeddingSize, accUpdate)
   torch.getmetatable('nn.LookupTable').__init(self, dictSize, embeddingSize)
   if accUpdate then self.accUpdate = true end
end

