-- Normalisation of planes by their neighbourhoods: subtractive, divisive, and both.

-- A net that takes the weighted mean around each place of all planes, for each plane.
local function neighbourhood(planes, kernel)
   local height = kernel:size(1)
   local width = kernel:dim() == 2 and kernel:size(2) or height
   local net = nn.Sequential()
   net:add(nn.SpatialZeroPadding(math.floor(width / 2), math.floor(width / 2), math.floor(height / 2),
      math.floor(height / 2)))
   if kernel:dim() == 2 then
      local whole = nn.SpatialConvolution(planes, 1, width, height)
      for i = 1, planes do whole.weight[1][i]:copy(kernel) end
      whole.bias:zero()
      net:add(whole)
   else
      local rows = nn.SpatialConvolutionMap(nn.tables.oneToOne(planes), width, 1)
      local columns = nn.SpatialConvolution(planes, 1, 1, height)
      for i = 1, planes do
         rows.weight[i]:copy(kernel)
         columns.weight[1][i]:copy(kernel)
      end
      rows.bias:zero()
      columns.bias:zero()
      net:add(rows):add(columns)
   end
   return net:add(nn.Replicate(planes, 1, 3))
end

local function set_kernel(self, nInputPlane, kernel)
   self.nInputPlane = nInputPlane or 1
   self.kernel = kernel or torch.Tensor(9, 9):fill(1)
   local n = self.kernel:dim()
   if n ~= 1 and n ~= 2 then error('kernel must be a vector or a matrix', 4) end
   for d = 1, n do
      if self.kernel:size(d) % 2 == 0 then error('kernel must have odd sizes', 4) end
   end
   local total = self.kernel:sum() * self.nInputPlane
   self.kernel:div(n == 1 and math.sqrt(total) or total)
end

-- What an estimator makes of ones: less than 1 near the borders.
local function coefficients(self, input)
   local n = input:dim()
   local sizes = torch.LongStorage {input:size(n - 2), input:size(n - 1), input:size(n)}
   local result = self.meanestimator:updateOutput(input.new(sizes):fill(1)):clone()
   self.coef = result
   return n == 4 and result:view(1, sizes[1], sizes[2], sizes[3]):expandAs(input) or result
end

local SpatialSubtractiveNormalization, Module = torch.class('nn.SpatialSubtractiveNormalization', 'nn.Module')

function SpatialSubtractiveNormalization:__init(nInputPlane, kernel)
   Module.__init(self)
   set_kernel(self, nInputPlane, kernel)
   self.meanestimator = neighbourhood(self.nInputPlane, self.kernel)
   self.subtractor, self.divider = nn.CSubTable(), nn.CDivTable()
   self.coef = torch.Tensor(1, 1, 1)
end

function SpatialSubtractiveNormalization:updateOutput(input)
   local factors = coefficients(self, input)
   self.localsums = self.meanestimator:updateOutput(input):contiguous():view(input:size())
   self.adjustedsums = self.divider:updateOutput {self.localsums, factors}
   self.output = self.subtractor:updateOutput {input, self.adjustedsums}
   return self.output
end

function SpatialSubtractiveNormalization:updateGradInput(input, gradOutput)
   local factors = coefficients(self, input)
   self.meanestimator:updateOutput(input)
   self.gradInput:resizeAs(input):copy(gradOutput)
   local of_sums = torch.cdiv(gradOutput, factors):mul(-1)
   local estimator = self.meanestimator
   self.gradInput:add(estimator:updateGradInput(input, of_sums:viewAs(estimator.output)))
   return self.gradInput
end

local SpatialDivisiveNormalization = torch.class('nn.SpatialDivisiveNormalization', 'nn.Module')

function SpatialDivisiveNormalization:__init(nInputPlane, kernel, threshold, thresval)
   Module.__init(self)
   set_kernel(self, nInputPlane, kernel)
   self.threshold = threshold or 1e-4
   self.thresval = thresval or threshold or 1e-4
   self.meanestimator = neighbourhood(self.nInputPlane, self.kernel)
   self.stdestimator = nn.Sequential():add(nn.Square())
   for _, module in ipairs(neighbourhood(self.nInputPlane, self.kernel).modules) do
      self.stdestimator:add(module)
   end
   self.stdestimator:add(nn.Sqrt())
   self.normalizer, self.divider = nn.CDivTable(), nn.CDivTable()
   self.thresholder = nn.Threshold(self.threshold, self.thresval)
   self.coef = torch.Tensor(1, 1, 1)
