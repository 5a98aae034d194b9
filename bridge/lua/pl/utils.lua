-- pl.utils: functions that all of Penlight uses.
local compat = require 'pl.compat'
local operator = require 'pl.operator'

local utils = {_VERSION = '1.13.1'}
for name, value in pairs(compat) do utils[name] = value end

utils.patterns = {
   FLOAT = '[%+%-%d]%d*%.?%d*[eE]?[%+%-]?%d*',
   INTEGER = '[+%-%d]%d*',
   IDEN = '[%a_][%w_]*',
   FILE = '[%a%.\\][:%][%w%._%-\\]*',
}

-- Metatables of the standard containers; the modules of these fill them.
utils.stdmt = {
   List = {_name = 'List'}, Map = {_name = 'Map'}, Set = {_name = 'Set'}, MultiMap = {_name = 'MultiMap'},
}

----------------------------------------------------------------------------------------
-- Values.

utils.pack = table.pack

function utils.unpack(t, first, last)
   return unpack(t, first or 1, last or t.n or #t)
end

function utils.printf(format, ...) utils.fprintf(io.stdout, format, ...) end

function utils.fprintf(file, format, ...)
   utils.assert_string(2, format)
   file:write(format:format(...))
end

function utils.choose(condition, a, b)
   if condition then return a end
   return b
end

function utils.array_tostring(t, buffer, to_string)
   buffer, to_string = buffer or {}, to_string or tostring
   for i = 1, #t do buffer[i] = to_string(t[i], i) end
   return buffer
end

-- `wanted` is the name of a Lua type or a metatable.
function utils.is_type(object, wanted)
   if type(wanted) == 'string' then return type(object) == wanted end
   return wanted == getmetatable(object)
end

-- Like ipairs, over a range, and over holes too.
function utils.npairs(t, first, last, step)
   step = step or 1
   if step == 0 then error('iterator step-size cannot be 0', 2) end
   local i = (first or 1) - step
   last = last or t.n or #t
   return function()
      i = i + step
      if step > 0 and i > last or step < 0 and i < last then return nil end
      return i, t[i]
   end
end

-- Pairs whose key is no integer.
function utils.kpairs(t)
   local key
   return function()
      local value
      repeat
         key, value = next(t, key)
      until type(key) ~= 'number' or key % 1 ~= 0
      return key, value
   end
end

----------------------------------------------------------------------------------------
-- Errors.

function utils.assert_arg(n, value, wanted, verify, message, level)
   if type(value) ~= wanted then
      error(("argument %d expected a '%s' got a '%s'"):format(n, wanted, type(value)), level or 2)
   end
   if verify and not verify(value) then
      error(("argument %d: '%s' %s"):format(n, value, message), level or 2)
   end
   return value
end

function utils.assert_string(n, value) return utils.assert_arg(n, value, 'string', nil, nil, 3) end

local strategies = {
   default = function(message) return nil, message end,
   error = function(message) error(message, 3) end,
   quit = function(message) utils.quit(message) end,
}
local strategy = 'default'

-- What utils.raise does: 'default' returns nil and the message, 'error' raises it, 'quit' ends.
function utils.on_error(mode)
   if not strategies[mode] then
      error("Bad argument expected string; 'default', 'quit', or 'error'. Got '" .. tostring(mode) .. "'", 2)
   end
   strategy = mode
end

function utils.raise(message) return strategies[strategy](message) end

-- quit([code,] format, ...): writes to standard error and ends the program.
function utils.quit(code, message, ...)
   if type(code) == 'string' then
      return utils.quit(-1, code, message, ...)
   end
   if message then
      utils.fprintf(io.stderr, message, ...)
      io.stderr:write '\n'
   end
   os.exit(code, true)
end

-- A table of constants that knows which there are: reading another is an error.
function utils.enum(...)
   local first = select(1, ...)
   local constants, names = {}, {}
   if type(first) == 'table' and #first == 0 then
      for name, value in pairs(first) do
         if type(name) ~= 'string' then
            error(("expected key to be 'string' but got '%s'"):format(type(name)), 2)
         end
         constants[name] = value
         names[#names + 1] = name
      end
      table.sort(names)
   else
      local list = type(first) == 'table' and first or {...}
      for i = 1, math.max(#list, 0) do
         if type(list[i]) ~= 'string' then
            error(("expected arg %d to be 'string' but got '%s'"):format(i, type(list[i])), 2)
         end
         constants[list[i]], names[i] = list[i], list[i]
      end
   end
   if #names == 0 then error('expected at least 1 entry', 2) end
   local expected = "(expected one of: '" .. table.concat(names, "', '") .. "')"
   local function missing(name)
      return ("'%s' is not a valid value %s"):format(tostring(name), expected)
   end
   return setmetatable(constants, {
      __index = function(_, name) error(missing(name), 2) end,
      __newindex = function() error('the Enum object is read-only', 2) end,
      __call = function(_, name)
         if type(name) == 'string' then
            local value = rawget(constants, name)
            if value ~= nil then return value end
         end
         return nil, missing(name)
      end,
   })
end

-- Copies the fields of a module, given by itself or by its name, to another table or the globals.
function utils.import(module, target)
   target = target or _G
   if type(module) == 'string' then module = require(module) end
   for name, value in pairs(module) do
      if target[name] ~= nil then
         io.stderr:write('warning: ', tostring(name), ' already exists in scope\n')
      end
      target[name] = value
   end
end

----------------------------------------------------------------------------------------
-- Functions.

local factories = {}  -- by metatable

function utils.add_function_factory(mt, factory) factories[mt] = factory end

-- A cache for functions of one argument.
function utils.memoize(f)
   local known = {}
   return function(key)
      if known[key] == nil then known[key] = f(key) end
      return known[key]
   end
end

local function compile_lambda(text)
   local arguments, body
   if text:find '^|' then
      arguments, body = text:match '^|([^|]*)|%s*(.+)$'
   elseif text:find '_' then
      arguments, body = '_', text
   end
   if not body then error('not a string lambda', 3) end
   local chunk, message = loadstring('return function(' .. arguments .. ') return ' .. body .. ' end')
   if not chunk then error(message, 3) end
   return chunk()
end

-- '|x, y| x + y', or '_ + 1' of one argument.
utils.string_lambda = utils.memoize(function(text) return compile_lambda(text) end)

-- What Penlight takes for a function: one, something callable, an operator's sign, a string lambda.
function utils.function_arg(position, f, message)
   utils.assert_arg(1, position, 'number')
   if type(f) == 'function' then return f end
   if type(f) == 'string' then
      local found = operator.optable[f]
      if found then return found end
      local ok, lambda = pcall(utils.string_lambda, f)
      if ok then return lambda end
      error('not a string lambda', 3)
   end
   local mt = getmetatable(f)
   local factory = mt and factories[mt]
   if factory then return factory(f) end
   if type(mt) == 'table' and mt.__call then return f end
   error(('argument %d: %s'):format(position, message or 'must be callable'), 3)
end

function utils.bind1(f, value)
   f = utils.function_arg(1, f)
   return function(...) return f(value, ...) end
end

function utils.bind2(f, value)
   f = utils.function_arg(1, f)
   return function(x, ...) return f(x, value, ...) end
end

----------------------------------------------------------------------------------------
-- Strings.

function utils.escape(s)
   utils.assert_string(1, s)
   return (s:gsub('[%-%.%+%[%]%(%)%$%^%%%?%*]', '%%%1'))
end

-- The parts between separators: a pattern, or plain text. Without one, words, with spaces around left out.
function utils.split(s, pattern, plain, most)
   utils.assert_string(1, s)
   local parts, place = {}, 1
   if not pattern then
      pattern = '%s+'
      s = s:gsub('^%s+', '')
   end
   if pattern == '' then return {s} end
   while true do
      local first, last = s:find(pattern, place, plain)
      if not first or last < first then
         local rest = s:sub(place)
         if rest ~= '' then parts[#parts + 1] = rest end
         if #parts == 1 and parts[1] == '' then return {} end
         return parts
      end
      parts[#parts + 1] = s:sub(place, first - 1)
      if most and #parts == most then
         parts[#parts] = s:sub(place)
         return parts
      end
      place = last + 1
   end
end

function utils.splitv(s, pattern, plain, most)
   return unpack(utils.split(s, pattern, plain, most))
end

----------------------------------------------------------------------------------------
-- Files and commands.

function utils.readfile(path, is_binary)
   utils.assert_string(1, path)
   local file, message = io.open(path, is_binary and 'rb' or 'r')
   if not file then return utils.raise(message) end
   local content
   content, message = file:read '*a'
   file:close()
   -- a folder can be opened, but not read
   if not content then return utils.raise(path .. ': ' .. tostring(message)) end
   return content
end

function utils.writefile(path, content, is_binary)
   utils.assert_string(1, path)
   utils.assert_string(2, content)
   local file, message = io.open(path, is_binary and 'wb' or 'w')
   if not file then return utils.raise(message) end
   local done
   done, message = file:write(content)
   file:close()
   if not done then return utils.raise(path .. ': ' .. tostring(message)) end
   return true
end

function utils.readlines(path)
   utils.assert_string(1, path)
   local file, message = io.open(path)
   if not file then return utils.raise(message) end
   local lines = {}
   for line in file:lines() do lines[#lines + 1] = line end
   file:close()
   return lines
end

local function quote(argument)
   if argument == '' or argument:find '[^%w@%%+=:,./_-]' then
      return "'" .. argument:gsub("'", [['\'']]) .. "'"
   end
   return argument
end

function utils.quote_arg(argument)
   if type(argument) ~= 'table' then return quote(argument) end
   local quoted = {}
   for i, one in ipairs(argument) do quoted[i] = quote(one) end
   return table.concat(quoted, ' ')
end

local function take_file(path, is_binary)
   local content = utils.readfile(path, is_binary)
   os.remove(path)
   return content or ''
end

-- Runs a command: did it end well, its code, what it wrote to standard output and to standard error.
function utils.executeex(command, is_binary)
   local output, errors = os.tmpname(), os.tmpname()
   local redirected = ('%s > %s 2> %s'):format(command, utils.quote_arg(output), utils.quote_arg(errors))
   local ok, code = compat.execute(redirected)
   return ok, code, take_file(output, is_binary), take_file(errors, is_binary)
end

return utils
