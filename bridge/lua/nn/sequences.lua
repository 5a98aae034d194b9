-- Layers on sequences of frames, T x F or N x T x F, beside nn.TemporalConvolution.
local derived = require 'nn.derived'
local draw = require('nn.initial_values').draw

local op, layer, class = derived.op, derived.layer, derived.class

local TemporalSubSampling = class('TemporalSubSampling', 'nn.Module', function(self, inputFrameSize, kW, dW)
   self.inputFrameSize, self.kW, self.dW = inputFrameSize, kW, dW or 1
   for _, name in ipairs {'weight', 'bias', 'gradWeight', 'gradBias'} do
      self[name] = torch.Tensor(inputFrameSize)
   end
   self:reset()
end)

function TemporalSubSampling:reset(stdv) draw(self, stdv, self.kW) end

layer(TemporalSubSampling, {parameters = {'weight', 'bias'}, compute = function(self, input, weight, bias)
   local frames = input._ndim == 3 and input or op.unsqueeze(input, 0)
   local sums = op.avg_pool2d(frames, {self.kW, 1}, {self.dW, 1}, {0, 0}, false, true, 1)
   if input._ndim == 2 then sums = op.squeeze(sums, 0) end
   return op.add(op.mul(sums, weight), bias)
end})

local TemporalRowConvolution = class('TemporalRowConvolution', 'nn.Module',
   function(self, inputFrameSize, kW, dW, featFirst)
      self.inputFrameSize, self.kW, self.dW = inputFrameSize, kW, dW or 1
      self.weight, self.gradWeight = torch.Tensor(inputFrameSize, 1, kW), torch.Tensor(inputFrameSize, 1, kW)
      self.bias, self.gradBias = torch.Tensor(inputFrameSize), torch.Tensor(inputFrameSize)
      self.featFirst = featFirst or false
      self:reset()
   end)

function TemporalRowConvolution:reset(stdv) draw(self, stdv, self.kW * self.inputFrameSize) end

function TemporalRowConvolution:noBias()
   self.bias, self.gradBias = nil, nil
   return self
end

function TemporalRowConvolution:__tostring__()
   local step = self.dW ~= 1 and ', ' .. self.dW or ''
   return ('%s(%d, %d%s)%s'):format(torch.type(self), self.inputFrameSize, self.kW, step,
      self.bias and '' or ' without bias')
end

layer(TemporalRowConvolution, {parameters = {'weight', 'bias'}, compute = function(self, input, weight, bias)
   local features = self.featFirst and input or op.transpose(input, -1, -2)
   local batch = features._ndim == 3 and features or op.unsqueeze(features, 0)
   local size = self.inputFrameSize
   local kernels = op.reshape(weight, {size, 1, self.kW})
   local output = op.conv1d(batch, kernels, bias, {self.dW}, {0}, {1}, size)
   if features._ndim == 2 then output = op.squeeze(output, 0) end
   return self.featFirst and output or op.contiguous(op.transpose(output, -1, -2))
end})
