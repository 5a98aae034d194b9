-- torch.Tester and torch.TestSuite: tests that count what they assert.
local class = require 'torch.class'
local comparison = require 'torch.comparison'
local core = require 'relume.ffi'

local Tester = class.class 'torch.Tester'

local outside = ''  -- where notes are kept that no test made

-- A table of tests in which no test can be defined twice.
function torch.TestSuite()
   local tests = {}
   return setmetatable({__tests = tests, __isTestSuite = true}, {
      __index = tests,
      __newindex = function(_, name, test)
         if tests[name] ~= nil then error(('Test %s is already defined.'):format(name), 2) end
         tests[name] = test
      end,
      __pairs = function() return pairs(tests) end,
   })
end

function Tester:__init()
   self.errors = {}    -- by name of the test: texts
   self.failures = {}
   self.warnings = {}
   self.names = {}     -- in the order in which they were added
   self.tests = {}
   self.disabled = {}
   self.countasserts = 0
   self._assertTensorEqIgnoresDims = true
   self.current = outside
   self.summary_only, self.early_abort, self.rethrow = false, false, false
end

function Tester:setEarlyAbort(yes) self.early_abort = yes end
function Tester:setRethrowErrors(yes) self.rethrow = yes end
function Tester:setSummaryOnly(yes) self.summary_only = yes end

----------------------------------------------------------------------------------------
-- Assertions.

local here = debug.getinfo(1, 'S').source

