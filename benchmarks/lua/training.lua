-- What one training iteration costs in Lua: relume lua benchmarks/lua/training.lua
-- The least CPU time of many, in milliseconds. Torch7 runs it too.
require 'nngraph'
torch.setdefaulttensortype 'torch.FloatTensor'
torch.setnumthreads(1)

local LEAST, SECONDS = 7, 2  -- runs; more of them as long as it has not taken this long

local function measure(name, run)
   local best, runs, begin = math.huge, 0, os.clock()
   while runs < LEAST or os.clock() - begin < SECONDS do
      local start = os.clock()
      run()
      best, runs = math.min(best, os.clock() - start), runs + 1
   end
   io.write(('%-44s %8.2f ms\n'):format(name, best * 1e3))
end

-- Forward, loss, backward and a step of gradient descent.
local function measure_training(name, net, criterion, input, target)
   local parameters, gradients = net:getParameters()
   measure(name, function()
      gradients:zero()
      local output = net:forward(input)
      criterion:forward(output, target)
      net:backward(input, criterion:backward(output, target))
      parameters:add(-0.01, gradients)
   end)
end

local function classes(count, last) return torch.Tensor(count):random(1, last) end

local mlp = nn.Sequential():add(nn.Linear(784, 256)):add(nn.Tanh()):add(nn.Linear(256, 10)):add(nn.LogSoftMax())
measure_training('MLP 784-256-10, batch 32', mlp, nn.ClassNLLCriterion(), torch.randn(32, 784), classes(32, 10))

local lenet = nn.Sequential()
lenet:add(nn.SpatialConvolution(1, 6, 5, 5, 1, 1, 2, 2)):add(nn.Tanh()):add(nn.SpatialMaxPooling(2, 2, 2, 2))
lenet:add(nn.SpatialConvolution(6, 16, 5, 5)):add(nn.Tanh()):add(nn.SpatialMaxPooling(2, 2, 2, 2))
lenet:add(nn.View(400)):add(nn.Linear(400, 120)):add(nn.Tanh()):add(nn.Linear(120, 84)):add(nn.Tanh())
lenet:add(nn.Linear(84, 10)):add(nn.LogSoftMax())
measure_training('LeNet, batch 32', lenet, nn.ClassNLLCriterion(), torch.randn(32, 1, 28, 28), classes(32, 10))

local convolutional, planes = nn.Sequential(), 3
for _, more in ipairs {32, 64, 64, 64} do
   convolutional:add(nn.SpatialConvolution(planes, more, 3, 3, 1, 1, 1, 1)):add(nn.ReLU(true))
   planes = more
end
local images = torch.randn(16, 3, 64, 64)
measure('four 3x3 convolutions, 16 x 64 x 64, forward', function() convolutional:forward(images) end)
local gradient = convolutional.output:clone():fill(1e-3)
measure('  and backward', function()
   convolutional:forward(images)
   convolutional:zeroGradParameters()
   convolutional:backward(images, gradient)
end)

----------------------------------------------------------------------------------------
-- A character model: an LSTM as a graph, a clone for every step of the sequence.

local function lstm(vocabulary, size)
   local x, c, h = nn.Identity()(), nn.Identity()(), nn.Identity()()
   local sums = nn.CAddTable()({nn.Linear(vocabulary, 4 * size)(x), nn.Linear(size, 4 * size)(h)})
   local parts = {nn.SplitTable(2)(nn.Reshape(4, size)(sums)):split(4)}
   local keep, forget, out = nn.Sigmoid()(parts[1]), nn.Sigmoid()(parts[2]), nn.Sigmoid()(parts[3])
   local cell = nn.CAddTable()({nn.CMulTable()({forget, c}), nn.CMulTable()({keep, nn.Tanh()(parts[4])})})
   local hidden = nn.CMulTable()({out, nn.Tanh()(cell)})
   local scores = nn.LogSoftMax()(nn.Linear(size, vocabulary)(hidden))
   return nn.gModule({x, c, h}, {cell, hidden, scores})
end

local vocabulary, size, steps, batch = 65, 128, 50, 50
local net = lstm(vocabulary, size)
local parameters, gradients = net:getParameters()
local clones, criterions = {}, {}
for t = 1, steps do
   clones[t] = net:clone('weight', 'bias', 'gradWeight', 'gradBias')
   criterions[t] = nn.ClassNLLCriterion()
end
local x, y = torch.zeros(steps, batch, vocabulary), torch.Tensor(steps, batch):random(1, vocabulary)
for t = 1, steps do
   for b = 1, batch do x[t][b][torch.random(1, vocabulary)] = 1 end
end
measure(('character LSTM %d, %d steps, batch %d'):format(size, steps, batch), function()
   gradients:zero()
   local states, scores = {[0] = {torch.zeros(batch, size), torch.zeros(batch, size)}}, {}
   for t = 1, steps do
      local cell, hidden
      cell, hidden, scores[t] = unpack(clones[t]:forward {x[t], unpack(states[t - 1])})
      states[t] = {cell, hidden}
      criterions[t]:forward(scores[t], y[t])
   end
   local of_state = {torch.zeros(batch, size), torch.zeros(batch, size)}
   for t = steps, 1, -1 do
      local of_scores = criterions[t]:backward(scores[t], y[t])
      local found = clones[t]:backward({x[t], unpack(states[t - 1])}, {of_state[1], of_state[2], of_scores})
      of_state = {found[2], found[3]}
   end
   parameters:add(-0.01, gradients)
end)
