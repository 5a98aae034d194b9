-- nn.IndexLinear(inputs, outputs): weight' x + bias for sparse vectors, given as {indices, values} of one
-- sample, {{indices, ...}, {values, ...}} of several, or {all indices, all values, counts}. Gradients of the
-- weight are kept per index, in `running`, until updateParameters uses them.
local bound_of = require('nn.initial_values').bound

local IndexLinear, Module = torch.class('nn.IndexLinear', 'nn.Module')

-- Columns of the weight before the outputs where inputs are normalised: the largest size that was seen,
-- 1 / largest, the factor of the learning rate, the offset.
local STATISTICS = 4
local SMALL_BIAS = 1e-6  -- initial biases are this much smaller than the weights

local function forget(self)
   self.running = {counter = 1, keys = {}, cumSumSizes = {}, gradWeight = {}}
end

local function running_of(self)
   if not self.running then forget(self) end  -- old files do not have it
   return self.running
end

function IndexLinear:__init(inputSize, outputSize, doGradInput, keysOffset, weight, bias, normalize)
   Module.__init(self)
   self.normalize = normalize and STATISTICS or 0
   self.offset = keysOffset and -keysOffset or -1
   self.weightDecay = 0
   self.doGradInput = doGradInput or false
   self.inputSize, self.outputSize = inputSize, outputSize
   self.weight = weight or torch.Tensor(inputSize, outputSize + self.normalize):zero()
   self.bias = bias or torch.Tensor(outputSize):zero()
   self.gradWeight, self.gradBias = torch.Tensor(), torch.Tensor(outputSize):zero()
   for _, name in ipairs {'sizesCache', 'cumSumSizesCache'} do self[name] = {} end
   for _, name in ipairs {'gradWeightBuffer', 'normalizedValues', 'valuesBuffer'} do self[name] = torch.Tensor() end
   forget(self)  -- and all weights stay zero until `reset`
end

function IndexLinear:reset(stdv)
   local bound = bound_of(stdv, self.weight:size(1))
   self.weight:uniform(-bound, bound)
   self.bias:uniform(-bound, bound):mul(SMALL_BIAS)
   if self.normalize > 0 then self.weight:narrow(2, 1, self.normalize):zero() end
end

