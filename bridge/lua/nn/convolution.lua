-- Convolutions over planes. The work is done by ops of the core; the layers keep Torch7's
-- fields and initial values.
local class = require 'torch.class'
local core = require 'relume.ffi'
local derived = require 'nn.derived'
local draw = require('nn.initial_values').draw
local size_checks = require 'nn.size_checks'

local function sizes_of(tensor) return tensor:size():totable() end

local SpatialConvolution, Module = torch.class('nn.SpatialConvolution', 'nn.Module')

local function set_geometry(self, nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
   self.nInputPlane, self.nOutputPlane = nInputPlane, nOutputPlane
   self.kW, self.kH = kW, kH
   self.dW, self.dH = dW or 1, dH or 1
   self.padW = padW or 0
   self.padH = padH or self.padW
end

local function make_parameters(self, ...)
   self.weight, self.gradWeight = torch.Tensor(...), torch.Tensor(...)
   self.bias, self.gradBias = torch.Tensor(self.nOutputPlane), torch.Tensor(self.nOutputPlane)
   self:reset()
end

function SpatialConvolution:__init(...)
   Module.__init(self)
   set_geometry(self, ...)
   make_parameters(self, self.nOutputPlane, self.nInputPlane, self.kH, self.kW)
end

function SpatialConvolution:noBias()
   self.bias, self.gradBias = nil, nil
   return self
end

function SpatialConvolution:reset(stdv)
   draw(self, stdv, self.kW * self.kH * self.nInputPlane)
end

-- The weights as (output planes, input planes, kH, kW), whichever way they are kept.
local function kernel(self, weight)
   return core.call('reshape', weight,
      {self.nOutputPlane, self.nInputPlane / (self.groups or 1), self.kH, self.kW})
end

-- Steps, padding, dilation and groups, as the core's ops take them.
local function geometry(self)
   return {self.dH, self.dW}, {self.padH or 0, self.padW or 0},
      {self.dilationH or 1, self.dilationW or 1}, self.groups or 1
end

function SpatialConvolution:updateOutput(input)
   size_checks.convolution(self, input)
   return core.become(self.output,
      core.call('conv2d', input, kernel(self, self.weight), self.bias, geometry(self)))
end

function SpatialConvolution:updateGradInput(input, gradOutput)
   return core.become(self.gradInput,
      core.call('conv2d_input_gradient', gradOutput, kernel(self, self.weight), sizes_of(input), geometry(self)))
end

-- Sums over everything but the planes.
local function plane_sums(gradOutput)
   local n = gradOutput:dim()
   if n == 4 then return core.call('sum', gradOutput, {0, 2, 3}) end
   return core.call('sum', gradOutput, {1, 2})
end

function SpatialConvolution:accGradParameters(input, gradOutput, scale)
   local shape = sizes_of(kernel(self, self.weight))
   local gradient = core.call('conv2d_weight_gradient', gradOutput, input, shape, geometry(self))
   self.gradWeight:add(scale or 1, gradient)
   if self.bias then self.gradBias:add(scale or 1, plane_sums(gradOutput)) end
end

local function geometry_text(self)
   local text = ('%d -> %d, %dx%d'):format(self.nInputPlane, self.nOutputPlane, self.kW, self.kH)
   local padded = (self.padW or 0) ~= 0 or (self.padH or 0) ~= 0
   if self.dW ~= 1 or self.dH ~= 1 or padded then text = text .. (', %d,%d'):format(self.dW, self.dH) end
   if padded then text = text .. (', %d,%d'):format(self.padW, self.padH) end
   return text
end

function SpatialConvolution:__tostring__()
   return ('%s(%s)%s'):format(torch.type(self), geometry_text(self), self.bias and '' or ' without bias')
end

local SpatialConvolutionMM = torch.class('nn.SpatialConvolutionMM', 'nn.Module')
class.take_methods(SpatialConvolutionMM, SpatialConvolution)

function SpatialConvolutionMM:__init(...)
   Module.__init(self)
   set_geometry(self, ...)
   make_parameters(self, self.nOutputPlane, self.nInputPlane * self.kH * self.kW)
end

local SpatialDilatedConvolution = torch.class('nn.SpatialDilatedConvolution', 'nn.SpatialConvolution')

function SpatialDilatedConvolution:__init(nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH, dilationW,
   dilationH)
   SpatialConvolution.__init(self, nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
   self.dilationW, self.dilationH = dilationW or 1, dilationH or 1
end

function SpatialDilatedConvolution:__tostring__()
   return ('%s(%s, %d,%d)%s'):format(torch.type(self), geometry_text(self), self.dilationW, self.dilationH,
      self.bias and '' or ' without bias')
end

----------------------------------------------------------------------------------------

local SpatialFullConvolution = torch.class('nn.SpatialFullConvolution', 'nn.Module')
class.take_methods(SpatialFullConvolution, SpatialConvolution)

function SpatialFullConvolution:__init(nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH, adjW, adjH)
   Module.__init(self)
   set_geometry(self, nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH or 0)
   self.adjW, self.adjH = adjW or 0, adjH or 0
   if self.adjW > self.dW - 1 or self.adjH > self.dH - 1 then
      error('adjW and adjH must be smaller than self.dW - 1 and self.dH - 1 respectively')
   end
   make_parameters(self, nInputPlane, nOutputPlane, kH, kW)
   self.ones = torch.Tensor()
end

-- The input of a table {input, target}, and what has to be added to reach the target's size.
local function input_and_adjustment(self, input)
   if type(input) ~= 'table' then return input, self.adjH or 0, self.adjW or 0 end
   local target = input[2]
   local n = target:dim()
   return input[1], (target:size(n - 1) + 2 * self.padH - self.kH) % self.dH,
      (target:size(n) + 2 * self.padW - self.kW) % self.dW
end

function SpatialFullConvolution:updateOutput(input)
   local adjH, adjW
   input, adjH, adjW = input_and_adjustment(self, input)
   size_checks.planes(self, input)
   local step, padding = geometry(self)
   core.become(self.output, core.call('conv_transpose2d', input, self.weight, self.bias, step, padding, {adjH, adjW}))
   return self.output
end

-- The gradient of a transposed convolution is a convolution, and the other way round.
function SpatialFullConvolution:updateGradInput(input, gradOutput)
   local source = input_and_adjustment(self, input)
   local step, padding, dilation = geometry(self)
   local value = core.call('conv2d', gradOutput, self.weight, nil, step, padding, dilation, 1)
   if type(input) == 'table' then
      if type(self.gradInput) ~= 'table' then self.gradInput = {source.new(), source.new()} end
      core.become(self.gradInput[1], value)
      self.gradInput[2] = derived.zero_as(input[2])  -- only its size plays a part
   else
      if type(self.gradInput) == 'table' then self.gradInput = source.new() end
      core.become(self.gradInput, value)
   end
   return self.gradInput
end

function SpatialFullConvolution:accGradParameters(input, gradOutput, scale)
   input = input_and_adjustment(self, input)
   local gradient = core.call('conv2d_weight_gradient', input, gradOutput, sizes_of(self.weight), geometry(self))
   self.gradWeight:add(scale or 1, gradient)
   if self.bias then self.gradBias:add(scale or 1, plane_sums(gradOutput)) end
end

function SpatialFullConvolution:__tostring__()
   local text = geometry_text(self)
   if (self.adjW or 0) ~= 0 or (self.adjH or 0) ~= 0 then
      text = text .. (', %d,%d'):format(self.adjW, self.adjH)
   end
   return ('%s(%s)%s'):format(torch.type(self), text, self.bias and '' or ' without bias')
end

----------------------------------------------------------------------------------------
-- nn.TemporalConvolution(frame, output frame, kW [, dW]): over sequences, as a product of
-- unfolded windows with the weights.

local TemporalConvolution = torch.class('nn.TemporalConvolution', 'nn.Module')

function TemporalConvolution:__init(inputFrameSize, outputFrameSize, kW, dW)
   Module.__init(self)
   self.inputFrameSize, self.outputFrameSize = inputFrameSize, outputFrameSize
   self.kW, self.dW = kW, dW or 1
   self.weight = torch.Tensor(outputFrameSize, inputFrameSize * kW)
   self.bias = torch.Tensor(outputFrameSize)
   self.gradWeight = torch.Tensor(outputFrameSize, inputFrameSize * kW)
   self.gradBias = torch.Tensor(outputFrameSize)
   self:reset()
end

function TemporalConvolution:reset(stdv)
   draw(self, stdv, self.kW * self.inputFrameSize)
end

-- One row per window, all batches one below the other.
local function windows(self, input)
   local n = input:dim()
   size_checks.frames(self, input)
   local unfolded = input:unfold(n - 1, self.kW, self.dW):transpose(n, n + 1)
   local sizes = sizes_of(unfolded)
   local count = n == 3 and sizes[1] * sizes[2] or sizes[1]
   return unfolded:contiguous():view(count, -1), sizes
end

function TemporalConvolution:updateOutput(input)
   local rows, sizes = windows(self, input)
   local value = core.call('linear', rows, self.weight, self.bias)
   if input:dim() == 3 then value = value:view(sizes[1], sizes[2], -1) end
   self.output:set(value)
   return self.output
end

function TemporalConvolution:updateGradInput(input, gradOutput)
   local rows = gradOutput:contiguous():view(-1, self.outputFrameSize)
   local spread = torch.mm(rows, self.weight)
   local n = input:dim()
   local count = gradOutput:size(n - 1)
   self.gradInput:resizeAs(input):zero()
   local parts = n == 3 and spread:view(input:size(1), count, self.kW, -1) or spread:view(1, count, self.kW, -1)
   local target = n == 3 and self.gradInput or self.gradInput:view(1, input:size(1), input:size(2))
   for t = 1, count do
      target:narrow(2, (t - 1) * self.dW + 1, self.kW):add(parts:select(2, t))
   end
   return self.gradInput
end

function TemporalConvolution:accGradParameters(input, gradOutput, scale)
   local rows = windows(self, input)
   local gradient = gradOutput:contiguous():view(-1, self.outputFrameSize)
   self.gradWeight:addmm(scale or 1, gradient:t(), rows)
   self.gradBias:add(scale or 1, gradient:sum(1):view(-1))
end
