-- The core's C interface (relume/declarations.lua) as Lua code uses it: ownership of what C hands out, and the
-- calls of registered ops.
--
-- A tensor in Lua is a reference cdata (`struct relume_DoubleTensor &`) to the TensorBody
-- that Python and C++ hold as well. There is one struct name per element type, all of the
-- same layout, so that each Torch7 class has a metatable of its own.
local ffi = require 'ffi'
local ownership = require 'relume.ownership'
local repetition = require 'relume.repetition'
local types = require 'relume.types'

local C = require 'relume.declarations'
local cast, string_of = ffi.cast, ffi.string
local by_dtype = types.by_dtype
local any_tensor = types.by_class.Byte.tensor_pointer
local any_storage = types.by_class.Byte.storage_pointer
local address_type = ffi.typeof 'uintptr_t'
local void_pointer = ffi.typeof 'void *'

-- `raw_type` is Lua's own `type`; the global one calls tensors userdata, as Torch7 did.
local core = {C = C, max_dims = 16, raw_type = type}

-- Raises the core's message as an error of the caller of the function that called `fail`.
local function fail()
   error(string_of(C.relume_last_error()), 3)
end
core.fail = fail

----------------------------------------------------------------------------------------
-- Objects for what C hands out.

local own, count_bytes = ownership.own, ownership.count_bytes
core.count_bytes = count_bytes
ownership.start(C.relume_tensors_release)

local body_bytes = 600  -- of a small tensor with its storage

-- Wraps a tensor that the caller owns; it is released with the cdata.
local function adopt(pointer, fresh_bytes)
   if pointer == nil then fail() end
   local dtype = cast(any_tensor, pointer)._dtype
   count_bytes(body_bytes + (fresh_bytes or 0))
   return own(cast(by_dtype[dtype].tensor_pointer, pointer)[0], pointer)
end
core.adopt = adopt

-- Wraps a view of the class of `row`, which holds nothing new.
local function adopt_view(row, pointer)
   if pointer == nil then fail() end
   count_bytes(body_bytes)
   return own(cast(row.tensor_pointer, pointer)[0], pointer)
end
core.adopt_view = adopt_view

-- tensor[index] of a dimension, all 0-based and in range.
function core.select(row, tensor, dim, index)
   return adopt_view(row, C.relume_tensor_select(tensor, dim, index))
end

-- The same for the result of an op: its memory is new, unless it is a view.
local function adopt_result(pointer)
   local body = cast(any_tensor, pointer)
   local row = by_dtype[body._dtype]
   count_bytes(body_bytes + (body._is_view and 0 or tonumber(body._numel) * row.bytes))
   return own(cast(row.tensor_pointer, pointer)[0], pointer)
end

function core.adopt_storage(pointer)
   if pointer == nil then fail() end
   local row = by_dtype[cast(any_storage, pointer)._dtype]
   return ffi.gc(cast(row.storage_pointer, pointer)[0], C.relume_storage_release)
end

-- Another Lua object on a storage that somebody else holds; nil when there is none.
function core.share_storage(pointer)
   if pointer == nil then return nil end
   C.relume_storage_retain(pointer)
   return core.adopt_storage(pointer)
end

-- Addresses cross the languages as numbers: light userdata hold 47 bits only.
local function address_of(object)
   return tonumber(cast(address_type, cast(void_pointer, object)))
end
core.address_of = address_of

-- An address becomes a pointer of each class: few steps, since the interpreter takes them.
local fields = {}
for i, row in ipairs(types.rows) do fields[i] = ('relume_%sTensor *%s;'):format(row.class, row.class) end
local slot = ffi.new('union { uint64_t address; ' .. table.concat(fields, ' ') .. ' }')
local retain_at = C.relume_tensor_retain_at

