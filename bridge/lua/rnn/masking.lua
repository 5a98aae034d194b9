-- Samples of zeros mark the gaps between sequences: modules and criterions that skip them.
local recursive = require 'rnn.recursive'
local zeros_like = require('relume.tape').zeros_like

local MaskZero, Decorator = torch.class('nn.MaskZero', 'nn.Decorator')
local Criterion = torch.getmetatable 'nn.Criterion'

-- The tensor that says which samples are zeros: the first of a nested table.
local function first_tensor(value)
   while not torch.isTensor(value) do value = value[1] end
   return value
end

-- 1 for each sample that is all zeros (a ByteTensor), of one element without a batch; then, is
-- there a batch?
local function zero_samples(self, input)
   local first = first_tensor(input)
   local dims = self.nInputDim or first:dim() - 1
   if first:dim() == dims then
      return torch.ByteTensor(1):fill(first:norm() == 0 and 1 or 0), false
   elseif first:dim() ~= dims + 1 then
      error(('%s: expected an input of %d dimensions, or %d with a batch, got %d'):format(
         torch.type(self), dims, dims + 1, first:dim()), 3)
   end
   local rows = first:contiguous():view(first:size(1), -1)
   return rows:norm(2, 2):eq(0):view(-1), true
end

-- A copy with zeros in the samples that are marked.
local function with_zeros(value, mask)
   return recursive.recursiveMap(value, function(tensor)
      local result = tensor:clone()
      if mask:nElement() == 1 and (tensor:dim() == 0 or tensor:size(1) ~= 1) then
         return mask[1] == 1 and result:zero() or result
      end
      for i = 1, mask:nElement() do
         if mask[i] ~= 0 then result[i] = 0 end
      end
      return result
   end)
end

-- nInputDim: dimensions of one sample. Of later versions of the package: true to find the samples
-- in the input, false to be told them by setZeroMask; what is zeroed, by default the output.
function MaskZero:__init(module, nInputDim, maskinput, maskoutput)
   Decorator.__init(self, module)
   if type(nInputDim) == 'number' then
      self.nInputDim = nInputDim
   else
      self.v2 = not nInputDim
      self.maskinput = maskinput
      self.maskoutput = maskoutput == nil or maskoutput
   end
end

function MaskZero:setZeroMask(mask)
   self.v2, self.zeroMask = true, mask
   return self
end

local function masked_output(self, value)
   if self.zeroMask == false or self.maskoutput == false then return value end
   return with_zeros(value, self.zeroMask)
end

local function masked_input(self, value)
   if self.zeroMask == false or not self.maskinput then return value end
   return with_zeros(value, self.zeroMask)
end

function MaskZero:updateOutput(input)
   if self.v2 and self.zeroMask == nil then
      error(torch.type(self) .. ': setZeroMask comes before forward', 2)
   end
   if not self.v2 then self.zeroMask = zero_samples(self, input) end
   local output = self.modules[1]:updateOutput(masked_input(self, input))
   self.output = masked_output(self, output)
   return self.output
end

function MaskZero:updateGradInput(input, gradOutput)
   self.gradOutput = masked_output(self, gradOutput)
   local gradient = self.modules[1]:updateGradInput(input, self.gradOutput)
   self.gradInput = masked_input(self, gradient)
   return self.gradInput
end

function MaskZero:clearState()
   self.zeroMask, self.gradOutput = nil, nil
   return Decorator.clearState(self)
end

function MaskZero:type(name, cache)
   if name then self.zeroMask = nil end
   return Decorator.type(self, name, cache)
end

----------------------------------------------------------------------------------------
-- Samples of zeros are left out of the batch.

local TrimZero = torch.class('nn.TrimZero', 'nn.MaskZero')

function TrimZero:__init(module, nInputDim)
   MaskZero.__init(self, module, nInputDim or 1)
   self.temp, self.gradTemp = torch.Tensor(), torch.Tensor()
end

