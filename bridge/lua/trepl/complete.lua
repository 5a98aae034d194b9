-- What can stand at the end of a line: names of variables, fields and methods.
local class = require 'torch.class'

local keywords = {
   'and', 'break', 'do', 'else', 'elseif', 'end', 'false', 'for', 'function', 'if', 'in', 'local', 'nil', 'not',
   'or', 'repeat', 'return', 'then', 'true', 'until', 'while',
}

-- The tables in which Lua looks for a field of a value, one after another.
local function places_of(value)
   local places = {}
   if type(value) == 'table' then places[1] = value end
   local mt = class.metatable_of(value) or getmetatable(value)
   while type(mt) == 'table' and #places < 20 do
      places[#places + 1] = mt
      local index = rawget(mt, '__index')
      if type(index) == 'table' then places[#places + 1] = index end
      mt = getmetatable(mt)
   end
   return places
end

-- The value of a path of names such as `a.b.c`; nil if it breaks off. Nothing is called but __index.
local function value_of(path)
   local value = _G
   for name in path:gmatch '[%a_][%w_]*' do
      local ok, found = pcall(function() return value[name] end)
      if not ok or found == nil then return nil end
      value = found
   end
   return value
end

local function starts_with(text, beginning) return text:sub(1, #beginning) == beginning end

-- The candidates for the last word of a line, each a whole word such as `torch.randn(`.
return function(line)
   local word = line:match '[%a_][%w_.:]*$' or ''
   local path, sign, beginning = word:match '^(.-)([.:])([%w_]*)$'
   local found, seen = {}, {}
   local function add(name, value)
      if type(name) ~= 'string' or seen[name] or not starts_with(name, beginning) then return end
      if not name:find '^[%a_][%w_]*$' or starts_with(name, '__') and beginning == '' then return end
      if sign == ':' and type(value) ~= 'function' then return end
      seen[name] = true
      local ending = type(value) == 'function' and '(' or type(value) == 'table' and not class.typename(value)
         and getmetatable(value) == nil and '.' or ''
      found[#found + 1] = (path and path .. sign or '') .. name .. ending
   end
   if not path then
      beginning = word
      for _, name in ipairs(keywords) do add(name) end
   end
   local value = path and value_of(path)
   if not path then value = _G end
   if value ~= nil then
      for _, place in ipairs(places_of(value)) do
         for name, field in pairs(place) do add(name, field) end
      end
   end
   table.sort(found)
   return found
end
