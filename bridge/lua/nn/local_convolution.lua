-- Convolutions with other weights at each place, and with several for each plane.
local derived = require 'nn.derived'
local draw = require('nn.initial_values').draw

local op, layer, class = derived.op, derived.layer, derived.class

local function set_geometry(self, nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
   self.nInputPlane, self.nOutputPlane = nInputPlane, nOutputPlane
   self.kW, self.kH, self.dW, self.dH = kW, kH, dW or 1, dH or 1
   self.padW = padW or 0
   self.padH = padH or self.padW
end

local function reset(self, stdv)
   draw(self, stdv, self.kW * self.kH * self.nInputPlane)
end

local function no_bias(self)
   self.bias, self.gradBias = nil, nil
   return self
end

local Local = class('SpatialConvolutionLocal', 'nn.Module',
   function(self, nInputPlane, nOutputPlane, iW, iH, kW, kH, dW, dH, padW, padH)
      set_geometry(self, nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
      self.iW, self.iH = iW, iH
      self.oW = math.floor((iW + 2 * self.padW - kW) / self.dW) + 1
      self.oH = math.floor((iH + 2 * self.padH - kH) / self.dH) + 1
      for _, name in ipairs {'weight', 'gradWeight'} do
         self[name] = torch.Tensor(self.oH, self.oW, nOutputPlane, nInputPlane, kH, kW)
      end
      for _, name in ipairs {'bias', 'gradBias'} do self[name] = torch.Tensor(nOutputPlane, self.oH, self.oW) end
      self:reset()
   end)
Local.reset, Local.noBias = reset, no_bias

function Local:__tostring__()
   local text = ('%d -> %d, %dx%d, %dx%d'):format(self.nInputPlane, self.nOutputPlane, self.iW, self.iH,
      self.kW, self.kH)
   local padded = self.padW ~= 0 or self.padH ~= 0
   if self.dW ~= 1 or self.dH ~= 1 or padded then text = text .. (', %d,%d'):format(self.dW, self.dH) end
   if padded then text = text .. (', %d,%d'):format(self.padW, self.padH) end
   return ('%s(%s)'):format(torch.type(self), text)
end

layer(Local, {parameters = {'weight', 'bias'}, compute = function(self, input, weight, bias)
   local batch = input._ndim == 4 and input or op.unsqueeze(input, 0)
   local samples, places = tonumber(batch._shape[0]), self.oH * self.oW
   local padded = op.pad(batch, {self.padW, self.padW, self.padH, self.padH})
   local windows = op.unfold(op.unfold(padded, 2, self.kH, self.dH), 3, self.kW, self.dW)
   local rows = op.reshape(op.permute(windows, {2, 3, 0, 1, 4, 5}), {places, samples, -1})
   local kernels = op.transpose(op.reshape(weight, {places, self.nOutputPlane, -1}), 1, 2)
   local output = op.reshape(op.matmul(rows, kernels), {self.oH, self.oW, samples, -1})
   output = op.permute(output, {2, 3, 0, 1})
   if bias then output = op.add(output, bias) end
   if input._ndim == 3 then output = op.squeeze(output, 0) end
   return op.contiguous(output)
end})

-- Each input plane has nOutputPlane kernels of its own.
local DepthWise = class('SpatialDepthWiseConvolution', 'nn.Module',
   function(self, nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
      set_geometry(self, nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
      for _, name in ipairs {'weight', 'gradWeight'} do
         self[name] = torch.Tensor(nOutputPlane, nInputPlane * kH * kW)
      end
      for _, name in ipairs {'bias', 'gradBias'} do self[name] = torch.Tensor(nOutputPlane, nInputPlane) end
      self:reset()
   end)
DepthWise.reset, DepthWise.noBias = reset, no_bias
DepthWise.__tostring__ = nn.SpatialConvolution.__tostring__

-- As in Torch7, the first forward gives the parameters four dimensions.
local function unfold_weights(self)
   for _, name in ipairs {'weight', 'gradWeight'} do
      if self[name]:dim() == 2 then
         self[name]:resize(self.nOutputPlane, self.nInputPlane, self.kH, self.kW)
      end
   end
end

layer(DepthWise, {parameters = {'weight', 'bias'}, prepare = unfold_weights,
   compute = function(self, input, weight, bias)
      local inputs, outputs = self.nInputPlane, self.nOutputPlane
      local kernels = op.transpose(op.reshape(weight, {outputs, inputs, self.kH, self.kW}), 0, 1)
      kernels = op.reshape(kernels, {inputs * outputs, 1, self.kH, self.kW})
      if bias then bias = op.reshape(op.transpose(bias, 0, 1), {-1}) end
      return op.conv2d(input, kernels, bias, {self.dH, self.dW}, {self.padH, self.padW}, {1, 1}, inputs)
   end})
