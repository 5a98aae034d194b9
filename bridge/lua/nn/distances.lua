-- Layers that compare vectors, and combine two inputs: derived from what they compute.
local derived = require 'nn.derived'
local draw = require('nn.initial_values').draw

local op, layer, class = derived.op, derived.layer, derived.class

-- A vector as a batch of one.
local function rows_of(input)
   if input._ndim > 2 then error('expected a vector or a batch of vectors', 0) end
   return input._ndim == 2 and input or op.unsqueeze(input, 0)
end

local function like_input(output, input)
   return input._ndim == 2 and output or op.reshape(output, {-1})
end

-- `value`, with the gradient of `other`: where Torch7's gradient is not the derivative.
local function with_gradient_of(value, other)
   return op.add(op.detach(value), op.sub(other, op.detach(other)))
end

-- sums ^ (1 / p), whose gradient divides by a little more than the value.
local function root(sums, p, eps)
   local value = op.pow(sums, 1 / p)
   local slope = op.mul(op.pow(op.add(op.detach(value), eps), p - 1), p)
   return with_gradient_of(value, op.div(sums, slope))
end

----------------------------------------------------------------------------------------

local Normalize = class('Normalize', 'nn.Module', function(self, p, eps)
   if not p or p <= 0 then error(tostring(p) .. '-norm not supported', 3) end
   self.p, self.eps = p, eps or 1e-10
end)

function Normalize:__tostring__()
   local text = self.p == math.huge and 'inf' or self.p % 1 == 0 and ('%d'):format(self.p)
      or ('%f'):format(self.p)
   return ('%s(%s)'):format(torch.type(self), text)
end

local function norm_of(self, rows)
   local p, eps = self.p, self.eps
   if p == math.huge then
      local norm = op.add((op.max_with_indices(op.abs(rows), 1, true)), eps)
      return with_gradient_of(norm, op.mul(norm, op.detach(op.div(norm, op.add(norm, eps)))))
   end
   local sums = op.add(op.sum(op.pow(op.abs(rows), p), {1}, true), eps)
   if p < 2 then
      local slopes = op.detach(op.mul(rows, op.pow(op.add(op.abs(rows), eps), p - 2)))
      sums = with_gradient_of(sums, op.mul(op.sum(op.mul(slopes, rows), {1}, true), p))
   end
   return op.pow(sums, 1 / p)
end

layer(Normalize, {compute = function(self, input)
   local rows = rows_of(input)
   local output = op.div(rows, norm_of(self, rows))
   return input._ndim == 2 and output or op.squeeze(output, 0)
end})

local Cosine = class('Cosine', 'nn.Module', function(self, inputSize, outputSize)
   self.weight, self.gradWeight = torch.Tensor(outputSize, inputSize), torch.Tensor(outputSize, inputSize)
   self:reset()
end)
function Cosine:reset(stdv) return draw(self, stdv, self.weight:size(1)) end

layer(Cosine, {parameters = {'weight'}, compute = function(self, input, weight)
   local rows = rows_of(input)
   local lengths = op.add(op.sqrt(op.sum(op.square(rows), {1}, true)), 1e-12)
   local weight_lengths = op.add(op.sqrt(op.sum(op.square(weight), {1})), 1e-12)
   return like_input(op.div(op.div(op.linear(rows, weight), lengths), weight_lengths), input)
end, scale = function(self, scale) return self.output:dim() == 2 and 1 or scale end})

-- A layer on two vectors or batches, whose gradients are two tensors.
local function pair_layer(name, compute, init)
   return layer(class(name, 'nn.Module', function(self, ...)
      self.gradInput = {torch.Tensor(), torch.Tensor()}
      if init then init(self, ...) end
   end), {compute = function(self, input)
      return compute(self, rows_of(input[1]), rows_of(input[2]))
   end})
end

pair_layer('CosineDistance', function(_, a, b) return derived.cosines(a, b) end)

pair_layer('DotProduct', function(_, a, b) return op.sum(op.mul(a, b), {1}) end)

pair_layer('PairwiseDistance', function(self, a, b)
   local difference = op.abs(op.sub(a, b))
   if self.norm == 1 then return op.sum(difference, {1}) end
   return root(op.sum(op.pow(difference, self.norm), {1}), self.norm, 1e-6)
end, function(self, p) self.norm, self.diff = p or 2, torch.Tensor() end)

-- Distances to the columns of a weight.
local function centres(init)
   return function(self, inputSize, outputSize)
      self.weight, self.gradWeight = torch.Tensor(inputSize, outputSize), torch.Tensor(inputSize, outputSize)
      init(self, inputSize, outputSize)
      self:reset()
   end
end

local Euclidean = class('Euclidean', 'nn.Module', centres(function(self) self.fastBackward = true end))
function Euclidean:reset(stdv) return draw(self, stdv, self.weight:size(1)) end