end

local function deviations(self, input)
   local factors = coefficients(self, input)
   self.localstds = self.stdestimator:updateOutput(input):contiguous():view(input:size())
   self.adjustedstds = self.divider:updateOutput {self.localstds, factors}
   self.thresholdedstds = self.thresholder:updateOutput(self.adjustedstds)
   return factors
end

function SpatialDivisiveNormalization:updateOutput(input)
   deviations(self, input)
   self.output = self.normalizer:updateOutput {input, self.thresholdedstds}
   return self.output
end

function SpatialDivisiveNormalization:updateGradInput(input, gradOutput)
   local factors = deviations(self, input)
   local parts = self.normalizer:updateGradInput({input, self.thresholdedstds}, gradOutput)
   local of_deviations = self.thresholder:updateGradInput(self.adjustedstds, parts[2])
   of_deviations = torch.cdiv(of_deviations, factors)
   local estimator = self.stdestimator
   self.gradInput:resizeAs(input):copy(parts[1])
   self.gradInput:add(estimator:updateGradInput(input, of_deviations:viewAs(estimator.output)))
   return self.gradInput
end

-- What the two share.
for _, class in ipairs {SpatialSubtractiveNormalization, SpatialDivisiveNormalization} do
   function class:type(name, cache)
      if not name then return self._type end
      self.meanestimator:type(name, cache)
      if self.stdestimator then self.stdestimator:type(name, cache) end
      return Module.type(self, name, cache)
   end

   function class:clearState()
      self.meanestimator:clearState()
      if self.stdestimator then self.stdestimator:clearState() end
      for _, field in ipairs {'localsums', 'adjustedsums', 'localstds', 'adjustedstds', 'thresholdedstds'} do
         self[field] = nil
      end
      return Module.clearState(self)
   end
end

local SpatialContrastiveNormalization = torch.class('nn.SpatialContrastiveNormalization', 'nn.Module')

function SpatialContrastiveNormalization:__init(nInputPlane, kernel, threshold, thresval)
   Module.__init(self)
   self.nInputPlane = nInputPlane or 1
   self.kernel = kernel or torch.Tensor(9, 9):fill(1)
   self.threshold = threshold or 1e-4
   self.thresval = thresval or threshold or 1e-4
   self.normalizer = nn.Sequential()
   self.normalizer:add(nn.SpatialSubtractiveNormalization(self.nInputPlane, self.kernel))
   self.normalizer:add(nn.SpatialDivisiveNormalization(self.nInputPlane, self.kernel, self.threshold,
      self.thresval))
end

function SpatialContrastiveNormalization:updateOutput(input)
   self.output = self.normalizer:forward(input)
   return self.output
end

function SpatialContrastiveNormalization:updateGradInput(input, gradOutput)
   self.gradInput = self.normalizer:backward(input, gradOutput)
   return self.gradInput
end

function SpatialContrastiveNormalization:type(name, cache)
   if not name then return self._type end
   self.normalizer:type(name, cache)
   return Module.type(self, name, cache)
end

function SpatialContrastiveNormalization:clearState()
   self.normalizer:clearState()
   return Module.clearState(self)
end

-- nn.SpatialLPPooling: a chain of simple layers.
local SpatialLPPooling, Sequential = torch.class('nn.SpatialLPPooling', 'nn.Sequential')

function SpatialLPPooling:__init(nInputPlane, pnorm, kW, kH, dW, dH)
   Sequential.__init(self)
   pnorm, kW = pnorm or 2, kW or 2
   kH = kH or kW
   dW, dH = dW or kW, dH or kH
   self.kW, self.kH, self.dW, self.dH = kW, kH, dW, dH
   self:add(pnorm == 2 and nn.Square() or nn.Power(pnorm))
   self:add(nn.SpatialAveragePooling(kW, kH, dW, dH))
   self:add(nn.MulConstant(kW * kH))
   self:add(pnorm == 2 and nn.Sqrt() or nn.Power(1 / pnorm))
end

function SpatialLPPooling:reset() end
function SpatialLPPooling:accGradParameters() end
function SpatialLPPooling:accUpdateGradParameters() end
function SpatialLPPooling:zeroGradParameters() end
function SpatialLPPooling:updateParameters() end
function SpatialLPPooling:__tostring__()
   return (Sequential.__tostring__(self):gsub('^[%w.]+', 'nn.Sequential'))
end
