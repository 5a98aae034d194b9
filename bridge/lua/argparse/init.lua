-- The `argparse` package: command lines with options, arguments and commands.
local elements = require 'argparse.elements'
local messages = require 'argparse.messages'
local State = require 'argparse.state'

local Parser = elements.Parser

local function new_parser(kind, parent)
   local self = setmetatable({
      kind = kind, parent = parent, names = {}, properties = {}, options = {}, arguments = {}, commands = {},
      mutexes = {}, groups = {},
   }, Parser)
   self:set_help_option(true)
   return self
end

----------------------------------------------------------------------------------------
-- Building.

function Parser:argument(...)
   local argument = elements.new_argument()
   table.insert(self.arguments, argument)
   return argument(...)
end

-- Options come before the one for help.
local function add_option(self, option)
   local place = #self.options + 1
   if self.options[place - 1] and self.options[place - 1] == self.help_option then place = place - 1 end
   table.insert(self.options, place, option)
end

-- Several names may come one by one: option('-f', '--from').
local function name_option(option, ...)
   local first, second = ...
   if type(second) == 'string' and second:match '^[^%w%s]%S*$' then
      option(first)
      elements.set(option, 'name', second)
      return option
   end
   return option(...)
end

function Parser:option(...)
   local option = elements.new_option(false)
   add_option(self, option)
   return name_option(option, ...)
end

function Parser:flag(...)
   local option = elements.new_option(true)
   add_option(self, option)
   return name_option(option, ...)
end

function Parser:command(...)
   local command = new_parser('command', self)
   table.insert(self.commands, command)
   return command(...)
end

-- At most one of these can be used.
function Parser:mutex(...)
   table.insert(self.mutexes, {...})
   return self
end

-- These have a section of their own in the help.
function Parser:group(name, ...)
   table.insert(self.groups, {name = name, ...})
   return self
end

-- true, false, the names of the option, or a table of its properties.
function Parser:set_help_option(value)
   for i, option in ipairs(self.options) do
      if option == self.help_option then table.remove(self.options, i) end
   end
   self.help_option = nil
   if value == false then return end
   local option = elements.new_option(true)
   option.properties.description = 'Show this help message and exit.'
   option.properties.action = function()
      print(self:get_help())
      os.exit(0)
   end
   table.insert(self.options, option)
   self.help_option = option
   if value ~= true then option(value) end
   if #option.names == 0 then option '-h --help' end
end

function Parser:add_help_command(value)
   local command = self:command('help', 'Show help for commands.')
   command:argument('command', 'The command to show help for.', nil, nil, '?')
   command:action(function(results)
      local shown = self
      for _, other in ipairs(self.commands) do
         for _, name in ipairs(other.names) do if name == results.command then shown = other end end
      end
      print(shown:get_help())
      os.exit(0)
   end)
   if value then command(value) end
   return self
end

----------------------------------------------------------------------------------------
-- Using.

function Parser:get_usage() return messages.usage(self) end
function Parser:get_help() return messages.help(self) end

function Parser:error(message)
   io.stderr:write(('%s\n\nError: %s\n'):format(self:get_usage(), message))
   os.exit(1)
end

local function words_of(words)
   words = words or _G.arg or {}
   return words
end

local function name_after_script(self)
   if not self.first_name then
      local script = _G.arg and _G.arg[0]
      self.first_name = script and tostring(script) or 'script'
   end
end

function Parser:parse(words)
   name_after_script(self)
   return State.new(self, function(parser, message) parser:error(message) end):parse(words_of(words))
end

-- Whether it went well, and the results or the message.
function Parser:pparse(words)
   name_after_script(self)
   local failure = {}
   local state = State.new(self, function(_, message)
      failure.message = message
      error(failure, 0)
   end)
   local ok, result = pcall(state.parse, state, words_of(words))
   if ok then return true, result end
   if result ~= failure then error(result, 0) end
   return false, failure.message
end

-- argparse(name, description, epilog), or argparse() with properties set later.
local function argparse(_, ...)
   local parser = new_parser 'parser'
   if select('#', ...) > 0 then parser(...) end
   name_after_script(parser)
   return parser
end

return setmetatable({version = '0.6.0'}, {__call = argparse})
