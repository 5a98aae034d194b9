-- pl.compat: what differs between versions of Lua. There is one here, so most of it is constant.
local compat = {
   lua51 = true, jit = true, jit52 = not loadstring 'goto = 1',
   dir_separator = '/', is_windows = false,
   setfenv = setfenv, getfenv = getfenv,
   warn = function(...) io.stderr:write('Lua warning: ', table.concat({...}), '\n') end,
}

-- Runs a command: true when it ended well, and its code.
function compat.execute(command)
   local first, _, code = os.execute(command)
   if type(first) == 'number' then
      code = first > 255 and math.floor(first / 256) or first
      return code == 0, code
   end
   return first == true, code or 0
end

-- load of Lua 5.2: source or a function that gives it, with an environment.
function compat.load(source, name, _, environment)
   local chunk, message
   if type(source) == 'string' then
      chunk, message = loadstring(source, name)
   else
      chunk, message = load(source, name)
   end
   if chunk and environment then setfenv(chunk, environment) end
   return chunk, message
end

table.pack = table.pack or function(...) return {n = select('#', ...), ...} end
table.unpack = table.unpack or unpack

if not package.searchpath then
   function package.searchpath(name, path, separator, replacement)
      name = name:gsub('%' .. (separator or '.'), replacement or '/')
      local tried = {}
      for template in path:gmatch('[^;]+') do
         local file = template:gsub('%?', (name:gsub('%%', '%%%%')))
         local found = io.open(file)
         if found then
            found:close()
            return file
         end
         tried[#tried + 1] = "\n\tno file '" .. file .. "'"
      end
      return nil, table.concat(tried)
   end
end

return compat
