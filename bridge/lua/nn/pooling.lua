-- Pooling, padding and upsampling of planes; pooling over sequences.
local core = require 'relume.ffi'
local size_checks = require 'nn.size_checks'

local function sizes_of(tensor) return tensor:size():totable() end

local function set_geometry(self, kW, kH, dW, dH, padW, padH)
   self.kW, self.kH, self.dW, self.dH = kW, kH, dW, dH
   self.padW, self.padH = padW or 0, padH or 0
   self.ceil_mode = false
end

local function pooling_text(self)
   local text = ('%s(%dx%d, %d,%d'):format(torch.type(self), self.kW, self.kH, self.dW, self.dH)
   if (self.padW or 0) ~= 0 or (self.padH or 0) ~= 0 then
      text = text .. (', %d,%d'):format(self.padW, self.padH)
   end
   return text .. ')'
end

-- What both kinds of pooling share.
local function new_pooling(name, base)
   local class, parent = torch.class('nn.' .. name, base or 'nn.Module')
   function class:ceil()
      self.ceil_mode = true
      return self
   end
   function class:floor()
      self.ceil_mode = false
      return self
   end
   class.__tostring__ = pooling_text
   return class, parent
end

local SpatialMaxPooling, Module = new_pooling 'SpatialMaxPooling'

function SpatialMaxPooling:__init(kW, kH, dW, dH, padW, padH)
   Module.__init(self)
   set_geometry(self, kW, kH, dW or kW, dH or kH, padW, padH)
   self.indices = torch.LongTensor()
end

function SpatialMaxPooling:updateOutput(input)
   size_checks.pooling(self, input)
   local values, indices = core.call('max_pool2d_with_indices', input, {self.kH, self.kW}, {self.dH, self.dW},
      {self.padH or 0, self.padW or 0}, {self.dilationH or 1, self.dilationW or 1}, self.ceil_mode or false)
   local n = input:dim()
   self.iheight, self.iwidth = input:size(n - 1), input:size(n)
   if torch.isTypeOf(self.indices, 'torch.LongTensor') then
      core.become(self.indices, indices:add(1))
   else
      self.indices = indices:add(1)
   end
   return core.become(self.output, values)
end

function SpatialMaxPooling:updateGradInput(input, gradOutput)
   core.become(self.gradInput, core.call('scatter_to_planes', gradOutput, self.indices - 1, sizes_of(input), 2, true))
   return self.gradInput
end

function SpatialMaxPooling:clearState()
   if self.indices then self.indices = self.indices.new() end
   return Module.clearState(self)
end

local SpatialDilatedMaxPooling = new_pooling('SpatialDilatedMaxPooling', 'nn.SpatialMaxPooling')

function SpatialDilatedMaxPooling:__init(kW, kH, dW, dH, padW, padH, dilationW, dilationH)
   SpatialMaxPooling.__init(self, kW, kH, dW, dH, padW, padH)
   self.dilationW, self.dilationH = dilationW or 1, dilationH or 1
end

function SpatialDilatedMaxPooling:__tostring__()
   return (pooling_text(self):gsub('%)$', (', %d,%d)'):format(self.dilationW, self.dilationH)))
end

local SpatialAveragePooling = new_pooling 'SpatialAveragePooling'

function SpatialAveragePooling:__init(kW, kH, dW, dH, padW, padH)
   Module.__init(self)
   set_geometry(self, kW, kH, dW or 1, dH or 1, padW, padH)
   self.count_include_pad, self.divide = true, true
end

function SpatialAveragePooling:setCountIncludePad()
   self.count_include_pad = true
   return self
end

function SpatialAveragePooling:setCountExcludePad()
   self.count_include_pad = false
   return self
end

local function averaging(self)
   return {self.kH, self.kW}, {self.dH, self.dW}, {self.padH or 0, self.padW or 0}, self.ceil_mode or false,
      self.count_include_pad ~= false
end

function SpatialAveragePooling:updateOutput(input)
   size_checks.pooling(self, input)
   core.become(self.output, core.call('avg_pool2d', input, averaging(self)))
   if self.divide == false then self.output:mul(self.kW * self.kH) end
   return self.output
end

function SpatialAveragePooling:updateGradInput(input, gradOutput)
   core.become(self.gradInput, core.call('avg_pool2d_backward', gradOutput, sizes_of(input), averaging(self)))
   if self.divide == false then self.gradInput:mul(self.kW * self.kH) end
   return self.gradInput
end

