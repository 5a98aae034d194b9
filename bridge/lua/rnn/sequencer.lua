-- Modules that apply a module to every element of a sequence: nn.Sequencer, nn.Repeater.
local recursive = require 'rnn.recursive'

local AbstractSequencer, Container = torch.class('nn.AbstractSequencer', 'nn.Container')
local sequencer = {}

-- When the memory is kept from one forward to the next: in training, in evaluation.
local REMEMBERING = {both = {true, true}, train = {true, false}, eval = {false, true}, neither = {false, false}}

function sequencer.checked_mode(mode)
   mode = mode or 'both'
   if not REMEMBERING[mode] then
      error("remember takes 'both', 'train', 'eval' or 'neither', not " .. tostring(mode), 3)
   end
   return mode
end

-- Does a module keep its memory for the next forward, in the mode that it is in?
function sequencer.remembers(module)
   return REMEMBERING[module._remember or 'neither'][module.train ~= false and 1 or 2]
end

-- The module itself when it is recurrent, else a Recursor of it.
function sequencer.as_recurrent(module)
   if not torch.isTypeOf(module, 'nn.Module') then
      error('expected a module, got ' .. torch.type(module), 3)
   end
   return torch.isTypeOf(module, 'nn.AbstractRecurrent') and module or nn.Recursor(module)
end

function AbstractSequencer:remember(mode)
   self._remember = sequencer.checked_mode(mode)
   return self
end

function AbstractSequencer:hasMemory() return sequencer.remembers(self) end

-- A sequencer sets the reach of its own module by the length of the sequence.
function AbstractSequencer:maxBPTTstep() end
function AbstractSequencer:stepClone() return self:sharedClone() end

-- The elements of a sequence: a table's, or the slices of a tensor along the first dimension.
function sequencer.elements(sequence)
   if not torch.isTensor(sequence) then
      if type(sequence) ~= 'table' then error('expected a sequence, a table or a tensor', 3) end
      return sequence
   end
   local list = {}
   for i = 1, sequence:size(1) do list[i] = sequence:select(1, i) end
   return list
end

