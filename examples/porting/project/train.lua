-- A small research project in Lua Torch, as it may have been left behind in 2016: a layer of its own, a
-- network, a penalty, a training loop. `main.lua` runs it.
require 'nn'
require 'optim'
include 'GatedUnit.lua'

local project = {}

torch.manualSeed(1)
project.net = nn.Sequential()
   :add(nn.Linear(4, 16))
   :add(nn.GatedUnit(16))
   :add(nn.Linear(16, 1))
project.criterion = nn.MSECriterion()

-- The product of the first two numbers, and the third.
function project.batch(size)
   local input = torch.rand(size, 4)
   local target = torch.cmul(input:select(2, 1), input:select(2, 2)):add(input:select(2, 3))
   return input, target:view(-1, 1)
end

-- What large weights cost, and its gradient.
function project.penalty(parameters)
   return 1e-4 * parameters:norm() ^ 2, parameters * 2e-4
end

function project.train(steps)
   torch.manualSeed(2)
   local parameters, gradients = project.net:getParameters()
   local settings = {learningRate = 0.02}
   local losses = {}
   for step = 1, steps do
      local input, target = project.batch(32)
      local function evaluate()
         gradients:zero()
         local output = project.net:forward(input)
         local loss = project.criterion:forward(output, target)
         project.net:backward(input, project.criterion:backward(output, target))
         local cost, gradient = project.penalty(parameters)
         gradients:add(gradient)
         return loss + cost, gradients
      end
      local _, values = optim.adam(evaluate, parameters, settings)
      losses[step] = values[1]
   end
   return losses
end

return project
