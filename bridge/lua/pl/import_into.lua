-- pl.import_into: a function that lets a table find Penlight's modules, loaded when they are first used.
local names = {}
for name in ([[utils path dir tablex stringio input seq stringx config pretty data func text operator lapp array2d
   types test app file class List Map Set OrderedMap MultiMap permute template strict url compat]]):gmatch '%S+' do
   names[name] = true
end

-- `environment` true: the functions of modules are looked up too, in a table of its own.
return function(environment)
   local modules
   if environment == true then
      modules, environment = {}, {}
   end
   environment = environment or {}
   local before = getmetatable(environment)
   local find = before and before.__index

   local function index(t, name)
      if find then
         local value
         if type(find) == 'function' then value = find(t, name) else value = find[name] end
         if value ~= nil then return value end
      end
      if not names[name] then return nil end
      local ok, module = pcall(require, 'pl.' .. name)
      if not ok then error(module, 0) end
      rawset(t, name, module)
      if modules then modules[name] = module end
      return module
   end

   setmetatable(environment, {
      __index = index,
      __newindex = before and before.__newindex,
   })
   if modules then return environment, modules end
   return environment
end