-- core.tensor_at[dtype](address): a Lua object on a tensor that somebody else holds. Python may
-- let go of it next, and then Lua alone holds its memory; one that is passed again and again
-- counts once.
core.tensor_at = {}
local lent = {}  -- addresses of Python's tensors that were counted since the last collection
function ownership.begin_period() lent = {} end
for _, row in ipairs(types.rows) do
   local field, item_bytes = row.class, row.bytes
   core.tensor_at[row.dtype] = function(address)
      retain_at(address)
      slot.address = address
      local tensor = own(slot[field][0], slot[field])
      if lent[address] then
         count_bytes(body_bytes)
      else
         lent[address] = true
         count_bytes(body_bytes + tonumber(tensor._numel) * item_bytes)
      end
      return tensor
   end
end

-- Torch7 has no tensors without a dimension: one of Python's is seen as a vector of one.
local single = ffi.new('int64_t[1]', 1)

function core.scalar_at(address)
   slot.address = address
   local body = slot.Byte
   local view = adopt(C.relume_tensor_alias(body))
   if C.relume_tensor_set(view, body._storage, body._offset, 1, single, single) < 0 then fail() end
   return view
end

function core.storage_at(address)
   return core.share_storage(cast(void_pointer, cast(address_type, address)))
end

-- The address with a reference of its own, for a receiver in the other language.
core.give_tensor = C.relume_tensor_share

----------------------------------------------------------------------------------------
-- Kinds of cdata, known by their C type.

local kinds = {}
for _, row in ipairs(types.rows) do
   local reference = tonumber(ffi.typeof('relume_' .. row.class .. 'Tensor &'))
   local storage_reference = tonumber(ffi.typeof('relume_' .. row.class .. 'Storage &'))
   kinds[reference] = {kind = 'tensor', row = row}
   kinds[storage_reference] = {kind = 'storage', row = row}
end

local type, typeof = type, ffi.typeof

-- The row of `types` of a tensor; nil for anything else.
function core.tensor_row(value)
   if type(value) ~= 'cdata' then return nil end
   local found = kinds[tonumber(typeof(value))]
   return found and found.kind == 'tensor' and found.row or nil
end

function core.storage_row(value)
   if type(value) ~= 'cdata' then return nil end
   local found = kinds[tonumber(typeof(value))]
   return found and found.kind == 'storage' and found.row or nil
end

function core.is_tensor(value)
   return core.tensor_row(value) ~= nil
end

function core.is_storage(value)
   return core.storage_row(value) ~= nil
end

----------------------------------------------------------------------------------------
-- Calls. Arguments go through one preallocated array: C never calls back into Lua, so
-- nothing else can use it between filling and calling.

local max_values = 16
local values = ffi.new('relume_value[?]', max_values)
local results = ffi.new('void *[?]', 16)
local outs = ffi.new('void *[?]', 4)
local lists = ffi.new('int64_t[8][16]')
local long_lists = {}  -- alive while a call runs
-- enum Value::Type of tensor/value.h
local type_none, type_tensor, type_integer, type_real, type_boolean = 0, 1, 2, 3, 4
local type_integers, type_tensors, type_dtype, type_text = 5, 6, 7, 8

-- Ids of ops by name, looked up on first use.
local ops = setmetatable({}, {
   __index = function(self, name)
      local id = C.relume_find_op(name)
      if id < 0 then error("this build of relume has no operation '" .. name .. "'", 2) end
      self[name] = id
      return id
   end,
})
core.ops = ops

function core.has_op(name)
   return C.relume_find_op(name) >= 0
end

local function set_tensor(i, tensor)
   values[i].type = type_tensor
   values[i].tensor = tensor
end

local function set_number(i, number)
   values[i].type = type_real
   values[i].real = number
end

local function set_integer(i, number)
   values[i].type = type_integer
   values[i].integer = number
end

-- Keeps tensor lists alive while a call runs.
local tensor_list = ffi.new('void *[?]', 1)
local tensor_list_size = 1