----------------------------------------------------------------------------------------
-- Padding: rows of a class and the mode of the core's op. Negative numbers crop.

for name, mode in pairs {
   SpatialZeroPadding = 'constant', SpatialReflectionPadding = 'reflect', SpatialReplicationPadding = 'replicate',
} do
   local class = torch.class('nn.' .. name, 'nn.Module')

   function class:__init(pad_l, pad_r, pad_t, pad_b)
      Module.__init(self)
      self.pad_l, self.pad_r = pad_l, pad_r or pad_l
      self.pad_t, self.pad_b = pad_t or pad_l, pad_b or pad_l
   end

   -- What is left of the input after cropping, as a view.
   local function cropped(self, input)
      local n = input:dim()
      local rows = input:size(n - 1) + math.min(self.pad_t, 0) + math.min(self.pad_b, 0)
      local columns = input:size(n) + math.min(self.pad_l, 0) + math.min(self.pad_r, 0)
      if rows < 1 or columns < 1 then error('input is too small', 3) end
      return input:narrow(n - 1, math.max(-self.pad_t, 0) + 1, rows)
         :narrow(n, math.max(-self.pad_l, 0) + 1, columns)
   end

   local function sides(self)
      local function added(pad) return math.max(pad, 0) end
      return {added(self.pad_l), added(self.pad_r), added(self.pad_t), added(self.pad_b)}
   end

   function class:updateOutput(input)
      if input:dim() ~= 3 and input:dim() ~= 4 then error('input must be 3 or 4-dimensional') end
      core.become(self.output, core.call('pad', cropped(self, input), sides(self), mode))
      return self.output
   end

   function class:updateGradInput(input, gradOutput)
      self.gradInput:resizeAs(input):zero()
      local part = cropped(self, self.gradInput)
      part:copy(core.call('pad_backward', gradOutput, sizes_of(part), sides(self), mode))
      return self.gradInput
   end

   function class:__tostring__()
      return ('%s(l=%d, r=%d, t=%d, b=%d)'):format(torch.type(self), self.pad_l, self.pad_r, self.pad_t,
         self.pad_b)
   end
end

----------------------------------------------------------------------------------------

local SpatialUpSamplingNearest = torch.class('nn.SpatialUpSamplingNearest', 'nn.Module')

function SpatialUpSamplingNearest:__init(scale)
   Module.__init(self)
   self.scale_factor = scale
   self.inputSize, self.outputSize = torch.LongStorage(4), torch.LongStorage(4)
end

function SpatialUpSamplingNearest:updateOutput(input)
   if input:dim() ~= 3 and input:dim() ~= 4 then
      error('SpatialUpSamplingNearest only support 3D or 4D tensors')
   end
   core.become(self.output, core.call('upsample_nearest2d', input, self.scale_factor))
   return self.output
end

-- Every element collects the square that it became.
function SpatialUpSamplingNearest:updateGradInput(input, gradOutput)
   local scale = self.scale_factor
   core.become(self.gradInput, core.call('avg_pool2d', gradOutput, {scale, scale}, {scale, scale}))
   self.gradInput:mul(scale * scale)
   return self.gradInput
end

----------------------------------------------------------------------------------------

local TemporalMaxPooling = torch.class('nn.TemporalMaxPooling', 'nn.Module')

function TemporalMaxPooling:__init(kW, dW)
   Module.__init(self)
   self.kW, self.dW = kW, dW or kW
end

-- Windows of frames as a new last dimension; the largest is taken along it.
function TemporalMaxPooling:updateOutput(input)
   local n = input:dim()
   if (n ~= 2 and n ~= 3) or input:size(n - 1) < self.kW then
      error('input sequence smaller than kernel size, or not TxF or NxTxF')
   end
   local values, indices = input:unfold(n - 1, self.kW, self.dW):max(n + 1)
   self.indices = indices:select(n + 1, 1)
   local value = values:select(n + 1, 1)
   self.output:resizeAs(value):copy(value)
   return self.output
end

function TemporalMaxPooling:updateGradInput(input, gradOutput)
   local n = input:dim()
   self.gradInput:resizeAs(input):zero()
   for t = 1, gradOutput:size(n - 1) do
      local window = self.gradInput:narrow(n - 1, (t - 1) * self.dW + 1, self.kW)
      local picked = self.indices:narrow(n - 1, t, 1)
      local gradient = window:clone():zero():scatter(n - 1, picked, gradOutput:narrow(n - 1, t, 1):contiguous())
      window:add(gradient)
   end
   return self.gradInput
end
