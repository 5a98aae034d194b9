-- xlua.Profiler: how long named parts of a program take.
local Profiler = {}
Profiler.__index = Profiler

function xlua.Profiler(enabled)
   return setmetatable({enabled = enabled ~= false, list = {}, names = {}}, Profiler)
end

function Profiler:start(name)
   if not self.enabled then return end
   local entry = self.list[name]
   if not entry then
      entry = {count = 0, real = 0, cpu = 0, last_real = 0, last_cpu = 0}
      self.list[name] = entry
      self.names[#self.names + 1] = name
   end
   entry.timer = torch.Timer()
end

-- Seconds since `start`: of the wall and of the processor.
function Profiler:lap(name)
   local entry = self.list[name]
   if not entry or not entry.timer then error(('Profiler: %s was not started'):format(name), 2) end
   local time = entry.timer:time()
   entry.count = entry.count + 1
   entry.last_real, entry.last_cpu = time.real, time.user + time.sys
   entry.real, entry.cpu = entry.real + entry.last_real, entry.cpu + entry.last_cpu
   entry.timer = nil
   return {real = entry.last_real, cpu = entry.last_cpu}
end

function Profiler:real(name) return {last = self.list[name].last_real, sum = self.list[name].real} end
function Profiler:cpu(name) return {last = self.list[name].last_cpu, sum = self.list[name].cpu} end

function Profiler:displayAll()
   for _, name in ipairs(self.names) do
      local entry = self.list[name]
      print(('%-20s real: %s  cpu: %s  calls: %d'):format(name, xlua.formatTime(entry.real),
         xlua.formatTime(entry.cpu), entry.count))
   end
end
Profiler.printAll = Profiler.displayAll
