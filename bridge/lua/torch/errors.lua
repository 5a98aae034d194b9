-- The words of Torch7's errors about arguments. Scripts match on them.
local class = require 'torch.class'

local errors = {}

local package_folder = debug.getinfo(1, 'S').source:match('^(.*/)errors%.lua$')

-- The function of this package that code outside of it has called: its level as seen by the caller of
-- this function, and what Lua knows of its name.
local function outermost()
   local level = 3
   while true do
      local info = debug.getinfo(level + 1, 'S')
      if not info or info.source:sub(1, #package_folder) ~= package_folder then break end
      level = level + 1
   end
   return level - 1, debug.getinfo(level, 'n') or {}
end

-- "bad argument #2 to 'narrow' (out of range)", where the function was called. Of methods Lua does not
-- count the object.
function errors.bad_argument(position, text)
   local level, info = outermost()
   if info.namewhat == 'method' then position = position - 1 end
   if position == 0 then error(("calling '%s' on bad self (%s)"):format(info.name, text), level + 1) end
   error(("bad argument #%d to '%s' (%s)"):format(position, info.name or '?', text), level + 1)
end

-- For t[i] and operators: what Torch7 called had no name.
function errors.bad_operand(position, text)
   error(("bad argument #%d to '?' (%s)"):format(position, text), outermost() + 1)
end

-- How an argument is called in the list of an "invalid arguments" error.
local function describe(value)
   local kind = class.lua_type(value)
   if kind == 'function' then return '???' end
   if kind == 'string' and tonumber(value) then return 'number' end
   return (class.type(value):gsub('^torch%.', ''))
end

-- "invalid arguments: DoubleTensor string": no form of the function takes these.
function errors.invalid_arguments(count, ...)
   local level = outermost() + 1
   if count == 0 then error('invalid arguments: no arguments provided', level) end
   local words = {}
   for i = 1, count do words[i] = describe((select(i, ...))) end
   error('invalid arguments: ' .. table.concat(words, ' ') .. ' ', level)
end

function errors.expected(position, wanted, value)
   local got = value == nil and 'nil' or class.type(value)
   errors.bad_argument(position, ('%s expected, got %s'):format(wanted, got))
end

-- The same of an argument that is to be an object. Of what is none Torch7 looked at the one in front of it.
function errors.expected_object(position, wanted, value, previous)
   local got = class.typename(value) or class.lua_type(previous)
   errors.bad_argument(position, ('%s expected, got %s'):format(wanted, got))
end

-- "[2 x 3]"
local function shape_text(tensor)
   if tensor._numel == 0 then return '[]' end
   local sizes = {}
   for i = 0, tensor._ndim - 1 do sizes[#sizes + 1] = tostring(tonumber(tensor._shape[i])) end
   return '[' .. table.concat(sizes, ' x ') .. ']'
end
errors.shape_text = shape_text

-- "inconsistent tensor size, expected r_ [2 x 3] and src [7] to have the same number of
-- elements, but got 6 and 7 elements respectively"
function errors.inconsistent_size(names, tensors)
   local shapes, counts = {}, {}
   for i, tensor in ipairs(tensors) do
      shapes[i] = names[i] .. ' ' .. shape_text(tensor)
      counts[i] = tostring(tonumber(tensor._numel))
   end
   local function list(words)
      local last = table.remove(words)
      return table.concat(words, ', ') .. ' and ' .. last
   end
   error(('inconsistent tensor size, expected %s to have the same number of elements, but got %s'
      .. ' elements respectively'):format(list(shapes), list(counts)), outermost() + 1)
end

return errors
