-- Criterions derived from what they compute: margins, distances, labels, and those of criterions.
local derived = require 'nn.derived'
local size_checks = require 'nn.size_checks'

local op, criterion, class = derived.op, derived.criterion, derived.class

local function average(self, values)
   local total = op.sum(values)
   return self.sizeAverage and op.div(total, values:nElement()) or total
end

-- A target in the size of the input; a number stands for all.
local function same_size(input, target)
   if type(target) == 'number' then return target end
   size_checks.same_count(input, target)
   return op.reshape(target, input:size():totable())
end

-- Means, or sums, of f(self, input, target) over all elements.
local function of_elements(name, init, f)
   local result = class(name, 'nn.Criterion', function(self, ...)
      self.sizeAverage = true
      init(self, ...)
   end)
   return criterion(result, function(self, input, target)
      return average(self, f(self, input, same_size(input, target)))
   end)
end

local function set_average(self, sizeAverage)
   if sizeAverage ~= nil then self.sizeAverage = sizeAverage end
end

local function set_margin(default)
   return function(self, margin, sizeAverage)
      self.margin = margin or default
      set_average(self, sizeAverage)
   end
end

of_elements('SoftMarginCriterion', set_average, function(_, x, t)
   return op.log1p(op.exp(op.neg(op.mul(x, t))))
end)

of_elements('DistKLDivCriterion', set_average, function(_, x, t)
   local positive = op.gt(t, 0)
   local value = op.mul(t, op.sub(op.log(op.where(positive, t, 1)), x))
   return op.where(positive, value, 0)
end)

of_elements('MarginCriterion', set_margin(1), function(self, x, t)
   return op.relu(op.add(op.neg(op.mul(x, t)), self.margin))
end)

of_elements('HingeEmbeddingCriterion', set_margin(1), function(self, x, t)
   local behind = op.relu(op.add(op.neg(x), self.margin))
   if type(t) == 'number' then return t == 1 and x or behind end
   return op.where(op.eq(t, 1), x, behind)
end)

of_elements('WeightedMSECriterion', function(self, weight) self.weight = weight:clone() end,
   function(self, x, t) return op.square(op.sub(x, op.mul(t, self.weight))) end)

local SpatialAutoCropMSECriterion = class('SpatialAutoCropMSECriterion', 'nn.Criterion', function(self, sizeAverage)
   self.sizeAverage = true
   set_average(self, sizeAverage)
end)
criterion(SpatialAutoCropMSECriterion, function(self, input, target)
   for d = 1, input:dim() - 2 do
      if input:dim() ~= target:dim() or input:size(d) ~= target:size(d) then
         error('nn.SpatialAutoCropMSECriterion: input and target differ in more than height and width', 0)
      end
   end
   for back = 1, 2 do
      local size, room = input:size(input:dim() - back + 1), target:size(target:dim() - back + 1)
      target = target:narrow(target:dim() - back + 1, math.floor((room - size) / 2) + 1, size)
   end
   return average(self, op.square(op.sub(input, target)))
end)

criterion(class('L1Cost', 'nn.Criterion'), function(_, input) return op.sum(op.abs(input)) end)

----------------------------------------------------------------------------------------
-- Pairs of tensors.

local function pair(name, init, compute)
   return criterion(class(name, 'nn.Criterion', function(self, ...)
      self.sizeAverage = true
      self.gradInput = {torch.Tensor(1), torch.Tensor(1)}
      init(self, ...)
   end), compute)
end

local function first_of(target) return torch.isTensor(target) and target:view(-1)[1] or target end

local L1Hinge = pair('L1HingeEmbeddingCriterion', function(self, margin)
   self.margin, self.sizeAverage = margin or 1, nil
end, function(self, input, target)
   local distance = op.sum(op.abs(op.sub(input[1], input[2])))
   if first_of(target) == 1 then return distance end
   return op.relu(op.add(op.neg(distance), self.margin))
end)

-- The sign of each difference; of equal ones a random one, as in Torch7.
local function sign_of(difference)
   local sign = difference:clone():sign()
   return sign:apply(function(x)
      if x == 0 then return torch.random(2) == 1 and 1 or -1 end
   end)
end

function L1Hinge:updateGradInput(input, target)
   local sign = sign_of(input[1] - input[2])
   if first_of(target) ~= 1 then
      local distance = (input[1] - input[2]):norm(1)
      sign:mul(distance < self.margin and -1 or 0)
   end
   self.gradInput[1]:resizeAs(sign):copy(sign)
   self.gradInput[2]:resizeAs(sign):copy(sign):mul(-1)
   return self.gradInput
end

pair('MarginRankingCriterion', set_margin(1), function(self, input, target)
   return average(self, op.relu(op.add(op.mul(op.sub(input[2], input[1]), target), self.margin)))
end)

