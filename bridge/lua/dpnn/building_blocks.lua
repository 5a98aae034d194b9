-- Blocks of well-known image networks: nn.FireModule, nn.Inception; and nn.Serial.
local FireModule, Decorator = torch.class('nn.FireModule', 'nn.Decorator')

-- Few 1x1 filters, then 1x1 and 3x3 filters side by side (Iandola et al., 2016).
function FireModule:__init(nInputPlane, s1x1, e1x1, e3x3, activation)
   self.nInputPlane, self.s1x1, self.e1x1, self.e3x3 = nInputPlane, s1x1, e1x1, e3x3
   self.activation = activation or 'ReLU'
   local squeeze = nn.SpatialConvolution(nInputPlane, s1x1, 1, 1)
   local expand = nn.Concat(2)
   expand:add(nn.SpatialConvolution(s1x1, e1x1, 1, 1))
   expand:add(nn.SpatialConvolution(s1x1, e3x3, 3, 3, 1, 1, 1, 1))
   local module = nn.Sequential():add(squeeze):add(nn[self.activation]()):add(expand):add(nn[self.activation]())
   Decorator.__init(self, module)
   self.module, self.squeeze, self.expand = module, squeeze, expand
end

function FireModule:__tostring__()
   return ('%s inputPlanes: %d -> Squeeze Planes: %d -> Expand: %d(1x1) + %d(3x3), activation: %s'):format(
      torch.type(self), self.nInputPlane, self.s1x1, self.e1x1, self.e3x3, self.activation)
end

----------------------------------------------------------------------------------------
-- Filters of several sizes side by side (Szegedy et al., 2014): a table of named settings.

local Inception = torch.class('nn.Inception', 'nn.Decorator')

local function add_activation(self, column, planes)
   if self.batchNorm then column:add(nn.SpatialBatchNormalization(planes)) end
   column:add(self.transfer:clone())
end

-- 1x1 filters, which reduce the planes.
local function add_filters(self, column, planes, place)
   local stride = self.reduceStride[place] or 1
   column:add(nn.SpatialConvolution(self.inputSize, planes, 1, 1, stride, stride))
   add_activation(self, column, planes)
end

local function large_filters(self, place)
   local column = nn.Sequential()
   add_filters(self, column, self.reduceSize[place], place)
   local size, stride = self.kernelSize[place], self.kernelStride[place] or 1
   local margin = self.padding and math.floor(size / 2) or 0
   column:add(nn.SpatialConvolution(
      self.reduceSize[place], self.outputSize[place], size, size, stride, stride, margin, margin))
   add_activation(self, column, self.outputSize[place])
   return column
end

function Inception:__init(config)
   self.inputSize, self.outputSize = config.inputSize, config.outputSize
   self.reduceSize, self.reduceStride = config.reduceSize, config.reduceStride or {}
   self.transfer = config.transfer or nn.ReLU()
   self.batchNorm = config.batchNorm or false
   self.padding = config.padding ~= false
   self.kernelSize, self.kernelStride = config.kernelSize or {5, 3}, config.kernelStride or {1, 1}
   self.poolSize, self.poolStride = config.poolSize or 3, config.poolStride or 1
   self.pool = config.pool
      or nn.SpatialMaxPooling(self.poolSize, self.poolSize, self.poolStride, self.poolStride)
   local columns, count = nn.DepthConcat(2), #self.kernelSize
   for place = 1, count do columns:add(large_filters(self, place)) end
   local pooled = nn.Sequential():add(self.pool)
   if self.reduceSize[count + 1] then add_filters(self, pooled, self.reduceSize[count + 1], count + 1) end
   columns:add(pooled)
   if self.reduceSize[count + 2] then
      local last = nn.Sequential()
      add_filters(self, last, self.reduceSize[count + 2], count + 2)
      columns:add(last)
   end
   Decorator.__init(self, columns)
end
