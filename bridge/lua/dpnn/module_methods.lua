-- What package dpnn adds to every module: limits of gradients and of parameters, momentum.
local Module = torch.getmetatable 'nn.Module'

-- Adds several modules to a container.
function Module:extend(...)
   for _, module in ipairs {...} do self:add(module) end
   return self
end

-- The norm of all gradients together, scaled down to `cutoffNorm` where it is larger; with
-- `moduleLocal`, each module's own. Returns the norm.
function Module:gradParamClip(cutoffNorm, moduleLocal)
   if moduleLocal and self.modules then
      local total = 0
      for _, module in ipairs(self.modules) do
         total = total + module:gradParamClip(cutoffNorm, true) ^ 2
      end
      return math.sqrt(total)
   end
   local _, gradients = self:parameters()
   local total = 0
   for _, gradient in pairs(gradients or {}) do total = total + gradient:norm() ^ 2 end
   local norm = math.sqrt(total)
   if cutoffNorm > 0 and norm > cutoffNorm then
      for _, gradient in pairs(gradients) do gradient:mul(cutoffNorm / norm) end
   end
   return norm
end

-- Scales rows of matrices down to a largest norm.
function Module:maxParamNorm(maxOutNorm, maxInNorm)
   maxOutNorm, maxInNorm = maxOutNorm or self.maxOutNorm or -1, maxInNorm or self.maxInNorm or -1
   if maxOutNorm <= 0 and maxInNorm <= 0 then return end
   if self.modules then
      for _, module in ipairs(self.modules) do module:maxParamNorm(maxOutNorm, maxInNorm) end
      return
   end
   for _, parameter in pairs(self:parameters() or {}) do
      if parameter:dim() == 2 then
         if maxOutNorm > 0 then parameter:renorm(2, 1, maxOutNorm) end
         if maxInNorm > 0 then parameter:renorm(2, 2, maxInNorm) end
      end
   end
end

-- Adds wdFactor times each parameter of at least `wdMinDim` dimensions to its gradient.
function Module:weightDecay(wdFactor, wdMinDim)
   wdFactor, wdMinDim = wdFactor or self.wdFactor or 0, wdMinDim or 2
   if wdFactor <= 0 then return end
   local parameters, gradients = self:parameters()
   for i, parameter in pairs(parameters or {}) do
      if parameter:dim() >= wdMinDim then gradients[i]:add(wdFactor, parameter) end
   end
end

-- Gradients that remember: each becomes momentum * (what it was) + (1 - dampening) * itself.
function Module:updateGradParameters(momFactor, momDamp, momNesterov)
   momFactor, momDamp = momFactor or self.momFactor or 0, momDamp or momFactor or 0
   if momFactor <= 0 then return end
   if self.modules then
      for _, module in ipairs(self.modules) do module:updateGradParameters(momFactor, momDamp, momNesterov) end
      return
   end
   local parameters, gradients = self:parameters()
   if not parameters or #parameters == 0 then return end
   if not self.momGradParams then
      self.momGradParams = {}
      for i, gradient in pairs(gradients) do self.momGradParams[i] = gradient:clone() end
   else
      for i, gradient in pairs(gradients) do
         self.momGradParams[i]:mul(momFactor):add(1 - momDamp, gradient)
      end
   end
   for i, gradient in pairs(gradients) do
      if momNesterov then
         gradient:add(momFactor, self.momGradParams[i])
      else
         gradient:copy(self.momGradParams[i])
      end
   end
end

-- A single sample (a tensor of `nDim` dimensions) as a batch; fromBatch undoes that.
function Module:toBatch(tensor, nDim, batchDim)
   self.dpnn_online = tensor:dim() == nDim
   if not self.dpnn_online then return tensor end
   local size = tensor:size():totable()
   table.insert(size, batchDim or 1, 1)
   return tensor:view(unpack(size))
end

function Module:fromBatch(tensor, batchDim)
   return self.dpnn_online and tensor:select(batchDim or 1, 1) or tensor
end

-- Parameters whose gradients count in an update.
function Module:sparseParameters() return self:parameters() end
