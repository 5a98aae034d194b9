-- The words of Torch7's errors about arguments. Scripts match on them.
local class = require 'torch.class'

local errors = {}

-- "bad argument #2 to 'narrow' (out of range)", at the caller of the function that failed: the one that
-- calls this, or one `level` - 1 further out. Of methods Lua does not count the object.
function errors.bad_argument(position, text, level)
   level = level or 1
   local info = debug.getinfo(level + 1, 'n') or {}
   if info.namewhat == 'method' then position = position - 1 end
   if position == 0 then error(("calling '%s' on bad self (%s)"):format(info.name, text), level + 2) end
   error(("bad argument #%d to '%s' (%s)"):format(position, info.name or '?', text), level + 2)
end

-- For t[i]: what Torch7 called had no name.
function errors.bad_index(level)
   error("bad argument #2 to '?' (out of range)", level + 1)
end

-- How an argument is called in the list of an "invalid arguments" error.
local function describe(value)
   local name = class.type(value)
   return (name:gsub('^torch%.', ''))
end

-- "invalid arguments: DoubleTensor string": no form of the function takes these.
function errors.invalid_arguments(count, ...)
   if count == 0 then error('invalid arguments: no arguments provided', 3) end
   local words = {}
   for i = 1, count do words[i] = describe((select(i, ...))) end
   error('invalid arguments: ' .. table.concat(words, ' ') .. ' ', 3)
end

function errors.expected(position, wanted, value, level)
   local got = value == nil and 'nil' or class.type(value)
   errors.bad_argument(position, ('%s expected, got %s'):format(wanted, got), (level or 1) + 1)
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
function errors.inconsistent_size(names, tensors, level)
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
      .. ' elements respectively'):format(list(shapes), list(counts)), (level or 1) + 2)
end

return errors
