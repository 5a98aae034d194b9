-- `layer.gradInput = nil` tells a layer that nobody wants the gradient of its input, which saves the
-- first layer of a network half of its work. These classes look for that.
local CLASSES = {
   'Add', 'Bilinear', 'CMul', 'Contiguous', 'Cosine', 'Euclidean', 'JoinTable', 'Linear', 'MulConstant',
   'PartialLinear', 'SpatialAveragePooling', 'SpatialConvolution', 'SpatialConvolutionLocal',
   'SpatialConvolutionMM', 'SpatialDepthWiseConvolution', 'SpatialDilatedConvolution',
   'SpatialFullConvolution', 'SpatialSubSampling', 'SplitTable', 'TemporalConvolution',
   'TemporalDynamicKMaxPooling', 'TemporalMaxPooling', 'TemporalRowConvolution', 'TemporalSubSampling',
   'VolumetricConvolution', 'VolumetricDilatedConvolution', 'WeightedEuclidean',
}

for _, name in ipairs(CLASSES) do
   local class = torch.getmetatable('nn.' .. name)
   local compute = rawget(class, 'updateGradInput')  -- of its own; a parent's has been seen to
   if compute then
      function class:updateGradInput(input, gradOutput)
         if self.gradInput == nil then return nil end
         return compute(self, input, gradOutput)
      end
   end
end