-- The numbers of the samples that are not marked.
local function kept_samples(mask)
   local rows = {}
   for i = 1, mask:nElement() do
      if mask[i] == 0 then rows[#rows + 1] = i end
   end
   return rows
end

local function trimmed(value, mask, is_batch)
   if not is_batch then return with_zeros(value, mask) end
   local rows = kept_samples(mask)
   return recursive.recursiveMap(value, function(tensor)
      if #rows == 0 then return tensor:narrow(1, 1, 1):clone():zero() end
      return tensor:index(1, torch.LongTensor(rows))
   end)
end

local function untrimmed(value, mask, is_batch)
   if not is_batch then return with_zeros(value, mask) end
   local rows = kept_samples(mask)
   return recursive.recursiveMap(value, function(tensor)
      local sizes = tensor:size()
      sizes[1] = mask:nElement()
      local whole = tensor.new(sizes):zero()
      if #rows > 0 then whole:indexCopy(1, torch.LongTensor(rows), tensor) end
      return whole
   end)
end

function TrimZero:updateOutput(input)
   local mask, is_batch = zero_samples(self, input)
   self.zeroMask = mask
   self.temp = trimmed(input, mask, is_batch)
   self.output = untrimmed(self.modules[1]:updateOutput(self.temp), mask, is_batch)
   return self.output
end

local function has_batch(self, input)
   local first = first_tensor(input)
   return not self.nInputDim or first:dim() > self.nInputDim
end

function TrimZero:updateGradInput(input, gradOutput)
   local is_batch = has_batch(self, input)
   self.gradTemp = trimmed(gradOutput, self.zeroMask, is_batch)
   local gradient = self.modules[1]:updateGradInput(self.temp, self.gradTemp)
   self.gradInput = untrimmed(gradient, self.zeroMask, is_batch)
   return self.gradInput
end

function TrimZero:accGradParameters(input, gradOutput, scale)
   local gradient = has_batch(self, input) and trimmed(gradOutput, self.zeroMask, true) or gradOutput
   self.modules[1]:accGradParameters(self.temp, gradient, scale)
end

----------------------------------------------------------------------------------------
-- A lookup table in which index 0 means a vector of zeros.

local LookupTableMaskZero, LookupTable = torch.class('nn.LookupTableMaskZero', 'nn.LookupTable')

function LookupTableMaskZero:__init(nIndex, nOutput)
   LookupTable.__init(self, nIndex + 1, nOutput)
end

function LookupTableMaskZero:updateOutput(input)
   self.weight[1]:zero()
   return LookupTable.updateOutput(self, input + 1)
end

function LookupTableMaskZero:accGradParameters(input, gradOutput, scale)
   LookupTable.accGradParameters(self, input + 1, gradOutput, scale)
end

----------------------------------------------------------------------------------------
-- A criterion of the samples whose input is not all zeros.

local MaskZeroCriterion = torch.class('nn.MaskZeroCriterion', 'nn.Criterion')

function MaskZeroCriterion:__init(criterion, nInputDim)
   Criterion.__init(self)
   self.criterion = criterion
   if type(nInputDim) == 'number' then
      self.nInputDim = nInputDim
   else
      self.v2 = not nInputDim
   end
end

function MaskZeroCriterion:setZeroMask(mask)
   self.v2, self.zeroMask = true, mask
   return self
end

local function rows_of(value, rows)
   return recursive.recursiveMap(value, function(tensor) return tensor:index(1, rows) end)
end

-- The numbers of the samples that count, a LongTensor; nil for all.
local function counted_rows(self, input)
   if self.v2 and self.zeroMask == false then return nil end
   local mask, is_batch = self.zeroMask, true
   if not self.v2 then mask, is_batch = zero_samples(self, input) end
   if not is_batch then error(torch.type(self) .. ' needs a batch', 3) end
   local rows = kept_samples(mask:view(-1))
   return #rows > 0 and torch.LongTensor(rows) or torch.LongTensor()
end

function MaskZeroCriterion:updateOutput(input, target)
   local rows = counted_rows(self, input)
   self._rows = rows
   if rows == nil then
      self.output = self.criterion:updateOutput(input, target)
   elseif rows:nElement() == 0 then
      self.output = 0
   else
      self.output = self.criterion:updateOutput(rows_of(input, rows), rows_of(target, rows))
   end
   if not self.v2 then self.zeroMask = rows end
   return self.output
end

function MaskZeroCriterion:updateGradInput(input, target)
   local rows = self._rows
   if rows == nil then
      self.gradInput = self.criterion:updateGradInput(input, target)
      return self.gradInput
   end
   self.gradInput = zeros_like(input)
   if rows:nElement() > 0 then
      local found = self.criterion:updateGradInput(rows_of(input, rows), rows_of(target, rows))
      local function place(whole, part)
         if torch.isTensor(whole) then return whole:indexCopy(1, rows, part) end
         for key, value in pairs(whole) do place(value, part[key]) end
      end
      place(self.gradInput, found)
   end
   return self.gradInput
end

function MaskZeroCriterion:type(name, cache)
   if name then self.zeroMask, self._rows = nil, nil end
   return Criterion.type(self, name, cache)
end

