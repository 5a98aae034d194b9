-- The `sys` package: time, shell commands, colours of a terminal.
require 'torch'
local ffi = require 'ffi'
local paths = require 'paths'

ffi.cdef 'int relume_usleep(unsigned int microseconds) __asm__("usleep");'

sys = sys or {}

----------------------------------------------------------------------------------------
-- Time.

local timer = torch.Timer()
local start_of_timer = os.time()
local last_tic = 0

-- Seconds since 1970, with a fraction.
function sys.clock() return start_of_timer + timer:time().real end
function sys.tic() last_tic = sys.clock() end

function sys.toc(verbose)
   local seconds = sys.clock() - last_tic
   if verbose then print(seconds) end
   return seconds
end

function sys.sleep(seconds)
   if type(seconds) ~= 'number' then error('bad argument #1 (number expected)', 2) end
   ffi.C.relume_usleep(seconds * 1e6)
end
function sys.usleep(microseconds) ffi.C.relume_usleep(microseconds) end

----------------------------------------------------------------------------------------
-- Commands.

local function output_of(command)
   local pipe = assert(io.popen(command))
   local text = pipe:read('*a')
   pipe:close()
   return text
end

-- What a command prints, without the last line end; that of a shell's `lsof | more`, and so on.
function sys.execute(command)
   return (output_of(command):gsub('\n$', ''))
end

sys.fexecute = sys.execute

function sys.ls(path) return sys.execute('ls ' .. (path or '')) end
function sys.ll(path) return sys.execute('ls -l ' .. (path or '')) end
function sys.la(path) return sys.execute('ls -a ' .. (path or '')) end
function sys.lla(path) return sys.execute('ls -la ' .. (path or '')) end
function sys.pwd() return paths.cwd() end
function sys.prefix() return paths.install_prefix end

function sys.uname()
   local name = paths.uname():lower()
   return name == 'darwin' and 'macos' or name
end
sys.OS = sys.uname()

----------------------------------------------------------------------------------------
-- Names and strings.

sys.dirname, sys.basename, sys.concat = paths.dirname, paths.basename, paths.concat
sys.filep, sys.dirp = paths.filep, paths.dirp

-- The folder and the name of the file that runs.
function sys.fpath()
   local path = paths.thisfile(nil, 2)
   if not path then return nil end
   return paths.dirname(path), paths.basename(path)
end

-- The parts of a text between separators; one in front of all and one behind all do not count when they are empty.
function sys.split(text, separator)
   local parts, place = {}, 1
   while true do
      local first, last = text:find(separator, place)
      if not first or last < first then break end
      if place > 1 or first > 1 then parts[#parts + 1] = text:sub(place, first - 1) end
      place = last + 1
   end
   if place <= #text then parts[#parts + 1] = text:sub(place) end
   return parts
end

-- string.split('a b') gives a table, as scripts that loaded `sys` expect.
string.split = string.split or sys.split

function sys.isNaN(number) return number ~= number end

-- The storage of a tensor holds this many bytes.
function sys.storage_size(tensor) return tensor:storage():size() * tensor:elementSize() end

----------------------------------------------------------------------------------------
-- Escape sequences: red, Red (bold), _red (underlined), __red (background).

sys.COLORS = {none = '\27[0m'}
for i, name in ipairs {'black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'} do
   local number = 29 + i
   sys.COLORS[name] = ('\27[0;%dm'):format(number)
   sys.COLORS[name:sub(1, 1):upper() .. name:sub(2)] = ('\27[1;%dm'):format(number)
   sys.COLORS['_' .. name] = ('\27[4;%dm'):format(number)
   sys.COLORS['__' .. name] = ('\27[%dm'):format(number + 10)
end

return sys
