-- pl.dir: what is in folders; making and removing them.
local lfs = require 'lfs'
local List = require 'pl.List'
local path = require 'pl.path'
local utils = require 'pl.utils'

local dir = {}
local assert_string, assert_arg = utils.assert_string, utils.assert_arg

local function assert_folder(position, value)
   assert_arg(position, value, 'string', path.isdir, 'not a directory', 4)
end

-- '*' is any text, '?' any character.
local function shell_pattern(pattern)
   return '^' .. utils.escape(pattern):gsub('%%%*', '.*'):gsub('%%%?', '.') .. '$'
end

function dir.fnmatch(name, pattern)
   assert_string(1, name)
   assert_string(2, pattern)
   return name:find(shell_pattern(pattern)) ~= nil
end

function dir.filter(names, pattern)
   assert_arg(1, names, 'table')
   assert_string(2, pattern)
   local result = List()
   for _, name in ipairs(names) do
      if name:find(shell_pattern(pattern)) then result:append(name) end
   end
   return result
end

-- Names in a folder, without '.' and '..'.
local function names_in(folder)
   local names = {}
   for name in lfs.dir(folder) do
      if name ~= '.' and name ~= '..' then names[#names + 1] = name end
   end
   return names
end

local function entries(folder, wanted, pattern)
   local result = List()
   for _, name in ipairs(names_in(folder)) do
      local full = path.join(folder, name)
      if wanted(full) and (not pattern or dir.fnmatch(name, pattern)) then result:append(full) end
   end
   return result
end

function dir.getfiles(folder, pattern)
   folder = folder or '.'
   assert_folder(1, folder)
   if pattern then assert_string(2, pattern) end
   return entries(folder, path.isfile, pattern)
end

function dir.getdirectories(folder)
   folder = folder or '.'
   assert_folder(1, folder)
   return entries(folder, path.isdir)
end

-- Every path below a folder, with whether it is one itself.
function dir.dirtree(folder)
   if not folder or folder == '' then error('directory parameter is missing or empty', 2) end
   if #folder > 1 then folder = folder:gsub('/$', '') end
   return coroutine.wrap(function()
      local function visit(place)
         for _, name in ipairs(names_in(place)) do
            local full = path.join(place, name)
            local is_folder = path.isdir(full)
            coroutine.yield(full, is_folder)
            if is_folder and not path.islink(full) then visit(full) end
         end
      end
      visit(folder)
   end)
end

function dir.getallfiles(folder, pattern)
   folder = folder or '.'
   assert_folder(1, folder)
   local result = List()
   for full, is_folder in dir.dirtree(folder) do
      if not is_folder and (not pattern or dir.fnmatch(path.basename(full), pattern)) then result:append(full) end
   end
   return result
end

-- (folder, names of folders, names of files) of every folder, from the top or from the bottom.
function dir.walk(root, bottom_up, follows_links)
   assert_folder(1, root)
   local function visit(folder)
      local folders, files = List(), List()
      for _, name in ipairs(names_in(folder)) do
         local full = path.join(folder, name)
         if not path.isdir(full) then
            files:append(name)
         elseif follows_links or not path.islink(full) then
            folders:append(name)
         end
      end
      if not bottom_up then coroutine.yield(folder, folders, files) end
      for _, name in ipairs(folders) do visit(path.join(folder, name)) end
      if bottom_up then coroutine.yield(folder, folders, files) end
   end
   return coroutine.wrap(function() visit(root) end)
end

----------------------------------------------------------------------------------------
-- Changing.

local function copy(source, target)
   local content, message = utils.readfile(source, true)
   if not content then return false, message end
   local done, failure = utils.writefile(target, content, true)
   return done or false, failure
end

local function inside(target, source)
   return path.isdir(target) and path.join(target, path.basename(source)) or target
end

-- `overwrites` false leaves a file that is there alone.
function dir.copyfile(source, target, overwrites)
   assert_string(1, source)
   assert_string(2, target)
   target = inside(target, source)
   if overwrites == false and path.exists(target) then return false, 'file exists' end
   return copy(source, target)
end

function dir.movefile(source, target)
   assert_string(1, source)
   assert_string(2, target)
   target = inside(target, source)
   if os.rename(source, target) then return true end
   local done, message = copy(source, target)  -- to another disk
   if not done then return false, message end
   return os.remove(source) ~= nil
end

-- Makes a folder with those above it.
function dir.makepath(name)
   assert_string(1, name)
   name = path.abspath(name)
   if path.isdir(name) then return true end
   local ok, message = dir.makepath(path.dirname(name) == '' and '/' or path.dirname(name))
   if not ok then return utils.raise(message) end
   ok, message = lfs.mkdir(name)
   if not ok and not path.isdir(name) then return utils.raise(('%s: %s'):format(name, message)) end
   return true
end

function dir.rmtree(folder)
   assert_folder(1, folder)
   if path.islink(folder) then return utils.raise 'will not follow symlink' end
   for _, name in ipairs(names_in(folder)) do
      local full = path.join(folder, name)
      local ok, message
      if path.isdir(full) and not path.islink(full) then
         ok, message = dir.rmtree(full)
      else
         ok, message = os.remove(full)
      end
      if not ok then return utils.raise(message) end
   end
   local ok, message = lfs.rmdir(folder)
   if not ok then return utils.raise(message) end
   return true
end

-- Copies a tree; `f(from, to)` is called for every file when it is given, `verbose` may be like print.
-- Returns true with the folders and the files that failed.
function dir.clonetree(from, to, f, verbose)
   assert_folder(1, from)
   assert_string(2, to)
   local function say(...) if verbose then (type(verbose) == 'function' and verbose or print)(...) end end
   local source, target = path.abspath(from), path.abspath(to)
   if target == source then return utils.raise 'paths are the same' end
   if target:sub(1, #source + 1) == source .. '/' then return utils.raise 'destination is a subdirectory' end
   local failed_folders, failed_files = List(), List()
   for folder, _, files in dir.walk(source) do
      local place = target .. folder:sub(#source + 1)
      if dir.makepath(place) then
         say('creating:', place)
      else
         failed_folders:append(place)
      end
      if f then
         for _, name in ipairs(files) do
            local one, other = path.join(folder, name), path.join(place, name)
            if not f(one, other) then failed_files:append(other) end
            say('copied:', other)
         end
      end
   end
   return true, failed_folders, failed_files
end

return dir
