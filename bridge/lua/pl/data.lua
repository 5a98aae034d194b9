-- pl.data: tables of rows with names for the columns; reading, writing and queries.
local array2d = require 'pl.array2d'
local utils = require 'pl.utils'

local data = {}
local Data = {}

-- Functions of array2d are methods too.
Data.__index = function(self, name)
   local own = Data[name]
   if own then return own end
   local f = array2d[name]
   return f and function(_, ...) return f(self, ...) end or nil
end

----------------------------------------------------------------------------------------
-- Reading.

local function strip(s) return s:match '^%s*(.-)%s*$' end

local function open(file, mode)
   if file == nil then return mode == 'r' and io.stdin or io.stdout end
   if type(file) == 'string' then
      local opened, message = io.open(file, mode)
      return opened, message, true
   end
   if not file.read and not file.write then return nil, 'not a file-like object' end
   return file
end

local function guess_separator(line)
   if line:find ',' then return ',' end
   if line:find '\t' then return '\t' end
   if line:find ';' then return ';' end
   return '%s+'
end

-- Fields of a line of CSV, where quotes protect separators.
local function split_csv(line, separator)
   local fields, place = {}, 1
   repeat
      local first, last, quoted = line:find('^%s*"(.-)"%s*', place)
      while first and line:sub(last + 1, last + 1) ~= separator and last < #line do
         local next_first, next_last = line:find('^[^"]*"%s*', last + 1)
         if not next_first then break end
         quoted, last = line:sub(first + 1, next_last), next_last
      end
      if first then
         fields[#fields + 1] = (quoted:gsub('^%s*"?', ''):gsub('"%s*$', ''):gsub('""', '"'))
         place = last + 2
      else
         local stop = line:find(separator, place, true) or #line + 1
         fields[#fields + 1] = line:sub(place, stop - 1)
         place = stop + 1
      end
   until place > #line + 1
   return fields
end

local function fields_of(line, settings)
   if settings.csv and settings.delim == ',' then return split_csv(line, ',') end
   if settings.delim == '%s+' then line = strip(line) end
   local count = settings.last_field_collect and settings.fieldnames and #settings.fieldnames or nil
   local fields = utils.split(line, settings.delim, false, count)
   if settings.delim ~= '%s+' and line:sub(-1) == settings.delim then fields[#fields + 1] = '' end
   return fields
end

local function to_number(text, thousands_dot)
   if thousands_dot then text = text:gsub('%.(%d%d%d)', '%1'):gsub(',', '.') end
   return tonumber(text)
end

-- How each column is converted, found from the first row.
local function choose_converters(first, settings)
   local converters = {}
   local function number(text)
      if text == '' and settings.csv then return 0 end
      return to_number(text, settings.thousands_dot)
   end
   for i, text in ipairs(first) do
      if to_number(text, settings.thousands_dot) then converters[i] = number end
   end
   for _, i in ipairs(settings.numfields or {}) do converters[i] = number end
   for key, convert in pairs(settings.convert or {}) do
      if type(key) == 'string' then key = settings.positions[key] end
      if key then converters[key] = convert end
   end
   return converters
end

local function clean_name(name) return (strip(name):gsub('%W', '_')) end

local function set_names(names, settings)
   settings.original_fieldnames, settings.fieldnames, settings.positions = {}, {}, {}
   for i, name in ipairs(names) do
      settings.original_fieldnames[i] = strip(name)
      settings.fieldnames[i] = clean_name(name)
      settings.positions[settings.fieldnames[i]] = i
   end
end

function data.read(file, options)
   local source, message, is_ours = open(file, 'r')
   if not source then return nil, message end
   local settings = {}
   for name, value in pairs(options or {}) do settings[name] = value end
   local line = source:read()
   if not line then return nil, 'empty file' end
   settings.delim = settings.delim or guess_separator(line)
   if type(settings.fieldnames) == 'string' then
      settings.fieldnames = utils.split(settings.fieldnames, settings.fieldnames:find ',' and ',' or settings.delim)
   end
   if settings.fieldnames then
      set_names(settings.fieldnames, settings)
   else
      local fields = fields_of(line, settings)
      local has_numbers = false
      for _, field in ipairs(fields) do has_numbers = has_numbers or tonumber(field) ~= nil end
      set_names(has_numbers and {} or fields, settings)
      if not has_numbers then line = source:read() end
   end
   local rows = {}
   local converters
   local number = 1
   while line do
      if line:find '%S' then
         local fields = fields_of((line:gsub('\r$', '')), settings)
         converters = converters or settings.no_convert and {} or choose_converters(fields, settings)
         for i, convert in pairs(converters) do
            local text = fields[i]
            if text ~= nil then
               local value = convert(text)
               if value == nil then
                  if is_ours then source:close() end
                  return nil, ("line %d: cannot convert '%s' to number"):format(number, text)
               end
               fields[i] = value
            end
         end
         rows[#rows + 1] = fields
      end
      line, number = source:read(), number + 1
   end
   if is_ours then source:close() end
   if settings.delim == '%s+' then settings.delim = ' ' end
   rows.delim, rows.fieldnames, rows.original_fieldnames =
      settings.delim, settings.fieldnames, settings.original_fieldnames
   return data.new(rows)
end

function data.new(rows, names)
   names = names or rows.fieldnames or ''
   if type(names) == 'string' then
      rows.delim = rows.delim or guess_separator(names)
      names = utils.split(names, rows.delim)
   end
   rows.delim = rows.delim or '\t'
   local original = rows.original_fieldnames or names
   local clean = {}
   for i, name in ipairs(names) do clean[i] = clean_name(name) end
   rows.fieldnames, rows.original_fieldnames = setmetatable(clean, require 'pl.List'), original
   return setmetatable(rows, Data)
end

----------------------------------------------------------------------------------------
-- Columns and writing.

local function position_of(self, name)
   if type(name) == 'number' then return name end
   for i, known in ipairs(self.fieldnames) do
      if known == name or self.original_fieldnames[i] == name then return i end
   end
   return nil
end

function Data:column_by_name(name)
   local position = position_of(self, name)
   if not position or self[1] and self[1][position] == nil then
      error(("no column '%s'"):format(tostring(name)), 2)
   end
   return array2d.column(self, position)
end

function Data:column_names() return self.fieldnames end

function Data:write_row(file, row)
   local shown = {}
   for i, value in ipairs(row) do shown[i] = tostring(value) end
   file:write(table.concat(shown, self.delim), '\n')
end

function Data:write(file) return data.write(self, file, self.original_fieldnames, self.delim) end

function data.write(rows, file, names, separator)
   local target, message, is_ours = open(file, 'w')
   if not target then return nil, message end
   local shown = {delim = separator or '\t'}
   if names and #names > 0 then Data.write_row(shown, target, names) end
   for _, row in ipairs(rows) do Data.write_row(shown, target, row) end
   if is_ours then target:close() end
   return true
end

----------------------------------------------------------------------------------------
-- Queries: 'fields where condition sort by field'.

local function parse_query(text)
   local query = {}
   local rest, sort_by = text:match '^(.-)%s+sort%s+by%s+(.*)$'
   text = rest or text
   query.sort_by = sort_by
   local fields, condition = text:match '^(.-)%s+where%s+(.*)$'
   query.fields, query.where = fields or text, condition
   return query
end

local function field_list(self, fields)
   if type(fields) == 'table' then return fields end
   if strip(fields) == '*' then return self.fieldnames end
   local list = {}
   for field in fields:gmatch '[^,]+' do list[#list + 1] = strip(field) end
   return list
end

-- A function of a row from an expression, in which names of columns and $1, $2, ... are its values.
local function compile(self, expression, context)
   expression = tostring(expression):gsub('%$(%d+)', 'row[%1]')
   local chunk, message = loadstring('local row = ...; return ' .. expression, '=query')
   if not chunk then return nil, message end
   local row
   setfenv(chunk, setmetatable({}, {__index = function(_, name)
      local position = position_of(self, name)
      if position then return row[position] end
      for _, place in ipairs(context or {}) do
         if place[name] ~= nil then return place[name] end
      end
      return _G[name]
   end}))
   return function(given)
      row = given
      return chunk(row)
   end
end

local function sort_rows(self, rows, sort_by)
   local field, order = sort_by:match '^(%S+)%s*(%S*)$'
   local key = assert(compile(self, field))
   local keys = {}
   for _, row in ipairs(rows) do keys[row] = key(row) end
   table.sort(rows, function(a, b)
      if order == 'desc' then a, b = b, a end
      return keys[a] < keys[b]
   end)
end

function data.query(self, query, context, as_rows)
   if type(query) == 'string' then query = parse_query(query) end
   local columns, message = {}, nil
   for i, field in ipairs(field_list(self, query.fields)) do
      if field:find '^[%a_][%w_]*$' and not position_of(self, field) and _G[field] == nil then
         return nil, field .. ' is not a valid field'
      end
      columns[i], message = compile(self, field, context)
      if not columns[i] then return nil, message end
   end
   local where = query.where
   if type(where) == 'string' then
      where, message = compile(self, where, context)
      if not where then return nil, message end
   elseif where then
      where = utils.function_arg(2, where)
   end
   local rows = {}
   for _, row in ipairs(self) do
      if not where or where(row) then rows[#rows + 1] = row end
   end
   if query.sort_by then sort_rows(self, rows, query.sort_by) end
   local i = 0
   return function()
      i = i + 1
      if not rows[i] then return nil end
      local values = {}
      for k, column in ipairs(columns) do values[k] = column(rows[i]) end
      if as_rows then return values end
      return unpack(values, 1, #columns)
   end
end

function Data:select(query) return data.query(self, query, {}) end
function Data:select_row(query) return data.query(self, query, {}, true) end

function Data:copy_select(query)
   if type(query) == 'string' then query = parse_query(query) end
   local step, message = data.query(self, query, {}, true)
   if not step then return nil, message end
   local rows = {}
   for row in step do rows[#rows + 1] = row end
   rows.delim, rows.fieldnames = self.delim, field_list(self, query.fields)
   return data.new(rows)
end

function data.filter(query, source, target, is_lenient)
   local rows, message = data.read(source or io.stdin)
   local step
   if rows then step, message = data.query(rows, query, {}, true) end
   if not step then
      if is_lenient then return nil, message end
      utils.quit(1, '%s', message)
   end
   local file = open(target, 'w')
   for row in step do Data.write_row(rows, file, row) end
end

return data
