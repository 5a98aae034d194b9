-- Containers made of others: nn.Decorator and what wraps one module, nn.MapTable, nn.Parallel,
-- nn.DepthConcat, nn.Maxout, nn.CReLU, nn.LayerNormalization.

local Decorator, Container = torch.class('nn.Decorator', 'nn.Container')

function Decorator:__init(module)
   Container.__init(self)
   self.modules[1] = module
end

function Decorator:updateOutput(input)
   self.output = self.modules[1]:updateOutput(input)
   return self.output
end

function Decorator:updateGradInput(input, gradOutput)
   self.gradInput = self.modules[1]:updateGradInput(input, gradOutput)
   return self.gradInput
end

function Decorator:accGradParameters(input, gradOutput, scale)
   self.modules[1]:accGradParameters(input, gradOutput, scale)
end

function Decorator:accUpdateGradParameters(input, gradOutput, lr)
   self.modules[1]:accUpdateGradParameters(input, gradOutput, lr)
end

function Decorator:sharedAccUpdateGradParameters(input, gradOutput, lr)
   self.modules[1]:sharedAccUpdateGradParameters(input, gradOutput, lr)
end

function Decorator:__tostring__()
   if self.modules[1].__tostring__ then
      return torch.type(self) .. ' @ ' .. self.modules[1]:__tostring__()
   end
   return torch.type(self) .. ' @ ' .. torch.type(self.modules[1])
end

----------------------------------------------------------------------------------------

local Bottle = torch.class('nn.Bottle', 'nn.Decorator')

function Bottle:__init(module, nInputDim, nOutputDim)
   Decorator.__init(self, module)
   self.nInputDim = nInputDim or 2
   self.nOutputDim = nOutputDim or self.nInputDim
   self.dimDelta = self.nInputDim - self.nOutputDim
   self.inShape, self.outShape = torch.Tensor(self.nInputDim), torch.Tensor(self.nOutputDim)
end

