-- A line search for the strong Wolfe conditions, and the interpolation that it uses, as in
-- Schmidt's minFunc (2005).

-- The minimum of the cubic through two points with slopes: rows (x, f, slope), left one first.
local function cubic_minimum(left, right)
   local x1, f1, g1, x2, f2, g2 = left[1], left[2], left[3], right[1], right[2], right[3]
   local d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
   local squared = d1 * d1 - g1 * g2
   if squared < 0 then return (x1 + x2) / 2 end
   local d2 = math.sqrt(squared)
   local position = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
   return math.min(math.max(position, x1), x2)
end

-- Coefficients, highest power first, of the polynomial with these values and slopes.
local function fit(points)
   local count = points:size(1)
   local degree = 2 * count - 1
   local matrix, wanted = torch.zeros(2 * count, degree + 1), torch.zeros(2 * count, 1)
   for i = 1, count do
      local x = points[i][1]
      for power = degree, 0, -1 do
         matrix[i][degree - power + 1] = x ^ power
         if power > 0 then matrix[count + i][degree - power + 1] = power * x ^ (power - 1) end
      end
      wanted[i][1], wanted[count + i][1] = points[i][2], points[i][3]
   end
   return torch.gels(wanted, matrix):select(2, 1)
end

-- The real roots of a polynomial: eigenvalues of its companion matrix.
local function real_roots(coefficients)
   local first = 1
   while first < coefficients:size(1) and coefficients[first] == 0 do first = first + 1 end
   local degree = coefficients:size(1) - first
   if degree < 1 then return {} end
   local companion = torch.zeros(degree, degree)
   for i = 1, degree do
      companion[1][i] = -coefficients[first + i] / coefficients[first]
      if i > 1 then companion[i][i - 1] = 1 end
   end
   local values, roots = torch.eig(companion), {}
   for i = 1, degree do
      if values[i][2] == 0 then roots[#roots + 1] = values[i][1] end
   end
   return roots
end

local function derivative(coefficients)
   local degree = coefficients:size(1) - 1
   local result = torch.zeros(degree)
   for i = 1, degree do result[i] = coefficients[i] * (degree - i + 1) end
   return result
end

local function value_at(coefficients, x)
   local value = 0
   for i = 1, coefficients:size(1) do value = value * x + coefficients[i] end
   return value
end

-- Where a polynomial through points with known values and slopes, rows (x, f, slope), is lowest
-- between two bounds, and the value there. Without bounds these are the ends of the points; two
-- points have a closed form then, without the value.
local function polyinterp(points, low, high)
   local count = points:size(1)
   local xs = points:select(2, 1)
   if count == 2 and not low and not high then
      local first = xs[1] <= xs[2] and 1 or 2
      return cubic_minimum(points[first], points[3 - first])
   end
   low, high = low or xs:min(), high or xs:max()
   local coefficients = fit(points:double())
   local candidates = real_roots(derivative(coefficients))
   for i = 1, count do table.insert(candidates, i, xs[i]) end
   table.insert(candidates, 1, high)
   table.insert(candidates, 1, low)
   local best, lowest = (low + high) / 2, math.huge
   for _, x in ipairs(candidates) do
      local value = value_at(coefficients, x)
      if x >= low and x <= high and value < lowest then best, lowest = x, value end
   end
   return best, lowest
end

----------------------------------------------------------------------------------------

-- What is known at step length t: {t, f, slope, gradient}.
local function evaluate(search, t)
   search.place:copy(search.x):add(t, search.direction)
   local f, gradient = search.opfunc(search.place)
   search.evaluations = search.evaluations + 1
   gradient = gradient:clone()
   return {t = t, f = f, slope = gradient:dot(search.direction), gradient = gradient}
end

local function is_too_high(search, point)
   return point.f > search.start.f + search.c1 * point.t * search.start.slope
end

local function is_flat(search, point)
   return math.abs(point.slope) <= -search.c2 * search.start.slope
end

local function rows_of(points)
   local rows = {}
   for i, point in ipairs(points) do rows[i] = {point.t, point.f, point.slope} end
   return torch.DoubleTensor(rows)
end

-- Points around a minimum, or one that will do; whether it will; how many steps that took.
local function bracket(search, t)
   local previous, steps = search.start, 0
   local point = evaluate(search, t)
   while steps < search.limit do
      if is_too_high(search, point) or (steps > 1 and point.f >= previous.f) then
         return {previous, point}, false, steps
      end
      if is_flat(search, point) then return {point}, true, steps end
      if point.slope >= 0 then return {previous, point}, false, steps end
      local nearest = point.t + 0.01 * (point.t - previous.t)
      t = polyinterp(rows_of {previous, point}, nearest, point.t * 10)
      previous, point = point, evaluate(search, t)
      steps = steps + 1
   end
   return {search.start, point}, false, steps
end

-- Halves the interval, or better, until a point meets both conditions.
local function narrow(search, ends, steps)
   local stuck = false
   while steps < search.limit do
      local low, high = ends[1], ends[2]
      if high.f < low.f then low, high = high, low end
      local left, right = math.min(low.t, high.t), math.max(low.t, high.t)
      local t = polyinterp(rows_of(ends))
      local close = math.min(right - t, t - left) / (right - left) < 0.1
      if close and (stuck or t >= right or t <= left) then
         local margin = 0.1 * (right - left)
         t = math.abs(t - right) < math.abs(t - left) and right - margin or left + margin
         stuck = false
      else
         stuck = close
      end
      local point = evaluate(search, t)
      steps = steps + 1
      if is_too_high(search, point) or point.f >= low.f then
         ends = {low, point}
      elseif is_flat(search, point) then
         return {point}
      else
         ends = {point, point.slope * (high.t - low.t) >= 0 and low or high}
         if math.abs(ends[1].t - ends[2].t) * point.slope < search.shortest then break end
      end
   end
   return ends
end

-- Searches along d from x, where f, its gradient g and the slope gtd are known; t is the first step
-- to try. Moves x. Gives f, the gradient, x, the step and the number of evaluations.
local function lswolfe(opfunc, x, t, d, f, g, gtd, options)
   options = options or {}
   local search = {
      opfunc = opfunc, x = x, direction = d, place = x:clone(), evaluations = 0,
      start = {t = 0, f = f, slope = gtd, gradient = g:clone()},
      c1 = options.c1 or 1e-4, c2 = options.c2 or 0.9, shortest = options.tolX or 1e-9,
      limit = options.maxIter or 20,
   }
   local ends, found, steps = bracket(search, t)
   if not found then ends = narrow(search, ends, steps) end
   local best = ends[1]
   if ends[2] and ends[2].f < best.f then best = ends[2] end
   x:add(best.t, d)
   return best.f, best.gradient, x, best.t, search.evaluations
end

return {polyinterp = polyinterp, lswolfe = lswolfe}
