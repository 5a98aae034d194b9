-- pl.lapp: command lines, described by the text that explains them.
local types = require 'pl.types'

local lapp = {show_usage_error = true, slack = false, filetypes = {}}

local open_files = {}
local streams = {stdin = {io.stdin, 'file-in'}, stdout = {io.stdout, 'file-out'}, stderr = {io.stderr, 'file-out'}}
local usage_text, added_types = '', {}

local script_name

----------------------------------------------------------------------------------------
-- Ends.

function lapp.quit(message, without_usage)
   if without_usage == 'throw' then error(message, 0) end
   if message then io.stderr:write(message, '\n\n') end
   if not without_usage then io.stderr:write(usage_text) end
   os.exit(1)
end

function lapp.error(message, without_usage)
   if not lapp.show_usage_error then
      without_usage = true
   elseif lapp.show_usage_error == 'throw' then
      without_usage = 'throw'
   end
   lapp.quit((script_name or 'lapp') .. ': ' .. message, without_usage)
end

function lapp.assert(condition, message)
   if not condition then lapp.error(message) end
end

function lapp.open(name, mode)
   local file, message = io.open(name, mode or 'r')
   if not file then lapp.error(message, true) end
   open_files[#open_files + 1] = file
   return file
end

-- `converter` makes a value of a text, or is the name of a type; `constraint` looks at the value.
function lapp.add_type(name, converter, constraint)
   added_types[name] = {converter = converter, constraint = constraint}
end

----------------------------------------------------------------------------------------
-- The description.

-- What stands in parentheses after a name: (number default 3), (1..10), (slow|fast default slow), ...
local function parse_type(spec, text)
   local rest = text:match '^optional%s*(.*)$'
   if rest then
      spec.is_optional, text = true, rest
   end
   local kind, default = text:match '^(.-)%s*default%s+(.+)$'
   if not kind then kind = text end
   kind = kind:match '^%s*(.-)%s*$'
   local low, high = kind:match '^(%-?[%w.+-]-)%.%.(%-?[%w.+-]+)$'
   if low and tonumber(low) and tonumber(high) then
      spec.type, spec.low, spec.high = 'number', tonumber(low), tonumber(high)
   elseif kind:find '|' then
      spec.type, spec.words, spec.word_list = 'string', {}, kind
      for word in kind:gmatch '[^|]+' do spec.words[word] = true end
   elseif kind ~= '' then
      spec.type = kind
   end
   if default then
      spec.default = default:match "^'(.*)'$" or default:match '^"(.*)"$' or default
      spec.is_quoted = spec.default ~= default
   end
end

local function guess_type(spec)
   if spec.type or spec.default == nil then return end
   if spec.is_quoted then
      spec.type = 'string'
   elseif spec.default == 'true' or spec.default == 'false' then
      spec.type = 'boolean'
   elseif tonumber(spec.default) then
      spec.type = 'number'
   elseif streams[spec.default] then
      spec.type = streams[spec.default][2]
   else
      spec.type = 'string'
   end
end

-- The words of a line after the names: a type in parentheses, where these may be nested.
local function type_in(rest)
   local text = rest:match '^%s*(%b())'
   return text and text:sub(2, -2)
end

local function check_short(name)
   if #name > 1 and not lapp.slack then
      lapp.error(("-%s is more than one character"):format(name))
   end
end

-- A line that describes an option or an argument; nil for one that only explains.
local function parse_line(line)
   local spec = {}
   local short, rest = line:match '^%s*%-([^%s,%-]+)(.*)$'
   if short then
      spec.is_flag = true
      local word, dots = short:match '^(%w+)(.*)$'
      if not word then return nil end
      spec.short, spec.is_list = word, dots == '...'
      local long, after = rest:match '^%s*,%s*%-%-([%w_-]+)(.*)$'
      if long then
         spec.long, rest = long, after
      end
   else
      local long, after = line:match '^%s*%-%-([%w_][%w_-]*)(.*)$'
      if long then
         spec.is_flag, spec.long, rest = true, long, after
      else
         local name
         name, rest = line:match '^%s*<([%w_.%-]+)>(.*)$'
         if not name then return nil end
         spec.argument = name:gsub('%.%.%.$', '')
         spec.is_list = name ~= spec.argument
      end
   end
   if rest:match '^%.%.%.' then
      spec.is_list = true
      rest = rest:sub(4)
   end
   if spec.short then check_short(spec.short) end
   local described = type_in(rest)
   if described then parse_type(spec, described) end
   guess_type(spec)
   if not spec.type then
      if spec.is_flag then spec.type = 'boolean' else spec.type = 'string' end
   end
   if spec.type == 'boolean' and spec.default == nil then spec.default = 'false' end
   spec.name = (spec.long or spec.short or spec.argument):gsub('^%A', '_'):gsub('%W', '_')
   return spec
end

local function parse_description(text)
   local description = {by_flag = {}, list = {}, arguments = {}}
   for line in (text .. '\n'):gmatch '([^\n]*)\n' do
      local spec = parse_line(line)
      if spec then
         table.insert(description.list, spec)
         if spec.short then description.by_flag[spec.short] = spec end
         if spec.long then description.by_flag[spec.long] = spec end
         if spec.argument then table.insert(description.arguments, spec) end
      end
   end
   return description
end

----------------------------------------------------------------------------------------
-- Values.

local function open_stream(text, kind)
   if streams[text] then return streams[text][1] end
   return lapp.open(text, kind == 'file-in' and 'r' or 'w')
end

local words_for_booleans = {['true'] = true, ['false'] = false}

local function convert(spec, text, kind)
   kind = kind or spec.type
   if kind == 'number' then
      return tonumber(text) or lapp.error('unable to convert to number: ' .. text)
   elseif kind == 'integer' and not added_types.integer then
      local number = tonumber(text) or lapp.error('unable to convert to number: ' .. text)
      lapp.assert(types.is_integer(number), 'not an integer: ' .. text)
      return number
   elseif kind == 'boolean' then
      local value = words_for_booleans[text]
      if value == nil then lapp.error("expecting 'true' or 'false': " .. tostring(text)) end
      return value
   elseif kind == 'file-in' or kind == 'file-out' then
      return open_stream(text, kind)
   elseif added_types[kind] then
      local converter = added_types[kind].converter
      if type(converter) == 'string' then return convert(spec, text, converter) end
      return converter(text)
   elseif kind == 'string' then
      return text
   end
   lapp.error('unknown type ' .. tostring(kind))
end

local function check(spec, value, text)
   if spec.low and (value < spec.low or value > spec.high) then
      lapp.error(spec.name .. ' out of range')
   end
   if spec.words and not spec.words[text] then
      lapp.error(("value '%s' not in %s"):format(text, spec.word_list))
   end
   local added = added_types[spec.type]
   if added and added.constraint then added.constraint(value) end
end

local function is_file(spec) return spec.type == 'file-in' or spec.type == 'file-out' end

-- Puts a value into the results; lists get it at their end.
local function put(results, spec, value, text)
   if spec.is_list then
      local list = spec.is_set and results[spec.name] or {}
      list[#list + 1] = value
      results[spec.name] = list
   else
      results[spec.name] = value
   end
   spec.is_set = true
   if is_file(spec) then
      local name = spec.name .. '_name'
      if spec.is_list then
         results[name] = results[name] or {}
         table.insert(results[name], text)
      else
         results[name] = text
      end
   end
end

local function set(results, spec, text, shown)
   local value = convert(spec, text)
   check(spec, value, text)
   put(results, spec, value, text)
   if lapp.callback then lapp.callback(spec.name, shown or text, results) end
end

local function fill_defaults(description, results)
   for _, spec in ipairs(description.list) do
      if not spec.is_set then
         if spec.default ~= nil then
            put(results, spec, convert(spec, spec.default), spec.default)
         elseif not spec.is_optional then
            lapp.error('missing required parameter: ' .. spec.name)
         end
      end
   end
end

----------------------------------------------------------------------------------------
-- The command line.

local function switch(results, spec, shown)
   put(results, spec, not words_for_booleans[spec.default], nil)
   if lapp.callback then lapp.callback(spec.name, shown, results) end
end

local function help()
   print(usage_text)
   os.exit(0)
end

local function find_flag(description, name)
   local spec = description.by_flag[name]
   if spec then return spec end
   if name == 'help' or name == 'h' then help() end
   lapp.error("unrecognized parameter: " .. name)
end

-- One option with its value, which may be the next word. Returns the position of the last word used.
local function read_flag(description, results, words, i)
   local word = words[i]
   local dashes, name, sign, value = word:match '^(%-%-?)([^=:]+)([=:]?)(.*)$'
   if sign == '' then value = nil end
   if dashes == '-' and #name > 1 and not (lapp.slack and description.by_flag[name]) then
      local first = name:sub(1, 1)
      local spec = find_flag(description, first)
      if spec.type == 'boolean' then  -- several letters after one dash
         for letter in name:gmatch '.' do switch(results, find_flag(description, letter), '-' .. letter) end
         return i
      end
      name, value = first, name:sub(2) .. (sign or '') .. (value or '')
   end
   local spec = find_flag(description, name)
   if spec.type == 'boolean' and value == nil then
      switch(results, spec, word)
      return i
   end
   if value == nil then
      i = i + 1
      value = words[i]
      if value == nil then lapp.error(spec.name .. ' was expecting a value') end
   end
   set(results, spec, value)
   return i
end

local function read_words(description, results, words)
   local place, only_arguments = 1, false
   local i = 1
   while i <= #words do
      local word = words[i]
      if not only_arguments and word == '--' then
         only_arguments = true
      elseif not only_arguments and word:find '^%-' and word ~= '-' and not tonumber(word) then
         i = read_flag(description, results, words, i)
      else
         local spec = description.arguments[place]
         if spec then
            set(results, spec, word)
            if not spec.is_list then place = place + 1 end
         else
            results[#results + 1] = word
         end
      end
      i = i + 1
   end
end

function lapp.process_options_string(text, words)
   usage_text = text:gsub('^\n', '')
   words = words or arg
   script_name = arg and arg[0] and tostring(arg[0]):match '([^/]*)%.?[^./]*$' or nil
   if script_name then script_name = script_name:gsub('%.lua$', '') end
   local description, results = parse_description(usage_text), {}
   lapp.usage_text = usage_text
   read_words(description, results, words or {})
   fill_defaults(description, results)
   return results
end

return setmetatable(lapp, {__call = function(_, text, words) return lapp.process_options_string(text, words) end})
