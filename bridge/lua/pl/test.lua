-- pl.test: assertions that say what they got.
local pretty = require 'pl.pretty'
local tablex = require 'pl.tablex'

local test = {}

local function shown(value)
   if type(value) == 'table' and not (getmetatable(value) and getmetatable(value).__tostring) then
      return pretty.write(value, ' ', true)
   end
   return type(value) == 'string' and ('%q'):format(value) or tostring(value)
end

-- Called when a test fails; by default the program ends.
function test.error_handler(file, line, got, needed, message)
   io.stderr:write(('%s:%d: %s\ngot:\t%s\nneeded:\t%s\n'):format(file, line, message, got, needed))
   os.exit(1)
end

function test.complain(got, needed, message, level)
   local caller = debug.getinfo(3 + (level or 0), 'Sl')
   test.error_handler(caller.short_src, caller.currentline, shown(got), shown(needed), message or 'assertion failed')
end

local function equal(a, b, epsilon)
   if epsilon and type(a) == 'number' and type(b) == 'number' then return math.abs(a - b) <= epsilon end
   return a == b or tablex.deepcompare(a, b, true, epsilon)
end

function test.asserteq(a, b, epsilon, level)
   if not equal(a, b, epsilon) then test.complain(a, b, nil, level) end
end

function test.asserteq2(a, b, c, d, level)
   if a ~= c then test.complain(a, c, nil, level) end
   if b ~= d then test.complain(b, d, nil, level) end
end

function test.assertmatch(s, pattern, level)
   if type(s) ~= 'string' or not s:match(pattern) then
      test.complain(s, pattern, 'these strings did not match', level)
   end
end

function test.assertraise(f, message, level)
   local ok, failure
   if type(f) == 'table' then
      ok, failure = pcall(unpack(f))
   else
      ok, failure = pcall(f)
   end
   if ok or not tostring(failure):match(message) then
      test.complain(failure, message, 'these errors did not match', level)
   end
end

local Tuple = {}
Tuple.__index = Tuple
function Tuple:unpack() return unpack(self, 1, self.n) end
function Tuple:__len() return self.n end
function Tuple.__eq(a, b)
   if a.n ~= b.n then return false end
   for i = 1, a.n do if not equal(a[i], b[i]) then return false end end
   return true
end
function Tuple:__tostring()
   local parts = {}
   for i = 1, self.n do parts[i] = shown(self[i]) end
   return '(' .. table.concat(parts, ', ') .. ')'
end

function test.tuple(...) return setmetatable({n = select('#', ...), ...}, Tuple) end

function test.timer(message, count, f, ...)
   local start = os.clock()
   for _ = 1, count do f(...) end
   print(('%s: took %7.2f sec'):format(message, os.clock() - start))
end

return test
