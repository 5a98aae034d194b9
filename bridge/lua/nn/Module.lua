-- nn.Module: the protocol that every layer follows.
local class = require 'torch.class'
local cuda = require 'relume.cuda'

local Module = torch.class 'nn.Module'

function Module:__init()
   self.gradInput = torch.Tensor()
   self.output = torch.Tensor()
   self._type = self.output:type()
end

function Module:updateOutput(input)
   return self.output
end

function Module:updateGradInput(input, gradOutput)
   return self.gradInput
end

function Module:accGradParameters(input, gradOutput, scale)
end

function Module:forward(input)
   return self:updateOutput(input)
end

function Module:backward(input, gradOutput, scale)
   scale = scale or 1
   self:updateGradInput(input, gradOutput)
   self:accGradParameters(input, gradOutput, scale)
   return self.gradInput
end

function Module:backwardUpdate(input, gradOutput, lr)
   self:updateGradInput(input, gradOutput)
   self:accUpdateGradParameters(input, gradOutput, lr)
   return self.gradInput
end

-- One step of gradient descent without keeping the gradient.
function Module:accUpdateGradParameters(input, gradOutput, lr)
   if self.shared then return self:sharedAccUpdateGradParameters(input, gradOutput, lr) end
   return self:defaultAccUpdateGradParameters(input, gradOutput, lr)
end

-- The gradient goes straight into the parameters, which stand in for their gradients.
function Module:defaultAccUpdateGradParameters(input, gradOutput, lr)
   local weight, bias = self.gradWeight, self.gradBias
   self.gradWeight, self.gradBias = self.weight, self.bias
   self:accGradParameters(input, gradOutput, -lr)
   self.gradWeight, self.gradBias = weight, bias
end

function Module:sharedAccUpdateGradParameters(input, gradOutput, lr)
   if self:parameters() then
      self:zeroGradParameters()
      self:accGradParameters(input, gradOutput, 1)
      self:updateParameters(lr)
   end
end

function Module:reset()
end

----------------------------------------------------------------------------------------
-- Parameters.

function Module:parameters()
   if self.weight and self.bias then
      return {self.weight, self.bias}, {self.gradWeight, self.gradBias}
   elseif self.weight then
      return {self.weight}, {self.gradWeight}
   elseif self.bias then
      return {self.bias}, {self.gradBias}
   end
end

function Module:zeroGradParameters()
   local _, gradients = self:parameters()
   for _, gradient in ipairs(gradients or {}) do gradient:zero() end
end

function Module:updateParameters(learningRate)
   local parameters, gradients = self:parameters()
   for i, parameter in ipairs(parameters or {}) do parameter:add(-learningRate, gradients[i]) end
end

-- All parameters as one vector, and all gradients; they become views of it from then on.
function Module:getParameters()
   local parameters, gradients = self:parameters()
   local flat = nn.Module.flatten(parameters)
   local flat_gradients = nn.Module.flatten(gradients)
   if flat:nElement() ~= flat_gradients:nElement() then
      error('check that you are sharing parameters and gradParameters', 2)
   end
   -- weights that are one in memory must have gradients that are one as well
   local where = {}
   for i, parameter in ipairs(parameters) do
      local place, gradient_place = parameter:storageOffset(), gradients[i]:storageOffset()
      if where[place] and where[place] ~= gradient_place then
         error('check that you are sharing parameters and gradParameters', 2)
      end
      where[place] = gradient_place
   end
   return flat, flat_gradients
end

-- What each storage's used part becomes: {storage address -> list of used ranges}.
local function used_ranges(tensors)
   local ranges = {}
   for _, tensor in ipairs(tensors) do
      if tensor:nElement() > 0 then
         local last = tensor:storageOffset()
         for d = 1, tensor:dim() do last = last + (tensor:size(d) - 1) * tensor:stride(d) end
         local key = torch.pointer(tensor:storage())
         local list = ranges[key] or {storage = tensor:storage(), order = tensor}
         ranges[key] = list
         table.insert(list, {tensor:storageOffset(), last})
      end
   end
   return ranges
end

