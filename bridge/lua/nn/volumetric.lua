-- Convolutions, pooling and padding of volumes, C x T x H x W. Their gradients come from the tape.
local derived = require 'nn.derived'
local draw = require('nn.initial_values').draw

local op, layer, class = derived.op, derived.layer, derived.class

local axes = {'T', 'W', 'H'}  -- of constructors and texts; the core's order is T, H, W

local function set(self, kind, ...)
   for i, axis in ipairs(axes) do self[kind .. axis] = (select(i, ...)) end
end

local function sizes(self, kind, default)
   return {self[kind .. 'T'] or default, self[kind .. 'H'] or default, self[kind .. 'W'] or default}
end

local function numbers(self, kind)
   return {self[kind .. 'T'] or 0, self[kind .. 'W'] or 0, self[kind .. 'H'] or 0}
end

local function check_volumes(self, input, planes)
   local n = input._ndim
   if (n ~= 4 and n ~= 5) or (planes and tonumber(input._shape[n - 4]) ~= planes) then
      error(('%s: expected %sxTxHxW, or N samples of it'):format(torch.type(self), tostring(planes or 'C')), 0)
   end
end

local function any_above(list, limit)
   for _, value in ipairs(list) do
      if value ~= limit then return true end
   end
   return false
end

local function window_text(self)
   local text = table.concat(numbers(self, 'k'), 'x')
   local steps, pads = numbers(self, 'd'), numbers(self, 'pad')
   local padded = any_above(pads, 0)
   if any_above(steps, 1) or padded then text = text .. ', ' .. table.concat(steps, ',') end
   if padded then text = text .. ', ' .. table.concat(pads, ',') end
   return text
end

----------------------------------------------------------------------------------------

local function new_convolution(name, parent, weight_sizes)
   local result = torch.class('nn.' .. name, parent)

   function result:__init(nInputPlane, nOutputPlane, kT, kW, kH, dT, dW, dH, padT, padW, padH)
      nn.Module.__init(self)
      self.nInputPlane, self.nOutputPlane = nInputPlane, nOutputPlane
      set(self, 'k', kT, kW, kH)
      set(self, 'd', dT or 1, dW or 1, dH or 1)
      padT = padT or 0
      set(self, 'pad', padT, padW or padT, padH or padT)
      self.weight, self.gradWeight = torch.Tensor(weight_sizes(self)), torch.Tensor(weight_sizes(self))
      self.bias, self.gradBias = torch.Tensor(nOutputPlane), torch.Tensor(nOutputPlane)
      self:reset()
   end
   return result
end

local function forward_sizes(self)
   return torch.LongStorage {self.nOutputPlane, self.nInputPlane, self.kT, self.kH, self.kW}
end

local VolumetricConvolution = new_convolution('VolumetricConvolution', 'nn.Module', forward_sizes)

function VolumetricConvolution:reset(stdv)
   draw(self, stdv, self.kT * self.kW * self.kH * self.nInputPlane)
end

function VolumetricConvolution:noBias()
   self.bias, self.gradBias = nil, nil
   return self
end

function VolumetricConvolution:__tostring__()
   return ('%s(%d -> %d, %s)'):format(torch.type(self), self.nInputPlane, self.nOutputPlane, window_text(self))
end

layer(VolumetricConvolution, {parameters = {'weight', 'bias'}, compute = function(self, input, weight, bias)
   check_volumes(self, input, self.nInputPlane)
   weight = op.reshape(weight, forward_sizes(self):totable())
   return op.conv3d(input, weight, bias, sizes(self, 'd', 1), sizes(self, 'pad', 0), sizes(self, 'dilation', 1))
end})

local VolumetricDilatedConvolution = torch.class('nn.VolumetricDilatedConvolution', 'nn.VolumetricConvolution')

function VolumetricDilatedConvolution:__init(nInputPlane, nOutputPlane, kT, kW, kH, dT, dW, dH, padT, padW,
      padH, dilationT, dilationW, dilationH)
   VolumetricConvolution.__init(self, nInputPlane, nOutputPlane, kT, kW, kH, dT, dW, dH, padT, padW, padH)
   set(self, 'dilation', dilationT or 1, dilationW or 1, dilationH or 1)
end

function VolumetricDilatedConvolution:__tostring__()
   return VolumetricConvolution.__tostring__(self):gsub('%)$', '') .. ', '
      .. table.concat(numbers(self, 'dilation'), ',') .. ')'
end

local function full_sizes(self)
   return torch.LongStorage {self.nInputPlane, self.nOutputPlane, self.kT, self.kH, self.kW}
end

local Full = new_convolution('VolumetricFullConvolution', 'nn.Module', full_sizes)
require('torch.class').take_methods(Full, VolumetricConvolution)
local init = Full.__init

function Full:__init(nInputPlane, nOutputPlane, kT, kW, kH, dT, dW, dH, padT, padW, padH, adjT, adjW, adjH)
   set(self, 'adj', adjT or 0, adjW or 0, adjH or 0)
   init(self, nInputPlane, nOutputPlane, kT, kW, kH, dT, dW, dH, padT or 0, padW or 0, padH or 0)
   self.ones, self.finput, self.fgradInput = torch.Tensor(), torch.Tensor(), torch.Tensor()
end

