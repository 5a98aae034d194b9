-- The `nngraph` package: networks as graphs, nn.Tanh()(node) and nn.gModule.
require 'nn'
require 'graph'

nngraph = nngraph or {}

require 'nngraph.node'
require 'nngraph.modules'
require 'nngraph.gmodule'

nngraph.nesting = require 'nngraph.nesting'
nngraph.simple_print = {dot = graph.dot, todot = function(g, title) return g:todot(title) end}

function nngraph.setDebug() end

-- Draws a network; needs the program graphviz.
function nngraph.display(network, title)
   return graph.dot(network.fg, title)
end

-- Names nodes after the local variables of the caller that hold them.
function nngraph.annotateNodes()
   local place = 1
   while true do
      local name, value = debug.getlocal(2, place)
      if not name then return end
      if torch.typename(value) == 'nngraph.Node' then
         local annotations = value.data.annotations
         annotations.name = annotations.name or name
      end
      place = place + 1
   end
end

-- A node that gives the outputs of `nodes`, a nested table, in the same nesting.
function nngraph.nest(nodes)
   if torch.typename(nodes) == 'nngraph.Node' then return nodes end
   local parts = {}
   for i, node in ipairs(nodes) do parts[i] = nngraph.nest(node) end
   if #parts == 1 then return nngraph.JustTable()(parts[1]) end
   return nn.Identity()(parts)
end

return nngraph
