-- nn.utils: walks over tensors in nested tables.
local cuda = require 'relume.cuda'

local utils = {}
nn.utils = utils

-- Converts every tensor in `value`, in place where it is a table; `cache` keeps shared
-- tensors shared.
function utils.recursiveType(value, name, cache)
   cache = cache or {}
   name = cuda.resolve(name)
   if torch.isTensor(value) then
      if value:type() == name then return value end
      if torch.typename(value) == 'torch.LongTensor' or torch.typename(value) == 'torch.ByteTensor' then
         return value
      end
      local key = torch.pointer(value)
      if cache[key] then return cache[key] end
      local converted = torch.getconstructortable(name)()
      if value:storage() then
         local memory_key = 'storage ' .. torch.pointer(value:storage())
         cache[memory_key] = cache[memory_key]
            or value:storage():type((name:gsub('Tensor$', 'Storage')))
         converted:set(cache[memory_key], value:storageOffset(), value:size(), value:stride())
      end
      cache[key] = converted
      return converted
   elseif torch.isTypeOf(value, 'nn.Module') or torch.isTypeOf(value, 'nn.Criterion') then
      value:type(name, cache)  -- classes that override it need not return themselves
   elseif type(value) == 'table' then
      if cache[value] then return value end
      cache[value] = true
      for key, part in pairs(value) do value[key] = utils.recursiveType(part, name, cache) end
   end
   return value
end

-- Gives `t1` the nesting and the sizes of `t2`.
function utils.recursiveResizeAs(t1, t2)
   if type(t2) == 'table' then
      t1 = type(t1) == 'table' and t1 or {t1}
      for key, part in pairs(t2) do t1[key] = utils.recursiveResizeAs(t1[key], part) end
      for key in pairs(t1) do
         if t2[key] == nil then t1[key] = nil end
      end
   else
      t1 = torch.isTensor(t1) and t1 or t2.new()
      t1:resize(t2:size())
   end
   return t1, t2
end

local function each_pair(f)
   local function walk(t1, t2, ...)
      if type(t2) == 'table' then
         t1 = type(t1) == 'table' and t1 or {t1}
         for key, part in pairs(t2) do t1[key] = walk(t1[key], part, ...) end
         return t1
      end
      return f(t1, t2, ...)
   end
   return function(t1, t2, ...) return walk(t1, t2, ...), t2 end
end

utils.recursiveCopy = each_pair(function(t1, t2)
   t1 = torch.isTensor(t1) and t1 or t2.new()
   return t1:resize(t2:size()):copy(t2)
end)

function utils.recursiveAdd(t1, value, t2)
   if not t2 then value, t2 = 1, value end
   if type(t2) == 'table' then
      for key, part in pairs(t2) do utils.recursiveAdd(t1[key], value, part) end
   else
      t1:add(value, t2)
   end
   return t1, t2
end

function utils.recursiveFill(t, value)
   if torch.isTensor(t) then
      t:fill(value)
   else
      for _, part in pairs(t) do utils.recursiveFill(part, value) end
   end
   return t
end

function utils.addSingletonDimension(...)
   local view, t, dim
   if select('#', ...) < 3 then
      t, dim = ...
   else
      view, t, dim = ...
   end
   view = view or t.new()
   if dim and (dim < 1 or dim > t:dim() + 1) then
      error(('dimension %d is not in 1..%d'):format(dim, t:dim() + 1), 2)
   end
   local sizes = t:size():totable()
   table.insert(sizes, dim or 1, 1)
   local strides = t:stride():totable()
   table.insert(strides, dim or 1, dim and dim <= #strides and strides[dim] * t:size(dim) or 1)
   return view:set(t:storage(), t:storageOffset(), torch.LongStorage(sizes), torch.LongStorage(strides))
end

function utils.contiguousView(output, input, ...)
   output = output or input.new()
   if input:isContiguous() then return output:view(input, ...) end
   return output:resize(input:size()):copy(input):view(...)
end

-- Empties fields: tensors lose their elements, tables their entries.
function utils.clear(self, ...)
   local names = {...}
   if type(names[1]) == 'table' then names = names[1] end
   for _, name in ipairs(names) do
      local value = self[name]
      if torch.isTensor(value) then
         value:set()
      elseif type(value) == 'table' then
         self[name] = {}
      else
         self[name] = nil
      end
   end
   return self
end

function utils.hasBiasTest() return true end

return utils
