-- Files: Pillow on the Python side reads and writes them.
local half = require('relume.bridge').import('image')
local image_bytes = require 'image.bytes'

local supported = {png = true, jpg = true, jpeg = true, ppm = true, pgm = true, bmp = true, gif = true, tiff = true}

function image.is_supported(ending) return supported[ending:lower():gsub('^%.', '')] or false end

-- Bytes as the element type that was asked for: 'byte' as they are, others from 0 to 1.
local function converted(bytes, kind)
   kind = kind or torch.getdefaulttensortype():match('^torch%.(.*)Tensor$'):lower()
   if kind == 'byte' then return bytes end
   local value = kind == 'float' and bytes:float() or bytes:double()
   return value:div(255)
end

local signatures = {png = '\137PNG', jpg = '\255\216', ppm = 'P6', pgm = 'P5', pgma = 'P2'}

local function check_file(path)
   local file, message = io.open(path, 'rb')
   if not file then error(message, 3) end
   local start = file:read(4) or ''
   file:close()
   if path:match '%.[^./]*$' then return start end
   for _, signature in pairs(signatures) do
      if start:sub(1, #signature) == signature then return start end
   end
   error('unable to determine image type for file: ' .. path .. ' (a name with an ending tells)', 3)
end

-- (path [, planes [, 'byte', 'float' or 'double']])
function image.load(path, depth, kind)
   check_file(path)
   local ok, loaded = pcall(half.load, path, depth)
   if not ok and path:lower():match '%.png$' then
      error(('%s: Error during init_io: %s'):format(path, tostring(loaded)), 2)
   elseif not ok then
      error(loaded, 0)
   end
   local value = converted(loaded, kind)
   -- colours that become grey lose their dimension
   if depth == 1 and half.size(path) > 1 then return value[1] end
   return value
end

-- Numbers from 0 to 1 as bytes of planes x height x width.
local function bytes_of(tensor)
   if tensor:dim() == 2 then tensor = tensor:view(1, tensor:size(1), tensor:size(2)) end
   if tensor:type() == 'torch.ByteTensor' then return tensor end
   return image_bytes.rounded(torch.mul(tensor:double(), 255))
end

function image.save(path, tensor, quality) half.save(path, bytes_of(tensor), quality or 75) end

for _, name in ipairs {'PNG', 'JPG', 'PPM', 'PGM'} do
   image['load' .. name] = image.load
   image['save' .. name] = image.save
   image['get' .. name .. 'size'] = function(path) return half.size(path) end
end

function image.loadPPM(path, ...)
   local start = check_file(path):sub(1, 2)
   if not start:match '^P[2356]' then error(path .. ': unsupported magic number ' .. start, 2) end
   return image.load(path, ...)
end
image.loadPGM = image.loadPPM

-- planes, height, width
function image.getSize(path)
   check_file(path)
   return torch.LongTensor {half.size(path)}
end

function image.compressJPG(tensor, quality) return half.compress(bytes_of(tensor), 'JPEG', quality or 75) end
function image.compressPNG(tensor) return half.compress(bytes_of(tensor), 'PNG', 0) end

function image.decompress(bytes, depth, kind) return converted(half.decompress(bytes:byte(), depth), kind) end
image.decompressJPG, image.decompressPNG = image.decompress, image.decompress
