-- Layers that add or multiply random numbers while training, beside nn.Dropout.

local SpatialDropout, Module = torch.class('nn.SpatialDropout', 'nn.Module')
SpatialDropout.plane_dims = 2

function SpatialDropout:__init(p, stochasticInference)
   Module.__init(self)
   self.p = p or 0.5
   self.train = true
   self.stochastic_inference = stochasticInference or false
   self.noise = torch.Tensor()
end

-- One number for each plane of each sample.
local function noise_sizes(self, input)
   local planes = input:dim() - self.plane_dims
   if planes ~= 1 and planes ~= 2 then
      error(('Input must be %dD (batch mode) or %dD (no batch)'):format(self.plane_dims + 2, self.plane_dims + 1), 3)
   end
   local sizes = input:size()
   for i = planes + 1, input:dim() do sizes[i] = 1 end
   return sizes
end

function SpatialDropout:updateOutput(input)
   self.output:resizeAs(input):copy(input)
   if self.train or self.stochastic_inference then
      self.noise:resize(noise_sizes(self, input)):bernoulli(1 - self.p)
      self.output:cmul(self.noise:expandAs(input))
   else
      self.output:mul(1 - self.p)
   end
   return self.output
end

function SpatialDropout:updateGradInput(input, gradOutput)
   if not self.train then error('backprop only defined while training', 2) end
   self.gradInput:resizeAs(gradOutput):copy(gradOutput)
   return self.gradInput:cmul(self.noise:expandAs(input))
end

function SpatialDropout:setp(p) self.p = p end
function SpatialDropout:__tostring__() return ('%s(%f)'):format(torch.type(self), self.p) end

function SpatialDropout:clearState()
   self.noise:set()
   return Module.clearState(self)
end

local VolumetricDropout = torch.class('nn.VolumetricDropout', 'nn.Module')
require('torch.class').take_methods(VolumetricDropout, SpatialDropout)
VolumetricDropout.plane_dims = 3

----------------------------------------------------------------------------------------

local WhiteNoise = torch.class('nn.WhiteNoise', 'nn.Module')

function WhiteNoise:__init(mean, std)
   Module.__init(self)
   self.mean, self.std = mean or 0, std or 0.1
   self.noise = torch.Tensor()
end

function WhiteNoise:updateOutput(input)
   self.output:resizeAs(input):copy(input)
   if self.train ~= false then
      self.noise:resizeAs(input):normal(self.mean, self.std)
      self.output:add(self.noise)
   elseif self.mean ~= 0 then
      self.output:add(self.mean)
   end
   return self.output
end

function WhiteNoise:updateGradInput(input, gradOutput)
   if self.train == false then error('backprop only defined while training', 2) end
   self.gradInput:resizeAs(gradOutput):copy(gradOutput)
   return self.gradInput
end

function WhiteNoise:clearState()
   self.noise:set()
   return Module.clearState(self)
end

function WhiteNoise:__tostring__()
   return ('%s mean: %f, std: %f'):format(torch.type(self), self.mean, self.std)
end

----------------------------------------------------------------------------------------

local RReLU = torch.class('nn.RReLU', 'nn.Module')

function RReLU:__init(lower, upper, inplace)
   Module.__init(self)
   self.train = true
   self.lower, self.upper = lower or 1 / 8, upper or 1 / 3
   self.noise = torch.Tensor()
   self.inplace = inplace or false
end

-- A slope for each element: 1 above zero, a random one below, the mean one while evaluating.
local function slopes(self, input)
   local result = input.new():resizeAs(input):fill(1)
   local lower, upper = self.lower, self.upper
   local mean = (lower + upper) / 2
   local negative = torch.le(input, 0)
   if self.train == false then
      result:maskedFill(negative, mean)
      return result
   end
   local below = negative:contiguous():view(-1)
   local place = 0
   return result:apply(function()
      place = place + 1
      if below[place] == 1 then return torch.uniform(lower, upper) end
   end)
end

function RReLU:updateOutput(input)
   local factors = slopes(self, input)
   if self.train ~= false then self.noise:resizeAs(input):copy(factors) end
   if self.inplace then
      self.output:set(input:cmul(factors))
   else
      self.output:resizeAs(input):cmul(input, factors)
   end
   return self.output
end

function RReLU:updateGradInput(input, gradOutput)
   local factors = self.noise
   if self.train == false or self.upper - self.lower <= 1e-6 then
      factors = input.new():resizeAs(input):fill(1)
      factors:maskedFill(torch.le(input, 0), (self.lower + self.upper) / 2)
   end
   if self.inplace then
      self.gradInput:set(gradOutput:cmul(factors))
   else
      self.gradInput:resizeAs(input):cmul(gradOutput, factors)
   end
   return self.gradInput
end

function RReLU:clearState()
   self.noise:set()
   return Module.clearState(self)
end

function RReLU:__tostring__()
   return ('%s (l:%f, u:%f)'):format(torch.type(self), self.lower, self.upper)
end
