-- Is a hand-written gradient right? Compares it with central differences of length `eps` (1e-7):
-- |given - estimated| / |given + estimated|, the given gradient and the estimate.
local function checkgrad(opfunc, x, eps)
   eps = eps or 1e-7
   local _, given = opfunc(x)
   given = given:clone()
   local estimate = given:clone():zero()
   local flat, flat_estimate = x:view(-1), estimate:view(-1)
   for i = 1, flat:size(1) do
      local kept = flat[i]
      flat[i] = kept + eps
      local above = opfunc(x)
      flat[i] = kept - eps
      local below = opfunc(x)
      flat[i] = kept
      flat_estimate[i] = (above - below) / (2 * eps)
   end
   return torch.norm(given - estimate) / torch.norm(given + estimate), given, estimate
end

return {checkgrad = checkgrad}
