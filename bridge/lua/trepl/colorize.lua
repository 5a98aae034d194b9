-- trepl.colorize: text in colours, red and Red (bold), where the terminal shows them.
local colorize = {}

local codes = {}
for i, name in ipairs {'black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'} do
   codes[name] = ('\27[0;%dm'):format(29 + i)
   codes[name:sub(1, 1):upper() .. name:sub(2)] = ('\27[1;%dm'):format(29 + i)
   codes['_' .. name] = ('\27[4;%dm'):format(29 + i)
   codes['__' .. name] = ('\27[%dm'):format(39 + i)
end
codes.none = '\27[0m'

for name, code in pairs(codes) do
   colorize[name] = function(text) return code .. tostring(text) .. codes.none end
end

return colorize
