-- pl.pretty: tables as text, and back.
local stringx_quote
local utils = require 'pl.utils'

local pretty = {}

local keywords = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat return
   then true until while]]):gmatch '%a+' do keywords[word] = true end

----------------------------------------------------------------------------------------
-- Reading.

local function without_comment(source)
   return (source:gsub('^%s*%-%-[^\n]*\n', ''))
end

-- Strings become '' and comments go, so that what is looked for is code.
local function code_only(source)
   source = source:gsub('%-%-%[(=*)%[.-%]%1%]', ''):gsub('%[(=*)%[.-%]%1%]', "''")
   source = source:gsub('\\.', '')
   source = source:gsub('"[^"\n]*"', "''"):gsub("'[^'\n]*'", "''")
   return (source:gsub('%-%-[^\n]*', ''))
end

local function has_word(source, word)
   return (' ' .. code_only(source) .. ' '):find('[^%w_]' .. word .. '[^%w_]') ~= nil
end

-- Calls f() without the methods of strings, which could take for ever; both results of pcall.
local function without_string_methods(f)
   local strings = getmetatable ''
   local methods = strings.__index
   strings.__index = nil
   local ok, result = pcall(f)
   strings.__index = methods
   return ok, result
end

-- A table from its source; nil and why not when it is none, or would run code.
function pretty.read(source)
   utils.assert_string(1, source)
   source = without_comment(source)
   if not source:find '^%s*{' then return nil, 'not a Lua table' end
   if has_word(source, 'function') then return nil, 'cannot have functions in table definition' end
   local chunk, message = utils.load('return ' .. source, 'tbl', 't', {})
   if not chunk then return nil, message end
   local ok, result = without_string_methods(chunk)
   if ok then return result end
   return nil, result
end

local loops = {'while', 'for', 'repeat', 'until', 'function'}

-- Runs a chunk in an environment, which is returned. `is_wary`: without loops and methods of strings.
function pretty.load(source, environment, is_wary)
   environment = environment or {}
   if is_wary then
      for _, word in ipairs(loops) do
         if has_word(source, word) then return nil, 'looping not allowed' end
      end
   end
   local chunk, message = utils.load(source, 'tbl', 't', environment)
   if not chunk then return nil, message end
   local ok, failure = (is_wary and without_string_methods or pcall)(chunk)
   if not ok then return nil, failure end
   return environment
end

----------------------------------------------------------------------------------------
-- Writing.

local function quote(s)
   stringx_quote = stringx_quote or require('pl.stringx').quote_string
   return stringx_quote(s)
end

local function is_name(key)
   return type(key) == 'string' and key:find '^[%a_][%w_]*$' ~= nil and not keywords[key]
end

local function key_text(key, is_plain)
   if not is_plain and is_name(key) then return key end
   if type(key) == 'string' then
      local quoted = quote(key)
      return quoted:sub(1, 1) == '[' and '[ ' .. quoted .. ' ]' or '[' .. quoted .. ']'
   end
   return type(key) == 'number' and '[' .. key .. ']' or '["' .. tostring(key) .. '"]'
end

local rank = {boolean = 1, string = 2, number = 4}

local function before(a, b)
   local rank_a, rank_b = rank[type(a)] or 3, rank[type(b)] or 3
   if rank_a ~= rank_b then return rank_a < rank_b end
   if type(a) == 'number' then return a < b end
   return tostring(a) < tostring(b)
end

local function plain_text(value)
   if type(value) ~= 'number' then return tostring(value) end
   if value ~= value then return 'NaN' end
   if value == math.huge then return 'Inf' end
   if value == -math.huge then return '-Inf' end
   return value % 1 == 0 and math.abs(value) <= 2 ^ 53 and ('%d'):format(value) or tostring(value)
end

local function is_table(value) return type(value) == 'table' end

local function has_text(value)
   local mt = getmetatable(value)
   return type(mt) == 'table' and mt.__tostring ~= nil
end

-- Appends the text of a table to `parts`.
local function write_table(parts, t, space, indent, is_plain, open)
   local newline = space == '' and '' or '\n'
   local inner = indent .. space
   open[t] = true
   local count = 0
   local function item(key, value)
      parts[#parts + 1] = (count > 0 and ',' or '') .. newline .. inner
      count = count + 1
      if key ~= nil then
         parts[#parts + 1] = key_text(key, is_plain) .. (space == '' and '=' or ' = ')
      end
      if type(value) == 'string' then
         parts[#parts + 1] = quote(value)
      elseif not is_table(value) then
         parts[#parts + 1] = plain_text(value)
      elseif open[value] then
         parts[#parts + 1] = '<cycle>'
      elseif has_text(value) and not is_plain then
         parts[#parts + 1] = tostring(value)
      else
         write_table(parts, value, space, inner, is_plain, open)
      end
   end
   parts[#parts + 1] = '{'
   local length, used = #t, {}
   if not is_plain then
      for i = 1, length do
         item(nil, rawget(t, i))
         used[i] = true
      end
   end
   local keys = {}
   for key in pairs(t) do if not used[key] then keys[#keys + 1] = key end end
   table.sort(keys, before)
   for _, key in ipairs(keys) do item(key, t[key]) end
   parts[#parts + 1] = newline .. indent .. '}'
   open[t] = nil
end

-- The text of a table, one item a line; with `space` '' on one line. `is_plain` writes all keys.
function pretty.write(t, space, is_plain)
   if not is_table(t) then
      return type(t) == 'string' and quote(t) or plain_text(t), 'not a table'
   end
   local parts = {}
   write_table(parts, t, space or '  ', '', is_plain, {})
   return table.concat(parts)
end

function pretty.dump(t, path)
   if path then return utils.writefile(path, pretty.write(t)) end
   print(pretty.write(t))
   return true
end

function pretty.debug(...)
   local shown = {}
   for i = 1, select('#', ...) do
      local value = select(i, ...)
      shown['arg ' .. i] = value == nil and '<nil>' or value
   end
   print(pretty.write(shown))
   return true
end

----------------------------------------------------------------------------------------
-- Numbers.

local units = {
   M = {base = 1024, names = {'B', 'KiB', 'MiB', 'GiB'}},
   N = {base = 1000, names = {'', 'K', 'M', 'B'}},
}

-- A large number for people: kind 'M' is memory, 'N' postfixes, 'T' commas between thousands.
function pretty.number(number, kind, digits)
   kind = kind or 'N'
   if kind == 'T' then
      local sign, whole, rest = tostring(number):match '^(-?)(%d+)(.*)$'
      local grouped = whole:reverse():gsub('(%d%d%d)', '%1,'):reverse():gsub('^,', '')
      return sign .. grouped .. rest
   end
   local unit = units[kind] or error(("unknown kind of number '%s'"):format(tostring(kind)), 2)
   local power = 1
   while power < #unit.names and math.abs(number) >= unit.base do
      number, power = number / unit.base, power + 1
   end
   if power == 1 then return tostring(number) .. unit.names[1] end
   return ('%.' .. (digits or 1) .. 'f%s'):format(number, unit.names[power])
end

return setmetatable(pretty, {__call = function(_, ...) return pretty.debug(...) end})
