-- The `gnuplot` package: plots of tensors. There are no windows here: figures are drawn by matplotlib into
-- files, those of pngfigure and its kin, or figprint.
require 'torch'
local bridge = require 'relume.bridge'

gnuplot = gnuplot or {}

local figures, current = {}, nil  -- by number
local has_warned = false

local function draw(figure)
   if not figure.kind then return end
   if not figure.path then
      if not has_warned then
         io.stderr:write('gnuplot: there are no windows here; gnuplot.pngfigure(path) before a plot, or '
            .. 'gnuplot.figprint(path) after it, write files\n')
      end
      has_warned = true
      return
   end
   if not figure.is_changed then return end
   figure.is_changed = false
   bridge.import('gnuplot').draw(figure.path, {
      kind = figure.kind, series = figure.series, xlabel = figure.xlabel, ylabel = figure.ylabel,
      zlabel = figure.zlabel, title = figure.title, grid = figure.grid, axis = figure.axis, legend = figure.legend,
      raw = figure.raw,
   })
end

local function draw_all()
   for _, figure in pairs(figures) do draw(figure) end
end
bridge.closing[gnuplot] = function() pcall(draw_all) end

----------------------------------------------------------------------------------------
-- Figures.

local function new_figure(number, path)
   if current then draw(current) end
   number = number or #figures + 1
   current = figures[number] or {number = number, raw = {}}
   if path then current = {number = number, raw = {}, path = path} end
   figures[number] = current
   return number
end

function gnuplot.figure(number)
   return new_figure(number)
end

-- A figure that is drawn into a file.
local function file_figure(path)
   if type(path) ~= 'string' then error('the name of a file is expected', 2) end
   return new_figure(nil, path)
end
for _, name in ipairs {'pngfigure', 'epsfigure', 'pdffigure', 'svgfigure'} do gnuplot[name] = file_figure end

local function this_figure()
   if not current then new_figure() end
   return current
end

-- Draws the current figure into a file.
function gnuplot.figprint(path)
   local figure = this_figure()
   local before = figure.path
   figure.path, figure.is_changed = path, true
   draw(figure)
   figure.path = before
end

function gnuplot.plotflush(number)
   local figure = number and figures[number] or current
   if figure then draw(figure) end
end

function gnuplot.close()
   if current then
      draw(current)
      figures[current.number], current = nil, nil
   end
end

function gnuplot.closeall()
   draw_all()
   figures, current = {}, nil
end

function gnuplot.setgnuplotexe() end
function gnuplot.setterm() end

local function setter(name)
   return function(value)
      local figure = this_figure()
      figure[name], figure.is_changed = value, true
   end
end
for _, name in ipairs {'xlabel', 'ylabel', 'zlabel', 'title', 'grid', 'axis'} do gnuplot[name] = setter(name) end

local places = {left = 1, right = 1, center = 1, top = 2, bottom = 2, middle = 2}

function gnuplot.movelegend(horizontal, vertical)
   if places[horizontal] ~= 1 or places[vertical] ~= 2 then
      error('movelegend: expected left, right or center, and top, bottom or middle', 2)
   end
   setter 'legend' {horizontal, vertical}
end

function gnuplot.raw(command)
   local figure = this_figure()
   table.insert(figure.raw, command)
   figure.is_changed = true
end

local function show(kind, series)
   local figure = this_figure()
   figure.kind, figure.series, figure.is_changed = kind, series, true
   if not figure.path then draw(figure) end
end

----------------------------------------------------------------------------------------
-- Plots. Their arguments are one series, or a table for each of several.

local function entries(...)
   local first = ...
   if type(first) == 'table' and not torch.typename(first) then
      if type(first[1]) == 'table' and not torch.typename(first[1]) then return first end
      return {...}
   end
   return {{...}}
end

local function positions(count) return torch.range(1, count) end

