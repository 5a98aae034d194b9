-- Random numbers: the core's generator is Torch7's, bit for bit, and shared with Python.
local ffi = require 'ffi'
local class = require 'torch.class'
local core = require 'relume.ffi'
local create = require 'torch.create'
local errors = require 'torch.errors'
local maths = require 'torch.maths'
local shapes = require 'torch.shapes'
local types = require 'relume.types'

ffi.cdef [[
typedef struct relume_generator relume_generator;
relume_generator *relume_generator_new(void);
void relume_generator_free(relume_generator *generator);
relume_generator *relume_generator_use(relume_generator *generator);
void relume_manual_seed(uint64_t seed);
uint64_t relume_seed(void);
uint64_t relume_initial_seed(void);
size_t relume_rng_state_size(void);
void relume_get_rng_state(void *bytes);
int relume_set_rng_state(const void *bytes, size_t count);
uint32_t relume_random(void);
int64_t relume_random_between(int64_t first, int64_t last);
double relume_uniform(double low, double high);
double relume_normal(double mean, double std);
double relume_exponential(double rate);
double relume_cauchy(double median, double scale);
double relume_log_normal(double mean, double std);
double relume_geometric(double p);
int relume_bernoulli(double p);
]]

local C = core.C
local is_tensor, tensor_row, dims = core.is_tensor, core.tensor_row, shapes.dims
local functions, methods = maths.functions, maths.methods
local long_row, byte_row = types.by_class.Long, types.by_class.Byte

----------------------------------------------------------------------------------------
-- torch.Generator: a table with the C object inside.

local Generator = class.class('torch.Generator')
class.mark_as_userdata(Generator)

function Generator:__init()
   self.state = ffi.gc(C.relume_generator_new(), C.relume_generator_free)
end

local function is_generator(value)
   return getmetatable(value) == Generator
end

-- f([generator,] ...): draws from the given generator.
local function with_generator(f)
   return function(first, ...)
      if not is_generator(first) then return f(first, ...) end
      local before = C.relume_generator_use(first.state)
      local results = {pcall(f, ...)}
      C.relume_generator_use(before)
      if not results[1] then error(results[2], 0) end
      return unpack(results, 2)
   end
end

-- x:f([generator,] ...)
local function method_with_generator(f)
   return function(x, first, ...)
      if not is_generator(first) then return f(x, first, ...) end
      local before = C.relume_generator_use(first.state)
      local results = {pcall(f, x, ...)}
      C.relume_generator_use(before)
      if not results[1] then error(results[2], 0) end
      return unpack(results, 2)
   end
end

----------------------------------------------------------------------------------------
-- Seeds and states.

functions.manualSeed = with_generator(function(seed)
   if type(seed) ~= 'number' then errors.invalid_arguments(seed ~= nil and 1 or 0, seed) end
   C.relume_manual_seed(ffi.cast('uint64_t', ffi.cast('int64_t', seed)))
end)
functions.seed = with_generator(function() return tonumber(C.relume_seed()) end)
functions.initialSeed = with_generator(function()
   return tonumber(ffi.cast('int64_t', C.relume_initial_seed()))
end)

functions.getRNGState = with_generator(function()
   shapes.shape[0] = tonumber(C.relume_rng_state_size())
   local state = shapes.new(byte_row, 1)
   C.relume_get_rng_state(state._storage._data)
   return state
end)

functions.setRNGState = with_generator(function(state)
   if tensor_row(state) ~= byte_row then errors.invalid_arguments(1, state) end
   if state._numel ~= tonumber(C.relume_rng_state_size()) then error('RNG state is wrong size', 2) end
   local bytes = state:contiguous()
   if C.relume_set_rng_state(bytes._storage._data + bytes._offset, state._numel) < 0 then core.fail() end
   return state
end)

function Generator:write(file)
   file:writeByte(functions.getRNGState(self):storage())
end

function Generator:read(file)
   local size = tonumber(C.relume_rng_state_size())
   functions.setRNGState(self, torch.ByteTensor(file:readByte(size)))
end

