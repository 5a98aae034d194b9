-- Layers on tables of tensors.
local zeros_like = require('relume.tape').zeros_like

local function new_class(name, init)
   local class, parent = torch.class('nn.' .. name, 'nn.Module')
   function class:__init(...)
      parent.__init(self)
      if init then init(self, ...) end
   end
   return class
end

local Identity = new_class 'Identity'
function Identity:updateOutput(input)
   self.output = input
   return input
end
function Identity:updateGradInput(input, gradOutput)
   self.gradInput = gradOutput
   return gradOutput
end
function Identity:clearState()
   for _, name in ipairs {'output', 'gradInput'} do
      if torch.isTensor(self[name]) then
         self[name] = self[name].new()
      else
         self[name] = {}
      end
   end
   return self
end

-- gradInput[i] for each input, of the input's size; those of earlier calls are reused.
local function gradient(self, input, i)
   if type(self.gradInput) ~= 'table' then self.gradInput = {} end
   local result = self.gradInput[i]
   if not torch.isTensor(result) or result:type() ~= input[i]:type() then
      result = input[i].new()
      self.gradInput[i] = result
   end
   return result:resizeAs(input[i])
end

local function trim(self, count)
   for i = #self.gradInput, count + 1, -1 do self.gradInput[i] = nil end
   return self.gradInput
end

local function with_table_gradient(self, inplace)
   self.gradInput = {}
   self.inplace = inplace
end

local CAddTable = new_class('CAddTable', with_table_gradient)
function CAddTable:updateOutput(input)
   if self.inplace then
      self.output:set(input[1])
   else
      self.output:resizeAs(input[1]):copy(input[1])
   end
   for i = 2, #input do self.output:add(input[i]) end
   return self.output
