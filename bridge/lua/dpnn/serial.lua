-- nn.Serial: a module that says how completely, and in which type, its tensors are written to files.
local Module = torch.getmetatable 'nn.Module'

local Serial = torch.class('nn.Serial', 'nn.Decorator')

-- Fields that mediumSerial writes empty, and those that lightSerial writes empty too.
Module.dpnn_mediumEmpty = {'output', 'gradInput', 'momGradParams', 'dpnn_input'}
Module.dpnn_lightEmpty = {'gradWeight', 'gradBias'}
Module.dpnn_serialEmpty = {}

-- `typename`, if given, is the type of the tensors in files.
local function set_mode(self, names_of, typename)
   for _, module in ipairs(self:listModules()) do
      module.dpnn_serialEmpty = {unpack(names_of(module))}
      module.dpnn_serialType = typename or module.dpnn_serialType
   end
   return self
end

function Module:serialMode(names, typename)
   return set_mode(self, function() return names end, typename)
end

function Module:heavySerial(typename) return self:serialMode({}, typename) end

function Module:mediumSerial(typename)
   return set_mode(self, function(module) return module.dpnn_mediumEmpty end, typename)
end

function Module:lightSerial(typename)
   return set_mode(self, function(module)
      local names = {unpack(module.dpnn_mediumEmpty)}
      for _, name in ipairs(module.dpnn_lightEmpty) do names[#names + 1] = name end
      return names
   end, typename)
end

function Module:Serial(tensortype) return nn.Serial(self, tensortype) end

function Serial:__init(module, tensortype)
   nn.Decorator.__init(self, module)
   self.tensortype = tensortype
end

-- All tensors in a graph of tables, as what a copy of it keeps.
local function tensors_in(value, kept, seen)
   if torch.isTensor(value) then
      kept[value] = value
   elseif type(value) == 'table' and not seen[value] then
      seen[value] = true
      for _, part in pairs(value) do tensors_in(part, kept, seen) end
   end
   return kept
end

-- Another module on the same tensors, without what is written empty.
local function to_write(module)
   local copy = Module.deepCopy(module, tensors_in(module, {}, {}))
   for _, part in ipairs(copy:listModules()) do
      for _, name in ipairs(part.dpnn_serialEmpty) do
         local value = part[name]
         if torch.isTensor(value) then
            part[name] = value.new()
         elseif type(value) == 'table' then
            part[name] = {}
         end
      end
   end
   return copy
end

-- The file holds a tree without what is empty, all of it in the type for files.
function Serial:write(file)
   local copy, typename = to_write(self), self.tensortype or self.dpnn_serialType
   if typename then copy:type(typename) end
   local fields = {}
   for name, value in pairs(copy) do fields[name] = value end
   file:writeObject(fields)
end

function Serial:read(file)
   for name, value in pairs(file:readObject()) do self[name] = value end
end

-- A copy has what a file would have had.
function Serial:clone(...)
   local file = torch.MemoryFile('rw'):binary()
   file:writeObject(self)
   file:seek(1)
   local copy = file:readObject()
   file:close()
   if select('#', ...) > 0 then copy:share(self, ...) end
   return copy
end
