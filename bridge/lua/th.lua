-- What the `th` front end gave scripts: a `print` that writes tables out. Several values, and single
-- ones that are no tables, end in a tab.
require 'torch'
local class = require 'torch.class'
local core = require 'relume.ffi'

-- A value inside a table.
local function short_text(value)
   if core.is_tensor(value) then
      local name = class.typename(value):gsub('^torch%.', '')
      if value:dim() == 0 then return name .. ' - empty' end
      return ('%s - size: %s'):format(name, table.concat(value:size():totable(), 'x'))
   elseif core.is_storage(value) then
      return ('%s - size: %d'):format(class.typename(value):gsub('^torch%.', ''), value:size())
   elseif type(value) == 'string' then
      return '"' .. value .. '"'
   end
   return tostring(value)
end

local function has_text(value)
   local mt = getmetatable(value)
   return type(mt) == 'table' and mt.__tostring ~= nil
end

local function write_table(list, indent, seen)
   if next(list) == nil then
      io.write(indent, '{}\n')
      return
   end
   seen[list] = true
   io.write(indent, '{\n')
   for key, value in pairs(list) do
      io.write(indent, '  ', tostring(key), ' : ')
      if type(value) == 'table' and not has_text(value) and not seen[value] then
         io.write('\n')
         write_table(value, indent .. '    ', seen)
      else
         io.write(short_text(value), '\n')
      end
   end
   io.write(indent, '}\n')
   seen[list] = nil
end

function print(...)
   local ends_line = false
   for i = 1, select('#', ...) do
      local value = select(i, ...)
      ends_line = true
      if type(value) == 'table' and not has_text(value) then
         write_table(value, '', {})
      elseif type(value) == 'table' or type(value) == 'userdata' then
         io.write(tostring(value), '\n')
      else
         io.write(tostring(value), '\t')
         ends_line = false
      end
   end
   if not ends_line then io.write('\n') end
end

return print