local function set_list(i, list)
   local n = #list
   if n > 0 and core.is_tensor(list[1]) then
      if n > tensor_list_size then
         tensor_list, tensor_list_size = ffi.new('void *[?]', n), n
      end
      for k = 1, n do
         if not core.is_tensor(list[k]) then error('expected a list of tensors', 4) end
         tensor_list[k - 1] = list[k]
      end
      values[i].type, values[i].count, values[i].tensors = type_tensors, n, tensor_list
   else
      local place = n > 16 and ffi.new('int64_t[?]', n) or lists[i % 8]
      long_lists[i] = n > 16 and place or nil
      for k = 1, n do place[k - 1] = list[k] end
      values[i].type, values[i].count, values[i].integers = type_integers, n, place
   end
end

-- Fills argument `i` from a cdata: only tensors and 64-bit integers are arguments.
local function set_cdata(i, value)
   if core.tensor_row(value) then return set_tensor(i, value) end
   local number = not core.storage_row(value) and tonumber(value)
   if not number then error('expected a tensor or a number, got another kind of object', 4) end
   set_integer(i, value)
end

-- Fills argument `i` from any Lua value. Numbers become integers when they are integral,
-- so that they fit arguments of either kind; rows of `types` are dtypes.
local function set_value(i, value)
   local kind = type(value)
   if kind == 'cdata' then
      set_cdata(i, value)
   elseif kind == 'number' then
      if value % 1 == 0 and value >= -2 ^ 53 and value <= 2 ^ 53 then
         set_integer(i, value)
      else
         set_number(i, value)
      end
   elseif kind == 'nil' then
      values[i].type = type_none
   elseif kind == 'boolean' then
      values[i].type, values[i].boolean = type_boolean, value
   elseif kind == 'string' then
      values[i].type, values[i].text = type_text, value
   elseif value.dtype then
      values[i].type, values[i].dtype = type_dtype, value.dtype
   else
      set_list(i, value)
   end
end

local function storage_bytes(tensor)
   return tensor._storage == nil and 0 or tonumber(tensor._storage._bytes)
end

-- Points `target` at what `value` looks at, a fresh result that nobody else has, and lets go of `value` at once
-- rather than after the next collection.
function core.become(target, value)
   local before, bytes = storage_bytes(target), storage_bytes(value)
   target:set(value)
   if ownership.drop(value) then count_bytes(math.max(bytes - before, 0) - bytes - body_bytes) end
   return target
end

-- op(arguments in schema order): fresh results, all of them.
-- Not a loop over `...`, which LuaJIT does not compile.
local function fill(count, a, b, c, d, e, f, ...)
   if count > 0 then set_value(0, a) end
   if count > 1 then set_value(1, b) end
   if count > 2 then set_value(2, c) end
   if count > 3 then set_value(3, d) end
   if count > 4 then set_value(4, e) end
   if count > 5 then set_value(5, f) end
   for i = 7, count do
      set_value(i - 1, (select(i - 6, ...)))
   end
end

local call_op = C.relume_call

function core.call(name, ...)
   local count = select('#', ...)
   fill(count, ...)
   local n = call_op(ops[name], values, count, results, 16)
   if n < 0 then fail() end
   if n == 1 then return adopt_result(results[0]) end
   local out = {}
   for i = 1, n do out[i] = adopt_result(results[i - 1]) end
   return unpack(out, 1, n)
end

-- Calls f with `core.call` recording on the tape (relume/tape.lua).
function core.recorded(f, ...)
   local before = call_op
   call_op = C.relume_call_recorded
   local results = {pcall(f, ...)}
   call_op = before
   if not results[1] then error(results[2], 0) end
   return unpack(results, 2)
end

-- Changes its first argument; also for ops that only have that form.
function core.call_in_place(name, ...)
   local count = select('#', ...)
   fill(count, ...)
   if C.relume_call_in_place(ops[name], values, count) < 0 then fail() end
end

-- The same; false where the core refuses, and nothing is changed.
function core.try_in_place(name, ...)
   local count = select('#', ...)
   fill(count, ...)
   return C.relume_call_in_place(ops[name], values, count) >= 0
