-- Layers around one module, or beside the data: nn.DontCast, nn.NaN, nn.GPU, nn.Profile,
-- nn.PrintSize, nn.Convert.
local derived = require 'nn.derived'
local tape = require 'relume.tape'

local op = derived.op
local Decorator = torch.getmetatable 'nn.Decorator'
local Container = torch.getmetatable 'nn.Container'
local Module = torch.getmetatable 'nn.Module'

-- Floating tensors of a nest in another type.
local function converted(value, name)
   return tape.map(value, function(tensor)
      local own = tensor:type()
      if own ~= 'torch.DoubleTensor' and own ~= 'torch.FloatTensor' and own ~= 'torch.HalfTensor' then
         return tensor
      end
      return tensor:type(name)
   end)
end

local DontCast = torch.class('nn.DontCast', 'nn.Decorator')

function DontCast:__init(module, castin, castout, moduleType)
   Decorator.__init(self, module)
   if castin == nil and castout == nil then return end
   self.castin = castin or false
   self.castout = castout == nil and self.castin or castout
   if self.castin or self.castout then
      local parameters = module:parameters()
      local held = parameters and parameters[1] or module.output
      self.moduleType = moduleType or torch.typename(held)
   end
end

local function enter(self, value, cast) return cast and converted(value, self.moduleType) or value end
local function leave(self, value, cast) return cast and converted(value, self._type) or value end

function DontCast:updateOutput(input)
   self._input = enter(self, input, self.castin)
   self.output = leave(self, self.modules[1]:updateOutput(self._input), self.castout)
   return self.output
end

local function inner_input(self, input) return self.castin and self._input or input end

for _, method in ipairs {'updateGradInput', 'backward'} do
   DontCast[method] = function(self, input, gradOutput, scale)
      local inner = enter(self, gradOutput, self.castout)
      local gradient = self.modules[1][method](self.modules[1], inner_input(self, input), inner, scale)
      self.gradInput = leave(self, gradient, self.castin)
      return self.gradInput
   end
end

for _, method in ipairs {'accGradParameters', 'accUpdateGradParameters', 'sharedAccUpdateGradParameters'} do
   DontCast[method] = function(self, input, gradOutput, amount)
      self.modules[1][method](self.modules[1], inner_input(self, input), enter(self, gradOutput, self.castout), amount)
   end
end

function DontCast:type(name)
   if not name then return self._type end
   if self.castin or self.castout then
      if self.castout then self.output = converted(self.output, name) end
      if self.castin then self.gradInput = converted(self.gradInput, name) end
      self._type = name
   end
   return self
end

function DontCast:clearState()
   self._input = nil
   return Container.clearState(self)
end

----------------------------------------------------------------------------------------

local NaN = torch.class('nn.NaN', 'nn.Decorator')
local last_identity = 0

function NaN:__init(module, id)
   Decorator.__init(self, module)
   if not id then
      last_identity = last_identity + 1
      id = last_identity
   end
   self.id = id
end

local function check(self, value, what)
   tape.each(value, nil, function(tensor)
      if torch.ne(tensor, tensor):sum() > 0 then
         error(('found NaN in %s of %s'):format(what, tostring(self)), 3)
      end
   end)
end

function NaN:updateOutput(input)
   check(self, (self:parameters()), 'parameters')
   Decorator.updateOutput(self, input)
   check(self, self.output, 'output')
   return self.output
end

function NaN:updateGradInput(input, gradOutput)
   Decorator.updateGradInput(self, input, gradOutput)
   check(self, self.gradInput, 'gradInput')
   return self.gradInput
end

function NaN:accGradParameters(input, gradOutput, scale)
   Decorator.accGradParameters(self, input, gradOutput, scale)
   local _, gradients = self:parameters()
   check(self, gradients, 'gradParameters')
end

function NaN:__tostring__()
   return ('%s(%s) @ %s'):format(torch.type(self), tostring(self.id), tostring(self.modules[1]))
end

----------------------------------------------------------------------------------------
-- A module for another device: here there is none other.

local GPU = torch.class('nn.GPU', 'nn.Decorator')

function GPU:__init(module, device, outdevice)
   Decorator.__init(self, module)
   if not device then error('nn.GPU(module, device)', 2) end
   self.device, self.outdevice = device, outdevice or device
end

function GPU:setDevice(device)
   self.device = device or self.device
   return self
end

function GPU:__tostring__()
   return ('%s(%d) @ %s'):format(torch.type(self), self.device, tostring(self.modules[1]))
end

-- In files a header comes before the fields.
function GPU:write(file)
   file:writeObject {device = self.device, outdevice = self.outdevice}
   local fields = {}
   for key, value in pairs(self) do fields[key] = value end
   file:writeObject(fields)
end

function GPU:read(file)
   file:readObject()
   for key, value in pairs(file:readObject()) do self[key] = value end
