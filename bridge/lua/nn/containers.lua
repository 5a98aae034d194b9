-- Modules that hold modules.
local Container, Module = torch.class('nn.Container', 'nn.Module')

function Container:__init(...)
   Module.__init(self, ...)
   self.modules = {}
end

function Container:add(module)
   table.insert(self.modules, module)
   return self
end

function Container:get(index)
   return self.modules[index]
end

function Container:size()
   return #self.modules
end

-- Calls a method, by its name or as a function, and tells, when it fails, in which child of which
-- container.
function Container:rethrowErrors(module, index, name, ...)
   local function describe(message)
      if type(message) ~= 'string' then return message end  -- an error object stays what it is
      local place = ('\nIn %d module of %s:'):format(index, torch.type(self))
      if message:find('WARNING: If you see a stack trace', 1, true) then
         return place .. '\n' .. message:gsub('^[^\n]*:%d+: \n', '')
      end
      return place .. '\n' .. debug.traceback(message, 2)
         .. '\n\nWARNING: If you see a stack trace below, it does not point to the place where'
         .. ' this error occurred. Use only the one above.'
   end
   local method = type(name) == 'function' and name or module[name]
   local results = {xpcall(method, describe, module, ...)}
   if not results[1] then error(results[2], 1) end
   return unpack(results, 2)
end

function Container:applyToModules(f)
   for _, module in ipairs(self.modules) do f(module) end
end

function Container:zeroGradParameters()
   self:applyToModules(function(module) module:zeroGradParameters() end)
end

function Container:updateParameters(learningRate)
   self:applyToModules(function(module) module:updateParameters(learningRate) end)
end

function Container:training()
   self:applyToModules(function(module) module:training() end)
   Module.training(self)
end

function Container:evaluate()
   self:applyToModules(function(module) module:evaluate() end)
   Module.evaluate(self)
end

function Container:share(other, ...)
   for i, module in ipairs(self.modules) do module:share(other.modules[i], ...) end
   return self
end

function Container:reset(stdv)
   self:applyToModules(function(module) module:reset(stdv) end)
end

