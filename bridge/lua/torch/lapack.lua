-- Calls of LAPACK, the Fortran library: its matrices are stored by columns, all its arguments
-- are addresses, and the last one, `info`, says how it went.
local ffi = require 'ffi'
local core = require 'relume.ffi'
local shapes = require 'torch.shapes'

ffi.cdef 'void *relume_blas_function(const char *name);'

local lapack = {}

-- The arguments of each routine without `info`: a letter of text (c), an integer (i), integers
-- in memory (I), numbers (r).
local signatures = {
   gesv = 'iiriIri',
   gels = 'ciiiririri',
   trtrs = 'ccciiriri',
   syev = 'ccirirri',
   geev = 'ccirirrririri',
   gesvd = 'cciirirririri',
   getrf = 'iiriI',
   getri = 'iriIri',
   potrf = 'ciri',
   potrs = 'ciiriri',
   potri = 'ciri',
   pstrf = 'ciriIIrr',
   geqrf = 'iirirri',
   orgqr = 'iiirirri',
   ormqr = 'cciiirirriri',
}
local workspace_last = {gels = true, syev = true, geev = true, gesvd = true, getri = true, geqrf = true,
   orgqr = true, ormqr = true}

local integer = ffi.typeof 'int32_t[1]'
local parameter_types = {c = 'const char *', i = 'const int32_t *', I = 'int32_t *', r = 'void *'}
local letters = {Double = 'd', Float = 's'}

local function load_routine(row, name)
   local symbol = letters[row.class] .. name .. '_'
   local address = core.C.relume_blas_function(symbol)
   if address == nil then
      error(('LAPACK is missing (%s): install the package scipy-openblas32'):format(symbol), 0)
   end
   local types, texts = {}, 0
   for letter in signatures[name]:gmatch('.') do
      types[#types + 1] = parameter_types[letter]
      if letter == 'c' then texts = texts + 1 end
   end
   types[#types + 1] = 'int32_t *'
   for _ = 1, texts do types[#types + 1] = 'size_t' end  -- Fortran: how long each text is
   local pointer = ffi.typeof(('void (*)(%s)'):format(table.concat(types, ', ')))
   return {call = ffi.cast(pointer, address), texts = texts}
end

local routines = {Double = {}, Float = {}}

local function convert(letter, value)
   if letter == 'i' then return integer(value) end
   if letter == 'r' and core.is_tensor(value) then
      return value._storage ~= nil and value._storage._data + value._offset or nil
   end
   return value
end

-- Calls a routine for elements of `row`; the value of `info`.
local function call(row, name, ...)
   local known = routines[row.class]
   known[name] = known[name] or load_routine(row, name)
   local routine = known[name]
   local signature, arguments = signatures[name], {}
   for i = 1, #signature do arguments[i] = convert(signature:sub(i, i), (select(i, ...))) end
   local info, count = integer(), #signature + 1
   arguments[count] = info
   for _ = 1, routine.texts do
      count = count + 1
      arguments[count] = 1
   end
   routine.call(unpack(arguments, 1, count))
   return info[0]
end

-- The same; a routine that needs room for its work is asked how much first.
function lapack.call(row, name, ...)
   if not workspace_last[name] then return call(row, name, ...) end
   local count = select('#', ...)
   local arguments = {...}
   local answer = ffi.new(ffi.typeof('$[1]', ffi.typeof(row.element)))
   arguments[count + 1], arguments[count + 2] = answer, -1
   call(row, name, unpack(arguments, 1, count + 2))
   local size = math.max(1, tonumber(answer[0]))
   arguments[count + 1] = ffi.new(ffi.typeof('$[?]', ffi.typeof(row.element)), size)
   arguments[count + 2] = size
   return call(row, name, unpack(arguments, 1, count + 2))
end

function lapack.integers(count)
   return ffi.new('int32_t[?]', count)
end

----------------------------------------------------------------------------------------
-- Matrices by columns.

-- Gives `result` a matrix of these sizes, stored by columns.
function lapack.resize(result, rows, columns)
   shapes.shape[0], shapes.shape[1] = columns, rows
   shapes.resize(result, 2)
   if not result._contiguous then shapes.set(result, shapes.new_like(result)) end
   return shapes.set(result, result:t())
end

-- The same with the elements of `source`, on top of what may be more rows. A source that is the
-- result itself is copied first.
function lapack.copy(result, source, rows)
   if result == source then source = source:clone() end
   if shapes.dims(source) == 1 then source = source:view(-1, 1) end
   lapack.resize(result, rows or source:size(1), source:size(2))
   result:narrow(1, 1, source:size(1)):copy(source)
   return result
end

return lapack
