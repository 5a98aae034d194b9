-- Recurrent modules made from modules that are not: nn.Recurrent, nn.Recurrence, nn.Recursor.
local building = require 'rnn.building'
local recursive = require 'rnn.recursive'
local stateful = require 'rnn.stateful'
local tie = require('dpnn.step_clone').tie

local AbstractRecurrent = torch.getmetatable 'nn.AbstractRecurrent'

----------------------------------------------------------------------------------------
-- transfer(merge(input(x), feedback(output before))); the first step is transfer(start(input(x))).

local Recurrent = torch.class('nn.Recurrent', 'nn.AbstractRecurrent')

-- The modules of the first step and of all others.
local function build(self)
   self.initialModule = building.sequence(
      self.inputModule:sharedClone(), self.startModule, self.transferModule:sharedClone())
   self.recurrentModule = building.sequence(
      building.parallel(self.inputModule, self.feedbackModule), self.mergeModule, self.transferModule)
   self.sharedClones = {}
   self.sharedClones[2] = self.recurrentModule
end

function Recurrent:__init(start, input, feedback, transfer, rho, merge)
   AbstractRecurrent.__init(self, rho)
   local is_size = torch.isStorage(start) or type(start) == 'number'
   self.startModule = is_size and nn.Add(start) or start
   self.inputModule, self.feedbackModule = input, feedback
   self.transferModule = transfer or nn.Sigmoid()
   self.mergeModule = merge or nn.CAddTable()
   self.modules = {self.startModule, self.inputModule, self.feedbackModule, self.transferModule, self.mergeModule}
   build(self)
end

function Recurrent:replace(callback)
   for i, module in ipairs(self.modules) do
      local new = module:replace(callback)
      for name, value in pairs(self) do
         if value == module then self[name] = new end
      end
      self.modules[i] = new
   end
   build(self)
   return callback(self)
end

