-- The `argcheck` package: functions that check arguments by rules, fill in defaults, take named
-- arguments and choose between overloaded functions.
local env = require 'argcheck.env'
local usage = require 'argcheck.usage'

local variants_of = setmetatable({}, {__mode = 'k'})  -- lists of rules, by checker

local function check_rules(rules)
   for _, rule in ipairs(rules) do
      if type(rule) ~= 'table' or type(rule.name) ~= 'string' then error('rule must have a name field', 3) end
      rule.type = rule.type or '*'
   end
end

----------------------------------------------------------------------------------------
-- Matching. `found[i]` is the value of rule i.

local function fits(rule, value, istype)
   if value == nil then return false end
   return istype(value, rule.type) and (not rule.check or rule.check(value))
end

-- Gives arguments from `place` on to rules from i on; an optional rule may be passed over.
local function match_ordered(rules, i, values, place, found, istype)
   local rule = rules[i]
   if not rule then return place > values.count end
   if place <= values.count then
      local value = values[place]
      if fits(rule, value, istype) then
         found[i] = value
         if match_ordered(rules, i + 1, values, place + 1, found, istype) then return true end
         found[i] = nil
      elseif value == nil and usage.is_optional(rule) then
         if match_ordered(rules, i + 1, values, place + 1, found, istype) then return true end
      end
   end
   return usage.is_optional(rule) and match_ordered(rules, i + 1, values, place, found, istype) or false
end

-- The same for a table of names and values; `first` is the first rule that it may name.
local function match_named(rules, first, given, found, istype)
   local used = 0
   for i = first, #rules do
      local rule = rules[i]
      local value = given[rule.name]
      if value ~= nil then
         if not fits(rule, value, istype) then return false end
         found[i], used = value, used + 1
      elseif not usage.is_optional(rule) then
         return false
      end
   end
   for _ in pairs(given) do used = used - 1 end
   return used == 0
end

local function is_plain_table(value)
   return type(value) == 'table' and env.type(value) == 'table'
end

local function match(rules, values)
   local istype = rules.istype
   local found = {}
   if not rules.noordered and match_ordered(rules, 1, values, 1, found, istype) then return found end
   if rules.nonamed then return nil end
   found = {}
   if values.count == 1 and is_plain_table(values[1]) and match_named(rules, 1, values[1], found, istype) then
      return found
   end
   local is_method = rules[1] and rules[1].name == 'self'
   if is_method and values.count == 2 and is_plain_table(values[2]) and fits(rules[1], values[1], istype) then
      found = {values[1]}
      if match_named(rules, 2, values[2], found, istype) then return found end
   end
   return nil
end

local function fill_defaults(rules, found)
   for i, rule in ipairs(rules) do
      if found[i] == nil then
         if rule.default ~= nil then
            found[i] = rule.default
         elseif rule.defaultf then
            found[i] = rule.defaultf()
         end
      end
   end
   for i, rule in ipairs(rules) do
      if found[i] == nil and rule.defaulta then
         for k, other in ipairs(rules) do
            if other.name == rule.defaulta then found[i] = found[k] end
         end
      end
   end
end

----------------------------------------------------------------------------------------
-- Overloading.

-- All orders of types that a list of rules takes.
local function signatures(rules)
   local list = {''}
   for _, rule in ipairs(rules) do
      local longer = {}
      for _, signature in ipairs(list) do
         longer[#longer + 1] = signature .. rule.type .. (rule.check and tostring(rule.check) or '') .. ','
         if usage.is_optional(rule) then longer[#longer + 1] = signature end
      end
      list = longer
   end
   return list
end

local function check_ambiguity(rules, others)
   local taken = {}
   for _, signature in ipairs(signatures(rules)) do taken[signature] = true end
   for _, other in ipairs(others) do
      for _, signature in ipairs(signatures(other)) do
         if taken[signature] then error('argcheck rules led to ambiguous situations', 3) end
      end
   end
end

local function explanation(variants)
   local texts = {}
   for i, rules in ipairs(variants) do texts[#variants - i + 1] = usage.of(rules) end
   return table.concat(texts, '\nor\n\n')
end

-- What a matched call gives: the values, a table of them, or what the function returns.
local function deliver(rules, found)
   fill_defaults(rules, found)
   local count = #rules
   if rules.pack then
      local packed = {}
      for i = 1, count do packed[rules[i].name] = found[i] end
      if rules.call then return rules.call(packed) end
      return packed
   end
   if rules.call then return rules.call(unpack(found, 1, count)) end
   return unpack(found, 1, count)
end

local function argcheck(rules)
   if type(rules) ~= 'table' then error('argcheck expects a table of rules', 2) end
   check_rules(rules)
   rules.istype = env.istype
   local overloaded = rules.overload or rules.chain
   local variants = {rules}
   if overloaded then
      local others = variants_of[overloaded]
      if not others then error('overload: expected a function that argcheck made', 2) end
      if not rules.force then check_ambiguity(rules, others) end
      for _, other in ipairs(others) do variants[#variants + 1] = other end
   end

   local function checker(...)
      local values = {count = select('#', ...), ...}
      for i = 1, #variants do
         local found = match(variants[i], values)
         if found then
            if rules.quiet and not variants[i].call then return true, deliver(variants[i], found) end
            return deliver(variants[i], found)
         end
      end
      local message = explanation(variants) .. usage.got(...)
      if rules.quiet then return false, message end
      error(message .. '\ninvalid arguments!', 2)
   end
   variants_of[checker] = variants
   return checker
end

return setmetatable({env = env}, {__call = function(_, rules) return argcheck(rules) end})
