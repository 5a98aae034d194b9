-- The `graph` package: nodes, edges, and graphs of them.
require 'torch'

graph = graph or {}

----------------------------------------------------------------------------------------
-- A node knows its children, in order, and at which place each is.

local Node = torch.class 'graph.Node'

function Node:__init(data)
   self.data = data
   self.id = 0
   self.children = {}
   self.visited = false
   self.marked = false
end

function Node:add(child)
   local children = self.children
   if type(child) == 'table' and not torch.typename(child) then
      for _, one in ipairs(child) do self:add(one) end
      return
   end
   if not children[child] then
      table.insert(children, child)
      children[child] = #children
   end
end

function Node:label() return tostring(self.data) end
function Node:graphNodeName() return self:label() end
function Node:graphNodeAttributes() return {} end

-- Calls f(node) after all that can be reached from it, each node once.
function Node:dfs(f)
   local seen, stack = {[self] = true}, {{self, 1}}
   while #stack > 0 do
      local top = stack[#stack]
      local child = top[1].children[top[2]]
      if child then
         top[2] = top[2] + 1
         if not seen[child] then
            seen[child] = true
            stack[#stack + 1] = {child, 1}
         end
      else
         stack[#stack] = nil
         f(top[1])
      end
   end
end

-- Calls f(node) by distance from this one.
function Node:bfs(f)
   local seen, queue, place = {[self] = true}, {self}, 1
   while queue[place] do
      local node = queue[place]
      place = place + 1
      f(node)
      for _, child in ipairs(node.children) do
         if not seen[child] then
            seen[child] = true
            queue[#queue + 1] = child
         end
      end
   end
end

-- The same, among nodes that were not visited before, by an earlier call or through `marked`.
local function unvisited(walk)
   return function(self, f)
      walk(self, function(node)
         if node.visited then return end
         node.visited = true
         f(node)
      end)
   end
end
Node.dfs_dirty, Node.bfs_dirty = unvisited(Node.dfs), unvisited(Node.bfs)

-- All nodes and edges that can be reached from this node.
function Node:graph()
   local result = graph.Graph()
   self:bfs(function(node)
      for _, child in ipairs(node.children) do result:add(graph.Edge(node, child)) end
   end)
   return result
end

function Node:hasCycle() return self:graph():hasCycle() end

local Edge = torch.class 'graph.Edge'
function Edge:__init(from, to, weight) self.from, self.to, self.weight = from, to, weight or 0 end

----------------------------------------------------------------------------------------

local Graph = torch.class 'graph.Graph'

function Graph:__init()
   self.nodes, self.edges = {}, {}
end

local function add_node(self, node)
   if not self.nodes[node] then
      table.insert(self.nodes, node)
      self.nodes[node] = #self.nodes
      node.id = #self.nodes
   end
end

-- Adds an edge, or a list of them, and the nodes at its ends.
function Graph:add(edge)
   if type(edge) == 'table' and not torch.typename(edge) then
      for _, one in ipairs(edge) do self:add(one) end
      return
   end
   if self.edges[edge] then return end
   table.insert(self.edges, edge)
   self.edges[edge] = #self.edges
   add_node(self, edge.from)
   add_node(self, edge.to)
   Node.add(edge.from, edge.to)  -- as a plain node: a subclass may do more
end

-- The same graph with every edge turned around, on new nodes with the same data.
function Graph:reverse()
   local reversed, mapping = graph.Graph(), {}
   for _, node in ipairs(self.nodes) do
      local twin = node.new(node.data)
      mapping[node] = twin
      for key, value in pairs(node) do
         if key ~= 'children' and twin[key] == nil then twin[key] = value end
      end
      add_node(reversed, twin)
   end
   for _, edge in ipairs(self.edges) do
      reversed:add(graph.Edge(mapping[edge.to], mapping[edge.from]))
   end
   return reversed, mapping
end

-- The same graph on new nodes with the same data.
function Graph:clone()
   return (self:reverse():reverse())
end

local function count_parents(self)
   local counts = {}
   for _, node in ipairs(self.nodes) do counts[node] = counts[node] or 0 end
   for _, edge in ipairs(self.edges) do counts[edge.to] = (counts[edge.to] or 0) + 1 end
   return counts
end

function Graph:roots()
   local counts, roots = count_parents(self), {}
   for _, node in ipairs(self.nodes) do
      if counts[node] == 0 then roots[#roots + 1] = node end
   end
   return roots
end

function Graph:leaves()
   local leaves = {}
   for _, node in ipairs(self.nodes) do
      if #node.children == 0 then leaves[#leaves + 1] = node end
   end
   return leaves
end

function Graph:hasCycle()
   local counts, ready, done = count_parents(self), self:roots(), 0
   while #ready > 0 do
      local node = table.remove(ready)
      done = done + 1
      for _, child in ipairs(node.children) do
         counts[child] = counts[child] - 1
         if counts[child] == 0 then ready[#ready + 1] = child end
      end
   end
   return done < #self.nodes
end

-- The nodes, each before its children: depth first through the reverse graph, so that a
-- node follows all that it needs, in the order in which it needs them.
function Graph:topsort()
   if self:hasCycle() then error('Graph has cycles', 2) end
   local reversed, mapping = self:reverse()
   local original = {}
   for node, twin in pairs(mapping) do original[twin] = node end
   local sorted, seen = {}, {}
   for _, root in ipairs(reversed:roots()) do
      root:dfs(function(node)
         if not seen[node] then
            seen[node] = true
            sorted[#sorted + 1] = original[node]
         end
      end)
   end
   return sorted, self:roots()
end

require 'graph.drawing'

return graph
