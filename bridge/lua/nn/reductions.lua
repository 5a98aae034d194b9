-- nn.Sum, nn.Mean, nn.Max, nn.Min: one dimension less.

local function place(self, input)
   local dimension = self.dimension
   if dimension < 0 then return input:dim() + dimension + 1 end
   if self.nInputDims and input:dim() == self.nInputDims + 1 then return dimension + 1 end
   return dimension
end

-- Without a dimension of size 1; a vector of one element stays one.
local function without(tensor, dimension)
   if tensor:dim() == 1 then return tensor end
   return tensor:select(dimension, 1)
end

local Sum, parent = torch.class('nn.Sum', 'nn.Module')

function Sum:__init(dimension, nInputDims, sizeAverage, squeeze)
   parent.__init(self)
   self.dimension = dimension or 1
   self.nInputDims = (nInputDims or 0) > 0 and nInputDims or nil
   self.sizeAverage = sizeAverage or false
   self.squeeze = squeeze == nil or squeeze
end

function Sum:updateOutput(input)
   local dimension = place(self, input)
   if dimension > input:dim() then error('dimension exceeds input dimensions', 2) end
   local sum = input:sum(dimension)
   if self.sizeAverage then sum:div(input:size(dimension)) end
   if self.squeeze ~= false then sum = without(sum, dimension) end
   self.output:resizeAs(sum):copy(sum)
   return self.output
end

function Sum:updateGradInput(input, gradOutput)
   local dimension = place(self, input)
   local sizes = input:size():totable()
   sizes[dimension] = 1
   local spread = gradOutput:contiguous():view(torch.LongStorage(sizes)):expandAs(input)
   self.gradInput:resizeAs(input):copy(spread)
   if self.sizeAverage then self.gradInput:div(input:size(dimension)) end
   return self.gradInput
end

local Mean = torch.class('nn.Mean', 'nn.Sum')

function Mean:__init(dimension, nInputDims)
   Sum.__init(self, dimension, nInputDims, true)
end

for name, method in pairs {Max = 'max', Min = 'min'} do
   local class = torch.class('nn.' .. name, 'nn.Module')

   function class:__init(dimension, nInputDims)
      parent.__init(self)
      self.dimension = dimension or 1
      self.nInputDims = nInputDims
   end

   function class:updateOutput(input)
      local dimension = place(self, input)
      local values, indices = input[method](input, dimension)
      self._indices = indices
      values = without(values, dimension)
      self.output:resizeAs(values):copy(values)
      return self.output
   end

   function class:updateGradInput(input, gradOutput)
      local dimension = place(self, input)
      self.gradInput:resizeAs(input):zero()
      local source = gradOutput:contiguous():view(self._indices:size())
      self.gradInput:scatter(dimension, self._indices, source)
      return self.gradInput
   end

   function class:clearState()
      self._indices = nil
      return parent.clearState(self)
   end
end
