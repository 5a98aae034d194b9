-- Copies of a module for the steps of a sequence: one set of parameters, states of their own.
local Module = torch.getmetatable 'nn.Module'
local step_clone = {}

-- What batch normalisation learns without a gradient belongs to all steps too.
local STATISTICS = {'running_mean', 'running_var', 'running_std'}

local function keep_tensors(list, seen)
   for _, tensor in ipairs(list or {}) do
      if torch.isTensor(tensor) then seen[tensor] = tensor end
   end
end

-- Marks what a copy shares with the module: parameters, gradients, statistics; recurrent modules as a whole.
local function mark_shared(module, seen, keeps_recurrent)
   if keeps_recurrent and torch.isTypeOf(module, 'nn.AbstractRecurrent') then
      seen[module] = module
      return
   end
   for _, name in ipairs(STATISTICS) do keep_tensors({module[name]}, seen) end
   if not module.modules then
      local parameters, gradients = module:parameters()
      keep_tensors(parameters, seen)
      keep_tensors(gradients, seen)
   end
   for _, child in ipairs(module.modules or {}) do mark_shared(child, seen, keeps_recurrent) end
end

-- A copy for another step; the recurrent modules inside are the very same objects.
function Module:stepClone()
   local seen = {}
   mark_shared(self, seen, true)
   return Module.deepCopy(self, seen)
end

-- A copy that shares parameters, their gradients and statistics, all modules new.
function Module:sharedClone()
   local seen = {}
   mark_shared(self, seen, false)
   return Module.deepCopy(self, seen)
end

local function shared_fields(module)
   local fields = {}
   for name, value in pairs(module) do
      if torch.isTensor(value) and (name:find('^weight') or name:find('^bias') or name:find('^grad[WB]')) then
         fields[name] = value
      end
   end
   for _, name in ipairs(STATISTICS) do fields[name] = module[name] end
   return fields
end

-- Makes the parameters of a copy that a file holds the tensors of the original again.
function step_clone.tie(copy, original)
   if copy == original then return end
   local originals = original:listModules()
   for i, mine in ipairs(copy:listModules()) do
      local theirs = originals[i]
      if theirs and mine ~= theirs and torch.typename(mine) == torch.typename(theirs) then
         for name, tensor in pairs(shared_fields(theirs)) do mine[name] = tensor end
      end
   end
end

return step_clone
