-- A layer of this project's own: every element of the input times a gate that the input opens.
local GatedUnit, parent = torch.class('nn.GatedUnit', 'nn.Module')

function GatedUnit:__init(size)
   parent.__init(self)
   self.weight = torch.Tensor(size):fill(1)
   self.gradWeight = torch.Tensor(size):zero()
end

function GatedUnit:updateOutput(input)
   self.gate = torch.sigmoid(torch.cmul(input, self.weight:view(1, -1):expandAs(input)))
   self.output = torch.cmul(input, self.gate)
   return self.output
end

-- d output / d input = gate + input * gate * (1 - gate) * weight
function GatedUnit:updateGradInput(input, gradOutput)
   local slope = torch.cmul(self.gate, 1 - self.gate)
   self.gradInput = torch.cmul(slope, input):cmul(self.weight:view(1, -1):expandAs(input)):add(self.gate)
   self.gradInput:cmul(gradOutput)
   return self.gradInput
end

function GatedUnit:accGradParameters(input, gradOutput, scale)
   local slope = torch.cmul(self.gate, 1 - self.gate)
   local gradient = torch.cmul(slope, input):cmul(input):cmul(gradOutput)
   self.gradWeight:add(scale or 1, gradient:sum(1):view(-1))
end
