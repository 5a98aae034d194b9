-- Conjugate gradients as in Rasmussen's minimize (2001); it stops at the first line search that
-- fails.
local settings = require 'optim.settings'

local smallest = 2 ^ -1022

local function is_finite(x) return x == x and x ~= math.huge and x ~= -math.huge end

-- Goes on along the line of a search; f and the slope there are kept.
local function move(search, distance)
   search.x:add(distance, search.direction)
   local f, gradient = search.opfunc(search.x)
   search.f, search.gradient = f, gradient:clone()
   search.slope = search.gradient:dot(search.direction)
   search.budget = search.budget - 1
end

-- The coefficients of the cubic through two points with slopes.
local function cubic(search, last_f, last_slope, last)
   local a = 6 * (search.f - last_f) / last + 3 * (search.slope + last_slope)
   local b = 3 * (last_f - search.f) - last * (last_slope + 2 * search.slope)
   return a, b
end

-- The minimum of a parabola, or of a cubic, between the point and the last one.
local function interpolate(search, f, last_f, last_slope, last)
   local distance
   if search.f > f then
      distance = last - 0.5 * last_slope * last * last / (last_slope * last + search.f - last_f)
   else
      local a, b = cubic(search, last_f, last_slope, last)
      distance = (math.sqrt(b * b - a * search.slope * last * last) - b) / a
   end
   return is_finite(distance) and distance or last / 2
end

-- The minimum of a cubic beyond the point; no number where it has none.
local function extrapolate(search, last_f, last_slope, last)
   local a, b = cubic(search, last_f, last_slope, last)
   return -search.slope * last * last / (b + math.sqrt(b * b - a * search.slope * last * last))
end

-- A distance to go on that is neither too far nor too short; a negative limit is none.
local function bounded(distance, step, last, limit, limits)
   local is_limited = limit > -0.5
   local furthest = is_limited and (limit - step) / 2 or step * (limits.extrapolate - 1)
   if not is_finite(distance) or distance < 0 then return furthest end
   if is_limited and distance + step > limit then return furthest end
   if not is_limited and distance + step > step * limits.extrapolate then return furthest end
   if distance < -last * limits.interpolate then return -last * limits.interpolate end
   if is_limited and distance < (limit - step) * (1 - limits.interpolate) then
      return (limit - step) * (1 - limits.interpolate)
   end
   return distance
end

-- Moves along the line; the step length, and whether it will do.
local function line_search(search, f, slope, step, limits)
   local last_f, last_slope, last = f, slope, -step
   move(search, step)
   local limit = -1
   local function too_high() return search.f > f + step * limits.decrease * slope end
   while true do
      while (too_high() or search.slope > -limits.slope * slope) and search.budget > 0 do
         limit = step
         local distance = interpolate(search, f, last_f, last_slope, last)
         distance = math.max(math.min(distance, limits.interpolate * last), (1 - limits.interpolate) * last)
         step = step + distance
         move(search, distance)
         last = last - distance
      end
      if too_high() or search.slope > -limits.slope * slope then return step, false end
      if search.slope > limits.slope * slope then return step, true end
      if search.budget <= 0 then return step, false end
      local distance = extrapolate(search, last_f, last_slope, last)
      distance = bounded(distance, step, last, limit, limits)
      last_f, last_slope, last = search.f, search.slope, -distance
      step = step + distance
      move(search, distance)
   end
end

-- config: maxIter (20), maxEval (1.25 maxIter), rho, sig, int, ext, ratio, red. The third result is
-- the number of evaluations.
local function cg(opfunc, x, config, state)
   config = settings.prepare(config, state)
   local limits = {
      decrease = config.rho or 0.01, slope = config.sig or 0.5, interpolate = config.int or 0.1,
      extrapolate = config.ext or 3, ratio = config.ratio or 100,
   }
   local max_iterations = config.maxIter or 20
   local max_evaluations = config.maxEval or max_iterations * 1.25
   local f, gradient = opfunc(x)
   gradient = gradient:clone()
   local values, evaluations = {f}, 1
   local direction = gradient:clone():mul(-1)
   local slope = -direction:dot(direction)
   local step = (config.red or 1) / (1 - slope)
   while evaluations < max_evaluations do
      local before = x:clone()
      local budget = math.floor(math.min(max_iterations, max_evaluations - evaluations))
      local search = {opfunc = opfunc, x = x, direction = direction, budget = budget}
      local success
      step, success = line_search(search, f, slope, step, limits)
      evaluations = evaluations + budget - search.budget
      if not success then
         x:copy(before)
         break
      end
      f = search.f
      values[#values + 1] = f
      local change = search.gradient:dot(search.gradient - gradient)
      direction:mul(change / gradient:dot(gradient)):add(-1, search.gradient)
      gradient = search.gradient
      local new_slope = gradient:dot(direction)
      if new_slope > 0 then
         direction:copy(gradient):mul(-1)
         new_slope = -direction:dot(direction)
      end
      step = step * math.min(limits.ratio, slope / (new_slope - smallest))
      slope = new_slope
   end
   return x, values, evaluations
end

return {cg = cg}
