-- threads.safe(f [, mutex]): f, run by one thread at a time.
local locks = require 'threads.locks'

local function finish(mutex, ok, ...)
   mutex:unlock()
   mutex:free()
   if not ok then error((...), 0) end
   return ...
end

-- The function goes to other threads with all its variables, so it knows its mutex by the id. A mutex
-- made here stays for good: a job with the function may still be on its way somewhere.
return function(f, mutex)
   local id = (mutex or locks.Mutex()):id()
   return function(...)
      local held = require('threads.locks').Mutex(id)
      held:lock()
      return finish(held, pcall(f, ...))
   end
end
