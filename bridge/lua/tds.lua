-- The `tds` package: tds.Hash, tds.Vec and tds.AtomicCounter. Here they are Lua tables inside; what
-- matters to scripts is their face, their files and that tables put into them are converted.
require 'torch'
local ffi = require 'ffi'
local class = require 'torch.class'
local shared = require 'relume.shared'

tds = tds or {}

local convert

-- Entries and counts of all objects. The objects themselves are userdata: `#` asks these only.
local data = setmetatable({}, {__mode = 'k'})
local counts = setmetatable({}, {__mode = 'k'})

-- `has_methods`: its methods are among what indexing finds.
local function new_class(name, has_methods, get, set)
   local mt = class.class(name)
   local prototype = newproxy(true)
   local meta = getmetatable(prototype)
   class.register_userdata(meta, mt)

   function meta.__index(self, key)
      local value = get(self, key)
      if value ~= nil or not has_methods then return value end
      return class.find(mt, key)
   end
   function meta.__newindex(self, key, value) set(self, key, convert(value)) end
   function meta.__len(self) return counts[self] end
   function meta.__tostring(self) return mt.__tostring__(self) end

   function mt.__factory()
      local self = newproxy(prototype)
      data[self], counts[self] = {}, 0
      return self
   end
   return mt, meta
end

----------------------------------------------------------------------------------------

local Hash, hash_meta = new_class('tds.Hash', false, function(self, key) return data[self][key] end,
   function(self, key, value)
      local entries = data[self]
      local before, after = entries[key] ~= nil and 1 or 0, value ~= nil and 1 or 0
      counts[self] = counts[self] + after - before
      entries[key] = value
   end)

function Hash.new(values)
   local self = Hash.__factory()
   for key, value in pairs(values or {}) do self[key] = value end
   return self
end

function Hash:pairs() return pairs(data[self]) end
hash_meta.__pairs = Hash.pairs

local most_shown = 20