pair('CosineEmbeddingCriterion', set_margin(0), function(self, input, target)
   local first, second = input[1], input[2]
   if first._ndim == 1 then first, second = op.unsqueeze(first, 0), op.unsqueeze(second, 0) end
   local cosine = derived.cosines(first, second)
   local apart, together = op.relu(op.sub(cosine, self.margin)), op.add(op.neg(cosine), 1)
   if not torch.isTensor(target) then return average(self, target == 1 and together or apart) end
   return average(self, op.where(op.eq(op.reshape(target, {-1}), 1), together, apart))
end)

pair('DistanceRatioCriterion', set_average, function(self, input)
   local near, far = input[1], input[2]
   local loss = op.add(op.log(op.add(op.exp(op.neg(near)), op.exp(op.neg(far)))), near)
   local total = op.sum(loss)
   return self.sizeAverage and op.div(total, near:size(1)) or total
end)

----------------------------------------------------------------------------------------
-- Labels.

local function rows_of(input) return input._ndim == 2 and input or op.unsqueeze(input, 0) end

-- Labels as a LongTensor, 0-based; an error names one that is no class.
local function labels_of(self, target, samples, classes)
   local labels = torch.isTensor(target) and target:contiguous():view(-1):long() or torch.LongTensor {target}
   if labels:nElement() ~= samples then
      error(('%s: expected %d targets, got %d'):format(torch.type(self), samples, labels:nElement()), 0)
   end
   if labels:min() < 1 or labels:max() > classes then
      error(('%s: target out of range: classes are 1 to %d'):format(torch.type(self), classes), 0)
   end
   return labels - 1
end

local MultiMarginCriterion = class('MultiMarginCriterion', 'nn.Criterion', function(self, p, weights, margin)
   self.p, self.weights, self.margin, self.sizeAverage = p or 1, weights, margin or 1, true
   if self.p ~= 1 and self.p ~= 2 then error('nn.MultiMarginCriterion: p must be 1 or 2', 3) end
end)
criterion(MultiMarginCriterion, function(self, input, target)
   local rows = rows_of(input)
   local samples, classes = tonumber(rows._shape[0]), tonumber(rows._shape[1])
   local labels = labels_of(self, target, samples, classes)
   local places = op.unsqueeze(labels, 1)
   local values = op.relu(op.add(op.sub(rows, op.gather(rows, 1, places)), self.margin))
   if self.p == 2 then values = op.square(values) end
   if self.weights then
      values = op.mul(values, op.unsqueeze(op.index_select(self.weights, 0, labels), 1))
   end
   local others = input.new(samples, classes):fill(1):scatter(2, places + 1, 0)
   local total = op.div(op.sum(op.mul(values, others)), classes)
   return self.sizeAverage and op.div(total, samples) or total
end)

local MultiLabelMarginCriterion = class('MultiLabelMarginCriterion', 'nn.Criterion', function(self, sizeAverage)
   self.sizeAverage, self.isTarget = true, torch.Tensor()
   set_average(self, sizeAverage)
end)