-- Values of all steps in the form of the sequence: in `buffer`, or in a table.
function sequencer.joined(sequence, values, buffer)
   if not torch.isTensor(sequence) or not torch.isTensor(values[1]) then return values end
   if not torch.isTensor(buffer) or torch.typename(buffer) ~= torch.typename(values[1]) then
      buffer = values[1].new()
   end
   buffer:resize(#values, unpack(values[1]:size():totable()))
   for i, value in ipairs(values) do buffer[i]:copy(value) end
   return buffer
end

----------------------------------------------------------------------------------------

local Sequencer = torch.class('nn.Sequencer', 'nn.AbstractSequencer')

-- Slices of the last sequence, beside the object: backward is given those that forward was.
local slices = setmetatable({}, {__mode = 'k'})

function Sequencer:__init(module)
   Container.__init(self)
   self.module = sequencer.as_recurrent(module)
   self.modules[1] = self.module
   self.output, self.gradInput = {}, {}
   self.tableoutput, self.tablegradInput = {}, {}
   self._output = {}
   self._remember = 'neither'
end

local function steps_of(self, input)
   local known = slices[self]
   if not torch.isTensor(input) or not known or known.sequence ~= input then
      known = {sequence = input, elements = sequencer.elements(input)}
      slices[self] = known
   end
   return known.elements
end

function Sequencer:updateOutput(input)
   slices[self] = nil
   local steps, module = steps_of(self, input), self.modules[1]
   module:maxBPTTstep(#steps)
   if not self:hasMemory() then module:forget() end
   local reuses = self.train == false
   local outputs = reuses and self.tableoutput or {}
   for i, element in ipairs(steps) do
      local output = self:rethrowErrors(module, 1, 'updateOutput', element)
      -- in evaluation all steps give the same tensor
      if reuses then output = recursive.recursiveCopy(outputs[i] or table.remove(self._output, 1), output) end
      outputs[i] = output
   end
   for i = #outputs, #steps + 1, -1 do table.insert(self._output, 1, table.remove(outputs)) end
   self.tableoutput = outputs
   local own = torch.isTensor(input) and {unpack(outputs, 1, #steps)} or outputs
   self.output = sequencer.joined(input, own, self.output)
   return self.output
end

-- Calls a backward method for steps T, ..., 1.
local function through_time(self, method, input, gradOutput, ...)
   local steps, gradients = steps_of(self, input), sequencer.elements(gradOutput)
   if #gradients ~= #steps then
      error(('gradOutput should have one gradient for each of the %d steps, it has %d'):format(
         #steps, #gradients), 3)
   end
   local found = {}
   for i = #steps, 1, -1 do
      found[i] = self:rethrowErrors(self.modules[1], 1, method, steps[i], gradients[i], ...)
   end
   return found
end

function Sequencer:updateGradInput(input, gradOutput)
   self.tablegradinput = through_time(self, 'updateGradInput', input, gradOutput)
   self.gradInput = sequencer.joined(input, self.tablegradinput, self.gradInput)
   return self.gradInput
end

for _, method in ipairs {'accGradParameters', 'accUpdateGradParameters'} do
   Sequencer[method] = function(self, input, gradOutput, amount)
      through_time(self, method, input, gradOutput, amount)
   end
end

function Sequencer:training()
   if self.train == false then
      self:forget()
      self._output, self.tableoutput = {}, {}
   end
   return Container.training(self)
end

function Sequencer:evaluate()
   if self.train ~= false then
      self:forget()
      self.tableoutput = {}
   end
   Container.evaluate(self)
   self.train = false
end

function Sequencer:clearState()
   slices[self] = nil
   self._output, self.tableoutput, self.tablegradinput = {}, {}, {}
   return Container.clearState(self)
end

function Sequencer:__tostring__() return torch.type(self) .. ' @ ' .. tostring(self.modules[1]) end

----------------------------------------------------------------------------------------
-- Gives a recurrent module the same input for a number of steps.

local Repeater = torch.class('nn.Repeater', 'nn.AbstractSequencer')

function Repeater:__init(module, rho)
   Container.__init(self)
   self.rho = rho
   self.module = sequencer.as_recurrent(module)
   self.module:maxBPTTstep(rho)
   self.modules[1] = self.module
   self.output = {}
end

function Repeater:updateOutput(input)
   local module = self.modules[1]
   module:forget()
   self.output = {}
   for i = 1, self.rho do
      local output = self:rethrowErrors(module, 1, 'updateOutput', input)
      self.output[i] = self.train == false and recursive.recursiveClone(output) or output
   end
   return self.output
end

function Repeater:updateGradInput(input, gradOutput)
   local total
   for i = self.rho, 1, -1 do
      local gradient = self:rethrowErrors(self.modules[1], 1, 'updateGradInput', input, gradOutput[i])
      total = total and recursive.recursiveAdd(total, gradient) or recursive.recursiveClone(gradient)
   end
   self.gradInput = total
   return total
end

for _, method in ipairs {'accGradParameters', 'accUpdateGradParameters'} do
   Repeater[method] = function(self, input, gradOutput, amount)
      for i = self.rho, 1, -1 do
         self:rethrowErrors(self.modules[1], 1, method, input, gradOutput[i], amount)
      end
   end
end

function Repeater:maxBPTTstep(rho)
   self.rho = rho
   self.modules[1]:maxBPTTstep(rho)
end

function Repeater:__tostring__()
   local arrows = '       V         V             V     '
   return table.concat({
      torch.type(self) .. ' {',
      '  [  input,    input,  ...,  input  ]',
      arrows,
      '  ' .. tostring(self.modules[1]):gsub('\n', '\n  '),
      arrows,
      ('  [output(1),output(2),...,output(%d)]'):format(self.rho),
      '}',
   }, '\n')
end

return sequencer
