-- The `paths` package: names of files and folders.
local files = require('relume.bridge').import('files')

paths = paths or {}

local function check_string(value, count)
   if type(value) ~= 'string' then
      error(('bad argument #1 (string expected, got %s)'):format(count == 0 and 'no value' or type(value)), 3)
   end
end

----------------------------------------------------------------------------------------
-- Names.

-- The last part of a name, without an ending if that is given.
function paths.basename(...)
   local path, ending = ...
   check_string(path, select('#', ...))
   if path:match('^/+$') then return '/' end
   local name = path:gsub('/+$', ''):match('[^/]*$')
   if ending then
      ending = ending:gsub('^%.', '')
      local stem = name:sub(1, -#ending - 2)
      if #stem > 0 and name:sub(#stem + 1) == '.' .. ending then return stem end
   end
   return name
end

function paths.dirname(...)
   local path = ...
   check_string(path, select('#', ...))
   if path:match('^/+$') then return '/' end
   local folder = path:gsub('/+$', ''):match('^(.*)/[^/]*$')
   if not folder then return '.' end
   return folder == '' and '/' or (folder:gsub('(.)/+$', '%1'))
end

function paths.extname(path)
   return path:match('%.([^.]*)$')
end

-- One absolute name of several parts; an absolute part begins anew.
function paths.concat(...)
   local path = files.current_folder()
   for i = 1, select('#', ...) do
      local part = select(i, ...)
      if type(part) ~= 'string' then
         error(('bad argument #%d (string expected, got %s)'):format(i, type(part)), 2)
      end
      path = (part:match('^/') and part) or path .. '/' .. part
      path = files.normalize(path)
   end
   return path
end

function paths.cwd() return files.current_folder() end

-- The file that runs, or another one beside it.
function paths.thisfile(name, level)
   local source = debug.getinfo((level or 1) + 1, 'S').source
   if source:sub(1, 1) ~= '@' then return nil end
   local path = paths.concat(source:sub(2))
   if not name then return path end
   return paths.concat(paths.dirname(path), name)
end

function paths.dofile(name, level)
   local path = paths.thisfile(name, (level or 1) + 1) or name
   return dofile(path)
end

function paths.is_win() return nil end
function paths.is_mac() return files.platform_name() == 'Darwin' and true or nil end
function paths.uname() return files.platform_name() end
function paths.getregistryvalue() error('this is no Windows system', 2) end

paths.home = files.home()

----------------------------------------------------------------------------------------
-- Files and folders.

local function kind_of(path)
   local found = files.attributes(path)
   return found and found.mode
end

function paths.filep(path)
   local kind = kind_of(path)
   return kind ~= nil and kind ~= 'directory'
end

function paths.dirp(path) return kind_of(path) == 'directory' end
function paths.filesize(path)
   local found = files.attributes(path)
   return found and found.size
end

function paths.mkdir(path) return files.make_folder(path, true) end
function paths.rmdir(path) return files.remove_folder(path) end

-- Removes a folder and all in it; only with 'yes'.
function paths.rmall(path, yes)
   if yes ~= 'yes' then return nil, "paths.rmall removes everything: say 'yes'" end
   return files.remove_all(path)
end

-- The names in a folder as a table; nil if there is none.
function paths.dir(path)
   local names = files.list_folder(path)
   return names
end

-- Iterates over the names that a pattern, or a function, lets through.
function paths.files(path, wanted)
   local names = paths.dir(path) or error('cannot open the folder ' .. tostring(path), 2)
   local is_wanted = wanted
   if type(wanted) ~= 'function' then
      function is_wanted(name) return wanted == nil or name:find(wanted) ~= nil end
   end
   local i = 0
   return function()
      repeat i = i + 1 until names[i] == nil or is_wanted(names[i])
      return names[i]
   end
end

function paths.iterfiles(path)
   return paths.files(path, function(name) return paths.filep(paths.concat(path, name)) end)
end

function paths.iterdirs(path)
   return paths.files(path, function(name)
      return name ~= '.' and name ~= '..' and paths.dirp(paths.concat(path, name))
   end)
end

function paths.tmpname() return files.temporary_name() end

function paths.findprogram(...)
   for i = 1, select('#', ...) do
      local found = files.find_program((select(i, ...)))
      if found then return found end
   end
   return nil
end

function paths.execdir() return paths.dirname(paths.findprogram('luajit', 'th', 'relume') or paths.cwd()) end
paths.install_prefix = paths.home
paths.install_lua_path = paths.home
-- Folders of a Torch install: there is none, these are where one would have them.
for _, name in ipairs {'bin', 'man', 'lib', 'share', 'include', 'hlp', 'html', 'cmake', 'lua_cpath'} do
   paths['install_' .. name] = paths.concat(paths.install_prefix, name == 'lua_cpath' and 'lib' or name)
end

return paths
