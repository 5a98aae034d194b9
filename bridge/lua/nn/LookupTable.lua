-- nn.LookupTable(entries, size): rows of a matrix by their 1-based numbers.
local core = require 'relume.ffi'

local LookupTable, parent = torch.class('nn.LookupTable', 'nn.Module')

function LookupTable:__init(nIndex, nOutput, paddingValue, maxNorm, normType)
   parent.__init(self)
   self.weight = torch.Tensor(nIndex, nOutput)
   self.gradWeight = torch.Tensor(nIndex, nOutput):zero()
   self.paddingValue = paddingValue or 0
   self.maxNorm = maxNorm
   self.normType = normType
   self.shouldScaleGradByFreq = false
   self:reset()
end

function LookupTable:reset(stdv)
   self.weight:normal(0, stdv or 1)
end

-- The input as 0-based positions, checked.
local function positions(self, input)
   local index = input:contiguous():long()
   if index:min() < 1 or index:max() > self.weight:size(1) then
      error('index out of range', 3)
   end
   return index - 1
end

-- Scales the rows that are about to be used down to the largest norm that they may have.
local function renormalise(self, input)
   local seen = {}
   local flat = input:contiguous():view(-1)
   for i = 1, flat:size(1) do
      local row = flat[i]
      if not seen[row] then
         seen[row] = true
         local norm = self.weight[row]:norm(self.normType or 2)
         if norm > self.maxNorm then self.weight[row]:mul(self.maxNorm / (norm + 1e-7)) end
      end
   end
end

-- How often each entry of the input is in it.
local function counts(input)
   local flat, count = input:contiguous():view(-1), {}
   for i = 1, flat:size(1) do count[flat[i]] = (count[flat[i]] or 0) + 1 end
   return count
end

function LookupTable:scaleGradByFreq()
   self.shouldScaleGradByFreq = true
   return self
end

-- Leaves the gradient out: updates go straight into the rows.
function LookupTable:accUpdateOnly()
   self.gradWeight = nil
   return self
end

function LookupTable:updateOutput(input)
   if input:dim() > 2 then error('input must be a vector or matrix') end
   if self.maxNorm then renormalise(self, input) end
   local flat = input:contiguous():view(-1)
   local rows = core.call('embedding', self.weight, positions(self, flat))
   self.output:resizeAs(rows):copy(rows)
   -- a matrix of numbers gives a new look at the rows
   if input:dim() == 2 then self.output = self.output:view(input:size(1), input:size(2), -1) end
   return self.output
end

function LookupTable:updateGradInput(input, gradOutput)
   if self.gradInput:type() ~= input:type() then self.gradInput = input.new() end
   self.gradInput:resize(input:size()):zero()
   return self.gradInput
end

function LookupTable:accGradParameters(input, gradOutput, scale)
   local gradient = core.call('embedding_backward', gradOutput, positions(self, input),
      self.weight:size(1))
   if self.paddingValue > 0 then gradient:select(1, self.paddingValue):zero() end
   if self.shouldScaleGradByFreq then
      for row, count in pairs(counts(input)) do gradient[row]:div(count) end
   end
   self.gradWeight:add(scale or 1, gradient)
end

function LookupTable:__tostring__() return torch.type(self) end
