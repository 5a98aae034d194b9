-- What all recurrent modules share: every `forward` is the next step of a sequence; in training
-- step t runs a clone of `recurrentModule`, so that backward for the steps T, ..., 1 finds what
-- each of them left behind. In evaluation `recurrentModule` runs all steps.
local tie = require('dpnn.step_clone').tie

local AbstractRecurrent, Container = torch.class('nn.AbstractRecurrent', 'nn.Container')
local Module = torch.getmetatable 'nn.Module'

for name, f in pairs(require 'rnn.recursive') do AbstractRecurrent[name] = f end

-- Beside the object: are its clones tied to the parameters, and how far is it forgotten?
local memory = setmetatable({}, {__mode = 'k'})

local STEP_TABLES = {'outputs', 'gradInputs', '_gradOutputs', 'gradOutputs', 'sharedClones'}

function AbstractRecurrent:__init(rho)
   Container.__init(self)
   self.rho = rho or 99999
   for _, name in ipairs(STEP_TABLES) do self[name] = {} end
   self.step = 1
   self.rmInSharedClones = true
end

----------------------------------------------------------------------------------------
-- What a class says of its steps.

-- What the module of a step is given.
function AbstractRecurrent:stepInput(_, input) return input end

-- Keeps what the module of a step gave; returns the output of the step.
function AbstractRecurrent:keepOutput(step, output)
   self.outputs[step] = output
   return output
end

-- The gradient of what the module of a step gave: when first asked, and afterwards.
function AbstractRecurrent:outputGradient(_, gradOutput) return gradOutput end
function AbstractRecurrent:knownGradient(_, gradOutput) return gradOutput end

-- Keeps the gradient of what the module of a step was given; returns that of the input.
function AbstractRecurrent:keepGradient(_, gradient) return gradient end

-- The tables that hold something of every step.
function AbstractRecurrent:stepTables()
   return {self.outputs, self.gradInputs, self.gradOutputs}
end

----------------------------------------------------------------------------------------
-- The modules of steps.