layer(Euclidean, {parameters = {'weight'}, compute = function(self, input, weight)
   local difference = op.sub(op.unsqueeze(rows_of(input), 2), op.unsqueeze(weight, 0))
   return like_input(root(op.sum(op.square(difference), {1}), 2, 1e-7), input)
end})

local WeightedEuclidean = class('WeightedEuclidean', 'nn.Module', centres(function(self, inputs, outputs)
   self.diagCov, self.gradDiagCov = torch.Tensor(inputs, outputs), torch.Tensor(inputs, outputs)
end))
function WeightedEuclidean:reset(stdv)
   self.diagCov:fill(1)
   return draw(self, stdv, self.weight:size(1))
end
function WeightedEuclidean:parameters()
   return {self.weight, self.diagCov}, {self.gradWeight, self.gradDiagCov}
end

layer(WeightedEuclidean, {parameters = {'weight', 'diagCov'}, compute = function(self, input, weight, scales)
   local difference = op.sub(op.unsqueeze(rows_of(input), 2), op.unsqueeze(weight, 0))
   difference = op.mul(difference, op.unsqueeze(scales, 0))
   return like_input(root(op.sum(op.square(difference), {1}), 2, 1e-7), input)
end})

----------------------------------------------------------------------------------------

local Bilinear = class('Bilinear', 'nn.Module', function(self, size1, size2, outputs, bias)
   if not (size1 and size2 and outputs) then error('nn.Bilinear(inputSize1, inputSize2, outputSize)', 3) end
   self.weight, self.gradWeight = torch.Tensor(outputs, size1, size2), torch.Tensor(outputs, size1, size2)
   if bias == nil or bias then
      self.bias, self.gradBias = torch.Tensor(outputs), torch.Tensor(outputs)
   end
   self.gradInput = {torch.Tensor(), torch.Tensor()}
   self:reset()
end)
function Bilinear:reset(stdv) return draw(self, stdv, self.weight:size(2)) end

function Bilinear:__tostring__()
   return ('%s(%dx%d -> %d) %s'):format(torch.type(self), self.weight:size(2), self.weight:size(3),
      self.weight:size(1), self.bias and '' or ' without bias')
end

layer(Bilinear, {parameters = {'weight', 'bias'}, compute = function(self, input, weight, bias)
   local outputs, size1, size2 = self.weight:size(1), self.weight:size(2), self.weight:size(3)
   local half = op.matmul(input[1], op.reshape(op.transpose(weight, 0, 1), {size1, outputs * size2}))
   half = op.reshape(half, {-1, outputs, size2})
   local output = op.sum(op.mul(half, op.unsqueeze(input[2], 1)), {2})
   return bias and op.add(output, bias) or output
end, scale = function(self, scale, name) return name == 'weight' and 1 or scale end})

layer(class('CAddTensorTable', 'nn.Module', function(self) self.gradInput = {} end),
   {compute = function(self, input)
      local result = {}
      for i, value in ipairs(input[2]) do result[i] = op.add(value, input[1]) end
      return result
   end})

local GatedLinearUnit = class('GatedLinearUnit', 'nn.Module', function(self, dim) self.dim = dim end)
layer(GatedLinearUnit, {compute = function(self, input)
   local dim = self.dim and self.dim - 1 or input._ndim - 1
   local size = tonumber(input._shape[dim])
   if size % 2 ~= 0 then error('nn.GatedLinearUnit: the size must be even, it is ' .. size, 0) end
   local first, second = op.narrow(input, dim, 0, size / 2), op.narrow(input, dim, size / 2, size / 2)
   return op.mul(first, op.sigmoid(second))
end})

layer(class('MV', 'nn.Module', function(self, trans)
   self.trans = trans or false
   self.gradInput = {torch.Tensor(), torch.Tensor()}
end), {compute = function(self, input)
   local matrix, vector = input[1], input[2]
   if self.trans then matrix = op.transpose(matrix, -1, -2) end
   return op.squeeze(op.matmul(matrix, op.unsqueeze(vector, -1)), -1)
end})

-- Experts weighed by a gater: a table of them, or a tensor along `dim`.
layer(class('MixtureTable', 'nn.Module', function(self, dim)
   self.dim = dim
   self.gradInput = {}
   self.size, self.size2 = torch.LongStorage(), torch.LongStorage()
   self.batchSize, self.backwardSetup = 0, false
end), {compute = function(self, input)
   local gater, experts = input[1], input[2]
   local batched = gater._ndim == 2
   local dim = (self.dim or (batched and 2 or 1)) - 1
   if type(experts) == 'table' then
      dim = batched and 1 or 0
      experts = op.stack(experts, dim)
   end
   local shape = {}
   for i = 1, experts._ndim do shape[i] = 1 end
   shape[dim + 1] = tonumber(gater._shape[gater._ndim - 1])
   if batched then shape[1] = tonumber(gater._shape[0]) end
   return op.sum(op.mul(experts, op.reshape(gater, shape)), {dim})
end})