-- The stack of the test, without what is above or below it.
local function stack_of_test()
   local lines = {'stack traceback:'}
   for level = 3, math.huge do
      local info = debug.getinfo(level, 'Sl')
      if not info or (#lines > 1 and (info.what == 'C' or info.source == here)) then break end
      if info.source ~= here and info.what ~= 'C' then
         lines[#lines + 1] = ('\t%s:%d: in function <%s:%d>'):format(info.short_src, info.currentline,
            info.short_src, info.linedefined)
      end
   end
   return table.concat(lines, '\n')
end

local function note(list, name, text)
   list[name] = list[name] or {}
   table.insert(list[name], text)
end

function Tester:check(holds, text, message)
   if message then text = message .. '\n' .. (text or '') end
   return self:_assert_sub(holds, text)
end

-- Counts an assertion; the text of one that failed is kept. The names are Torch7's: test frameworks
-- that are derived from this class replace these.
function Tester:_assert_sub(holds, text)
   self.countasserts = self.countasserts + 1
   if holds then return self:_success() end
   return self:_failure(text)
end

function Tester:_success() return true end

function Tester:_failure(text)
   note(self.failures, self.current, text .. '\n' .. stack_of_test())
   if self.early_abort then error('Aborting on first error', 0) end
   return false
end

-- The message and the tolerance, which come in either order.
local function message_and_tolerance(default, ...)
   local message, tolerance
   for i = 1, select('#', ...) do
      local value = select(i, ...)
      if type(value) == 'string' then
         if message then error('Unexpected string argument; already have message', 3) end
         message = value
      elseif type(value) == 'number' then
         if tolerance then error('Unexpected number argument; already have tolerance', 3) end
         if value < 0 then error('tolerance cannot be negative', 3) end
         tolerance = value
      elseif value ~= nil then
         error('Unrecognized argument; should be a tolerance or message', 3)
      end
   end
   return message, tolerance or default
end

function Tester:assert(condition, message, ...)
   if select('#', ...) > 0 then error('Unexpected arguments passed to test function', 2) end
   if type(condition) ~= 'boolean' then
      note(self.warnings, self.current, ' :assert should only be used for boolean conditions. To check for '
         .. 'non-nil variables, do this explicitly: Tester:assert(var ~= nil).\n' .. stack_of_test())
   end
   return self:check(condition, ('BOOL violation condition=%s'):format(tostring(condition)), message)
end

-- name -> the test, and how its opposite reads.
local relations = {
   assertlt = {function(a, b) return a < b end, 'LT failed: %s >= %s'},
   assertgt = {function(a, b) return a > b end, 'GT failed: %s <= %s'},
   assertle = {function(a, b) return a <= b end, 'LE failed: %s > %s'},
   assertge = {function(a, b) return a >= b end, 'GE failed: %s < %s'},
   asserteq = {function(a, b) return a == b end, 'EQ failed: %s ~= %s'},
   assertne = {function(a, b) return a ~= b end, 'NE failed: %s == %s'},
}
for name, relation in pairs(relations) do
   Tester[name] = function(self, a, b, message)
      if name == 'assertne' and type(a) == 'table' and type(b) == 'table' then
         note(self.warnings, self.current, ':assertne should only be used to compare basic lua objects (numbers, '
            .. 'booleans, etc). Consider using either :assertGeneralNe or :ne instead.\n' .. stack_of_test())
      end
      return self:check(relation[1](a, b), relation[2]:format(tostring(a), tostring(b)), message)
   end
end

function Tester:assertalmosteq(a, b, ...)
   local message, tolerance = message_and_tolerance(1e-16, ...)
   return self:check(math.abs(a - b) <= tolerance, ('ALMOST_EQ failed: %s ~= %s with tolerance=%s'):format(
      tostring(a), tostring(b), tostring(tolerance)), message)
end

-- name -> how two values are compared, which values are meant, is it the opposite?
local comparisons = {
   assertTensorEq = {comparison.tensors, core.is_tensor, 'Tensor', false},
   assertTensorNe = {comparison.tensors, core.is_tensor, 'Tensor', true},
   assertTableEq = {comparison.tables, function(x) return type(x) == 'table' end, 'Table', false},
   assertTableNe = {comparison.tables, function(x) return type(x) == 'table' end, 'Table', true},
   assertGeneralEq = {comparison.any, nil, nil, false},
   assertGeneralNe = {comparison.any, nil, nil, true},
}
comparisons.eq, comparisons.ne = comparisons.assertGeneralEq, comparisons.assertGeneralNe

-- Tensors of one content in other shapes were equal in early versions, and still are here.
local function same_content(a, b)
   return a:dim() ~= b:dim() and a:nElement() == b:nElement()
      and a:nElement() > 0 and a:type() == b:type()
end

for name, row in pairs(comparisons) do
   local compare, is_meant, kind, negated = unpack(row)
   Tester[name] = function(self, a, b, ...)
      local message, tolerance = message_and_tolerance(0, ...)
      if is_meant then
         if not is_meant(a) then error(('First argument should be a %s'):format(kind), 2) end
         if not is_meant(b) then error(('Second argument should be a %s'):format(kind), 2) end
      end
      if kind == 'Tensor' and self._assertTensorEqIgnoresDims and same_content(a, b) then
         note(self.warnings, self.current, 'These tensors have the same content but different dimensions; :eq '
            .. 'tells them apart.\n' .. stack_of_test())
         a, b = a:reshape(a:nElement()), b:reshape(b:nElement())
      end
      local holds, text = compare(a, b, tolerance, negated)
      return self:check(holds, text, message)
   end
end

function Tester:assertError(f, message)
   return self:assertErrorObj(f, function() return true end, message)
end

function Tester:assertNoError(f, message)
   local ok, err = pcall(f)
   return self:check(ok, ('ERROR violation: err=%s'):format(tostring(err)), message)
end

function Tester:assertErrorMsg(f, text, message)
   return self:assertErrorObj(f, function(err) return err == text end, message)
end

function Tester:assertErrorPattern(f, pattern, message)
   return self:assertErrorObj(f, function(err) return tostring(err):find(pattern) ~= nil end, message)
end

-- `f` raises an error of which `is_right` is true.
function Tester:assertErrorObj(f, is_right, message)
   local ok, err = pcall(f)
   return self:check(not ok and is_right(err), ('ERROR violation: err=%s'):format(tostring(err)), message)
end

----------------------------------------------------------------------------------------
-- Tests.

-- A function with a name, or a table of functions.
function Tester:add(tests, name)
   if type(tests) == 'table' then
      if name ~= nil then
         error('Name parameter is forbidden for a table of tests, since its use is ambiguous', 2)
      end
      local suite = rawget(tests, '__tests')
      if not suite then
         note(self.warnings, outside, 'Should use TestSuite rather than plain lua table')
      end
      local names = {}
      for key, test in pairs(suite or tests) do
         if type(test) ~= 'function' then error('Nested sets of tests are not supported', 2) end
         names[#names + 1] = key
      end
      table.sort(names)
      for _, key in ipairs(names) do self:add((suite or tests)[key], key) end
      return self
   end
   if type(tests) ~= 'function' then
      error('Only tables of functions and functions supported', 2)
   end
   if name == '_setUp' then
      if self.set_up then error('Only one set-up function allowed', 2) end
      self.set_up = tests
   elseif name == '_tearDown' then
      if self.tear_down then error('Only one tear-down function allowed', 2) end
      self.tear_down = tests
   else
      name = name or 'unknown'
      if self.tests[name] then error(('Test with name %s already exists'):format(name), 2) end
      self.tests[name] = tests
      self.names[#self.names + 1] = name
   end
   return self
end

-- Names as a list; each must be that of a test.
local function list_of_names(self, names, unknown)
   if type(names) == 'string' then names = {names} end
   for _, name in ipairs(names) do
      if not self.tests[name] then error(unknown:format(name), 3) end
   end
   return names
end

function Tester:disable(names)
   if type(names) ~= 'string' and type(names) ~= 'table' then
      error('Expecting name or list for disable', 2)
   end
   for _, name in ipairs(list_of_names(self, names, "Unrecognized test '%s'")) do
      self.disabled[name] = true
   end
   return self
end

----------------------------------------------------------------------------------------
-- Running.

local columns = 80
local colours = {cyan = 36, green = 32, red = 31, magenta = 35, yellow = 33}

local function coloured(text, colour)
   return ('\27[0;%dm%s\27[0m'):format(colours[colour], text)
end

local function bracket(text) return '[' .. text .. ']' end

local function count_of(count, word)
   return ('%d %s%s'):format(count, word, count == 1 and '' or 's')
end

local function on_error(tester)
   return function(err)
      local text = type(err) == 'string' and debug.traceback(err, 2) or tostring(err)
      note(tester.errors, tester.current, ' Function call failed\n' .. text)
      return err
   end
end

-- Runs one test; the word and colour of how it went.
local function run_test(self, name)
   self.current = name
   if self.disabled[name] then return 'SKIP', 'yellow' end
   local function body()
      if self.set_up then self.set_up(name) end
      self.tests[name]()
      if self.tear_down then self.tear_down(name) end
   end
   if self.rethrow then body() else xpcall(body, on_error(self)) end
   if self.errors[name] then return 'ERROR', 'magenta' end
   if self.failures[name] then return 'FAIL', 'red' end
   return 'PASS', 'green'
end

local function count_keys(list)
   local count = 0
   for _ in pairs(list) do count = count + 1 end
   return count
end

local function write_summary(self, total, skipped)
   local failed, broken, warned = count_keys(self.failures), count_keys(self.errors), count_keys(self.warnings)
   local text = ('Completed %s in %s with %s and %s'):format(
      count_of(self.countasserts, 'assert'), count_of(total, 'test'),
      coloured(count_of(failed, 'failure'), failed == 0 and 'green' or 'red'),
      coloured(count_of(broken, 'error'), broken == 0 and 'green' or 'magenta'))
   if warned > 0 then text = text .. ' and ' .. coloured(count_of(warned, 'warning'), 'yellow') end
   if skipped > 0 then text = text .. ' and ' .. coloured(skipped .. ' disabled', 'yellow') end
   io.write(text .. '\n')
end

local function write_details(self, names)
   local line = ('-'):rep(columns) .. '\n'
   local any = false
   local function write(list, name)
      for _, text in ipairs(list[name] or {}) do
         io.write(line .. (name == outside and '' or name .. '\n') .. text .. '\n')
         any = true
      end
   end
   for _, name in ipairs(names) do
      write(self.failures, name)
      write(self.errors, name)
   end
   write(self.warnings, outside)
   for _, name in ipairs(names) do write(self.warnings, name) end
   if any then io.write(line) end
end

-- Runs all tests, or those named; an error at the end if any went wrong.
function Tester:run(names)
   if names ~= nil and type(names) ~= 'string' and type(names) ~= 'table' then
      error('Only accept a name or table of test names (or nil for all tests)', 2)
   end
   names = list_of_names(self, names or self.names, "Couldn't find test '%s'")
   self.errors, self.failures, self.warnings = {}, {}, {[outside] = self.warnings[outside]}
   self.countasserts = 0
   io.write('Running ', count_of(#names, 'test'), '\n')
   local width, skipped = #tostring(#names), 0
   for i, name in ipairs(names) do
      local number = coloured(('%' .. width .. 'd/%d '):format(i, #names), 'cyan')
      local start = number .. name .. ' ' .. ('.'):rep(columns - 10 - 2 * width - #name) .. ' '
      io.write(start, bracket(coloured('WAIT', 'cyan')))
      io.flush()
      local word, colour = run_test(self, name)
      if word == 'SKIP' then skipped = skipped + 1 end
      io.write('\r', start, bracket(coloured(word, colour)), '\n')
      io.flush()
      if self.early_abort and (word == 'ERROR' or word == 'FAIL') then
         io.write('Aborting on first error, not all tests have been executed\n')
         break
      end
   end
   write_summary(self, #names, skipped)
   if not self.summary_only then write_details(self, names) end
   if next(self.errors) or next(self.failures) then
      error('An error was found while running tests!', 0)
   end
end

return Tester
