-- nn.SparseLinear on rows {index, value}, and nn.PartialLinear, which computes some outputs only.
local bound_of = require('nn.initial_values').bound

local SparseLinear, Module = torch.class('nn.SparseLinear', 'nn.Module')
local small_bias = 1e-6

function SparseLinear:__init(inputSize, outputSize, doGradInput)
   Module.__init(self)
   self.weightDecay = 0
   self.gradInput = {}
   self.doGradInput = doGradInput or false
   self.weight, self.gradWeight = torch.Tensor(outputSize, inputSize), torch.Tensor(outputSize, inputSize):zero()
   self.bias, self.gradBias = torch.Tensor(outputSize), torch.Tensor(outputSize):zero()
   self.sparseUpdate = 0
   self:reset()
end

function SparseLinear:reset(stdv)
   local bound = bound_of(stdv, self.weight:size(2))
   self.weight:uniform(-bound, bound)
   self.bias:uniform(-bound, bound):mul(small_bias)
end

-- The samples of a table, of a batch, or the only one.
local function samples_of(input)
   if type(input) == 'table' then return input end
   if input:dim() == 2 then return {input} end
   local list = {}
   for i = 1, input:size(1) do list[i] = input[i] end
   return list
end

-- The indices and the values of a sample.
local function parts_of(self, sample)
   local indices = sample:select(2, 1):long()
   if indices:min() < 1 or indices:max() > self.weight:size(2) then
      error(('nn.SparseLinear: indices must be in 1..%d'):format(self.weight:size(2)), 3)
   end
   return indices, sample:select(2, 2)
end

function SparseLinear:updateOutput(input)
   local samples = samples_of(input)
   self.output:resize(#samples, self.weight:size(1))
   for i, sample in ipairs(samples) do
      local indices, values = parts_of(self, sample)
      self.output[i]:copy(self.bias):addmv(1, self.weight:index(2, indices), values)
   end
   if torch.isTensor(input) and input:dim() == 2 then self.output:resize(self.weight:size(1)) end
   return self.output
end

function SparseLinear:accGradParameters(input, gradOutput, scale)
   scale = scale or 1
   local samples = samples_of(input)
   local gradients = gradOutput:contiguous():view(#samples, -1)
   for i, sample in ipairs(samples) do
      self.gradBias:add(scale, gradients[i])
      local indices, values = parts_of(self, sample)
      self.gradWeight:indexAdd(2, indices, torch.ger(gradients[i], values):mul(scale))
   end
   if self.weightDecay ~= 0 then self.gradWeight:add(self.weightDecay, self.weight) end
end

-- All indices with their gradients, as rows like those of the input.
function SparseLinear:updateGradInput(input, gradOutput)
   self.gradInput = {}
   if not self.doGradInput then return self.gradInput end
   local samples = samples_of(input)
   local rows = torch.mm(gradOutput:contiguous():view(#samples, -1), self.weight)
   local full = rows.new(#samples, rows:size(2), 2)
   for i = 1, rows:size(2) do full:select(3, 1):select(2, i):fill(i) end
   full:select(3, 2):copy(rows)
   for i = 1, #samples do self.gradInput[i] = full[i] end
   return self.gradInput
end

function SparseLinear:clearState()
   self.output:set()
   self.gradInput = {}
   return self
end

----------------------------------------------------------------------------------------

local PartialLinear = torch.class('nn.PartialLinear', 'nn.Module')

function PartialLinear:__init(inputsize, outputsize, bias)
   Module.__init(self)
   local rows = nn.LookupTable(outputsize, inputsize)
   self.network = nn.Sequential()
   self.network:add(nn.ParallelTable():add(nn.Identity()):add(rows)):add(nn.MM(false, true))
   if bias == nil or bias then
      self.bias, self.gradBias = torch.Tensor(1, outputsize):zero(), torch.Tensor(1, outputsize):zero()
   end
   self.inputsize, self.outputsize = inputsize, outputsize
   self.allcolumns = torch.range(1, outputsize)
   self:resetPartition()
end

local function table_of(self) return self.network:get(1):get(2) end

function PartialLinear:setPartition(indices)
   self.partition = indices:type(self.allcolumns:type())
end
function PartialLinear:resetPartition() self.partition = self.allcolumns end
function PartialLinear:reset(stdv) table_of(self):reset(stdv) end

function PartialLinear:parameters()
   local lookup = table_of(self)
   return {lookup.weight, self.bias}, {lookup.gradWeight, self.gradBias}
end

-- The biases of the outputs that are computed, for each row.
local function biases(self, count)
   local chosen = self.bias:index(2, self.partition:long())
   return chosen:expand(count, chosen:size(2))
end

function PartialLinear:updateOutput(input)
   self.output:set(self.network:forward {input, self.partition})
   if self.bias then self.output:add(biases(self, self.output:size(1))) end
   return self.output
end

function PartialLinear:updateGradInput(input, gradOutput)
   local gradient = self.network:updateGradInput({input, self.partition}, gradOutput)
   self.gradInput:set(gradient[1])
   return self.gradInput
end

function PartialLinear:accGradParameters(input, gradOutput, scale)
   scale = scale or 1
   self.network:accGradParameters({input, self.partition}, gradOutput, scale)
   if self.bias then
      self.gradBias:indexAdd(2, self.partition:long(), gradOutput:sum(1):mul(scale))
   end
end

function PartialLinear:accUpdateGradParameters(input, gradOutput, lr)
   self.network:accUpdateGradParameters({input, self.partition}, gradOutput, lr)
   if self.bias then
      self.bias:indexAdd(2, self.partition:long(), gradOutput:sum(1):mul(-lr))
   end
end

function PartialLinear:type(name, cache)
   if name then self.network:type(name, cache) end
   return Module.type(self, name, cache)
end

function PartialLinear:clearState()
   self.network:clearState()
   return Module.clearState(self)
end

function PartialLinear:__tostring__()
   return ('%s(%d -> %d)%s'):format(torch.type(self), self.inputsize, self.outputsize,
      self.bias and '' or ' without bias')
end
