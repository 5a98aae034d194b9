-- Criterions of sequences: a copy of a criterion for every step.
local recursive = require 'rnn.recursive'
local sequencer = require 'rnn.sequencer'

local Criterion = torch.getmetatable 'nn.Criterion'

local function get_step_criterion(self, step)
   local clone = self.clones[step]
   if not clone then
      clone = self.criterion:clone()
      self.clones[step] = clone
   end
   return clone
end

local function set_zero_mask(self, mask)
   if mask == false then
      for _, clone in pairs(self.clones) do clone:setZeroMask(false) end
   else
      for step = 1, mask:size(1) do get_step_criterion(self, step):setZeroMask(mask[step]) end
   end
   return self
end

-- A class whose step i has the target targets_of(self, target, steps)[i].
local function stepwise(name, targets_of)
   local class = torch.class('nn.' .. name, 'nn.Criterion')

   function class:__init(criterion, sizeAverage)
      Criterion.__init(self)
      self.criterion = criterion
      if sizeAverage ~= nil or name == 'SequencerCriterion' then self.sizeAverage = sizeAverage or false end
      self.clones, self.gradInput = {}, {}
   end

   class.getStepCriterion, class.setZeroMask = get_step_criterion, set_zero_mask

   function class:updateOutput(input, target)
      local steps = sequencer.elements(input)
      local targets, total = targets_of(self, target, steps), 0
      for i, element in ipairs(steps) do
         total = total + self:getStepCriterion(i):forward(element, targets[i])
      end
      self.output = self.sizeAverage and total / #steps or total
      return self.output
   end

   function class:updateGradInput(input, target)
      local steps = sequencer.elements(input)
      local targets, found = targets_of(self, target, steps), {}
      for i, element in ipairs(steps) do
         local gradient = self:getStepCriterion(i):backward(element, targets[i])
         if self.sizeAverage then
            gradient = recursive.recursiveMap(gradient, function(tensor) return tensor / #steps end)
         end
         found[i] = gradient
      end
      self.gradInput = sequencer.joined(input, found, self.gradInput)
      return self.gradInput
   end
   return class
end

stepwise('SequencerCriterion', function(_, target, steps)
   local targets = sequencer.elements(target)
   if #targets ~= #steps then
      error(('target should have an element for each of the %d steps, it has %d'):format(#steps, #targets), 3)
   end
   return targets
end)

stepwise('RepeaterCriterion', function(_, target, steps)
   local targets = {}
   for i = 1, #steps do targets[i] = target end
   return targets
end)
