-- torch.File: numbers, storages and strings on a channel of bytes (file/stream.lua,
-- file/memory.lua), in text or binary. Objects are in file/objects.lua.
local ffi = require 'ffi'
local class = require 'torch.class'
local core = require 'relume.ffi'
local elements = require 'torch.elements'
local errors = require 'torch.errors'
local storage = require 'torch.storage'
local types = require 'relume.types'

ffi.cdef [[
int relume_snprintf(char *text, size_t size, const char *format, ...) __asm__("snprintf");
]]

local File = class.class 'torch.File'
class.mark_as_userdata(File)
function File.new() error('torch.File is abstract: use DiskFile, MemoryFile or PipeFile', 2) end

-- Called by the constructors of the children.
function File.open_on(mt, channel, readable, writable)
   return setmetatable({
      channel = channel,
      readable = readable,
      writable = writable,
      is_quiet = false,
      is_binary = false,
      spacing = true,
      failed = false,
      swapped = false,  -- is the byte order not that of this machine?
      long_bytes = 8,
      references = {enabled = true, written = {}, read = {}, held = {}, variables = {},
         completed = {}},
   }, mt)
end

-- "r", "w" or "rw" as two answers.
function File.parse_mode(mode, position)
   if mode ~= 'r' and mode ~= 'w' and mode ~= 'rw' then
      errors.bad_argument(position, "file mode should be 'r','w' or 'rw'")
   end
   return mode ~= 'w', mode ~= 'r'
end

----------------------------------------------------------------------------------------
-- States.

-- Methods that set a field and return the file.
local switches = {
   binary = {'is_binary', true}, ascii = {'is_binary', false},
   autoSpacing = {'spacing', true}, noAutoSpacing = {'spacing', false},
   quiet = {'is_quiet', true}, pedantic = {'is_quiet', false},
   clearError = {'failed', false},
}
for name, switch in pairs(switches) do
   local field, value = switch[1], switch[2]
   File[name] = function(self)
      self[field] = value
      return self
   end
end

-- Methods that tell a field.
local questions = {
   isBinary = 'is_binary', isQuiet = 'is_quiet', isAutoSpacing = 'spacing',
   isReadable = 'readable', isWritable = 'writable', hasError = 'failed',
}
for name, field in pairs(questions) do
   File[name] = function(self) return self[field] end
end

-- The size of a long in binary files: 4 or 8 bytes, or 0 for this machine's.
function File:longSize(size)
   if size ~= 0 and size ~= 4 and size ~= 8 then
      errors.bad_argument(2, 'Invalid long size specified')
   end
   self.long_bytes = size == 0 and 8 or size
   return self
end

local function channel_of(self)
   return self.channel or error('attempt to use a closed file', 3)
end

local function channel_to_read(self)
   local channel = self.channel or error('attempt to use a closed file', 3)
   if not self.readable then error('attempt to read in a write-only file', 3) end
   return channel
end

local function channel_to_write(self)
   local channel = self.channel or error('attempt to use a closed file', 3)
   if not self.writable then error('attempt to write in a read-only file', 3) end
   return channel
end

-- A failure: an error, or a mark for `hasError` when the file is quiet.
local function fail(self, message)
   self.failed = true
   if not self.is_quiet then error(message, 3) end
end

function File:close()
   channel_of(self):close()
   self.channel = nil
end

function File:synchronize()
   channel_of(self):flush()
   return self
end

function File:position()
   local position = channel_of(self):tell()
   if position then return position + 1 end
   fail(self, 'unable to obtain disk file offset (maybe a long overflow occurred)')
   return 0
end

function File:seek(position)
   local channel = channel_of(self)
   if position < 1 then errors.bad_argument(2, 'position has to be greater than 0!') end
   if not channel:seek(position - 1) then
      fail(self, self.seek_failure:format(position - 1))
   end
   return self
end

function File:seekEnd()
   if not channel_of(self):seek_end() then fail(self, 'unable to seek at end of file') end
   return self
end

function File:__tostring__()
   return ('%s%s [status: %s -- mode: %s%s]'):format(class.typename(self), self.described or '',
      self.channel and 'open' or 'closed', self.readable and 'r' or ' ', self.writable and 'w' or ' ')
end

----------------------------------------------------------------------------------------
-- Numbers.

-- How each element type is written out; bytes and characters are themselves.
local texts = {
   Short = {print = '%lld', scan = '%ld', place = 'int64_t'},
   Int = {print = '%lld', scan = '%ld', place = 'int64_t'},
   Long = {print = '%lld', scan = '%ld', place = 'int64_t'},
   Half = {print = '%.9g', scan = '%lf', place = 'double'},
   Float = {print = '%.9g', scan = '%lf', place = 'double'},
   Double = {print = '%.17g', scan = '%lf', place = 'double'},
}

local text_bytes = 64
local text_place = ffi.new('char[?]', text_bytes)
local places = {int64_t = ffi.new 'int64_t[1]', double = ffi.new 'double[1]'}

local function read_texts(channel, row, data, count)
   local text = texts[row.class]
   local place = places[text.place]
   for i = 0, count - 1 do
      if not channel:scan(text.scan, place) then return i end
      if row.half then elements.write(row, data, i, place[0]) else data[i] = place[0] end
   end
   return count
end

