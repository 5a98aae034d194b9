-- Differential evolution (Storn and Price, 1997), each child a step away from the best member. It
-- has random numbers of its own, the same in each run: torch's are not touched.
local settings = require 'optim.settings'

-- Two members of the population other than `i` and each other.
local function two_others(generator, i, size)
   local first, second
   repeat first = torch.random(generator, 1, size) until first ~= i
   repeat second = torch.random(generator, 1, size) until second ~= i and second ~= first
   return first, second
end

-- A child of member `i`: each number comes from a mutant, or stays. As in Torch7 one member, and
-- not one number of each, is sure to become the mutant.
local function breed(generator, population, best, i, scale, rate)
   local size, n = population:size(1), population:size(2)
   local first, second = two_others(generator, i, size)
   local sure = torch.random(generator, 1, n)
   local child = population[i]:clone()
   local mutant = best + (population[first] - population[second]) * scale
   for j = 1, n do
      if torch.uniform(generator, 0, 1) < rate or i == sure then child[j] = mutant[j] end
   end
   return child
end

-- config: popsize (10 n), scaleFactor, crossoverRate, maxFEs, minRegion (-30), maxRegion (30).
-- Gives the best member (as in Torch7, the search begins with the worst) and f of each evaluation.
local function de(opfunc, x, config, state)
   config = settings.prepare(config, state)
   local n = x:size(1)
   local size = config.popsize or 10 * n
   local scale, rate = config.scaleFactor or 0.5, config.crossoverRate or 0.9
   local max_evaluations = tonumber(config.maxFEs) or 1000 * n
   if size < 3 then error('de: the population must have three members', 2) end
   local generator = torch.Generator()
   torch.manualSeed(generator, 1)

   local values, evaluations = x.new(max_evaluations):zero(), 0
   local function evaluate(member)
      local f = opfunc(member)
      evaluations = evaluations + 1
      if evaluations <= max_evaluations then values[evaluations] = f end
      return f
   end

   local population = x.new(size, n):uniform(generator, config.minRegion or -30, config.maxRegion or 30)
   local fitness = x.new(size)
   for i = 1, size do fitness[i] = evaluate(population[i]) end
   local largest, place = fitness:max(1)
   local best, best_f = population[place[1]]:clone(), largest[1]
   while evaluations + 1 < max_evaluations do
      local children, children_f = {}, {}
      for i = 1, size do
         children[i] = breed(generator, population, best, i, scale, rate)
         children_f[i] = evaluate(children[i])
      end
      for i = 1, size do
         if children_f[i] <= fitness[i] then
            population[i]:copy(children[i])
            fitness[i] = children_f[i]
            if fitness[i] < best_f then
               best_f = fitness[i]
               best:copy(children[i])
            end
         end
      end
   end
   return best, values
end

return {de = de}
