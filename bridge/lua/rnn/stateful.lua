-- Recurrent modules whose step gets {input, states after the step before}: the base of LSTM, GRU
-- and Recurrence. The module of a step gives its output, or {output, further states}: the output
-- is the first state.
local recursive = require 'rnn.recursive'
local zeros_like = require('relume.tape').zeros_like

local AbstractRecurrent = torch.getmetatable 'nn.AbstractRecurrent'
local stateful = {}

-- A hidden state: the fields with its values and gradients by step, with what the user wants
-- before the first step and after the last one, and with zeros to begin with.
stateful.OUTPUT = {
   values = 'outputs', gradients = 'gradOutputs', first = 'userPrevOutput',
   last_gradient = 'userNextGradOutput', zeros = 'zeroTensor', size = 'outputSize',
}
stateful.CELL = {
   values = 'cells', gradients = 'gradCells', first = 'userPrevCell',
   last_gradient = 'userNextGradCell', zeros = 'zeroTensor', size = 'outputSize',
}

-- The states of a class, found through its parents.
local function states_of(self) return self.hiddenStates end

local function single_or_table(self, values)
   if #states_of(self) == 1 then return values[1] end
   return values
end

local function as_list(self, values)
   if #states_of(self) == 1 then return {values} end
   return values
end

-- The step that a caller means: by default the last one; -1 is the one before it.
local function place_of(self, step)
   if not step then return self.step - 1 end
   return step < 0 and self.step - 1 + step or step
end

local methods = {}

-- The state before the first step when nobody set one.
function methods:zeroState(input, state)
   local size, zeros = self[state.size], self[state.zeros]
   if not torch.isTensor(zeros) or torch.typename(zeros) ~= self._type then
      zeros = torch.getconstructortable(self._type)()
      self[state.zeros] = zeros
   end
   if input:dim() == 2 then return zeros:resize(input:size(1), size):zero() end
   return zeros:resize(size):zero()
end

local function start_of(self, state, index)
   if self.startState ~= nil then return as_list(self, self.startState)[index] end
   return self[state.first]
end

local function state_after(self, step, state, index, input)
   local value
   if step == 0 then value = start_of(self, state, index) end
   if value == nil then value = self[state.values][step] end
   if value == nil and step == 0 then
      value = input and self:zeroState(input, state) or self[state.zeros]
   end
   if value == nil then
      error(('%s: there is no state after step %d'):format(torch.type(self), step), 3)
   end
   return value
end

local function states_before(self, step, input)
   local values = {}
   for i, state in ipairs(states_of(self)) do values[i] = state_after(self, step - 1, state, i, input) end
   return values
end

local function gradient_after(self, step, state)
   local value
   if step == self.step - 1 then value = self[state.last_gradient] end
   if value == nil then value = self[state.gradients][step] end
   if value == nil then value = zeros_like(self[state.values][step]) end
   return value
end

----------------------------------------------------------------------------------------

function methods:stepInput(step, input)
   local given = states_before(self, step, input)
   table.insert(given, 1, input)
   return given
end

function methods:keepOutput(step, output)
   local values = as_list(self, output)
   for i, state in ipairs(states_of(self)) do self[state.values][step] = values[i] end
   if #states_of(self) > 1 then self.cell = values[2] end
   return values[1]
end

-- The gradient of the output comes from above and from the next step.
function methods:outputGradient(step, gradOutput)
   local later
   local output = states_of(self)[1]
   if step == self.step - 1 then later = self[output.last_gradient] end
   if later == nil then later = self.gradOutputs[step] end
   local total = recursive.recursiveCopy(self._gradOutputs[step], gradOutput)
   if later ~= nil then recursive.recursiveAdd(total, later) end
   self._gradOutputs[step] = total
   return self:knownGradient(step)
end

function methods:knownGradient(step)
   local gradients = {self._gradOutputs[step]}
   for i, state in ipairs(states_of(self)) do
      if i > 1 then gradients[i] = gradient_after(self, step, state) end
   end
   return single_or_table(self, gradients)
end

function methods:keepGradient(step, gradient)
   for i, state in ipairs(states_of(self)) do self[state.gradients][step - 1] = gradient[i + 1] end
   return gradient[1]
end

function methods:stepTables()
   local tables = {self.gradInputs}
   for _, state in ipairs(states_of(self)) do
      tables[#tables + 1], tables[#tables + 2] = self[state.values], self[state.gradients]
   end
   return tables
end

----------------------------------------------------------------------------------------

-- Sets what every sequence begins with, until it is set to nil.
function methods:setStartState(state) self.startState = state end

function methods:getHiddenState(step, input)
   return single_or_table(self, states_before(self, place_of(self, step) + 1, input))
end

function methods:setHiddenState(step, value)
   local place, values = place_of(self, step), as_list(self, value)
   for i, state in ipairs(states_of(self)) do self[state.values][place] = values[i] end
end

function methods:getGradHiddenState(step)
   local place, gradients = place_of(self, step), {}
   for i, state in ipairs(states_of(self)) do gradients[i] = gradient_after(self, place, state) end
   return single_or_table(self, gradients)
end

function methods:setGradHiddenState(step, value)
   local place, values = place_of(self, step), as_list(self, value)
   for i, state in ipairs(states_of(self)) do self[state.gradients][place] = values[i] end
end

function methods:tieClones()
   if #states_of(self) > 1 then
      self.cells, self.gradCells = self.cells or {}, self.gradCells or {}
   end
   AbstractRecurrent.tieClones(self)
end

function methods:forget()
   AbstractRecurrent.forget(self)
   if self.train ~= false and #states_of(self) > 1 then self.cells, self.gradCells = {}, {} end
   return self
end

function methods:clearState()
   for _, state in ipairs(states_of(self)) do
      if torch.isTensor(self[state.zeros]) then self[state.zeros]:set() else self[state.zeros] = nil end
      self[state.first] = nil
   end
   self.cell, self.gradPrevOutput, self.startState = nil, nil, nil
   AbstractRecurrent.clearState(self)
   if #states_of(self) > 1 then self.cells, self.gradCells = {}, {} end
   return self
end

-- A class of recurrent modules with these states.
function stateful.class(name, states)
   local class = torch.class(name, 'nn.AbstractRecurrent')
   class.hiddenStates = states
   for method, f in pairs(methods) do class[method] = f end
   return class
end

return stateful
