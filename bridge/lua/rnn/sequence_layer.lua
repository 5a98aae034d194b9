-- The base of nn.SeqLSTM and nn.SeqGRU: layers that take a whole sequence, time x batch x features
-- (batch x time with `batchfirst`), or a table {first states, sequence}. With `maskzero` a sample
-- that is all zeros at a step sets its states to zero there; with `remember` a sequence begins with
-- the last states of the one before.
local derived = require 'nn.derived'
local sequencer = require 'rnn.sequencer'
local tape = require 'relume.tape'

local op = derived.op
local Module = torch.getmetatable 'nn.Module'
local sequence_layer = {}

-- What Torch7's own methods fill, and so look for in a file.
local BUFFERS = {'buffer1', 'buffer2', 'buffer3', 'gates', 'grad_a_buffer', 'grad_x'}

-- A hidden state: the fields with what the last sequence began with (empty once forgotten), with
-- its values after every step, with what the user wants before the first step, with a gradient
-- that the user adds to that of the last step, and with the gradient of the first one.
sequence_layer.OUTPUT = {
   first = 'h0', steps = '_output', user_first = 'userPrevOutput', user_gradient = 'gradPrevOutput',
   first_gradient = 'userGradPrevOutput',
}

-- The recorded last forward, beside the object.
local records = setmetatable({}, {__mode = 'k'})

function sequence_layer.init(self)
   Module.__init(self)
   self._remember = 'neither'
   self.batchfirst, self.maskzero = false, false
   for _, state in ipairs(self.hiddenStates) do
      self[state.first], self['grad_' .. state.first] = torch.Tensor(), torch.Tensor()
   end
   for _, buffer in ipairs(BUFFERS) do self[buffer] = torch.Tensor() end
end

function sequence_layer.make_parameters(self, rows, columns)
   self.weight, self.gradWeight = torch.Tensor(rows, columns), torch.Tensor(rows, columns):zero()
   self.bias, self.gradBias = torch.Tensor(columns), torch.Tensor(columns):zero()
   if self.gradWeightO then self.gradWeightO:zero() end
end

----------------------------------------------------------------------------------------
-- What goes in.