-- Joins tensors into one vector, in order, storage by storage; overlapping ones stay one.
function Module.flatten(tensors)
   if not tensors or #tensors == 0 then return torch.Tensor() end
   local ranges = used_ranges(tensors)
   local flat = tensors[1].new()
   local start_of, total = {}, 0  -- storage -> list of {first, last, start in flat}
   for _, tensor in ipairs(tensors) do
      local key = tensor:nElement() > 0 and torch.pointer(tensor:storage())
      if key and not start_of[key] then
         local list = ranges[key]
         table.sort(list, function(a, b) return a[1] < b[1] end)
         local merged = {}
         for _, range in ipairs(list) do
            local previous = merged[#merged]
            if previous and range[1] <= previous[2] then
               previous[2] = math.max(previous[2], range[2])
            else
               merged[#merged + 1] = {range[1], range[2]}
            end
         end
         for _, range in ipairs(merged) do
            range[3] = total
            total = total + range[2] - range[1] + 1
         end
         start_of[key] = merged
      end
   end
   flat:resize(total)
   local function place(key, offset)
      for _, range in ipairs(start_of[key]) do
         if offset >= range[1] and offset <= range[2] then return range[3] + offset - range[1] + 1 end
      end
   end
   local memory, places = flat:storage(), {}
   for i, tensor in ipairs(tensors) do
      if tensor:nElement() > 0 then
         places[i] = place(torch.pointer(tensor:storage()), tensor:storageOffset())
         tensor.new(memory, places[i], tensor:size(), tensor:stride()):copy(tensor)
      end
   end
   -- a layer that is used twice has its tensors in the list twice
   for i, start in pairs(places) do
      tensors[i]:set(memory, start, tensors[i]:size(), tensors[i]:stride())
   end
   return flat
end

----------------------------------------------------------------------------------------
-- Copies and types.

-- Copies a graph of tables and objects; identity inside it is kept. What `seen` has as its own copy
-- stays as it is.
local function deep_copy(value, seen)
   if torch.isTensor(value) then
      if seen[value] then return seen[value] end
      local key = value:storage() and torch.pointer(value:storage())
      local copy = value.new()
      if key then
         seen[key] = seen[key] or value:storage().new(value:storage():size()):copy(value:storage())
         copy:set(seen[key], value:storageOffset(), value:size(), value:stride())
      end
      seen[value] = copy
      return copy
   elseif torch.isStorage(value) then
      local key = torch.pointer(value)
      seen[key] = seen[key] or value.new(value:size()):copy(value)
      return seen[key]
   elseif type(value) == 'table' and not class.is_constructor(value) then
      if seen[value] then return seen[value] end
      local mt = getmetatable(value)
      if mt and class.find(mt, 'copyOutside') then return value:copyOutside(seen) end
      local copy = {}
      seen[value] = copy
      for key, part in next, value do copy[deep_copy(key, seen)] = deep_copy(part, seen) end
      return setmetatable(copy, getmetatable(value))
   end
   return value
end

Module.deepCopy = deep_copy

-- A deep copy that shares the named fields with the original.
function Module:clone(...)
   local copy = deep_copy(self, {})
   if select('#', ...) > 0 then copy:share(self, ...) end
   return copy
end

function Module:share(other, ...)
   for _, name in ipairs {...} do
      if self[name] ~= nil then
         self[name]:set(other[name])
         self.shared = true
         other.shared = true
      end
   end
   return self
end

function Module:type(name, cache)
   if not name then return self._type end
   name = cuda.resolve(name)
   cache = cache or {}
   for key, value in pairs(self) do
      self[key] = nn.utils.recursiveType(value, name, cache)
   end
   self._type = name
   return self
end

function Module:float(...) return self:type('torch.FloatTensor', ...) end
function Module:double(...) return self:type('torch.DoubleTensor', ...) end
function Module:cuda(...) return self:type('torch.CudaTensor', ...) end

function Module:clearState()
   return nn.utils.clear(self, 'output', 'gradInput')
end

----------------------------------------------------------------------------------------
-- Modes, walks and names.

function Module:training() self.train = true end
function Module:evaluate() self.train = false end

function Module:apply(callback)
   callback(self)
   for _, module in ipairs(self.modules or {}) do module:apply(callback) end
end

function Module:listModules()
   local list = {}
   self:apply(function(module) list[#list + 1] = module end)
   return list
end

-- The modules of a class, and the containers they are in.
function Module:findModules(typename, container)
   container = container or self
   local found, containers = {}, {}
   if torch.typename(self) == typename then
      found[1], containers[1] = self, container
   end
   for _, module in ipairs(self.modules or {}) do
      local inner, inner_containers = module:findModules(typename, self)
      for i, one in ipairs(inner) do
         found[#found + 1], containers[#containers + 1] = one, inner_containers[i]
      end
   end
   return found, containers
end

-- Puts callback(module) in the place of each module, from the inside out.
function Module:replace(callback)
   if self.modules then
      for i, module in ipairs(self.modules) do self.modules[i] = module:replace(callback) end
   end
   return callback(self)
end

-- What stands in for a class that came from a file and that no Lua code has defined.
local Undefined = torch.class('nn.Undefined', 'nn.Module')

function Undefined:updateOutput()
   local name = torch.type(self)
   error(("no Lua code has defined the class %s; define it with torch.class('%s', 'nn.Module'), or"
      .. " load the Lua file or package that does"):format(name, name), 2)
end

function Module:__tostring__()
   return torch.type(self)
end

function Module:__call__(...)
   if nngraph then return nngraph.make_node(self, ...) end
   return self:forward(...)
end
