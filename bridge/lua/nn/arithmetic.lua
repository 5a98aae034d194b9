-- Layers with a few learned numbers: nn.Add, nn.Mul, nn.CMul, nn.CAdd, nn.PReLU; and nn.MM.
local core = require 'relume.ffi'
local size_checks = require 'nn.size_checks'
local bound_of = require('nn.initial_values').bound

-- Makes a class that has one parameter; `parameter` is 'weight' or 'bias'.
local function new_class(name, parameter, init)
   local class, parent = torch.class('nn.' .. name, 'nn.Module')
   local gradient = parameter == 'weight' and 'gradWeight' or 'gradBias'

   function class:__init(...)
      parent.__init(self)
      local sizes = init(self, ...)
      self[parameter] = torch.Tensor(sizes)
      self[gradient] = torch.Tensor(sizes)
      self:reset()
   end

   function class:reset(stdv)
      local bound = bound_of(stdv, self[parameter]:nElement())
      self[parameter]:uniform(-bound, bound)
   end
   return class
end

-- The list of a tensor's sizes.
local function sizes_of(tensor) return tensor:size():totable() end

-- Sums a gradient over what was repeated to reach its shape.
local function sum_to(gradient, like)
   return core.call('sum_to', gradient, sizes_of(like))
end

local Add = new_class('Add', 'bias', function(self, inputSize, scalar)
   if scalar then self.scalar = true end
   self._ones = torch.Tensor{1}
   return torch.LongStorage{scalar and 1 or inputSize}
end)

-- The input and the gradient as matrices with one row per sample.
local function rows(tensor, parameter)
   if tensor:nElement() == parameter:nElement() then return tensor:contiguous():view(1, -1) end
   return tensor:contiguous():view(tensor:size(1), -1)
end

function Add:updateOutput(input)
   self.output:resizeAs(input)
   if self.scalar then
      self.output:copy(input):add(self.bias[1])
   else
      self.output:copy(core.call('add', rows(input, self.bias), self.bias))
   end
   return self.output
end

function Add:updateGradInput(input, gradOutput)
   self.gradInput:resizeAs(gradOutput):copy(gradOutput)
   return self.gradInput
end

function Add:accGradParameters(input, gradOutput, scale)
   scale = scale or 1
   if self.scalar then
      self.gradBias[1] = self.gradBias[1] + scale * gradOutput:sum()
   else
      self.gradBias:add(scale, rows(gradOutput, self.bias):sum(1):view(-1))
   end
end

local Mul = new_class('Mul', 'weight', function() return torch.LongStorage{1} end)

function Mul:updateOutput(input)
   self.output:resizeAs(input):copy(input):mul(self.weight[1])
   return self.output
end

function Mul:updateGradInput(input, gradOutput)
   self.gradInput:resizeAs(input):copy(gradOutput):mul(self.weight[1])
   return self.gradInput
end

function Mul:accGradParameters(input, gradOutput, scale)
   self.gradWeight[1] = self.gradWeight[1] + (scale or 1) * input:dot(gradOutput)
end

----------------------------------------------------------------------------------------
-- One number per element of a sample; sizes of 1 are repeated.

local function sizes_argument(self, ...)
   local first = ...
   self.size = torch.isStorage(first) and first or torch.LongStorage{...}
   return self.size
end

-- Input and parameter in shapes that the core can combine.
local function matched(tensor, parameter)
   if tensor:dim() == parameter:dim() then return tensor, parameter end
   if tensor:nElement() == parameter:nElement() then return tensor, core.call('reshape', parameter, sizes_of(tensor)) end
   return core.call('reshape', tensor, {tensor:size(1), -1}), core.call('reshape', parameter, {1, -1})
end

local CMul = new_class('CMul', 'weight', sizes_argument)

function CMul:updateOutput(input)
   local values, factors = matched(input, self.weight)
   self.output:resizeAs(input):copy(core.call('mul', values, factors))
   return self.output
end