function Container:parameters()
   local parameters, gradients = {}, {}
   for _, module in ipairs(self.modules) do
      local own, own_gradients = module:parameters()
      for i, parameter in ipairs(own or {}) do
         parameters[#parameters + 1] = parameter
         gradients[#gradients + 1] = own_gradients[i]
      end
   end
   return parameters, gradients
end

function Container:clearState()
   nn.utils.clear(self, 'output', 'gradInput')
   for _, module in ipairs(self.modules) do module:clearState() end
   return self
end

-- The module's text, with its lines after the first moved in.
local function child_text(module, indent)
   return (tostring(module):gsub('\n', '\n' .. indent))
end

----------------------------------------------------------------------------------------

local Sequential = torch.class('nn.Sequential', 'nn.Container')

function Sequential:__len__() return #self.modules end

function Sequential:add(module)
   if #self.modules == 0 then self.gradInput = module.gradInput end
   table.insert(self.modules, module)
   self.output = module.output
   return self
end

-- After modules came or went: the fields that show what is at the ends.
local function refresh_ends(self)
   local count = #self.modules
   if count > 0 then
      self.output = self.modules[count].output
      self.gradInput = self.modules[1].gradInput
   else
      self.output, self.gradInput = torch.Tensor(), torch.Tensor()
   end
end

function Sequential:insert(module, index)
   index = index or #self.modules + 1
   if index > #self.modules + 1 or index < 1 then
      error('index should be contiguous to existing modules', 2)
   end
   table.insert(self.modules, index, module)
   refresh_ends(self)
end

function Sequential:remove(index)
   index = index or #self.modules
   if index > #self.modules or index < 1 then error('index out of range', 2) end
   table.remove(self.modules, index)
   refresh_ends(self)
end

function Sequential:updateOutput(input)
   local current = input
   for i, module in ipairs(self.modules) do
      current = self:rethrowErrors(module, i, 'updateOutput', current)
   end
   self.output = current
   return current
end

-- Runs f(module, index, its input, its gradOutput) from the last module to the first.
local function backwards(self, input, gradOutput, f)
   local current = gradOutput
   for i = #self.modules, 1, -1 do
      local before = i > 1 and self.modules[i - 1].output or input
      current = f(self.modules[i], i, before, current)
   end
   self.gradInput = current
   return current
end

function Sequential:updateGradInput(input, gradOutput)
   return backwards(self, input, gradOutput, function(module, i, before, gradient)
      return self:rethrowErrors(module, i, 'updateGradInput', before, gradient)
   end)
end

function Sequential:backward(input, gradOutput, scale)
   scale = scale or 1
   return backwards(self, input, gradOutput, function(module, i, before, gradient)
      local result = self:rethrowErrors(module, i, 'backward', before, gradient, scale)
      module.gradInput = result
      return result
   end)
end

-- Gradients of the inputs are those that updateGradInput has left in the modules.
local function accumulate(method)
   return function(self, input, gradOutput, amount)
      for i = #self.modules, 1, -1 do
         local before = i > 1 and self.modules[i - 1].output or input
         local gradient = i < #self.modules and self.modules[i + 1].gradInput or gradOutput
         self:rethrowErrors(self.modules[i], i, method, before, gradient, amount or 1)
      end
   end
end
Sequential.accGradParameters = accumulate 'accGradParameters'
Sequential.accUpdateGradParameters = accumulate 'accUpdateGradParameters'

function Sequential:__tostring__()
   local lines = {torch.type(self) .. ' {'}
   local chain = {'  [input'}
   for i = 1, #self.modules do chain[#chain + 1] = '(' .. i .. ')' end
   lines[#lines + 1] = table.concat(chain, ' -> ') .. ' -> output]'
   for i, module in ipairs(self.modules) do
      lines[#lines + 1] = '  (' .. i .. '): ' .. child_text(module, '  ')
   end
   lines[#lines + 1] = '}'
   return table.concat(lines, '\n')
end

----------------------------------------------------------------------------------------
-- Branches: what they have in common is how they are printed.

local function branches_text(self)
   local lines = {torch.type(self) .. ' {', '  input'}
   for i, module in ipairs(self.modules) do
      local last = i == #self.modules
      local mark = last and "     `-> (" or "    |`-> ("
      lines[#lines + 1] = mark .. i .. '): ' .. child_text(module, last and '         ' or '    |    ')
   end
   lines[#lines + 1] = '     ... -> output'
   lines[#lines + 1] = '}'
   return table.concat(lines, '\n')
end

local ConcatTable = torch.class('nn.ConcatTable', 'nn.Container')

function ConcatTable:__init()
   Container.__init(self)
   self.output = {}
end

function ConcatTable:updateOutput(input)
   self.output = {}
   for i, module in ipairs(self.modules) do
      self.output[i] = self:rethrowErrors(module, i, 'updateOutput', input)
   end
   return self.output
end

-- Adds a nested gradient into another of the same form.
local function add_nested(total, part)
   if type(part) == 'table' then
      total = type(total) == 'table' and total or {}
      for key, value in pairs(part) do total[key] = add_nested(total[key], value) end
      return total
   end
   if total == nil then return part:clone() end
   return total:add(part)
end

local function sum_of_branches(method)
   return function(self, input, gradOutput, scale)
      local total
      for i, module in ipairs(self.modules) do
         total = add_nested(total, self:rethrowErrors(module, i, method, input, gradOutput[i], scale or 1))
      end
      self.gradInput = total
      return total
   end
end
ConcatTable.updateGradInput = sum_of_branches 'updateGradInput'
ConcatTable.backward = sum_of_branches 'backward'

local function each_branch(method, pick)
   return function(self, input, gradOutput, amount)
      for i, module in ipairs(self.modules) do
         self:rethrowErrors(module, i, method, pick(input, i), gradOutput[i], amount or 1)
      end
   end
end
local function whole(input) return input end
local function part(input, i) return input[i] end

ConcatTable.accGradParameters = each_branch('accGradParameters', whole)
ConcatTable.accUpdateGradParameters = each_branch('accUpdateGradParameters', whole)
ConcatTable.__tostring__ = branches_text

----------------------------------------------------------------------------------------

local ParallelTable = torch.class('nn.ParallelTable', 'nn.Container')

function ParallelTable:__init()
   Container.__init(self)
   self.output, self.gradInput = {}, {}
end

function ParallelTable:updateOutput(input)
   self.output = {}
   for i, module in ipairs(self.modules) do
      self.output[i] = self:rethrowErrors(module, i, 'updateOutput', input[i])
   end
   return self.output
end

local function gradient_of_each(method)
   return function(self, input, gradOutput, scale)
      self.gradInput = {}
      for i, module in ipairs(self.modules) do
         self.gradInput[i] = self:rethrowErrors(module, i, method, input[i], gradOutput[i], scale or 1)
      end
      return self.gradInput
   end
end
ParallelTable.updateGradInput = gradient_of_each 'updateGradInput'
ParallelTable.backward = gradient_of_each 'backward'
ParallelTable.accGradParameters = each_branch('accGradParameters', part)
ParallelTable.accUpdateGradParameters = each_branch('accUpdateGradParameters', part)
ParallelTable.__tostring__ = branches_text

----------------------------------------------------------------------------------------
-- nn.Concat(dimension): branches side by side in one tensor.

local Concat = torch.class('nn.Concat', 'nn.Container')

function Concat:__init(dimension)
   Container.__init(self)
   self.outputSize = torch.LongStorage()
   self.dimension = dimension
end

function Concat:updateOutput(input)
   local parts = {}
   for i, module in ipairs(self.modules) do
      parts[i] = self:rethrowErrors(module, i, 'updateOutput', input)
   end
   torch.cat(self.output, parts, self.dimension)
   self.outputSize = self.output:size()
   return self.output
end

local function sum_of_parts(method)
   return function(self, input, gradOutput, scale)
      local start, total = 1, nil
      for i, module in ipairs(self.modules) do
         local size = module.output:size(self.dimension)
         local gradient = gradOutput:narrow(self.dimension, start, size)
         total = add_nested(total, self:rethrowErrors(module, i, method, input, gradient, scale or 1))
         start = start + size
      end
      self.gradInput = total
      return total
   end
end
Concat.updateGradInput = sum_of_parts 'updateGradInput'
Concat.backward = sum_of_parts 'backward'

local function each_part(method)
   return function(self, input, gradOutput, amount)
      local start = 1
      for i, module in ipairs(self.modules) do
         local size = module.output:size(self.dimension)
         self:rethrowErrors(module, i, method, input, gradOutput:narrow(self.dimension, start, size), amount)
         start = start + size
      end
   end
end
Concat.accGradParameters = each_part 'accGradParameters'
Concat.accUpdateGradParameters = each_part 'accUpdateGradParameters'
Concat.__tostring__ = branches_text
