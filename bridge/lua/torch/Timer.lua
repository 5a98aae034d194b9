-- torch.Timer: wall-clock and processor time.
local ffi = require 'ffi'
local class = require 'torch.class'

ffi.cdef [[
typedef struct { long seconds, fraction; } relume_time;
int clock_gettime(int clock, relume_time *time);
int getrusage(int who, void *usage);
]]

local clock = ffi.new 'relume_time'
local usage = ffi.new 'relume_time[16]'  -- user and system time come first

local function now()
   ffi.C.clock_gettime(1, clock)  -- CLOCK_MONOTONIC
   ffi.C.getrusage(0, usage)
   return {
      real = tonumber(clock.seconds) + tonumber(clock.fraction) * 1e-9,
      user = tonumber(usage[0].seconds) + tonumber(usage[0].fraction) * 1e-6,
      sys = tonumber(usage[1].seconds) + tonumber(usage[1].fraction) * 1e-6,
   }
end

local Timer = class.class 'torch.Timer'
class.mark_as_userdata(Timer)

function Timer:__init() self:reset() end

function Timer:reset()
   self.total = {real = 0, user = 0, sys = 0}
   self.since = now()
   self.running = true
   return self
end

function Timer:time()
   local result, current = {}, self.running and now()
   for key, total in pairs(self.total) do
      result[key] = total + (current and current[key] - self.since[key] or 0)
   end
   return result
end

function Timer:stop()
   if self.running then
      self.total, self.running = self:time(), false
   end
   return self
end

function Timer:resume()
   if not self.running then
      self.since, self.running = now(), true
   end
   return self
end

-- In files a timer is its class and no more.
function Timer:write() end
function Timer:read() end

function Timer:__tostring__()
   return ('torch.Timer [status: %s]'):format(self.running and 'running' or 'stopped')
end

function torch.tic() return now().real end
function torch.toc(start) return now().real - start end

return Timer
