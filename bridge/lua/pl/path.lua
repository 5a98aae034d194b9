-- pl.path: names of files, and questions about files.
local lfs = require 'lfs'
local utils = require 'pl.utils'

local path = {
   is_windows = false, sep = '/', dirsep = ':',
   dir = lfs.dir, mkdir = lfs.mkdir, rmdir = lfs.rmdir, chdir = lfs.chdir, currentdir = lfs.currentdir,
   attrib = lfs.attributes, link_attrib = lfs.symlinkattributes,
}

local assert_string = utils.assert_string

----------------------------------------------------------------------------------------
-- Questions.

function path.isdir(name)
   assert_string(1, name)
   return lfs.attributes(name, 'mode') == 'directory'
end

function path.isfile(name)
   assert_string(1, name)
   return lfs.attributes(name, 'mode') == 'file'
end

function path.islink(name)
   assert_string(1, name)
   return lfs.symlinkattributes(name, 'mode') == 'link'
end

function path.exists(name)
   assert_string(1, name)
   return lfs.attributes(name, 'mode') ~= nil and name
end

for name, attribute in pairs {
   getsize = 'size', getatime = 'access', getmtime = 'modification', getctime = 'change',
} do
   path[name] = function(file)
      assert_string(1, file)
      return lfs.attributes(file, attribute)
   end
end

----------------------------------------------------------------------------------------
-- Names.

-- The folder and the name; an empty folder when there is none.
function path.splitpath(name)
   assert_string(1, name)
   local folder, last = name:match '^(.*)/([^/]*)$'
   if not folder then return '', name end
   return folder, last
end

function path.splitext(name)
   assert_string(1, name)
   local stem, ending = name:match '^(.*)(%.[^./]*)$'
   if not stem then return name, '' end
   return stem, ending
end

function path.dirname(name) return (path.splitpath(name)) end
function path.basename(name) return (select(2, path.splitpath(name))) end
function path.extension(name) return (select(2, path.splitext(name))) end

function path.isabs(name)
   assert_string(1, name)
   return name:sub(1, 1) == '/'
end

function path.join(first, second, ...)
   assert_string(1, first)
   assert_string(2, second)
   if select('#', ...) > 0 then return path.join(path.join(first, second), ...) end
   if path.isabs(second) then return second end
   local needs_separator = first ~= '' and first:sub(-1) ~= '/'
   return first .. (needs_separator and '/' or '') .. second
end

function path.normcase(name)
   assert_string(1, name)
   return name
end

function path.normpath(name)
   assert_string(1, name)
   local root = name:match '^/*'
   if root ~= '' and root ~= '//' then root = '/' end
   local parts = {}
   for part in name:gmatch '[^/]+' do
      if part == '..' and #parts > 0 and parts[#parts] ~= '..' then
         table.remove(parts)
      elseif part ~= '.' and not (part == '..' and root ~= '') then
         parts[#parts + 1] = part
      end
   end
   local result = root .. table.concat(parts, '/')
   return result == '' and '.' or result
end

function path.abspath(name, folder)
   assert_string(1, name)
   if folder then assert_string(2, folder) end
   folder = (folder or lfs.currentdir()):gsub('(.)/$', '%1')
   if not path.isabs(name) then name = path.join(folder, name) end
   return path.normpath(name)
end

-- The way from `start`, or the current folder, to a file, whose name may be relative to that.
function path.relpath(name, start)
   assert_string(1, name)
   if start then assert_string(2, start) end
   start = path.abspath(start or lfs.currentdir())
   local target, origin = utils.split(path.abspath(name, start), '/'), utils.split(start, '/')
   local common = 0
   while common < math.min(#target, #origin) and target[common + 1] == origin[common + 1] do
      common = common + 1
   end
   local parts = {}
   for _ = common + 1, #origin do parts[#parts + 1] = '..' end
   for i = common + 1, #target do parts[#parts + 1] = target[i] end
   return #parts == 0 and '.' or table.concat(parts, '/')
end

function path.expanduser(name)
   assert_string(1, name)
   if name:sub(1, 1) ~= '~' then return name end
   local home = os.getenv 'HOME'
   if not home then return nil, "failed to expand '~' (HOME not set)" end
   return home .. name:sub(2)
end

function path.tmpname() return os.tmpname() end

-- The folder that both are in, or one of them when the other is in it.
function path.common_prefix(first, second)
   assert_string(1, first)
   assert_string(2, second)
   if #first > #second then first, second = second, first end
   if second:sub(1, #first + 1) == first .. '/' then return first end
   local common = 0
   while common < #first and first:sub(common + 1, common + 1) == second:sub(common + 1, common + 1) do
      common = common + 1
   end
   return path.dirname(first:sub(1, common))
end

function path.package_path(name)
   assert_string(1, name)
   local found, tried = package.searchpath(name, package.path)
   if found then return found end
   local binary, more = package.searchpath(name, package.cpath)
   if binary then return binary end
   return utils.raise(tried .. more)
end

return path
