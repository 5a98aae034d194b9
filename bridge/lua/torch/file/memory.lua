-- A torch.CharStorage as a channel of bytes for torch.File. The storage ends in a 0 that is no
-- part of the content, so that C's functions can read numbers from it.
local ffi = require 'ffi'

ffi.cdef [[
double relume_strtod(const char *text, char **after) __asm__("strtod");
long long relume_strtoll(const char *text, char **after, int base) __asm__("strtoll");
]]

local C = ffi.C
local newline = 10
local smallest_capacity = 64

local Memory = {}
Memory.__index = Memory

-- `storage` holds the content and a final 0.
function Memory.on(storage)
   return setmetatable({storage = storage, size = #storage - 1, position = 0}, Memory)
end

function Memory:close() self.storage = nil end

-- The content as a storage of just its size and the final 0.
function Memory:content()
   if #self.storage ~= self.size + 1 then self.storage:resize(self.size + 1) end
   self.storage._data[self.size] = 0
   return self.storage
end

function Memory:read(data, bytes)
   local count = math.min(bytes, self.size - self.position)
   ffi.copy(data, self.storage._data + self.position, count)
   self.position = self.position + count
   return count
end

function Memory:write(data, bytes)
   local after = self.position + bytes
   if after + 1 > #self.storage then
      self.storage:resize(math.max(after + 1, 2 * #self.storage, smallest_capacity))
   end
   ffi.copy(self.storage._data + self.position, data, bytes)
   self.position = after
   if after > self.size then
      self.size = after
      self.storage._data[after] = 0
   end
   return bytes
end

local after = ffi.new('char *[1]')

-- Reads one number that is written out, into a place of type double * or int64_t *.
function Memory:scan(format, place)
   local start = ffi.cast('char *', self.storage._data + self.position)
   if format == '%lf' then
      place[0] = C.relume_strtod(start, after)
   else
      place[0] = C.relume_strtoll(start, after, 10)
   end
   if after[0] == start then
      self:cut_word()
      return false
   end
   self.position = self.position + tonumber(after[0] - start)
   return true
end

-- A word that is no number stays, but Torch7 left a 0 behind it.
function Memory:cut_word()
   local text = ffi.string(self.storage._data + self.position, self.size - self.position)
   local _, last = text:find('^%s*[^%s%z]+%s')
   if last then self.storage._data[self.position + last - 1] = 0 end
end

function Memory:skip_newline()
   if self.position < self.size and self.storage._data[self.position] == newline then
      self.position = self.position + 1
   end
end

function Memory:read_all()
   local text = ffi.string(self.storage._data + self.position, self.size - self.position)
   self.position = self.size
   return text
end

function Memory:read_line()
   if self.position >= self.size then return nil end
   local data, start, stop = self.storage._data, self.position, self.position
   while stop < self.size and data[stop] ~= newline do stop = stop + 1 end
   self.position = math.min(stop + 1, self.size)
   return ffi.string(data + start, stop - start)
end

function Memory:tell() return self.position end

function Memory:seek(position)
   if position > self.size then return false end
   self.position = position
   return true
end

function Memory:seek_end()
   self.position = self.size
   return true
end

function Memory:flush() end

return Memory
