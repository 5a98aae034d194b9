-- nn.SoftMax, nn.LogSoftMax and their kin: over the vector, the rows, or the planes of the input.
local core = require 'relume.ffi'

-- The dimension that is normalised: 1-d: 1, batch of vectors: 2, planes: 1, batch of planes: 2.
local function normalised_dimension(input)
   local n = input:dim()
   if n < 1 or n > 4 then error('1D, 2D, 3D or 4D tensor expected', 3) end
   return (n == 1 or n == 3) and 0 or 1
end

for name, op in pairs {
   SoftMax = 'softmax', LogSoftMax = 'log_softmax', SpatialSoftMax = 'softmax',
   SpatialLogSoftMax = 'log_softmax',
} do
   local class = torch.class('nn.' .. name, 'nn.Module')

   function class:updateOutput(input)
      return core.into(self.output:resizeAs(input), op, input, normalised_dimension(input))
   end

   function class:updateGradInput(input, gradOutput)
      return core.into(self.gradInput:resizeAs(input), op .. '_backward', gradOutput, self.output,
         normalised_dimension(input))
   end
end

local SoftMin, parent = torch.class('nn.SoftMin', 'nn.Module')

function SoftMin:updateOutput(input)
   return core.into(self.output:resizeAs(input), 'softmax', core.call('neg', input), normalised_dimension(input))
end

function SoftMin:updateGradInput(input, gradOutput)
   core.into(self.gradInput:resizeAs(input), 'softmax_backward', gradOutput, self.output,
      normalised_dimension(input))
   return self.gradInput:mul(-1)
end

function SoftMin:clearState()
   nn.utils.clear(self, 'mininput')
   return parent.clearState(self)
end
