-- Layers that only look at their input in another form.

local Reshape, Module = torch.class('nn.Reshape', 'nn.Module')

function Reshape:__init(...)
   Module.__init(self)
   local arguments = {...}
   self.size = torch.LongStorage()
   self.batchsize = torch.LongStorage()
   if torch.type(arguments[#arguments]) == 'boolean' then
      self.batchMode = table.remove(arguments)
   end
   local sizes = torch.isStorage(arguments[1]) and arguments[1]:totable() or arguments
   self.size = torch.LongStorage(sizes)
   local batch = {0}
   self.nelement = 1
   for i, size in ipairs(sizes) do
      self.nelement = self.nelement * size
      batch[i + 1] = size
   end
   self.batchsize = torch.LongStorage(batch)
end

function Reshape:updateOutput(input)
   if not input:isContiguous() then
      self._input = self._input or input.new()
      self._input:resizeAs(input):copy(input)
      input = self._input
   end
   local single = self.batchMode == false
      or (self.batchMode == nil and input:nElement() == self.nelement and input:size(1) ~= 1)
   if single then
      self.output:view(input, self.size)
   else
      self.batchsize[1] = input:size(1)
      self.output:view(input, self.batchsize)
   end
   return self.output
end

function Reshape:updateGradInput(input, gradOutput)
   self.gradInput:viewAs(gradOutput:contiguous(), input)
   return self.gradInput
end

function Reshape:__tostring__()
   return torch.type(self) .. '(' .. table.concat(self.size:totable(), 'x') .. ')'
end

function Reshape:clearState()
   nn.utils.clear(self, '_input', '_gradOutput')
   return Module.clearState(self)
end

----------------------------------------------------------------------------------------

local View = torch.class('nn.View', 'nn.Module')

function View:resetSize(...)
   local arguments = {...}
   self.size = torch.isStorage(arguments[1]) and arguments[1] or torch.LongStorage(arguments)
   self.numElements = 1
   local inferred = false
   for i = 1, #self.size do
      if self.size[i] >= 0 then
         self.numElements = self.numElements * self.size[i]
      elseif inferred then
         error('size should contain at most a single -1')
      else
         inferred = true
      end
   end
   return self
end

function View:__init(...)
   Module.__init(self)
   self:resetSize(...)
   self.numInputDims = nil
end

function View:setNumInputDims(count)
   self.numInputDims = count
   return self
end

-- The size in front when the input is a batch; nil when it is a single sample.
local function batch_size(self, input)
   local n, count = input:dim(), input:nElement()
   local dims = self.numInputDims or n
   if n < dims then
      error(('input has fewer dimensions (%d) than expected (%d)'):format(n, dims))
   end
   local missing = -1
   local inferred
   for i = 1, #self.size do
      if self.size[i] == -1 then inferred = true end
   end
   -- elements of one sample, as the input's last dimensions say
   local per_sample = 1
   for i = n - dims + 1, n do per_sample = per_sample * input:size(i) end
   if count % self.numElements ~= 0 or (n == dims and not inferred and count % self.numElements ~= 0) then
      error(('input view (%s) and desired view (%s) do not match'):format(
         table.concat(input:size():totable(), 'x'), table.concat(self.size:totable(), 'x')))
   end
   local batch = count / self.numElements
   if inferred then
      -- the -1 takes what is left of a sample
      if n > dims then
         batch = count / per_sample
         return batch
      end
      return nil
   end
   if n > dims or batch ~= 1 or (self.numInputDims == nil and false) then return batch end
   return nil
end

function View:updateOutput(input)
   if not input:isContiguous() then input = input:contiguous() end
   local batch = batch_size(self, input)
   if batch then
      self.output = input:view(batch, unpack(self.size:totable()))
   else
      self.output = input:view(self.size)
   end
   return self.output
end

function View:updateGradInput(input, gradOutput)
   self.gradInput = gradOutput:contiguous():view(input:size())
   return self.gradInput
end

function View:__tostring__()
   return torch.type(self) .. '(' .. table.concat(self.size:totable(), ', ') .. ')'
end

----------------------------------------------------------------------------------------
-- Views of the input by one tensor method, and the way back for the gradient.

local Transpose = torch.class('nn.Transpose', 'nn.Module')

function Transpose:__init(...)
   Module.__init(self)
   self.permutations = {...}
   self.numInputDims = nil
end

function Transpose:setNumInputDims(count)
   self.numInputDims = count
   return self
end

local function offset(self, tensor)
   return self.numInputDims and tensor:dim() > self.numInputDims and 1 or 0
end

function Transpose:updateOutput(input)
   local shift = offset(self, input)
   local view = input
   for _, pair in ipairs(self.permutations) do view = view:transpose(pair[1] + shift, pair[2] + shift) end
   self.output:resizeAs(view):copy(view)
   return self.output
end

function Transpose:updateGradInput(input, gradOutput)
   local shift = offset(self, input)
   local view = gradOutput
   for i = #self.permutations, 1, -1 do
      local pair = self.permutations[i]
      view = view:transpose(pair[1] + shift, pair[2] + shift)
   end
   self.gradInput:resizeAs(view):copy(view)
   return self.gradInput
end

local Select = torch.class('nn.Select', 'nn.Module')

function Select:__init(dimension, index)
   Module.__init(self)
   self.dimension, self.index = dimension, index
end

local function from_end(value, size)
   return value < 0 and size + value + 1 or value
end

local function select_place(self, input)
   local dimension = from_end(self.dimension, input:dim())
   return dimension, from_end(self.index, input:size(dimension))
end

function Select:updateOutput(input)
   local output = input:select(select_place(self, input))
   if type(output) == 'number' then output = input.new{output} end
   self.output:resizeAs(output):copy(output)
   return self.output
end

function Select:updateGradInput(input, gradOutput)
   self.gradInput:resizeAs(input):zero()
   local dimension, index = select_place(self, input)
   self.gradInput:narrow(dimension, index, 1):copy(gradOutput)
   return self.gradInput
end

local Narrow = torch.class('nn.Narrow', 'nn.Module')

function Narrow:__init(dimension, index, length)
   Module.__init(self)
   self.dimension, self.index, self.length = dimension, index, length or 1
   if not dimension or not index then error('nn.Narrow(dimension, index, length)') end
end

local function narrow_place(self, input)
   local dimension = from_end(self.dimension, input:dim())
   local size, length, index = input:size(dimension), self.length, self.index
   if length < 0 then length = size - index + length + 2 end
   if index < 0 then index, length = 1, size - length end  -- all but the last `length`
   return dimension, index, length
end

function Narrow:updateOutput(input)
   local output = input:narrow(narrow_place(self, input))
   self.output = self.output:typeAs(input)
   self.output:resizeAs(output):copy(output)
   return self.output
end

function Narrow:updateGradInput(input, gradOutput)
   self.gradInput = self.gradInput:typeAs(input)
   self.gradInput:resizeAs(input):zero()
   self.gradInput:narrow(narrow_place(self, input)):copy(gradOutput)
   return self.gradInput
end

local Replicate = torch.class('nn.Replicate', 'nn.Module')

function Replicate:__init(nfeatures, dim, ndim)
   Module.__init(self)
   self.nfeatures, self.dim, self.ndim = nfeatures, dim or 1, ndim
end

local function replicate_place(self, input)
   local batch = self.ndim and input:dim() > self.ndim and 1 or 0
   return self.dim + batch
end

function Replicate:updateOutput(input)
   local place = replicate_place(self, input)
   local sizes, strides = input:size():totable(), input:stride():totable()
   table.insert(sizes, place, self.nfeatures)
   table.insert(strides, place, 0)
   self.output:set(input:storage(), input:storageOffset(), torch.LongStorage(sizes),
      torch.LongStorage(strides))
   return self.output
end

function Replicate:updateGradInput(input, gradOutput)
   local sum = gradOutput:sum(replicate_place(self, input))
   self.gradInput:resizeAs(input):copy(sum)
   return self.gradInput
end

local Squeeze = torch.class('nn.Squeeze', 'nn.Module')

function Squeeze:__init(dim, numInputDims)
   Module.__init(self)
   self.dim, self.numInputDims = dim, numInputDims
end

function Squeeze:updateOutput(input)
   local dim = self.dim
   if dim and self.numInputDims and input:dim() == self.numInputDims + 1 then dim = dim + 1 end
   local view = dim and input:squeeze(dim) or input:squeeze()
   if type(view) == 'number' then view = input.new{view} end
   -- a batch of one stays a batch
   if not dim and self.numInputDims and input:dim() == self.numInputDims + 1 and input:size(1) == 1 then
      view = nn.utils.addSingletonDimension(view, 1)
   end
   return self.output:set(view)
end

function Squeeze:updateGradInput(input, gradOutput)
   self.gradInput = gradOutput:contiguous():view(input:size())
   return self.gradInput
end

local Unsqueeze = torch.class('nn.Unsqueeze', 'nn.Module')

function Unsqueeze:__init(pos, numInputDims)
   Module.__init(self)
   self.pos, self.numInputDims = pos, numInputDims
end

function Unsqueeze:updateOutput(input)
   local shift = self.numInputDims and input:dim() - self.numInputDims or 0
   self.output = nn.utils.addSingletonDimension(self.output, input, self.pos + shift)
   return self.output
end

function Unsqueeze:updateGradInput(input, gradOutput)
   self.gradInput = gradOutput:contiguous():view(input:size())
   return self.gradInput
end

function Unsqueeze:__tostring__() return torch.type(self) .. '(dim ' .. self.pos .. ')' end

local Contiguous = torch.class('nn.Contiguous', 'nn.Module')

function Contiguous:updateOutput(input)
   if input:isContiguous() then
      self.output:set(input)
   else
      self.output:resizeAs(input):copy(input)
   end
   return self.output
end

function Contiguous:updateGradInput(input, gradOutput)
   if gradOutput:isContiguous() then
      self.gradInput:set(gradOutput)
   else
      self.gradInput:resizeAs(gradOutput):copy(gradOutput)
   end
   return self.gradInput
end
