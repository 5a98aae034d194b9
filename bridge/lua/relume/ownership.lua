-- What Lua owns of the core's memory. Lua's collector sees a cdata of 24 bytes, not what lies behind it, so
-- bytes are counted here, and a collection is forced each time that many have been handed out.
--
-- LuaJIT's finalisers take a microsecond for each object. Instead a weak table lists the objects and an
-- array what they hold; after a collection, what belongs to objects that are gone is let go of.
local ffi = require 'ffi'
local new_table = require 'table.new'

local ownership = {}

local most_bytes = 64 * 2 ^ 20
-- A collection takes time in proportion to Lua's heap; more objects than this leave the processor's cache.
local fewest_objects = 32768

local capacity = fewest_objects
local count = 0
local weak = {__mode = 'v'}
local listed = setmetatable(new_table(capacity, 0), weak)
local held = ffi.new('void *[?]', capacity)
local gone = ffi.new('void *[?]', capacity)
local pending_bytes = 0
local is_busy = false  -- collecting or letting go, in which other code may run
local collect_garbage = collectgarbage
local release  -- set by `start`

-- Closes the gaps in the list; what was held by objects that are gone is left in `gone`.
local function sort_out()
   local kept, dead = 0, 0
   for i = 1, count do
      local object, pointer = listed[i], held[i - 1]
      if not object then  -- `== nil` would ask the object
         gone[dead] = pointer
         dead = dead + 1
      else
         kept = kept + 1
         listed[kept], held[kept - 1] = object, pointer
      end
   end
   for i = kept + 1, count do listed[i] = nil end
   count = kept
   return dead
end

-- Lets go of what belongs to objects that the collector has taken.
local function sweep()
   if is_busy then return end
   is_busy = true
   release(gone, sort_out())
   is_busy = false
end

local function double_capacity()
   local more, pointers = setmetatable(new_table(2 * capacity, 0), weak), ffi.new('void *[?]', 2 * capacity)
   for i = 1, count do more[i], pointers[i - 1] = listed[i], held[i - 1] end
   capacity, listed, held = 2 * capacity, more, pointers
   gone = ffi.new('void *[?]', capacity)
end

-- A whole collection, which lets go of all that is not used.
function ownership.collect()
   pending_bytes = 0
   ownership.begin_period()
   collect_garbage()
   sweep()
end

-- Set by others: what they count from one collection to the next begins anew.
function ownership.begin_period() end

function ownership.count_bytes(bytes)
   pending_bytes = pending_bytes + bytes
   if pending_bytes > most_bytes then ownership.collect() end
end

local function make_room()
   if not is_busy then ownership.collect() end
   if count > capacity / 2 then double_capacity() end
end

-- Notes that `object` owns what lies at `pointer`; returns the object.
function ownership.own(object, pointer)
   if count == capacity then make_room() end
   count = count + 1
   listed[count], held[count - 1] = object, pointer
   return object
end

local single = ffi.new 'void *[1]'

-- Lets go of what the newest object owns, which must not be used any more; false for any other object.
function ownership.drop(object)
   if not rawequal(listed[count], object) then return false end
   listed[count], single[0] = nil, held[count - 1]
   count = count - 1
   release(single, 1)
   return true
end

-- `release_all(pointers, count)` lets go of many; everything goes with the Lua state.
function ownership.start(release_all)
   release = release_all
   ownership.last = ffi.gc(ffi.new 'char[1]', function()
      release(held, count)
      count = 0
   end)
end

-- Lua's own function; a whole collection also lets go of what was held.
function collectgarbage(option, argument)
   local result = collect_garbage(option, argument)
   if option == nil or option == 'collect' then sweep() end
   return result
end

return ownership
