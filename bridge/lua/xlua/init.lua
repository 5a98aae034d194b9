-- The `xlua` package: a progress bar, options, a profiler, named arguments.
require 'torch'
local sys = require 'sys'

xlua = xlua or {}

----------------------------------------------------------------------------------------
-- Global variables.

local libraries = {}
for name, value in pairs(_G) do libraries[name] = type(value) == 'table' or nil end

-- Calls f(name, value) for the variables of the user's: what was no library when this was loaded.
local function each_variable(f)
   for name, value in pairs(_G) do
      local is_own = type(name) == 'string' and not name:find '^_' and not libraries[name]
      if is_own and type(value) ~= 'function' and package.loaded[name] == nil then f(name, value) end
   end
end

-- Prints the libraries and the variables that are global.
function xlua.who()
   local found, variables = {}, {}
   for name, value in pairs(_G) do
      if type(value) == 'table' and package.loaded[name] == value then found[#found + 1] = name end
   end
   table.sort(found)
   each_variable(function(name, value) variables[name] = value end)
   print ''
   print('Global Libs:')
   print(xlua.table2string(found, true))
   print ''
   print('Global Vars:')
   print(xlua.table2string(variables, true))
   print ''
end

function xlua.clearall()
   local names = {}
   each_variable(function(name) names[#names + 1] = name end)
   for _, name in ipairs(names) do _G[name] = nil end
   collectgarbage()
end

----------------------------------------------------------------------------------------
-- Times and progress.

local units = {{86400, 'D'}, {3600, 'h'}, {60, 'm'}, {1, 's'}}

-- Seconds in the two largest units that fit: "1m5s", "500ms".
function xlua.formatTime(seconds)
   local words, rest = {}, math.floor(seconds)
   for _, unit in ipairs(units) do
      local count = math.floor(rest / unit[1])
      rest = rest - count * unit[1]
      if count > 0 and #words < 2 then words[#words + 1] = count .. unit[2] end
   end
   if #words == 0 then return math.floor(seconds * 1000) .. 'ms' end
   return table.concat(words)
end

local bar_width = 60
local bar = {}  -- of the loop that runs: when it and its last step began, the greatest number

-- Draws a bar for step `current` of `goal`; call it once each step.
function xlua.progress(current, goal)
   local now = sys.clock()
   if not bar.start or current <= (bar.current or 0) then
      bar = {start = now, last = now, drawn = -1}
   end
   bar.current = current
   local part = math.max(0, math.min(1, current / goal))
   local step, total = now - bar.last, now - bar.start
   bar.last = now
   local label = (' %d/%d '):format(current, goal)
   local filled = math.floor(part * bar_width)
   local line = ('='):rep(filled) .. (part < 1 and '>' or '') .. ('.'):rep(bar_width - filled)
   local middle = math.floor((#line - #label) / 2)
   line = line:sub(1, middle) .. label .. line:sub(middle + #label + 1)
   local done = current >= goal
   local left = done and 'Tot: ' .. xlua.formatTime(total)
      or 'ETA: ' .. xlua.formatTime(total / math.max(current, 1) * (goal - current))
   io.write('\r [', line, ']  ', left, ' | Step: ', xlua.formatTime(step), '      ')
   if done then
      io.write('\n')
      bar = {}
   end
   io.flush()
end

----------------------------------------------------------------------------------------
-- Text.

-- A table as source of Lua, lists without their keys.
function xlua.table2string(list, newline)
   local words, count = {}, #list
   for key, value in pairs(list) do
      local text
      if type(value) == 'table' then
         text = xlua.table2string(value, newline)
      elseif type(value) == 'string' then
         text = ('%q'):format(value)
      else
         text = tostring(value)
      end
      if type(key) ~= 'number' or key < 1 or key > count then text = tostring(key) .. '=' .. text end
      words[#words + 1] = text
   end
   return '{' .. table.concat(words, newline and ',\n' or ',') .. '}'
end

-- What is printed goes into a file as well.
function xlua.log(path, append)
   local file = assert(io.open(path, append and 'a' or 'w'))
   local screen = print
   function print(...)
      screen(...)
      for i = 1, select('#', ...) do file:write(tostring((select(i, ...))), '\t') end
      file:write('\n')
      file:flush()
   end
end

function xlua.clear() io.write('\27[2J\27[H') end

function xlua.print(...) print(...) end

function xlua.warn(message, name)
   print(('%s<%s> %s%s'):format(sys.COLORS.red, name or 'warning', message, sys.COLORS.none))
end

function xlua.error(message, name, usage)
   local text = (name and ('<%s> '):format(name) or '') .. (message or '')
   error(text .. (usage and '\n' .. usage or ''), 2)
end

-- Settings, each replaced by the environment variable of its name where there is one.
function xlua.envparams(defaults)
   local settings = {}
   for name, value in pairs(defaults) do
      local text = os.getenv(name)
      if text == nil then
         settings[name] = value
      elseif type(value) == 'number' then
         settings[name] = tonumber(text) or error(('%s should be a number, it is %s'):format(name, text), 2)
      elseif type(value) == 'boolean' and (text:lower() == 'true' or text:lower() == 'false') then
         settings[name] = text:lower() == 'true'
      else
         settings[name] = text
      end
   end
   return settings
end

-- What `try` returns; what `catch`, if given, makes of its error otherwise.
function xlua.trycatch(try, catch)
   local ok, result = pcall(try)
   if ok then return result end
   if catch then return catch(result) end
end

-- Can a package be loaded?
function xlua.installed(name)
   return (pcall(require, name))
end


-- Loads a package if it is there.
function xlua.require(name, install_hint)
   local ok, package_or_message = pcall(require, name)
   if ok then return package_or_message end
   print(('the package %s is missing'):format(name))
   return nil
end

----------------------------------------------------------------------------------------
-- Named arguments.

-- A description of a function and its arguments.
function xlua.usage(name, help, example, ...)
   local lines = {name .. ': ' .. (help or ''), ''}
   for _, row in ipairs {...} do
      local kind = row.type and (' [%s]'):format(row.type) or ''
      local default = row.default ~= nil and (' (default %s)'):format(tostring(row.default)) or ''
      lines[#lines + 1] = ('   %s%s: %s%s'):format(row.tabled or row.arg, kind, row.help or '', default)
   end
   if example then
      lines[#lines + 1] = ''
      lines[#lines + 1] = example
   end
   return table.concat(lines, '\n')
end

local function is_of_type(value, kinds)
   for kind in kinds:gmatch('[^%s|]+') do
      if type(value) == kind or torch.typename(value) == kind then return true end
   end
   return false
end

-- Arguments given in order, or as one table of names, after descriptions {arg =, type =, help =,
-- default =, req =}: a table of all, then each.
function xlua.unpack(arguments, name, help, ...)
   local rows = {...}
   local first = arguments[1]
   local named = #arguments == 1 and type(first) == 'table' and not torch.typename(first)
      and first[1] == nil
   if #arguments == 0 then
      for _, row in ipairs(rows) do
         if row.req then xlua.error('arguments are missing', name, xlua.usage(name, help, nil, ...)) end
      end
   end
   local result, values = {}, {}
   for i, row in ipairs(rows) do
      local value
      if named then value = first[row.arg] else value = arguments[i] end
      if value == nil then value = row.default end
      if value == nil and row.defaulta then value = result[row.defaulta] end
      if value == nil and row.defaultf then value = row.defaultf() end
      if value == nil and row.req then
         xlua.error('missing argument: ' .. row.arg, name, xlua.usage(name, help, nil, ...))
      end
      if value ~= nil and row.type and not is_of_type(value, row.type) then
         xlua.error(('wrong argument: %s should be %s'):format(row.arg, row.type), name,
            xlua.usage(name, help, nil, ...))
      end
      result[row.arg], values[i] = value, value
   end
   return result, unpack(values, 1, #rows)
end

-- The same, into the fields of an object.
function xlua.unpack_class(object, arguments, name, help, ...)
   local result = xlua.unpack(arguments, name, help, ...)
   for key, value in pairs(result) do object[key] = value end
end

require 'xlua.OptionParser'
require 'xlua.Profiler'

return xlua
