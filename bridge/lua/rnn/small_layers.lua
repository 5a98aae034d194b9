-- Small layers of package rnn.
local derived = require 'nn.derived'
local recursive = require 'rnn.recursive'
local zeros_like = require('relume.tape').zeros_like
local op = derived.op

-- x + addend, with the sign changed if asked to.
local SAdd = derived.class('SAdd', 'nn.Module', function(self, addend, negate)
   self.addend, self.negate = addend, negate or false
end)

derived.layer(SAdd, {compute = function(self, input)
   local total = op.add(input, self.addend)
   return self.negate and op.neg(total) or total
end})

-- Gives back its input; the gradient of the input is a copy.
local CopyGrad = torch.class('nn.CopyGrad', 'nn.Identity')

function CopyGrad:updateGradInput(input, gradOutput)
   self.gradInput = recursive.recursiveCopy(self.gradInput, gradOutput)
   return self.gradInput
end

-- Stops gradients, of tables too.
local ZeroGrad = torch.getmetatable 'nn.ZeroGrad'

function ZeroGrad:updateOutput(input)
   self.output = torch.isTensor(input) and self.output:set(input) or input
   return self.output
end

function ZeroGrad:updateGradInput(input)
   self.gradInput = zeros_like(input)
   return self.gradInput
end

local SeqReverseSequence = derived.class('SeqReverseSequence', 'nn.Module', function(self, dim)
   if dim ~= 1 and dim ~= 2 and dim ~= 3 then error('dim must be 1, 2 or 3', 3) end
   self.dim = dim
end)

derived.layer(SeqReverseSequence, {compute = function(self, input) return op.flip(input, {self.dim - 1}) end})

----------------------------------------------------------------------------------------
-- Keeps the norms of successive states alike (Krueger and Memisevic, 2016): gives back its input
-- and adds to its gradient.

local NormStabilizer, AbstractRecurrent = torch.class('nn.NormStabilizer', 'nn.AbstractRecurrent')

function NormStabilizer:__init(beta)
   AbstractRecurrent.__init(self)
   self.beta = beta or 1
   self.recurrentModule = nn.CopyGrad()
   self.modules[1], self.sharedClones[1] = self.recurrentModule, self.recurrentModule
end

function NormStabilizer:keepOutput(step, output)
   if not torch.isTensor(output) or output:dim() ~= 2 then error('nn.NormStabilizer needs a batch', 0) end
   if self.train ~= false then self:getStepModule(step).norm = output:norm(2, 2) end
   return AbstractRecurrent.keepOutput(self, step, output)
end

function NormStabilizer:keepGradient(step, gradient)
   local here = self:getStepModule(step)
   for _, other in ipairs {step - 1, step + 1} do
      if other >= 1 and other < self.step then
         local difference = here.norm - self:getStepModule(other).norm
         local factor = difference:mul(2 * self.beta / here.output:size(1)):cdiv(here.norm)
         gradient = gradient + torch.cmul(here.output, factor:expandAs(here.output))
      end
   end
   return gradient
end

-- The value of the term for the steps so far.
function NormStabilizer:updateLoss()
   local total, steps = 0, self.step - 1
   for step = 2, steps do
      local sum = self:getStepModule(step).norm + self:getStepModule(step - 1).norm
      total = total + sum:pow(2):mean()
   end
   self.loss = self.beta * total / math.max(1, steps)
   return self.loss
end

function NormStabilizer:__tostring__() return torch.type(self) end

local LinearNoBias, linear = torch.class('nn.LinearNoBias', 'nn.Linear')
function LinearNoBias:__init(inputSize, outputSize)
   linear.__init(self, inputSize, outputSize, false)
end
