-- nn.Linear(inputs, outputs [, bias]): y = x W' + b for a vector or a batch of them.
local core = require 'relume.ffi'
local draw = require('nn.initial_values').draw

local Linear, parent = torch.class('nn.Linear', 'nn.Module')

function Linear:__init(inputSize, outputSize, bias)
   parent.__init(self)
   self.weight = torch.Tensor(outputSize, inputSize)
   self.gradWeight = torch.Tensor(outputSize, inputSize)
   if bias ~= false then
      self.bias = torch.Tensor(outputSize)
      self.gradBias = torch.Tensor(outputSize)
   end
   self:reset()
end

function Linear:noBias()
   self.bias, self.gradBias = nil, nil
   return self
end

function Linear:reset(stdv) return draw(self, stdv, self.weight:size(2)) end

function Linear:updateOutput(input)
   local n, weight = input:dim(), self.weight
   if (n == 1 or n == 2) and input:size(n) == weight:size(2) and input._dtype == weight._dtype then
      if n == 1 then self.output:resize(weight:size(1)) else self.output:resize(input:size(1), weight:size(1)) end
      return core.into(self.output, 'linear', input, weight, self.bias)
   end
   -- what does not fit is an error of these
   if input:dim() == 1 then
      self.output:resize(self.weight:size(1))
      if self.bias then
         self.output:copy(self.bias)
      else
         self.output:zero()
      end
      self.output:addmv(1, self.weight, input)
   elseif input:dim() == 2 then
      self.output:resize(input:size(1), self.weight:size(1))
      if self.bias then
         self.output:copy(self.bias:view(1, -1):expandAs(self.output))
         self.output:addmm(1, self.output, 1, input, self.weight:t())
      else
         self.output:mm(input, self.weight:t())
      end
   else
      error('input must be vector or matrix')
   end
   return self.output
end

function Linear:updateGradInput(input, gradOutput)
   self.gradInput:resizeAs(input)
   if input:dim() == 1 then
      self.gradInput:mv(self.weight:t(), gradOutput)
   else
      self.gradInput:mm(gradOutput, self.weight)
   end
   return self.gradInput
end

function Linear:accGradParameters(input, gradOutput, scale)
   scale = scale or 1
   if input:dim() == 1 then
      self.gradWeight:addr(scale, gradOutput, input)
      if self.bias then self.gradBias:add(scale, gradOutput) end
   else
      self.gradWeight:addmm(scale, gradOutput:t(), input)
      if self.bias then self.gradBias:add(scale, gradOutput:sum(1):view(-1)) end
   end
end

function Linear:__tostring__()
   return torch.type(self)
      .. ('(%d -> %d)'):format(self.weight:size(2), self.weight:size(1))
      .. (self.bias == nil and ' without bias' or '')
end
