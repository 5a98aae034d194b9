-- The `torch` package: classes, tensors and their functions on relume's core.
torch = torch or {}

local ffi = require 'ffi'
local class = require 'torch.class'
local core = require 'relume.ffi'
local errors = require 'torch.errors'
local types = require 'relume.types'

for _, name in ipairs {
   'class', 'newmetatable', 'getmetatable', 'setmetatable', 'factory', 'getconstructortable',
   'typename', 'type', 'isTypeOf', 'version', 'pointer', 'typename2id', 'id',
} do
   torch[name] = class[name]
end

local maths = require 'torch.maths'
local tensor = require 'torch.tensor'
local create = require 'torch.create'
require 'torch.reduce'
require 'torch.products'
require 'torch.decompositions'
require 'torch.convolutions'
require 'torch.distances'
require 'torch.select_ops'
require 'torch.random'
require 'torch.Timer'
require 'torch.CmdLine'
require 'torch.Tester'
local views = require 'torch.views'

for _, name in ipairs {'reshape', 'squeeze'} do
   maths.functions[name], maths.methods.all[name] = tensor.methods[name], tensor.methods[name]
end
local signatures = require 'torch.signatures'
signatures.guard_functions()

tensor.operators = maths.operators
for name, method in pairs(maths.methods.all) do tensor.methods[name] = method end
tensor.define_all()

----------------------------------------------------------------------------------------
-- Methods that only some element types have.

local signed_integers = {Int = true, Long = true}

for _, row in ipairs(types.rows) do
   local mt = class.getmetatable(row.tensor_class)
   local groups = {row.floating and 'floating' or row.integer and 'integer' or nil,
      (row.class == 'Byte' or row.class == 'Bool') and 'byte' or nil}
   for _, group in pairs(groups) do
      for name, method in pairs(maths.methods[group] or {}) do mt[name] = method end
   end
   if not row.floating and not signed_integers[row.class] then mt.abs = nil end
   signatures.guard_methods(mt, row)
end

-- HalfTensors compute through real() and give a new FloatTensor-valued half: Torch7 has no more.
local half = class.getmetatable 'torch.HalfTensor'
for _, name in ipairs {'fill', 'add', 'abs', 'max', 'mean', 'reshape'} do
   half[name] = function(self, ...)
      local value = self:float()
      value = value[name](value, ...)
      return core.is_tensor(value) and value:half() or value
   end
end

local cdata = require 'torch.cdata'
for _, row in ipairs(types.rows) do
   class.getmetatable(row.tensor_class).cdata = cdata.of_tensor
   class.getmetatable(row.storage_class).cdata = cdata.of_storage
end

----------------------------------------------------------------------------------------
-- Functions.

for name, f in pairs(maths.functions) do torch[name] = f end
for _, name in ipairs(views.functions) do torch[name] = tensor.methods[name] end
for _, name in ipairs {'repeatTensor', 'fill', 'zero'} do torch[name] = tensor.methods[name] end

function torch.totable(value) return value:totable() end
function torch.data(value, as_number) return value:data(as_number) end
function torch.cdata(value) return value:cdata() end
torch.isTensor, torch.isStorage = core.is_tensor, core.is_storage
torch.setenv, torch.getenv = setfenv, getfenv

-- Are both the same object? Numbers and functions are no objects of Torch.
function torch.isequal(a, b)
   if core.is_tensor(a) or core.is_storage(a) then return a == b end
   return core.raw_type(a) == 'table' and rawequal(a, b)
end

function torch.setdefaulttensortype(name)
   local row = type(name) == 'string' and types.by_class[name:match('^torch%.(.*)Tensor$') or '']
   if not row then
      error(('<%s> is not a string describing a torch object'):format(tostring(name)), 2)
   end
   create.default = row
   torch.Tensor = torch[row.class .. 'Tensor']
   torch.Storage = torch[row.class .. 'Storage']
end
function torch.getdefaulttensortype() return create.default.tensor_class end
torch.setdefaulttensortype 'torch.DoubleTensor'

-- `real` is the element type that a half, or any tensor, computes in.
for _, row in ipairs(types.rows) do
   local mt = class.getmetatable(row.tensor_class)
   mt.torch = maths.functions
   mt.real = function(self) return self:type(create.default.tensor_class) end
end

ffi.cdef 'long relume_sysconf(int name) __asm__("sysconf");'
local processors_online = 84  -- _SC_NPROCESSORS_ONLN of Linux

-- Of the core's ops, for the whole process.
function torch.setnumthreads(count)
   if type(count) ~= 'number' then errors.expected(1, 'number', count) end
   if core.C.relume_set_thread_count(count) < 0 then core.fail() end
end
function torch.getnumthreads() return core.C.relume_thread_count() end
function torch.getnumcores()
   return math.max(1, tonumber(ffi.C.relume_sysconf(processors_online)))
end

-- These keep old scripts running.
torch.Allocator = {}
function torch.metatype() end
function torch.setheaptracking(enabled) torch._heaptracking = enabled end
function torch.updateerrorhandlers() end
function torch.isatty() return false end

-- Runs a Lua file beside the one that calls, once: torch.include('nn', 'Linear.lua').
function torch.packageLuaPath(name)
   local path = name and package.searchpath and package.searchpath(name, package.path)
   if path then return (path:gsub('/[^/]*$', '')) end
end

function torch.include(package_name, file)
   dofile(torch.packageLuaPath(package_name) .. '/' .. file)
end
function include(file, depth)
   local source = debug.getinfo((depth or 0) + 2, 'S').source
   local folder = source:match('^@(.*)/[^/]*$') or '.'
   return dofile(folder .. '/' .. file)
end

require 'relume.lua52'

require 'paths'  -- a global that scripts rely on after `require 'torch'`

-- Files and objects in them.
require 'torch.file.DiskFile'
require 'torch.file.MemoryFile'
require 'torch.file.objects'

-- From here on scripts see tensors as userdata, as they were in Torch7.
type = class.lua_type

return torch
