-- Layers that draw their output from a distribution that the input describes. `reinforce(reward)`
-- says how good the output was, one number per sample; backward then gives minus the reward times
-- the slope of the sample's log-likelihood, whatever gradOutput is (Williams, 1992).
local Reinforce, Module = torch.class('nn.Reinforce', 'nn.Module')

local EPS = 1e-8  -- keeps quotients finite

function Reinforce:__init(stochastic)
   Module.__init(self)
   self.stochastic = stochastic
end

function Reinforce:reinforce(reward) self.reward = reward end

-- The rewards in the shape of the input.
function Reinforce:rewardAs(input)
   if not self.reward then
      error(torch.type(self) .. ': backward needs a reward: call reinforce(reward) first', 2)
   end
   if self.reward:nElement() ~= input:size(1) then
      error(('%s: expected %d rewards, got %d'):format(torch.type(self), input:size(1), self.reward:nElement()), 2)
   end
   local sizes = {input:size(1)}
   for d = 2, input:dim() do sizes[d] = 1 end
   local reward = self.reward:type(input:type()):contiguous()
   return reward:view(torch.LongStorage(sizes)):expandAs(input)
end

-- A class with draw(self, ...), without_drawing(self, ...), the output in evaluation, and
-- slopes(self, sample, ...), the derivatives of the log-likelihood; they get the inputs.
local function reinforced(name, init, rule)
   local class, parent = torch.class('nn.' .. name, 'nn.Reinforce')
   if init then
      class.__init = function(self, ...) init(self, parent, ...) end
   end

   local function inputs_of(input)
      if torch.isTensor(input) then return input end
      return unpack(input)
   end

   function class:updateOutput(input)
      local draws = self.train ~= false or self.stochastic
      local value = draws and rule.draw(self, inputs_of(input)) or rule.without_drawing(self, inputs_of(input))
      self.output:resizeAs(value):copy(value)
      return self.output
   end

   function class:updateGradInput(input)
      local slopes = rule.slopes(self, self.output, inputs_of(input))
      for i, slope in ipairs(slopes) do slopes[i] = slope:cmul(self:rewardAs(slope)):mul(-1) end
      self.gradInput = torch.isTensor(input) and slopes[1] or slopes
      return self.gradInput
   end
   return class
end

local function itself(_, input) return input end

reinforced('ReinforceBernoulli', nil, {
   draw = function(_, probabilities)
      local uniform = probabilities.new(probabilities:size()):uniform(0, 1)
      return torch.lt(uniform, probabilities):type(probabilities:type())
   end,
   without_drawing = itself,
   slopes = function(_, sample, probabilities)
      local variance = torch.cmul(probabilities, 1 - probabilities)
      return {(sample - probabilities):cdiv(variance)}
   end,
})

reinforced('ReinforceCategorical', nil, {
   draw = function(self, probabilities)
      self._index = torch.multinomial(probabilities, 1)
      return probabilities.new(probabilities:size()):zero():scatter(probabilities:dim(), self._index, 1)
   end,
   without_drawing = itself,
   slopes = function(_, sample, probabilities) return {torch.cdiv(sample, probabilities + EPS)} end,
})

local function deviation(self, mean, stdev)
   stdev = stdev or self.stdev
   if not stdev then error(torch.type(self) .. ': without stdev the input must be {mean, deviation}', 0) end
   if torch.isTensor(stdev) then
      local sizes = stdev:size():totable()
      while #sizes < mean:dim() do table.insert(sizes, 1, 1) end
      return stdev:contiguous():view(torch.LongStorage(sizes)):expandAs(mean)
   end
   return mean.new(mean:size()):fill(stdev)
end

-- Normal random numbers around the input; without stdev, the input is {mean, deviation}.
reinforced('ReinforceNormal', function(self, parent, stdev, stochastic)
   parent.__init(self, stochastic)
   self.stdev = stdev
   if not stdev then self.gradInput = {torch.Tensor(), torch.Tensor()} end
end, {
   draw = function(self, mean, stdev)
      local normal = mean.new(mean:size()):normal()
      return normal:cmul(deviation(self, mean, stdev)):add(mean)
   end,
   without_drawing = itself,
   slopes = function(self, sample, mean, stdev)
      local own, distance = deviation(self, mean, stdev), sample - mean
      local of_mean = torch.cdiv(distance, torch.pow(own, 2))
      if not stdev then return {of_mean} end
      local of_deviation = torch.pow(distance, 2):add(-1, torch.pow(stdev, 2)):cdiv(torch.pow(stdev, 3):add(EPS))
      return {of_mean, of_deviation}
   end,
})
