-- pl.types: questions about values.
local utils = require 'pl.utils'

local types = {is_type = utils.is_type}

local function metamethod(value, name)
   local mt = getmetatable(value)
   return type(mt) == 'table' and mt[name] or nil
end

function types.is_callable(value)
   if type(value) == 'function' then return true end
   local mt = getmetatable(value)
   return type(mt) == 'table' and rawget(mt, '__call') ~= nil
end

-- 'number', 'table', 'file', or the name of a class.
function types.type(value)
   local kind = type(value)
   if kind ~= 'table' and kind ~= 'userdata' then return kind end
   if io.type(value) then return 'file' end
   local mt = getmetatable(value)
   if type(mt) ~= 'table' then return kind end
   return mt._name or 'unknown ' .. kind
end

function types.is_integer(x) return math.ceil(x) == x end

function types.is_empty(value, ignores_spaces)
   if value == nil then return true end
   if type(value) == 'table' then return next(value) == nil end
   if type(value) == 'string' then
      return value == '' or not not ignores_spaces and value:match '^%s+$' ~= nil
   end
   return true
end

function types.is_indexable(value)
   if type(value) == 'table' then return true end
   return metamethod(value, '__len') ~= nil and metamethod(value, '__index') ~= nil or nil
end

function types.is_iterable(value)
   if type(value) == 'table' then return true end
   return metamethod(value, '__pairs') ~= nil or nil
end

function types.is_writeable(value)
   if type(value) == 'table' then return true end
   return metamethod(value, '__newindex') ~= nil or nil
end

local words_for_true = {yes = true, y = true, ['true'] = true, t = true, ['1'] = true}

function types.to_bool(value, more_words, checks_objects)
   if value == nil then return false end
   local kind = type(value)
   if kind == 'string' then
      value = value:lower()
      if words_for_true[value] then return true end
      if more_words then
         if type(more_words) == 'table' then
            for _, word in ipairs(more_words) do
               if value == tostring(word):lower() then return true end
            end
         end
      end
      return false
   elseif kind == 'boolean' then
      return value
   elseif kind == 'number' then
      return value ~= 0
   elseif checks_objects then
      return kind ~= 'table' or next(value) ~= nil
   end
   return false
end

return types
