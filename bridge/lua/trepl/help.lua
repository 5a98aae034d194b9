-- `? name`: what a value is, where a function is from and what its source says about it.
local class = require 'torch.class'

local GENERAL = [[
Lua at a prompt, with relume's torch.

   an expression        its value is printed; a line that ends in ; prints nothing
   = expression         the same
   ? name               about a function, a class or a package, such as ? torch.randn
   $ command            runs a command of the shell
   <Tab>                completes names, fields and methods, and files inside quotes
   <Up>, <Down>         lines that were typed before
   Ctrl-C               stops what is running (compiled loops of files: after they are done)
   Ctrl-D, exit()       leaves

   _LAST, _RESULTS      the last value, and all of them
   who()                the global variables
   import 'package'     makes the functions of a package global
]]

-- The comment above line `first` of a file, and that line.
local function source_of(path, first)
   local lines = {}
   local file = io.open(path)
   if not file then return nil end
   for line in file:lines() do
      lines[#lines + 1] = line
      if #lines == first then break end
   end
   file:close()
   local comment = {}
   for i = first - 1, 1, -1 do
      local text = lines[i]:match '^%s*%-%-%s?(.*)$'
      if not text or text:find '^%-%-%-' then break end
      table.insert(comment, 1, text)
   end
   return comment, lines[first]
end

local function about_function(f)
   local info = debug.getinfo(f, 'S')
   if info.what == 'C' then return 'a function of Lua or of C' end
   local path = info.source:match '^@(.*)$'
   local text = ('a function, from line %d of %s'):format(info.linedefined, path or info.short_src)
   local comment, line = source_of(path or '', info.linedefined)
   if line then text = text .. '\n   ' .. line:match '^%s*(.-)%s*$' end
   if comment and #comment > 0 then text = text .. '\n   ' .. table.concat(comment, '\n   ') end
   return text
end

local function names_in(value)
   local names = {}
   for name in pairs(value) do
      if type(name) == 'string' and not name:find '^__' then names[#names + 1] = name end
   end
   table.sort(names)
   return table.concat(names, ', ')
end

-- The registered operation that a function of torch is made of, as the core describes it.
local function about_operation(name)
   local short = name:match '^torch%.([%w_]+)$'
   local text = short and require('relume.bridge').import('operations').describe(short)
   return text and '\n   ' .. text:gsub('\n', '\n   ') or ''
end

local function about_class(name)
   local mt = class.getmetatable(name)
   local above = table.concat(class.ancestors(name), ', ')
   local text = name .. ': a class' .. (above ~= '' and ', child of ' .. above or '')
   local constructor = class.find(mt, '__init')
   if constructor then text = text .. '\n   constructor: ' .. about_function(constructor) end
   return text .. '\n   methods: ' .. names_in(mt)
end

return function(name)
   name = name:match '^%s*(.-)%s*$'
   if name == '' then return GENERAL end
   if class.getmetatable(name) then return about_class(name) end
   local chunk = loadstring('return ' .. name)
   local ok, value = pcall(chunk or error)
   if not ok or value == nil then return ("there is no '%s' (packages are there after require)"):format(name) end
   if type(value) == 'function' then return name .. ': ' .. about_function(value) .. about_operation(name) end
   local class_name = class.typename(value)
   if class_name then return ('%s: an object of %s'):format(name, about_class(class_name)) end
   if type(value) ~= 'table' then return ('%s: %s, %s'):format(name, type(value), tostring(value)) end
   return ('%s: a table with %s'):format(name, names_in(value))
end
