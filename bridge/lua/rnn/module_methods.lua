-- What package rnn adds to every module: steps and memory of the recurrent modules inside.
local Module = torch.getmetatable 'nn.Module'
local Criterion = torch.getmetatable 'nn.Criterion'

local function children_of(self) return self.modules or {} end

local function hand_down(name)
   Module[name] = function(self, ...)
      for _, child in ipairs(children_of(self)) do child[name](child, ...) end
      return self
   end
end

hand_down 'forget'         -- the next forward is the first step
hand_down 'remember'       -- when sequencers keep their memory: 'both', 'train', 'eval', 'neither'
hand_down 'maxBPTTstep'    -- how many steps gradients go back
hand_down 'setOutputStep'  -- show the output of that step
hand_down 'maskZero'
hand_down 'trimZero'
hand_down 'setZeroMask'
hand_down 'reinforce'

function Module:backwardOnline() end
function Module:backwardThroughTime() end

function Criterion:setZeroMask(mask)
   if self.criterion then self.criterion:setZeroMask(mask) end
   return self
end

-- States are tables in the nesting of modules.
for _, name in ipairs {'getHiddenState', 'getGradHiddenState'} do
   Module[name] = function(self, step)
      if not self.modules then return nil end
      local states = {}
      for i, child in ipairs(self.modules) do states[i] = child[name](child, step) end
      return states
   end
end

for _, name in ipairs {'setHiddenState', 'setGradHiddenState'} do
   Module[name] = function(self, step, states)
      for i, child in ipairs(children_of(self)) do
         if states[i] ~= nil then child[name](child, step, states[i]) end
      end
   end
end

function Module:setStartState(states)
   for i, child in ipairs(children_of(self)) do child:setStartState(states and states[i]) end
end
