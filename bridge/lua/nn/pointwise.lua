-- Layers that do the same to every element: rows of legacy_nn/tables/pointwise.json, and nn.Threshold
-- with its child nn.ReLU, which refuse some arguments.
local core = require 'relume.ffi'
local formulas = require 'nn.formulas'

-- Puts a value into a tensor of the layer; `given` are tensors that the value may be itself.
local function take(field, value, ...)
   if field:type() ~= value:type() then field = value.new() end
   for i = 1, select('#', ...) do
      if rawequal(value, (select(i, ...))) then return field:set(value) end
   end
   return core.become(field, value)
end

-- Gives a class updateOutput and updateGradInput. compute(nil, x, nil, self), gradient(g, x, y, self).
local function define(class, compute, gradient, restore)
   function class:updateOutput(input)
      local output = compute(nil, input, nil, self)
      if self.inplace and not rawequal(output, input) then output = input:copy(output) end
      self.output = take(self.output, output, input)
      return self.output
   end

   function class:updateGradInput(input, gradOutput)
      local result = gradient(gradOutput, input, self.output, self)
      if self.inplace then
         if not rawequal(result, gradOutput) then result = gradOutput:copy(result) end
         self.gradInput = take(self.gradInput, result, gradOutput)
         if restore then input:copy(restore(nil, input, nil, self)) end
      else
         self.gradInput = take(self.gradInput, result, gradOutput, input, self.output)
      end
      return self.gradInput
   end
end

for _, row in ipairs(formulas.load_table 'pointwise') do
   local class = torch.class('nn.' .. row.name, row.parent and 'nn.' .. row.parent or 'nn.Module')
   local fields, defaults = row.fields or {}, {}

   function class:__init(...)
      nn.Module.__init(self)
      for i, field in ipairs(fields) do
         local given = select(i, ...)
         local value = given
         if value == nil then value = field[2] end
         if value == nil then error(('nn.%s needs the argument %s'):format(row.name, field[1]), 3) end
         self[field[1]] = value
      end
      for name, value in pairs(row.constants or {}) do self[name] = value end
      for name, layer in pairs(row.layers or {}) do self[name] = nn[layer]() end
   end

   -- what a file may leave out
   for _, field in ipairs(fields) do defaults[field[1]] = field[2] end
   for name, value in pairs(row.constants or {}) do defaults[name] = value end
   for name, value in pairs(defaults) do class[name] = value end

   define(class, formulas.compile(row.compute), formulas.compile(row.gradient),
      row.restore and formulas.compile(row.restore))
   if row.printed then
      function class:__tostring__()
         return torch.type(self) .. formulas.fill_in(row.printed, self)
      end
   end
end

----------------------------------------------------------------------------------------

local Threshold, parent = torch.class('nn.Threshold', 'nn.Module')

function Threshold:__init(threshold, val, inplace)
   parent.__init(self)
   self.threshold, self.val = threshold or 1e-6, val or 0
   if inplace ~= nil and type(inplace) ~= 'boolean' then error('in-place flag must be boolean', 2) end
   self.inplace = inplace or false
   self:validateParameters()
end

function Threshold:validateParameters()
   if self.inplace and self.val > self.threshold then
      error('in-place processing requires value (' .. self.val .. ') not exceed threshold ('
         .. self.threshold .. ')', 2)
   end
end

define(Threshold,
   function(_, x, _, self)
      if not self.inplace then return core.call('threshold', x, self.threshold, self.val) end
      core.call_in_place('threshold', x, self.threshold, self.val)
      return x
   end,
   function(g, x, _, self)
      if not self.inplace then return core.call('threshold_backward', g, x, self.threshold) end
      return core.into(g, 'threshold_backward', g, x, self.threshold)
   end)

local ReLU = torch.class('nn.ReLU', 'nn.Threshold')

function ReLU:__init(inplace)
   Threshold.__init(self, 0, 0, inplace)
end
