-- pl.array2d: tables of rows. Ranges are (first row, first column, last row, last column); negative
-- numbers count from the end, and 'B2:C4' is a range too.
local tablex = require 'pl.tablex'
local utils = require 'pl.utils'

local array2d = {}
local function_arg = utils.function_arg

local function new(rows) return setmetatable(rows, utils.stdmt.List) end

function array2d.size(t)
   return #t, t[1] and #t[1] or 0
end

----------------------------------------------------------------------------------------
-- Ranges.

local function column_number(letters)
   local number = 0
   for letter in letters:upper():gmatch '.' do number = number * 26 + letter:byte() - 64 end
   return number
end

-- 'B2' is row 2, column 2; 'R2C3' is row 2, column 3.
local function cell(text)
   local row, column = text:match '^[rR](%d+)[cC](%d+)$'
   if row then return tonumber(row), tonumber(column) end
   local letters, digits = text:match '^(%a+)(%d+)$'
   if not letters then error('bad cell specifier: ' .. text, 3) end
   return tonumber(digits), column_number(letters)
end

function array2d.parse_range(text)
   utils.assert_arg(1, text, 'string')
   local first, last = text:match '^([^:]+):?(.*)$'
   if not first then error('bad range: ' .. text, 2) end
   local i1, j1 = cell(first)
   if last == '' then return i1, j1 end
   return i1, j1, cell(last)
end
array2d.range_string = array2d.parse_range

local function place(number, size, default)
   number = number or default
   if number < 0 then number = size + number + 1 end
   return math.max(1, math.min(number, size))
end

function array2d.default_range(t, i1, j1, i2, j2)
   if type(i1) == 'string' then
      i1, j1, i2, j2 = array2d.parse_range(i1)
      i2, j2 = i2 or i1, j2 or j1
   end
   local rows, columns = array2d.size(t)
   return place(i1, rows, 1), place(j1, columns, 1), place(i2, rows, rows), place(j2, columns, columns)
end

----------------------------------------------------------------------------------------
-- Parts.

function array2d.row(t, i) return new {unpack(t[i])} end

function array2d.column(t, j)
   return new(tablex.imap(function(row) return row[j] end, t))
end

