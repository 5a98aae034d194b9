-- The `optim` package: functions that change a flat parameter tensor in place. Each is
-- `x, {f, ...} = optim.method(opfunc, x, config, state)`, where `f, dfdx = opfunc(x)`.
require 'torch'

optim = optim or {}

for _, name in ipairs {
   'gradient_descent', 'adaptive', 'cg', 'line_search', 'lbfgs', 'fista', 'cmaes', 'de', 'checkgrad',
} do
   for key, f in pairs(require('optim.' .. name)) do optim[key] = f end
end
require 'optim.ConfusionMatrix'
require 'optim.Logger'

return optim
