-- nn.BatchNormalization and its spatial form.
local core = require 'relume.ffi'

local BatchNormalization, Module = torch.class('nn.BatchNormalization', 'nn.Module')
BatchNormalization.nDim = 2

function BatchNormalization:__init(nOutput, eps, momentum, affine)
   Module.__init(self)
   if type(nOutput) ~= 'number' or nOutput == 0 then
      error('missing argument #1: number of features. To set batch normalization without affine transform,'
         .. ' set affine=false as the 4th argument')
   end
   self.affine = affine == nil or affine
   self.eps, self.momentum = eps or 1e-5, momentum or 0.1
   self.train = true
   self.running_mean = torch.zeros(nOutput)
   self.running_var = torch.ones(nOutput)
   if self.affine then
      self.weight, self.bias = torch.Tensor(nOutput), torch.Tensor(nOutput)
      self.gradWeight, self.gradBias = torch.Tensor(nOutput), torch.Tensor(nOutput)
      self:reset()
   end
end

function BatchNormalization:reset()
   if self.weight then self.weight:uniform() end
   if self.bias then self.bias:zero() end
   self.running_mean:zero()
   self.running_var:fill(1)
end

-- One number per feature has no variance: then the running ones are used.
local function uses_batch(self, input)
   return self.train and input:nElement() > self.running_mean:nElement()
end

local function check_input(self, input)
   if not self.train and input:dim() == self.nDim - 1 then
      input = nn.utils.addSingletonDimension(input, 1)
   end
   if input:dim() ~= self.nDim then
      error(('only mini-batch supported (%dD tensor), got %dD tensor instead'):format(self.nDim, input:dim()), 3)
   end
   local features = self.running_mean:nElement()
   if input:size(2) ~= features then
      error(('got %d-feature tensor, expected %d'):format(input:size(2), features), 3)
   end
   return input:contiguous()
end

function BatchNormalization:updateOutput(input)
   input = check_input(self, input)
   local training = uses_batch(self, input)
   local output, mean, deviation = core.call('batch_norm', input, self.weight, self.bias, self.running_mean,
      self.running_var, training or false, self.momentum, self.eps)
   if training then self.save_mean, self.save_std = mean, deviation end
   self.output:set(output)
   return self.output
end

-- All gradients at once; `mean` and the inverse deviation are those that forward used.
local function gradients(self, input, gradOutput)
   input = check_input(self, input)
   if gradOutput:dim() == self.nDim - 1 then gradOutput = nn.utils.addSingletonDimension(gradOutput, 1) end
   local training = uses_batch(self, input)
   local mean, deviation = self.save_mean, self.save_std
   if not training then
      mean, deviation = self.running_mean, torch.add(self.running_var, self.eps):sqrt():cinv()
   end
   return core.call('batch_norm_backward', gradOutput:contiguous(), input, self.weight, mean, deviation,
      training or false)
end

function BatchNormalization:updateGradInput(input, gradOutput)
   local gradient = gradients(self, input, gradOutput)
   self.gradInput:set(gradient)
   return self.gradInput
end

local function accumulate(self, scale, toWeight, toBias)
   if self.weight then self.gradWeight:add(scale, toWeight) end
   if self.bias then self.gradBias:add(scale, toBias) end
end

function BatchNormalization:accGradParameters(input, gradOutput, scale)
   local _, toWeight, toBias = gradients(self, input, gradOutput)
   accumulate(self, scale or 1, toWeight, toBias)
end

function BatchNormalization:backward(input, gradOutput, scale)
   local toInput, toWeight, toBias = gradients(self, input, gradOutput)
   self.gradInput:set(toInput)
   accumulate(self, scale or 1, toWeight, toBias)
   return self.gradInput
end

function BatchNormalization:clearState()
   nn.utils.clear(self, 'save_mean', 'save_std', '_input', '_gradOutput')
   return Module.clearState(self)
end

function BatchNormalization:__tostring__()
   return ('%s (%dD) (%d)'):format(torch.type(self), self.nDim, self.running_mean:nElement())
end

for name, dimensions in pairs {SpatialBatchNormalization = 4, VolumetricBatchNormalization = 5} do
   local class = torch.class('nn.' .. name, 'nn.BatchNormalization')
   class.nDim = dimensions
end
