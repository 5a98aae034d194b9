-- FISTA: accelerated proximal gradients with backtracking (Beck and Teboulle, 2009).

-- Raises L until the quadratic model of f at y lies above f at the new point.
local function line_search(f, pl, y, value, gradient, params)
   local lines = 0
   while true do
      lines = lines + 1
      local constant = params.L
      local x = y:clone():add(-1 / constant, gradient)
      pl(x, constant)
      local smooth = f(x)
      local move = x - y
      local model = value + gradient:dot(move) + constant / 2 * move:dot(move)
      if smooth <= model or lines >= params.maxline then
         return x, {Q = model, L = constant, nline = lines}
      end
      params.L = constant * params.Lstep
   end
end

-- Minimises f(x) + g(x): `f(x, 'dx')` gives the gradient too; `pl(x, L)` changes x to the minimum
-- of g(y) + L/2 |y - x|^2. Without doFistaUpdate it is plain ISTA, as in Torch7. Gives the solution
-- and a table per iteration.
local function FistaLS(f, g, pl, x_init, params)
   params = params or {}
   for name, value in pairs {L = 0.1, Lstep = 1.5, maxiter = 50, maxline = 20, errthres = 1e-4} do
      params[name] = params[name] or value
   end
   local y, x, momentum = x_init, x_init:clone(), 1
   local history = {}
   for iteration = 1, params.maxiter do
      local value, gradient = f(y, 'dx')
      local new_x, entry = line_search(f, pl, y, value, gradient:clone(), params)
      local next_momentum = (1 + math.sqrt(1 + 4 * momentum * momentum)) / 2
      if params.doFistaUpdate then
         y:copy(new_x):add((momentum - 1) / next_momentum, new_x - x)
      else
         y:copy(new_x)
      end
      x, momentum = new_x, next_momentum
      entry.Fply, entry.Gply = f(y), g(y)
      entry.F = entry.Fply + entry.Gply
      history[iteration] = entry
      if params.verbose then
         print(('it=%d l=%d L=%g Fply=%g Gply=%g F=%g'):format(iteration, entry.nline, entry.L,
            entry.Fply, entry.Gply, entry.F))
      end
      local last = history[iteration - 1]
      if last and math.abs(entry.F - last.F) <= params.errthres then break end
   end
   return y, history
end

return {FistaLS = FistaLS}