function CMul:updateGradInput(input, gradOutput)
   local values, factors = matched(gradOutput, self.weight)
   self.gradInput:resizeAs(input):copy(core.call('mul', values, factors))
   return self.gradInput
end

function CMul:accGradParameters(input, gradOutput, scale)
   local values, factors = matched(input, self.weight)
   local product = core.call('mul', values, core.call('reshape', gradOutput, sizes_of(values)))
   self.gradWeight:add(scale or 1, sum_to(product, factors))
end

local CAdd = new_class('CAdd', 'bias', sizes_argument)

function CAdd:updateOutput(input)
   local values, summands = matched(input, self.bias)
   self.output:resizeAs(input):copy(core.call('add', values, summands))
   return self.output
end

function CAdd:updateGradInput(input, gradOutput)
   self.gradInput:resizeAs(gradOutput):copy(gradOutput)
   return self.gradInput
end

function CAdd:accGradParameters(input, gradOutput, scale)
   local values, summands = matched(gradOutput, self.bias)
   self.gradBias:add(scale or 1, sum_to(values, summands))
end

----------------------------------------------------------------------------------------

local PReLU, parent = torch.class('nn.PReLU', 'nn.Module')

function PReLU:__init(nOutputPlane)
   parent.__init(self)
   self.nOutputPlane = nOutputPlane or 0
   local count = math.max(1, self.nOutputPlane)
   self.weight = torch.Tensor(count):fill(0.25)
   self.gradWeight = torch.Tensor(count)
end

-- The slopes, one per plane, in a shape that repeats over the rest of the input.
local function slopes(self, input)
   if self.nOutputPlane == 0 then return self.weight end
   local after = input:dim() - 1 - (input:dim() % 2 == 0 and 1 or 0)
   local sizes = {self.nOutputPlane}
   for i = 1, after do sizes[i + 1] = 1 end
   return core.call('reshape', self.weight, sizes)
end

function PReLU:updateOutput(input)
   core.into(self.output:resizeAs(input), 'where', core.call('gt', input, 0), input,
      core.call('mul', input, slopes(self, input)))
   return self.output
end

function PReLU:updateGradInput(input, gradOutput)
   core.into(self.gradInput:resizeAs(input), 'where', core.call('gt', input, 0), gradOutput,
      core.call('mul', gradOutput, slopes(self, input)))
   return self.gradInput
end

function PReLU:accGradParameters(input, gradOutput, scale)
   local below = torch.cmul(input, gradOutput):cmul(torch.le(input, 0):typeAs(input))
   self.gradWeight:add(scale or 1, core.call('reshape', sum_to(below, slopes(self, input)), {-1}))
end

----------------------------------------------------------------------------------------

local MM, module = torch.class('nn.MM', 'nn.Module')

function MM:__init(transA, transB)
   module.__init(self)
   self.transA, self.transB = transA or false, transB or false
   self.gradInput = {torch.Tensor(), torch.Tensor()}
end

local function turned(matrix, flag)
   if not flag then return matrix end
   return matrix:transpose(matrix:dim() - 1, matrix:dim())
end

function MM:updateOutput(input)
   local a, b = turned(input[1], self.transA), turned(input[2], self.transB)
   size_checks.factors(a, b)
   local product = core.call('matmul', a, b)
   self.output:resizeAs(product):copy(product)
   return self.output
end

function MM:updateGradInput(input, gradOutput)
   local a, b = turned(input[1], self.transA), turned(input[2], self.transB)
   local toA = core.call('matmul', gradOutput, turned(b, true))
   local toB = core.call('matmul', turned(a, true), gradOutput)
   self.gradInput[1] = self.gradInput[1] or input[1].new()
   self.gradInput[2] = self.gradInput[2] or input[2].new()
   self.gradInput[1]:resizeAs(input[1]):copy(turned(toA, self.transA))
   self.gradInput[2]:resizeAs(input[2]):copy(turned(toB, self.transB))
   return self.gradInput
end
