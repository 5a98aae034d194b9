-- pl.app: what programs need to know about themselves.
local path = require 'pl.path'
local utils = require 'pl.utils'

local app = {}

function app.script_name() return _G.arg and _G.arg[0] end

-- Puts the folder of the script, or one below it, in front of package.path; returns the script's folder.
function app.require_here(below)
   local folder = path.dirname(app.script_name() or '')
   if not path.isabs(folder) then folder = path.join(path.currentdir(), folder) end
   if folder:sub(-1) ~= '/' then folder = folder .. '/' end
   local base = below and path.join(folder, below) .. '/' or folder
   package.path = ('%s?.lua;%s?/init.lua;%s'):format(base, base, package.path)
   package.cpath = ('%s?.so;%s'):format(base, package.cpath)
   return folder
end

-- A path for a private file of the application, whose folder is made.
function app.appfile(name)
   local folder = path.expanduser('~/.' .. path.splitext(path.basename(app.script_name() or 'script')))
   if not path.isdir(folder) then
      local ok, message = path.mkdir(folder)
      if not ok then return utils.raise('cannot create ' .. folder .. ': ' .. tostring(message)) end
   end
   return path.join(folder, name)
end

function app.platform() return (require('paths').uname()) end

function app.lua()
   local words, first = {}, 0
   while _G.arg[first - 1] do first = first - 1 end
   for i = first, -1 do words[#words + 1] = utils.quote_arg(_G.arg[i]) end
   return table.concat(words, ' '), _G.arg[first]
end

-- Names as keys: {'a', 'b'} or {a = true}; aliases {long = {'l'}} are told apart.
local function flag_table(list, aliases)
   local result = {}
   for key, value in pairs(list or {}) do
      if type(key) == 'number' then
         result[value] = true
      else
         result[key] = true
         if aliases and value ~= true then
            for _, alias in ipairs(type(value) == 'table' and value or {value}) do
               aliases[alias], result[alias] = key, true
            end
         end
      end
   end
   return result
end

-- Flags with their values, and parameters.
function app.parse_args(words, with_values, valid)
   words = words or _G.arg
   if not words then error 'Not in a main program: no arguments to parse' end
   local aliases = {}
   local known = valid and flag_table(valid, aliases)
   local takes_value = flag_table(with_values)
   if known then for name in pairs(takes_value) do known[name] = true end end
   for alias, name in pairs(aliases) do if takes_value[name] then takes_value[alias] = true end end
   local flags, parameters = {}, {}

   local function set(name, value)
      if known and not known[name] then return "unknown flag '" .. name .. "'" end
      flags[aliases[name] or name] = value
   end

   local i = 1
   while i <= #words do
      local word = words[i]
      local name, sign, value = word:match '^%-+([^=:]+)([=:]?)(.*)$'
      local is_long = word:find '^%-%-' ~= nil
      local failure
      if word == '--' then
         for k = i + 1, #words do parameters[#parameters + 1] = words[k] end
         break
      elseif not name then
         parameters[#parameters + 1] = word
      elseif sign ~= '' then
         failure = set(name, value)
      elseif takes_value[name] then
         i = i + 1
         if words[i] == nil then failure = "no value for '" .. name .. "'" else failure = set(name, words[i]) end
      elseif is_long or #name == 1 then
         failure = set(name, true)
      elseif name:find '^%a[%d.-]+$' or takes_value[name:sub(1, 1)] then
         failure = set(name:sub(1, 1), name:sub(2))
      else
         for letter in name:gmatch '.' do failure = failure or set(letter, true) end
      end
      if failure then return utils.raise(failure) end
      i = i + 1
   end
   return flags, parameters
end

return app
