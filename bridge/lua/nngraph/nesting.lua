-- The `nngraph.nesting` package: the same for every tensor in a nested table.
local nesting = {}

-- f(tensor, ...) with the tensors at the same place in the other tables.
local function each(f, value, other)
   if torch.isTensor(value) then return f(value, other) end
   if type(value) ~= 'table' then error('expected a tensor or a table of tensors, got a ' .. torch.type(value), 3) end
   for key, part in pairs(value) do each(f, part, other and other[key]) end
end

function nesting.cloneNested(value)
   if torch.isTensor(value) then return value:clone() end
   local result = {}
   for key, part in pairs(value) do result[key] = nesting.cloneNested(part) end
   return result
end

function nesting.fillNested(value, number)
   each(function(tensor) tensor:fill(number) end, value)
end

-- Gives `output` the nesting and the sizes of `input`.
function nesting.resizeNestedAs(output, input)
   if torch.isTensor(output) then return output:resizeAs(input) end
   for key, part in pairs(input) do
      if output[key] == nil then
         output[key] = nesting.cloneNested(part)
      else
         nesting.resizeNestedAs(output[key], part)
      end
   end
   for key in pairs(output) do
      if input[key] == nil then output[key] = nil end
   end
end

function nesting.copyNested(output, input)
   each(function(tensor, source) tensor:copy(source) end, output, input)
end

function nesting.addNestedTo(output, input)
   each(function(tensor, source) tensor:add(source) end, output, input)
end

return nesting
