-- What a parser is made of: arguments, options and commands, with properties that are set by calling a
-- method of the name, the element with a table, or the element with values in a fixed order.
local elements = {}

local function no_check() end

local function must_be(...)
   local wanted = {}
   for _, kind in ipairs {...} do wanted[kind] = true end
   local names = table.concat({...}, ' or ')
   return function(name, value)
      if not wanted[type(value)] then
         error(("bad property '%s' (%s expected, got %s)"):format(name, names, type(value)), 4)
      end
   end
end

-- 2, '2', '1-3', '2+', '?', '*', '+' as the smallest and largest count.
local function bounds(text)
   if text == '?' then return 0, 1 end
   if text == '*' then return 0, math.huge end
   if text == '+' then return 1, math.huge end
   if tonumber(text) then return tonumber(text), tonumber(text) end
   local low, high = tostring(text):match '^(%d+)%-(%d+)$'
   if low then return tonumber(low), tonumber(high) end
   low = tostring(text):match '^(%d+)%+$'
   if low then return tonumber(low), math.huge end
   return nil
end

local function set_bounds(low_name, high_name)
   return function(self, name, value)
      must_be('number', 'string')(name, value)
      local low, high = bounds(value)
      if not low then error(("bad property '%s'"):format(name), 4) end
      self[low_name], self[high_name] = low, high
   end
end

local function set_aliases(self, _, value)
   for alias in value:gmatch '%S+' do
      self.names[#self.names + 1] = alias
      if self.parent_options then self.parent_options(alias) end
   end
   self.first_name = self.first_name or self.names[1]
end

-- A class of elements: `order` are the properties of a call with plain values, `setters` do more than
-- store a value.
local function new_class(order, checks, setters)
   local class = {}
   class.__index = function(self, name)
      local method = class[name]
      if method ~= nil then return method end
      if not checks[name] then return nil end
      return function(element, value)
         elements.set(element, name, value)
         return element
      end
   end
   class.__call = function(self, ...)
      local first = ...
      if type(first) == 'table' and getmetatable(first) == nil then
         for name in pairs(checks) do
            if first[name] ~= nil then elements.set(self, name, first[name]) end
         end
         if type(first[1]) == 'string' and self.names then elements.set(self, 'name', first[1]) end
      else
         local count = math.min(select('#', ...), #order)
         for i = 1, count do
            local value = select(i, ...)
            if value ~= nil then elements.set(self, order[i], value) end
         end
      end
      return self
   end
   class.checks, class.setters = checks, setters or {}
   return class
end

function elements.set(self, name, value)
   local class = getmetatable(self)
   local setter = class.setters[name]
   class.checks[name](name, value)
   if setter then return setter(self, name, value) end
   self.properties[name] = value
end

local text, flag, number = must_be 'string', must_be 'boolean', must_be 'number'

local of_arguments = {
   name = text, description = text, default = no_check, convert = must_be('function', 'table'),
   args = no_check, target = text, defmode = text, show_default = flag, argname = must_be('string', 'table'),
   choices = must_be 'table', action = must_be('function', 'string'), init = no_check, hidden = flag,
}

local of_options = {count = no_check, overwrite = flag}
for name, check in pairs(of_arguments) do of_options[name] = check end

local of_parsers = {
   name = text, description = text, epilog = text, usage = text, help = text, require_command = flag,
   handle_options = flag, add_help = must_be('boolean', 'string', 'table'), command_target = text,
   action = must_be 'function', target = text, hidden = flag, summary = text, usage_max_width = number,
   usage_margin = number, help_max_width = number, help_usage_margin = number, help_description_margin = number,
   help_vertical_space = number,
}

local function set_name(self, _, value)
   self.names, self.first_name = {value}, value
end

elements.Argument = new_class({'name', 'description', 'default', 'convert', 'args'}, of_arguments,
   {name = set_name, args = set_bounds('least', 'most')})

elements.Option = new_class({'name', 'description', 'default', 'convert', 'args', 'count'}, of_options,
   {name = set_aliases, args = set_bounds('least', 'most'), count = set_bounds('least_uses', 'most_uses')})

elements.Parser = new_class({'name', 'description', 'epilog'}, of_parsers, {
   name = function(self, _, value)
      if self.parent then return set_aliases(self, _, value) end
      set_name(self, _, value)
   end,
   add_help = function(self, _, value) self:set_help_option(value) end,
})

function elements.new_argument()
   return setmetatable({kind = 'argument', names = {}, properties = {}, least = 1, most = 1, least_uses = 1,
      most_uses = 1}, elements.Argument)
end

function elements.new_option(is_flag)
   local arguments = is_flag and 0 or 1
   return setmetatable({kind = 'option', names = {}, properties = {}, least = arguments, most = arguments,
      least_uses = 0, most_uses = 1}, elements.Option)
end

----------------------------------------------------------------------------------------
-- What arguments and options say of themselves.

-- The field of the results.
local function target(self)
   if self.properties.target then return self.properties.target end
   local found = self.first_name
   if self.kind == 'option' then
      for _, name in ipairs(self.names) do
         if name:sub(1, 1) == name:sub(2, 2) then
            found = name
            break
         end
      end
      found = found:gsub('^[^%w_]+', '')
   end
   return (found:gsub('%-', '_'))
end

-- Does the default stand for an option that is not used ('u'), or for its argument ('a')?
local function default_for(self, letter)
   local mode = self.properties.defmode or 'unused'
   return type(self.properties.default) == 'string' and mode:find(letter) ~= nil
end

local function placeholder(self, i)
   local names = self.properties.argname
   if type(names) == 'table' then return names[i] or names[#names] end
   if names then return names end
   if self.properties.choices then return '{' .. table.concat(self.properties.choices, ',') .. '}' end
   return '<' .. target(self) .. '>'
end

-- The placeholders of all arguments, as usage messages show them.
local function placeholders(self)
   local parts, i = {}, 1
   if self.least == 0 and self.most == 1 or self.most == 1 and default_for(self, 'a') then
      return {'[' .. placeholder(self, 1) .. ']'}
   end
   while i <= math.min(self.least, 3) do
      parts[i] = placeholder(self, i)
      i = i + 1
   end
   while i <= math.min(self.most, 3) do
      parts[i] = '[' .. placeholder(self, i) .. ']'
      if self.most == math.huge then break end
      i = i + 1
   end
   if i < self.most then parts[#parts + 1] = '...' end
   return parts
end

-- 'option '--x'' or 'argument 'x'', for messages.
local function described(self, name)
   return ("%s '%s'"):format(self.kind, name or self.first_name)
end

for _, class in ipairs {elements.Argument, elements.Option} do
   class.result_field, class.default_for = target, default_for
   class.placeholders, class.described = placeholders, described
end
elements.Parser.described = described

return elements