----------------------------------------------------------------------------------------
-- Distributions: a number each as functions of torch, a fill as methods.

local function check_std(mean, std)
   if std <= 0 then errors.bad_argument(2, 'standard deviation must be strictly positive') end
end
local function check_probability(p)
   if p < 0 or p > 1 then errors.bad_argument(1, 'must be >= 0 and <= 1') end
end
local function check_geometric(p)
   if p <= 0 or p >= 1 then errors.bad_argument(1, 'must be > 0 and < 1') end
end

local distributions = {
   {'uniform', draw = C.relume_uniform, defaults = {0, 1}, op = 'uniform_', kind = 'floating'},
   {'normal', draw = C.relume_normal, defaults = {0, 1}, op = 'normal_', kind = 'floating', check = check_std},
   {'exponential', draw = C.relume_exponential, count = 1, op = 'exponential_', kind = 'floating'},
   {'cauchy', draw = C.relume_cauchy, defaults = {0, 1}, op = 'cauchy_', kind = 'floating'},
   {'logNormal', draw = C.relume_log_normal, defaults = {1, 2}, op = 'log_normal_', kind = 'floating',
      check = check_std},
   {'geometric', draw = C.relume_geometric, count = 1, op = 'geometric_', kind = 'all', check = check_geometric},
   {'bernoulli', draw = C.relume_bernoulli, defaults = {0.5}, op = 'bernoulli_', kind = 'all',
      check = check_probability},
}
for _, row in ipairs(distributions) do
   local name, draw, check = row[1], row.draw, row.check
   local defaults = row.defaults or {}
   local count = row.count or #defaults

   local function parameters(a, b)
      a, b = a or defaults[1], b or defaults[2]
      if a == nil then errors.invalid_arguments(0) end
      if check then check(a, b) end
      return a, b
   end
   functions[name] = with_generator(function(a, b, ...)
      if is_tensor(a) then return methods[row.kind][name](a, b, ...) end
      a, b = parameters(a, b)
      if count == 1 then return tonumber(draw(a)) end
      return draw(a, b)
   end)
   methods[row.kind][name] = method_with_generator(function(x, a, b)
      if is_tensor(a) then
         if a._numel ~= x._numel then errors.inconsistent_size({'self', 'p'}, {x, a}) end
         if a._numel > 0 and (a:min() < 0 or a:max() > 1) then
            errors.bad_argument(1, 'must be >= 0 and <= 1')
         end
      else
         a, b = parameters(a, b)
      end
      if x._numel == 0 then return x end
      if count == 1 then
         core.call_in_place(row.op, x, a)
      else
         core.call_in_place(row.op, x, a, b)
      end
      return x
   end)
end

-- Integers: up to 2^32 - 1, in [1, n], in [first, last].
functions.random = with_generator(function(first, last, ...)
   if is_tensor(first) then return methods.all.random(first, last, ...) end
   if first == nil then return tonumber(C.relume_random()) end
   if last == nil then
      if first < 1 then errors.bad_argument(1, 'upper bound must be strictly positive') end
      first, last = 1, first
   end
   if last < first then errors.bad_argument(2, 'upper bound must be larger than lower bound') end
   return tonumber(C.relume_random_between(first, last))
end)

methods.all.random = method_with_generator(function(x, first, last)
   if first == nil then
      core.call_in_place('random_', x)
   else
      if last == nil then
         if first < 1 then errors.bad_argument(1, 'upper bound must be strictly positive') end
         first, last = 1, first
      end
      if last < first then errors.bad_argument(2, 'upper bound must be larger than lower bound') end
      core.call_in_place('random_', x, first, last + 1)  -- the core's end is outside
      -- Torch7 adds `first` as an unsigned number: -3 in a floating tensor is 2^64 - 3.
      if first < 0 and not tensor_row(x).integer then
         x:add(x:lt(0):typeAs(x):mul(2 ^ 64))
      end
   end
   return x
end)

local function sized_and(fill)
   return with_generator(function(...)
      return fill(create.sized(...))
   end)
