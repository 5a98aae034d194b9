-- What a thread of a pool does: it runs jobs, its own before those for anybody, until it is told to end.
require 'torch'
local core = require 'relume.ffi'
local queues = require 'threads.queue'

local worker = {}

local function pack(...) return {count = select('#', ...), ...} end

local function describe(message)
   return type(message) == 'string' and debug.traceback(message, 2) or tostring(message)
end

-- What goes back: what the job returned, or where it failed.
local function run(serialize, bytes)
   local loaded, job = pcall(serialize.load, bytes)
   if not loaded then return {message = tostring(job)} end
   local results = pack(xpcall(job.callback, describe, unpack(job.arguments, 1, job.count)))
   if not results[1] then return {message = results[2]} end
   return {results = {unpack(results, 2, results.count)}, count = results.count - 1}
end

-- An answer as bytes, also when what a job returned cannot be written.
local function save(serialize, answer)
   answer.thread = __threadid
   local ok, bytes = pcall(serialize.save, answer)
   return ok and bytes or serialize.save {thread = __threadid, message = tostring(bytes)}
end

local function next_job(own, common)
   local bytes, number = own:take()
   if bytes then return bytes, number end
   return common:take()
end

-- The ids of three queues that share a mutex, the thread's number, the name of a package.
function worker.main(own_id, common_id, results_id, id, serialization)
   __threadid = id
   local own, common, results = queues.at(own_id), queues.at(common_id), queues.at(results_id)
   local serialize = require(serialization)
   local generator = torch.Generator()  -- threads draw numbers of their own
   core.C.relume_generator_use(generator.state)
   while true do
      local bytes, number = own:wait_for(next_job, common)
      if #bytes == 0 then break end
      local answer = save(serialize, run(serialize, bytes))
      results:wait_for(results.put, answer, number)
   end
   core.C.relume_generator_use(nil)
   for _, queue in ipairs {own, common, results} do queue:free() end
end

return worker
