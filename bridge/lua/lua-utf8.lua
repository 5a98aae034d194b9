-- The package `lua-utf8` (luautf8): text in UTF-8, by characters. Positions are those of bytes where Lua 5.3's
-- `utf8` has them so (len, codepoint, offset, codes, next), and numbers of characters elsewhere.
-- Patterns are not there: Lua's own functions take those of bytes.
local python = require('relume.bridge').import 'letter_case'

local utf8 = {charpattern = '[%z\1-\127\194-\244][\128-\191]*'}

local max_code = 0x10FFFF

-- How many bytes a character has, by its first one; nil for one that begins none.
local function length_of(first)
   if first < 0x80 then return 1 end
   if first < 0xC2 then return nil end
   if first < 0xE0 then return 2 end
   if first < 0xF0 then return 3 end
   return first < 0xF5 and 4 or nil
end

-- The code of the character at a byte, and the byte behind it; nil where there is no whole one.
local function decode(text, place)
   local first = text:byte(place)
   local length = first and length_of(first)
   if not length then return nil end
   if length == 1 then return first, place + 1 end
   local code = first % 2 ^ (7 - length)
   for i = place + 1, place + length - 1 do
      local byte = text:byte(i)
      if not byte or byte < 0x80 or byte > 0xBF then return nil end
      code = code * 64 + byte - 0x80
   end
   return code, place + length
end

local function decode_or_fail(text, place)
   local code, behind = decode(text, place)
   if not code then error('invalid UTF-8 code', 3) end
   return code, behind
end

local function is_inside(text, place)
   local byte = text:byte(place)
   return byte ~= nil and byte >= 0x80 and byte <= 0xBF
end

local function from_end(place, count)
   return place < 0 and count + place + 1 or place
end

local function encode(code)
   if code < 0 or code > max_code or code % 1 ~= 0 then error('value out of range', 3) end
   if code < 0x80 then return string.char(code) end
   local bytes, first, limit = '', 0xC0, 0x20
   repeat
      bytes = string.char(0x80 + code % 64) .. bytes
      code = math.floor(code / 64)
      if code < limit then return string.char(first + code) .. bytes end
      first, limit = first + limit, limit / 2
   until false
end

-- The characters as a table.
local function characters(text)
   local list, place = {}, 1
   while place <= #text do
      local _, behind = decode(text, place)
      behind = behind or place + 1  -- a byte that is none stands for itself
      list[#list + 1] = text:sub(place, behind - 1)
      place = behind
   end
   return list
end

function utf8.char(...)
   local parts = {}
   for i = 1, select('#', ...) do parts[i] = encode((select(i, ...))) end
   return table.concat(parts)
end

-- The number of characters that begin between two bytes; nil and the place of a byte that is no part of one.
function utf8.len(text, first, last)
   local place, count = from_end(first or 1, #text), 0
   last = from_end(last or -1, #text)
   while place <= last do
      local code, behind = decode(text, place)
      if not code then return nil, place end
      place, count = behind, count + 1
   end
   return count
end

-- The codes of the characters that begin between two bytes.
function utf8.codepoint(text, first, last)
   local place = from_end(first or 1, #text)
   last = from_end(last or place, #text)
   local codes = {}
   while place <= last do codes[#codes + 1], place = decode_or_fail(text, place) end
   return unpack(codes)
end

-- for place, code in utf8.codes(text)
function utf8.codes(text)
   local behind = 1
   return function()
      local place, code = behind
      if place > #text then return nil end
      code, behind = decode_or_fail(text, place)
      return place, code
   end
end

-- The byte where the n-th character begins, counted from the one at byte `first`; 0 is the one around it.
function utf8.offset(text, n, first)
   local place = from_end(first or (n > 0 and 1 or #text + 1), #text)
   if n == 0 then
      while place > 1 and is_inside(text, place) do place = place - 1 end
      return place
   end
   if is_inside(text, place) then error('initial position is a continuation byte', 2) end
   local step = n > 0 and 1 or -1
   for _ = 1, n > 0 and n - 1 or -n do
      if step > 0 and place > #text or step < 0 and place <= 1 then return nil end
      repeat place = place + step until not is_inside(text, place)
   end
   return place
end

-- The byte and the code of the character `count` further than the one at a byte; for `for`, too.
function utf8.next(text, place, count)
   if not place then place, count = 1, count or 0 end
   count = count or 1
   local found = utf8.offset(text, count >= 0 and count + 1 or count, place)
   if not found or found > #text then return nil end
   return found, (decode_or_fail(text, found))
end

-- The byte and the code of a character: its number, or how many further than the one at a byte.
function utf8.charpos(text, place, count)
   if count then return utf8.next(text, place, count) end
   place = place or 1
   local found = utf8.offset(text, place)
   if not found or found > #text then return nil end
   return found, (decode_or_fail(text, found))
end

function utf8.sub(text, first, last)
   local list = characters(text)
   local from, to = from_end(first or 1, #list), from_end(last or -1, #list)
   return table.concat(list, '', math.max(from, 1), math.min(to, #list))
end

-- The codes of characters, by their numbers.
function utf8.byte(text, first, last)
   first = first or 1
   return utf8.codepoint(utf8.sub(text, first, last or first), 1, -1)
end

function utf8.reverse(text)
   local list, reversed = characters(text), {}
   for i = #list, 1, -1 do reversed[#reversed + 1] = list[i] end
   return table.concat(reversed)
end

-- Puts a text in front of the character with a number, or at the end.
function utf8.insert(text, index, other)
   if not other then return text .. index end
   local list = characters(text)
   index = from_end(index, #list)
   return table.concat(list, '', 1, index - 1) .. other .. table.concat(list, '', index)
end

-- Takes characters away, by their numbers: to the end, or the last one.
function utf8.remove(text, first, last)
   local list = characters(text)
   first, last = from_end(first or -1, #list), from_end(last or -1, #list)
   return table.concat(list, '', 1, math.max(first, 1) - 1) .. table.concat(list, '', math.max(last, first - 1) + 1)
end

for _, name in ipairs {'lower', 'upper', 'title', 'fold'} do
   utf8[name] = function(text) return python.change(text, name) end
end

return utf8