-- Leading dimensions become one, the batch.
local function bottled(self, input)
   local extra = input:dim() - self.nInputDim
   if extra <= 0 then return input end
   local sizes = {-1}
   for d = extra + 2, input:dim() do sizes[#sizes + 1] = input:size(d) end
   return input:contiguous():view(torch.LongStorage(sizes))
end

local function unbottled(self, output, input)
   local extra = input:dim() - self.nInputDim
   if extra <= 0 then return output end
   local sizes = {}
   for d = 1, extra + 1 do sizes[d] = input:size(d) end
   for d = 2, output:dim() do sizes[#sizes + 1] = output:size(d) end
   return output:view(torch.LongStorage(sizes))
end

function Bottle:updateOutput(input)
   self.output = unbottled(self, self.modules[1]:updateOutput(bottled(self, input)), input)
   return self.output
end

local function inner(self, gradOutput) return gradOutput:contiguous():viewAs(self.modules[1].output) end

function Bottle:updateGradInput(input, gradOutput)
   local gradient = self.modules[1]:updateGradInput(bottled(self, input), inner(self, gradOutput))
   self.gradInput = gradient and gradient:viewAs(input)
   return self.gradInput
end

function Bottle:accGradParameters(input, gradOutput, scale)
   self.modules[1]:accGradParameters(bottled(self, input), inner(self, gradOutput), scale)
end

----------------------------------------------------------------------------------------
-- One module on each element of a table, cloned as needed.

local MapTable = torch.class('nn.MapTable', 'nn.Container')

function MapTable:__init(module, shared)
   Container.__init(self)
   self.sharedparams = {'weight', 'bias', 'gradWeight', 'gradBias'}
   if type(shared) == 'table' then
      self.sharedparams, shared = shared, true
   end
   self.shared = shared == nil or shared
   self.output, self.gradInput = {}, {}
   if module then self:add(module) end
end

function MapTable:add(module)
   if self.module then error('Single module required', 2) end
   self.module = module
   self.modules[1] = module
   return self
end

function MapTable:resize(count)
   for i = 2, count do
      if not self.modules[i] then
         self.modules[i] = self.shared and self.module:clone(unpack(self.sharedparams)) or self.module:clone()
      end
   end
   for i = #self.modules, math.max(count, 1) + 1, -1 do self.modules[i] = nil end
end

function MapTable:updateOutput(input)
   self.output = {}
   self:resize(#input)
   for i, value in ipairs(input) do
      self.output[i] = self:rethrowErrors(self.modules[i], i, 'updateOutput', value)
   end
   return self.output
end

function MapTable:updateGradInput(input, gradOutput)
   self.gradInput = {}
   for i, value in ipairs(input) do
      self.gradInput[i] = self:rethrowErrors(self.modules[i], i, 'updateGradInput', value, gradOutput[i])
   end
   return self.gradInput
end

for _, method in ipairs {'accGradParameters', 'accUpdateGradParameters'} do
   MapTable[method] = function(self, input, gradOutput, amount)
      for i, value in ipairs(input) do
         self:rethrowErrors(self.modules[i], i, method, value, gradOutput[i], amount)
      end
   end
end

function MapTable:zeroGradParameters()
   if not self.module then return end
   if self.shared then
      self.module:zeroGradParameters()
   else
      Container.zeroGradParameters(self)
   end
end

function MapTable:updateParameters(learningRate)
   if not self.module then return end
   if self.shared then
      self.module:updateParameters(learningRate)
   else
      Container.updateParameters(self, learningRate)
   end
end

function MapTable:clearState()
   for i = #self.modules, 2, -1 do self.modules[i] = nil end
   Container.clearState(self)
end

function MapTable:__tostring__()
   if not self.module then return torch.type(self) .. ' { }' end
   local inside = tostring(self.module):gsub('\n', '\n  ')
   return ('%s {\n  %s\n}'):format(torch.type(self), inside)
end

----------------------------------------------------------------------------------------
-- nn.Parallel(inputDimension, outputDimension): a module for each slice.

local Parallel = torch.class('nn.Parallel', 'nn.Container')

function Parallel:__init(inputDimension, outputDimension)
   Container.__init(self)
   self.inputDimension, self.outputDimension = inputDimension, outputDimension
end

function Parallel:updateOutput(input)
   local count = input:size(self.inputDimension)
   if count > #self.modules then
      error(('nn.Parallel: %d slices for %d modules'):format(count, #self.modules), 2)
   end
   local parts = {}
   for i = 1, count do
      local module = self.modules[i]
      parts[i] = self:rethrowErrors(module, i, 'updateOutput', input:select(self.inputDimension, i))
   end
   torch.cat(self.output, parts, self.outputDimension)
   self.totalOutputSize = self.output:size()
   return self.output
end

-- f(module, number, its input, its gradOutput)
local function each_slice(self, input, gradOutput, f)
   local start = 1
   for i = 1, input:size(self.inputDimension) do
      local module = self.modules[i]
      local size = module.output:size(self.outputDimension)
      f(module, i, input:select(self.inputDimension, i), gradOutput:narrow(self.outputDimension, start, size))
      start = start + size
   end
end

function Parallel:updateGradInput(input, gradOutput)
   self.gradInput:resizeAs(input)
   each_slice(self, input, gradOutput, function(module, i, slice, gradient)
      local result = self:rethrowErrors(module, i, 'updateGradInput', slice, gradient)
      self.gradInput:select(self.inputDimension, i):copy(result)
   end)
   return self.gradInput
end

for _, method in ipairs {'accGradParameters', 'accUpdateGradParameters'} do
   Parallel[method] = function(self, input, gradOutput, amount)
      each_slice(self, input, gradOutput, function(module, i, slice, gradient)
         self:rethrowErrors(module, i, method, slice, gradient, amount)
      end)
   end
end

Parallel.__tostring__ = nn.ConcatTable.__tostring__

----------------------------------------------------------------------------------------
-- nn.DepthConcat: nn.Concat with smaller branches in the middle of zeros.

local DepthConcat, Concat = torch.class('nn.DepthConcat', 'nn.Concat')

-- The part of a tensor of the full size that a branch fills.
local function window(self, tensor, start, output)
   local part = tensor:narrow(self.dimension, start, output:size(self.dimension))
   for d = 1, output:dim() do
      if d ~= self.dimension then
         local room = part:size(d) - output:size(d)
         part = part:narrow(d, math.floor(room / 2) + 1, output:size(d))
      end
   end
   return part
end

function DepthConcat:updateOutput(input)
   local parts, sizes = {}, nil
   for i, module in ipairs(self.modules) do
      local output = self:rethrowErrors(module, i, 'updateOutput', input)
      parts[i] = output
      sizes = sizes or torch.LongStorage(output:dim()):fill(0)
      for d = 1, output:dim() do
         if d == self.dimension then
            sizes[d] = sizes[d] + output:size(d)
         else
            sizes[d] = math.max(sizes[d], output:size(d))
         end
      end
   end
   self.outputSize = sizes
   self.output:resize(sizes):zero()
   local start = 1
   for _, part in ipairs(parts) do
      window(self, self.output, start, part):copy(part)
      start = start + part:size(self.dimension)
   end
   return self.output
end

local function each_window(self, input, gradOutput, f)
   local start = 1
   for i, module in ipairs(self.modules) do
      f(module, i, window(self, gradOutput, start, module.output):contiguous())
      start = start + module.output:size(self.dimension)
   end
end

function DepthConcat:updateGradInput(input, gradOutput)
   self.gradInput:resizeAs(input):zero()
   each_window(self, input, gradOutput, function(module, i, gradient)
      self.gradInput:add(self:rethrowErrors(module, i, 'updateGradInput', input, gradient))
   end)
   return self.gradInput
end

function DepthConcat:backward(input, gradOutput, scale)
   self.gradInput:resizeAs(input):zero()
   each_window(self, input, gradOutput, function(module, i, gradient)
      self.gradInput:add(self:rethrowErrors(module, i, 'backward', input, gradient, scale or 1))
   end)
   return self.gradInput
end

for _, method in ipairs {'accGradParameters', 'accUpdateGradParameters'} do
   DepthConcat[method] = function(self, input, gradOutput, amount)
      each_window(self, input, gradOutput, function(module, i, gradient)
         self:rethrowErrors(module, i, method, input, gradient, amount)
      end)
   end
end

----------------------------------------------------------------------------------------
-- Chains with a name; they print as what they are.

local Sequential = torch.getmetatable 'nn.Sequential'

local function chain(name, init)
   local class = torch.class('nn.' .. name, 'nn.Sequential')
   function class:__init(...)
      Sequential.__init(self)
      init(self, ...)
   end
   function class:__tostring__()
      return (Sequential.__tostring__(self):gsub('^[%w.]+', 'nn.Sequential'))
   end
   return class
end

chain('Maxout', function(self, inputSize, outputSize, maxoutNumber, preprocess)
   self:add(nn.Linear(inputSize, outputSize * maxoutNumber))
   self:add(nn.View(maxoutNumber, outputSize):setNumInputDims(1))
   if preprocess then self:add(preprocess) end
   self:add(nn.Max(1, 2))
end)

chain('LayerNormalization', function(self, nOutput, bias, eps, affine)
   local mean = nn.Sequential():add(nn.Mean(1, 1)):add(nn.Replicate(nOutput, 1, 1))
   self:add(nn.ConcatTable():add(nn.Identity()):add(mean)):add(nn.CSubTable())
   self:add(nn.Normalize(2, eps or 1e-10)):add(nn.MulConstant(math.sqrt(nOutput)))
   if affine == nil or affine then
      local scale, shift = nn.CMul(nOutput), nn.Add(nOutput, false)
      scale.weight:fill(1)
      shift.bias:fill(bias or 0)
      self:add(scale):add(shift)
   end
end)

local CReLU = chain('CReLU', function(self, nInputDims, inplace)
   self.nInputDims, self.inplace = nInputDims, inplace or false
   local both = nn.ConcatTable():add(nn.Identity()):add(nn.MulConstant(-1))
   self:add(both):add(nn.JoinTable(2)):add(nn.ReLU(self.inplace))
end)

local function as_batch(self, input)
   if input:dim() > self.nInputDims then return input end
   return nn.utils.addSingletonDimension(input, 1)
end

function CReLU:updateOutput(input)
   self._input = as_batch(self, input)
   local output = Sequential.updateOutput(self, self._input)
   self.output = input:dim() > self.nInputDims and output or output:select(1, 1)
   return self.output
end

for _, method in ipairs {'updateGradInput', 'backward'} do
   CReLU[method] = function(self, input, gradOutput, scale)
      local gradient = gradOutput
      if input:dim() <= self.nInputDims then gradient = nn.utils.addSingletonDimension(gradOutput, 1) end
      self.gradInput = Sequential[method](self, self._input, gradient, scale):view(input:size())
      return self.gradInput
   end
end

function CReLU:__tostring__() return 'CReLU()' end
