-- iterm.dot(graph, file): the graph into the file, as graph.dot writes it.
local iterm = require 'iterm'
require 'graph'

function iterm.dot(graph_, file)
   if file then graph.dot(graph_, '', (file:gsub('%.%w+$', ''))) end
end

return iterm
