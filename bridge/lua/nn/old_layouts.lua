-- Layers and criterions of files as today's classes expect them: what changed in their fields over the
-- years (legacy_nn/tables/layout_changes.json, which Python reads as well), and what people removed
-- before they saved a network.
local class = require 'torch.class'
local core = require 'relume.ffi'
local formulas = require 'nn.formulas'

local old_layouts = {}

-- What a row of the table does that is no default, by name: f(object). Package rnn adds its own.
local upgrades = {}
old_layouts.upgrades = upgrades

-- Old convolutions and poolings: `padding` for both directions.
function upgrades.padding_of_one_number(self)
   local padding = rawget(self, 'padding')
   if type(padding) ~= 'number' then return end
   self.padW = rawget(self, 'padW') or padding
   self.padH = rawget(self, 'padH') or padding
end

-- Old batch normalisation kept running_std = 1 / sqrt(var + eps).
function upgrades.variance_from_std(self)
   local std = rawget(self, 'running_std')
   if not std then return end
   self.running_std = nil
   self.running_var = rawget(self, 'running_var')
      or torch.cmul(std, std):cinv():add(-(rawget(self, 'eps') or 1e-5))
end

function upgrades.add_target_buffers(self)
   local Tensor = torch.getconstructortable(rawget(self, '_type') or 'torch.DoubleTensor')
   self.output_tensor = rawget(self, 'output_tensor') or Tensor(1):zero()
   self.total_weight_tensor = rawget(self, 'total_weight_tensor') or Tensor(1):fill(1)
   self.target = rawget(self, 'target') or torch.LongTensor(1):zero()
end

-- Old views had only their size.
function upgrades.count_view_elements(self)
   if rawget(self, 'numElements') or not rawget(self, 'size') then return end
   local count = 1
   for i = 1, #self.size do count = count * math.abs(self.size[i]) end
   self.numElements = count
end

-- Old graphs do not say how many inputs they have: as many as the input node has children.
function upgrades.count_graph_inputs(self)
   local inner = rawget(self, 'innode')
   if rawget(self, 'nInputs') or not inner then return end
   local children = inner.children or {}
   if #children == 1 then
      self.nInputs = children[1].data.nSplitOutputs or 1
   else
      self.nInputs = math.max(1, #children)
   end
end

-- The LeakyReLU of waifu2x, from before nn had one.
function upgrades.negative_scale(self)
   self.negval = rawget(self, 'negval') or rawget(self, 'negative_scale')
end

----------------------------------------------------------------------------------------

local changes_by_name = {}
for _, row in ipairs(formulas.load_table 'layout_changes') do
   local list = changes_by_name[row.typename] or {}
   changes_by_name[row.typename] = list
   list[#list + 1] = row
end

-- What changed in a class and in those that it is derived from, the most special first.
local function changes_of(mt)
   local list = {}
   while mt do
      for _, row in ipairs(changes_by_name[rawget(mt, '__typename')] or {}) do list[#list + 1] = row end
      mt = getmetatable(mt)
   end
   return list
end

local function upgrade(object)
   local changes = changes_of(getmetatable(object))
   for i = #changes, 1, -1 do
      local change = upgrades[changes[i].upgrade]
      if change then change(object) end
   end
   for _, row in ipairs(changes) do
      if not row.upgrade and rawget(object, row.fields) == nil then object[row.fields] = row.default end
   end
end

----------------------------------------------------------------------------------------
-- What was removed before saving.

local parameters = {'weight', 'bias', 'running_mean', 'running_var'}
local buffers = {'output', 'gradInput', 'gradWeight', 'gradBias', 'running_mean', 'running_var'}

-- All floating tensors of a layer get the type of its parameters: a network that was made smaller may mix them.
local function unify_types(object)
   local typename
   for _, name in ipairs(parameters) do
      local tensor = rawget(object, name)
      if torch.isTensor(tensor) then typename = typename or tensor:type() end
   end
   if not typename then return end
   for _, name in ipairs(buffers) do
      local tensor = rawget(object, name)
      local row = core.tensor_row(tensor)
      if row and not row.integer and row.tensor_class ~= typename then object[name] = tensor:type(typename) end
   end
   if class.isTypeOf(object, 'nn.Module') then object._type = typename end
end

-- Layers whose output or gradient is a table.
local tables = {
   output = {'ConcatTable', 'FlattenTable', 'MapTable', 'NarrowTable', 'ParallelTable', 'ReverseTable',
      'SplitTable', 'ZipTableOneToMany'},
   gradInput = {'CAddTable', 'CDivTable', 'CMulTable', 'CSubTable', 'DotProduct', 'FlattenTable', 'JoinTable', 'MM',
      'MapTable', 'NarrowTable', 'PairwiseDistance', 'ParallelTable', 'ReverseTable', 'SelectTable',
      'ZipTableOneToMany'},
}
for _, list in pairs(tables) do
   for _, name in ipairs(list) do list['nn.' .. name] = true end
end

-- The gradient of a parameter without one: layers that share the parameter share it.
local function gradient_for(parameter, known)
   local place = parameter:storage() and ('%d %d'):format(torch.pointer(parameter:storage()), parameter:storageOffset())
   local found = place and known[place] or parameter.new():resizeAs(parameter):zero()
   if place then known[place] = found end
   return found.new():set(found)
end

local function complete_buffers(object, known)
   local Tensor = torch.getconstructortable(rawget(object, '_type') or torch.getdefaulttensortype())
   for name, is_table in pairs(tables) do
      if rawget(object, name) == nil then
         object[name] = is_table[class.typename(object)] and {} or Tensor()
      end
   end
   for _, name in ipairs {'Weight', 'Bias'} do
      local parameter, gradient = rawget(object, name:lower()), 'grad' .. name
      if torch.isTensor(parameter) and rawget(object, gradient) == nil then
         object[gradient] = gradient_for(parameter, known)
      end
   end
end

local function changes_type(module)
   return class.isTypeOf(module, 'nn.Copy') or class.isTypeOf(module, 'nn.DontCast')
end

-- The type of the parameters inside `modules`: nil where there are none or several, and where a layer
-- is there to change it.
local function type_inside(modules, found)
   for _, module in ipairs(modules) do
      if changes_type(module) then return nil end
      for _, name in ipairs(parameters) do
         local tensor = rawget(module, name)
         if torch.isTensor(tensor) then
            if found and tensor:type() ~= found then return nil end
            found = tensor:type()
         end
      end
      if rawget(module, 'modules') then found = type_inside(module.modules, found) end
   end
   return found
end

-- Layers without parameters, which may say another type or none, have that of the others.
local function unify_container(object)
   local modules = rawget(object, 'modules')
   local typename = type(modules) == 'table' and not changes_type(object) and type_inside(modules)
   if not typename then return end
   object._type = typename
   for _, module in ipairs(modules) do
      for name in pairs(tables) do
         local buffer = rawget(module, name)
         if torch.isTensor(buffer) and buffer:type() ~= typename then module:type(typename) end
      end
   end
end

-- Gives a layer or criterion that was read the fields that it has today. `known` is a table for all that was
-- read together.
function nn.Criterion:completeFields()
   upgrade(self)
   unify_types(self)
end

function nn.Module:completeFields(known)
   upgrade(self)
   unify_types(self)
   complete_buffers(self, known)
   unify_container(self)
end

return old_layouts
