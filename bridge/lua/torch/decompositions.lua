-- Linear systems and decompositions: gesv, gels, trtrs, symeig, eig, svd, inverse, potrf, potrs,
-- potri, pstrf, qr, geqrf, orgqr, ormqr. They are LAPACK's routines, with Torch7's results: these
-- may be given first and are stored by columns.
local core = require 'relume.ffi'
local errors = require 'torch.errors'
local lapack = require 'torch.lapack'
local maths = require 'torch.maths'
local shapes = require 'torch.shapes'
local types = require 'relume.types'

local tensor_row, is_tensor, dims = core.tensor_row, core.is_tensor, shapes.dims
local call, copy = lapack.call, lapack.copy
local int_row = types.by_class.Int

----------------------------------------------------------------------------------------
-- Checks, in Torch7's words.

local function check_square(A)
   if dims(A) ~= 2 then errors.bad_argument(1, 'A should be 2 dimensional') end
   if A:size(1) ~= A:size(2) then errors.bad_argument(1, 'A should be square') end
end

local function check_matrix(A)
   if dims(A) ~= 2 then errors.bad_argument(1, 'A should be 2 dimensional') end
end

-- The two sides of a system.
local function check_system(B, A, square)
   if dims(A) ~= 2 then
      errors.bad_argument(2, ('A should have 2 dimensions, but has %d'):format(dims(A)))
   end
   if dims(B) ~= 1 and dims(B) ~= 2 then
      errors.bad_argument(1, ('B should have 1 or 2 dimensions, but has %d'):format(dims(B)))
   end
   if square and A:size(1) ~= A:size(2) then
      errors.bad_argument(2, ('A should be square, but is %dx%d'):format(A:size(1), A:size(2)))
   end
   if A:size(1) ~= B:size(1) then
      errors.bad_argument(2, ('A,B size incompatible - A has %d rows, B has %d'):format(A:size(1), B:size(1)))
   end
end

-- Raises `text`, in which the number that LAPACK complained about is filled in, if it did.
local function check_info(info, text)
   if info == 0 then return end
   error('Lapack Error ' .. text:gsub('%%d', tostring(info)), 3)
end

-- Zero outside the triangle that holds the result.
local function clear_other_triangle(x, uplo)
   return core.into(x, uplo == 'U' and 'triu' or 'tril', x:clone(), 0)
end

----------------------------------------------------------------------------------------
-- The functions: how many results and inputs each has, its options with their values (the first
-- is the default), and compute(row, results..., inputs..., options...).

local routines = {}

routines.gesv = {results = 2, inputs = 2, compute = function(row, rb, ra, B, A)
   check_system(B, A, true)
   copy(ra, A)
   copy(rb, B)
   local n = ra:size(1)
   local info = call(row, 'gesv', n, rb:size(2), ra, n, lapack.integers(n), rb, n)
   check_info(info, 'in gesv : U(%d,%d) is zero, singular U.')
   return rb, ra
end}

routines.gels = {results = 2, inputs = 2, compute = function(row, rb, ra, B, A)
   check_system(B, A, false)
   local m, n = A:size(1), A:size(2)
   copy(ra, A)
   local rows = math.max(m, n)
   copy(rb, B, rows)
   local info = call(row, 'gels', 'N', m, n, rb:size(2), ra, m, rb, rows)
   check_info(info, 'in gels : The %d-th diagonal element of the triangular factor of A is zero')
   return shapes.set(rb, rb:narrow(1, 1, n)), ra
end}

routines.trtrs = {results = 2, inputs = 2, options = {'UL', 'NT', 'NU'},
   compute = function(row, rb, ra, B, A, uplo, trans, diag)
      check_system(B, A, true)
      copy(ra, A)
      copy(rb, B)
      local n = ra:size(1)
      local info = call(row, 'trtrs', uplo, trans, diag, n, rb:size(2), ra, n, rb, n)
      check_info(info, 'in trtrs : A(%d,%d) is zero, singular A')
      return rb, ra
   end}

