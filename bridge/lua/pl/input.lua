-- pl.input: words, numbers and fields of a source, which is a string or has a `read` method.
local utils = require 'pl.utils'

local input = {}

function input.create_getter(source)
   if type(source) == 'string' then
      local lines = (source .. (source:find '\n$' and '' or '\n')):gmatch '([^\n]*)\n'
      return function() return lines() end
   end
   source = source or io.stdin
   if not source.read then error('not a file-like object', 2) end
   return function() return source:read() end
end

function input.alltokens(getter, pattern, convert)
   local line, place = getter(), 1
   return function()
      while line do
         local first, last = line:find(pattern, place)
         if first then
            place = last + 1
            local token = line:sub(first, last)
            if convert then token = convert(token) end
            return token
         end
         line, place = getter(), 1
      end
   end
end

function input.numbers(source)
   return input.alltokens(input.create_getter(source), '%-?[%d.]+[eE]?[%+%-]?%d*', tonumber)
end

function input.words(source)
   return input.alltokens(input.create_getter(source), '%w+')
end

-- Chosen fields of each line, as numbers; lines that have too few are left out.
function input.fields(ids, separator, source, options)
   options = options or {}
   if type(ids) == 'number' then ids = require('pl.tablex').range(1, ids) end
   separator = (not separator or separator == ' ') and '%s+' or separator
   local getter, count, highest = input.create_getter(source), 0, 0
   for _, id in ipairs(ids) do highest = math.max(highest, id) end
   return function()
      while true do
         local line = getter()
         if not line then return nil end
         count = count + 1
         local fields = utils.split(line:match '^%s*(.-)%s*$', separator)
         if #fields >= highest then
            local values = {}
            for i, id in ipairs(ids) do
               values[i] = fields[id]
               if not options.no_convert then
                  values[i] = tonumber(fields[id])
                  if values[i] == nil then
                     if not options.no_fail then
                        utils.quit(1, 'line %d: cannot convert \'%s\' to number', count, fields[id])
                     end
                     values[i] = fields[id]
                  end
               end
            end
            return unpack(values)
         end
      end
   end
end

return input
