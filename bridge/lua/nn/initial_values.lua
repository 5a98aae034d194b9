-- The uniform numbers that weights begin with in Torch7.
local initial_values = {}

-- The end of the range: `stdv` is a standard deviation, without it the number of inputs decides.
function initial_values.bound(stdv, inputs)
   return stdv and stdv * math.sqrt(3) or 1 / math.sqrt(inputs)
end

-- Draws the weight, row by row, then the bias, if there is one.
function initial_values.draw(self, stdv, inputs)
   local bound = initial_values.bound(stdv, inputs)
   self.weight:uniform(-bound, bound)
   if self.bias then self.bias:uniform(-bound, bound) end
   return self
end

return initial_values