function array2d.slice(t, i1, j1, i2, j2)
   i1, j1, i2, j2 = array2d.default_range(t, i1, j1, i2, j2)
   local rows = {}
   for i = i1, i2 do rows[#rows + 1] = tablex.sub(t[i], j1, j2) end
   if i1 == i2 then return new(rows[1]) end
   if j1 == j2 then return array2d.column(rows, 1) end
   return new(rows)
end
array2d.range = array2d.slice

function array2d.extract_rows(t, indices)
   local rows = {}
   for k, i in ipairs(indices) do rows[k] = new {unpack(t[i])} end
   return new(rows)
end

function array2d.extract_cols(t, indices)
   local rows = {}
   for i, row in ipairs(t) do rows[i] = new(tablex.index_by(row, indices)) end
   return new(rows)
end

function array2d.remove_row(t, i) return table.remove(t, i) end

function array2d.remove_col(t, j)
   for _, row in ipairs(t) do table.remove(row, j) end
end

function array2d.swap_rows(t, a, b)
   t[a], t[b] = t[b], t[a]
   return t
end

function array2d.swap_cols(t, a, b)
   for _, row in ipairs(t) do row[a], row[b] = row[b], row[a] end
   return t
end

----------------------------------------------------------------------------------------
-- Shapes.

function array2d.flatten(t)
   local result = {}
   for _, row in ipairs(t) do
      for j = 1, #row do result[#result + 1] = row[j] end
   end
   return new(result)
end

-- `by_columns`: elements are taken and placed down the columns.
function array2d.reshape(t, rows, by_columns)
   local total_rows, total_columns = array2d.size(t)
   local columns = total_rows * total_columns / rows
   local result = {}
   for i = 1, rows do result[i] = new {} end
   local count = 0
   local function element(k)
      if by_columns then return t[k % total_rows + 1][math.floor(k / total_rows) + 1] end
      return t[math.floor(k / total_columns) + 1][k % total_columns + 1]
   end
   for a = 1, by_columns and columns or rows do
      for b = 1, by_columns and rows or columns do
         local i, j = by_columns and b or a, by_columns and a or b
         result[i][j] = element(count)
         count = count + 1
      end
   end
   return new(result)
end

function array2d.transpose(t)
   local result = {}
   local rows, columns = array2d.size(t)
   for j = 1, columns do
      result[j] = new {}
      for i = 1, rows do result[j][i] = t[i][j] end
   end
   return new(result)
end

function array2d.new(rows, columns, value)
   local result = {}
   for i = 1, rows do
      result[i] = new {}
      for j = 1, columns do
         if type(value) == 'function' then result[i][j] = value(i, j) else result[i][j] = value end
      end
   end
   return new(result)
end

----------------------------------------------------------------------------------------
-- Functions of all elements.

function array2d.map(f, t, argument)
   f = function_arg(1, f)
   local result = {}
   for i, row in ipairs(t) do result[i] = new(tablex.imap(f, row, argument)) end
   return new(result)
end

-- map2(f, dimensions of a, dimensions of b, a, b): either may be a row for all rows of the other.
function array2d.map2(f, dims_a, dims_b, a, b, argument)
   f = function_arg(1, f)
   if dims_a == 1 and dims_b == 1 then return new(tablex.imap2(f, a, b, argument)) end
   local result = {}
   for i = 1, math.max(dims_a == 2 and #a or 0, dims_b == 2 and #b or 0) do
      result[i] = new(tablex.imap2(f, dims_a == 2 and a[i] or a, dims_b == 2 and b[i] or b, argument))
   end
   return new(result)
end

function array2d.product(f, a, b)
   f = function_arg(1, f)
   local result = {}
   for j = 1, #b do
      result[j] = new(tablex.imap(function(x) return f(x, b[j]) end, a))
   end
   return new(result)
end

function array2d.reduce_rows(f, t)
   return new(tablex.imap(function(row) return tablex.reduce(f, row) end, t))
end

function array2d.reduce_cols(f, t)
   f = function_arg(1, f)
   return tablex.reduce(function(a, b) return new(tablex.imap2(f, a, b)) end, t)
end

function array2d.reduce2(f_columns, f_rows, t)
   return tablex.reduce(f_columns, array2d.reduce_rows(f_rows, t))
end

function array2d.forall(t, f, after_row, i1, j1, i2, j2)
   i1, j1, i2, j2 = array2d.default_range(t, i1, j1, i2, j2)
   for i = i1, i2 do
      for j = j1, j2 do f(t[i], j) end
      if after_row then after_row(i) end
   end
end

function array2d.set(t, value, i1, j1, i2, j2)
   i1, j1, i2, j2 = array2d.default_range(t, i1, j1, i2, j2)
   for i = i1, i2 do
      for j = j1, j2 do
         if type(value) == 'function' then t[i][j] = value(i, j) else t[i][j] = value end
      end
   end
end

function array2d.write(t, file, format, i1, j1, i2, j2)
   file = file or io.stdout
   local function element(row, j)
      file:write(format and format:format(row[j]) or tostring(row[j]) .. ' ')
   end
   array2d.forall(t, element, function() file:write '\n' end, i1, j1, i2, j2)
end

-- Copies a block of `source` to row `di`, column `dj` of `target`.
function array2d.move(target, di, dj, source, i1, j1, i2, j2)
   i1, j1, i2, j2 = array2d.default_range(source, i1, j1, i2, j2)
   for i = i1, i2 do
      for j = j1, j2 do target[di + i - i1][dj + j - j1] = source[i][j] end
   end
end

-- The elements by rows; `with_indices` gives i, j and the element.
function array2d.iter(t, with_indices, i1, j1, i2, j2)
   i1, j1, i2, j2 = array2d.default_range(t, i1, j1, i2, j2)
   local i, j = i1, j1 - 1
   return function()
      j = j + 1
      if j > j2 then i, j = i + 1, j1 end
      if i > i2 then return nil end
      if with_indices then return i, j, t[i][j] end
      return t[i][j]
   end
end

function array2d.columns(t)
   local j, _, columns = 0, array2d.size(t)
   return function()
      j = j + 1
      if j <= columns then return array2d.column(t, j), j end
   end
end

function array2d.rows(t)
   local i = 0
   return function()
      i = i + 1
      if t[i] then return array2d.row(t, i), i end
   end
end

return array2d
