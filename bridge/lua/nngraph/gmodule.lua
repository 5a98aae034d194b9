-- nn.gModule(inputs, outputs): a graph of modules as one module.
--
-- The backward graph `bg` points from the outputs to the inputs, the forward graph `fg` is
-- its reverse. Both share the nodes' data, where values and gradients are collected on the
-- way: data.input[i] from the i-th source, data.gradOutput from everyone who used the node.
local gModule, parent = torch.class('nn.gModule', 'nn.Container')

-- All edges that can be reached from the node at the end.
local function backward_graph(outnode)
   local bg = graph.Graph()
   outnode:bfs(function(node)
      for _, child in ipairs(node.children) do bg:add(graph.Edge(node, child)) end
   end)
   return bg
end

-- A node in front of the input nodes; a split of it when there are several.
local function connect_inputs(inputs)
   local innode = nngraph.Node {input = {}}
   local sources = {innode}
   if #inputs > 1 then sources = {innode:split(#inputs)} end
   for i, node in ipairs(inputs) do
      if #node.children ~= 0 then error('an input should have no inputs', 3) end
      node:add(sources[i])
   end
   return innode
end

-- Every node that is used must lead to an output: what does not is a mistake in the program.
local function check_ends(bg, outnode)
   for _, node in ipairs(bg.nodes) do
      local data = node.data
      local unused = 0
      for user in pairs(data.reverseMap or {}) do
         if not bg.nodes[user] and user ~= outnode then
            if not data.nSplitOutputs then
               error(('node declared on %s does not connect to gmodule output'):format(
                  user.data.annotations._debugLabel or '?'), 4)
            end
            unused = unused + 1
         end
      end
      if unused > 0 then
         local source = data.mapindex[1]
         error(('%d of split(%d) outputs from the node declared at %s split at %s are unused'):format(unused,
            data.nSplitOutputs, source.annotations._debugLabel or '?', data.annotations._debugLabel or '?'), 4)
      end
   end
end

function gModule:__init(inputs, outputs)
   parent.__init(self)
   nngraph.check_nodes(inputs, 'inputs', table.maxn(inputs), 5)
   nngraph.check_nodes(outputs, 'outputs', table.maxn(outputs), 5)
   nngraph.check_that_all_differ(outputs, 5)
   local outnode = nngraph.Node {input = {}}
   for _, node in ipairs(outputs) do outnode:add(node) end
   self.nInputs = #inputs
   local innode = connect_inputs(inputs)
   self.bg = backward_graph(outnode)
   for _, leaf in ipairs(self.bg:leaves()) do
      if leaf ~= innode then
         if #self.bg:leaves() == 1 then error('expecting the forward innode', 2) end
         error('Expected nnop.Parameters node, found : '
            .. (leaf.data.module and torch.type(leaf.data.module) or 'a node without module'), 2)
      end
   end
   if not self.bg.nodes[innode] then error('expecting the forward innode', 2) end
   check_ends(self.bg, outnode)
   local mapping
   self.fg, mapping = self.bg:reverse()
   for _, node in ipairs(self.fg.nodes) do node.data.forwardNodeId = node.id end
   self.innode, self.outnode = mapping[innode], outnode
   self.forwardnodes, self.backwardnodes = self.fg:topsort(), self.bg:topsort()
   self.verbose = false
   self.output, self.gradInput = nil, nil
   for _, node in ipairs(self.forwardnodes) do
      if node.data.module then table.insert(self.modules, node.data.module) end
   end
   if #outputs > 1 then self.output = {} else self.output = torch.Tensor() end
   if #inputs > 1 then self.gradInput = {} else self.gradInput = torch.Tensor() end
end

----------------------------------------------------------------------------------------
-- Forward.

local function check_input(self, input)
   local wanted = self.nInputs
   if wanted and wanted > 1 then
      if type(input) ~= 'table' then error(('expecting table of %d inputs'):format(wanted), 3) end
      if #input ~= wanted then error(('Got %d inputs instead of %d'):format(#input, wanted), 3) end
   end
end

-- The input of a node's module: a table when it has several sources.
local function gathered(data)
   local input = data.input
   if #data.mapindex > 1 or (#input > 1) then return input end
   return input[1]
end

local function pass_forward(node, value)
   for _, child in ipairs(node.children) do
      local data = child.data
      data.input = data.input or {}
      data.input[data.mapindex[node.data]] = value
   end
end

