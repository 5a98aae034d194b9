-- Weights as a length times a direction: Salimans and Kingma, "Weight normalization" (2016).

local bound_of = require('nn.initial_values').bound

-- sqrt(|row|^2 + eps) of each row.
local function row_norms(rows, eps)
   return torch.cmul(rows, rows):sum(2):add(eps):sqrt()
end

-- Gradients of the direction v and the length g from that of the weight, which is g / norm * v.
local function split_gradient(gradient, v, g, norm)
   local along = torch.cmul(gradient, v):sum(2):cdiv(norm)
   local factor = torch.cdiv(g:viewAs(norm), norm)
   local of_v = torch.cmul(gradient, factor:expandAs(gradient))
   of_v:addcmul(-1, torch.cmul(along, factor):cdiv(norm):expandAs(v), v)
   return of_v, along
end

local function normalised(v, g, norm)
   return torch.cmul(v, torch.cdiv(g:viewAs(norm), norm):expandAs(v))
end

local LinearWeightNorm, Linear = torch.class('nn.LinearWeightNorm', 'nn.Linear')

function LinearWeightNorm:__init(inputSize, outputSize, bias, eps)
   nn.Module.__init(self)
   self.eps = eps or 1e-16
   self.outputSize, self.inputSize = outputSize, inputSize
   for _, name in ipairs {'v', 'gradV', 'weight'} do self[name] = torch.Tensor(outputSize, inputSize) end
   for _, name in ipairs {'g', 'gradG', 'norm', 'scale'} do self[name] = torch.Tensor(outputSize, 1) end
   if bias == nil or bias then
      self.bias, self.gradBias = torch.Tensor(outputSize), torch.Tensor(outputSize)
   end
   self:reset()
end

function LinearWeightNorm:reset(stdv)
   local bound = bound_of(stdv, self.inputSize)
   self.weight:resize(self.outputSize, self.inputSize):uniform(-bound, bound)
   if self.bias then self.bias:uniform(-bound, bound) end
   self:initFromWeight()
end

function LinearWeightNorm:initFromWeight(weight)
   weight = weight or self.weight
   self.g:copy(row_norms(weight, 0)):clamp(self.eps, math.huge)
   self.v:copy(weight)
   self:updateWeightMatrix()
   return self
end

function LinearWeightNorm.fromLinear(linear)
   local size = linear.weight:size()
   local module = nn.LinearWeightNorm(size[2], size[1], linear.bias ~= nil)
   module.weight:copy(linear.weight)
   module:initFromWeight()
   if linear.bias then module.bias:copy(linear.bias) end
   return module
end

function LinearWeightNorm:toLinear()
   self:updateWeightMatrix()
   local module = nn.Linear(self.inputSize, self.outputSize, self.bias ~= nil)
   module.weight:copy(self.weight)
   if self.bias then module.bias:copy(self.bias) end
   return module
end

function LinearWeightNorm:parameters()
   if self.bias then return {self.v, self.g, self.bias}, {self.gradV, self.gradG, self.gradBias} end
   return {self.v, self.g}, {self.gradV, self.gradG}
end

function LinearWeightNorm:updateWeightMatrix()
   self.norm:resizeAs(self.g):copy(row_norms(self.v, self.eps))
   self.scale:resizeAs(self.g):copy(self.g):cdiv(self.norm)
   self.weight:resizeAs(self.v):copy(normalised(self.v, self.g, self.norm))
end

function LinearWeightNorm:updateOutput(input)
   if self.train ~= false then self:updateWeightMatrix() end
   return Linear.updateOutput(self, input)
end

-- As in Torch7, the gradients of v and g take the place of what was there.
function LinearWeightNorm:accGradParameters(input, gradOutput, scale)
   scale = scale or 1
   local gradient = self.weight.new():resizeAs(self.weight):zero()
   if input:dim() == 1 then
      gradient:addr(scale, gradOutput, input)
      if self.bias then self.gradBias:add(scale, gradOutput) end
   else
      gradient:addmm(scale, gradOutput:t(), input)
      if self.bias then self.gradBias:add(scale, gradOutput:sum(1):view(-1)) end
   end
   local of_v, of_g = split_gradient(gradient, self.v, self.g, self.norm)
   self.gradV:copy(of_v)
   self.gradG:copy(of_g)
end

function LinearWeightNorm:defaultAccUpdateGradParameters(input, gradOutput, lr)
   self:accGradParameters(input, gradOutput, 1)
   self:updateParameters(lr)
