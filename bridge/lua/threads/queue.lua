-- threads.queue: jobs on their way between Lua states, first in, first out. A job is a function with
-- arguments, serialized: bytes in a storage. A number of the sender's may go with them.
local ffi = require 'ffi'
local core = require 'relume.ffi'
local locks = require 'threads.locks'
local shared = require 'relume.shared'

ffi.cdef [[
typedef struct { void *bytes; double number; } relume_job;
typedef struct {
   int64_t references;
   double mutex_id, condition_id;
   int32_t capacity, count, first;
   relume_job jobs[?];
} relume_job_queue;
]]

local C = core.C
local queue_pointer, slot_bytes = ffi.typeof 'relume_job_queue *', ffi.sizeof 'relume_job'
local head_bytes = ffi.sizeof('relume_job_queue', 0)

local Queue = {}

-- `size` jobs at most wait at a time. Queues may share a mutex and a condition, so that a thread can
-- wait for any of them.
local function new(size, mutex, condition)
   if type(size) ~= 'number' or size < 1 then error('a queue needs the number of its jobs', 3) end
   local block = shared.new(queue_pointer, head_bytes + size * slot_bytes)
   mutex, condition = mutex or locks.Mutex(), condition or locks.Condition()
   block.capacity, block.mutex_id, block.condition_id = size, mutex:id(), condition:id()
   return setmetatable({block = block, mutex = mutex, condition = condition}, Queue)
end

local function at(id)
   local block = shared.at(queue_pointer, id)
   return setmetatable({
      block = block,
      mutex = locks.Mutex(block.mutex_id),
      condition = locks.Condition(block.condition_id),
   }, Queue)
end

function Queue:__index(key)
   if key == 'isempty' then return self.block.count == 0 end
   if key == 'isfull' then return self.block.count == self.block.capacity end
   return rawget(Queue, key)
end

function Queue:id() return shared.id(self.block) end

-- Under the lock of the mutex: puts bytes into the queue; false when there is no place.
function Queue:put(bytes, number)
   local block = self.block
   if block.count == block.capacity then return false end
   C.relume_storage_retain(bytes)
   local slot = block.jobs[(block.first + block.count) % block.capacity]
   slot.bytes, slot.number = bytes, number or 0
   block.count = block.count + 1
   self.condition:broadcast()
   return true
end

-- Under the lock of the mutex: the oldest bytes and their number; nil when there are none.
function Queue:take()
   local block = self.block
   if block.count == 0 then return nil end
   local slot = block.jobs[block.first]
   local bytes, number = core.adopt_storage(slot.bytes), slot.number
   block.first, block.count = (block.first + 1) % block.capacity, block.count - 1
   self.condition:broadcast()
   return bytes, number
end

-- Calls `attempt` under the lock until it returns something, which it passes on.
function Queue:wait_for(attempt, ...)
   self.mutex:lock()
   local ok, result, number
   repeat
      ok, result, number = pcall(attempt, self, ...)
      if ok and not result then ok, result = pcall(self.condition.wait, self.condition, self.mutex) end
   until not ok or result
   self.mutex:unlock()
   if not ok then error(result, 0) end
   return result, number
end

local function serializer(self)
   return self.serialize or require 'threads.serialize'
end

function Queue:addjob(callback, ...)
   local job = {callback = callback, arguments = {...}, count = select('#', ...)}
   self:wait_for(self.put, serializer(self).save(job))
end

-- Runs the oldest job here, waiting for one, and returns what it returns.
function Queue:dojob()
   local job = serializer(self).load((self:wait_for(self.take)))
   return job.callback(unpack(job.arguments, 1, job.count))
end

function Queue:free()
   if not self.block then return end
   shared.release(self.block, function(block)
      for i = 0, block.count - 1 do
         C.relume_storage_release(block.jobs[(block.first + i) % block.capacity].bytes)
      end
   end)
   self.mutex:free()
   self.condition:free()
   self.block = nil
end

return setmetatable({at = at, new = new}, {__call = function(_, size) return new(size) end})