-- The first states that the input has (false for the others), and the sequence.
local function split(self, input)
   local given = torch.isTensor(input) and {input} or input
   local missing = #self.hiddenStates + 1 - #given
   if missing < 0 or not torch.isTensor(given[#given]) then
      error(torch.type(self) .. ': expected a sequence or a table {first states, sequence}', 3)
   end
   local first = {}
   for i = 1, missing do first[i] = false end
   for i = 1, #given - 1 do first[missing + i] = given[i] end
   return first, given[#given]
end

local function batch_size(self, sequence) return sequence:size(self.batchfirst and 1 or 2) end

local function check(self, sequence, first)
   local sizes = self:sizes()
   if sequence:dim() ~= 3 or sequence:size(3) ~= sizes[1] then
      error(('%s: expected a sequence %s x %d'):format(torch.type(self),
         self.batchfirst and 'batch x time' or 'time x batch', sizes[1]), 0)
   end
   for i, value in ipairs(first) do
      if value:size(1) ~= batch_size(self, sequence) or value:size(2) ~= sizes[i + 1] then
         error(('%s: expected %s of size %dx%d (after forget() a batch may have another size)'):format(
            torch.type(self), self.hiddenStates[i].first, batch_size(self, sequence), sizes[i + 1]), 0)
      end
   end
end

local function remembered(self, state)
   local before = self[state.steps]
   if self[state.first]:nElement() == 0 or not before or before:nElement() == 0 then return nil end
   return before[before:size(1)]
end

-- The states before the first step: given, set by the user, remembered, or zeros.
local function begin(self, given, sequence)
   local first, sizes = {}, self:sizes()
   for i, state in ipairs(self.hiddenStates) do
      local value = given[i] or self[state.user_first]
      if not value and sequencer.remembers(self) then value = remembered(self, state) end
      first[i] = value or self.weight.new(batch_size(self, sequence), sizes[i + 1]):zero()
   end
   return first
end

-- time x batch x 1: where the states become zero; nil where the layer does not mask.
local function zero_places(self, sequence)
   if not self.maskzero then return nil end
   if self.v2 then
      if self.zeroMask == false then return nil end
      if self.zeroMask == nil then error(torch.type(self) .. ': setZeroMask comes before forward', 0) end
      local mask = self.zeroMask:type(self.weight:type())
      return mask:contiguous():view(mask:size(1), mask:size(2), 1)
   end
   return torch.norm(sequence, 2, 3):eq(0):type(self.weight:type())
end

----------------------------------------------------------------------------------------
-- Runs and their gradients.

local function turned(self, sequence)
   return self.batchfirst and op.transpose(sequence, 0, 1) or sequence
end

-- Runs the layer on a tape whose outputs are that of the layer and the last states.
local function record_run(self, values)
   local count = #values
   local first = {unpack(values, 1, count - 1)}
   check(self, values[count], first)
   local is_zero = zero_places(self, turned(self, values[count]))
   local parameters = {}
   for i, name in ipairs(self.parameterNames) do parameters[i] = self[name] or false end
   local all_steps
   local record = tape.record(function(inputs, ...)
      local states = {unpack(inputs, 1, count - 1)}
      local steps, last = self:run(turned(self, inputs[count]), states, is_zero, ...)
      all_steps = steps
      local outputs = {turned(self, steps[#steps])}
      for i, value in ipairs(last) do outputs[i + 1] = value end
      return outputs
   end, values, parameters)
   record.values = values
   records[self] = record
   return all_steps
end

local function plain(tensor) return tensor.new(tensor:size()):copy(tensor) end

local methods = {}

function methods:updateOutput(input)
   local given, sequence = split(self, input)
   for _, state in ipairs(self.hiddenStates) do self[state.user_gradient] = nil end
   local first = begin(self, given, sequence)
   local values = {unpack(first)}
   values[#values + 1] = sequence
   local steps = record_run(self, values)
   for i, state in ipairs(self.hiddenStates) do
      if not given[i] then self[state.first] = first[i] end
      self[state.steps] = plain(steps[i])
      self[state.user_first] = nil
   end
   local output = self[self.hiddenStates[#self.hiddenStates].steps]
   self.output = self.batchfirst and output:transpose(1, 2) or output
   return self.output
end

-- The gradients of the first states, of the sequence, then of the parameters.
local function differentiate(self, input, gradOutput, of_input)
   local given, sequence = split(self, input)
   local values = {}
   for i, state in ipairs(self.hiddenStates) do values[i] = given[i] or self[state.first] end
   values[#values + 1] = sequence
   local record = records[self]
   if not record or not tape.is_of(record, values) then
      record_run(self, values)
      record = records[self]
   end
   local wanted = {}
   for i, leaf in ipairs(record.input_leaves) do wanted[i] = of_input and leaf or false end
   for _, leaf in ipairs(record.parameter_leaves) do wanted[#wanted + 1] = not of_input and leaf or false end
   local later = {gradOutput:contiguous()}
   for i, state in ipairs(self.hiddenStates) do later[i + 1] = self[state.user_gradient] end
   return tape.gradients(record, later, wanted), #values
end

function methods:updateGradInput(input, gradOutput)
   local found, count = differentiate(self, input, gradOutput, true)
   local values = records[self].values
   for i = 1, count do found[i] = found[i] and plain(found[i]) or values[i].new(values[i]:size()):zero() end
   for i, state in ipairs(self.hiddenStates) do self[state.first_gradient] = found[i] end
   self.gradInput = torch.isTensor(input) and found[count] or {unpack(found, count - #input + 1, count)}
   return self.gradInput
end

function methods:accGradParameters(input, gradOutput, scale)
   local found, count = differentiate(self, input, gradOutput, false)
   for i, name in ipairs(self.parameterNames) do
      local gradient = found[count + i]
      if gradient then self['grad' .. name:sub(1, 1):upper() .. name:sub(2)]:add(scale or 1, gradient) end
   end
end

----------------------------------------------------------------------------------------
-- Memory and modes.

function methods:remember(mode)
   self._remember = sequencer.checked_mode(mode)
   return self
end

function methods:forget()
   for _, state in ipairs(self.hiddenStates) do self[state.first] = self.weight.new() end
   return self
end
methods.resetStates = methods.forget

-- v1 = false: samples of zeros are those of setZeroMask, as in later versions.
function methods:maskZero(v1)
   self.maskzero = true
   self.v2 = v1 == false
   return self
end

function methods:setZeroMask(mask)
   self.v2, self.zeroMask = true, mask
   return self
end

function methods:training()
   if self.train == false then self:forget() end
   return Module.training(self)
end

function methods:evaluate()
   if self.train ~= false then self:forget() end
   return Module.evaluate(self)
end

function methods:clearState()
   records[self] = nil
   self:forget()
   for _, state in ipairs(self.hiddenStates) do
      for _, name in ipairs {state.steps, state.user_gradient, state.first_gradient} do self[name] = nil end
   end
   return Module.clearState(self)
end

-- A class with these states and parameters. It has sizes(), and run(sequence, first states, where
-- states become zero, parameters...), which gives the states after all steps and after the last.
function sequence_layer.class(name, states, parameters)
   local class = torch.class(name, 'nn.Module')
   class.hiddenStates, class.parameterNames = states, parameters
   for method, f in pairs(methods) do class[method] = f end
   return class
end

return sequence_layer
