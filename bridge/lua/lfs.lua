-- The `lfs` package: LuaFileSystem.
local files = require('relume.bridge').import('files')

local lfs = {_VERSION = 'LuaFileSystem 1.6.3'}

local function attributes(follow)
   return function(path, wanted)
      local found, reason, number = files.attributes(path, follow)
      if not found then
         return nil, ("cannot obtain information from file '%s': %s"):format(path, reason), number
      end
      if type(wanted) == 'string' then return found[wanted] end
      local result = type(wanted) == 'table' and wanted or {}
      for _, key in ipairs {
         'mode', 'size', 'access', 'modification', 'change', 'nlink', 'uid', 'gid', 'dev', 'ino',
         'permissions',
      } do
         result[key] = found[key]
      end
      return result
   end
end
lfs.attributes, lfs.symlinkattributes = attributes(true), attributes(false)

function lfs.currentdir() return files.current_folder() end
function lfs.mkdir(path) return files.make_folder(path) end
function lfs.rmdir(path) return files.remove_folder(path) end
function lfs.touch(path, ...) return files.touch(path, ...) end
function lfs.link(old, new, symbolic) return files.make_link(old, new, symbolic or false) end

function lfs.chdir(path)
   local done, reason = files.change_folder(path)
   if done then return true end
   return nil, ("Unable to change working directory to '%s'\n%s\n"):format(path, reason)
end

-- The next name of a folder at each call, and an object with the same as a method.
function lfs.dir(path)
   local names = files.list_folder(path)
   if not names then error(('cannot open %s: No such file or directory'):format(path), 2) end
   local i = 0
   local folder = {}
   function folder.next()
      if not names then error('closed directory', 2) end
      i = i + 1
      return names[i]
   end
   function folder.close() names = nil end
   return folder.next, folder
end

-- Files need no lock within one program.
function lfs.lock() return true end
function lfs.unlock() return true end
function lfs.setmode() return true, 'binary' end

-- as LuaFileSystem of those years did
_G.lfs = lfs
return lfs
