-- nn.StochasticGradient: trains a module on a data set, example by example.
local StochasticGradient = torch.class 'nn.StochasticGradient'

function StochasticGradient:__init(module, criterion)
   self.learningRate, self.learningRateDecay = 0.01, 0
   self.maxIteration = 25
   self.shuffleIndices = true
   self.module, self.criterion = module, criterion
   self.verbose = true
end

-- dataset[i] is {input, target}; dataset:size() the count.
function StochasticGradient:train(dataset)
   local module, criterion = self.module, self.criterion
   local rate, iteration = self.learningRate, 1
   local count = dataset:size()
   local order = self.shuffleIndices and torch.randperm(count, 'torch.LongTensor') or torch.range(1, count)
   print('# StochasticGradient: training')
   while true do
      local total = 0
      for i = 1, count do
         local example = dataset[order[i]]
         local input, target = example[1], example[2]
         total = total + criterion:forward(module:forward(input), target)
         local gradient = criterion:updateGradInput(module.output, target)
         module:updateGradInput(input, gradient)
         module:accUpdateGradParameters(input, criterion.gradInput, rate)
         if self.hookExample then self:hookExample(example) end
      end
      total = total / count
      if self.hookIteration then self:hookIteration(iteration, total) end
      if self.verbose then print('# current error = ' .. total) end
      iteration = iteration + 1
      rate = self.learningRate / (1 + iteration * self.learningRateDecay)
      if self.maxIteration > 0 and iteration > self.maxIteration then
         print('# StochasticGradient: you have reached the maximum number of iterations')
         print('# training error = ' .. total)
         break
      end
   end
end
