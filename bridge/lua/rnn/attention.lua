-- nn.RecurrentAttention(rnn, action, nStep, hiddenSize): runs `rnn` on {input, action} for a number
-- of steps (Mnih et al., 2014). Each action comes from the output of the step before, the first one
-- from zeros.
local recursive = require 'rnn.recursive'
local zeros_like = require('relume.tape').zeros_like
local sequencer = require 'rnn.sequencer'

local RecurrentAttention = torch.class('nn.RecurrentAttention', 'nn.AbstractSequencer')
local Container = torch.getmetatable 'nn.Container'

function RecurrentAttention:__init(rnn, action, nStep, hiddenSize)
   Container.__init(self)
   self.rnn, self.action = sequencer.as_recurrent(rnn), sequencer.as_recurrent(action)
   self.hiddenSize, self.nStep = hiddenSize, nStep
   self.modules = {self.rnn, self.action}
   self.output, self.actions = {}, {}
   self.forwardActions = false
   self.gradHidden = {}
end

local function first_output(self, input)
   while not torch.isTensor(input) do input = input[1] end
   return input.new(input:size(1), unpack(self.hiddenSize)):zero()
end

function RecurrentAttention:updateOutput(input)
   self.rnn:forget()
   self.action:forget()
   self._initInput = first_output(self, input)
   self.output, self.actions = {}, {}
   local hidden = self._initInput
   self._hidden = {}
   for step = 1, self.nStep do
      self._hidden[step] = hidden
      self.actions[step] = self.action:updateOutput(hidden)
      hidden = self.rnn:updateOutput({input, self.actions[step]})
      if self.train == false then hidden = recursive.recursiveClone(hidden) end
      self.output[step] = self.forwardActions and {hidden, self.actions[step]} or hidden
   end
   return self.output
end

-- The gradients of the output and of the action of a step.
local function gradients_of(self, gradOutput, step)
   if self.forwardActions then return unpack(gradOutput[step]) end
   -- modules that learn from rewards do not look at it
   local action = self.actions[step]
   return gradOutput[step], zeros_like(action)
end

function RecurrentAttention:updateGradInput(input, gradOutput)
   if #gradOutput ~= self.nStep then error('gradOutput should have one gradient for each step', 2) end
   local total, from_action
   for step = self.nStep, 1, -1 do
      local of_output, of_action = gradients_of(self, gradOutput, step)
      self.gradHidden[step] = recursive.recursiveSum(from_action, of_output)
      from_action = self.action:updateGradInput(self._hidden[step], of_action)
      local found = self.rnn:updateGradInput({input, self.actions[step]}, self.gradHidden[step])
      total = recursive.recursiveSum(total, found[1])
   end
   self.gradInput = total
   return total
end

for _, method in ipairs {'accGradParameters', 'accUpdateGradParameters'} do
   RecurrentAttention[method] = function(self, input, gradOutput, amount)
      for step = self.nStep, 1, -1 do
         local _, of_action = gradients_of(self, gradOutput, step)
         self.action[method](self.action, self._hidden[step], of_action, amount)
         self.rnn[method](self.rnn, {input, self.actions[step]}, self.gradHidden[step], amount)
      end
   end
end

function RecurrentAttention:clearState()
   self._hidden, self.actions, self.gradHidden = {}, {}, {}
   return Container.clearState(self)
end

function RecurrentAttention:__tostring__()
   local function text(module) return (tostring(module):gsub('\n', '\n    |    ')) end
   return table.concat({torch.type(self) .. ' {', '  action : ' .. text(self.action),
      '  rnn     : ' .. text(self.rnn), '}'}, '\n')
end