-- Which classes a row of labels, ended by 0, names, and which not: 0-based.
local function split_classes(labels, classes)
   local is_right, right, wrong = {}, {}, {}
   for _, label in ipairs(labels) do
      if label == 0 then break end
      is_right[label] = true
      right[#right + 1] = label - 1
   end
   for i = 1, classes do
      if not is_right[i] then wrong[#wrong + 1] = i - 1 end
   end
   return right, wrong
end

criterion(MultiLabelMarginCriterion, function(self, input, target)
   local rows = rows_of(input)
   local samples, classes = tonumber(rows._shape[0]), tonumber(rows._shape[1])
   local targets = target:contiguous():view(samples, -1):totable()
   local total = op.mul(op.sum(rows), 0)
   for i, labels in ipairs(targets) do
      local right, wrong = split_classes(labels, classes)
      if #right > 0 and #wrong > 0 then
         local values = op.select(rows, 0, i - 1)
         local chosen = op.unsqueeze(op.index_select(values, 0, torch.LongTensor(right)), 1)
         local others = op.unsqueeze(op.index_select(values, 0, torch.LongTensor(wrong)), 0)
         total = op.add(total, op.sum(op.relu(op.add(op.sub(others, chosen), 1))))
      end
   end
   total = op.div(total, classes)
   return self.sizeAverage and op.div(total, samples) or total
end)

local MultiLabelSoftMarginCriterion = class('MultiLabelSoftMarginCriterion', 'nn.Criterion',
   function(self, weights, sizeAverage)
      self.weights, self.sizeAverage, self.sigmoid = weights, true, nn.Sigmoid()
      set_average(self, sizeAverage)
   end)
criterion(MultiLabelSoftMarginCriterion, function(self, input, target)
   target = same_size(input, target)
   local chance = op.sigmoid(input)
   local value = op.add(op.mul(op.log(op.add(chance, 1e-12)), target),
      op.mul(op.log(op.add(op.neg(chance), 1 + 1e-12)), op.add(op.neg(target), 1)))
   if self.weights then value = op.mul(value, self.weights) end
   return op.neg(average(self, value))
end)

local SpatialClassNLLCriterion = torch.class('nn.SpatialClassNLLCriterion', 'nn.Criterion')
require('torch.class').take_methods(SpatialClassNLLCriterion, torch.getmetatable 'nn.ClassNLLCriterion')

-- Every place of the planes is a sample.
local function places_of(input, target)
   local planes = input:dim() == 4 and input or nn.utils.addSingletonDimension(input, 1)
   local classes = planes:size(2)
   local rows = planes:transpose(2, 3):transpose(3, 4):contiguous():view(-1, classes)
   return rows, target:contiguous():view(-1), planes
end

function SpatialClassNLLCriterion:updateOutput(input, target)
   local rows, labels = places_of(input, target)
   return nn.ClassNLLCriterion.updateOutput(self, rows, labels)
end

function SpatialClassNLLCriterion:updateGradInput(input, target)
   local rows, labels, planes = places_of(input, target)
   local gradient = nn.ClassNLLCriterion.updateGradInput(self, rows, labels):clone()
   gradient = gradient:view(planes:size(1), planes:size(3), planes:size(4), planes:size(2))
   gradient = gradient:transpose(3, 4):transpose(2, 3)
   self.gradInput:resizeAs(input):copy(gradient)
   return self.gradInput
end

----------------------------------------------------------------------------------------
-- Criterions of criterions.

local MultiCriterion, parent = torch.class('nn.MultiCriterion', 'nn.Criterion')

function MultiCriterion:__init()
   parent.__init(self)
   self.criterions = {}
   self.weights = torch.DoubleStorage()
end

function MultiCriterion:add(member, weight)
   table.insert(self.criterions, member)
   self.weights:resize(#self.criterions)
   self.weights[#self.criterions] = weight or 1
   return self
end

function MultiCriterion:updateOutput(input, target)
   self.output = 0
   for i, member in ipairs(self.criterions) do
      self.output = self.output + self.weights[i] * member:updateOutput(input, target)
   end
   return self.output
end

function MultiCriterion:updateGradInput(input, target)
   self.gradInput = nn.utils.recursiveResizeAs(self.gradInput, input)
   nn.utils.recursiveFill(self.gradInput, 0)
   for i, member in ipairs(self.criterions) do
      nn.utils.recursiveAdd(self.gradInput, self.weights[i], member:updateGradInput(input, target))
   end
   return self.gradInput
end

function MultiCriterion:type(name, cache)
   for _, member in ipairs(self.criterions) do member:type(name, cache) end
   return parent.type(self, name, cache)
end

local ParallelCriterion = torch.class('nn.ParallelCriterion', 'nn.Criterion')
function ParallelCriterion:__init(repeatTarget)
   parent.__init(self)
   self.criterions, self.weights, self.gradInput = {}, {}, {}
   self.repeatTarget = repeatTarget
end

function ParallelCriterion:add(member, weight)
   table.insert(self.criterions, member)
   table.insert(self.weights, weight or 1)
   return self
end

local function target_of(self, target, i)
   if self.repeatTarget then return target end
   return target[i]
end

function ParallelCriterion:updateOutput(input, target)
   self.output = 0
   for i, member in ipairs(self.criterions) do
      self.output = self.output + self.weights[i] * member:updateOutput(input[i], target_of(self, target, i))
   end
   return self.output
end

function ParallelCriterion:updateGradInput(input, target)
   self.gradInput = nn.utils.recursiveResizeAs(self.gradInput, input)
   nn.utils.recursiveFill(self.gradInput, 0)
   for i, member in ipairs(self.criterions) do
      nn.utils.recursiveAdd(self.gradInput[i], self.weights[i],
         member:updateGradInput(input[i], target_of(self, target, i)))
   end
   return self.gradInput
end

-- A criterion on what modules make of the input and the target.
local ModuleCriterion = torch.class('nn.ModuleCriterion', 'nn.Criterion')

function ModuleCriterion:__init(member, inputModule, targetModule, castTarget)
   parent.__init(self)
   self.criterion, self.inputModule, self.targetModule = member, inputModule, targetModule
   self.castTarget = castTarget == nil or castTarget
end

function ModuleCriterion:updateOutput(input, target)
   local of_input = self.inputModule and self.inputModule:forward(input) or input
   self._target = self.targetModule and self.targetModule:forward(target) or target
   self.output = self.criterion:forward(of_input, self._target)
   return self.output
end

function ModuleCriterion:updateGradInput(input, target)
   local of_input = self.inputModule and self.inputModule.output or input
   local target_of_forward = self._target == nil and target or self._target
   local gradient = self.criterion:backward(of_input, target_of_forward)
   self.gradInput = self.inputModule and self.inputModule:backward(input, gradient) or gradient
   return self.gradInput
end

-- A criterion as a module: the input is {input, target}.
local CriterionTable, module = torch.class('nn.CriterionTable', 'nn.Module')

function CriterionTable:__init(member)
   module.__init(self)
   self.criterion = member
   self.gradInput = {member.gradInput}
end

function CriterionTable:updateOutput(input)
   self.output = self.criterion:updateOutput(unpack(input))
   return self.output
end

function CriterionTable:updateGradInput(input, gradOutput)
   self.criterion:updateGradInput(unpack(input))
   return self.gradInput
end
