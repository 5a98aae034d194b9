-- nn.Kmeans and nn.ClassSimplexCriterion: points that stand for clusters and classes.

local Kmeans, Module = torch.class('nn.Kmeans', 'nn.Module')

function Kmeans:__init(k, dim, scale)
   Module.__init(self)
   self.k, self.dim, self.scale = k, dim, scale
   if not (k > 0 and dim > 0) then error('nn.Kmeans: k and dim must be positive', 2) end
   self.weight, self.gradWeight = torch.Tensor(k, dim), torch.Tensor(k, dim)
   self.loss = 0
   self.clusterSampleCount = torch.Tensor(k)
   self:reset()
end

function Kmeans:reset(stdv)
   stdv = stdv or 1
   self.weight:uniform(-stdv, stdv)
end

local function rows_of(self, input)
   local rows = input:dim() == 1 and input:view(1, -1) or input
   if rows:dim() ~= 2 or rows:size(2) ~= self.dim then
      error(('nn.Kmeans: expected a batch of vectors of size %d'):format(self.dim), 3)
   end
   return rows
end

-- |row - centre|^2 of each row and each of the first `count` centres.
local function squared_distances(self, rows, count)
   local result = rows.new(rows:size(1), count)
   for i = 1, count do
      local difference = rows - self.weight[i]:view(1, -1):expandAs(rows)
      result:select(2, i):copy(difference:cmul(difference):sum(2))
   end
   return result
end

function Kmeans:initRandom(input)
   local rows = rows_of(self, input)
   for i = 1, self.k do self.weight[i]:copy(rows[torch.random(rows:size(1))]) end
end

-- Far apart centres: each is one of the farthest part 1 - p of the rows (Arthur, Vassilvitskii 2007).
function Kmeans:initKmeansPlus(input, p)
   self.p = p or self.p or 0.95
   local rows = rows_of(self, input)
   local count = rows:size(1)
   local candidates = math.max(1, math.ceil((1 - self.p) * count))
   self.weight[1]:copy(rows[torch.random(count)])
   for i = 2, self.k do
      local distances = squared_distances(self, rows, i - 1):min(2):view(-1)
      local _, farthest = distances:sort(1, true)
      self.weight[i]:copy(rows[farthest[torch.random(candidates)]])
   end
end

-- The number of the nearest centre.
function Kmeans:updateOutput(input)
   local rows = rows_of(self, input)
   local smallest, nearest = squared_distances(self, rows, self.k):min(2)
   self.loss = smallest:sum()
   self.output:resize(rows:size(1)):copy(nearest)
   return self.output
end

function Kmeans:updateGradInput(input, gradOutput)
   self.gradInput:resize(input:size()):zero()
   return self.gradInput
end

-- The gradient leads each centre to the mean of its rows.
function Kmeans:accGradParameters(input, gradOutput, scale)
   scale = self.scale or scale or 1
   local rows = rows_of(self, input)
   self.clusterSampleCount:resize(self.k):zero()
   local total = self.weight.new(self.k, self.dim):zero()
   for i = 1, rows:size(1) do
      local cluster = self.output[i]
      self.clusterSampleCount[cluster] = self.clusterSampleCount[cluster] + 1
      total[cluster]:add(rows[i])
   end
   for i = 1, self.k do
      local count = self.clusterSampleCount[i]
      self.gradWeight[i]:add(scale / (count + 1e-7), self.weight[i] * count - total[i])
   end
end

function Kmeans:clearState()
   self.loss = 0
   nn.utils.clear(self, 'output')
   self.gradInput = self.gradInput.new()
   return self
end

----------------------------------------------------------------------------------------

local ClassSimplexCriterion, MSE = torch.class('nn.ClassSimplexCriterion', 'nn.MSECriterion')

-- The corners of a regular simplex around the origin, at distance 1: one in each row.
local function simplex_corners(count)
   local corners = torch.zeros(count, count - 1)
   for axis = 1, count - 1 do
      local rest = 1
      for i = 1, axis - 1 do rest = rest - corners[axis][i] ^ 2 end
      corners[axis][axis] = math.sqrt(rest)
      for row = axis + 1, count do
         local product = 0
         for i = 1, axis - 1 do product = product + corners[row][i] * corners[axis][i] end
         corners[row][axis] = (-1 / (count - 1) - product) / math.sqrt(rest)
      end
   end
   return corners
end

function ClassSimplexCriterion:__init(nClasses)
   MSE.__init(self)
   if not nClasses or nClasses < 2 then error('nn.ClassSimplexCriterion: two classes or more', 2) end
   self.nClasses = nClasses
   self.simplex = torch.zeros(nClasses, nClasses)
   self.simplex:narrow(2, 1, nClasses - 1):copy(simplex_corners(nClasses))
   self._target = torch.Tensor(nClasses)
end

local function set_target(self, input, target)
   local labels = torch.isTensor(target) and target:contiguous():view(-1):long() or torch.LongTensor {target}
   self._target = self.simplex:index(1, labels)
   return input:dim() == 1 and self._target:view(-1) or self._target
end

function ClassSimplexCriterion:updateOutput(input, target)
   return MSE.updateOutput(self, input, set_target(self, input, target))
end

function ClassSimplexCriterion:updateGradInput(input, target)
   return MSE.updateGradInput(self, input, set_target(self, input, target))
end

function ClassSimplexCriterion:getPredictions(input)
   local rows = input:dim() == 1 and input:view(1, -1) or input
   return torch.mm(rows, self.simplex:t())
end

function ClassSimplexCriterion:getTopPrediction(input)
   local _, best = self:getPredictions(input):max(2)
   return best:view(-1)
end