routines.symeig = {results = 2, inputs = 1, options = {'NV', 'UL'},
   compute = function(row, re, rv, A, job, uplo)
      check_square(A)
      copy(rv, A)
      local n = rv:size(1)
      re:resize(n)
      local values = shapes.new_like(re)
      local info = call(row, 'syev', job, uplo, n, rv, n, values)
      check_info(info, "in syev : %d off-diagonal elements of an didn't converge to zero")
      return re:copy(values), rv
   end}

-- Each eigenvalue is a real and an imaginary part.
routines.eig = {results = 2, inputs = 1, options = {'NV'}, compute = function(row, re, rv, A, job)
   check_square(A)
   local work = copy(shapes.new(row, 0), A)
   local n = work:size(1)
   if job == 'V' then lapack.resize(rv, n, n) end
   shapes.shape[0], shapes.shape[1] = 2, n
   local parts = shapes.new(row, 2)
   local info = call(row, 'geev', 'N', job, n, work, n, parts[1], parts[2], nil, 1, rv, n)
   check_info(info, "geev : %d off-diagonal elements didn't converge to zero")
   return re:resize(n, 2):copy(parts:t()), rv
end}

routines.svd = {results = 3, inputs = 1, options = {'SA'}, compute = function(row, ru, rs, rv, A, job)
   check_matrix(A)
   local work = copy(shapes.new(row, 0), A)
   local m, n = work:size(1), work:size(2)
   local k = math.min(m, n)
   local columns, rows = job == 'A' and m or k, job == 'A' and n or k
   lapack.resize(ru, m, columns)
   lapack.resize(rv, rows, n)
   local values = rs:resize(k):contiguous()
   local info = call(row, 'gesvd', job, job, m, n, work, m, values, ru, m, rv, rows)
   check_info(info, 'gesvd : %d superdiagonals failed to converge.')
   if values ~= rs then rs:copy(values) end
   return ru, rs, shapes.set(rv, rv:t())
end}

routines.inverse = {results = 1, inputs = 1, compute = function(row, ra, A)
   check_square(A)
   copy(ra, A)
   local n = ra:size(1)
   local pivots = lapack.integers(n)
   check_info(call(row, 'getrf', n, n, ra, n, pivots), 'getrf : U(%d,%d) is 0, U is singular')
   check_info(call(row, 'getri', n, ra, n, pivots), 'getri : U(%d,%d) is 0, U is singular')
   return ra
end}

routines.potrf = {results = 1, inputs = 1, options = {'UL'}, compute = function(row, ra, A, uplo)
   check_square(A)
   copy(ra, A)
   local n = ra:size(1)
   check_info(call(row, 'potrf', uplo, n, ra, n),
      'in potrf : the leading minor of order %d is not positive definite')
   return clear_other_triangle(ra, uplo)
end}

routines.potrs = {results = 1, inputs = 2, options = {'UL'}, compute = function(row, rb, B, A, uplo)
   check_system(B, A, true)
   local factor = copy(shapes.new(row, 0), A)
   copy(rb, B)
   local n = factor:size(1)
   check_info(call(row, 'potrs', uplo, n, rb:size(2), factor, n, rb, n),
      'in potrs : A(%d,%d) is zero, singular A')
   return rb
end}

routines.potri = {results = 1, inputs = 1, options = {'UL'}, compute = function(row, ra, A, uplo)
   check_square(A)
   copy(ra, A)
   local n = ra:size(1)
   check_info(call(row, 'potri', uplo, n, ra, n), 'potri : A(%d,%d) is 0, A cannot be factorized')
   -- one triangle is the inverse: it is symmetric
   local half = clear_other_triangle(ra, uplo):clone()
   local other = half:t():clone()
   for i = 1, n do other[i][i] = 0 end
   return ra:copy(half:add(other))
end}

routines.pstrf = {results = 2, inputs = 1, options = {'UL', -1}, second_is_int = true,
   compute = function(row, ra, pivots, A, uplo, tolerance)
      check_square(A)
      copy(ra, A)
      local n = ra:size(1)
      local order = lapack.integers(n)
      local number = shapes.new(row, 0):resize(1):fill(tolerance)
      local work = shapes.new(row, 0):resize(2 * n)
      local info = call(row, 'pstrf', uplo, n, ra, n, order, lapack.integers(1), number, work)
      check_info(info, 'pstrf : matrix is rank deficient or not positive semidefinite')
      clear_other_triangle(ra, uplo)
      pivots:resize(n)
      for i = 1, n do pivots[i] = order[i - 1] end
      return ra, pivots
   end}

