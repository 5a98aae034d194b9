-- The `csvigo` package: files of comma-separated values, as rows ('raw'), as columns by name ('tidy'), as a
-- function that answers queries ('query'), or as rows that are parsed when they are looked at ('large').
csvigo = csvigo or {}

----------------------------------------------------------------------------------------
-- Lines.

-- The fields of a line; quotes protect separators, and two of them stand for one.
local function split(line, separator)
   local fields, place, length = {}, 1, #line
   while true do
      if line:sub(place, place) == '"' then
         local parts = {}
         repeat
            local close = line:find('"', place + 1, true) or length + 1
            parts[#parts + 1] = line:sub(place + 1, close - 1)
            place = close + 1
         until line:sub(place, place) ~= '"'
         fields[#fields + 1] = table.concat(parts, '"')
         place = line:find(separator, place, true) or length + 1
      else
         local stop = line:find(separator, place, true) or length + 1
         fields[#fields + 1] = line:sub(place, stop - 1)
         place = stop
      end
      if place > length then return fields end
      place = place + 1
   end
end

local function join(fields, separator)
   local parts = {}
   for i, field in ipairs(fields) do
      local text = tostring(field)
      if text:find '["\n\r]' or text:find(separator, 1, true) then text = '"' .. text:gsub('"', '""') .. '"' end
      parts[i] = text
   end
   return table.concat(parts, separator)
end

local File = {}
File.__index = File

-- csvigo.File(path, 'r' or 'w' [, separator])
function csvigo.File(path, mode, separator)
   local file, message = io.open(path, mode or 'r')
   if not file then error(('csvigo.File: %s'):format(message), 2) end
   return setmetatable({file = file, separator = separator or ','}, File)
end

function File:read()
   local line = self.file:read()
   if not line then return nil end
   -- a field in quotes may hold line ends
   while select(2, line:gsub('"', '')) % 2 == 1 do
      local more = self.file:read()
      if not more then break end
      line = line .. '\n' .. more
   end
   return split((line:gsub('\r$', '')), self.separator)
end

function File:readall()
   local rows = {}
   for row in function() return self:read() end do rows[#rows + 1] = row end
   return rows
end

function File:write(fields) self.file:write(join(fields, self.separator), '\n') end
function File:writeall(rows) for _, row in ipairs(rows) do self:write(row) end end
function File:close() self.file:close() end

----------------------------------------------------------------------------------------
-- Options: given by name in a table, or the first ones in order.

local function options_of(defaults, order, ...)
   local given = ...
   if type(given) ~= 'table' or select('#', ...) > 1 or getmetatable(given) ~= nil then
      given = {}
      for i = 1, select('#', ...) do given[order[i] or i] = select(i, ...) end
   end
   return setmetatable(given, {__index = defaults})
end

local function usage(name, lines)
   print('csvigo.' .. name .. '{')
   for _, line in ipairs(lines) do print('   ' .. line) end
   print '}'
   error('csvigo.' .. name .. ': expected a path', 3)
end

local function say(options, ...)
   if options.verbose then print('<csv>', ...) end
end

----------------------------------------------------------------------------------------
-- Loading.

local function has_header(options, first)
   local header = options.header
   if header == true or header == 'true' then return true end
   if header == false or header == 'false' then return false end
   for _, field in ipairs(first) do  -- names are no numbers
      if tonumber(field) then return false end
   end
   return true
end

-- Columns by name, and the names in order.
local function tidy(rows, options)
   local names, columns, first = {}, {}, 1
   if #rows > 0 and has_header(options, rows[1]) then
      first = 2
      for i, name in ipairs(rows[1]) do names[i] = name end
   else
      for i = 1, #(rows[1] or {}) do names[i] = 'var_' .. i end
   end
   for i, name in ipairs(names) do
      local column = {}
      for k = first, #rows do column[#column + 1] = rows[k][i] end
      columns[name] = column
   end
   return columns, names
end

local QUERY_HELP = [[
query('all')                            all columns
query('vars')                           the names of the columns
query('inter', {name = value, ...})     rows in which all columns have one of these values
query('union', {name = {value, ...}})   rows in which any column has
]]

local function satisfies(columns, wanted, row, is_union)
   for name, values in pairs(wanted) do
      if type(values) ~= 'table' then values = {values} end
      local found = false
      for _, value in ipairs(values) do found = found or columns[name][row] == tostring(value) end
      if found == is_union then return found end
   end
   return not is_union
end

local function new_query(columns, names)
   return function(question, wanted)
      if type(question) == 'table' then question, wanted = question.query, question.vars end
      question = question or 'all'
      if question == 'help' then return print(QUERY_HELP) end
      if question == 'vars' then return names end
      if question == 'all' then return columns end
      if question ~= 'inter' and question ~= 'union' then
         error(("unknown query '%s': expected all, help, vars, inter or union"):format(tostring(question)), 2)
      end
      for name in pairs(wanted) do
         if not columns[name] then error(("there is no column '%s'"):format(tostring(name)), 2) end
      end
      local result = {}
      for _, name in ipairs(names) do result[name] = {} end
      for row = 1, #(columns[names[1]] or {}) do
         if satisfies(columns, wanted, row, question == 'union') then
            for _, name in ipairs(names) do table.insert(result[name], columns[name][row]) end
         end
      end
      return result
   end
end

-- Rows that are parsed when they are looked at; the text of the file is all that is held.
local function large(path, separator)
   local lines = {}
   for line in io.lines(path) do lines[#lines + 1] = line end
   local proxy = newproxy(true)
   local mt = getmetatable(proxy)
   function mt.__index(_, i)
      local line = lines[i]
      return line and split((line:gsub('\r$', '')), separator) or nil
   end
   function mt.__newindex() error('a large table is read-only', 2) end
   function mt.__len() return #lines end
   local function iterate(_, i)
      i = (i or 0) + 1
      if lines[i] then return i, proxy[i] end
   end
   function mt.__pairs() return iterate, proxy, 0 end
   mt.__ipairs = mt.__pairs
   function mt.__tostring()
      local shown = {}
      for i = 1, #lines do
         if i <= 10 or i > #lines - 10 then
            shown[#shown + 1] = lines[i]
         elseif i == 11 then
            shown[#shown + 1] = '...'
         end
      end
      return table.concat(shown, '\n')
   end
   return proxy
end

local load_defaults = {
   separator = ',', mode = 'tidy', header = 'auto', verbose = true, skip = 0, column_order = false,
}

-- csvigo.load(path), or csvigo.load{path = ..., separator, mode, header, verbose, skip, column_order}
function csvigo.load(...)
   local options = options_of(load_defaults, {'path', 'separator', 'mode', 'header', 'verbose', 'skip'}, ...)
   if type(options.path) ~= 'string' then
      usage('load', {
         "path          the file", "separator     one character [default = ,]",
         "mode          raw | tidy | query | large [default = tidy]",
         "header        true | false | auto [default = auto]",
         "verbose       [default = true]", "skip          how many lines to leave out at the start [default = 0]",
         "column_order  also return the names of the columns in order [default = false]",
      })
   end
   if options.mode == 'large' then return large(options.path, options.separator) end
   say(options, 'parsing file: ' .. options.path)
   local file = csvigo.File(options.path, 'r', options.separator)
   for _ = 1, options.skip do file.file:read() end
   local rows = file:readall()
   file:close()
   say(options, 'parsing done')
   if options.mode == 'raw' then return rows end
   local columns, names = tidy(rows, options)
   if options.mode == 'query' then
      say(options, "returning query closure, type query('help') to get help")
      return new_query(columns, names)
   end
   if options.mode ~= 'tidy' then error(("csvigo.load: unknown mode '%s'"):format(tostring(options.mode)), 2) end
   if options.column_order then return columns, names end
   return columns
end

----------------------------------------------------------------------------------------
-- Saving.

local function rows_of(columns, options)
   local names = options.column_order
   if not names then
      names = {}
      for name in pairs(columns) do names[#names + 1] = name end
      table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
   end
   local rows = {}
   if options.header then rows[1] = names end
   for i = 1, #(columns[names[1]] or {}) do
      local row = {}
      for k, name in ipairs(names) do
         local value = columns[name][i]
         row[k] = options.nan_as_missing and value ~= value and '' or value
      end
      rows[#rows + 1] = row
   end
   return rows
end

local save_defaults = {separator = ',', mode = 'autodetect', header = true, verbose = true, nan_as_missing = false}

local function detect_mode(data)
   if type(data) == 'function' then return 'query' end
   return data[1] ~= nil and 'raw' or 'tidy'
end

-- csvigo.save(path, data), or csvigo.save{path = ..., data = ..., separator, mode, header, ...}
function csvigo.save(...)
   local options = options_of(save_defaults, {'path', 'data', 'separator', 'mode', 'header'}, ...)
   if type(options.path) ~= 'string' or options.data == nil then
      usage('save', {
         'path            the file', 'data            rows, columns by name, or a query function',
         'separator       one character [default = ,]', 'mode            raw | tidy | query [default = autodetect]',
         'header          write the names of the columns [default = true]', 'verbose         [default = true]',
         'column_order    the names of the columns in the order to write', 'nan_as_missing  [default = false]',
      })
   end
   local mode = options.mode == 'autodetect' and detect_mode(options.data) or options.mode
   local data = options.data
   if mode == 'query' then data, mode = data 'all', 'tidy' end
   local rows = mode == 'raw' and data or rows_of(data, options)
   say(options, 'writing to file: ' .. options.path)
   local file = csvigo.File(options.path, 'w', options.separator)
   file:writeall(rows)
   file:close()
   say(options, 'writing done')
end

return csvigo
