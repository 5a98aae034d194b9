-- Tables of layers that Lua and Python share: legacy_nn/tables/*.json, whose formulas are calls of
-- registered ops. legacy_nn/formulas.py says what the rows hold.
local cjson = require 'cjson'
local tape = require 'relume.tape'

local formulas = {}

local folder = require('relume.library'):match('^(.*)/[^/]*$') .. '/legacy_nn/tables/'

function formulas.load_table(name)
   local file = assert(io.open(folder .. name .. '.json'))
   local rows = cjson.decode(file:read('*a'))
   file:close()
   return rows
end

-- The formula as a function of g, x, y and self.
function formulas.compile(formula)
   local chunk = assert(loadstring('local g, x, y, self = ...; return ' .. formula, '=' .. formula))
   return setfenv(chunk, tape.op)
end

-- A printed form with the values of its fields: "({name})", "({name:f})".
function formulas.fill_in(printed, self)
   return (printed:gsub('{([%w_]+):?(%w*)}', function(name, form)
      if form ~= '' then return ('%' .. form):format(self[name]) end
      return tostring(self[name])
   end))
end

return formulas
