-- The `nn` package in Lua, on the same tensors and ops as everything else. It never calls
-- into Python.
require 'torch'

nn = nn or {}

require 'nn.utils'
require 'nn.Module'
require 'nn.containers'
require 'nn.pointwise'
require 'nn.softmax'
require 'nn.Linear'
require 'nn.arithmetic'
require 'nn.reductions'
require 'nn.convolution'
require 'nn.pooling'
require 'nn.normalization'
require 'nn.LookupTable'
require 'nn.Dropout'
require 'nn.tables'
require 'nn.reshaping'
require 'nn.criterions'
require 'nn.distances'
require 'nn.selection'
require 'nn.margin_criterions'
require 'nn.noise'
require 'nn.planes'
require 'nn.contrast'
require 'nn.fractional_pooling'
require 'nn.volumetric'
require 'nn.composite'
require 'nn.wrappers'

return nn
