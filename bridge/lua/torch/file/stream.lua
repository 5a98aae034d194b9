-- Files and pipes of the operating system as channels of bytes for torch.File: C's own
-- streams, which the FFI reads into memory without a copy.
local ffi = require 'ffi'

ffi.cdef [[
void *relume_fopen(const char *path, const char *mode) __asm__("fopen");
void *relume_popen(const char *command, const char *mode) __asm__("popen");
int relume_fclose(void *stream) __asm__("fclose");
int relume_pclose(void *stream) __asm__("pclose");
size_t relume_fread(void *data, size_t size, size_t count, void *stream) __asm__("fread");
size_t relume_fwrite(const void *data, size_t size, size_t count, void *stream) __asm__("fwrite");
int relume_fflush(void *stream) __asm__("fflush");
int relume_fseek(void *stream, long offset, int from) __asm__("fseek");
long relume_ftell(void *stream) __asm__("ftell");
int relume_getc(void *stream) __asm__("getc");
int relume_ungetc(int byte, void *stream) __asm__("ungetc");
int relume_fscanf(void *stream, const char *format, ...) __asm__("fscanf");
int relume_setvbuf(void *stream, char *buffer, int mode, size_t size) __asm__("setvbuf");
]]

local C = ffi.C
local end_of_file, newline = -1, 10
local from_start, from_end = 0, 2
local no_buffer = 2

local Stream = {}
Stream.__index = Stream

local function wrap(handle, close)
   if handle == nil then return nil end
   return setmetatable({handle = ffi.gc(handle, close), close_handle = close}, Stream)
end

-- A file; nil when it cannot be opened.
function Stream.open(path, mode)
   return wrap(C.relume_fopen(path, mode), C.relume_fclose)
end

-- What a shell command prints, or reads.
function Stream.pipe(command, mode)
   return wrap(C.relume_popen(command, mode), C.relume_pclose)
end

function Stream:close()
   self.close_handle(ffi.gc(self.handle, nil))
   self.handle = nil
end

-- Bytes into memory, and out of it; the count that was done.
function Stream:read(data, bytes)
   return tonumber(C.relume_fread(data, 1, bytes, self.handle))
end

function Stream:write(data, bytes)
   return tonumber(C.relume_fwrite(data, 1, bytes, self.handle))
end

-- Reads one number that is written out, as `format` of scanf says.
function Stream:scan(format, place)
   return C.relume_fscanf(self.handle, format, place) == 1
end

function Stream:skip_newline()
   local byte = C.relume_getc(self.handle)
   if byte ~= newline and byte ~= end_of_file then C.relume_ungetc(byte, self.handle) end
end

local chunk_bytes = 65536

-- The rest as a string.
function Stream:read_all()
   local chunk, parts = ffi.new('char[?]', chunk_bytes), {}
   repeat
      local count = self:read(chunk, chunk_bytes)
      parts[#parts + 1] = ffi.string(chunk, count)
   until count < chunk_bytes
   return table.concat(parts)
end

-- The bytes before the next line end, and whether there was anything to read.
function Stream:read_line()
   local chunk, parts, count = ffi.new('char[?]', 256), {}, 0
   local byte = C.relume_getc(self.handle)
   if byte == end_of_file then return nil end
   while byte ~= end_of_file and byte ~= newline do
      chunk[count] = byte
      count = count + 1
      if count == 256 then
         parts[#parts + 1] = ffi.string(chunk, count)
         count = 0
      end
      byte = C.relume_getc(self.handle)
   end
   parts[#parts + 1] = ffi.string(chunk, count)
   return table.concat(parts)
end

-- Positions count from 0; nil when the stream has none.
function Stream:tell()
   local position = tonumber(C.relume_ftell(self.handle))
   return position >= 0 and position or nil
end

function Stream:seek(position)
   return C.relume_fseek(self.handle, position, from_start) == 0
end

function Stream:seek_end()
   return C.relume_fseek(self.handle, 0, from_end) == 0
end

function Stream:flush()
   C.relume_fflush(self.handle)
end

function Stream:without_buffer()
   C.relume_setvbuf(self.handle, nil, no_buffer, 0)
end

return Stream
