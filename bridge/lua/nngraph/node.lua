-- nngraph.Node: a module (or nothing) in a network, and the nodes that feed it.
--
-- In `data`, `mapindex` lists the data of those nodes in order (and finds the place of each),
-- `selectindex` picks an element of a split table, `nSplitOutputs` marks the table itself.
local Node, parent = torch.class('nngraph.Node', 'graph.Node')

function Node:__init(data)
   parent.__init(self, data)
   self.data.annotations = self.data.annotations or {}
   self.data.mapindex = self.data.mapindex or {}
   self.data.reverseMap = self.data.reverseMap or {}
end

-- Lets this node get the output of `source` (or of each in a list). Edges point to the
-- sources: the graph that is built is the backward one.
function Node:add(source)
   parent.add(self, source)
   for _, one in ipairs(torch.typename(source) and {source} or source) do
      local mapindex = self.data.mapindex
      if not mapindex[one.data] then
         table.insert(mapindex, one.data)
         mapindex[one.data] = #mapindex
         one.data.reverseMap[self] = true
      end
   end
end

-- Where the program that builds the graph stands: the first line outside relume's own files.
local own_folder = debug.getinfo(1, 'S').source:match('^@(.*/)nngraph/')

local function place_in_program()
   for level = 3, math.huge do
      local info = debug.getinfo(level, 'Sl')
      if not info then return '?' end
      if info.what ~= 'C' and info.source:sub(2, #own_folder + 1) ~= own_folder then
         return ('[%s]:%d'):format(info.short_src, info.currentline)
      end
   end
end

-- One node for each of the `count` elements of the table that this node gives.
function Node:split(count)
   if count < 1 then error('split expects at least 1 output', 2) end
   if count == 1 then return nngraph.JustElement()(self) end
   local whole = nngraph.Node {nSplitOutputs = count}
   whole.data.annotations._debugLabel = place_in_program() .. '-mnode'
   whole:add(self)
   local parts = {}
   for i = 1, count do
      parts[i] = nngraph.Node {selectindex = i, input = {}}
      parts[i].data.annotations._debugLabel = ('%s-%d'):format(self.data.annotations._debugLabel or '', i)
      parts[i]:add(whole)
   end
   return unpack(parts)
end

function Node:annotate(annotations)
   for key, value in pairs(annotations) do self.data.annotations[key] = value end
   return self
end

function Node:graphNodeName()
   local name = self.data.annotations.name
   if name then return name .. ' (' .. self.id .. ')' end
   return 'Node' .. self.id
end

local function short(value)
   if torch.isTensor(value) then return 'Tensor[' .. table.concat(value:size():totable(), 'x') .. ']' end
   if type(value) ~= 'table' or torch.typename(value) then return tostring(value) end
   local parts = {}
   for i, item in ipairs(value) do parts[i] = short(item) end
   return '{' .. table.concat(parts, ', ') .. '}'
end

-- What the node holds, one field a line, as drawings show it.
function Node:label()
   local data, lines = self.data, {}
   for _, name in ipairs {'gradOutput', 'input', 'module', 'nSplitOutputs', 'selectindex'} do
      if data[name] ~= nil then lines[#lines + 1] = name .. ' = ' .. short(data[name]) end
   end
   local text = table.concat(lines, '\\l')
   local description = data.annotations.description
   return description and 'desc = ' .. description .. '\n' .. text or text
end

function Node:graphNodeAttributes() return self.data.annotations.graphAttributes or {} end

----------------------------------------------------------------------------------------
-- module(...): a node with this module.

-- The nodes of an argument list: nothing, a node, or a table of nodes.
local function list_of_nodes(input)
   if input == nil then return {} end
   if torch.typename(input) == 'nngraph.Node' or type(input) ~= 'table' or torch.typename(input) then
      return {input}
   end
   return input
end

-- Refuses what is no node among the first `count` of a list, with an error at `level`.
function nngraph.check_nodes(list, what, count, level)
   for i = 1, count do
      local value = list[i]
      if value == nil then error(('%s[%d] is nil (typo / bad index?)'):format(what, i), level) end
      if torch.isTypeOf(value, 'nn.Module') then
         error(('%s[%d] is an nn.Module, specifically a %s, but the only valid thing to pass is an instance of '
            .. 'nngraph.Node. Did you forget a second set of parens, which convert a nn.Module to a '
            .. 'nngraph.Node?'):format(what, i, torch.type(value)), level)
      end
      if torch.typename(value) ~= 'nngraph.Node' then
         error(('%s[%d] should be an nngraph.Node but is of type %s'):format(what, i, torch.type(value)), level)
      end
   end
end

function nngraph.check_that_all_differ(list, level)
   local seen = {}
   for _, node in ipairs(list) do
      if seen[node] then error("Don't pass the same input twice.", level) end
      seen[node] = true
   end
end

function nngraph.make_node(module, ...)
   if select('#', ...) > 0 and (...) == nil then
      error('the input of a node is nil (typo / bad index?)', 3)
   end
   local inputs = list_of_nodes((...))
   if select('#', ...) > 0 and #inputs == 0 then
      error('cannot pass an empty table of inputs. To indicate no incoming connections, leave the second '
         .. 'set of parens blank.', 3)
   end
   nngraph.check_nodes(inputs, 'inputs', #inputs, 4)
   nngraph.check_that_all_differ(inputs, 4)
   local node = nngraph.Node {module = module}
   node.data.annotations._debugLabel = place_in_program() .. '_'
   for _, input in ipairs(inputs) do node:add(input) end
   return node
end

-- - module is module(), node - module is module(node), {a, b} - module is module({a, b}).
nn.Module.__unm__ = function(module) return module() end
nn.Module.__sub__ = function(before, module) return module(before) end
nn.Module.__call__ = function(module, ...) return nngraph.make_node(module, ...) end

-- criterion{output, target} is a node too, when these are nodes.
local criterion_of_values = nn.Criterion.__call__
nn.Criterion.__call__ = function(criterion, inputs, ...)
   if torch.type(inputs) == 'table' and torch.typename(inputs[1]) == 'nngraph.Node' then
      return nn.ModuleFromCriterion(criterion)(inputs)
   end
   return criterion_of_values(criterion, inputs, ...)
end

Node.__sub__ = function(before, module) return module(before) end
Node.__unm__ = function(node) error('a node has no negation; write - nn.Identity()', 2) end
