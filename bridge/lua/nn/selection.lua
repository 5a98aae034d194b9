-- Layers that choose, place and mark parts of their input.
local derived = require 'nn.derived'
local tape = require 'relume.tape'

local op, layer, class = derived.op, derived.layer, derived.class

local function with_pair(self) self.gradInput = {torch.Tensor(), torch.Tensor()} end

layer(class('Index', 'nn.Module', function(self, dimension)
   self.dimension = dimension
   with_pair(self)
end), {compute = function(self, input)
   return op.index_select(input[1], self.dimension - 1, input[2]:long() - 1)
end})

layer(class('MaskedSelect', 'nn.Module', function(self)
   self._maskIndices, self._maskIndexBuffer = torch.LongTensor(), torch.LongTensor()
   self._maskIndexBufferCPU = torch.FloatTensor()
   self._gradBuffer, self._gradMask = torch.Tensor(), torch.ByteTensor()
   with_pair(self)
end), {compute = function(self, input)
   return op.masked_select(input[1], op.ne(input[2], 0))
end})

local OneHot, module = torch.class('nn.OneHot', 'nn.Module')
function OneHot:__init(outputSize)
   module.__init(self)
   self.outputSize = outputSize
end
function OneHot:updateOutput(input)
   if type(input) == 'number' then
      if not torch.isTensor(self.output) then self.output = torch.Tensor() end
      self.output:resize(self.outputSize):zero()
      self.output[input] = 1
      return self.output
   end
   local index = input:contiguous():long()
   local sizes = index:size():totable()
   table.insert(sizes, self.outputSize)
   self.output:resize(torch.LongStorage(sizes)):zero()
   self.output:scatter(#sizes, nn.utils.addSingletonDimension(index, #sizes), 1)
   return self.output
end
function OneHot:updateGradInput(input, gradOutput)
   if type(input) == 'number' then
      self.gradInput:resize(0)
   else
      self.gradInput:resize(input:size()):zero()
   end
   return self.gradInput
end

layer(class('Constant', 'nn.Module', function(self, value, nInputDim)
   self.value = torch.isTensor(value) and value or torch.Tensor {value}
   self.nInputDim = nInputDim
end), {compute = function(self, input)
   if not self.nInputDim or input._ndim <= self.nInputDim then return op.clone(self.value) end
   local sizes = self.value:size():totable()
   table.insert(sizes, 1, tonumber(input._shape[0]))
   return op.clone(op.expand(self.value, sizes))
end})

layer(class('PixelShuffle', 'nn.Module', function(self, factor)
   self.upscaleFactor, self.upscaleFactorSquared = factor, factor * factor
end), {compute = function(self, input) return op.pixel_shuffle(input, self.upscaleFactor) end})

local Collapse = class('Collapse', 'nn.Module', function(self, nInputDim) self.nInputDim = nInputDim end)
layer(Collapse, {compute = function(self, input)
   local sizes = {}
   for i = 1, input._ndim - self.nInputDim do sizes[i] = tonumber(input._shape[i - 1]) end
   sizes[#sizes + 1] = -1
   return op.reshape(input, sizes)
end})

----------------------------------------------------------------------------------------

-- The output is the input; what comes back is another matter.
local function pass_through(name, init)
   local result = class(name, 'nn.Module', init)
   function result:updateOutput(input)
      self.output = input
      return input
   end
   return result
end

local GradientReversal = torch.class('nn.GradientReversal', 'nn.Module')
GradientReversal.__version = 2
function GradientReversal:__init(lambda)
   module.__init(self)
   self.lambda = lambda or 1
end
function GradientReversal:setLambda(lambda) self.lambda = lambda end
function GradientReversal:updateOutput(input)
   self.output:set(input)
   return self.output
end
function GradientReversal:updateGradInput(input, gradOutput)
   self.gradInput:resizeAs(gradOutput):copy(gradOutput):mul(-self.lambda)
   return self.gradInput
end

local ZeroGrad = pass_through 'ZeroGrad'
function ZeroGrad:updateGradInput(input, gradOutput)
   self.gradInput = tape.zeros_like(gradOutput)
   return self.gradInput
end

local L1Penalty = pass_through('L1Penalty', function(self, l1weight, sizeAverage, provideOutput)
   self.l1weight, self.sizeAverage = l1weight, sizeAverage or false
   self.provideOutput = provideOutput == nil or provideOutput
end)
local function penalty(self, input)
   return self.sizeAverage and self.l1weight / input:nElement() or self.l1weight
end
local pass = L1Penalty.updateOutput
function L1Penalty:updateOutput(input)
   self.loss = penalty(self, input) * input:norm(1)
   return pass(self, input)
end
function L1Penalty:updateGradInput(input, gradOutput)
   self.gradInput:resizeAs(input):copy(input):sign():mul(penalty(self, input))
   if self.provideOutput then self.gradInput:add(gradOutput) end
   return self.gradInput
end

layer(class('Padding', 'nn.Module', function(self, dim, pad, nInputDim, value, index)
   self.dim, self.pad, self.nInputDim = dim, pad, nInputDim
   self.value, self.index = value or 0, index or 1
   self.outputSize = torch.LongStorage()
end), {compute = function(self, input)
   local dim = self.dim - 1
   if self.nInputDim and input._ndim ~= self.nInputDim then dim = dim + 1 end
   local size = tonumber(input._shape[dim])
   local at = self.index - 1
   if self.pad > 0 then at = size - at end
   local sizes = input:size()
   sizes[dim + 1] = math.abs(self.pad)
   local filling = torch.getconstructortable(input:type())(sizes):fill(self.value)
   local parts = {}
   if at > 0 then parts[1] = op.narrow(input, dim, 0, at) end
   parts[#parts + 1] = filling
   if size > at then parts[#parts + 1] = op.narrow(input, dim, at, size - at) end
   return op.cat(parts, dim)
end})

----------------------------------------------------------------------------------------

local Copy = torch.class('nn.Copy', 'nn.Module')
function Copy:__init(intype, outtype, forceCopy, dontCast)
   intype, outtype = intype or torch.Tensor.__typename, outtype or torch.Tensor.__typename
   self.dontCast = dontCast
   module.__init(self)
   self.gradInput = torch.getconstructortable(intype)()
   self.output = torch.getconstructortable(outtype)()
end
function Copy:updateOutput(input)
   self.output:resize(input:size()):copy(input)
   return self.output
end
function Copy:updateGradInput(input, gradOutput)
   self.gradInput:resize(gradOutput:size()):copy(gradOutput)
   return self.gradInput
end
function Copy:type(name, cache)
   if name and self.dontCast then return self end
   return module.type(self, name, cache)
end

local ZipTable = class('ZipTable', 'nn.Module', function(self) self.output, self.gradInput = {}, {} end)
local function zip(rows)
   local result = {}
   for i, row in ipairs(rows) do
      for j, value in ipairs(row) do
         result[j] = result[j] or {}
         result[j][i] = value
      end
   end
   return result
end
function ZipTable:updateOutput(input)
   self.output = zip(input)
   return self.output
end
function ZipTable:updateGradInput(input, gradOutput)
   self.gradInput = zip(gradOutput)
   return self.gradInput
end

local ZipTableOneToMany = class('ZipTableOneToMany', 'nn.Module', function(self)
   self.output, self.gradInput = {}, {}
   self.gradInputEl = torch.Tensor()
end)
function ZipTableOneToMany:updateOutput(input)
   self.output = {}
   for i, value in ipairs(input[2]) do self.output[i] = {input[1], value} end
   return self.output
end
function ZipTableOneToMany:updateGradInput(input, gradOutput)
   self.gradInputEl:resizeAs(input[1]):zero()
   local others = {}
   for i, pair in ipairs(gradOutput) do
      self.gradInputEl:add(pair[1])
      others[i] = pair[2]
   end
   self.gradInput = {self.gradInputEl, others}
   return self.gradInput
end
