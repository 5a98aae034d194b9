-- Max pooling over windows whose borders are drawn at random: Graham, "Fractional max-pooling" (2014).
local derived = require 'nn.derived'

local op = derived.op

-- {class, op, axes as in the input, axes as in the constructor}
local rows = {
   {'SpatialFractionalMaxPooling', 'fractional_max_pool2d', {'H', 'W'}, {'W', 'H'}},
   {'VolumetricFractionalMaxPooling', 'fractional_max_pool3d', {'H', 'W', 'T'}, {'T', 'W', 'H'}},
}

for _, row in ipairs(rows) do
   local name, pool, axes, argument_axes = unpack(row)
   local count = #axes

   -- (window sizes..., output sizes or ratios...)
   local class = derived.class(name, 'nn.Module', function(self, ...)
      for i, axis in ipairs(argument_axes) do
         local window, size = (select(i, ...)), (select(i + count, ...))
         if window < 2 then error(('nn.%s: pool sizes must be at least 2'):format(name), 4) end
         self['poolSize' .. axis] = window
         self[(size >= 1 and 'out' or 'ratio') .. axis] = size
      end
      self.newRandomPool = false
   end)

   -- val false: every forward draws anew.
   function class:fixPoolingRegions(val)
      self.newRandomPool = val == nil or val
      return self
   end

   local function draw(self, input)
      local n = input:dim()
      local sizes = {n == count + 2 and input:size(1) or 1, input:size(n - count), count}
      local known = self.randomSamples
      local fits = known and known:dim() == 3
      for i = 1, 3 do fits = fits and known:size(i) == sizes[i] end
      if not fits or not self.newRandomPool then
         self.randomSamples = input.new(unpack(sizes)):uniform()
      end
   end

   derived.layer(class, {prepare = draw, compute = function(self, input)
      local n, size, window = input:dim(), {}, {}
      for i, axis in ipairs(axes) do
         size[i] = self['out' .. axis] or math.floor(input:size(n - count + i) * self['ratio' .. axis])
         window[i] = self['poolSize' .. axis]
      end
      local samples = count == 3 and op.flip(self.randomSamples, {-1}) or self.randomSamples
      local output, places = op[pool](input, window, size, samples)
      self.indices = op.add(places, 1)
      return output
   end})

   local clear = class.clearState
   function class:clearState()
      self.indices, self.randomSamples = nil, nil
      return clear(self)
   end

   function class:__tostring__()
      local outs, windows = {}, {}
      for i, axis in ipairs(argument_axes) do
         outs[i] = ('%d'):format(self['out' .. axis] or self['ratio' .. axis])
         windows[i] = ('%d'):format(self['poolSize' .. axis])
      end
      return ('%s(%s, %s)'):format(torch.type(self), table.concat(outs, 'x'), table.concat(windows, ','))
   end
end
