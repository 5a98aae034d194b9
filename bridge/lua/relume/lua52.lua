--[[ What Torch7's LuaJIT had of Lua 5.2.

It was built with that, and scripts came to rely on it. What their sources have to be changed for is
in lua52_source.lua.
]]

local metatable_of, raw_type = debug.getmetatable, require('relume.ffi').raw_type

-- `pairs` and `ipairs` that ask an object for its own.
local function asking(name)
   local plain, event = _G[name], '__' .. name
   return function(...)
      local value = ...
      local mt = metatable_of(value)
      local own = mt and rawget(mt, event)
      if own then return own(value) end
      if raw_type(value) ~= 'table' then
         local found = select('#', ...) == 0 and 'no value' or type(value)
         error(("bad argument #1 to '%s' (table expected, got %s)"):format(name, found), 2)
      end
      return plain(value)
   end
end
pairs, ipairs = asking 'pairs', asking 'ipairs'

-- Two names of one thing: string.gfind is Lua 5.0's, the others are Lua 5.2's.
string.gfind = string.gmatch
package.searchers = package.loaders
table.unpack = unpack
function table.pack(...) return {n = select('#', ...), ...} end

function rawlen(value)
   if type(value) == 'string' then return #value end
   local n = 0
   while rawget(value, n + 1) ~= nil do n = n + 1 end
   return n
end

----------------------------------------------------------------------------------------
-- What a program that ran has said: true or nil, 'exit' or 'signal', and a number.

local execute = os.execute
function os.execute(command)
   if command == nil then return execute() ~= 0 end
   local status = execute(command)
   local signal = status % 128
   if signal ~= 0 then return nil, 'signal', signal end
   local code = math.floor(status / 256)
   return code == 0 or nil, 'exit', code
end

local exit = os.exit
function os.exit(code, ...)
   if code == nil or code == true then code = 0 elseif code == false then code = 1 end
   return exit(code, ...)
end

-- Writing gives the file: file:write('a'):write('b').
local files = getmetatable(io.stdout).__index
local write = files.write
function files.write(file, ...)
   local done, message, code = write(file, ...)
   if not done then return done, message, code end
   return file
end
function io.write(...)
   return io.output():write(...)
end

-- The coroutine, also for the main one, and whether it is that.
local running = coroutine.running
function coroutine.running()
   local current = running()
   return current, current == nil
end