end
functions.rand = sized_and(function(x) return x:uniform() end)
functions.randn = sized_and(function(x) return x:normal() end)
methods.floating.rand, methods.floating.randn = functions.rand, functions.randn

local function fill_permutation(result, n)
   if n < 1 then errors.bad_argument(1, 'must be strictly positive') end
   local order = core.call('randperm', maths.truncate(n))
   result:resize(n):copy(order)
   return result:add(1)
end
functions.randperm = with_generator(function(a, b)
   if is_tensor(a) then return fill_permutation(a, b) end
   return fill_permutation(shapes.new(create.default, 0), a)
end)
methods.all.randperm = method_with_generator(fill_permutation)

create.accept_type_names 'rand randn randperm'

local function multinomial_sums(p)
   return dims(p) == 2 and p:sum(2) or p:view(-1):sum(1)
end

-- torch.multinomial([generator,] [result,] p, n [, replacement]): 1-based positions.
local function multinomial(a, b, c, d)
   local result, p, n, replacement = nil, a, b, c
   if is_tensor(b) then result, p, n, replacement = a, b, c, d end
   local row = tensor_row(p)
   if not row or row.integer or type(n) ~= 'number' then
      errors.invalid_arguments(b ~= nil and 2 or 1, a, b)
   end
   if multinomial_sums(p):min() <= 0 then
      errors.bad_argument(2, 'invalid multinomial distribution (sum of probabilities <= 0)')
   end
   n = maths.truncate(n)
   if n < 1 then errors.bad_argument(2, 'cannot sample n_sample < 0 samples') end
   if not replacement and n > p:size(dims(p)) then
      errors.bad_argument(2, ('cannot sample n_sample > prob_dist:size(%d) samples without replacement'):format(dims(p)))
   end
   local drawn = core.call('multinomial', p, n, replacement or false)
   core.scalar_in_place(core.ops.add, drawn, 1, true)
   if result then return shapes.resize_as(result, drawn):copy(drawn) end
   return drawn
end
functions.multinomial = with_generator(multinomial)
-- As a method it needs the LongTensor in front, as in Torch7.
methods.floating.multinomial = function(result, ...)
   if tensor_row(result) ~= long_row then errors.invalid_arguments(1, result) end
   return with_generator(multinomial)(result, ...)
end

-- Walker's alias method: two draws per sample, whatever the number of categories. The state is
-- {J, q}: category i (from 0) is kept with probability q[i], otherwise J[i] takes its place.
function functions.multinomialAliasSetup(p, state)
   local row = tensor_row(p)
   if not row or row.integer or p._ndim ~= 1 then errors.invalid_arguments(1, p, state) end
   local count = p:size(1)
   state = state or {shapes.new(long_row, 0), shapes.new(types.by_class.Double, 0)}
   local aliases, kept = state[1]:resize(count):fill(1), state[2]:resize(count)
   local small, large = {}, {}
   for i = 1, count do
      kept[i] = count * p[i]
      table.insert(kept[i] < 1 and small or large, i)
   end
   while #small > 0 and #large > 0 do
      local giver, taker = large[#large], table.remove(small)
      aliases[taker] = giver
      kept[giver] = kept[giver] - (1 - kept[taker])
      if kept[giver] < 1 then table.insert(small, table.remove(large)) end
   end
   if kept:min() <= 0 then error('q_min is less than 0', 2) end
   if kept:max() > 1 then kept:div(kept:max()) end
   kept[aliases:eq(1)] = 1  -- those of the first category are left out, as in Torch7
   return state
end

-- As in Torch7, each call takes one from the aliases: what is drawn is not quite what the
-- probabilities say.
functions.multinomialAlias = with_generator(function(result, state)
   if tensor_row(result) ~= long_row or type(state) ~= 'table' then
      errors.invalid_arguments(2, result, state)
   end
   local aliases, kept = state[1], state[2]
   local count = aliases:size(1)
   aliases:add(-1)
   result:apply(function()
      local i = math.floor(C.relume_uniform(0, count)) + 1
      return C.relume_bernoulli(kept[i]) == 1 and i or aliases[i]
   end)
   return result
end)

return Generator
