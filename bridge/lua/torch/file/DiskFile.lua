-- torch.DiskFile and torch.PipeFile: a file, and what a shell command reads or prints.
local ffi = require 'ffi'
local class = require 'torch.class'
local File = require 'torch.file.File'
local Stream = require 'torch.file.stream'

local DiskFile = class.class('torch.DiskFile', 'torch.File')
local PipeFile = class.class('torch.PipeFile', 'torch.DiskFile')
class.mark_as_userdata(DiskFile)
class.mark_as_userdata(PipeFile)

DiskFile.seek_failure = 'unable to seek to position %d'

-- "rw" keeps what a file holds; there need not be one.
local function open(path, readable, writable)
   if not (readable and writable) then return Stream.open(path, readable and 'rb' or 'wb') end
   return Stream.open(path, 'r+b') or Stream.open(path, 'w+b')
end

local function constructor(mt, open_channel)
   return function(name, mode, quiet)
      if type(name) ~= 'string' then error('bad argument #1 (string expected)', 2) end
      local readable, writable = File.parse_mode(mode or 'r', 2)
      local channel = open_channel(name, readable, writable)
      if not channel then
         if quiet then return nil end
         error(('cannot open <%s> in mode %s%s'):format(name, readable and 'r' or ' ',
            writable and 'w' or ' '), 2)
      end
      local file = File.open_on(mt, channel, readable, writable)
      file.described = (' on <%s>'):format(name)
      return file
   end
end

DiskFile.new = constructor(DiskFile, open)
PipeFile.new = constructor(PipeFile, function(command, readable, writable)
   if readable and writable then error("file mode should be 'r' or 'w' for a pipe", 3) end
   return Stream.pipe(command, readable and 'r' or 'w')
end)

function DiskFile:noBuffer()
   self.channel:without_buffer()
   return self
end

----------------------------------------------------------------------------------------
-- Byte order of binary files.

local little_endian_cpu = ffi.abi 'le'

function DiskFile:isLittleEndianCPU() return little_endian_cpu end
function DiskFile:isBigEndianCPU() return not little_endian_cpu end

function DiskFile:nativeEndianEncoding()
   self.swapped = false
   return self
end

function DiskFile:littleEndianEncoding()
   self.swapped = not little_endian_cpu
   return self
end

function DiskFile:bigEndianEncoding()
   self.swapped = little_endian_cpu
   return self
end

return DiskFile
