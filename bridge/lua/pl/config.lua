-- pl.config: configuration files as tables: KEY = VALUE lines, INI sections, columns of values.
local utils = require 'pl.utils'

local config = {}

local defaults = {
   variabilize = true, convert_numbers = tonumber, convert_boolean = false, trim_space = true,
   trim_quotes = false, ignore_assign = false, keysep = '=', list_delim = ',', write_quotes = false,
}

local function strip(s) return s:match '^%s*(.-)%s*$' end

-- Lines of a file or of an object with `read`; one that ends in a backslash goes on in the next.
function config.lines(file)
   local opened
   if type(file) == 'string' then
      local message
      opened, message = io.open(file)
      if not opened then return nil, message end
      file = opened
   else
      file = file or io.stdin
      if type(file) ~= 'table' and type(file) ~= 'userdata' or not file.read then
         return nil, 'not a file-like object'
      end
   end
   return function()
      local line = file:read()
      while line and line:match '\\%s*$' do
         line = line:gsub('\\%s*$', '') .. (file:read() or '')
      end
      if not line and opened then opened:close() end
      return line
   end
end

-- Options for well-known kinds of files, guessed from their first lines.
local function guess_options(lines)
   for _, line in ipairs(lines) do
      if not line:match '^%s*[#;]' and line:match '%S' then
         if line:match '^%s*%[' then return {} end
         if line:match '^%S+=' or line:match '^[%w_%s.]+=' then return {} end
         if line:match '^[%w_]+:%s' then return {keysep = ':'} end
         if line:match '^%S+%s+%S+%s+%S+' then return {keysep = ' ', list_delim = '%s+', variabilize = false} end
         if line:match '^%S+%s+%S' then return {keysep = ' '} end
      end
   end
   return {}
end

local function as_option_table(options)
   options = options or {}
   if options.variablilize ~= nil then options.variabilize = options.variablilize end
   local result = setmetatable({}, {__index = defaults})
   for name, value in pairs(options) do result[name] = value end
   if result.convert_numbers == true then result.convert_numbers = tonumber end
   return result
end

local function convert(text, options)
   if options.trim_space then text = strip(text) end
   if options.list_delim and text:find(options.list_delim) then
      local list = utils.split(text, '%s*' .. options.list_delim .. '%s*')
      local rest = {}
      for i, part in ipairs(list) do
         rest[i] = convert(part, setmetatable({list_delim = false}, {__index = options}))
      end
      return rest
   end
   local number = options.convert_numbers and (text:match '^[%d%+%-%.]' or options.convert_numbers ~= tonumber)
      and options.convert_numbers(text)
   if number then return number end
   if options.convert_boolean and (text == 'true' or text == 'false') then return text == 'true' end
   if options.trim_quotes then return text:match '^"(.*)"$' or text:match "^'(.*)'$" or text end
   return text
end

local function variable(name, options)
   name = strip(name)
   local number = tonumber(name)
   if number then return number end
   return options.variabilize and name:gsub('[^%w]', '_') or name
end

function config.read(file, options)
   local next_line, message = config.lines(file)
   if not next_line then return nil, message end
   local lines = {}
   for line in next_line do lines[#lines + 1] = line end
   if options and options.smart then
      local guessed = guess_options(lines)
      for name, value in pairs(options) do guessed[name] = value end
      options = guessed
   end
   options = as_option_table(options)
   local separator = options.keysep == ' ' and '%s+' or '%s*' .. utils.escape(options.keysep) .. '%s*'
   local top, section = {}, nil
   local place = top
   for _, line in ipairs(lines) do
      if line:match '%S' and not line:match '^%s*[#;]' then
         section = line:match '^%s*%[([^%]]*)%]'
         local key, value
         if not options.ignore_assign then
            local first, last = line:find(separator, (line:find '%S'))
            if first and first > 1 then key, value = line:sub(1, first - 1), line:sub(last + 1) end
         end
         if section then
            place = {}
            top[variable(section, options)] = place
         elseif key then
            value = value:gsub('%s+[#;].*$', '')
            place[variable(key, options)] = convert(value, options)
         else
            place[#place + 1] = convert(line, options)
         end
      end
   end
   return top
end

return config