local function as_tensor(value)
   if torch.isStorage(value) then return torch.DoubleTensor(value:size()):copy(torch.Tensor(value:totable())) end
   return value:double()
end

-- [label,] x [, y] [, format]; a matrix has x in its first column and a y in each other.
local function line_series(entry)
   local label, tensors, format = nil, {}, nil
   for i = 1, #entry do
      local value = entry[i]
      if type(value) == 'string' then
         if i == 1 and #tensors == 0 then label = value else format = value end
      elseif torch.isTensor(value) or torch.isStorage(value) then
         tensors[#tensors + 1] = as_tensor(value)
      else
         error(('gnuplot.plot: expected tensors and strings, got %s'):format(torch.type(value)), 4)
      end
   end
   local x, y = tensors[1], tensors[2]
   if not x then error('gnuplot.plot: expected a tensor', 4) end
   if format == 'v' or not y and x:dim() == 1 then
      if not y then x, y = positions(x:size(1)), x end
      return {{label = label, x = x, y = y, format = format}}
   end
   if y then
      if y:nElement() ~= x:nElement() then
         error(('gnuplot.plot: %d values of x and %d of y'):format(x:nElement(), y:nElement()), 4)
      end
      return {{label = label, x = x:view(-1), y = y:contiguous():view(-1), format = format}}
   end
   x = x:contiguous()
   if format and format:find 'filledcurves' and x:size(2) == 3 then
      return {{label = label, x = x:select(2, 1), y = x:narrow(2, 2, 2), format = format}}
   end
   local list = {}
   for k = 2, x:size(2) do
      list[k - 1] = {label = label, x = x:select(2, 1):clone(), y = x:select(2, k):clone(), format = format}
   end
   return list
end

function gnuplot.plot(...)
   local series = {}
   for _, entry in ipairs(entries(...)) do
      for _, one in ipairs(line_series(entry)) do series[#series + 1] = one end
   end
   show('plot', series)
end

function gnuplot.bar(...)
   gnuplot.plot(...)
   for _, one in ipairs(this_figure().series) do one.format = '|' end
end

-- Tensors of an entry under names, with its label.
local function named(entry, names, caller)
   local result, place = {}, 1
   for _, value in ipairs(entry) do
      if type(value) == 'string' then
         result.label = value
      else
         result[names[place] or ''], place = value:double(), place + 1
      end
   end
   for _, name in ipairs(names) do
      if not result[name] then error(('gnuplot.%s: expected %d tensors'):format(caller, #names), 4) end
   end
   return result
end

local function count_tensors(entry)
   local count = 0
   for _, value in ipairs(entry) do if torch.isTensor(value) then count = count + 1 end end
   return count
end

-- z, or x, y and z of the same shape.
function gnuplot.splot(...)
   local series = {}
   for _, entry in ipairs(entries(...)) do
      series[#series + 1] = named(entry, count_tensors(entry) == 1 and {'z'} or {'x', 'y', 'z'}, 'splot')
   end
   show('splot', series)
end

function gnuplot.scatter3(...)
   local series = {}
   for _, entry in ipairs(entries(...)) do series[#series + 1] = named(entry, {'x', 'y', 'z'}, 'scatter3') end
   show('scatter3', series)
end

function gnuplot.imagesc(z, palette)
   if not torch.isTensor(z) or z:dim() ~= 2 then error('gnuplot.imagesc: expected a matrix', 2) end
   show('imagesc', {{z = z:double(), palette = palette or 'gray'}})
end

-- gnuplot.hist(x [, bins, min, max]); returns the counts of the bins.
function gnuplot.hist(x, bins, min, max)
   if not torch.isTensor(x) then error('gnuplot.hist: expected a tensor', 2) end
   x = x:double()
   bins = bins or 10
   show('hist', {{x = x, bins = bins, min = min or x:min(), max = max or x:max()}})
   return torch.histc(x:contiguous():view(-1), bins, min or x:min(), max or x:max())
end

return gnuplot
