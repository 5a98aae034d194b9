-- Layers and criterions that say only what they compute, with ops of the core: their gradients come
-- from the tape. See bridge/lua/relume/tape.lua.
local number = require('torch.reduce').number
local tape = require 'relume.tape'

local derived = {op = tape.op}

-- The record of each object's last call, beside the object: files and clones know nothing of it.
local records = setmetatable({}, {__mode = 'k'})

local function gradient_name(name)
   return 'grad' .. name:sub(1, 1):upper() .. name:sub(2)
end

local function new_record(self, rule, input, extra)
   local parameters = {}
   for i, name in ipairs(rule.parameters) do parameters[i] = self[name] or false end
   local record = tape.record(function(...) return rule.compute(self, extra, ...) end, input, parameters)
   record.extra = extra
   records[self] = record
   return record
end

-- The record of this very call; made anew if the last one was of another.
local function record_of(self, rule, input, extra)
   local record = records[self]
   if record and record.extra == extra and tape.is_of(record, input) then return record end
   return new_record(self, rule, input, extra)
end

local function wanted_leaves(record, of_input, of_parameters)
   local list = {}
   for i, leaf in ipairs(record.input_leaves) do list[i] = of_input and leaf or false end
   for _, leaf in ipairs(record.parameter_leaves) do list[#list + 1] = of_parameters and leaf or false end
   return list
end

-- The gradients of the inputs, then of the parameters, and how many inputs there are.
local function gradients(self, rule, input, extra, gradOutput, of_input, of_parameters)
   local record = record_of(self, rule, input, extra)
   local wanted = wanted_leaves(record, of_input, of_parameters)
   local ok, result = pcall(tape.gradients, record, gradOutput, wanted)
   if not ok then
      -- what forward saw has been changed since: look again
      record = new_record(self, rule, input, extra)
      result = tape.gradients(record, gradOutput, wanted_leaves(record, of_input, of_parameters))
   end
   return result, #record.input_leaves
end

-- A tensor of the layer takes a value; memory that somebody else has too is copied.
local function take(field, value, shared_with)
   if not torch.isTensor(field) or torch.typename(field) ~= torch.typename(value) then
      field = value.new()
   end
   if value._contiguous and not (shared_with and value._storage == shared_with._storage) then
      return field:set(value)
   end
   return field:resizeAs(value):copy(value)
end

-- Fills self.gradInput in the nesting of the input.
local function set_gradient(self, input, found, gradOutput)
   local place = 0
   local shared = torch.isTensor(gradOutput) and gradOutput or nil
   local function of(tensor, field)
      place = place + 1
      local gradient = found[place]
      if gradient then return take(field, gradient, shared) end
      local zeros = torch.isTensor(field) and field or tensor.new()
      return zeros:resize(tensor:size()):zero()
   end
   local function walk(value, field)
      if torch.isTensor(value) then return of(value, field) end
      if type(value) ~= 'table' then return value end
      field = type(field) == 'table' and field or {}
      local result, keys = {}, {}
      for key in pairs(value) do keys[#keys + 1] = key end
      table.sort(keys, function(a, b)
         if type(a) == type(b) then return a < b end
         return type(a) == 'number'
      end)
      for _, key in ipairs(keys) do result[key] = walk(value[key], field[key]) end
      return result
   end
   self.gradInput = walk(input, self.gradInput)
   return self.gradInput
end

local function accumulate(self, rule, found, first, scale)
   for i, name in ipairs(rule.parameters) do
      local gradient = found[first + i]
      if gradient then
         local own = rule.scale and rule.scale(self, scale, name) or scale
         self[gradient_name(name)]:add(own, gradient)
      end
   end
end

-- Gives `class` the protocol of nn.Module. `rule`: compute(self, input, parameters...) gives the
-- output; parameters, the names of fields; prepare(self, input), what forward does beforehand, such
-- as drawing random numbers; in_place(self): does the output overwrite the input?; scale(self, scale,
-- parameter): where Torch7's accGradParameters takes another scale than it was given.
function derived.layer(class, rule)
   rule.parameters = rule.parameters or {}
   local compute = rule.compute
   rule.compute = function(self, _, ...) return compute(self, ...) end

   function class:updateOutput(input)
      if rule.prepare then rule.prepare(self, input) end
      local output = new_record(self, rule, input).output
      if not torch.isTensor(output) then
         self.output = tape.map(output, function(part) return take(nil, part) end)
      elseif rule.in_place and rule.in_place(self) then
         self.output = input:copy(output)
      else
         self.output = take(self.output, output, torch.isTensor(input) and input or nil)
      end
      return self.output
   end

   function class:updateGradInput(input, gradOutput)
      local found = gradients(self, rule, input, nil, gradOutput, true, false)
      return set_gradient(self, input, found, gradOutput)
   end

   if #rule.parameters > 0 then
      function class:accGradParameters(input, gradOutput, scale)
         local found, first = gradients(self, rule, input, nil, gradOutput, false, true)
         accumulate(self, rule, found, first, scale or 1)
      end
   end

   local own_gradient, own_accumulation = class.updateGradInput, class.accGradParameters

   -- Both at once, unless a child has methods of its own.
   function class:backward(input, gradOutput, scale)
      if self.updateGradInput ~= own_gradient or self.accGradParameters ~= own_accumulation then
         return nn.Module.backward(self, input, gradOutput, scale)
      end
      local found, first = gradients(self, rule, input, nil, gradOutput, true, true)
      set_gradient(self, input, found, gradOutput)
      accumulate(self, rule, found, first, scale or 1)
      return self.gradInput
   end

   function class:clearState()
      records[self] = nil
      return nn.Module.clearState(self)
   end
   return class
end

-- The same for criterions: compute(self, input, target) gives a loss of one element.
function derived.criterion(class, compute)
   local rule = {parameters = {}, compute = function(self, target, input) return compute(self, input, target) end}
   local one = {}

   function class:updateOutput(input, target)
      self.output = number(new_record(self, rule, input, target).output)
      return self.output
   end

   function class:updateGradInput(input, target)
      local name = torch.typename(record_of(self, rule, input, target).output)
      one[name] = one[name] or torch.getconstructortable(name)(1):fill(1)
      local found = gradients(self, rule, input, target, one[name], true, false)
      set_gradient(self, input, found)
      tape.each(self.gradInput, nil, function(gradient) gradient:add(0) end)  -- no negative zeros
      return self.gradInput
   end
   return class
end

-- A class with a parent whose constructor comes first; init(self, ...) sets the fields.
function derived.class(name, parent, init)
   local class, parent_class = torch.class('nn.' .. name, parent)
   function class:__init(...)
      parent_class.__init(self)
      if init then init(self, ...) end
   end
   return class
end

-- The cosines between the rows of two matrices.
function derived.cosines(a, b)
   local op = tape.op
   local function squared_lengths(rows) return op.add(op.sum(op.square(rows), {1}), 1e-12) end
   return op.div(op.sum(op.mul(a, b), {1}), op.sqrt(op.mul(squared_lengths(a), squared_lengths(b))))
end

-- A single zero, seen in the size of a tensor.
function derived.zero_as(tensor)
   local ones = {}
   for d = 1, tensor:dim() do ones[d] = 1 end
   return tensor.new(torch.LongStorage(ones)):zero():expandAs(tensor)
end

-- Removes what the tape keeps of a layer.
function derived.forget(self)
   records[self] = nil
end

return derived
