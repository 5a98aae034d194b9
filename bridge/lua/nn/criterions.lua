-- Losses.
local core = require 'relume.ffi'
local size_checks = require 'nn.size_checks'
local number = require('torch.reduce').number

local Criterion = torch.class 'nn.Criterion'

function Criterion:__init()
   self.gradInput = torch.Tensor()
   self.output = 0
end

function Criterion:updateOutput(input, target) end
function Criterion:updateGradInput(input, target) end
function Criterion:forward(input, target) return self:updateOutput(input, target) end
function Criterion:backward(input, target) return self:updateGradInput(input, target) end
function Criterion:clone() return nn.Module.clone(self) end

function Criterion:type(name, cache)
   if not name then return self._type end
   cache = cache or {}
   for key, value in pairs(self) do self[key] = nn.utils.recursiveType(value, name, cache) end
   return self
end
function Criterion:float() return self:type('torch.FloatTensor') end
function Criterion:double() return self:type('torch.DoubleTensor') end
function Criterion:cuda() return self:type('torch.CudaTensor') end

function Criterion:__call__(input, target)
   self.output = self:forward(input, target)
   self.gradInput = self:backward(input, target)
   return self.output, self.gradInput
end

----------------------------------------------------------------------------------------
-- Sums over elements of f(input, target): rows of a table.

local function difference(input, target)
   return torch.csub(input, target)
end

local elementwise = {
   {'MSECriterion',
      loss = function(self, input, target)
         local d = difference(input, target)
         return d:dot(d)
      end,
      gradient = function(self, input, target) return difference(input, target):mul(2) end},
   {'AbsCriterion',
      loss = function(self, input, target) return difference(input, target):abs():sum() end,
      gradient = function(self, input, target) return torch.ge(input, target):typeAs(input):mul(2):add(-1) end},
   {'SmoothL1Criterion',
      loss = function(self, input, target)
         local d = difference(input, target):abs()
         local small = d:lt(1):typeAs(d)
         local square = torch.cmul(d, d):mul(0.5):cmul(small)
         return square:sum() + d:add(-0.5):cmul(small:mul(-1):add(1)):sum()
      end,
      gradient = function(self, input, target) return difference(input, target):clamp(-1, 1) end},
}

for _, row in ipairs(elementwise) do
   local class, parent = torch.class('nn.' .. row[1], 'nn.Criterion')
   function class:__init(sizeAverage)
      parent.__init(self)
      self.sizeAverage = sizeAverage ~= false
      self.output_tensor = torch.Tensor(1)
   end
   function class:updateOutput(input, target)
      size_checks.same_count(input, target)
      local total = row.loss(self, input, target)
      self.output = self.sizeAverage and total / input:nElement() or total
      return self.output
   end
   function class:updateGradInput(input, target)
      self.gradInput:resizeAs(input):copy(row.gradient(self, input, target))
      if self.sizeAverage then self.gradInput:div(input:nElement()) end
      return self.gradInput
   end
end

local BCECriterion, parent = torch.class('nn.BCECriterion', 'nn.Criterion')
local epsilon = 1e-12

function BCECriterion:__init(weights, sizeAverage)
   parent.__init(self)
   if torch.isTensor(weights) then self.weights = weights end
   self.sizeAverage = sizeAverage ~= false
end

local function weigh(self, tensor)
   if self.weights then tensor:cmul(self.weights:view(1, -1):expandAs(tensor:view(-1, self.weights:nElement()))) end
   return tensor
end

function BCECriterion:updateOutput(input, target)
   if input:nElement() ~= target:nElement() then error('input and target size mismatch', 2) end
   local positive = weigh(self, torch.add(input, epsilon):log():cmul(target))
   local negative = weigh(self, torch.mul(input, -1):add(1 + epsilon):log():cmul(torch.mul(target, -1):add(1)))
   self.output = -(positive:sum() + negative:sum())
   if self.sizeAverage then self.output = self.output / input:nElement() end
   return self.output
end

function BCECriterion:updateGradInput(input, target)
   -- (input - target) / ((1 - input + eps) (input + eps))
   local bottom = torch.mul(input, -1):add(1 + epsilon):cmul(torch.add(input, epsilon))
   self.gradInput:resizeAs(input):copy(input):csub(target):cdiv(bottom)
   weigh(self, self.gradInput)
   if self.sizeAverage then self.gradInput:div(input:nElement()) end
   return self.gradInput
