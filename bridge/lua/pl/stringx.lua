-- pl.stringx: the methods of Python's strings.
local List = require 'pl.List'
local utils = require 'pl.utils'

local stringx = {}
local assert_string, assert_arg = utils.assert_string, utils.assert_arg

----------------------------------------------------------------------------------------
-- Questions.

for name, pattern in pairs {
   isalpha = '^%a+$', isdigit = '^%d+$', isalnum = '^%w+$', isspace = '^%s+$', islower = '^[%l%s]+$',
   isupper = '^[%u%s]+$',
} do
   stringx[name] = function(s)
      assert_string(1, s)
      return s:find(pattern) == 1
   end
end

local function test_any(s, test, one_or_more, name)
   assert_string(1, s)
   if type(one_or_more) == 'string' then return test(s, one_or_more) end
   if type(one_or_more) == 'table' then
      for _, one in ipairs(one_or_more) do
         if test(s, one) then return true end
      end
      return false
   end
   error(("argument 2 expected a 'string' or a 'table', got a '%s' as the %s"):format(type(one_or_more), name), 3)
end

function stringx.startswith(s, prefix)
   return test_any(s, function(text, start) return text:sub(1, #start) == start end, prefix, 'prefix')
end

function stringx.endswith(s, suffix)
   return test_any(s, function(text, ending)
      return #text >= #ending and text:sub(#text - #ending + 1) == ending
   end, suffix, 'suffix')
end

----------------------------------------------------------------------------------------
-- Strings and lists.

function stringx.join(s, parts)
   assert_string(1, s)
   return table.concat(parts, s)
end

function stringx.splitlines(s, keeps_ends)
   assert_string(1, s)
   local lines, place = List(), 1
   while place <= #s do
      local first, last = s:find('[\r\n]', place)
      if not first then
         lines:append(s:sub(place))
         break
      end
      if s:sub(first, first + 1) == '\r\n' then last = first + 1 end
      lines:append(s:sub(place, keeps_ends and last or first - 1))
      place = last + 1
   end
   return lines
end

function stringx.split(s, separator, most)
   assert_string(1, s)
   local plain = true
   if not separator then  -- words
      s = stringx.lstrip(s)
      plain = false
   end
   local parts = List(utils.split(s, separator, plain, most))
   if separator and separator ~= '' and #s >= #separator and s:sub(-#separator) == separator
      and (not most or #parts < most) then
      parts:append ''  -- an empty field stands after the last separator
   elseif s == '' and separator then
      parts:append ''
   end
   return parts
end

function stringx.splitv(s, pattern)
   assert_string(1, s)
   return utils.splitv(s, pattern)
end

function stringx.expandtabs(s, size)
   assert_string(1, s)
   size = size or 8
   return (s:gsub('([^\t\r\n]*)\t', function(before)
      return before .. (' '):rep(size - #before % size)
   end))
end

function stringx.lines(s)
   assert_string(1, s)
   if not s:find '\n$' then s = s .. '\n' end
   return s:gmatch '([^\n]*)\n'
end

----------------------------------------------------------------------------------------
-- Finding and replacing.

-- The first or the last place of `wanted` that lies within first .. last.
function stringx.lfind(s, wanted, first, last)
   assert_string(1, s)
   assert_string(2, wanted)
   local from, to = s:find(wanted, first, true)
   if from and (not last or to <= last) then return from end
   return nil
end

function stringx.rfind(s, wanted, first, last)
   assert_string(1, s)
   assert_string(2, wanted)
   first, last = first or 1, last or #s
   if wanted == '' then return last + 1 - (last > #s and last - #s or 0) end
   for place = last - #wanted + 1, first, -1 do
      if s:sub(place, place + #wanted - 1) == wanted then return place end
   end
   return nil
end

function stringx.replace(s, old, new, most)
   assert_string(1, s)
   assert_string(2, old)
   assert_string(3, new)
   return (s:gsub(utils.escape(old), (new:gsub('%%', '%%%%')), most))
end

function stringx.count(s, wanted, overlapping)
   assert_string(1, s)
   local count, place = 0, 1
   while true do
      local first, last = s:find(wanted, place, true)
      if not first then return count end
      count = count + 1
      place = overlapping and first + 1 or last + 1
   end
end

----------------------------------------------------------------------------------------
-- Space around.

local function padding(s, width, character)
   assert_string(1, s)
   assert_arg(2, width, 'number')
   return character or ' ', math.max(width - #s, 0)
end

function stringx.ljust(s, width, character)
   local pad, missing = padding(s, width, character)
   return s .. pad:rep(missing)
end

function stringx.rjust(s, width, character)
   local pad, missing = padding(s, width, character)
   return pad:rep(missing) .. s
end

function stringx.center(s, width, character)
   local pad, missing = padding(s, width, character)
   local left = math.floor(missing / 2)
   return pad:rep(left) .. s .. pad:rep(missing - left)
end

local function strip(s, left, right, characters)
   assert_string(1, s)
   local set = characters and '[' .. characters:gsub('[%]%^%-%%]', '%%%0') .. ']' or '%s'
   local first, last = 1, #s
   if left then first = select(2, s:find('^' .. set .. '*')) + 1 end
   if right then
      while last >= first and s:sub(last, last):find(set) do last = last - 1 end
   end
   return s:sub(first, last)
end

function stringx.lstrip(s, characters) return strip(s, true, false, characters) end
function stringx.rstrip(s, characters) return strip(s, false, true, characters) end
function stringx.strip(s, characters) return strip(s, true, true, characters) end

----------------------------------------------------------------------------------------
-- Parts.

local function check_separator(separator)
   assert_string(2, separator)
   if separator == '' then error('argument 2 expected a non-empty string', 3) end
end

function stringx.partition(s, separator)
   assert_string(1, s)
   check_separator(separator)
   local first, last = s:find(separator, 1, true)
   if not first then return s, '', '' end
   return s:sub(1, first - 1), separator, s:sub(last + 1)
end

function stringx.rpartition(s, separator)
   assert_string(1, s)
   check_separator(separator)
   local first = stringx.rfind(s, separator)
   if not first then return '', '', s end
   return s:sub(1, first - 1), separator, s:sub(first + #separator)
end

function stringx.at(s, position)
   assert_string(1, s)
   assert_arg(2, position, 'number')
   return s:sub(position, position)
end

function stringx.title(s)
   assert_string(1, s)
   return (s:gsub('(%S)(%S*)', function(first, rest) return first:upper() .. rest:lower() end))
end

do
   local limit = 60
   function stringx.shorten(s, width, keeps_end)
      assert_string(1, s)
      width = width or limit
      if #s <= width then return s end
      if width < 3 then return ('...'):sub(1, width) end
      if keeps_end then return '...' .. s:sub(#s - width + 4) end
      return s:sub(1, width - 3) .. '...'
   end
end

-- A string as Lua source, in long brackets where that is easier to read.
function stringx.quote_string(s)
   assert_string(1, s)
   if s:find '\n' and not s:find '\r' then
      local level = ''
      while s:find(']' .. level .. ']', 1, true) or s:sub(-1 - #level) == ']' .. level do level = level .. '=' end
      return '[' .. level .. '[\n' .. s .. ']' .. level .. ']'
   end
   return (('%q'):format(s):gsub('\\\n', '\\n'):gsub('\r', '\\r'))
end

local text = require 'pl.text'
for _, name in ipairs {'indent', 'dedent', 'wrap', 'fill', 'Template', 'format_operator'} do
   stringx[name] = text[name]
end

-- Makes all of these methods of strings.
function stringx.import()
   for name, f in pairs(stringx) do
      if string[name] == nil and type(f) == 'function' then string[name] = f end
   end
end

return stringx
