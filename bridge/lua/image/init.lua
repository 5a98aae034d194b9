-- The `image` package: images are tensors of planes x height x width, or height x width.
require 'torch'
require 'dok'

image = image or {}

require 'image.files'
require 'image.geometry'
require 'image.scale'
require 'image.colours'
require 'image.filters'
require 'image.warp'
require 'image.polar'
require 'image.drawing'

return image