-- Clones of steps that are not among `modules` themselves.
function AbstractRecurrent:copies()
   local own, list = {}, {}
   for _, module in ipairs(self.modules) do own[module] = true end
   for _, clone in pairs(self.sharedClones or {}) do
      if not own[clone] then list[#list + 1] = clone end
   end
   return list
end

function AbstractRecurrent:tieClones()
   if memory[self] then return end
   for _, name in ipairs(STEP_TABLES) do self[name] = self[name] or {} end  -- files of old versions
   for _, clone in ipairs(AbstractRecurrent.copies(self)) do tie(clone, self.recurrentModule) end
   memory[self] = {dropped = 0}
end

local function count(t)
   local n = 0
   for _ in pairs(t) do n = n + 1 end
   return n
end

function AbstractRecurrent:getStepModule(step)
   local module = self.sharedClones[step]
   if not module then
      module = self.recurrentModule:stepClone()
      self.sharedClones[step] = module
      self.nSharedClone = count(self.sharedClones)
   end
   return module
end

-- How far back something is kept: `rho` may become smaller while a sequence runs.
local function reach_of(self)
   self.nSharedClone = self.nSharedClone or count(self.sharedClones)
   return math.max(self.rho + 1, self.nSharedClone)
end

-- Lets a step beyond `rho` take over the clone of the step that is out of reach.
function AbstractRecurrent:recycle(offset)
   local oldest = self.step - reach_of(self) - (offset or 0)
   if oldest > 0 and not self.sharedClones[self.step] then
      for _, t in ipairs {self.sharedClones, self._gradOutputs} do
         t[self.step], t[oldest] = t[oldest], nil
      end
   end
   return self
end

function AbstractRecurrent:forwardModule(step)
   if self.train == false then return self.recurrentModule end
   self:recycle()
   return self:getStepModule(step)
end

local function drop_out_of_reach(self)
   local last, own = self.step - reach_of(self) - 1, memory[self]
   for step = own.dropped + 1, last do
      for _, t in ipairs(self:stepTables()) do t[step] = nil end
   end
   own.dropped = math.max(own.dropped, last)
end

----------------------------------------------------------------------------------------
-- Forward, and backward through time.

local function hand_on_mask(self, module)
   if not self.zeroMask then return end
   self.zeroMaskStep = (self.zeroMaskStep or 0) + 1
   module:setZeroMask(self.zeroMask[self.zeroMaskStep])
end

function AbstractRecurrent:updateOutput(input)
   self:tieClones()
   local step = self.step
   local module = self:forwardModule(step)
   hand_on_mask(self, module)
   local output = module:updateOutput(self:stepInput(step, input))
   self.output = self:keepOutput(step, output)
   drop_out_of_reach(self)
   self.step = step + 1
   self.gradPrevOutput = nil
   self.updateGradInputStep, self.accGradParametersStep = nil, nil
   return self.output
end

function AbstractRecurrent:updateGradInput(input, gradOutput)
   self.updateGradInputStep = self.updateGradInputStep or self.step
   if self.updateGradInputStep <= 1 then
      error(torch.type(self) .. ': no forward is left to go back from (steps go T, ..., 1)', 2)
   end
   self.gradInput = self:_updateGradInput(input, gradOutput)
   self.updateGradInputStep = self.updateGradInputStep - 1
   self.gradInputs[self.updateGradInputStep] = self.gradInput
   return self.gradInput
end

function AbstractRecurrent:_updateGradInput(input, gradOutput)
   local step = self.updateGradInputStep - 1
   local gradient = self:outputGradient(step, gradOutput)
   return self:keepGradient(step, self:getStepModule(step):updateGradInput(self:stepInput(step, input), gradient))
end

function AbstractRecurrent:accGradParameters(input, gradOutput, scale)
   self.accGradParametersStep = self.accGradParametersStep or self.step
   self:_accGradParameters(input, gradOutput, scale)
   self.accGradParametersStep = self.accGradParametersStep - 1
end

function AbstractRecurrent:_accGradParameters(input, gradOutput, scale)
   local step = self.accGradParametersStep - 1
   local gradient = self:knownGradient(step, gradOutput)
   self:getStepModule(step):accGradParameters(self:stepInput(step, input), gradient, scale or 1)
end

----------------------------------------------------------------------------------------
-- Memory.

-- The values of integer keys, in order, at 1, 2, ...
local function without_gaps(t)
   local keys, result = {}, {}
   for key in pairs(t) do keys[#keys + 1] = key end
   table.sort(keys)
   for i, key in ipairs(keys) do result[i] = t[key] end
   return result
end

function AbstractRecurrent:forget()
   Module.forget(self)
   if self.train ~= false then
      for _, name in ipairs {'outputs', 'gradInputs', 'gradOutputs'} do self[name] = {} end
      for _, name in ipairs {'sharedClones', '_gradOutputs'} do self[name] = without_gaps(self[name] or {}) end
   end
   self.step = 1
   if memory[self] then memory[self].dropped = 0 end
   return self
end

function AbstractRecurrent:clearState()
   self:forget()
   for _, name in ipairs {'outputs', 'gradInputs', 'gradOutputs', '_gradOutputs'} do self[name] = {} end
   self.zeroMask = nil
   for _, clone in ipairs(self:copies()) do clone:clearState() end
   return Container.clearState(self)
end

function AbstractRecurrent:setOutputStep(step)
   self.output = self.outputs[step]
   if self.output == nil then
      error(('%s: there is no output of step %d'):format(torch.type(self), step), 2)
   end
   self.gradInput = self.gradInputs[step]
end

function AbstractRecurrent:maxBPTTstep(rho) self.rho = rho end

-- It keeps its own steps.
function AbstractRecurrent:stepClone() return self end

----------------------------------------------------------------------------------------
-- Modes, types, masks.

function AbstractRecurrent:training()
   if self.train == false then self:forget() end
   for _, clone in ipairs(self:copies()) do clone:training() end
   return Container.training(self)
end

function AbstractRecurrent:evaluate()
   for _, clone in ipairs(self:copies()) do clone:evaluate() end
   return Container.evaluate(self)
end

function AbstractRecurrent:type(name, cache)
   if not name then return self._type end
   self:forget()
   self:clearState()
   return Container.type(self, name, cache)
end

function AbstractRecurrent:share(other, ...)
   Container.share(self, other, ...)
   memory[self] = nil
   return self
end

function AbstractRecurrent:replace(callback)
   for i, module in ipairs(self.modules) do
      local new = module:replace(callback)
      for name, value in pairs(self) do
         if value == module then self[name] = new end
      end
      self.modules[i] = new
   end
   self.sharedClones, self.nSharedClone = {self.recurrentModule}, 1
   return callback(self)
end

-- Puts another module in the place of the module of a step.
function AbstractRecurrent:decorateStep(module)
   self.recurrentModule, self.sharedClones, self.modules[1] = module, {module}, module
   return self
end

-- Zeroes output and states for samples whose input is all zeros.
function AbstractRecurrent:maskZero(nInputDim)
   return self:decorateStep(nn.MaskZero(self.recurrentModule, nInputDim or 1))
end

-- The same, and these samples are not even computed.
function AbstractRecurrent:trimZero(nInputDim)
   if (self.p or 0) ~= 0 and not self.mono then error('trimZero with dropout needs the option mono', 2) end
   return self:decorateStep(nn.TrimZero(self.recurrentModule, nInputDim or 1))
end

function AbstractRecurrent:setZeroMask(mask)
   self.zeroMask, self.zeroMaskStep = mask, 0
   if mask == false then
      self.recurrentModule:setZeroMask(false)
      for _, clone in ipairs(self:copies()) do clone:setZeroMask(false) end
   end
   return self
end

-- A reward for all steps (a vector), or a table of one for each of the last steps.
function AbstractRecurrent:reinforce(reward)
   if torch.isTensor(reward) and reward:dim() < 2 then
      for _, module in ipairs(self.modules) do module:reinforce(reward) end
      local copies = self.copies or AbstractRecurrent.copies  -- others borrow this method
      for _, clone in ipairs(copies(self)) do clone:reinforce(reward) end
      return self
   end
   local total = torch.isTensor(reward) and reward:size(1) or #reward
   for i = 1, total do self:getStepModule(self.step - total + i - 1):reinforce(reward[i]) end
   return self
end

function AbstractRecurrent:__tostring__()
   if self.inputSize and self.outputSize then
      return ('%s(%d -> %d)'):format(torch.type(self), self.inputSize, self.outputSize)
   end
   return torch.type(self)
end
