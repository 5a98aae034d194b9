-- nn.Jacobian: is what a module gives backward the derivative of what it gives forward?
local Jacobian = {}
nn.Jacobian = Jacobian

-- Fills a tensor with numbers between two bounds.
local function scatter(tensor, minval, maxval)
   minval, maxval = minval or -2, maxval or 2
   tensor:copy(torch.rand(tensor:nElement()):mul(maxval - minval):add(minval))
end

-- d output / d input by backward, or of a parameter with its gradient: a column for each output.
function Jacobian.backward(module, input, param, dparam)
   module:forward(input)
   local count = module.output:nElement()
   local gradOutput = module.output.new():resizeAs(module.output)
   local flat = gradOutput:view(-1)
   local result = torch.Tensor((param or input):nElement(), count):zero()
   for i = 1, count do
      gradOutput:zero()
      flat[i] = 1
      module:zeroGradParameters()
      local gradient = module:updateGradInput(input, gradOutput)
      module:accGradParameters(input, gradOutput)
      result:select(2, i):copy(dparam or gradient)
   end
   return result
end

-- The same from one step of accUpdateGradParameters.
function Jacobian.backwardUpdate(module, input, param)
   module:forward(input)
   local count = module.output:nElement()
   local gradOutput = module.output.new():resizeAs(module.output)
   local flat = gradOutput:view(-1)
   local result = torch.Tensor(param:nElement(), count):zero()
   local parameters = module:parameters()
   local before = {}
   for i, parameter in ipairs(parameters) do before[i] = parameter:clone() end
   local kept = param:clone()
   for i = 1, count do
      gradOutput:zero()
      flat[i] = 1
      for j, parameter in ipairs(parameters) do parameter:copy(before[j]) end
      module:updateGradInput(input, gradOutput)
      module:accUpdateGradParameters(input, gradOutput, 1)
      result:select(2, i):copy(kept - param)
   end
   for j, parameter in ipairs(parameters) do parameter:copy(before[j]) end
   return result
end

-- By differences: f(place) for each number of `param`, moved up and down.
local function differences(module, input, param, perturbation, between)
   perturbation = perturbation or 1e-6
   local flat = param:view(-1)
   local result
   for i = 1, flat:size(1) do
      local kept = flat[i]
      flat[i] = kept - perturbation
      local below = module:forward(input):clone()
      flat[i] = kept + perturbation
      local above = module:forward(input):clone()
      flat[i] = kept
      result = result or torch.Tensor(flat:size(1), below:nElement())
      result[i]:copy(between(above, below, perturbation))
   end
   return result
end

function Jacobian.forward(module, input, param, perturbation)
   return differences(module, input, param or input, perturbation, function(above, below, step)
      return above:add(-1, below):div(2 * step)
   end)
end
Jacobian.forwardUpdate = Jacobian.forward

local function largest_difference(a, b)
   return (a - b):abs():max()
end

-- The largest error of the gradient of the input, at random places.
function Jacobian.testJacobian(module, input, minval, maxval, perturbation)
   scatter(input, minval, maxval)
   local by_differences = Jacobian.forward(module, input, input, perturbation)
   return largest_difference(by_differences, Jacobian.backward(module, input))
end

-- The same of a parameter, whose gradient is `dparam`.
function Jacobian.testJacobianParameters(module, input, param, dparam, minval, maxval, perturbation)
   scatter(input, minval, maxval)
   scatter(param, minval, maxval)
   local by_backward = Jacobian.backward(module, input, param, dparam)
   return largest_difference(by_backward, Jacobian.forward(module, input, param, perturbation))
end

function Jacobian.testJacobianUpdateParameters(module, input, param, minval, maxval, perturbation)
   scatter(input, minval, maxval)
   scatter(param, minval, maxval)
   local by_update = Jacobian.backwardUpdate(module, input, param)
   return largest_difference(by_update, Jacobian.forwardUpdate(module, input, param, perturbation))
end

-- Does a module that was written and read do the same? The largest differences, forward and backward.
function Jacobian.testIO(module, input, minval, maxval)
   scatter(input, minval, maxval)
   local output = module:forward(input):clone()
   local gradOutput = output.new():resizeAs(output):copy(torch.rand(output:nElement()))
   module:zeroGradParameters()
   local gradient = module:updateGradInput(input, gradOutput):clone()
   module:accGradParameters(input, gradOutput)
   local copy = torch.deserialize(torch.serialize(module))
   local copied_output = copy:forward(input)
   copy:zeroGradParameters()
   local copied_gradient = copy:updateGradInput(input, gradOutput)
   copy:accGradParameters(input, gradOutput)
   return largest_difference(output, copied_output), largest_difference(gradient, copied_gradient)
end

-- One step of descent in the ways there are to make it: the largest difference of the parameters.
function Jacobian.testAllUpdate(module, input, weight, gradWeight)
   local gradOutput, rate = nil, torch.uniform(0.1, 1)
   local errors = {}
   local function after(step)
      local copy = module:clone()
      local output = copy:forward(input)
      gradOutput = gradOutput or torch.rand(output:nElement()):typeAs(output):viewAs(output)
      copy:zeroGradParameters()
      copy:updateGradInput(input, gradOutput)
      step(copy)
      return copy[weight]
   end
   local plain = after(function(copy)
      copy:accGradParameters(input, gradOutput, 1)
      copy:updateParameters(rate)
   end)
   local scaled = after(function(copy)
      copy:accGradParameters(input, gradOutput, 0.5)
      copy:accGradParameters(input, gradOutput, 0.5)
      copy:updateParameters(rate)
   end)
   local direct = after(function(copy) copy:accUpdateGradParameters(input, gradOutput, rate) end)
   local shared = after(function(copy) copy:sharedAccUpdateGradParameters(input, gradOutput, rate) end)
   errors['accGradParameters'] = largest_difference(plain, scaled)
   errors['accUpdateGradParameters'] = largest_difference(plain, direct)
   errors['accUpdateGradParameters [shared]'] = largest_difference(plain, shared)
   return errors
end

-- The largest error of a diagonal of second derivatives (nn.hessian) of a layer that is linear or
-- works on every element: there it is the sum of squared gradients of all elements of the output.
local function test_diagonal(module, input, gradient_name, diagonal_name, minval, maxval)
   scatter(input, minval, maxval)
   module:forward(input)
   local gradOutput = module.output.new():resizeAs(module.output)
   local flat = gradOutput:view(-1)
   local expected
   for i = 1, flat:size(1) do
      gradOutput:zero()
      flat[i] = 1
      module:zeroGradParameters()
      module:updateGradInput(input, gradOutput)
      module:accGradParameters(input, gradOutput)
      local square = torch.pow(module[gradient_name], 2)
      expected = expected and expected:add(square) or square
   end
   module:initDiagHessianParameters()
   module:backwardDiagHessian(input, gradOutput:fill(1))
   return largest_difference(expected, module[diagonal_name])
end

function Jacobian.testDiagHessianInput(module, input, minval, maxval)
   return test_diagonal(module, input, 'gradInput', 'diagHessianInput', minval, maxval)
end

function Jacobian.testDiagHessianWeight(module, input, minval, maxval)
   return test_diagonal(module, input, 'gradWeight', 'diagHessianWeight', minval, maxval)
end

function Jacobian.testDiagHessianBias(module, input, minval, maxval)
   return test_diagonal(module, input, 'gradBias', 'diagHessianBias', minval, maxval)
end

-- The same checks by the name they have for layers with sparse parameters.
nn.SparseJacobian = setmetatable({}, {__index = Jacobian})
