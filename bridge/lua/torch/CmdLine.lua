-- torch.CmdLine: options and arguments of a script, their help, and a log of what it prints. Classes
-- derived from it use the fields and the `__read...__` methods by Torch7's names.
local class = require 'torch.class'

local CmdLine = class.class 'torch.CmdLine'

function CmdLine:__init(argument_separator, key_separator)
   self.separator = argument_separator or ' '
   self.keyseparator = key_separator or '-'
   self.options = {}     -- by how they are written: "-seed"
   self.arguments = {}   -- in order
   self.helplines = {}  -- strings, options and arguments, in order
   self.is_silent = false
end

-- The field of the result for "-seed" or "--seed".
local function field_of(self, key)
   local text = key
   while #text > 0 and text:sub(1, 1) == self.keyseparator do text = text:sub(2) end
   return text
end

function CmdLine:option(key, default, help, kind)
   local option = {key = key, default = default, help = help, type = kind or type(default)}
   self.options[key] = option
   self.helplines[#self.helplines + 1] = option
end

function CmdLine:argument(key, help, kind)
   local argument = {key = key, help = help, type = kind or 'string', is_argument = true}
   self.arguments[#self.arguments + 1] = argument
   self.helplines[#self.helplines + 1] = argument
end

function CmdLine:text(text)
   self.helplines[#self.helplines + 1] = text or ''
end

function CmdLine:silent() self.is_silent = true end

function CmdLine:default()
   local params = {}
   for key, option in pairs(self.options) do params[field_of(self, key)] = option.default end
   return params
end

----------------------------------------------------------------------------------------
-- Help and mistakes.

local function label(line)
   return line.is_argument and ('<%s>'):format(line.key) or line.key
end

function CmdLine:help(arg)
   local usage = {'Usage:'}
   if arg then usage[#usage + 1] = arg[0] end
   usage[#usage + 1] = '[options]'
   for _, argument in ipairs(self.arguments) do usage[#usage + 1] = label(argument) end
   io.write(table.concat(usage, ' '), '\n')
   local width = 0
   for _, line in ipairs(self.helplines) do
      if type(line) == 'table' then width = math.max(width, #label(line)) end
   end
   for _, line in ipairs(self.helplines) do
      if type(line) == 'string' then
         io.write(line, '\n')
      else
         io.write('  ', label(line), (' '):rep(width - #label(line)))
         if line.help then io.write(' ', line.help) end
         if line.default ~= nil then io.write(' [', tostring(line.default), ']') end
         io.write('\n')
      end
   end
end

-- Shows a mistake and the help, and leaves the program.
function CmdLine:error(message)
   io.write('\n')
   io.stderr:write(message)
   io.write('\n')
   self:help()
   os.exit(1)
end

----------------------------------------------------------------------------------------
-- Parsing.

local converters = {
   number = tonumber,
   string = tostring,
}

-- Takes the option at `arg[place]`; the number of words that it used.
function CmdLine:__readOption__(params, arg, place)
   local option = self.options[arg[place]]
   local field = field_of(self, option.key)
   if option.type == 'boolean' then
      params[field] = not option.default
      return 1
   end
   local word = arg[place + 1]
   if word == nil then self:error('missing argument for option ' .. option.key) end
   local convert = converters[option.type] or converters.string
   local value = convert(word)
   if value == nil then
      self:error(('invalid type for option %s (should be %s)'):format(option.key, option.type))
   end
   params[field] = value
   return 2
end

-- Takes the argument at `arg[place]`, the `number`-th of all.
function CmdLine:__readArgument__(params, arg, place, number)
   local argument = self.arguments[number]
   if not argument then self:error('invalid argument: ' .. arg[place]) end
   local convert = converters[argument.type] or converters.string
   params[field_of(self, argument.key)] = convert(arg[place])
   return 1
end

function CmdLine:parse(arg)
   arg = arg or _G.arg or {}
   local params = self:default()
   local place, taken = 1, 0
   while place <= #arg do
      local word = arg[place]
      if self.options[word] then
         place = place + self:__readOption__(params, arg, place)
      elseif word == '-help' or word == '-h' or word == '--help' then
         self:help(arg)
         os.exit(0)
         break
      else
         taken = taken + 1
         place = place + self:__readArgument__(params, arg, place, taken)
      end
   end
   if taken < #self.arguments then self:error('not enough arguments') end
   return params
end

-- A name for an experiment: "run,rate=0.1,seed=2", of what differs from the defaults.
function CmdLine:string(prefix, params, ignore)
   local defaults, words = self:default(), {}
   for field, value in pairs(params) do
      if not (ignore and ignore[field]) and value ~= defaults[field] then
         if type(value) == 'boolean' then value = value and 't' or 'f' end
         words[#words + 1] = field .. '=' .. tostring(value)
      end
   end
   table.sort(words)
   table.insert(words, 1, prefix)
   return table.concat(words, ',')
end

----------------------------------------------------------------------------------------
-- The log.

-- From now on lines of the log begin with the time and a name.
function CmdLine:addTime(name, format)
   self.time_name = name or ''
   self.time_format = format or '%Y-%m-%d %H:%M:%S'
end

-- From now on `print` writes into a file as well, or only there when the command line is silent.
function CmdLine:log(file, params)
   local log = type(file) == 'string' and assert(io.open(file, 'w')) or file
   local screen = print

   local function write(...)
      if self.time_format then
         log:write(('%s[%s]:  '):format(os.date(self.time_format), self.time_name))
      end
      for i = 1, select('#', ...) do
         log:write(tostring((select(i, ...))), ' ')
      end
      log:write('\n')
      log:flush()
   end

   function print(...)
      if not self.is_silent then screen(...) end
      write(...)
   end

   write('[program started on ' .. os.date() .. ']')
   write('[command line arguments]')
   for field, value in pairs(params or {}) do write(field, value) end
   write('[----------------------]')
end

return CmdLine