end

function LinearWeightNorm:clearState()
   nn.utils.clear(self, 'weight', 'norm', 'scale')
   return nn.Module.clearState(self)
end

function LinearWeightNorm:evaluate()
   self:updateWeightMatrix()
   nn.Module.evaluate(self)
end

function LinearWeightNorm:__tostring__()
   return ('%s(%d -> %d)%s'):format(torch.type(self), self.inputSize, self.outputSize,
      self.bias and '' or ' without bias')
end

----------------------------------------------------------------------------------------
-- nn.WeightNorm(module [, dimension of the outputs]): the same for the weight of any module.

local WeightNorm, Decorator = torch.class('nn.WeightNorm', 'nn.Decorator')
local eps = 1e-4

-- The weight with the outputs in front, and as a matrix.
local function swapped(self, weight) return weight:transpose(1, self.outputDim) end
local function rows_of(self, weight) return swapped(self, weight):contiguous():view(self.viewIn) end

function WeightNorm:__init(module, outputDim)
   Decorator.__init(self, module)
   self.outputDim = outputDim or 1
   local weight = module.weight
   local outputs = weight:size(self.outputDim)
   self.otherDims = weight:nElement() / outputs
   self.weightSize = weight:size()
   self.viewOut = swapped(self, weight):size()
   self.viewIn = torch.LongStorage {outputs, self.otherDims}
   if module.bias then self.bias, self.gradBias = module.bias, module.gradBias end
   self.v, self.g = torch.Tensor(outputs, self.otherDims), torch.Tensor(outputs, 1)
   self.gradV, self.gradG = torch.Tensor(self.viewOut), torch.Tensor(outputs, 1)
   self:resetInit()
end

local function set_weight(self)
   local module = self.modules[1]
   self._norm = row_norms(self.v, eps)
   self._scale = torch.cdiv(self.g, self._norm):view(-1)
   local weight = swapped(self, normalised(self.v, self.g, self._norm):view(self.viewOut))
   module.weight = module.weight or self.v.new(self.weightSize)
   module.gradWeight = module.gradWeight or self.v.new(self.weightSize):zero()
   module.weight:resize(self.weightSize):copy(weight)
end

function WeightNorm:resetInit(stdv)
   self.v:normal(0, stdv or math.sqrt(2 / self.otherDims))
   self.g:copy(row_norms(self.v, 0))
   if self.bias then self.bias:zero() end
   set_weight(self)
end
WeightNorm.reset = WeightNorm.resetInit

function WeightNorm:evaluate()
   if self.train ~= false then set_weight(self) end
   Decorator.evaluate(self)
end

function WeightNorm:updateOutput(input)
   if self.train ~= false then set_weight(self) end
   return Decorator.updateOutput(self, input)
end

function WeightNorm:accGradParameters(input, gradOutput, scale)
   local module = self.modules[1]
   module:accGradParameters(input, gradOutput, scale)
   local gradient = rows_of(self, module.gradWeight)
   local of_v, of_g = split_gradient(gradient, self.v, self.g, self._norm)
   self.gradV:copy(of_v)
   self.gradG:copy(of_g)
end

function WeightNorm:updateGradInput(input, gradOutput)
   self.gradInput = self.modules[1]:updateGradInput(input, gradOutput)
   return self.gradInput
end

function WeightNorm:parameters()
   local parameters, gradients = {self.v, self.g}, {self.gradV, self.gradG}
   if self.bias then
      parameters[3], gradients[3] = self.bias, self.gradBias
   end
   return parameters, gradients
end

function WeightNorm:zeroGradParameters()
   self.modules[1]:zeroGradParameters()
   self.gradV:zero()
   self.gradG:zero()
   if self.bias then self.gradBias:zero() end
end

function WeightNorm:updateParameters(learningRate)
   self.modules[1]:updateParameters(learningRate)
   self.g:add(-learningRate, self.gradG)
   self.v:add(-learningRate, self.gradV)
end

-- In files the weight is left out: it follows from v and g.
function WeightNorm:write(file)
   local module = self.modules[1]
   local weight, gradWeight = module.weight, module.gradWeight
   module.weight, module.gradWeight = nil, nil
   local fields = {}
   for key, value in pairs(self) do fields[key] = value end
   file:writeObject(fields)
   module.weight, module.gradWeight = weight, gradWeight
end

function WeightNorm:read(file)
   for key, value in pairs(file:readObject()) do self[key] = value end
   set_weight(self)
end
