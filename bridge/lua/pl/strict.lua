-- pl.strict: tables in which variables must be declared before they are used; the globals are one.
local strict = {}

local function is_declaring(level)
   local caller = debug.getinfo(level, 'S')
   return not caller or caller.what == 'main' or caller.what == 'C'
end

function strict.module(name, module, predeclared)
   local known = {}
   for key in pairs(predeclared or {}) do known[key] = true end
   local mt = {}
   if module then mt = getmetatable(module) or {} else module = {} end
   local find, put = mt.__index, mt.__newindex
   local kind = name and 'variable' or 'global'

   mt.__newindex = function(t, key, value)
      if not known[key] and not is_declaring(3) then
         error(("assign to undeclared %s '%s'"):format(kind, tostring(key)), 2)
      end
      known[key] = true
      if type(put) == 'function' then return put(t, key, value) end
      rawset(t, key, value)
   end
   mt.__index = function(t, key)
      local value
      if type(find) == 'function' then value = find(t, key) elseif find then value = find[key] end
      if value ~= nil or known[key] then return value end
      error(("variable '%s' is not declared%s"):format(tostring(key), name and " in '" .. name .. "'" or ''), 2)
   end
   return setmetatable(module, mt)
end

function strict.make_all_strict(t)
   for name, value in pairs(t) do
      if type(value) == 'table' and value ~= t then strict.module(name, value) end
   end
end

-- A strict table beside a module, which takes no new fields itself.
function strict.closed_module(module, name)
   local closed = strict.module(name or 'module')
   local mt = getmetatable(module) or {}
   mt.__newindex = function() end
   setmetatable(module, mt)
   return closed
end

if not rawget(_G, 'PENLIGHT_NO_GLOBAL_STRICT') then
   strict.module(nil, _G, {_PROMPT = true, _PROMPT2 = true, __global = true})
end

return strict
