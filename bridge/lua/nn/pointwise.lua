-- Layers that work on each element by itself: rows of one table. A row names the op that
-- computes the output and how the gradient follows.
local core = require 'relume.ffi'

local ops = core.ops

-- What an op's arguments beside the input are, taken from the layer's fields.
local function none() end

-- {class, op, arguments(self), gradient(self, input, gradOutput)}. A gradient given as the
-- name of an op is op(gradOutput, output) or, with `from_input`, op(gradOutput, input, arguments).
local rows = {
   {'Threshold', op = 'threshold', gradient = 'threshold_backward', from_input = true, in_place = true,
      fields = {'threshold', 'val', 'inplace'}, defaults = {threshold = 1e-6, val = 0, inplace = false},
      arguments = function(self) return self.threshold, self.val end,
      gradient_arguments = function(self) return self.threshold end},
   {'Tanh', op = 'tanh', gradient = 'tanh_backward'},
   {'Sigmoid', op = 'sigmoid', gradient = 'sigmoid_backward'},
   {'Sqrt', op = 'sqrt', gradient = 'sqrt_backward'},
   {'Square', op = 'square', gradient = 'square_backward', from_input = true},
   {'Exp', op = 'exp', derive = function(self, input, gradOutput) return torch.cmul(gradOutput, self.output) end},
   {'Log', op = 'log', derive = function(self, input, gradOutput) return torch.cdiv(gradOutput, input) end},
   {'Abs', op = 'abs', derive = function(self, input, gradOutput)
      return torch.cmul(torch.sign(input), gradOutput)
   end},
   {'ReLU', parent = 'nn.Threshold', op = 'relu', gradient = 'threshold_backward', from_input = true, fields = {'inplace'},
      in_place = true, constants = {threshold = 0, val = 0}, defaults = {inplace = false},
      gradient_arguments = function() return 0 end},
   {'LeakyReLU', op = 'leaky_relu', gradient = 'leaky_relu_backward', from_input = true,
      fields = {'negval', 'inplace'}, defaults = {negval = 1 / 100, inplace = false}, in_place = true,
      arguments = function(self) return self.negval end,
      text = function(self) return '(' .. self.negval .. ')' end},
   {'ELU', op = 'elu', fields = {'alpha', 'inplace'},
      derive = function(self, input, gradOutput)
         -- from the output, which in place is all that is left: output + alpha below zero
         local negative = torch.le(self.output, 0):typeAs(gradOutput)
         local slope = torch.add(self.output, self.alpha - 1):cmul(negative):add(1)
         return slope:cmul(gradOutput)
      end,
      defaults = {alpha = 1, inplace = false}, in_place = true,
      arguments = function(self) return self.alpha end,
      text = function(self) return (' (alpha:%f)'):format(self.alpha) end},
   {'SoftPlus', op = 'softplus', gradient = 'softplus_backward', from_input = true, fields = {'beta'},
      defaults = {beta = 1}, constants = {threshold = 20},
      arguments = function(self) return self.beta, self.threshold end},
   {'HardTanh', op = 'hardtanh', fields = {'min_val', 'max_val', 'inplace'},
      defaults = {min_val = -1, max_val = 1, inplace = false}, in_place = true,
      arguments = function(self) return self.min_val, self.max_val end,
      derive = function(self, input, gradOutput)
         local inside = torch.gt(input, self.min_val):cmul(torch.lt(input, self.max_val))
         return torch.cmul(gradOutput, inside:typeAs(gradOutput))
      end},
   {'Power', op = 'pow', fields = {'pow'},
      arguments = function(self) return self.pow end,
      derive = function(self, input, gradOutput)
         return torch.pow(input, self.pow - 1):mul(self.pow):cmul(gradOutput)
      end},
   {'MulConstant', op = 'mul', fields = {'constant_scalar', 'inplace'}, in_place = true,
      arguments = function(self) return self.constant_scalar end,
      derive = function(self, input, gradOutput) return torch.mul(gradOutput, self.constant_scalar) end,
      undo = function(self, input) input:div(self.constant_scalar) end},
   {'AddConstant', op = 'add', fields = {'constant_scalar', 'inplace'}, in_place = true,
      arguments = function(self) return self.constant_scalar end,
      derive = function(self, input, gradOutput) return gradOutput end,
      undo = function(self, input) input:csub(self.constant_scalar) end},
}

for _, row in ipairs(rows) do
   local class = torch.class('nn.' .. row[1], row.parent or 'nn.Module')
   local arguments = row.arguments or none
   local gradient_arguments = row.gradient_arguments or arguments
   local op, gradient = row.op, row.gradient

   function class:__init(...)
      nn.Module.__init(self)
      local given = {...}
      for name, value in pairs(row.constants or {}) do self[name] = value end
      for i, name in ipairs(row.fields or {}) do
         self[name] = given[i]
         if given[i] == nil and row.defaults then self[name] = row.defaults[name] end
      end
   end

   function class:updateOutput(input)
      if row.in_place and self.inplace then
         core.into(input, op, input, arguments(self))
         self.output:set(input)
      elseif row.arguments then
         core.into(self.output:resizeAs(input), op, input, arguments(self))
      else
         core.unary_into(ops[op], self.output:resizeAs(input), input)
      end
      return self.output
   end

   function class:updateGradInput(input, gradOutput)
      local result
      if row.derive then
         result = row.derive(self, input, gradOutput)
      elseif row.from_input then
         result = core.call(gradient, gradOutput, input, gradient_arguments(self))
      else
         result = core.call(gradient, gradOutput, self.output)
      end
      if row.in_place and self.inplace then
         gradOutput:copy(result)
         self.gradInput:set(gradOutput)
         if row.undo then row.undo(self, input) end
      else
         self.gradInput:resizeAs(input):copy(result)
      end
      return self.gradInput
   end

   if row.text then
      function class:__tostring__() return torch.type(self) .. row.text(self) end
   end
end
