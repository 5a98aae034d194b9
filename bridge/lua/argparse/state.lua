-- One reading of a command line: which element gets which word, and the results.
local messages = require 'argparse.messages'

local State = {}
State.__index = State

----------------------------------------------------------------------------------------
-- Actions: what is done with the arguments of one use of an element.

local actions = {
   store = function(results, field, value) results[field] = value end,
   store_true = function(results, field) results[field] = true end,
   store_false = function(results, field) results[field] = false end,
   count = function(results, field, _, overwrites, most)
      if not overwrites or (results[field] or 0) < most then results[field] = (results[field] or 0) + 1 end
   end,
   append = function(results, field, value, drops_first)
      results[field] = results[field] or {}
      table.insert(results[field], value)
      if drops_first then table.remove(results[field], 1) end
   end,
   concat = function(results, field, values)
      results[field] = results[field] or {}
      for _, value in ipairs(values) do table.insert(results[field], value) end
   end,
}

-- The action of an element that names none, and what its field is at first.
local function default_action(element)
   if element.most_uses == 1 then
      if element.most == 0 then return 'store_true' end
      return 'store'
   end
   if element.most == 0 then return 'count', 0 end
   return 'append', {}
end

local function is_single(element)
   return element.most == 1 and element.least == 1 or element.kind == 'argument' and element.most == 1
      or element.most == 1 and element:default_for 'a'
end

local function copy(value)
   if type(value) ~= 'table' then return value end
   local result = {}
   for key, item in pairs(value) do result[key] = item end
   return result
end

----------------------------------------------------------------------------------------

function State.new(parser, fail)
   local self = setmetatable({results = {}, uses = {}, ran = {}, fail_with = fail}, State)
   self:enter(parser)
   return self
end

function State:fail(message, ...)
   self.fail_with(self.parser, select('#', ...) > 0 and message:format(...) or message)
   error('unreachable', 0)
end

