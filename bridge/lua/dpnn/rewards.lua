-- Criterions that give 1 for a right answer: the input is {answer, baseline}. Backward tells the
-- stochastic layers of a network their reward: `scale` times what was given minus the baseline,
-- which is the reward to expect (Mnih et al., 2014).
local Criterion = torch.getmetatable 'nn.Criterion'

-- A class with is_right(answer, target): 1 for each right answer (a ByteTensor).
local function reward_class(name, is_right)
   local class = torch.class('nn.' .. name, 'nn.Criterion')

   function class:__init(module, scale, criterion)
      Criterion.__init(self)
      self.module, self.scale, self.criterion = module, scale or 1, criterion or nn.MSECriterion()
      self.sizeAverage = true
      self.gradInput = {torch.Tensor()}
   end

   local function rewards(self, input, target)
      local answer = input[1]
      return is_right(answer, target):type(answer:type()):mul(self.scale)
   end

   function class:updateOutput(input, target)
      local reward = rewards(self, input, target)
      self.output = -reward:sum()
      if self.sizeAverage then self.output = self.output / reward:nElement() end
      return self.output
   end

   function class:updateGradInput(input, target)
      local answer, baseline = input[1], input[2]
      local reward = rewards(self, input, target)
      local advantage = reward:clone():add(-1, baseline:contiguous():view(-1))
      if self.sizeAverage then advantage:div(reward:nElement()) end
      self.module:reinforce(advantage)
      local learned = self.criterion:backward(baseline, reward:viewAs(baseline))
      self.gradInput = {answer.new(answer:size()):zero(), learned}
      return self.gradInput
   end

   function class:type(name_of_type, cache)
      local module = self.module  -- it belongs to somebody else
      self.module = nil
      local result = Criterion.type(self, name_of_type, cache)
      self.module = module
      return result
   end
end

-- Is the largest of the numbers that of the target class?
reward_class('VRClassReward', function(answer, target)
   local _, places = torch.max(answer, 2)
   return places:view(-1):eq(target:contiguous():view(-1):long())
end)

-- Is the answer, above or below one half, the target, 1 or 0?
reward_class('BinaryClassReward', function(answer, target)
   return answer:contiguous():view(-1):gt(0.5):eq(target:contiguous():view(-1):gt(0.5))
end)
