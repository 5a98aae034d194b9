-- The `hdf5` package: torch-hdf5's files, groups and data sets, on h5py.
require 'torch'
require 'paths'
local comparison = require 'torch.comparison'
local half = require('relume.bridge').import('hdf5')

hdf5 = hdf5 or {}

----------------------------------------------------------------------------------------
-- How a data set is kept.

local Options = torch.class 'hdf5.DataSetOptions'

function Options:setChunked(...)
   self.chunks = {...}
   return self
end

function Options:setDeflate(level)
   self.deflate = level or 6
   return self
end

function Options:setShuffle() return self end

----------------------------------------------------------------------------------------

local DataSet = torch.class 'hdf5.HDF5DataSet'

function DataSet:__init(file, path) self.file, self.path = file, path end
function DataSet:all() return self.file.handle:read(self.path) end
function DataSet:dataspaceSize() return torch.LongStorage(self.file.handle:size(self.path)):totable() end

-- Ranges {first, last}, one for each dimension; a number is a range of that one alone.
function DataSet:partial(...)
   local given, ranges = {...}, {}
   if type(given[1]) == 'table' and type(given[1][1]) == 'table' then given = given[1] end
   local dimensions = #self:dataspaceSize()
   if #given ~= dimensions then
      error(('HDF5: %s needs %d ranges, got %d'):format(self.path, dimensions, #given), 2)
   end
   for i, range in ipairs(given) do ranges[i] = type(range) == 'number' and {range, range} or range end
   return self.file.handle:read(self.path, ranges)
end

function DataSet:close() end
function DataSet:__tostring__() return ('[HDF5DataSet %s]'):format(self.path) end

local Group = torch.class 'hdf5.HDF5Group'

function Group:__init(file, path) self.file, self.path = file, path end

local function child(path, name)
   name = name:gsub('^/+', '')
   if path == '/' or path == '' then return '/' .. name end
   return path .. '/' .. name
end

-- All that is in it, as a table of tables and tensors.
function Group:all()
   local result = {}
   for _, name in ipairs(self.file.handle:names(self.path)) do
      result[name] = self:read(name):all()
   end
   return result
end

function Group:read(name)
   local path = child(self.path, name)
   if name == '/' or name == '' then path = self.path end
   local kind = self.file.handle:kind(path)
   if not kind then error(('HDF5: there is nothing at %s'):format(path), 2) end
   return (kind == 'group' and Group or DataSet).new(self.file, path)
end

function Group:write(name, value, options)
   local path = child(self.path, name)
   if name == '/' then path = self.path end
   if torch.isTensor(value) then
      options = options or {}
      if options.chunks and #options.chunks ~= value:dim() then
         error(('HDF5: chunks of %d dimensions for data of %d'):format(#options.chunks, value:dim()), 2)
      end
      self.file.handle:write(path, value, options.chunks, options.deflate)
   elseif type(value) == 'table' then
      for key, part in pairs(value) do self:write(path == '/' and key or path .. '/' .. key, part, options) end
   else
      error(('HDF5: cannot write a %s'):format(torch.type(value)), 2)
   end
end

function Group:append(name, value, options)
   local path = child(self.path, name)
   if self.file.handle:kind(path) then
      self.file.handle:append(path, value)
   else
      self:write(name, value, options)
   end
end

function Group:__tostring__() return ('[HDF5Group %s]'):format(self.path) end

local File = torch.class('hdf5.HDF5File', 'hdf5.HDF5Group')

function File:__init(name, mode)
   self.name, self.path, self.file = name, '/', self
   self.handle = half.File(name, mode or 'a')
end

-- `write` and `read` are also what torch.save and torch.load call: a file is written by its name.
function File:write(name, ...)
   if torch.isTypeOf(name, 'torch.File') then return name:writeObject {name = self.name} end
   return Group.write(self, name, ...)
end

function File:read(name, ...)
   if torch.isTypeOf(name, 'torch.File') then return self:__init(name:readObject().name, 'r+') end
   return Group.read(self, name, ...)
end

function File:close() self.handle:close() end
function File:filename() return self.name end
function File:__tostring__() return ('[HDF5File: %s]'):format(self.name) end

function hdf5.open(name, mode) return File.new(name, mode) end

----------------------------------------------------------------------------------------
-- What test-suites of programs that read HDF5 use.

hdf5._testUtils = {}

-- Calls f with the path of a new folder, which is gone afterwards.
function hdf5._testUtils.withTmpDir(f)
   local folder = os.tmpname()
   os.remove(folder)
   paths.mkdir(folder)
   local ok, message = pcall(f, folder)
   paths.rmall(folder, 'yes')
   if not ok then error(message, 0) end
end

-- Are two values, tables of tensors included, the same to within a tolerance?
function hdf5._testUtils.deepAlmostEq(a, b, tolerance)
   local same, message = comparison.any(a, b, tolerance or 0)
   return same, message, a, b
end

return hdf5