end
function CAddTable:updateGradInput(input, gradOutput)
   for i = 1, #input do
      if self.inplace then
         gradient(self, input, i):set(gradOutput)
      else
         gradient(self, input, i):copy(gradOutput)
      end
   end
   return trim(self, #input)
end

local CSubTable = new_class('CSubTable', with_table_gradient)
function CSubTable:updateOutput(input)
   self.output:resizeAs(input[1]):copy(input[1]):add(-1, input[2])
   return self.output
end
function CSubTable:updateGradInput(input, gradOutput)
   gradient(self, input, 1):copy(gradOutput)
   gradient(self, input, 2):copy(gradOutput):mul(-1)
   return trim(self, 2)
end

local CMulTable = new_class('CMulTable', with_table_gradient)
function CMulTable:updateOutput(input)
   self.output:resizeAs(input[1]):copy(input[1])
   for i = 2, #input do self.output:cmul(input[i]) end
   return self.output
end
function CMulTable:updateGradInput(input, gradOutput)
   for i = 1, #input do
      local result = gradient(self, input, i):copy(gradOutput)
      for j = 1, #input do
         if i ~= j then result:cmul(input[j]) end
      end
   end
   return trim(self, #input)
end

local CDivTable = new_class('CDivTable', with_table_gradient)
function CDivTable:updateOutput(input)
   self.output:resizeAs(input[1]):copy(input[1]):cdiv(input[2])
   return self.output
end
function CDivTable:updateGradInput(input, gradOutput)
   gradient(self, input, 1):copy(gradOutput):cdiv(input[2])
   gradient(self, input, 2):zero():addcdiv(-1, self.gradInput[1], input[2]):cmul(input[1])
   return trim(self, 2)
end

-- The larger or smaller element; its gradient goes to where it came from, the first of equals.
for name, row in pairs {CMaxTable = {'gt', 'maxIdx', 'maxVals'}, CMinTable = {'lt', 'minIdx', 'minVals'}} do
   local compare, places, values = row[1], row[2], row[3]
   local class = new_class(name, function(self)
      self.gradInput = {}
      for _, buffer in ipairs {places, values, 'mask', 'gradMaxVals'} do self[buffer] = torch.Tensor() end
   end)
   function class:updateOutput(input)
      self.output:resizeAs(input[1]):copy(input[1])
      self[places]:resizeAs(input[1]):fill(1)
      for i = 2, #input do
         local mask = input[i][compare](input[i], self.output)
         self[places]:maskedFill(mask, i)
         self.output:maskedCopy(mask, input[i][mask])
      end
      return self.output
   end
   function class:updateGradInput(input, gradOutput)
      for i = 1, #input do
         gradient(self, input, i):copy(gradOutput):cmul(self[places]:eq(i):typeAs(gradOutput))
      end
      return trim(self, #input)
   end
end

----------------------------------------------------------------------------------------

-- A dimension counted from the front, where the layer was told how many dimensions one
-- sample has.
local function positive_dimension(self, tensor)
   local dimension = self.dimension
   if dimension < 0 then return tensor:dim() + dimension + 1 end
   if self.nInputDims and tensor:dim() == self.nInputDims + 1 then return dimension + 1 end
   return dimension
end

local JoinTable = new_class('JoinTable', function(self, dimension, nInputDims)
   self.size = torch.LongStorage()
   self.dimension = dimension
   self.gradInput = {}
   self.nInputDims = nInputDims
end)
function JoinTable:updateOutput(input)
   local dimension = positive_dimension(self, input[1])
   local sizes = input[1]:size():totable()
   sizes[dimension] = 0
   for i = 1, #input do sizes[dimension] = sizes[dimension] + input[i]:size(dimension) end
   self.size = torch.LongStorage(sizes)
   self.output:resize(self.size)
   local start = 1
   for i = 1, #input do
      self.output:narrow(dimension, start, input[i]:size(dimension)):copy(input[i])
      start = start + input[i]:size(dimension)
   end
   return self.output
end
function JoinTable:updateGradInput(input, gradOutput)
   local dimension, start = positive_dimension(self, input[1]), 1
   for i = 1, #input do
      local size = input[i]:size(dimension)
      gradient(self, input, i):copy(gradOutput:narrow(dimension, start, size))
      start = start + size
   end
   return trim(self, #input)
end

local SplitTable = new_class('SplitTable', function(self, dimension, nInputDims)
   self.dimension = dimension
   self.nInputDims = nInputDims
end)
function SplitTable:updateOutput(input)
   local dimension = positive_dimension(self, input)
   local slices = {}
   for i = 1, input:size(dimension) do slices[i] = input:select(dimension, i) end
   self.output = slices
   return slices
end
function SplitTable:updateGradInput(input, gradOutput)
   local dimension = positive_dimension(self, input)
   if not torch.isTensor(self.gradInput) then self.gradInput = input.new() end
   self.gradInput:resizeAs(input)
   for i = 1, input:size(dimension) do
      local slice = self.gradInput:select(dimension, i)
      if type(slice) == 'number' then
         self.gradInput[i] = gradOutput[i]
      else
         slice:copy(gradOutput[i])
      end
   end
   return self.gradInput
end

local SelectTable = new_class('SelectTable', function(self, index)
   self.index = index
   self.gradInput = {}
end)
local function selected(self, input)
   local index = type(self.index) == 'number' and self.index < 0 and #input + self.index + 1 or self.index
   if input[index] == nil then error('index does not exist in the input table') end
   return index
end
function SelectTable:updateOutput(input)
   self.output = input[selected(self, input)]
   return self.output
end
function SelectTable:updateGradInput(input, gradOutput)
   self.gradInput = zeros_like(input)
   self.gradInput[selected(self, input)] = gradOutput
   return self.gradInput
end
function SelectTable:__tostring__() return torch.type(self) .. '(' .. tostring(self.index) .. ')' end

local NarrowTable = new_class('NarrowTable', function(self, offset, length)
   self.offset, self.length = offset, length or 1
   self.output, self.gradInput = {}, {}
end)
function NarrowTable:updateOutput(input)
   self.output = {}
   for i = 1, self.length do self.output[i] = input[self.offset + i - 1] end
   return self.output
end
function NarrowTable:updateGradInput(input, gradOutput)
   self.gradInput = zeros_like(input)
   for i = 1, #gradOutput do self.gradInput[self.offset + i - 1] = gradOutput[i] end
   return self.gradInput
end

local FlattenTable = new_class('FlattenTable', function(self)
   self.output, self.gradInput, self.input_map = {}, {}, {}
end)
local function flatten(value, list)
   if type(value) == 'table' then
      for i = 1, #value do flatten(value[i], list) end
   else
      list[#list + 1] = value
   end
   return list
end
-- The same elements as before stay in the same table.
function FlattenTable:updateOutput(input)
   local list = flatten(input, {})
   local same = #list == #self.output
   for i = 1, #list do same = same and list[i] == self.output[i] end
   if not same then self.output, self.input_map = list, {} end
   return self.output
end
function FlattenTable:updateGradInput(input, gradOutput)
   local place = 0
   local function nest(value)
      if type(value) ~= 'table' then
         place = place + 1
         return gradOutput[place]
      end
      local result = {}
      for i = 1, #value do result[i] = nest(value[i]) end
      return result
   end
   self.gradInput = nest(input)
   return self.gradInput
end
