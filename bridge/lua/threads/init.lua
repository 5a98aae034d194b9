-- The `threads` package: pools of threads, and what they are built of.
require 'torch'
local bridge = require 'relume.bridge'
local locks = require 'threads.locks'
local Threads = require 'threads.threads'

local threads = {
   Threads = Threads,
   Mutex = locks.Mutex,
   Condition = locks.Condition,
   safe = require 'threads.safe',
   -- Before there were other classes, the package was the class.
   serialization = Threads.serialization,
}

-- A thread that runs Lua source in a state of its own.
local Thread = {}
Thread.__index = Thread

function threads.Thread(code)
   if type(code) ~= 'string' then error('threads.Thread: the source to run is expected', 2) end
   return setmetatable({number = bridge.import('threads').start(code)}, Thread)
end

-- Waits for the end of the source.
function Thread:free()
   if self.number then bridge.import('threads').join(self.number) end
   self.number = nil
end

return setmetatable(threads, {__call = function(_, ...) return Threads.new(...) end})
