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

-- A searcher of package.loaders.
return function(name)
   if name:find '^%.%.?/' then
      local base = folder_of_caller() .. '/' .. name:gsub('/$', '')
      for _, path in ipairs {base .. '.lua', base .. '/init.lua', base} do
         if exists(path) and path:find '%.lua$' then return assert(loadfile(path)) end
      end
      name = base
   end
   local read = readers[name:match '%.(%w+)$' or '']
   if read and exists(name) then
      return function() return read(name) end
   end
   return nil
end
