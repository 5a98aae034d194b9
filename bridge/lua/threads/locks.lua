-- Mutexes and conditions of the system's threads. One is known in every Lua state by its id; each
-- state that has one must free it.
local ffi = require 'ffi'
local shared = require 'relume.shared'

-- The arrays are larger than the types of any system.
ffi.cdef [[
typedef struct { int64_t references; double mutex[16]; } relume_mutex;
typedef struct { int64_t references; double condition[16]; } relume_condition;
typedef struct { long seconds, nanoseconds; } relume_moment;
int relume_mutex_init(void *mutex, const void *options) __asm__("pthread_mutex_init");
int relume_mutex_destroy(void *mutex) __asm__("pthread_mutex_destroy");
int relume_mutex_lock(void *mutex) __asm__("pthread_mutex_lock");
int relume_mutex_unlock(void *mutex) __asm__("pthread_mutex_unlock");
int relume_condition_init(void *condition, const void *options) __asm__("pthread_cond_init");
int relume_condition_destroy(void *condition) __asm__("pthread_cond_destroy");
int relume_condition_wait(void *condition, void *mutex, const relume_moment *until)
   __asm__("pthread_cond_timedwait");
int relume_condition_signal(void *condition) __asm__("pthread_cond_signal");
int relume_condition_broadcast(void *condition) __asm__("pthread_cond_broadcast");
int relume_clock(int which, relume_moment *now) __asm__("clock_gettime");
]]

local C = ffi.C
local mutex_pointer, mutex_bytes = ffi.typeof 'relume_mutex *', ffi.sizeof 'relume_mutex'
local condition_pointer = ffi.typeof 'relume_condition *'
local condition_bytes = ffi.sizeof 'relume_condition'

local locks = {}

local Mutex = {}
Mutex.__index = Mutex

function locks.Mutex(id)
   if id then return setmetatable({block = shared.at(mutex_pointer, id)}, Mutex) end
   local block = shared.new(mutex_pointer, mutex_bytes)
   C.relume_mutex_init(block.mutex, nil)
   return setmetatable({block = block}, Mutex)
end

local function block_of(self, kind)
   return self.block or error('this ' .. kind .. ' has been freed', 3)
end

function Mutex:lock() C.relume_mutex_lock(block_of(self, 'mutex').mutex) end
function Mutex:unlock() C.relume_mutex_unlock(block_of(self, 'mutex').mutex) end
function Mutex:id() return shared.id(block_of(self, 'mutex')) end

function Mutex:free()
   if not self.block then return end
   shared.release(self.block, function(block) C.relume_mutex_destroy(block.mutex) end)
   self.block = nil
end

----------------------------------------------------------------------------------------

local Condition = {}
Condition.__index = Condition

function locks.Condition(id)
   if id then return setmetatable({block = shared.at(condition_pointer, id)}, Condition) end
   local block = shared.new(condition_pointer, condition_bytes)
   C.relume_condition_init(block.condition, nil)
   return setmetatable({block = block}, Condition)
end

local moment = ffi.new 'relume_moment'
local real_time = 0  -- CLOCK_REALTIME

-- Waits a tenth of a second; true when there was a signal. Between such waits Lua runs, so that
-- Ctrl-C and time limits reach a thread that waits.
local function wait_briefly(condition, mutex)
   C.relume_clock(real_time, moment)
   local nanoseconds = tonumber(moment.nanoseconds) + 1e8
   moment.seconds = moment.seconds + math.floor(nanoseconds / 1e9)
   moment.nanoseconds = nanoseconds % 1e9
   return C.relume_condition_wait(condition, mutex, moment) == 0
end

-- Lets go of the locked mutex until the condition is signalled, and locks it again.
function Condition:wait(mutex)
   local condition, locked = block_of(self, 'condition').condition, block_of(mutex, 'mutex').mutex
   while not wait_briefly(condition, locked) do end
end

function Condition:signal() C.relume_condition_signal(block_of(self, 'condition').condition) end
function Condition:broadcast() C.relume_condition_broadcast(block_of(self, 'condition').condition) end
function Condition:id() return shared.id(block_of(self, 'condition')) end

function Condition:free()
   if not self.block then return end
   shared.release(self.block, function(block) C.relume_condition_destroy(block.condition) end)
   self.block = nil
end

return locks