-- Goes on with a parser or a command: its elements are those that can be used.
function State:enter(parser)
   self.parser = parser
   self.options = self.options or {}
   self.mutexes = self.mutexes or {}
   self.control = self.control or {}
   for _, option in ipairs(parser.options) do
      for _, name in ipairs(option.names) do
         self.options[name] = option
         self.control[name:sub(1, 1)] = true
      end
      self:start(option)
   end
   for _, group in ipairs(parser.mutexes) do self.mutexes[#self.mutexes + 1] = group end
   self.arguments, self.place = parser.arguments, 1
   for _, argument in ipairs(parser.arguments) do self:start(argument) end
   self.handles_options = parser.properties.handle_options ~= false
   self.open = nil
end

function State:start(element)
   if self.uses[element] then return end
   self.uses[element] = 0
   local action, first = default_action(element)
   local init = element.properties.init
   if init == nil and type(element.properties.default) ~= 'string' then init = element.properties.default end
   if init == nil and not element.properties.action then init = first end
   if init == nil and element.properties.action == 'count' then init = 0 end
   if init ~= nil then self.results[element:result_field()] = copy(init) end
   element.chosen_action = element.properties.action or action
end

----------------------------------------------------------------------------------------
-- One use of an element.

function State:convert(element, value, i)
   local converters = element.properties.convert
   if element.properties.choices then
      local is_known = false
      for _, choice in ipairs(element.properties.choices) do is_known = is_known or choice == value end
      if not is_known then
         local shown = "'" .. table.concat(element.properties.choices, "', '") .. "'"
         local what = element.kind == 'option' and "argument for option '" .. element.used_name .. "'"
            or "argument '" .. element.first_name .. "'"
         self:fail('%s must be one of %s', what, shown)
      end
   end
   if not converters then return value end
   local result, message
   if type(converters) == 'function' then
      result, message = converters(value)
   elseif type(converters[1]) == 'function' or type(converters[i]) == 'function' then
      local f = converters[i]
      if not f then return value end
      result, message = f(value)
   else
      result = converters[value]
   end
   if result == nil then self:fail('%s', message or ("malformed argument '%s'"):format(value)) end
   return result
end

function State:begin(element, name)
   self:check_mutexes(element, name)
   element.used_name = name
   self.uses[element] = self.uses[element] + 1
   if self.uses[element] > element.most_uses and element.properties.overwrite == false then
      self:fail("%s must be used at most %d time%s", element:described(name), element.most_uses,
         element.most_uses == 1 and '' or 's')
   end
   self.open = {element = element, name = name, values = {}}
   if element.most == 0 then self:close() end
end

function State:check_mutexes(element, name)
   for _, group in ipairs(self.mutexes) do
      for _, other in ipairs(group) do
         if other == element then
            local used = self.ran[group]
            if used and used.element ~= element then
               self:fail('%s can not be used together with %s', element:described(name),
                  used.element:described(used.name))
            end
            self.ran[group] = {element = element, name = name}
         end
      end
   end
end

function State:pass(value)
   local open = self.open
   open.values[#open.values + 1] = self:convert(open.element, value, #open.values + 1)
   if #open.values >= open.element.most then self:close() end
end

local function least_arguments(element)
   local at_least = element.least == element.most and '' or 'at least '
   return at_least .. (element.least == 1 and 'an argument' or element.least .. ' arguments')
end

-- Ends a use: its arguments go to the results.
function State:close()
   local open = self.open
   if not open then return end
   local element, values = open.element, open.values
   self.open = nil
   if #values < element.least and element:default_for 'a' then
      while #values < element.least do
         values[#values + 1] = self:convert(element, element.properties.default, #values + 1)
      end
   end
   if #values < element.least then
      if element.kind == 'argument' then
         if #values == 0 then self:fail("missing argument '%s'", element.first_name) end
         self:fail("argument '%s' requires %s", element.first_name, least_arguments(element))
      end
      self:fail("option '%s' requires %s", open.name, least_arguments(element))
   end
   if element.most == 1 and element:default_for 'a' and #values == 0 then
      values[1] = self:convert(element, element.properties.default, 1)
   end
   local value = values
   if is_single(element) then value = values[1] end
   local action, field = element.chosen_action, element:result_field()
   if element.kind == 'argument' and #values == 0 and element.most == 1 then return end
   if type(action) == 'string' then
      local is_full = self.uses[element] > element.most_uses
      actions[action](self.results, field, value, action == 'count' or is_full, element.most_uses)
   else
      action(self.results, field, value, self.uses[element] > element.most_uses)
   end
end

----------------------------------------------------------------------------------------
-- Words.

-- A word that is no option: for the open option, the next argument, or the name of a command.
function State:positional(word)
   if self.open then return self:pass(word) end
   local argument = self.arguments[self.place]
   if argument then
      self.place = self.place + 1
      self:begin(argument)
      if self.open then self.open.is_argument = true end
      return self:pass(word)
   end
   if #self.parser.commands > 0 then return self:command(word) end
   self:fail 'too many arguments'
end

function State:command(word)
   local names = {}
   for _, command in ipairs(self.parser.commands) do
      for _, name in ipairs(command.names) do
         names[#names + 1] = name
         if name == word then
            self.results[command.properties.target or command.first_name:gsub('%-', '_')] = true
            if self.parser.properties.command_target then
               self.results[self.parser.properties.command_target] = command.first_name
            end
            self.commands = self.commands or {}
            table.insert(self.commands, 1, command)
            local before = self.parser
            self:finish_arguments()
            self.parser = before
            return self:enter(command)
         end
      end
   end
   self:fail("unknown command '%s'%s", word, messages.suggestion(word, names))
end

function State:option_named(name)
   local option = self.options[name]
   if option then return option end
   local names = {}
   for known in pairs(self.options) do names[#names + 1] = known end
   self:fail("unknown option '%s'%s", name, messages.suggestion(name, names))
end

-- Options end what an option before them takes; an argument of several words goes on after them.
function State:use_option(option, name)
   local suspended = self.open and self.open.is_argument and self.open or nil
   if not suspended then self:close() end
   if suspended and #suspended.values >= suspended.element.least then
      self:close()
      suspended = nil
   end
   self.open = nil
   self:begin(option, name)
   self.suspended = suspended
end

function State:long(word)
   local name, value = word:match '^([^=]*)=(.*)$'
   if not name or self.options[word] then
      return self:use_option(self:option_named(word), word)
   end
   local option = self:option_named(name)
   if option.most == 0 then self:fail("option '%s' does not take arguments", name) end
   self:use_option(option, name)
   self:pass(value)
   self:close()
end

-- -abc: letters are options until one takes arguments, which gets the rest.
function State:short(word)
   local sign = word:sub(1, 1)
   for i = 2, #word do
      local name = sign .. word:sub(i, i)
      local option = self:option_named(name)
      self:use_option(option, name)
      if option.most > 0 then
         local rest = word:sub(i + 1)
         if rest ~= '' then
            self:pass((rest:gsub('^=', '')))
            self:close()
         end
         return
      end
   end
end

function State:word(word)
   local first = word:sub(1, 1)
   if self.only_positional or not self.handles_options or not self.control[first] or #word == 1 then
      return self:positional(word)
   end
   if word:sub(2, 2) == first then
      if word == first .. first and not self.options[word] then
         self:close()
         self.only_positional = true
         return
      end
      return self:long(word)
   end
   local option = self.options[word]
   if option then return self:use_option(option, word) end
   local name = word:match '^([^=]*)='
   if name and self.options[name] then return self:long(word) end
   self:short(word)
end

function State:parse(words)
   for _, word in ipairs(words) do
      self:word(word)
      if self.suspended and not self.open then self.open, self.suspended = self.suspended, nil end
   end
   return self:finish()
end

----------------------------------------------------------------------------------------
-- The end.

local function use_default(self, element)
   local default = element.properties.default
   if element.least_uses == 0 and element.kind == 'option' or element.kind == 'argument' then
      self:begin(element, element.first_name)
      if self.open then
         for _ = 1, math.max(element.least, element.kind == 'argument' and 1 or element.least) do
            if self.open then self:pass(default) end
         end
      end
      self:close()
   end
end

function State:finish_arguments()
   self:close()
   for i = self.place, #self.arguments do
      local argument = self.arguments[i]
      if argument:default_for 'u' and argument.least > 0 then
         use_default(self, argument)
      elseif argument.least > 0 then
         self:fail("missing argument '%s'", argument.first_name)
      elseif argument.most > 1 then
         self:begin(argument)
         self:close()
      end
   end
   self.place = #self.arguments + 1
end

function State:finish()
   self:finish_arguments()
   if #self.parser.commands > 0 and self.parser.properties.require_command ~= false then
      self:fail 'a command is required'
   end
   local seen = {}
   local parser = self.parser
   while parser do
      for _, option in ipairs(parser.options) do
         if not seen[option] then
            seen[option] = true
            if self.uses[option] == 0 and option:default_for 'u' and option.least > 0 then
               use_default(self, option)
            elseif self.uses[option] < option.least_uses then
               local name = option.first_name
               if self.uses[option] == 0 then self:fail("missing option '%s'", name) end
               self:fail("option '%s' must be used at least %d times", name, option.least_uses)
            end
         end
      end
      parser = parser.parent
   end
   for _, command in ipairs(self.commands or {}) do
      if command.properties.action then command.properties.action(self.results, command.first_name) end
   end
   local root = self.parser
   while root.parent do root = root.parent end
   if root.properties.action then root.properties.action(self.results, root.first_name) end
   return self.results
end

return State