local function write_texts(channel, row, data, count)
   local text = texts[row.class]
   local place = places[text.place]
   for i = 0, count - 1 do
      place[0] = row.half and elements.read(row, data, i) or data[i]
      local length = ffi.C.relume_snprintf(text_place, text_bytes, text.print, place[0])
      if channel:write(text_place, length) < length then return i end
      if i < count - 1 and channel:write(' ', 1) < 1 then return i end
   end
   return count
end

-- Turns round the bytes of each element.
local function swap_bytes(data, size, count)
   local bytes = ffi.cast('uint8_t *', data)
   for start = 0, (count - 1) * size, size do
      for i = 0, size / 2 - 1 do
         local other = size - 1 - i
         bytes[start + i], bytes[start + other] = bytes[start + other], bytes[start + i]
      end
   end
end

-- The C type that `row` has in a binary file.
local function type_on_disk(self, row)
   if row.class == 'Long' and self.long_bytes == 4 then return types.by_class.Int end
   return row
end

local function read_binary(self, channel, row, data, count)
   local disk = type_on_disk(self, row)
   if disk == row then
      local read = math.floor(channel:read(data, count * row.bytes) / row.bytes)
      if self.swapped and row.bytes > 1 then swap_bytes(data, row.bytes, read) end
      return read
   end
   local narrow = storage.new(disk, count)
   local read = math.floor(channel:read(narrow._data, count * disk.bytes) / disk.bytes)
   if self.swapped then swap_bytes(narrow._data, disk.bytes, read) end
   for i = 0, read - 1 do data[i] = narrow._data[i] end
   return read
end

local function write_binary(self, channel, row, data, count)
   local disk = type_on_disk(self, row)
   if disk ~= row or (self.swapped and row.bytes > 1) then
      local copy = storage.new(disk, count)
      for i = 0, count - 1 do copy._data[i] = data[i] end
      if self.swapped then swap_bytes(copy._data, disk.bytes, count) end
      data = copy._data
   end
   return math.floor(channel:write(data, count * disk.bytes) / disk.bytes)
end

-- Reads `count` elements into memory; the count that was there.
local function read_elements(self, row, data, count)
   local channel = channel_to_read(self)
   local read
   if self.is_binary then
      read = read_binary(self, channel, row, data, count)
   else
      read = texts[row.class] and read_texts(channel, row, data, count)
         or channel:read(data, count)
      if self.spacing and count > 0 then channel:skip_newline() end
   end
   if read < count then
      fail(self, ('read error: read %d blocks instead of %d'):format(read, count))
   end
   return read
end

local function write_elements(self, row, data, count)
   local channel = channel_to_write(self)
   local written
   if self.is_binary then
      written = write_binary(self, channel, row, data, count)
   else
      written = texts[row.class] and write_texts(channel, row, data, count)
         or channel:write(data, count)
      if self.spacing and count > 0 then channel:write('\n', 1) end
   end
   if written < count then
      fail(self, ('write error: wrote %d blocks instead of %d'):format(written, count))
   end
   return written
end

-- For what is no storage: elements at an address.
File._read_elements, File._write_elements = read_elements, write_elements

local int64 = ffi.typeof 'int64_t'

local function define_number(row)
   local place = ffi.new(ffi.typeof('$[1]', ffi.typeof(row.element)))

   -- (): a number. (count): a storage. (storage): fills it, gives the count.
   File['read' .. row.class] = function(self, wanted)
      if wanted == nil then
         place[0] = 0
         read_elements(self, row, place, 1)
         return elements.read(row, place, 0)
      elseif type(wanted) == 'number' then
         if not (wanted >= 0) then errors.bad_argument(2, 'count must not be negative') end
         local result = storage.new(row, wanted)
         local read = read_elements(self, row, result._data, wanted)
         if read < wanted then result:resize(read) end
         return result
      elseif core.storage_row(wanted) == row then
         return read_elements(self, row, wanted._data, #wanted)
      end
      errors.expected(2, 'number or ' .. row.storage_class, wanted)
   end

   File['write' .. row.class] = function(self, value)
      if core.storage_row(value) == row then
         return write_elements(self, row, value._data, #value)
      end
      local number = type(value) ~= 'cdata' and tonumber(value)
         or (ffi.istype(int64, value) and tonumber(value))
      if not number then errors.expected(2, 'number or ' .. row.storage_class, value) end
      elements.write(row, place, 0, number)
      write_elements(self, row, place, 1)
   end
end
for _, name in ipairs {'Byte', 'Char', 'Short', 'Int', 'Long', 'Half', 'Float', 'Double'} do
   define_number(types.by_class[name])
end

function File:readBool() return self:readInt() ~= 0 end
function File:writeBool(value) self:writeInt(value and 1 or 0) end

----------------------------------------------------------------------------------------
-- Strings.

-- '*l' reads to the end of the line, '*a' to the end of the file.
function File:readString(format)
   local channel = channel_to_read(self)
   local letter = type(format) == 'string' and format:match('^%*([al])')
   if not letter then errors.bad_argument(2, "format must be '*a' or '*l'") end
   local text
   if letter == 'l' then
      text = channel:read_line()
   else
      text = channel:read_all()
      if text == '' then text = nil end
   end
   if not text then fail(self, 'read error: read 0 blocks instead of 1') end
   return text or ''
end

function File:writeString(text)
   local channel = channel_to_write(self)
   local written = channel:write(text, #text)
   if written < #text then
      fail(self, ('write error: wrote %d blocks instead of %d'):format(written, #text))
   end
   return written
end

return File
