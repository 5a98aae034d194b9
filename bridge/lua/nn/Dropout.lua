-- nn.Dropout(p): zeros with probability p while training.
local Dropout, parent = torch.class('nn.Dropout', 'nn.Module')

function Dropout:__init(p, v1, inplace, stochasticInference)
   parent.__init(self)
   self.p = p or 0.5
   self.train = true
   self.inplace = inplace
   self.stochastic_inference = stochasticInference or false
   self.v2 = not v1  -- scales while training rather than while evaluating
   if self.p >= 1 or self.p < 0 then
      error('<Dropout> illegal percentage, must be 0 <= p < 1')
   end
   self.noise = torch.Tensor()
end

local function copy_or_set(self, field, source)
   if self.inplace then
      self[field]:set(source)
   else
      self[field]:resizeAs(source):copy(source)
   end
end

local function drops(self)
   return self.p > 0 and (self.train or self.stochastic_inference)
end

function Dropout:updateOutput(input)
   copy_or_set(self, 'output', input)
   if drops(self) then
      self.noise:resizeAs(input):bernoulli(1 - self.p)
      if self.v2 then self.noise:div(1 - self.p) end
      self.output:cmul(self.noise)
   elseif self.p > 0 and not self.v2 then
      self.output:mul(1 - self.p)
   end
   return self.output
end

function Dropout:updateGradInput(input, gradOutput)
   copy_or_set(self, 'gradInput', gradOutput)
   if self.p > 0 and self.train then
      self.gradInput:cmul(self.noise)
   elseif self.p > 0 and not self.v2 then
      self.gradInput:mul(1 - self.p)
   end
   return self.gradInput
end

function Dropout:setp(p) self.p = p end

function Dropout:__tostring__()
   return ('%s(%f)'):format(torch.type(self), self.p)
end

function Dropout:clearState()
   self.noise:set()
   return parent.clearState(self)
end
