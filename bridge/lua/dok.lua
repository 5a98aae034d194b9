-- The `dok` package: named arguments, as xlua.unpack has them. Its documentation browser is not here: `? name`
-- at the prompt of `relume th` answers.
local xlua = require 'xlua'

dok = dok or {}

-- The types of arguments are not checked here.
function dok.unpack(arguments, name, help, ...)
   local rows = {...}
   for i, row in ipairs(rows) do
      rows[i] = {}
      for key, value in pairs(row) do if key ~= 'type' then rows[i][key] = value end end
   end
   return xlua.unpack(arguments, name, help, unpack(rows))
end

dok.usage = xlua.usage

return dok