end

local Profile = torch.class('nn.Profile', 'nn.Decorator')

function Profile:__init(module, print_interval, name)
   Decorator.__init(self, module)
   self.print_interval = print_interval or 100
   self.name = name or torch.type(module)
   self.module = module
   self.numFwds, self.numBwds, self.summedFwdTime, self.summedBwdTime = 0, 0, 0, 0
   self.timer = torch.Timer()
end

-- Runs a method of the module and adds the time it took to a sum.
local function timed(self, method, count, sum, direction, ...)
   self.timer:reset()
   local result = self.modules[1][method](self.modules[1], ...)
   self[sum] = self[sum] + self.timer:time().real
   self[count] = self[count] + 1
   if self[count] % self.print_interval == 0 then
      print(('%s took %.3f seconds for %d %s passes'):format(self.name, self[sum], self.print_interval, direction))
      self[count], self[sum] = 0, 0
   end
   return result
end

function Profile:updateOutput(input)
   self.output = timed(self, 'updateOutput', 'numFwds', 'summedFwdTime', 'forward', input)
   return self.output
end

function Profile:updateGradInput(input, gradOutput)
   self.gradInput = timed(self, 'updateGradInput', 'numBwds', 'summedBwdTime', 'backward', input, gradOutput)
   return self.gradInput
end

local PrintSize = torch.class('nn.PrintSize', 'nn.Module')

function PrintSize:__init(prefix)
   Module.__init(self)
   self.prefix = prefix or 'PrintSize'
end

local function print_size(self, what, value)
   print(self.prefix .. ':' .. what .. '\n', torch.isTensor(value) and value:size() or #value)
end

function PrintSize:updateOutput(input)
   self.output = input
   print_size(self, 'input', input)
   return self.output
end

function PrintSize:updateGradInput(input, gradOutput)
   print_size(self, 'gradOutput', gradOutput)
   self.gradInput = gradOutput
   return self.gradInput
end

----------------------------------------------------------------------------------------
-- nn.Convert(from, to): shapes by letters, such as 'bchw' to 'bf' (b: the batch).

local Convert = torch.class('nn.Convert', 'nn.Container')

local function with_batch(shape) return shape:find('b', 1, true) and shape or 'b' .. shape end
local function count_dims(shape) return shape:find('*', 1, true) and -1 or #shape end

local function sorted(shape)
   local letters = {shape:byte(1, -1)}
   table.sort(letters)
   return table.concat(letters, ' ')
end

function Convert:__init(inputShape, outputShape)
   if not outputShape then inputShape, outputShape = nil, inputShape end
   Container.__init(self)
   self.inputShape, self.outputShape = with_batch(inputShape or 'b*'), with_batch(outputShape or 'b*')
   self.inputBatchDim = self.inputShape:find('b', 1, true)
   self.outputBatchDim = self.outputShape:find('b', 1, true)
   self.nInputDim, self.nOutputDim = count_dims(self.inputShape), count_dims(self.outputShape)
   if sorted(self.inputShape) == sorted(self.outputShape) then
      self.transposition = true
   elseif self.outputShape ~= 'bf' and self.outputShape ~= 'b' and self.outputShape ~= 'bt' then
      error(('Unrecognized conversion of shape %s to %s'):format(self.inputShape, self.outputShape), 2)
   end
end

-- A batch in the other shape.
local function convert(self, batch)
   local source, target = self.inputShape, self.outputShape
   if source == target then return batch end
   if self.transposition then
      local order = {}
      for letter in target:gmatch('.') do order[#order + 1] = source:find(letter, 1, true) - 1 end
      return op.contiguous(op.permute(batch, order))
   end
   if target == 'b' then return op.select(batch, 2 - self.inputBatchDim, 0) end
   local first = op.transpose(batch, 0, self.inputBatchDim - 1)
   return op.reshape(first, {tonumber(first._shape[0]), -1})
end

derived.layer(Convert, {compute = function(self, input)
   local count = self.nInputDim
   if count > 0 and input._ndim == count - 1 then
      local batch = op.unsqueeze(input, self.inputBatchDim - 1)
      return op.squeeze(convert(self, batch), self.outputBatchDim - 1)
   end
   if count > 0 and input._ndim ~= count then
      error(('nn.Convert: expected %d dimensions (%s), got %d'):format(count, self.inputShape, input._ndim), 0)
   end
   return convert(self, input)
end})

-- The input in the layer's own type first.
local forward = Convert.updateOutput
function Convert:updateOutput(input)
   self._input = input:type() == self._type and input or input:type(self._type)
   return forward(self, self._input)
end

local gradient = Convert.updateGradInput
function Convert:updateGradInput(input, gradOutput)
   return gradient(self, self._input or input, gradOutput)
end
Convert.backward = Module.backward

function Convert:__tostring__() return torch.type(self) end
