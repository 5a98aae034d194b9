--[[ Code that was written for a GPU.

There is none here: `:cuda()` is an error that says so, unless CUDA tensors are mapped to those of
the CPU (`relume lua --cuda=cpu`), which also gives scripts the packages cutorch, cunn and cudnn.
]]

local cuda = {}

local NO_GPU = 'there are no CUDA tensors here, relume computes on the CPU: leave :cuda() out, or run the '
   .. 'script with `relume lua --cuda=cpu`, which maps CUDA tensors to those of the CPU'

-- The class that stands in for each.
local MAPPED = {CudaTensor = 'FloatTensor', CudaStorage = 'FloatStorage'}
for _, element in ipairs {'Double', 'Half', 'Byte', 'Char', 'Short', 'Int', 'Long'} do
   for _, kind in ipairs {'Tensor', 'Storage'} do MAPPED['Cuda' .. element .. kind] = element .. kind end
end

local is_mapped = false

-- The name of a tensor class, with that of a CUDA class replaced by what it is mapped to.
function cuda.resolve(name)
   local short = type(name) == 'string' and name:match('^torch%.(Cuda%a+)$')
   if not short or not MAPPED[short] then return name end
   if not is_mapped then error(NO_GPU, 3) end
   return 'torch.' .. MAPPED[short]
end

----------------------------------------------------------------------------------------
-- The packages: one device, the CPU, whose work is done when a call returns.

local function nothing() end

local function new_cutorch()
   local cutorch = {
      hasHalf = false,
      getDevice = function() return 1 end,
      getDeviceCount = function() return 1 end,
      getDeviceProperties = function() return {name = 'CPU', major = 0, minor = 0, totalGlobalMem = 0} end,
      getMemoryUsage = function() return 0, 0 end,
      getStream = function() return 0 end,
      withDevice = function(_, f, ...) return f(...) end,
      createCudaHostTensor = function(...) return torch.FloatTensor(...) end,
      manualSeed = torch.manualSeed, manualSeedAll = torch.manualSeed,
      seed = torch.seed, seedAll = torch.seed, initialSeed = torch.initialSeed,
      getRNGState = torch.getRNGState, setRNGState = torch.setRNGState,
   }
   for _, name in ipairs {'setDevice', 'synchronize', 'synchronizeAll', 'setHeapTracking', 'setStream',
      'reserveStreams', 'streamWaitFor', 'streamBarrier', 'setDefaultStream', 'reserveBlasHandles'} do
      cutorch[name] = nothing
   end
   return cutorch
end

-- A convolution of planes in `groups` that know nothing of each other.
function cuda.grouped_convolution(nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH, groups)
   groups = groups or 1
   local layer = nn.SpatialConvolution(nInputPlane / groups, nOutputPlane, kW, kH, dW, dH, padW, padH)
   layer.nInputPlane, layer.groups = nInputPlane, groups
   return layer
end

-- Layers of cudnn are those of nn, by the same names.
local function new_cudnn()
   require 'nn'
   local cudnn = {benchmark = false, fastest = false, verbose = false, version = 5110}
   function cudnn.convert(net) return net end
   cudnn.SpatialConvolution = cuda.grouped_convolution
   -- cudnn's steps are the size of the window, nn's one.
   function cudnn.SpatialAveragePooling(kW, kH, dW, dH, ...)
      return nn.SpatialAveragePooling(kW, kH, dW or kW, dH or kH, ...)
   end
   return setmetatable(cudnn, {__index = function(_, name)
      local is_class = type(name) == 'string' and name:find('^%u')
      return nn[name] or is_class and error('cudnn.' .. name .. ' has no counterpart in nn', 2) or nil
   end})
end

----------------------------------------------------------------------------------------
-- Positions and masks, which CUDA took in tensors of any type.

-- What each function wants in which place; -1 is the last one.
local PICKING = {
   index = {-1, 'Long'}, gather = {-1, 'Long'}, scatter = {3, 'Long'},
   indexCopy = {3, 'Long'}, indexAdd = {3, 'Long'}, indexFill = {3, 'Long'},
   maskedSelect = {-1, 'Byte'}, maskedFill = {2, 'Byte'}, maskedCopy = {2, 'Byte'},
}

local function converting(f, place, element)
   return function(...)
      local arguments, count = {...}, select('#', ...)
      local i = place > 0 and place or count
      if torch.isTensor(arguments[i]) then arguments[i] = arguments[i]:type('torch.' .. element .. 'Tensor') end
      return f(unpack(arguments, 1, count))
   end
end

local function take_any_positions()
   for name, wanted in pairs(PICKING) do
      for _, own in pairs(MAPPED) do
         local mt = own:find 'Tensor$' and torch.getmetatable('torch.' .. own)
         if mt and mt[name] then mt[name] = converting(mt[name], unpack(wanted)) end
      end
      if torch[name] then torch[name] = converting(torch[name], unpack(wanted)) end
   end
end

----------------------------------------------------------------------------------------

function cuda.is_cpu_used() return is_mapped end

-- Maps CUDA tensors to those of the CPU from now on.
function cuda.use_cpu()
   require 'torch'
   if not is_mapped then take_any_positions() end
   is_mapped = true
   for name, own in pairs(MAPPED) do torch[name] = torch[own] end
   function package.preload.cutorch()
      cutorch = new_cutorch()
      return cutorch
   end
   function package.preload.cunn()
      cutorch = require 'cutorch'
      return require 'nn'
   end
   function package.preload.cudnn()
      cutorch = require 'cutorch'
      cudnn = new_cudnn()
      return cudnn
   end
end

return cuda
