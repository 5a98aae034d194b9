-- threads.Threads: a pool of threads, each with a Lua state of its own. Jobs go to the pool and are run
-- by the first free thread, or by a given one; what they return goes to a function of the caller's.
local bridge = require 'relume.bridge'
local core = require 'relume.ffi'
local cuda = require 'relume.cuda'
local locks = require 'threads.locks'
local queues = require 'threads.queue'

local pcall = pcall  -- finalizers run when the globals have gone

-- Lua's collector does not see what a state weighs: a pool that nobody holds should go soon.
local bytes_of_a_state = 4e6

local Threads = {}
Threads.__index = Threads
Threads.__serialize = 'threads.serialize'

local START = [[
package.path = %q
if %s then require('relume.cuda').use_cpu() end
require('threads.worker').main(%.0f, %.0f, %.0f, %d, %q)
]]

-- The package that makes bytes of jobs: a table with `save` and `load`. For pools made from now on.
function Threads.serialization(name)
   if type(name) ~= 'string' then error('the name of a serialization package is expected', 2) end
   Threads.__serialize = name
end

-- A pool that nobody holds ends its threads, and so does one whose state is closed.
local function end_with(pool)
   local guard = newproxy(true)
   local parts = setmetatable({}, Threads)
   for key, value in pairs(pool) do parts[key] = value end
   local function finish() pcall(parts.terminate, parts) end
   getmetatable(guard).__gc = finish
   bridge.closing[guard] = finish
   return guard
end

local function start_thread(self, id)
   local code = START:format(package.path, tostring(cuda.is_cpu_used()), self.specific_queues[id]:id(),
      self.common_queue:id(), self.results:id(), id, self.serialization_name)
   return bridge.import('threads').start(code)
end

-- threads.Threads(N [, f1, f2, ...]): every thread calls the functions first, with its number. What
-- the last function returns comes as a list of lists, one per thread, after the pool.
function Threads.new(N, ...)
   if type(N) ~= 'number' or N < 1 or N % 1 ~= 0 then
      error('threads.Threads: the number of threads is expected', 2)
   end
   local mutex, condition = locks.Mutex(), locks.Condition()
   local self = setmetatable({
      N = N,
      serialization_name = Threads.__serialize,
      serialize = require(Threads.__serialize),
      common_queue = queues.new(N, mutex, condition),
      results = queues.new(N, mutex, condition),
      specific_queues = {}, threads = {},
      -- By number of a job: its thread, if it has one, and what is called with its results.
      jobs = {}, state = {last_number = 0, unfinished = 0, is_specific = true},
   }, Threads)
   for id = 1, N do
      self.specific_queues[id] = queues.new(N, mutex, condition)
      self.threads[id] = start_thread(self, id)
      core.count_bytes(bytes_of_a_state)
   end
   self.guard = end_with(self)
   local results = {}
   local function keep(...) table.insert(results, {...}) end
   for position, f in ipairs {...} do
      local is_last = position == select('#', ...)
      for id = 1, N do self:addjob(id, f, is_last and keep or nil, id) end
   end
   self:specific(false)
   return self, results
end

local function check_running(self)
   if self.state.is_ended then error('this pool of threads has been terminated', 3) end
end

local function nothing() end

-- The queue for a job, and the arguments after the thread's number.
local function destination(self, id, ...)
   if not self.state.is_specific then return self.common_queue, id, ... end
   local queue = self.specific_queues[id]
   if not queue then error('in specific mode, addjob expects the number of a thread first', 3) end
   return queue, ...
end

local function add(self, queue, callback, endcallback, ...)
   if type(callback) ~= 'function' then error('addjob: a function is expected as the job', 3) end
   local state = self.state
   local number = state.last_number + 1
   local bytes = self.serialize.save {callback = callback, arguments = {...}, count = select('#', ...)}
   while queue.isfull do self:dojob() end
   state.last_number, state.unfinished = number, state.unfinished + 1
   self.jobs[number] = endcallback or nothing
   queue:wait_for(queue.put, bytes, number)
end

-- addjob([thread,] callback [, endcallback [, arguments ...]])
function Threads:addjob(...)
   check_running(self)
   add(self, destination(self, ...))
end

-- Takes the next answer, waiting for one, and calls the function that belongs to it.
function Threads:dojob()
   check_running(self)
   if self.state.unfinished == 0 then error('dojob: there is no job to wait for', 2) end
   local bytes, number = self.results:wait_for(self.results.take)
   local endcallback = self.jobs[number]
   self.jobs[number], self.state.unfinished = nil, self.state.unfinished - 1
   local answer = self.serialize.load(bytes)
   if answer.message then
      error(('[thread %d callback] %s'):format(answer.thread, answer.message), 0)
   end
   local function describe(message)
      return ('[thread %d endcallback] %s'):format(answer.thread, debug.traceback(tostring(message), 2))
   end
   local ok, message = xpcall(endcallback, describe, unpack(answer.results, 1, answer.count))
   if not ok then error(message, 0) end
end

function Threads:synchronize()
   if self.state.is_ended then return end
   while self:hasjob() do self:dojob() end
end

-- In specific mode each job names its thread.
function Threads:specific(is_specific)
   check_running(self)
   if is_specific == nil then return self.state.is_specific end
   self:synchronize()
   self.state.is_specific = is_specific
end

-- Is there place for another job, of that thread in specific mode?
function Threads:acceptsjob(id)
   check_running(self)
   local queue = self.common_queue
   if self.state.is_specific then
      queue = self.specific_queues[id] or error('acceptsjob: expected the number of a thread', 2)
   end
   return not queue.isfull
end

function Threads:hasjob() return self.state.unfinished > 0 end

function Threads:isrunning() return not self.state.is_ended end

-- Always false: errors of jobs are raised where their results are taken.
function Threads:haserror() return false end

-- Waits for all jobs and ends the threads; the first error of a job is raised when that is done.
function Threads:terminate()
   local state = self.state
   if state.is_ended then return end
   local failure
   while self:hasjob() do
      local ok, message = pcall(self.dojob, self)
      if not ok then failure = failure or message end
   end
   state.is_ended = true
   local the_end = torch.CharStorage()
   for id = 1, self.N do
      local queue = self.specific_queues[id]
      queue:wait_for(queue.put, the_end)
   end
   for id = 1, self.N do
      bridge.import('threads').join(self.threads[id])
      self.specific_queues[id]:free()
   end
   self.common_queue:free()
   self.results:free()
   if failure then error(failure, 0) end
end

return setmetatable(Threads, {__call = function(_, ...) return Threads.new(...) end})