function Recurrent:copies()
   local list = AbstractRecurrent.copies(self)
   list[#list + 1] = self.initialModule
   return list
end

function Recurrent:tieClones()
   AbstractRecurrent.tieClones(self)
   local parts = self.initialModule.modules
   if parts[1].weight ~= self.inputModule.weight then
      tie(parts[1], self.inputModule)
      tie(parts[3], self.transferModule)
   end
end

function Recurrent:getStepModule(step)
   if step == 1 then return self.initialModule end
   return AbstractRecurrent.getStepModule(self, step)
end

function Recurrent:forwardModule(step)
   if step == 1 then return self.initialModule end
   return AbstractRecurrent.forwardModule(self, step)
end

function Recurrent:stepInput(step, input)
   if step == 1 then return input end
   return {input, self.outputs[step - 1]}
end

function Recurrent:outputGradient(step, gradOutput)
   if step == self.step - 1 then self.gradPrevOutput = nil end
   local total = recursive.recursiveCopy(self._gradOutputs[step], gradOutput)
   if self.gradPrevOutput then recursive.recursiveAdd(total, self.gradPrevOutput) end
   self._gradOutputs[step] = total
   return total
end

function Recurrent:knownGradient(step) return self._gradOutputs[step] end

function Recurrent:keepGradient(step, gradient)
   if step == 1 then
      self.gradPrevOutput = nil
      return gradient
   end
   self.gradPrevOutput = gradient[2]
   return gradient[1]
end

function Recurrent:maskZero()
   error('nn.Recurrent begins with another module: use nn.Recurrence', 2)
end
Recurrent.trimZero = Recurrent.maskZero

local function indented(module, indent) return (tostring(module):gsub('\n', '\n' .. indent)) end

function Recurrent:__tostring__()
   local inner = '  |    '
   return table.concat({
      torch.type(self) .. ' {',
      '  [{input(t), output(t-1)} -> (1) -> (2) -> (3) -> output(t)]',
      '  (1):  {',
      '    input(t)',
      '      |`-> (t==0): ' .. indented(self.startModule, '  ' .. inner),
      '      |`-> (t~=0): ' .. indented(self.inputModule, '  ' .. inner),
      '    output(t-1)',
      '      |`-> ' .. indented(self.feedbackModule, '    ' .. inner),
      '  }',
      '  (2): ' .. indented(self.mergeModule, '  '),
      '  (3): ' .. indented(self.transferModule, '  '),
      '}',
   }, '\n')
end

----------------------------------------------------------------------------------------
-- A module of {input, output before} that gives the next output.

local Recurrence = stateful.class('nn.Recurrence', {stateful.OUTPUT})

function Recurrence:__init(recurrentModule, outputSize, nInputDim, rho)
   AbstractRecurrent.__init(self, rho or 9999)
   self.outputSize = type(outputSize) == 'number' and {outputSize} or outputSize
   self.nInputDim = nInputDim
   self.typeTensor = torch.Tensor()
   self.module, self.recurrentModule = recurrentModule, recurrentModule
   self.modules[1], self.sharedClones[1] = recurrentModule, recurrentModule
end

local function batch_size(self, input)
   while not torch.isTensor(input) do input = input[1] end
   if input:dim() == self.nInputDim then return nil end
   if input:dim() ~= self.nInputDim + 1 then
      error(('%s: expected an input of %d dimensions, or %d with a batch, got %d'):format(
         torch.type(self), self.nInputDim, self.nInputDim + 1, input:dim()), 0)
   end
   return input:size(1)
end

-- Zeros of a size: a list of numbers, or a table of sizes.
local function zeros_of(size, batch, typename)
   if torch.isStorage(size) then size = size:totable() end
   if type(size) == 'number' then size = {size} end
   if type(size[1]) ~= 'number' then
      local parts = {}
      for i, part in ipairs(size) do parts[i] = zeros_of(part, batch, typename) end
      return parts
   end
   local sizes = {unpack(size)}
   if batch then table.insert(sizes, 1, batch) end
   return torch.getconstructortable(typename)(torch.LongStorage(sizes)):zero()
end

function Recurrence:zeroState(input)
   self.zeroTensor = zeros_of(self.outputSize, batch_size(self, input), self._type)
   return self.zeroTensor
end

-- {output of a step, states of recurrent modules inside}.
for _, name in ipairs {'getHiddenState', 'getGradHiddenState'} do
   local own = Recurrence[name]
   Recurrence[name] = function(self, step, input)
      return {own(self, step, input), self.recurrentModule[name](self.recurrentModule, step)}
   end
end

for _, name in ipairs {'setHiddenState', 'setGradHiddenState'} do
   local own = Recurrence[name]
   Recurrence[name] = function(self, step, value)
      own(self, step, value[1])
      if value[2] ~= nil then self.recurrentModule[name](self.recurrentModule, step, value[2]) end
   end
end

function Recurrence:__tostring__() return torch.type(self) .. ' @ ' .. tostring(self.modules[1]) end

----------------------------------------------------------------------------------------
-- Steps for any module; recurrent modules inside keep their own.

local Recursor = torch.class('nn.Recursor', 'nn.AbstractRecurrent')

function Recursor:__init(module, rho)
   AbstractRecurrent.__init(self, rho or 9999999)
   self.module, self.recurrentModule = module, module
   self.modules[1], self.sharedClones[1] = module, module
end

-- The recurrent modules inside have gone on since: let them show this step's output.
function Recursor:_updateGradInput(input, gradOutput)
   local step = self.updateGradInputStep - 1
   self:getStepModule(step):setOutputStep(step)
   return AbstractRecurrent._updateGradInput(self, input, gradOutput)
end

function Recursor:_accGradParameters(input, gradOutput, scale)
   local step = self.accGradParametersStep - 1
   self:getStepModule(step):setOutputStep(step)
   AbstractRecurrent._accGradParameters(self, input, gradOutput, scale)
end

function Recursor:maxBPTTstep(rho)
   self.rho = rho
   for _, module in ipairs(self.modules) do module:maxBPTTstep(rho) end
end

for _, name in ipairs {'getHiddenState', 'setHiddenState', 'getGradHiddenState', 'setGradHiddenState'} do
   Recursor[name] = function(self, ...) return self.modules[1][name](self.modules[1], ...) end
end

function Recursor:__tostring__() return torch.type(self) .. ' @ ' .. tostring(self.modules[1]) end