local function run_node(self, node, place)
   local data = node.data
   local input = gathered(data)
   if data.selectindex then return input[data.selectindex] end
   if data.nSplitOutputs and #input ~= data.nSplitOutputs then
      error(('split(%d) cannot split %d outputs'):format(data.nSplitOutputs, #input), 0)
   end
   if data.module then return self:rethrowErrors(data.module, place, 'updateOutput', input) end
   return input
end

function gModule:updateOutput(input)
   check_input(self, input)
   for _, node in ipairs(self.forwardnodes) do
      if node ~= self.innode then node.data.input = {} end
   end
   self.innode.data.input = {input}
   for place, node in ipairs(self.forwardnodes) do
      local data = node.data
      if #node.children == 0 and data == self.outnode.data then
         self.output = gathered(data)
      else
         pass_forward(node, run_node(self, node, place))
      end
   end
   return self.output
end

----------------------------------------------------------------------------------------
-- Backward.

-- Adds nested gradients without touching what the modules hold.
local function sum(a, b)
   if type(a) == 'table' then
      local result = {}
      for key in pairs(a) do result[key] = b[key] and sum(a[key], b[key]) or a[key] end
      for key in pairs(b) do result[key] = result[key] or b[key] end
      return result
   end
   return torch.add(a, b)
end

local function zeros_like(value)
   if type(value) == 'table' then
      local result = {}
      for key, part in pairs(value) do result[key] = zeros_like(part) end
      return result
   end
   return torch.isTensor(value) and value.new():resizeAs(value):zero() or 0
end

-- What everyone who used the node sends back, added up. Of a split table every element has
-- its own sender; unused ones get zeros.
local function total_gradient(data)
   local received = data.gradOutput or {}
   if data.nSplitOutputs then
      local value, result = gathered(data), {}
      for i = 1, data.nSplitOutputs do
         result[i] = received[i] or zeros_like(value[i])
      end
      return result
   end
   local total = received[1]
   for i = 2, #received do total = sum(total, received[i]) end
   if total == nil then total = zeros_like(data.output_value or gathered(data)) end
   return total
end

local function send_back(node, gradient)
   local data = node.data
   for i, child in ipairs(node.children) do
      local place = data.mapindex[child.data]
      local part = #node.children > 1 and gradient[place] or gradient
      local target = child.data
      target.gradOutput = target.gradOutput or {}
      if data.selectindex then
         local before = target.gradOutput[data.selectindex]
         target.gradOutput[data.selectindex] = before and sum(before, part) or part
      else
         table.insert(target.gradOutput, part)
      end
   end
end

local function check_gradient(self, gradOutput)
   local wanted = #self.outnode.children
   if wanted > 1 and #gradOutput ~= wanted then
      error(('Got %s gradOutputs instead of %d'):format(tostring(#gradOutput), wanted), 4)
   end
end

-- Calls visit(module, input, gradient) for each module, from the outputs to the inputs, and
-- sends what it returns on.
local function each_backward(self, gradOutput, visit)
   check_gradient(self, gradOutput)
   for _, node in ipairs(self.backwardnodes) do node.data.gradOutput = {} end
   self.outnode.data.gradOutput = {gradOutput}
   for place, node in ipairs(self.backwardnodes) do
      local data = node.data
      local gradient = total_gradient(data)
      if #node.children == 0 then
         self.gradInput = gradient
      elseif data.module then
         send_back(node, visit(data.module, place, gathered(data), gradient))
      else
         send_back(node, gradient)
      end
   end
   return self.gradInput
end

-- The input is what the nodes were given by updateOutput, so nothing asks for the one given here.
function gModule:updateGradInput(input, gradOutput)
   return each_backward(self, gradOutput, function(module, place, own_input, gradient)
      return self:rethrowErrors(module, place, 'updateGradInput', own_input, gradient)
   end)
end

-- What goes on is what updateGradInput returns, which need not be the field gradInput.
local function backward(module, input, gradOutput, scale)
   if module.backward ~= nn.Module.backward then return module:backward(input, gradOutput, scale) end
   local gradInput = module:updateGradInput(input, gradOutput)
   module:accGradParameters(input, gradOutput, scale)
   return gradInput
end

function gModule:backward(input, gradOutput, scale)
   return each_backward(self, gradOutput, function(module, place, own_input, gradient)
      return self:rethrowErrors(module, place, backward, own_input, gradient, scale or 1)
   end)
end

-- After updateGradInput: the gradients are still where it left them.
function gModule:accGradParameters(input, gradOutput, scale)
   for place, node in ipairs(self.backwardnodes) do
      local data = node.data
      if data.module and #node.children > 0 then
         self:rethrowErrors(data.module, place, 'accGradParameters', gathered(data),
            total_gradient(data), scale or 1)
      end
   end
end

----------------------------------------------------------------------------------------

-- Puts other modules in the place of those in the nodes.
function gModule:replace(callback)
   local out = callback(self)
   local replaced = {}
   for i, module in ipairs(self.modules) do
      replaced[module] = module:replace(callback)
      self.modules[i] = replaced[module]
   end
   for _, node in ipairs(self.forwardnodes) do
      if node.data.module then node.data.module = replaced[node.data.module] or node.data.module end
   end
   return out
end

function gModule:clearState()
   for _, node in ipairs(self.forwardnodes) do
      node.data.input, node.data.gradOutput = nil, nil
   end
   self.innode.data.input, self.outnode.data.gradOutput = {}, nil
   for _, module in ipairs(self.modules) do module:clearState() end
   return nn.utils.clear(self, 'output', 'gradInput')
end

-- Graphs in files from before these fields existed.
local function restore(self)
   if not self.nInputs then
      local first = self.forwardnodes[1]
      self.nInputs = first.children[1] and first.children[1].data.nSplitOutputs or 1
   end
end

local forward = gModule.updateOutput
function gModule:updateOutput(input)
   if not self.nInputs then restore(self) end
   return forward(self, input)
end

function gModule:__tostring__() return self.name or torch.type(self) end
