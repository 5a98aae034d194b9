-- Layers on planes that are derived from what they compute: connection tables, subsampling, local
-- normalisation, unpooling, adaptive pooling, resampling, sequences.
local derived = require 'nn.derived'
local draw = require('nn.initial_values').draw

local op, layer, class = derived.op, derived.layer, derived.class

local function check_planes(self, input, planes)
   local n = input._ndim
   if (n ~= 3 and n ~= 4) or (planes and tonumber(input._shape[n - 3]) ~= planes) then
      error(('%s: expected %sxHxW, or N samples of it'):format(torch.type(self), tostring(planes or 'C')), 0)
   end
end

----------------------------------------------------------------------------------------
-- nn.tables: which input plane goes to which output plane.

nn.tables = nn.tables or {}

function nn.tables.full(inputs, outputs)
   local rows = torch.Tensor(inputs * outputs, 2)
   local place = 1
   for output = 1, outputs do
      for input = 1, inputs do
         rows[place][1], rows[place][2] = input, output
         place = place + 1
      end
   end
   return rows
end

function nn.tables.oneToOne(planes)
   local rows = torch.Tensor(planes, 2)
   for i = 1, planes do rows[i]:fill(i) end
   return rows
end

-- Each output plane gets the next `fan_in` input planes of a random order of all, or of a new
-- order when fewer are left.
function nn.tables.random(inputs, outputs, fan_in)
   local rows = torch.Tensor(outputs * fan_in, 2)
   local order, used, place = torch.randperm(inputs), 0, 1
   for output = 1, outputs do
      for choice = used + 1, used + fan_in do
         rows[place][1], rows[place][2] = order[choice], output
         place = place + 1
      end
      used = used + fan_in
      if used + fan_in > inputs then order, used = torch.randperm(inputs), 0 end
   end
   return rows
end

local function init_mapped(self, connTable, kW, kH, dW, dH)
   self.kW, self.kH, self.dW, self.dH = kW, kH, dW or 1, dH or 1
   self.connTable = connTable
   self.nInputPlane = connTable:select(2, 1):max()
   self.nOutputPlane = connTable:select(2, 2):max()
   local count = connTable:size(1)
   self.weight, self.gradWeight = torch.Tensor(count, kH, kW), torch.Tensor(count, kH, kW)
   self.bias, self.gradBias = torch.Tensor(self.nOutputPlane), torch.Tensor(self.nOutputPlane)
   self:reset()
end

local function reset_mapped(self, stdv)
   if stdv then
      stdv = stdv * math.sqrt(3)
      self.weight:uniform(-stdv, stdv)
      self.bias:uniform(-stdv, stdv)
      return
   end
   local counts = torch.Tensor(self.nOutputPlane):zero()
   for i = 1, self.connTable:size(1) do
      local output = self.connTable[i][2]
      counts[output] = counts[output] + 1
   end
   for i = 1, self.connTable:size(1) do
      local bound = 1 / math.sqrt(self.kW * self.kH * counts[self.connTable[i][2]])
      self.weight:select(1, i):uniform(-bound, bound)
   end
   for output = 1, self.nOutputPlane do
      local bound = 1 / math.sqrt(self.kW * self.kH * math.max(counts[output], 1))
      self.bias:narrow(1, output, 1):uniform(-bound, bound)
   end
end

-- As many planes as the table names come in, or more, which are not used.
local function planes_of(self, input)
   check_planes(self, input)
   local planes = tonumber(input._shape[input._ndim - 3])
   if planes < self.nInputPlane then check_planes(self, input, self.nInputPlane) end
   return planes
end

-- The kernels of all pairs of planes, zero where there is no connection.
local function dense(self, input, weight, output_first)
   local inputs, outputs = planes_of(self, input), self.nOutputPlane
   local places = torch.LongTensor(self.connTable:size(1))
   for i = 1, places:size(1) do
      local input, output = self.connTable[i][1] - 1, self.connTable[i][2] - 1
      places[i] = output_first and output * inputs + input or input * outputs + output
   end
   local kH, kW = self.kH, self.kW
   local empty = torch.getconstructortable(self.weight:type())(inputs * outputs, kH, kW):zero()
   local kernels = op.index_add(empty, 0, places, weight)
   if output_first then return op.reshape(kernels, {outputs, inputs, kH, kW}) end
   return op.reshape(kernels, {inputs, outputs, kH, kW})
end