-- {keys, values}, or the same with their number.
local function is_single(input)
   return torch.isTensor(input[1]) and (#input == 2 or type(input[3]) == 'number')
end

-- All places in the weight, all values, and how many belong to each sample.
local function flatten(self, input)
   local keys, values, counts = input[1], input[2], nil
   if type(input[3]) == 'number' then
      counts = {input[3]}
   elseif #input == 3 then
      counts = input[3]:totable()
   elseif torch.isTensor(keys) then
      counts = {keys:nElement()}
   else
      counts = {}
      for i, part in ipairs(keys) do counts[i] = part:nElement() end
      keys, values = torch.cat(keys, 1), torch.cat(values, 1)
   end
   local places = keys:long():add(self.offset + 1)
   if places:nElement() > 0 and (places:min() < 1 or places:max() > self.weight:size(1)) then
      error('index out of range', 3)
   end
   return places, values, counts
end

-- For every value, the number of its sample.
local function owners_of(counts)
   local list = {}
   for sample, count in ipairs(counts) do
      for _ = 1, count do list[#list + 1] = sample end
   end
   return torch.LongTensor(list)
end

local function column(rows, place) return rows:select(2, place) end

-- Takes note of larger sizes than those seen.
local function note_sizes(self, places, values)
   for i = 1, places:nElement() do
      local statistics, size = self.weight[places[i]], math.abs(values[i])
      if size > statistics[1] then statistics[1], statistics[2] = size, 1 / size end
      statistics[3] = 1
   end
end

-- The values as they are multiplied with the weights: over the largest ones seen, plus offsets.
local function scaled(self, rows, values)
   if self.normalize == 0 then return values end
   return torch.cmul(values, column(rows, 2)):clamp(-1, 1):add(column(rows, 4))
end

function IndexLinear:updateOutput(input)
   local places, values, counts = flatten(self, input)
   if self.normalize > 0 and self.train ~= false then note_sizes(self, places, values) end
   local rows = self.weight:index(1, places)
   local products = rows:narrow(2, self.normalize + 1, self.outputSize):clone()
   products:cmul(scaled(self, rows, values):view(-1, 1):expandAs(products))
   self.output:resize(#counts, self.outputSize):zero()
   self.output:indexAdd(1, owners_of(counts), products)
   self.output:add(self.bias:view(1, -1):expandAs(self.output))
   if is_single(input) then self.output:resize(self.outputSize) end
   return self.output
end

-- The gradient of whole vectors, not only of what the input names.
function IndexLinear:updateGradInput(input, gradOutput)
   self.gradInput = {}
   if not self.doGradInput then return self.gradInput end
   local weight = self.weight:narrow(2, self.normalize + 1, self.outputSize)
   local rows = torch.mm(gradOutput:contiguous():view(-1, self.outputSize), weight:t())
   local count, first = rows:size(1), -self.offset
   local numbers = torch.range(first, first + self.inputSize - 1):long()
   if #input == 3 then
      local sizes = torch.LongTensor(count):fill(self.inputSize)
      self.gradInput = {numbers:repeatTensor(count), rows:view(-1), sizes}
   elseif is_single(input) then
      self.gradInput = {numbers, rows[1]}
   else
      local keys, values = {}, {}
      for i = 1, count do keys[i], values[i] = numbers:clone(), rows[i] end
      self.gradInput = {keys, values}
   end
   return self.gradInput
end

function IndexLinear:accGradParameters(input, gradOutput, scale)
   scale = scale or 1
   local places, values, counts = flatten(self, input)
   local gradients = gradOutput:contiguous():view(-1, self.outputSize)
   local own = gradients:index(1, owners_of(counts)):mul(scale)
   local factors = scaled(self, self.weight:index(1, places), values)
   local by_key = torch.cmul(own, factors:view(-1, 1):expandAs(own))
   if self.normalize > 0 then by_key = torch.cat(own, by_key, 2) end
   self.gradBias:add(scale, gradients:sum(1):view(-1))
   local running = running_of(self)
   local turn = running.counter
   running.keys[turn] = places:add(-self.offset - 1)
   running.cumSumSizes[turn] = torch.LongTensor(counts):cumsum(1)
   running.gradWeight[turn] = by_key
   running.counter = turn + 1
end

-- One step at once, without keeping the gradients.
function IndexLinear:accUpdateGradParameters(input, gradOutput, learningRate)
   local kept = {running = running_of(self), gradBias = self.gradBias}
   self.gradBias = self.gradBias.new(self.outputSize):zero()
   forget(self)
   self:accGradParameters(input, gradOutput, 1)
   self:updateParameters(learningRate)
   self.gradBias, self.running = kept.gradBias, kept.running
end

function IndexLinear:backward(input, gradOutput, scale)
   self:accGradParameters(input, gradOutput, scale)
   return self:updateGradInput(input, gradOutput)
end

function IndexLinear:parameters()
   return {self.weight, self.bias}, {running_of(self), self.gradBias}
end

function IndexLinear:getParameters()
   error('nn.IndexLinear: getParameters is not possible: the gradients of the weight are kept per index; '
      .. 'use updateParameters', 2)
end

function IndexLinear:zeroGradParameters() self.gradBias:zero() end

-- One step for one index.
local function update_row(self, row, gradient, rate)
   local values = row:narrow(1, self.normalize + 1, self.outputSize)
   if self.normalize > 0 then
      rate = rate * row[3]
      local slope = values:dot(gradient:narrow(1, 1, self.outputSize))
      row[4] = row[4] - rate * (slope + self.weightDecay * row[4])
   end
   if self.weightDecay > 0 then values:mul(1 - rate * self.weightDecay) end
   values:add(-rate, gradient:narrow(1, gradient:size(1) - self.outputSize + 1, self.outputSize))
end

function IndexLinear:updateParameters(learningRate)
   if self.weightDecay > 0 then self.bias:mul(1 - learningRate * self.weightDecay) end
   self.bias:add(-learningRate, self.gradBias)
   local running = running_of(self)
   for turn = 1, running.counter - 1 do
      local keys, gradients = running.keys[turn], running.gradWeight[turn]
      if self.normalize == 0 and self.weightDecay == 0 then
         self.weight:indexAdd(1, keys + (self.offset + 1), gradients * -learningRate)
      else
         for i = 1, keys:nElement() do
            update_row(self, self.weight[keys[i] + self.offset + 1], gradients[i], learningRate)
         end
      end
   end
   forget(self)
end