function Full:__tostring__()
   local text, extra = VolumetricConvolution.__tostring__(self), numbers(self, 'adj')
   if not any_above(extra, 0) then return text end
   return text:gsub('%)$', '') .. ', ' .. table.concat(extra, ',') .. ')'
end

-- With a table the second element says how large the output is to be.
layer(Full, {parameters = {'weight', 'bias'}, compute = function(self, input, weight, bias)
   local extra = sizes(self, 'adj', 0)
   if type(input) == 'table' then
      local target = input[2]
      for i, axis in ipairs {'T', 'H', 'W'} do
         local size = tonumber(target._shape[target._ndim - 4 + i])
         extra[i] = (size + 2 * self['pad' .. axis] - self['k' .. axis]) % self['d' .. axis]
      end
      input = input[1]
   end
   check_volumes(self, input, self.nInputPlane)
   return op.conv_transpose3d(input, weight, bias, sizes(self, 'd', 1), sizes(self, 'pad', 0), extra)
end})

local gradient_of_full = Full.updateGradInput
function Full:updateGradInput(input, gradOutput)
   gradient_of_full(self, input, gradOutput)
   if type(input) == 'table' then self.gradInput[2] = derived.zero_as(input[2]) end
   return self.gradInput
end

----------------------------------------------------------------------------------------

local VolumetricMaxPooling = class('VolumetricMaxPooling', 'nn.Module',
   function(self, kT, kW, kH, dT, dW, dH, padT, padW, padH)
      set(self, 'k', kT, kW, kH)
      set(self, 'd', dT or kT, dW or kW, dH or kH)
      set(self, 'pad', padT or 0, padW or 0, padH or 0)
      self.ceil_mode = false
      self.indices = torch.LongTensor()
   end)
VolumetricMaxPooling.__version = 2

function VolumetricMaxPooling:ceil()
   self.ceil_mode = true
   return self
end

function VolumetricMaxPooling:floor()
   self.ceil_mode = false
   return self
end

function VolumetricMaxPooling:__tostring__()
   local pads = numbers(self, 'pad')
   return ('%s(%s, %s%s)'):format(torch.type(self), table.concat(numbers(self, 'k'), 'x'),
      table.concat(numbers(self, 'd'), ','), any_above(pads, 0) and ', ' .. table.concat(pads, ',') or '')
end

layer(VolumetricMaxPooling, {compute = function(self, input)
   check_volumes(self, input)
   local output, places = op.max_pool3d_with_indices(input, sizes(self, 'k'), sizes(self, 'd'),
      sizes(self, 'pad', 0), sizes(self, 'dilation', 1), self.ceil_mode or false)
   local n = input:dim()
   self.itime, self.iheight, self.iwidth = input:size(n - 2), input:size(n - 1), input:size(n)
   self.indices = op.add(places, 1)
   return output
end})

local Dilated = torch.class('nn.VolumetricDilatedMaxPooling', 'nn.VolumetricMaxPooling')

function Dilated:__init(kT, kW, kH, dT, dW, dH, padT, padW, padH, dilationT, dilationW, dilationH)
   VolumetricMaxPooling.__init(self, kT, kW, kH, dT, dW, dH, padT, padW, padH)
   set(self, 'dilation', dilationT or 1, dilationW or 1, dilationH or 1)
end

function Dilated:__tostring__()
   return VolumetricMaxPooling.__tostring__(self):gsub('%)$', '') .. ', '
      .. table.concat(numbers(self, 'dilation'), ',') .. ')'
end

local VolumetricAveragePooling = class('VolumetricAveragePooling', 'nn.Module',
   function(self, kT, kW, kH, dT, dW, dH, padT, padW, padH)
      set(self, 'k', kT, kW, kH)
      set(self, 'd', dT or kT, dW or kW, dH or kH)
      set(self, 'pad', padT, padW, padH)
   end)
VolumetricAveragePooling.ceil, VolumetricAveragePooling.floor = VolumetricMaxPooling.ceil, VolumetricMaxPooling.floor

function VolumetricAveragePooling:setCountIncludePad()
   self.count_include_pad = true
   return self
end

function VolumetricAveragePooling:setCountExcludePad()
   self.count_include_pad = false
   return self
end

function VolumetricAveragePooling:__tostring__()
   return ('%s(%s, %s)'):format(torch.type(self), table.concat(numbers(self, 'k'), 'x'),
      table.concat(numbers(self, 'd'), ','))
end

layer(VolumetricAveragePooling, {compute = function(self, input)
   check_volumes(self, input)
   return op.avg_pool3d(input, sizes(self, 'k'), sizes(self, 'd'), sizes(self, 'pad', 0), self.ceil_mode or false,
      self.count_include_pad ~= false)
end})

local sides = {'pleft', 'pright', 'ptop', 'pbottom', 'pfront', 'pback'}

local Padding = class('VolumetricReplicationPadding', 'nn.Module', function(self, first, ...)
   self.pleft = first
   for i = 2, #sides do self[sides[i]] = (select(i - 1, ...)) or first end
end)

function Padding:__tostring__()
   local words = {}
   for i, side in ipairs(sides) do words[i] = ('%s=%d'):format(side:sub(2), self[side]) end
   return ('%s(%s)'):format(torch.type(self), table.concat(words, ', '))
end

layer(Padding, {compute = function(self, input)
   check_volumes(self, input)
   local counts = {}
   for i, side in ipairs(sides) do counts[i] = self[side] end
   return op.pad(input, counts, 'replicate')
end})