for name, compute in pairs {
   SpatialConvolutionMap = function(self, input, weight, bias)
      return op.conv2d(input, dense(self, input, weight, true), bias, {self.dH, self.dW})
   end,
   SpatialFullConvolutionMap = function(self, input, weight, bias)
      return op.conv_transpose2d(input, dense(self, input, weight, false), bias, {self.dH, self.dW})
   end,
} do
   local mapped = class(name, 'nn.Module', init_mapped)
   mapped.reset = reset_mapped
   layer(mapped, {parameters = {'weight', 'bias'}, compute = compute})
end

local SpatialSubSampling = class('SpatialSubSampling', 'nn.Module', function(self, planes, kW, kH, dW, dH)
   self.nInputPlane, self.kW, self.kH, self.dW, self.dH = planes, kW, kH, dW or 1, dH or 1
   for _, name in ipairs {'weight', 'bias', 'gradWeight', 'gradBias'} do self[name] = torch.Tensor(planes) end
   self:reset()
end)

function SpatialSubSampling:reset(stdv)
   draw(self, stdv, self.kW * self.kH)
end

layer(SpatialSubSampling, {parameters = {'weight', 'bias'}, compute = function(self, input, weight, bias)
   check_planes(self, input, self.nInputPlane)
   local planes = {self.nInputPlane, 1, 1}
   if weight._ndim > 1 then  -- the first layout: one constant per plane and place
      weight = op.select(op.reshape(weight, {self.nInputPlane, -1}), 1, 0)
   end
   local sums = op.avg_pool2d(input, {self.kH, self.kW}, {self.dH, self.dW}, {0, 0}, false, true, 1)
   return op.add(op.mul(sums, op.reshape(weight, planes)), op.reshape(bias, planes))
end})

layer(class('SpatialCrossMapLRN', 'nn.Module', function(self, size, alpha, beta, k)
   self.size, self.alpha, self.beta, self.k = size, alpha or 1e-4, beta or 0.75, k or 1
end), {compute = function(self, input)
   check_planes(self, input)
   -- the wider side of an even window lies before the plane, in the core behind it
   local planes = self.size % 2 == 0 and op.flip(input, {-3}) or input
   local batch = input._ndim == 4 and planes or op.unsqueeze(planes, 0)
   local output = op.local_response_norm(batch, self.size, self.alpha, self.beta, self.k)
   if input._ndim == 3 then output = op.squeeze(output, 0) end
   return self.size % 2 == 0 and op.flip(output, {-3}) or output
end})

----------------------------------------------------------------------------------------
-- Back from the places that a pooling module has chosen.

local function unpooling(name, unpool, sizes)
   local result = class(name, 'nn.Module', function(self, poolingModule) self.pooling = poolingModule end)
   function result:__tostring__()
      return ('%s associated to %s'):format(torch.type(self), tostring(self.pooling))
   end
   return layer(result, {compute = function(self, input)
      local size = {}
      for i, field in ipairs(sizes) do size[i] = self.pooling[field] end
      local places = op.reshape(self.pooling.indices:long() - 1, input:size():totable())
      local ones = {}
      for i = 1, #sizes do ones[i] = 1 end
      local zeros = {}
      for i = 1, #sizes do zeros[i] = 0 end
      return op[unpool](input, places, ones, ones, zeros, size)
   end})
end
unpooling('SpatialMaxUnpooling', 'max_unpool2d', {'iheight', 'iwidth'})
unpooling('VolumetricMaxUnpooling', 'max_unpool3d', {'itime', 'iheight', 'iwidth'})

for _, name in ipairs {'SpatialAdaptiveAveragePooling', 'SpatialAdaptiveMaxPooling'} do
   class(name, 'nn.Module', function(self, W, H) self.W, self.H = W, H end)
end

layer(torch.getmetatable 'nn.SpatialAdaptiveAveragePooling', {compute = function(self, input)
   check_planes(self, input)
   return op.adaptive_avg_pool2d(input, {self.H, self.W})
end})

-- The first row, or column, of each of `count` windows over `size`.
local function starts(count, size)
   local result = torch.LongTensor(count)
   for i = 1, count do result[i] = math.floor((i - 1) * size / count) end
   return result
end

layer(torch.getmetatable 'nn.SpatialAdaptiveMaxPooling', {compute = function(self, input)
   check_planes(self, input)
   local output, flat = op.adaptive_max_pool2d(input, {self.H, self.W})
   local height, width = input:size(input:dim() - 1), input:size(input:dim())
   local rows = op.floor_divide(flat, width)
   local columns = op.sub(flat, op.mul(rows, width))
   -- places inside the windows, from 1
   local tops, lefts = op.unsqueeze(starts(self.H, height), 1), starts(self.W, width)
   self.indices = op.stack({op.add(op.sub(rows, tops), 1), op.add(op.sub(columns, lefts), 1)}, 0)
   return output
end})

