-- The text that explains the arguments of a function.
local env = require 'argcheck.env'

local function is_optional(rule)
   return rule.default ~= nil or rule.defaulta ~= nil or rule.defaultf ~= nil or rule.opt
end

local function default_text(rule)
   local default = rule.default
   if type(default) == 'number' or type(default) == 'string' or type(default) == 'boolean' then
      return (' [default=%s]'):format(tostring(default))
   elseif default ~= nil or rule.defaultf then
      return ' [has default value]'
   elseif rule.defaulta then
      return (' [defaulta=%s]'):format(rule.defaulta)
   end
   return ''
end

-- One line a rule: its name, type, help and default, in columns.
local function list(rules)
   local widest_name, widest_type = 0, 0
   for _, rule in ipairs(rules) do
      widest_name = math.max(widest_name, #rule.name)
      widest_type = math.max(widest_type, #rule.type + (is_optional(rule) and 1 or 0))
   end
   local lines = {}
   for i, rule in ipairs(rules) do
      local optional = is_optional(rule)
      local kind = rule.type .. (optional and ']' or '')
      lines[i] = ('  %s%s = %s  -- %s%s'):format(optional and '[' or ' ',
         rule.name .. (' '):rep(widest_name - #rule.name), kind .. (' '):rep(widest_type - #kind),
         rule.help or rule.doc or '', default_text(rule))
   end
   return table.concat(lines, '\n')
end

local usage = {is_optional = is_optional}

function usage.of(rules)
   local help = rules.help or rules.doc
   if help then return help end
   local open, close = '({', '})'
   if rules.nonamed then open, close = '(', ')' end
   if rules.noordered then open, close = '{', '}' end
   return ('\n*Arguments:*\n```\n%s\n%s\n%s\n```\n'):format(open, list(rules), close)
end

local function got_one(value)
   local kind = env.type(value)
   if kind ~= 'table' then return '**' .. kind .. '**' end
   local fields = {}
   for key, field in pairs(value) do fields[#fields + 1] = ('**%s=%s**'):format(tostring(key), env.type(field)) end
   if #fields == 0 then return '**table**' end
   table.sort(fields)
   return '**table**={ ' .. table.concat(fields, ', ') .. ' }'
end

function usage.got(...)
   local parts = {}
   for i = 1, select('#', ...) do parts[i] = got_one((select(i, ...))) end
   return '*Got:* ' .. table.concat(parts, ', ') .. '\n'
end

return usage
