-- The `trepl` package: what the front end th does with a line. command_line/th.py reads the lines.
require 'torch'
local complete = require 'trepl.complete'
local help = require 'trepl.help'

local trepl = {complete = complete, help = help}

_RESULTS, _LAST = {}, nil

----------------------------------------------------------------------------------------
-- Globals of the prompt.

local at_start = {}

-- The variables that are not there from the start.
function who()
   local names = {}
   for name, value in pairs(_G) do
      if at_start[name] == nil and type(name) == 'string' and not name:find '^_' then
         names[#names + 1] = ('%-20s %s'):format(name, torch.typename(value) or type(value))
      end
   end
   table.sort(names)
   print(table.concat(names, '\n'))
end

-- Makes the functions of a package global.
function import(package, forced)
   local module = type(package) == 'string' and require(package) or package
   for name, value in pairs(module) do
      if _G[name] == nil or forced then _G[name] = value end
   end
end

function exit(code) os.exit(code or 0) end

function trepl.remember_globals()
   for name in pairs(_G) do at_start[name] = true end
end

----------------------------------------------------------------------------------------
-- Lines.

local function pack(...) return {count = select('#', ...), ...} end

-- A function that runs a line, whether values are to be printed, and whether it gives them, in a table.
-- Otherwise nil, why not, and whether more lines could make it whole.
function trepl.compile(source)
   source = source:gsub('^%s*=', '')
   local expression = source:gsub(';%s*$', '')
   -- no tail call: an error would not say where it was raised
   local chunk = loadstring('return (...)(' .. expression .. '\n)', '=stdin')
   if chunk and loadstring('return ' .. expression) then return chunk, not source:find ';%s*$', true end
   local message
   chunk, message = loadstring(source, '=stdin')
   if chunk then return chunk, false, false end
   return nil, message, message:find "'?<eof>'?$" ~= nil
end

-- Is the source whole, or will more lines not make it so?
function trepl.is_complete(source)
   if source:find '^%s*[?$]' then return true end
   local chunk, _, is_open = trepl.compile(source)
   return chunk ~= nil or not is_open
end

local function run_command(command)
   local pipe = assert(io.popen(command .. ' 2>&1'))
   local text = pipe:read '*a'
   pipe:close()
   io.write(text)
   _LAST = text:gsub('\n$', '')
end

-- Runs a line and prints its values.
function trepl.run(source)
   local command = source:match '^%s*%$%s*(.*)$'
   if command then return run_command(command) end
   local asked = source:match '^%s*%?(.*)$'
   if asked then return print(help(asked)) end
   local chunk, prints_values, has_values = trepl.compile(source)
   if not chunk then error(prints_values, 0) end
   local results = chunk(pack)
   if not has_values or results.count == 0 then return end
   _LAST = results[1]
   for i = 1, results.count do table.insert(_RESULTS, results[i]) end
   if prints_values then print(unpack(results, 1, results.count)) end
end

function trepl.read_line() return io.read '*l' end

-- Packages that scripts find loaded under th.
function trepl.provide_globals()
   for _, name in ipairs {'paths', 'sys', 'xlua', 'dok', 'pl'} do require(name) end
   table.insert(package.loaders, require 'trepl.local_files')
end

return setmetatable(trepl, {__call = function()
   error('the prompt starts with `relume th`, or after a script with `relume lua -i script.lua`', 2)
end})
