-- trepl.colorize: text in colours, red and Red (bold), where the terminal shows them.
local colorize = {}

local codes = require('sys').COLORS

for name, code in pairs(codes) do
   colorize[name] = function(text) return code .. tostring(text) .. codes.none end
end

return colorize
