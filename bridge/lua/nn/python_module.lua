--[[ nn.PythonModule: a layer of a Lua network that runs in Python.

It is made when Python puts a module into a Lua network (`net:add(module)`, relume.bridge.swap);
`python` is bridge/python_layers.py's Side of that module. Tensors are the same on both sides.
]]

local bridge = require 'relume.bridge'
local class = require 'torch.class'

local PythonModule, parent = torch.class('nn.PythonModule', 'nn.Module')

-- What other Lua code may look at; taken over when it can have changed in Python.
local SEEN = {'weight', 'bias', 'gradWeight', 'gradBias', 'running_mean', 'running_var', 'train', '_type'}

local function take_over(self)
   for _, name in ipairs(SEEN) do self[name] = self.python.field(name) end
   return self
end

function PythonModule:attach(python)
   parent.__init(self)
   self.python = python
   take_over(self)
end
PythonModule.__init = PythonModule.attach

function PythonModule:updateOutput(input)
   self.output = self.python.updateOutput(input)
   return self.output
end

function PythonModule:updateGradInput(input, gradOutput)
   self.gradInput = self.python.updateGradInput(input, gradOutput)
   return self.gradInput
end

function PythonModule:accGradParameters(input, gradOutput, scale)
   self.python.accGradParameters(input, gradOutput, scale or 1)
end

function PythonModule:backward(input, gradOutput, scale)
   local is_derived = self.updateGradInput ~= PythonModule.updateGradInput
      or self.accGradParameters ~= PythonModule.accGradParameters
   if is_derived then return parent.backward(self, input, gradOutput, scale) end
   self.gradInput = self.python.backward(input, gradOutput, scale or 1)
   return self.gradInput
end

function PythonModule:parameters()
   return self.python.parameters()
end

-- What the layer in Python has a method of its own for.
for _, name in ipairs {'training', 'evaluate', 'reset', 'zeroGradParameters', 'updateParameters',
   'clearState', 'accUpdateGradParameters', 'forget', 'remember'} do
   PythonModule[name] = function(self, ...)
      self.python.call(name, ...)
      return take_over(self)
   end
end

function PythonModule:type(name, cache)
   if not name then return self._type end
   self.python.call('type', require('relume.cuda').resolve(name))
   self.output = nn.utils.recursiveType(self.output, name)
   self.gradInput = nn.utils.recursiveType(self.gradInput, name)
   return take_over(self)
end

-- Other fields and attributes are those of the module in Python.
function PythonModule.__index__(self, key)
   local own = class.find(getmetatable(self), key)
   if own ~= nil or key == 'modules' then return own, true end
   local python = rawget(self, 'python')
   if python == nil or type(key) ~= 'string' then return nil, false end
   local value = python.field(key)
   if value == nil and python.has_method(key) then
      value = function(module, ...) return module.python.call(key, ...) end
   end
   return value, true
end

-- A copy is made in Python. Tensors that `seen` keeps stay shared.
function PythonModule:copyOutside(seen)
   local kept = {}
   for original, copied in pairs(seen) do
      if torch.isTensor(original) and rawequal(original, copied) then kept[#kept + 1] = original end
   end
   local twin = self.python.copy(unpack(kept))
   seen[self] = twin
   return twin
end

function PythonModule:share(other, ...)
   for _, name in ipairs {...} do
      local mine, theirs = self[name], other[name]
      if mine ~= nil and theirs ~= nil then mine:set(theirs) end
   end
   return self
end

-- What a file holds in its place: an object of the class that it has in Python.
function PythonModule:saved()
   local typename, fields = self.python.saved()
   local object = {}
   for key, value in pairs(fields) do object[key] = value end
   return setmetatable(object, bridge.written_as(typename))
end

-- An object of a file, of a class that relume has in Python.
function PythonModule:completeFields() end  -- Python has done so

function PythonModule:read(file)
   self:attach(bridge.fill_in_python(torch.typename(self), file:readObject()))
end

-- Fields that Lua code sets are those of the module in Python, but for what belongs to the protocol.
local OF_LUA = {python = true, output = true, gradInput = true}
for _, name in ipairs(SEEN) do OF_LUA[name] = true end

function PythonModule.__newindex__(self, key, value)
   local python = rawget(self, 'python')
   if python == nil or OF_LUA[key] or type(key) ~= 'string' or type(value) == 'function' then return false end
   python.set_field(key, value)
   return true
end

function PythonModule:__tostring__()
   local text = self.python.text()
   return torch.type(self) == 'nn.PythonModule' and 'nn.PythonModule(' .. text .. ')' or text
end

----------------------------------------------------------------------------------------
-- A criterion that runs in Python.

local PythonCriterion, criterion = torch.class('nn.PythonCriterion', 'nn.Criterion')

for _, name in ipairs {'__index__', '__newindex__', 'type', 'clearState', 'copyOutside', 'saved', '__tostring__'} do
   PythonCriterion[name] = rawget(PythonModule, name)
end

function PythonCriterion:attach(python)
   criterion.__init(self)
   self.python = python
   take_over(self)
end
PythonCriterion.__init = PythonCriterion.attach

function PythonCriterion:completeFields() end

function PythonCriterion:read(file)
   self:attach(bridge.fill_in_python(torch.typename(self), file:readObject()))
end

function PythonCriterion:updateOutput(input, target)
   self.output = self.python.updateOutput(input, target)
   return self.output
end

function PythonCriterion:updateGradInput(input, target)
   self.gradInput = self.python.updateGradInput(input, target)
   return self.gradInput
end
