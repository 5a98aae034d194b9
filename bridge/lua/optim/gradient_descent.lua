-- Steps along the gradient: sgd, nag (Nesterov), asgd (averaged). The settings are those of
-- legacy_nn/optim/gradient_descent.py.
local settings = require 'optim.settings'

local methods = {}

-- The gradient times a factor for each parameter, if there are such.
local function scaled(gradient, config, state)
   if not config.learningRates then return gradient end
   state.deltaParameters = state.deltaParameters or gradient.new():resizeAs(gradient)
   return state.deltaParameters:copy(config.learningRates):cmul(gradient)
end

function methods.sgd(opfunc, x, config, state)
   config, state = settings.prepare(config, state)
   local momentum = config.momentum or 0
   local dampening = config.dampening or momentum
   local nesterov = config.nesterov or false
   if nesterov and (momentum <= 0 or dampening ~= 0) then
      error('Nesterov momentum requires a momentum and zero dampening', 2)
   end
   state.evalCounter = state.evalCounter or 0
   local f, gradient = opfunc(x)

   if config.weightDecay and config.weightDecay ~= 0 then
      gradient:add(config.weightDecay, x)
   elseif config.weightDecays then
      state.decayParameters = state.decayParameters or x.new():resizeAs(gradient)
      gradient:add(state.decayParameters:copy(config.weightDecays):cmul(x))
   end
   if momentum ~= 0 then
      if not state.dfdx then
         state.dfdx = gradient.new():resizeAs(gradient):copy(gradient)
      else
         state.dfdx:mul(momentum):add(1 - dampening, gradient)
      end
      if nesterov then gradient:add(momentum, state.dfdx) else gradient = state.dfdx end
   end
   x:add(-settings.decayed_rate(config, 1e-3, state.evalCounter), scaled(gradient, config, state))
   state.evalCounter = state.evalCounter + 1
   return x, {f}
end

-- Sutskever et al., "On the importance of initialization and momentum in deep learning" (2013).
function methods.nag(opfunc, x, config, state)
   config, state = settings.prepare(config, state)
   local momentum = config.momentum or 0.9
   if momentum <= 0 then error('nag: the momentum must be positive', 2) end
   state.evalCounter = state.evalCounter or 0
   if state.dfdx then x:add(momentum, state.dfdx) end
   local f, gradient = opfunc(x)
   settings.add_decay(gradient, x, config.weightDecay)
   local step = settings.kept(state, 'dfdx', gradient)
   local rate = settings.decayed_rate(config, 1e-3, state.evalCounter)
   local direction = scaled(gradient, config, state)
   x:add(-rate, direction)
   step:mul(momentum):add(-rate, direction)
   state.evalCounter = state.evalCounter + 1
   return x, {f}
end

-- Bottou, "Stochastic gradient descent tricks" (2012). The third result is the average of x.
function methods.asgd(opfunc, x, config, state)
   config, state = settings.prepare(config, state)
   for name, value in pairs {eta0 = 1e-4, lambda = 1e-4, alpha = 0.75, t0 = 1e6} do
      config[name] = config[name] or value
   end
   state.eta_t, state.mu_t, state.t = state.eta_t or config.eta0, state.mu_t or 1, state.t or 0
   local f, gradient = opfunc(x)
   x:mul(1 - config.lambda * state.eta_t)
   x:add(-state.eta_t, gradient)
   local average = settings.kept(state, 'ax', x)
   if state.mu_t ~= 1 then
      state.tmp = state.tmp or x.new():resizeAs(x)
      average:add(state.mu_t, state.tmp:copy(x):add(-1, average))
   else
      average:copy(x)
   end
   state.t = state.t + 1
   state.eta_t = config.eta0 / (1 + config.lambda * config.eta0 * state.t) ^ config.alpha
   state.mu_t = 1 / math.max(1, state.t - config.t0)
   return x, {f}, average
end

return methods
