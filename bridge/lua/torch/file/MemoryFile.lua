-- torch.MemoryFile: a file in a torch.CharStorage.
local class = require 'torch.class'
local core = require 'relume.ffi'
local errors = require 'torch.errors'
local File = require 'torch.file.File'
local Memory = require 'torch.file.memory'
local storage = require 'torch.storage'
local types = require 'relume.types'

local char = types.by_class.Char

local MemoryFile = class.class('torch.MemoryFile', 'torch.File')
class.mark_as_userdata(MemoryFile)

MemoryFile.seek_failure = 'unable to seek at position %d'

-- ([mode]) or (CharStorage [, mode])
function MemoryFile.new(first, second)
   local content, mode
   if core.storage_row(first) == char then
      content, mode = first, second
   elseif first == nil or type(first) == 'string' then
      mode = first
   else
      errors.bad_argument(1, 'string expected, got ' .. type(first))
   end
   local readable, writable = File.parse_mode(mode or 'rw', content and 2 or 1)
   if not content then
      content = storage.new(char, 1)
      content._data[0] = 0
   elseif #content == 0 or content._data[#content - 1] ~= 0 then
      errors.bad_argument(1, 'provided CharStorage must be terminated by 0')
   end
   return File.open_on(MemoryFile, Memory.on(content), readable, writable)
end

-- What has been written, and a final 0.
function MemoryFile:storage()
   if not self.channel then error('attempt to use a closed file', 2) end
   return self.channel:content()
end

return MemoryFile