local function geqrf(row, ra, tau, A)
   check_matrix(A)
   copy(ra, A)
   local m, n = ra:size(1), ra:size(2)
   tau:resize(math.min(m, n))
   local factors = tau:contiguous()
   check_info(call(row, 'geqrf', m, n, ra, m, factors), 'geqrf : unknown Lapack error. info = %d')
   if factors ~= tau then tau:copy(factors) end
   return ra, tau
end
routines.geqrf = {results = 2, inputs = 1, compute = geqrf}

local function orgqr(row, rq, A, tau)
   check_matrix(A)
   local m, k = A:size(1), tau:size(1)
   copy(rq, A:narrow(2, 1, k))
   check_info(call(row, 'orgqr', m, k, k, rq, m, tau:contiguous()),
      'orgqr : unknown Lapack error. info = %d')
   return rq
end
routines.orgqr = {results = 1, inputs = 2, compute = orgqr}

routines.ormqr = {results = 1, inputs = 3, options = {'LR', 'NT'},
   compute = function(row, rc, A, tau, C, side, trans)
      check_matrix(A)
      local reflectors = copy(shapes.new(row, 0), A)
      copy(rc, C)
      local m, n, k = rc:size(1), rc:size(2), tau:size(1)
      if A:size(1) ~= (side == 'L' and m or n) then
         error(('size mismatch, A has %d rows, C is %dx%d'):format(A:size(1), m, n), 2)
      end
      local info = call(row, 'ormqr', side, trans, m, n, k, reflectors, A:size(1), tau:contiguous(), rc, m)
      check_info(info, 'ormqr : unknown Lapack error. info = %d')
      return rc
   end}

routines.qr = {results = 2, inputs = 1, compute = function(row, rq, rr, A)
   local reflectors, tau = geqrf(row, shapes.new(row, 0), shapes.new(row, 0), A)
   local k = tau:size(1)
   local R = core.call('triu', reflectors:narrow(1, 1, k), 0)
   orgqr(row, rq, reflectors, tau)
   return rq, shapes.resize_as(rr, R):copy(R)
end}

----------------------------------------------------------------------------------------
-- Arguments: results if there are as many tensors, inputs, options.

local function read_options(routine, list, first)
   local options = {}
   for i, values in ipairs(routine.options or {}) do
      local given = list[first + i - 1]
      if type(values) == 'number' then
         options[i] = given or values
      elseif given == nil then
         options[i] = values:sub(1, 1)
      elseif type(given) == 'string' and #given == 1 and values:find(given, 1, true) then
         options[i] = given
      else
         return nil
      end
   end
   return options
end

for name, routine in pairs(routines) do
   maths.functions[name] = function(...)
      local list, count = {...}, select('#', ...)
      local tensors = 0
      while is_tensor(list[tensors + 1]) do tensors = tensors + 1 end
      local given = tensors == routine.results + routine.inputs
      local row = tensor_row(list[tensors])
      local options = read_options(routine, list, tensors + 1)
      if not (given or tensors == routine.inputs) or not (row and row.floating) or not options then
         errors.invalid_arguments(count, ...)
      end
      local arguments = {}
      for i = 1, routine.results do
         local wanted = i == 2 and routine.second_is_int and int_row or row
         arguments[i] = given and list[i] or shapes.new(wanted, 0)
         if tensor_row(arguments[i]) ~= wanted then errors.invalid_arguments(count, ...) end
      end
      for i = given and routine.results + 1 or 1, tensors do
         if tensor_row(list[i]) ~= row then errors.invalid_arguments(count, ...) end
         arguments[#arguments + 1] = list[i]
      end
      for _, option in ipairs(options) do arguments[#arguments + 1] = option end
      return routine.compute(row, unpack(arguments))
   end
end
