-- How tensors and storages are written: all elements in one format, with a common factor
-- in front where that is readable; matrices in blocks of 80 columns of text.
local class = require 'torch.class'
local core = require 'relume.ffi'
local elements = require 'torch.elements'
local shapes = require 'torch.shapes'

local abs, ceil, floor, huge = math.abs, math.ceil, math.floor, math.huge
local line_width = 80

local printing = {}

-- Decimal places before the point: 1 for 0 and for [1, 10), 3 for 100, 0 for 0.5.
local function places(number)
   if number == 0 then return 1 end
   return floor(math.log10(number)) + 1
end

-- The format of one element, the factor that is printed in front (nil: none), and the
-- width of an element.
local function choose_format(numbers)
   local integral, smallest, largest = true, huge, 0
   for i = 1, #numbers do
      local number = numbers[i]
      if number ~= number then return '%f', nil, 0 end
      if number ~= ceil(number) then integral = false end
      local size = abs(number)
      if size < smallest then smallest = size end
      if size > largest then largest = size end
   end
   local low, high = places(smallest), places(largest)
   if integral then
      if high > 9 then return '%11.4e', nil, 11 end
      return '%' .. high + 1 .. 'd', nil, high + 1
   end
   if high - low > 4 then
      local width = (abs(high) > 99 or abs(low) > 99) and 12 or 11
      return '%' .. width .. '.4e', nil, width
   end
   if high > 5 or high < 0 then return '%7.4f', 10 ^ (high - 1), 7 end
   local width = high == 0 and 7 or high + 6
   return '%' .. width .. '.4f', nil, width
end

local function number_list(row, data, count)
   local list = {}
   for i = 1, count do
      local number = elements.read(row, data, i - 1)
      -- LuaJIT takes some of the bits that are no number for values of other types
      list[i] = type(number) == 'number' and number or 0 / 0
   end
   return list
end

local function factor_line(factor)
   return ('%g *\n'):format(factor)
end

local function vector_text(numbers)
   local format, factor = choose_format(numbers)
   local lines = {}
   for i = 1, #numbers do lines[i] = format:format(numbers[i] / (factor or 1)) end
   lines[#lines + 1] = ''
   return (factor and factor_line(factor) or '') .. table.concat(lines, '\n')
end

-- One matrix that starts at `start` of `numbers`.
local function matrix_text(numbers, start, rows, columns, style, indent)
   local per_line = floor((line_width - #indent) / (style.width + 1))
   local margin = indent
   if style.factor then indent = indent .. ' ' end
   local parts = {}
   for first = 1, columns, per_line do
      local last = math.min(first + per_line - 1, columns)
      if per_line < columns then
         parts[#parts + 1] = (first > 1 and '\n' or margin)
            .. ('Columns %d to %d\n'):format(first, last)
      end
      if style.factor then parts[#parts + 1] = margin .. factor_line(style.factor) end
      for r = 0, rows - 1 do
         local cells = {}
         for c = first, last do
            local number = numbers[start + r * columns + c - 1]
            cells[#cells + 1] = style.format:format(number / (style.factor or 1))
         end
         parts[#parts + 1] = indent .. table.concat(cells, ' ') .. '\n'
      end
   end
   return table.concat(parts)
end

-- All matrices of a tensor of three or more dimensions; the first index runs fastest.
local function stack_text(numbers, sizes, style)
   local n = #sizes
   local rows, columns = sizes[n - 1], sizes[n]
   local index, parts = {}, {}
   for d = 1, n - 2 do index[d] = 1 end
   local count = #numbers / (rows * columns)
   for k = 1, count do
      local start = 0
      for d = 1, n - 2 do start = start * sizes[d] + index[d] - 1 end
      parts[k] = (k > 1 and '\n' or '') .. '(' .. table.concat(index, ',') .. ',.,.) = \n'
         .. matrix_text(numbers, start * rows * columns + 1, rows, columns, style, ' ')
      local d = 1
      while d <= n - 2 do
         index[d] = index[d] + 1
         if index[d] <= sizes[d] then break end
         index[d] = 1
         d = d + 1
      end
   end
   return table.concat(parts)
end

function printing.tensor(tensor)
   local name = class.typename(tensor)
   local n = shapes.dims(tensor)
   if n == 0 then return ('[%s with no dimension]\n'):format(name) end
   local row = core.tensor_row(tensor)
   local dense = tensor:contiguous()
   local numbers = number_list(row, dense._storage._data + dense._offset, tonumber(dense._numel))
   local sizes = {}
   for d = 1, n do sizes[d] = tonumber(tensor._shape[d - 1]) end
   local text
   if n == 1 then
      text = vector_text(numbers)
   else
      local format, factor, width = choose_format(numbers)
      local style = {format = format, factor = factor, width = width}
      if n == 2 then
         text = matrix_text(numbers, 1, sizes[1], sizes[2], style, '')
      else
         text = stack_text(numbers, sizes, style)
      end
   end
   return text .. ('[%s of size %s]\n'):format(name, table.concat(sizes, 'x'))
end

function printing.storage(storage)
   local row, count = core.storage_row(storage), #storage
   local numbers = number_list(row, storage._data, count)
   local text = count > 0 and vector_text(numbers) or ''
   return text .. ('[%s of size %d]\n'):format(class.typename(storage), count)
end

return printing
