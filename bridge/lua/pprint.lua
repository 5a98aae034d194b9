-- The package `pprint`: tables and tensors as indented text.
require 'torch'

local pprint = {}

local function text_of(value, indent, seen)
   if type(value) ~= 'table' or torch.typename(value) or seen[value] then
      return type(value) == 'string' and ('%q'):format(value) or tostring(value)
   end
   if next(value) == nil then return '{}' end
   seen[value] = true
   local keys = {}
   for key in pairs(value) do keys[#keys + 1] = key end
   table.sort(keys, function(a, b)
      if type(a) == type(b) and (type(a) == 'number' or type(a) == 'string') then return a < b end
      return type(a) == 'number' and type(b) ~= 'number'
   end)
   local lines, inside = {}, indent .. '  '
   for _, key in ipairs(keys) do
      lines[#lines + 1] = ('%s%s : %s'):format(inside, tostring(key), text_of(value[key], inside, seen))
   end
   seen[value] = nil
   return '{\n' .. table.concat(lines, '\n') .. '\n' .. indent .. '}'
end

function pprint.pretty_string(value) return text_of(value, '', {}) end
pprint.string = pprint.pretty_string

function pprint.pprint(...)
   for i = 1, select('#', ...) do io.write(pprint.pretty_string((select(i, ...))), '\n') end
end

_G.pprint = setmetatable(pprint, {__call = function(_, ...) pprint.pprint(...) end})
return pprint
