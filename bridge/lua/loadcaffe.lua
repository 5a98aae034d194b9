--[[ The package `loadcaffe`: a network of Caffe as an nn.Sequential.

Layers come in the order of the .caffemodel file, each with its name in the field `name`. Those that nn has
no counterpart for are left out, which is said.
]]
require 'nn'
local python = require('relume.bridge').import 'loadcaffe'

loadcaffe = {C = {}}

local function sizes(tensor) return table.concat(tensor:size():totable(), ' ') end

local function fill(module, weights)
   module.weight:copy(weights[1]:viewAs(module.weight))
   if weights[2] then module.bias:copy(weights[2]:viewAs(module.bias)) else module:noBias() end
   return module
end

-- Nothing is convolved that has no weights.
local function check_weights(layer)
   if not layer.weights[1] then error(('layer %s has no weights in this file'):format(layer.name), 0) end
end

local function convolution(layer, backend)
   check_weights(layer)
   local weight = layer.weights[1]
   local kernel = {layer.kW, layer.kH, layer.dW, layer.dH, layer.padW, layer.padH}
   local Convolution = backend.SpatialConvolution
   if layer.groups > 1 then
      Convolution = require('relume.cuda').grouped_convolution
      kernel[7] = layer.groups
   end
   return fill(Convolution(weight:size(2) * layer.groups, layer.outputs, unpack(kernel)), layer.weights)
end

local function deconvolution(layer)
   check_weights(layer)
   local module = nn.SpatialFullConvolution(layer.weights[1]:size(1), layer.outputs, layer.kW, layer.kH,
      layer.dW, layer.dH, layer.padW, layer.padH)
   return fill(module, layer.weights)
end

local function pooling(layer, backend)
   if layer.is_global then
      local Global = layer.is_average and nn.SpatialAdaptiveAveragePooling or nn.SpatialAdaptiveMaxPooling
      return Global(1, 1)
   end
   local Pooling = layer.is_average and backend.SpatialAveragePooling or backend.SpatialMaxPooling
   return Pooling(layer.kW, layer.kH, layer.dW, layer.dH, layer.padW, layer.padH):ceil()
end

local function inner_product(layer)
   check_weights(layer)
   local weight = layer.weights[1]
   local outputs, inputs = weight:size(weight:dim() - 1), weight:size(weight:dim())
   return fill(nn.Linear(inputs, outputs), layer.weights)
end

local function normalization(layer, backend)
   if layer.is_within_planes then return nil end
   return backend.SpatialCrossMapLRN(layer.size, layer.alpha, layer.beta, layer.k)
end

local function rectifier(layer, backend)
   if layer.slope ~= 0 then return nn.LeakyReLU(layer.slope, true) end
   return backend.ReLU(true)
end

local makers = {
   Convolution = convolution, Deconvolution = deconvolution, Pooling = pooling,
   InnerProduct = inner_product, LRN = normalization, ReLU = rectifier,
   Dropout = function(layer) return nn.Dropout(layer.ratio) end,
   Sigmoid = function(_, backend) return backend.Sigmoid() end,
   TanH = function(_, backend) return backend.Tanh() end,
   Softmax = function(_, backend) return backend.SoftMax() end,
   SoftmaxWithLoss = function(_, backend) return backend.SoftMax() end,
}

-- What takes the place of layers that are flat from here on.
local function flattening(layer)
   local weight = layer.weights[1]
   local module = nn.View(-1, weight:size(weight:dim()))
   module.name = 'torch_view'
   return module
end

local backends = {
   nn = function() return nn end,
   cudnn = function() return require 'cudnn' end,
}
backends.ccn2 = backends.cudnn

-- The network of a .caffemodel; its prototxt says nothing more about it. `backend` is 'nn' or 'cudnn'.
function loadcaffe.load(prototxt, path, backend)
   backend = backend or 'nn'
   local chosen = backends[backend]
   if not chosen then
      error(("loadcaffe.load: expected the backend 'nn' or 'cudnn', got '%s'"):format(tostring(backend)), 2)
   end
   local layers = chosen()
   local network, is_flat = nn.Sequential(), false
   for _, layer in ipairs(python.layers(path)) do
      local maker = makers[layer.kind]
      local module = maker and maker(layer, layers)
      if module then
         if layer.kind == 'InnerProduct' and not is_flat then
            network:add(flattening(layer))
            is_flat = true
         end
         module.name = layer.name
         network:add(module)
         if layer.weights[1] then print(layer.name .. ': ' .. sizes(layer.weights[1])) end
      else
         print(("warning: module '%s [type %s]' not found"):format(layer.name, layer.kind))
      end
   end
   return network
end

return loadcaffe