end

----------------------------------------------------------------------------------------

local ClassNLLCriterion = torch.class('nn.ClassNLLCriterion', 'nn.Criterion')

function ClassNLLCriterion:__init(weights, sizeAverage, ignoreIndex)
   parent.__init(self)
   self.sizeAverage = sizeAverage ~= false
   self.ignoreIndex = ignoreIndex or -100
   if weights then self.weights = weights end
   self.output_tensor = torch.zeros(1)
   self.total_weight_tensor = torch.ones(1)
   self.target = torch.zeros(1):long()
end

-- The input as a matrix, and a label, from 0, for each row.
local function rows_and_labels(self, input, target)
   if input:dim() > 2 then error('input tensor should be 1D or 2D', 3) end
   local rows = input:dim() == 1 and input:contiguous():view(1, -1) or input
   local labels = type(target) == 'number' and torch.LongTensor {target} or target:long():contiguous():view(-1)
   if input:dim() == 1 then labels = labels:narrow(1, 1, 1) end  -- further ones are not looked at
   size_checks.classes(self.weights, rows, labels)
   local classes = rows:size(2)
   if labels:min() < 1 or labels:max() > classes then
      for i = 1, labels:size(1) do
         local label = labels[i]
         if label ~= self.ignoreIndex and (label < 1 or label > classes) then
            error('Assertion `cur_target >= 0 && cur_target < n_classes\' failed. ', 3)
         end
      end
   end
   return rows, labels - 1
end

local function ignored(self) return (self.ignoreIndex or -100) - 1 end

-- The sum of the weights of the labels that count.
local function total_weight(self, labels)
   local counts = labels:ne(ignored(self))
   if not self.weights then return counts:sum() end
   local chosen = self.weights:index(1, torch.cmul(labels, counts:long()) + 1)
   return chosen:cmul(counts:typeAs(chosen)):sum()
end

local function average_of(self, total)
   return (self.sizeAverage and total ~= 0) and total or 1
end

function ClassNLLCriterion:updateOutput(input, target)
   local rows, labels = rows_and_labels(self, input, target)
   local total = total_weight(self, labels)
   local loss = number(core.call('nll_loss', rows, labels, self.weights, 'sum', ignored(self)))
   self.total_weight_tensor[1] = total
   self.output = loss / average_of(self, total)
   self.output_tensor[1] = self.output
   return self.output, self.total_weight_tensor[1]
end

function ClassNLLCriterion:updateGradInput(input, target)
   local rows, labels = rows_and_labels(self, input, target)
   local scale = input.new(1):fill(1 / average_of(self, total_weight(self, labels)))
   local gradient = core.call('nll_loss_backward', core.call('reshape', scale, {}), labels, self.weights,
      rows:size():totable(), 'sum', ignored(self))
   self.gradInput:resizeAs(input):copy(gradient)
   return self.gradInput
end

local CrossEntropyCriterion, criterion = torch.class('nn.CrossEntropyCriterion', 'nn.Criterion')

function CrossEntropyCriterion:__init(weights, sizeAverage)
   criterion.__init(self)
   self.lsm = nn.LogSoftMax()
   self.nll = nn.ClassNLLCriterion(weights, sizeAverage)
   self.sizeAverage = self.nll.sizeAverage
   self.oldSizeAverage = self.sizeAverage
end

-- A change of the field is passed on; one that was made in `nll` itself stays.
local function pass_average(self)
   if self.oldSizeAverage ~= nil and self.sizeAverage == self.oldSizeAverage then return end
   self.nll.sizeAverage, self.oldSizeAverage = self.sizeAverage, self.sizeAverage
end

function CrossEntropyCriterion:updateOutput(input, target)
   local rows = input:squeeze()
   target = type(target) == 'number' and target or target:squeeze()
   pass_average(self)
   self.output = self.nll:updateOutput(self.lsm:updateOutput(rows), target)
   return self.output
end

function CrossEntropyCriterion:updateGradInput(input, target)
   local size = input:size()
   local rows = input:squeeze()
   target = type(target) == 'number' and target or target:squeeze()
   self.nll:updateGradInput(self.lsm.output, target)
   self.lsm:updateGradInput(rows, self.nll.gradInput)
   self.gradInput:view(self.lsm.gradInput, size)
   return self.gradInput
end
