-- nn.hessian: diagonals of second derivatives by a backward pass of their own. Where a layer is
-- linear, squared weights (and squared inputs, for the parameters) pass the diagonal on; where it
-- works on every element, squared slopes do (LeCun et al., 1998, "Efficient BackProp").
local derived = require 'nn.derived'

local Module = torch.getmetatable 'nn.Module'
local hessian = {}
nn.hessian = hessian

local function named(names)
   local set = {}
   for name in names:gmatch('%S+') do set['nn.' .. name] = true end
   return set
end

local LINEAR = named [[Linear LinearNoBias SpatialConvolution SpatialConvolutionMM SpatialConvolutionLocal
   SpatialConvolutionMap SpatialDilatedConvolution SpatialFullConvolution SpatialFullConvolutionMap
   SpatialSubSampling TemporalConvolution TemporalSubSampling VolumetricConvolution
   VolumetricFullConvolution Add CAdd Mul CMul]]
-- Each element of the output is one of the input.
local MOVING = named [[Contiguous Identity Narrow Reshape Select Squeeze Transpose Unsqueeze View
   SpatialMaxPooling SpatialZeroPadding TemporalMaxPooling VolumetricMaxPooling]]
local POINTWISE = named [[Abs AddConstant Clamp ELU Exp HardShrink HardTanh LeakyReLU Log LogSigmoid
   MulConstant Power ReLU ReLU6 Sigmoid SoftPlus SoftShrink SoftSign Sqrt Square Tanh Threshold]]

-- Calls f with other tensors in some fields.
local function with_fields(self, fields, f)
   local kept = {}
   for name, value in pairs(fields) do kept[name], self[name] = self[name], value end
   derived.forget(self)  -- what the tape has is of the fields as they were
   local ok, result = pcall(f)
   for name in pairs(fields) do self[name] = kept[name] end
   derived.forget(self)
   if not ok then error(result, 0) end
   return result
end

local function unknown(self)
   error(('%s: nn.hessian knows no rule for this class: write updateDiagHessianInput(input, '
      .. 'diagHessianOutput)'):format(torch.type(self)), 3)
end

local PARAMETERS = {weight = {'gradWeight', 'diagHessianWeight'}, bias = {'gradBias', 'diagHessianBias'}}

local function gradient_of_input(self, input, gradOutput, fields)
   fields.gradInput = input.new()
   return with_fields(self, fields, function() return self:updateGradInput(input, gradOutput):clone() end)
end

local methods = {}

function methods:updateDiagHessianInput(input, diagHessianOutput)
   local name = torch.type(self)
   if LINEAR[name] then
      local squares = {}
      for field in pairs(PARAMETERS) do squares[field] = self[field] and torch.pow(self[field], 2) end
      self.diagHessianInput = gradient_of_input(self, input, diagHessianOutput, squares)
   elseif MOVING[name] then
      self.diagHessianInput = gradient_of_input(self, input, diagHessianOutput, {})
   elseif POINTWISE[name] then
      local ones = diagHessianOutput.new(diagHessianOutput:size()):fill(1)
      local slopes = gradient_of_input(self, input, ones, {})
      self.diagHessianInput = slopes:pow(2):cmul(diagHessianOutput:viewAs(slopes))
   else
      unknown(self)
   end
   return self.diagHessianInput
end

function methods:accDiagHessianParameters(input, diagHessianOutput)
   if not (self.weight or self.bias) then return end
   if not LINEAR[torch.type(self)] then unknown(self) end
   local sums = {}
   for field, names in pairs(PARAMETERS) do
      if self[field] then sums[names[1]] = self[names[2]] end
   end
   with_fields(self, sums, function()
      self:accGradParameters(torch.pow(input, 2), diagHessianOutput, 1)
   end)
end

function methods:backwardDiagHessian(input, diagHessianOutput)
   self:updateDiagHessianInput(input, diagHessianOutput)
   self:accDiagHessianParameters(input, diagHessianOutput)
   return self.diagHessianInput
end

function methods:initDiagHessianParameters()
   for _, module in ipairs(self.modules or {}) do module:initDiagHessianParameters() end
   for field, names in pairs(PARAMETERS) do
      if self[field] then self[names[2]] = self[field].new(self[field]:size()):zero() end
   end
end

-- The diagonals in the order of parameters().
local function diagonals(self)
   local list = {}
   for _, field in ipairs {'weight', 'bias'} do
      if self[field] then list[#list + 1] = self[PARAMETERS[field][2]] end
   end
   for _, module in ipairs(self.modules or {}) do
      for _, diagonal in ipairs(diagonals(module)) do list[#list + 1] = diagonal end
   end
   return list
end

local Sequential = torch.getmetatable 'nn.Sequential'
local sequential = {}

function sequential:updateDiagHessianInput(input, diagHessianOutput)
   for i = #self.modules, 1, -1 do
      local before = i > 1 and self.modules[i - 1].output or input
      diagHessianOutput = self.modules[i]:updateDiagHessianInput(before, diagHessianOutput)
   end
   self.diagHessianInput = diagHessianOutput
   return diagHessianOutput
end

function sequential:accDiagHessianParameters(input, diagHessianOutput)
   for i = #self.modules, 1, -1 do
      local before = i > 1 and self.modules[i - 1].output or input
      self.modules[i]:accDiagHessianParameters(before, diagHessianOutput)
      diagHessianOutput = self.modules[i].diagHessianInput
   end
end

local MSECriterion = torch.getmetatable 'nn.MSECriterion'

-- Second derivatives of squares: the same number for every element.
local function of_squares(self, input)
   local second = self.sizeAverage and 2 / input:nElement() or 2
   self.diagHessianInput = input.new(input:size()):fill(second)
   return self.diagHessianInput
end

local get_parameters = Module.getParameters

-- The same with the diagonals as a third result.
local function with_diagonals(parameters)
   return function(self)
      local own, gradients = parameters(self)
      if own then return own, gradients, diagonals(self) end
   end
end

local is_enabled = false

-- Gives modules these methods; parameters and getParameters get a third result, the diagonals.
function hessian.enable()
   if is_enabled then return end
   is_enabled = true
   local Container = torch.getmetatable 'nn.Container'
   Container.parameters = with_diagonals(Container.parameters)
   Module.parameters = with_diagonals(Module.parameters)
   for name, method in pairs(methods) do Module[name] = Module[name] or method end
   for name, method in pairs(sequential) do Sequential[name] = method end
   MSECriterion.updateDiagHessianInput = of_squares
   Module.getParameters = hessian.getParameters
end

function hessian.getParameters(module)
   local flat, flat_gradients = get_parameters(module)
   module:initDiagHessianParameters()
   return flat, flat_gradients, Module.flatten(diagonals(module))
end
