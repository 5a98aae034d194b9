-- optim.Logger: numbers per epoch in a file, a line each, and their plot (through matplotlib).
local Logger = torch.class 'optim.Logger'

function Logger:__init(filename, timestamp)
   if filename then
      self.name = filename
      paths = paths or require 'paths'
      local folder = paths.dirname(filename)
      if folder ~= '' then paths.mkdir(folder) end
      if timestamp then
         filename = filename .. '-' .. os.date('%Y_%m_%d_%X')
      end
      self.file = assert(io.open(filename, 'w'))
      self.epsfile = filename .. '.eps'
   else
      self.file = io.stdout
      self.name = 'stdout'
   end
   self.empty = true
   self.symbols, self.styles, self.names, self.idx = {}, {}, {}, {}
   self.figure = nil
   self.showPlot = true
   self.plotRawCmd = nil
   self.defaultStyle = '+'
   self.logscale = false
end

local function write_line(self, words)
   for _, word in ipairs(words) do self.file:write(word, '\t') end
   self.file:write('\n')
   self.file:flush()
end

-- Names the columns and writes the header.
function Logger:setNames(names)
   self.names = names
   self.empty = false
   self.nsymbols = #names
   for i, name in ipairs(names) do
      self.symbols[i] = {}
      self.styles[i] = {self.defaultStyle}
      self.idx[name] = i
   end
   write_line(self, names)
   return self
end

local function shown(value)
   if type(value) == 'number' then return ('%11.4e'):format(value) end
   return tostring(value)
end

-- A line: values in the order of the columns, or by name, which names the columns the first time.
function Logger:add(values)
   if self.empty then
      local names = {}
      for name in pairs(values) do names[#names + 1] = tostring(name) end
      self:setNames(names)
   end
   local words = {}
   for i, name in ipairs(self.names) do
      local value = values[i]
      if value == nil then value = values[name] end
      words[i] = shown(value)
      table.insert(self.symbols[i], value)
   end
   write_line(self, words)
   return self
end

-- How each column is drawn: '-', '+', '.', '+-', '~', '|'.
function Logger:style(styles)
   for i = 1, #self.names do
      local style = type(styles) == 'table' and (styles[i] or styles[self.names[i]]) or styles
      self.styles[i] = type(style) == 'table' and style or {style}
   end
   return self
end

function Logger:setlogscale(enabled)
   self.logscale = enabled ~= false
end

function Logger:display(enabled)
   self.showPlot = enabled
end

-- A column as a tensor; nil where it holds anything but numbers, or nothing.
local function numbers_of(column)
   for _, value in ipairs(column) do
      if type(value) ~= 'number' then return nil end
   end
   return #column > 0 and torch.Tensor(column) or nil
end

-- Draws the columns into a file; there is no window.
function Logger:plot()
   local target = self.epsfile
   if not target then error('Logger:plot: give the logger a file name', 2) end
   local series = {}
   for i, name in ipairs(self.names) do
      local column = numbers_of(self.symbols[i])
      if column then
         local x = torch.range(1, column:size(1))
         series[#series + 1] = {x = x, y = column, label = name, format = self.styles[i][1]}
      end
   end
   local raw = {}
   if self.logscale then raw[1] = 'set logscale y' end
   raw[#raw + 1] = self.plotRawCmd
   require('relume.bridge').import('gnuplot').draw(target, {kind = 'plot', series = series, raw = raw})
   return self
end
