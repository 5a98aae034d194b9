-- nn.Dropout as package rnn replaces it: lazy, with one mask for all steps of a sequence.
local Dropout = torch.getmetatable 'nn.Dropout'
local Module = torch.getmetatable 'nn.Module'

-- lazy: keep the mask until backward; mono: one mask for all samples of a batch.
function Dropout:__init(p, v1, inplace, lazy, mono)
   Module.__init(self)
   self.p = p or 0.5
   self.train = true
   self.inplace = inplace
   self.v2 = not v1
   self.lazy = lazy or false
   self.mono = mono or false
   self.flag = true  -- is a new mask due?
   if self.p >= 1 or self.p < 0 then
      error('<Dropout> illegal percentage, must be 0 <= p < 1')
   end
   self.noise = torch.Tensor()
end

local function draw_mask(self, input)
   local sizes = input:size()
   if self.mono then sizes[1] = 1 end
   self.noise = torch.isTensor(self.noise) and self.noise or input.new()
   self.noise = self.noise.new(sizes):bernoulli(1 - self.p)
   if self.v2 then self.noise:div(1 - self.p) end
end

local function start(self, field, source)
   if self.inplace then
      self[field]:set(source)
   else
      self[field]:resizeAs(source):copy(source)
   end
end

local function mask_for(self, tensor)
   return self.noise:isSameSizeAs(tensor) and self.noise or self.noise:narrow(1, 1, 1):expandAs(tensor)
end

function Dropout:updateOutput(input)
   start(self, 'output', input)
   if self.p > 0 and self.train ~= false then
      if not self.lazy or self.flag ~= false then
         draw_mask(self, input)
         self.flag = false
      end
      self.output:cmul(mask_for(self, input))
   elseif self.p > 0 and not self.v2 then
      self.output:mul(1 - self.p)
   end
   return self.output
end

function Dropout:updateGradInput(input, gradOutput)
   if self.lazy then self.flag = true end
   start(self, 'gradInput', gradOutput)
   if self.p > 0 and self.train ~= false then
      self.gradInput:cmul(mask_for(self, gradOutput))
   elseif self.p > 0 and not self.v2 then
      self.gradInput:mul(1 - self.p)
   end
   return self.gradInput
end

function Dropout:clearState()
   self.noise:set()
   self.flag = true
   return Module.clearState(self)
end

function Dropout:__tostring__()
   return ('%s(%.1f, %s)'):format(torch.type(self), self.p, self.lazy and 'lazy' or 'busy')
end
