-- Steps whose size adapts to each parameter: adagrad, adadelta, rmsprop, adam, adamax, rprop. The
-- settings are those of legacy_nn/optim/adaptive.py.
local settings = require 'optim.settings'

local kept = settings.kept
local methods = {}

-- Duchi et al. (2011).
function methods.adagrad(opfunc, x, config, state)
   config, state = settings.prepare(config, state)
   state.evalCounter = state.evalCounter or 0
   local f, gradient = opfunc(x)
   settings.add_decay(gradient, x, config.weightDecay)
   local squares, deviation = kept(state, 'paramVariance', gradient), kept(state, 'paramStd', gradient)
   squares:addcmul(1, gradient, gradient)
   deviation:resizeAs(squares):copy(squares):sqrt():add(1e-10)
   x:addcdiv(-settings.decayed_rate(config, 1e-3, state.evalCounter), gradient, deviation)
   deviation:add(-1e-10)
   state.evalCounter = state.evalCounter + 1
   return x, {f}
end

-- Zeiler (2012).
function methods.adadelta(opfunc, x, config, state)
   config, state = settings.prepare(config, state)
   local f, gradient = opfunc(x)
   settings.add_decay(gradient, x, config.weightDecay)
   local rho, eps = config.rho or 0.9, config.eps or 1e-6
   local squares, deltas = kept(state, 'paramVariance', gradient), kept(state, 'accDelta', gradient)
   local deviation, delta = kept(state, 'paramStd', gradient), kept(state, 'delta', gradient)
   squares:mul(rho):addcmul(1 - rho, gradient, gradient)
   deviation:copy(squares):add(eps):sqrt()
   delta:copy(deltas):add(eps):sqrt():cdiv(deviation):cmul(gradient)
   x:add(-1, delta)
   deltas:mul(rho):addcmul(1 - rho, delta, delta)
   state.evalCounter = (state.evalCounter or 0) + 1
   return x, {f}
end

-- Tieleman and Hinton (2012).
function methods.rmsprop(opfunc, x, config, state)
   config, state = settings.prepare(config, state)
   local f, gradient = opfunc(x)
   settings.add_decay(gradient, x, config.weightDecay)
   local alpha = config.alpha or 0.99
   if not state.m then kept(state, 'm', gradient):fill(config.initialMean or 0) end
   local deviation = kept(state, 'tmp', gradient)
   state.m:mul(alpha):addcmul(1 - alpha, gradient, gradient)
   deviation:copy(state.m):sqrt():add(config.epsilon or 1e-8)
   x:addcdiv(-(config.learningRate or 1e-2), gradient, deviation)
   return x, {f}
end

-- Kingma and Ba (2014).
function methods.adam(opfunc, x, config, state)
   config, state = settings.prepare(config, state)
   local beta1, beta2 = config.beta1 or 0.9, config.beta2 or 0.999
   local f, gradient = opfunc(x)
   settings.add_decay(gradient, x, config.weightDecay)
   state.t = state.t or 0
   local mean, squares = kept(state, 'm', gradient), kept(state, 'v', gradient)
   local denominator = kept(state, 'denom', gradient)
   local rate = settings.decayed_rate(config, 1e-3, state.t)
   state.t = state.t + 1
   mean:mul(beta1):add(1 - beta1, gradient)
   squares:mul(beta2):addcmul(1 - beta2, gradient, gradient)
   denominator:copy(squares):sqrt():add(config.epsilon or 1e-8)
   local step = rate * math.sqrt(1 - beta2 ^ state.t) / (1 - beta1 ^ state.t)
   x:addcdiv(-step, mean, denominator)
   return x, {f}
end

-- Adam with the largest gradient in the place of the mean of squares.
function methods.adamax(opfunc, x, config, state)
   config, state = settings.prepare(config, state)
   local beta1, beta2 = config.beta1 or 0.9, config.beta2 or 0.999
   local f, gradient = opfunc(x)
   settings.add_decay(gradient, x, config.weightDecay)
   state.t = (state.t or 0) + 1
   local mean, largest = kept(state, 'm', gradient), kept(state, 'u', gradient)
   local size = kept(state, 'tmp', gradient)
   mean:mul(beta1):add(1 - beta1, gradient)
   size:copy(gradient):abs():add(config.epsilon or 1e-38)
   largest:mul(beta2):cmax(size)
   x:addcdiv(-(config.learningRate or 0.002) / (1 - beta1 ^ state.t), mean, largest)
   return x, {f}
end

-- Riedmiller and Braun (1993): only signs count; `niter` steps per call.
function methods.rprop(opfunc, x, config, state)
   config, state = settings.prepare(config, state)
   local first = config.stepsize or 0.1
   local grow, shrink = config.etaplus or 1.2, config.etaminus or 0.5
   local most, least = config.stepsizemax or 50, config.stepsizemin or 1e-6
   local values = {}
   for i = 1, config.niter or 1 do
      local f, gradient = opfunc(x)
      values[i] = f
      if not torch.isTensor(state.stepsize) then
         state.stepsize = gradient.new():resizeAs(gradient):fill(first)
      end
      local sizes, last = state.stepsize, kept(state, 'sign', x)
      local agreement = torch.cmul(gradient, last)
      local turned = torch.lt(agreement, 0)
      local factors = torch.gt(agreement, 0):typeAs(sizes):mul(grow - 1):add(1)
      factors:add(shrink - 1, turned:typeAs(sizes))
      sizes:cmul(factors):clamp(least, most)
      gradient[turned] = 0
      last:copy(gradient):sign()
      x:addcmul(-1, last, sizes)
   end
   return x, values
end

return methods
