-- CMA-ES, evolution with an adapted covariance matrix: Hansen, "The CMA evolution strategy: a
-- tutorial" (2016), whose names are kept.
local settings = require 'optim.settings'

-- The constants for `n` parameters and `lambda` offspring.
local function constants(n, lambda)
   local mu = math.floor(lambda / 2)
   local weights = torch.DoubleTensor(mu)
   for i = 1, mu do weights[i] = math.log(lambda / 2 + 0.5) - math.log(i) end
   weights:div(weights:sum())
   local mueff = 1 / weights:dot(weights)
   local cs = (mueff + 2) / (n + mueff + 5)
   local c1 = 2 / ((n + 1.3) ^ 2 + mueff)
   return {
      mu = mu, weights = weights, mueff = mueff, cs = cs, c1 = c1,
      cc = (4 + mueff / n) / (n + 4 + 2 * mueff / n),
      cmu = math.min(1 - c1, 2 * (mueff - 2 + 1 / mueff) / ((n + 2) ^ 2 + mueff)),
      damps = 1 + 2 * math.max(0, math.sqrt((mueff - 1) / (n + 1)) - 1) + cs,
      chiN = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n)),
   }
end

-- Offspring around the mean, best first: {x, step, f}.
local function offspring(opfunc, x, mean, sigma, B, D, lambda)
   local list = {}
   for k = 1, lambda do
      local z = torch.DoubleTensor(mean:size(1)):normal()
      local step = torch.mv(B, z:cmul(D))
      local place = mean + step * sigma
      x:copy(place)
      local f = opfunc(x)
      list[k] = {x = place, step = step, f = torch.isTensor(f) and f:sum() or f}
   end
   table.sort(list, function(a, b) return a.f < b.f end)
   return list
end

-- config: sigma (0.5, the first standard deviation), maxEval (1000 n^2), ftarget, popsize
-- (4 + 3 log n), verb_disp (0: print nothing). Moves x to the best place; gives x, the best f after
-- each generation, and the number of evaluations.
local function cmaes(opfunc, x, config, state)
   config, state = settings.prepare(config, state)
   local n = x:nElement()
   local sigma = state.sigma or config.sigma or 0.5
   local lambda = config.popsize or 4 + math.floor(3 * math.log(n))
   local max_evaluations = tonumber(config.maxEval) or 1e3 * n ^ 2
   local display = config.verb_disp or 0
   local c = constants(n, lambda)
   local mean = x:double():clone():view(-1)
   local pc, ps = torch.zeros(n):double(), torch.zeros(n):double()
   local C, B, D = torch.eye(n):double(), torch.eye(n):double(), torch.ones(n):double()
   local inverse_root = torch.eye(n):double()
   local best, values, evaluations, generation = nil, {}, 0, 0
   while evaluations < max_evaluations do
      local list = offspring(opfunc, x, mean, sigma, B, D, lambda)
      evaluations, generation = evaluations + lambda, generation + 1
      if not best or list[1].f < best.f then best = list[1] end
      values[generation] = best.f

      local step = torch.zeros(n):double()
      for i = 1, c.mu do step:add(c.weights[i], list[i].step) end
      mean:add(sigma, step)
      ps:mul(1 - c.cs):add(math.sqrt(c.cs * (2 - c.cs) * c.mueff), torch.mv(inverse_root, step))
      local decay = 1 - (1 - c.cs) ^ (2 * evaluations / lambda)
      local hsig = ps:dot(ps) / n / decay < 2 + 4 / (n + 1) and 1 or 0
      pc:mul(1 - c.cc):add(hsig * math.sqrt(c.cc * (2 - c.cc) * c.mueff), step)
      C:mul(1 - c.c1 - c.cmu + (1 - hsig) * c.c1 * c.cc * (2 - c.cc)):addr(c.c1, pc, pc)
      for i = 1, c.mu do C:addr(c.cmu * c.weights[i], list[i].step, list[i].step) end
      sigma = sigma * math.exp(math.min(1, c.cs / c.damps * (ps:norm() / c.chiN - 1)))

      local eigenvalues, vectors = torch.symeig(C, 'V')
      D:copy(eigenvalues:clamp(1e-20, math.huge)):sqrt()
      B:copy(vectors)
      inverse_root = torch.mm(torch.cmul(B, D:clone():cinv():view(1, n):expandAs(B)), B:t())
      if display > 0 and generation % display == 0 then
         print(('%d: %d evaluations, best %g, sigma %g'):format(generation, evaluations, best.f, sigma))
      end
      if config.ftarget and best.f < config.ftarget then break end
      if D:max() > 1e7 * D:min() or sigma * D:max() < 1e-12 then break end
   end
   x:copy(best.x)
   return x, values, evaluations
end

return {cmaes = cmaes}
