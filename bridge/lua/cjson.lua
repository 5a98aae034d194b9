-- The `cjson` package: JSON, with the limits and the messages of lua-cjson 2.1.

----------------------------------------------------------------------------------------
-- Writing.

local escapes = {['"'] = '\\"', ['\\'] = '\\\\', ['/'] = '\\/', ['\b'] = '\\b', ['\f'] = '\\f',
   ['\n'] = '\\n', ['\r'] = '\\r', ['\t'] = '\\t', ['\127'] = '\\u007f'}

local function quote(text)
   return '"' .. text:gsub('[%c"\\/\127]', function(c)
      return escapes[c] or ('\\u%04x'):format(c:byte())
   end) .. '"'
end

-- The length of a table whose keys are all positive whole numbers; nil for any other.
local function array_length(settings, list)
   local most, count = 0, 0
   for key in pairs(list) do
      if type(key) ~= 'number' or key < 1 or key % 1 ~= 0 then return nil end
      most, count = math.max(most, key), count + 1
   end
   local sparse = settings.sparse
   if sparse.ratio > 0 and most > count * sparse.ratio and most > sparse.safe then
      if not sparse.convert then
         error('Cannot serialise table: excessively sparse array', 0)
      end
      return nil
   end
   return most
end

local encode_value

local function encode_table(settings, value, depth, out)
   if depth > settings.encode_depth then
      error(('Cannot serialise, excessive nesting (%d)'):format(depth), 0)
   end
   local length = array_length(settings, value)
   if length and length > 0 then
      out[#out + 1] = '['
      for i = 1, length do
         if i > 1 then out[#out + 1] = ',' end
         encode_value(settings, value[i], depth, out)
      end
      out[#out + 1] = ']'
      return
   end
   out[#out + 1] = '{'
   local is_first = true
   for key, item in pairs(value) do
      if not is_first then out[#out + 1] = ',' end
      is_first = false
      if type(key) == 'number' then
         out[#out + 1] = ('"%s":'):format(settings.number:format(key))
      elseif type(key) == 'string' then
         out[#out + 1] = quote(key) .. ':'
      else
         error(('Cannot serialise %s: table key must be a number or string'):format(type(key)), 0)
      end
      encode_value(settings, item, depth, out)
   end
   out[#out + 1] = '}'
end

local function encode_number(settings, value)
   local is_number = value == value and value ~= math.huge and value ~= -math.huge
   if not is_number then
      if settings.invalid_numbers == 'null' then return 'null' end
      if not settings.invalid_numbers then
         error('Cannot serialise number: must not be NaN or Inf', 0)
      end
   end
   return settings.number:format(value)
end

function encode_value(settings, value, depth, out)
   local kind = type(value)
   if kind == 'string' then
      out[#out + 1] = quote(value)
   elseif kind == 'number' then
      out[#out + 1] = encode_number(settings, value)
   elseif kind == 'boolean' then
      out[#out + 1] = tostring(value)
   elseif value == nil or value == settings.null then
      out[#out + 1] = 'null'
   elseif kind == 'table' then
      encode_table(settings, value, depth + 1, out)
   else
      error(('Cannot serialise %s: type not supported'):format(kind), 0)
   end
end

----------------------------------------------------------------------------------------
-- Reading: a token is its name, its value and where it starts.

local signs = {['{'] = 'T_OBJ_BEGIN', ['}'] = 'T_OBJ_END', ['['] = 'T_ARR_BEGIN', [']'] = 'T_ARR_END',
   [':'] = 'T_COLON', [','] = 'T_COMMA'}
local words = {{'true', 'T_BOOLEAN', true}, {'false', 'T_BOOLEAN', false}, {'null', 'T_NULL'}}
local unescapes = {b = '\b', f = '\f', n = '\n', r = '\r', t = '\t', ['"'] = '"', ['\\'] = '\\', ['/'] = '/'}

local function utf8(code)
   if code < 0x80 then return string.char(code) end
   if code < 0x800 then return string.char(0xC0 + math.floor(code / 64), 0x80 + code % 64) end
   if code < 0x10000 then
      return string.char(0xE0 + math.floor(code / 4096), 0x80 + math.floor(code / 64) % 64, 0x80 + code % 64)
   end
   return string.char(0xF0 + math.floor(code / 262144), 0x80 + math.floor(code / 4096) % 64,
      0x80 + math.floor(code / 64) % 64, 0x80 + code % 64)
end

-- The code point of \uXXXX at `place` (of a pair of them beyond 16 bits) and the place after it.
local function read_code_point(text, place)
   local high = tonumber(text:match('^u(%x%x%x%x)', place) or '', 16)
   if not high then return nil end
   if high >= 0xD800 and high <= 0xDBFF then
      local low = tonumber(text:match('^\\u([dD][c-fC-F]%x%x)', place + 5) or '', 16)
      if not low then return nil end
      return 0x10000 + (high - 0xD800) * 1024 + low - 0xDC00, place + 11
   end
   return high, place + 5
end

local function read_string(text, start)
   local parts, place = {}, start + 1
   while true do
      local stop = text:find('["\\%c]', place)
      if not stop then return nil, 'unexpected end of string', #text + 1 end
      parts[#parts + 1] = text:sub(place, stop - 1)
      local byte = text:sub(stop, stop)
      if byte == '"' then return table.concat(parts), nil, stop + 1 end
      if byte ~= '\\' then return nil, 'invalid token', stop end
      local letter = text:sub(stop + 1, stop + 1)
      if letter == 'u' then
         local code, after = read_code_point(text, stop + 1)
         if not code then return nil, 'invalid unicode escape code', stop end
         parts[#parts + 1], place = utf8(code), after
      elseif unescapes[letter] then
         parts[#parts + 1], place = unescapes[letter], stop + 2
      else
         return nil, 'invalid escape code', stop
      end
   end
end

-- Moves to the next token.
local function advance(state)
   local text = state.text
   local place = text:find('[^ \t\r\n]', state.place) or #text + 1
   state.start = place
   local byte = text:sub(place, place)
   if byte == '' then
      state.token = 'T_END'
      return
   elseif signs[byte] then
      state.token, state.place = signs[byte], place + 1
      return
   elseif byte == '"' then
      local value, mistake, after = read_string(text, place)
      if mistake then
         state.token, state.start = mistake, after
      else
         state.token, state.value, state.place = 'T_STRING', value, after
      end
      return
   end
   for _, word in ipairs(words) do
      if text:sub(place, place + #word[1] - 1) == word[1] then
         state.token, state.value, state.place = word[2], word[3], place + #word[1]
         return
      end
   end
   local number = text:match('^-?%d+%.?%d*[eE][+-]?%d+', place) or text:match('^-?%d+%.?%d*', place)
      or text:match('^[+-]?[%a]+', place)
   if number and tonumber(number) then
      state.token, state.value, state.place = 'T_NUMBER', tonumber(number), place + #number
   else
      state.token = 'invalid token'
   end
end

local function fail(state, expected)
   error(('Expected %s but found %s at character %d'):format(expected, state.token, state.start), 0)
end

local decode_value

local function deepen(state)
   state.depth = state.depth + 1
   if state.depth > state.settings.decode_depth then
      error(('Found too many nested data structures (%d)'):format(state.depth), 0)
   end
end

local function decode_array(state)
   deepen(state)
   local result, count = {}, 0
   advance(state)
   if state.token ~= 'T_ARR_END' then
      while true do
         count = count + 1
         result[count] = decode_value(state)
         advance(state)
         if state.token == 'T_ARR_END' then break end
         if state.token ~= 'T_COMMA' then fail(state, 'comma or array end') end
         advance(state)
      end
   end
   state.depth = state.depth - 1
   return result
end

local function decode_object(state)
   deepen(state)
   local result = {}
   advance(state)
   if state.token ~= 'T_OBJ_END' then
      while true do
         if state.token ~= 'T_STRING' then fail(state, 'object key string') end
         local key = state.value
         advance(state)
         if state.token ~= 'T_COLON' then fail(state, 'colon') end
         advance(state)
         result[key] = decode_value(state)
         advance(state)
         if state.token == 'T_OBJ_END' then break end
         if state.token ~= 'T_COMMA' then fail(state, 'comma or object end') end
         advance(state)
      end
   end
   state.depth = state.depth - 1
   return result
end

-- The value that begins with the current token.
function decode_value(state)
   local token = state.token
   if token == 'T_STRING' or token == 'T_NUMBER' or token == 'T_BOOLEAN' then return state.value end
   if token == 'T_NULL' then return state.settings.null end
   if token == 'T_ARR_BEGIN' then return decode_array(state) end
   if token == 'T_OBJ_BEGIN' then return decode_object(state) end
   fail(state, 'value')
end

----------------------------------------------------------------------------------------

local null = newproxy(true)
getmetatable(null).__tostring = function() return 'userdata: NULL' end

-- A converter with settings of its own.
local function new()
   local settings = {
      null = null, number = '%.14g', encode_depth = 1000, decode_depth = 1000, invalid_numbers = false,
      sparse = {convert = false, ratio = 2, safe = 10},
   }
   local cjson = {null = null, new = new, _NAME = 'cjson', _VERSION = '2.1.0'}

   function cjson.encode(value)
      local out = {}
      encode_value(settings, value, 0, out)
      return table.concat(out)
   end

   function cjson.decode(text)
      local state = {text = text, place = 1, depth = 0, settings = settings}
      advance(state)
      local value = decode_value(state)
      advance(state)
      if state.token ~= 'T_END' then fail(state, 'the end') end
      return value
   end

   local function setting(name)
      return function(value)
         if value ~= nil then settings[name] = value end
         return settings[name]
      end
   end
   cjson.encode_max_depth, cjson.decode_max_depth = setting('encode_depth'), setting('decode_depth')
   cjson.encode_invalid_numbers = setting('invalid_numbers')
   function cjson.decode_invalid_numbers() return true end
   function cjson.encode_keep_buffer() return true end

   function cjson.encode_number_precision(digits)
      if digits then settings.number = ('%%.%dg'):format(digits) end
      return tonumber(settings.number:match('%d+'))
   end

   function cjson.encode_sparse_array(convert, ratio, safe)
      local sparse = settings.sparse
      if convert ~= nil then sparse.convert = convert end
      sparse.ratio, sparse.safe = ratio or sparse.ratio, safe or sparse.safe
      return sparse.convert, sparse.ratio, sparse.safe
   end
   return cjson
end

-- cjson.safe: nil and the message in the place of an error.
package.preload['cjson.safe'] = function()
   local safe = new()
   for _, name in ipairs {'encode', 'decode'} do
      local f = safe[name]
      safe[name] = function(...)
         local ok, value = pcall(f, ...)
         if ok then return value end
         return nil, value
      end
   end
   return safe
end

return new()
