-- What th's `require` took besides packages: './lib', a file beside the one that asks, and files of data such
-- as 'model.t7'.
local readers = {
   t7 = function(path)
      pcall(require, 'nn')
      return torch.load(path)
   end,
   json = function(path)
      local file = assert(io.open(path))
      local text = file:read '*a'
      file:close()
      return require('cjson').decode(text)
   end,
   csv = function(path) return require('csvigo').load {path = path, verbose = false} end,
}
readers.net, readers.bin = readers.t7, readers.t7

local function exists(path)
   local file = io.open(path)
   if not file then return false end
   local is_file = file:read(0) ~= nil or file:seek 'end' == 0
   file:close()
   return is_file
end

-- The folder of the file that called `require`.
local function folder_of_caller()
   for level = 3, 12 do
      local info = debug.getinfo(level, 'S')
      if not info then break end
      local path = info.source:match '^@(.*)$'
      if path and not path:find('relume/bridge/lua/', 1, true) then return path:match '^(.*)/[^/]*$' or '.' end
   end
   return '.'
end

-- What gives the value of the file that `path` means: one of Lua, of data, or the 'init.lua' of a folder.
local function loader(path)
   for _, place in ipairs {path .. '.lua', path} do
      local read = readers[place:match '%.(%w+)$' or '']
      if exists(place) then
         return read and function() return read(place) end or assert(loadfile(place))
      end
   end
   local init = path:gsub('/$', '') .. '/init.lua'
   return exists(init) and assert(loadfile(init)) or nil
end

local plain_require = require

-- A name that begins with a dot is a file as seen from the one that asks; like `dofile`, it runs every time.
function require(name)
   if type(name) ~= 'string' or name:sub(1, 1) ~= '.' then return plain_require(name) end
   local load_it = loader(folder_of_caller() .. '/' .. name)
   if not load_it then return plain_require(name) end
   return load_it()
end

-- A searcher of package.loaders: what is no package may be a file, as seen from the current folder.
return loader
