-- The limited-memory quasi-Newton method L-BFGS (Nocedal, 1980).
local settings = require 'optim.settings'

-- Keeps a change of the gradient and the step that made it, unless it curves the wrong way.
local function remember(change, step, state, memory)
   local curvature = change:dot(step)
   if curvature <= 1e-10 then return end
   for name, tensor in pairs {old_dirs = step, old_stps = change} do
      table.insert(state[name], tensor)
      if #state[name] > memory then table.remove(state[name], 1) end
   end
   state.Hdiag = curvature / change:dot(change)
end

-- The direction of descent; the first time that of the gradient.
local function direction_of(g, state, memory)
   if state.nIter == 1 then
      state.old_dirs, state.old_stps, state.Hdiag = {}, {}, 1
      return g:clone():mul(-1)
   end
   remember(g - state.g_old, state.d * state.t, state, memory)
   local steps, changes = state.old_dirs, state.old_stps
   local inverses, weights = {}, {}
   for i, step in ipairs(steps) do inverses[i] = 1 / changes[i]:dot(step) end
   local q = g:clone():mul(-1)
   for i = #steps, 1, -1 do
      weights[i] = steps[i]:dot(q) * inverses[i]
      q:add(-weights[i], changes[i])
   end
   q:mul(state.Hdiag)
   for i, step in ipairs(steps) do
      q:add(weights[i] - changes[i]:dot(q) * inverses[i], step)
   end
   return q
end

local function absolute_sum(x) return x:clone():abs():sum() end

-- Moves x along the direction; f, g and x there, the step, and the number of evaluations.
local function take_step(opfunc, x, step, direction, f, g, slope, config, is_last)
   if config.lineSearch then
      return config.lineSearch(opfunc, x, step, direction, f, g, slope, config.lineSearchOptions)
   end
   x:add(step, direction)
   if is_last then return f, g, x, step, 0 end
   f, g = opfunc(x)
   return f, g:clone(), x, step, 1
end

-- config: maxIter (20), maxEval (1.25 maxIter), tolFun (1e-5), tolX (1e-9), nCorrection (100),
-- learningRate (1), lineSearch, lineSearchOptions, verbose. Gives x, the values of f on the way and
-- the number of evaluations.
local function lbfgs(opfunc, x, config, state)
   config, state = settings.prepare(config, state)
   local max_iterations = tonumber(config.maxIter) or 20
   local max_evaluations = tonumber(config.maxEval) or max_iterations * 1.25
   local gradient_limit, step_limit = config.tolFun or 1e-5, config.tolX or 1e-9
   local function report(...)
      if config.verbose then print('<optim.lbfgs> ', ...) end
   end
   local f, g = opfunc(x)
   g = g:clone()
   local values, evaluations = {f}, 1
   state.funcEval = (state.funcEval or 0) + 1
   if absolute_sum(g) <= gradient_limit then
      report('optimality condition below tolFun')
      return x, values, evaluations
   end
   for iteration = 1, max_iterations do
      state.nIter = (state.nIter or 0) + 1
      state.d = direction_of(g, state, config.nCorrection or 100)
      state.g_old, state.f_old = g:clone(), f
      local slope = g:dot(state.d)
      if slope > -step_limit then break end
      local step = config.learningRate or 1
      if state.nIter == 1 then step = math.min(1, 1 / absolute_sum(g)) * step end
      local used
      local is_last = iteration == max_iterations
      f, g, x, step, used = take_step(opfunc, x, step, state.d, f, g, slope, config, is_last)
      if used > 0 then values[#values + 1] = f end
      state.t = step
      evaluations = evaluations + used
      state.funcEval = state.funcEval + used
      if evaluations >= max_evaluations then
         report('max nb of function evals')
         break
      elseif absolute_sum(g) <= gradient_limit then
         report('optimality condition below tolFun')
         break
      elseif absolute_sum(state.d * step) <= step_limit then
         report('step size below tolX')
         break
      elseif math.abs(f - state.f_old) < step_limit then
         report('function value changing less than tolX')
         break
      elseif is_last then
         report('reached max number of iterations')
      end
   end
   return x, values, evaluations
end

return {lbfgs = lbfgs}
