-- The package `md5`: the digest of a string, in hexadecimal digits and as bytes.
local hashes = require('relume.bridge').import 'hashes'

local md5 = {}

function md5.sumhexa(message) return hashes.md5(message) end

function md5.sum(message)
   return (md5.sumhexa(message):gsub('%x%x', function(code) return string.char(tonumber(code, 16)) end))
end

return md5
