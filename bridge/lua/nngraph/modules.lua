-- Small modules that graphs are built with.

local JustTable, Module = torch.class('nngraph.JustTable', 'nn.Module')

-- A table with the input as its only element, and back.
function JustTable:updateOutput(input)
   self.output = {input}
   return self.output
end
function JustTable:updateGradInput(input, gradOutput)
   self.gradInput = gradOutput[1]
   return self.gradInput
end

local JustElement = torch.class('nngraph.JustElement', 'nn.Module')

function JustElement:updateOutput(input)
   self.output = input[1]
   return self.output
end
function JustElement:updateGradInput(input, gradOutput)
   self.gradInput = {gradOutput}
   return self.gradInput
end

-- A criterion as a module: its input is {input, target}, its output one number.
local ModuleFromCriterion = torch.class('nn.ModuleFromCriterion', 'nn.Module')

function ModuleFromCriterion:__init(criterion)
   Module.__init(self)
   self.criterion = criterion
end

function ModuleFromCriterion:updateOutput(input)
   self.output:resize(1)
   self.output[1] = (self.criterion:updateOutput(input[1], input[2]))
   return self.output
end

-- No gradient goes to the target.
function ModuleFromCriterion:updateGradInput(input, gradOutput)
   local gradient = nn.utils.recursiveCopy(nil, self.criterion:updateGradInput(input[1], input[2]))
   if torch.isTensor(gradient) then
      gradient:mul(gradOutput[1])
   else
      for _, part in pairs(gradient) do part:mul(gradOutput[1]) end
   end
   local nothing = nn.utils.recursiveFill(nn.utils.recursiveCopy(nil, input[2]), 0)
   self.gradInput = {gradient, nothing}
   return self.gradInput
end