-- A value behind its label; what goes on over several lines stays behind it.
local function entry_text(label, value)
   local space, is_first = (' '):rep(#label), true
   return (tostring(value):gsub('[^\n]+', function(line)
      local text = (is_first and label or space) .. line
      is_first = false
      return text
   end))
end

local function key_text(key)
   local kind = type(key)
   if kind == 'string' or kind == 'number' or kind == 'boolean' then return tostring(key) end
   return class.type(key)
end

function Hash:__tostring__()
   local keys, widest = {}, 0
   for key in pairs(data[self]) do
      keys[#keys + 1] = key
      widest = math.max(widest, #key_text(key))
      if #keys == most_shown then break end
   end
   local lines = {('tds.Hash[%d]{'):format(#self)}
   for _, key in ipairs(keys) do
      lines[#lines + 1] = entry_text(('%-' .. widest .. 's : '):format(key_text(key)), data[self][key])
   end
   if #self > most_shown then lines[#lines + 1] = '...' end
   lines[#lines + 1] = '}'
   return table.concat(lines, '\n')
end

function Hash:write(file)
   file:writeLong(#self)
   for key, value in pairs(data[self]) do
      file:writeObject(key)
      file:writeObject(value)
   end
end

function Hash:read(file)
   for _ = 1, file:readLong() do
      local key = file:readObject()
      self[key] = file:readObject()
   end
end

----------------------------------------------------------------------------------------

local function check_place(key)
   if type(key) ~= 'number' or key < 1 then error('Vec: an index must be a positive number', 4) end
end

local Vec, vec_meta = new_class('tds.Vec', true, function(self, key)
   return type(key) == 'number' and data[self][key] or nil
end, function(self, key, value)
   check_place(key)
   counts[self] = math.max(counts[self], key)
   data[self][key] = value
end)

-- (a, b, ...) or ({a, b, ...})
function Vec.new(...)
   local self = Vec.__factory()
   local values, count = {...}, select('#', ...)
   if count == 1 and type(values[1]) == 'table' and not class.typename(values[1]) then
      values = values[1]
      count = #values
   end
   for i = 1, count do self[i] = values[i] end
   counts[self] = count
   return self
end

function Vec:insert(place, value)
   if value == nil then place, value = #self + 1, place end
   local entries = data[self]
   for i = #self, place, -1 do entries[i + 1] = entries[i] end
   counts[self] = math.max(#self + 1, place)
   entries[place] = convert(value)
end

function Vec:remove(place)
   local entries, count = data[self], #self
   place = place or count
   for i = place, count - 1 do entries[i] = entries[i + 1] end
   entries[count] = nil
   counts[self] = math.max(count - 1, 0)
end

function Vec:resize(size)
   for i = size + 1, #self do data[self][i] = nil end
   counts[self] = size
end

function Vec:sort(before) table.sort(data[self], before) end

function Vec:concat(separator, first, last)
   return table.concat(data[self], separator, first or 1, last or #self)
end

function Vec:pairs()
   local i = 0
   return function()
      i = i + 1
      if i <= #self then return i, self[i] end
   end
end
vec_meta.__pairs, vec_meta.__ipairs = Vec.pairs, Vec.pairs

function Vec:__tostring__()
   local lines = {('tds.Vec[%d]{'):format(#self)}
   for i = 1, math.min(#self, most_shown) do lines[#lines + 1] = entry_text(('%5d : '):format(i), self[i]) end
   if #self > most_shown then lines[#lines + 1] = '...' end
   lines[#lines + 1] = '}'
   return table.concat(lines, '\n')
end

function Vec:write(file)
   file:writeLong(#self)
   for i = 1, #self do file:writeObject(self[i]) end
end

function Vec:read(file)
   local count = file:readLong()
   for i = 1, count do self[i] = file:readObject() end
   counts[self] = count
end

tds.Hash, tds.Vec = class.getconstructortable 'tds.Hash', class.getconstructortable 'tds.Vec'
tds.hash, tds.vec = tds.Hash, tds.Vec

-- Plain tables become a Vec or a Hash.
function convert(value)
   if type(value) ~= 'table' or class.typename(value) then return value end
   return #value > 0 and Vec.new(value) or Hash.new(value)
end

----------------------------------------------------------------------------------------

-- A counter that several threads may change: a number in shared memory.
ffi.cdef 'typedef struct { int64_t references, value; } relume_counter;'
local counter_pointer = ffi.typeof 'relume_counter *'
local AtomicCounter = class.class 'tds.AtomicCounter'

local function hold(self, block) self.block = ffi.gc(block, shared.release) end
local function add(self, amount)
   local block = self.block
   return tonumber(shared.add(ffi.cast('int64_t *', block) + 1, amount))
end

function AtomicCounter:__init() hold(self, shared.new(counter_pointer, ffi.sizeof 'relume_counter')) end
function AtomicCounter:set(value) shared.set(ffi.cast('int64_t *', self.block) + 1, value) end
function AtomicCounter:get() return tonumber(self.block.value) end
-- Both return what the counter was before.
function AtomicCounter:inc() return add(self, 1) end
function AtomicCounter:dec() return add(self, -1) end
function AtomicCounter:__tostring__() return ('tds.AtomicCounter{%d}'):format(self:get()) end

function AtomicCounter:write(file) file:writeLong(self:get()) end
function AtomicCounter:read(file)
   self:__init()
   self:set(file:readLong())
end

-- For another thread: the counter itself.
function AtomicCounter:write_shared(file) file:writeDouble(shared.id(shared.retain(self.block))) end
function AtomicCounter:read_shared(file)
   local block = shared.at(counter_pointer, file:readDouble())
   shared.release(block)  -- the reference that was written is ours
   hold(self, block)
end
tds.AtomicCounter = class.getconstructortable 'tds.AtomicCounter'

function tds.type(value) return class.type(value) end

return tds