end

-- op(...) written into `out`, which may have another element type.
function core.into(out, name, ...)
   local count = select('#', ...)
   fill(count, ...)
   outs[0] = out
   if C.relume_call_into(ops[name], values, count, outs, 1) < 0 then fail() end
   return out
end

function core.into2(first, second, name, ...)
   local count = select('#', ...)
   fill(count, ...)
   outs[0], outs[1] = first, second
   if C.relume_call_into(ops[name], values, count, outs, 2) < 0 then fail() end
   return first, second
end

-- What the core refuses to write into because it is expanded is written slice by slice.
local function call_into(op, count, out)
   outs[0] = out
   return C.relume_call_into(op, values, count, outs, 1)
end
local function call_in_place(op, count) return C.relume_call_in_place(op, values, count) end
local in_order = repetition.make(C, values, function(i) return values[i].type == type_tensor end, adopt)

-- `into` for element-wise ops, of tensors of one shape.
function core.elementwise_into(out, name, ...)
   local count = select('#', ...)
   fill(count, ...)
   local op = ops[name]
   if call_into(op, count, out) < 0 and not in_order(call_into, op, count, out) then fail() end
   return out
end

-- result = op(a), op(a, b): the hot paths of element-wise code.
function core.unary_into(op, out, a)
   set_tensor(0, a)
   outs[0] = out
   if C.relume_call_into(op, values, 1, outs, 1) < 0 and not in_order(call_into, op, 1, out) then fail() end
   return out
end

function core.unary_in_place(op, a)
   set_tensor(0, a)
   if C.relume_call_in_place(op, values, 1) < 0 and not in_order(call_in_place, op, 1, a) then fail() end
   return a
end

function core.tensors_into(op, out, a, b)
   set_tensor(0, a)
   set_tensor(1, b)
   outs[0] = out
   if C.relume_call_into(op, values, 2, outs, 1) < 0 and not in_order(call_into, op, 2, out) then fail() end
   return out
end

function core.tensors_in_place(op, a, b)
   set_tensor(0, a)
   set_tensor(1, b)
   if C.relume_call_in_place(op, values, 2) < 0 and not in_order(call_in_place, op, 2, a) then fail() end
   return a
end

-- `integral` says that the element type holds integers: the number is cut like one.
local function set_scalar(i, number, integral)
   if integral then set_integer(i, number) else set_number(i, number) end
end

function core.scalar_into(op, out, a, number, integral)
   set_tensor(0, a)
   set_scalar(1, number, integral)
   outs[0] = out
   if C.relume_call_into(op, values, 2, outs, 1) < 0 and not in_order(call_into, op, 2, out) then fail() end
   return out
end

function core.scalar_in_place(op, a, number, integral)
   set_tensor(0, a)
   set_scalar(1, number, integral)
   if C.relume_call_in_place(op, values, 2) < 0 and not in_order(call_in_place, op, 2, a) then fail() end
   return a
end

-- op(a, b) of tensors of one shape, as a fresh result.
function core.of_tensors(op, a, b)
   set_tensor(0, a)
   set_tensor(1, b)
   if C.relume_call(op, values, 2, results, 16) < 0 then fail() end
   return adopt_result(results[0])
end

-- out = op(a, b, factor): add and sub with their alpha.
function core.scaled_into(op, out, a, b, factor, integral)
   set_tensor(0, a)
   set_tensor(1, b)
   set_scalar(2, factor, integral)
   outs[0] = out
   if C.relume_call_into(op, values, 3, outs, 1) < 0 and not in_order(call_into, op, 3, out) then fail() end
   return out
end

function core.scaled_in_place(op, a, b, factor, integral)
   set_tensor(0, a)
   set_tensor(1, b)
   set_scalar(2, factor, integral)
   if C.relume_call_in_place(op, values, 3) < 0 and not in_order(call_in_place, op, 3, a) then fail() end
   return a
end

return core