----------------------------------------------------------------------------------------
-- Resampling: corners stay corners.

local function resampled(input, sizes, mode)
   return op.resample(input, sizes, mode, true, false, nil, nil, nil, true)
end

local SpatialUpSamplingBilinear = class('SpatialUpSamplingBilinear', 'nn.Module', function(self, params)
   if type(params) == 'table' then
      self.owidth, self.oheight = params.owidth, params.oheight
   else
      self.scale_factor = params
      if params % 1 ~= 0 then error('scale_factor must be integer', 3) end
   end
   self.inputSize, self.outputSize = torch.LongStorage(4), torch.LongStorage(4)
end)

function SpatialUpSamplingBilinear:__tostring__()
   if self.scale_factor then return ('%s(%d)'):format(torch.type(self), self.scale_factor) end
   return ('%s(%d, %d)'):format(torch.type(self), self.oheight, self.owidth)
end

layer(SpatialUpSamplingBilinear, {compute = function(self, input)
   check_planes(self, input)
   local n, factor = input:dim(), self.scale_factor
   local height = factor and input:size(n - 1) * factor or self.oheight
   local width = factor and input:size(n) * factor or self.owidth
   return resampled(input, {height, width}, 'bilinear')
end})

local linear_modes = {linear = true, bilinear = true, trilinear = true}

local UpSampling = class('UpSampling', 'nn.Module', function(self, params, mode)
   if type(params) == 'table' then
      self.odepth, self.oheight, self.owidth = params.odepth or 1, params.oheight, params.owidth
   else
      self.scale_factor = params
   end
   self.mode = linear_modes[mode] and 'linear' or mode or 'nearest'
   self.inputSize, self.outputSize = torch.LongStorage(5), torch.LongStorage(5)
end)

function UpSampling:__tostring__()
   local size = self.scale_factor and ('%dx'):format(self.scale_factor)
      or ('%dx%dx%d'):format(self.odepth, self.oheight, self.owidth)
   return ('%s(%s, %s)'):format(torch.type(self), size, self.mode)
end

layer(UpSampling, {compute = function(self, input)
   local n = input:dim()
   local fields, sizes = {'odepth', 'oheight', 'owidth'}, {}
   for back = 3, 1, -1 do
      local d = n - back + 1
      if d >= 3 then
         sizes[#sizes + 1] = self.scale_factor and math.floor(input:size(d) * self.scale_factor)
            or self[fields[4 - back]]
      end
   end
   return resampled(input, sizes, self.mode)
end})

----------------------------------------------------------------------------------------
-- Features and sequences.

local FeatureLPPooling = class('FeatureLPPooling', 'nn.Module', function(self, width, stride, power, batch_mode)
   self.width, self.stride, self.power, self.batch_mode = width, stride, power, batch_mode or false
   if width < 1 or stride < 1 or power < 1 then
      error('nn.FeatureLPPooling: width, stride and power must be at least 1', 3)
   end
end)

layer(FeatureLPPooling, {compute = function(self, input)
   local sizes = input:size():totable()
   local dim = self.batch_mode and 2 or 1
   local rows = op.reshape(op.pow(input, self.power), {self.batch_mode and sizes[1] or 1, 1, sizes[dim], -1})
   local sums = op.avg_pool2d(rows, {self.width, 1}, {self.stride, 1}, {0, 0}, false, true, 1)
   sizes[dim] = tonumber(sums._shape[2])
   -- a root has no slope at 0: nothing passes there
   local is_zero = op.eq(sums, 0)
   local roots = op.pow(op.masked_fill(sums, is_zero, 1), 1 / self.power)
   return op.reshape(op.masked_fill(roots, is_zero, 0), sizes)
end})

layer(class('TemporalDynamicKMaxPooling', 'nn.Module', function(self, minK, factor)
   self.minK, self.factor = minK, factor or 0
end), {compute = function(self, input)
   local frames = input:size(input:dim() - 1)
   local k = math.max(self.minK, math.ceil(self.factor * frames))
   if k > frames then error(('nn.TemporalDynamicKMaxPooling: expected at least %d frames'):format(k), 0) end
   local _, places = op.topk(op.detach(input), k, -2, true, true)
   places = op.sort(places, -2, false)
   self.indices = op.add(places, 1)
   return op.gather(input, -2, places)
end})
