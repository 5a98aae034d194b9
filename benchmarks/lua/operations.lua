-- What single operations cost in Lua: relume lua benchmarks/lua/operations.lua
-- The least CPU time of several runs, in nanoseconds per operation.
require 'nn'

local REPEATS = 7

local function measure(name, count, run)
   local best = math.huge
   for _ = 1, REPEATS do
      local start = os.clock()
      run(count)
      best = math.min(best, os.clock() - start)
   end
   io.write(('%-28s %9.1f ns\n'):format(name, best / count * 1e9))
end

local a, b = torch.randn(10), torch.randn(10)
measure('a:add(b), 10 elements', 3e5, function(n) for _ = 1, n do a:add(b) end end)
measure('a:add(1), 10 elements', 3e5, function(n) for _ = 1, n do a:add(1) end end)
measure('a + b, 10 elements', 1e5, function(n) for _ = 1, n do local _ = a + b end end)

local vector, matrix = torch.randn(1e6), torch.randn(1000, 1000)
measure('s = s + t[i]', 1e6, function(n)
   local s = 0
   for i = 1, n do s = s + vector[i] end
   return s
end)
measure('s = s + t[i][j]', 1e5, function()
   local s = 0
   for i = 1, 100 do
      for j = 1, 1000 do s = s + matrix[i][j] end
   end
   return s
end)

local layer, input = nn.Linear(4, 4), torch.randn(4)
measure('nn.Linear(4, 4) forward', 5e4, function(n) for _ = 1, n do layer:forward(input) end end)
