-- LSTM cells that take one step per call: nn.LSTM with peepholes, nn.FastLSTM without.
local building = require 'rnn.building'
local stateful = require 'rnn.stateful'

local sequence, fan_out, parallel = building.sequence, building.fan_out, building.parallel
local AbstractRecurrent = torch.getmetatable 'nn.AbstractRecurrent'

local LSTM = stateful.class('nn.LSTM', {stateful.OUTPUT, stateful.CELL})

function LSTM:__init(inputSize, outputSize, rho, cell2gate, p, mono)
   AbstractRecurrent.__init(self, rho or 9999)
   self.p = p or 0
   self.mono = mono or false
   self.inputSize, self.outputSize = inputSize, outputSize or inputSize
   self.cell2gate = cell2gate == nil or cell2gate
   self.zeroTensor = torch.Tensor()
   self.cells, self.gradCells = {}, {}
   self.recurrentModule = self:buildModel()
   self.modules[1] = self.recurrentModule
   self.sharedClones[1] = self.recurrentModule
end

-- From the input and from the output before, with dropout, also of nothing.
local function sources(self)
   local from_input = nn.Linear(self.inputSize, self.outputSize)
   local from_output = nn.LinearNoBias(self.outputSize, self.outputSize)
   return {building.with_dropout(self, from_input), building.with_dropout(self, from_output)}
end

-- A gate, from {input, output, cell}.
function LSTM:buildGate()
   local gate, parts = nn.Sequential(), sources(self)
   if self.cell2gate then
      parts[3] = nn.CMul(self.outputSize)
   else
      gate:add(nn.NarrowTable(1, 2))
   end
   return gate:add(parallel(unpack(parts))):add(nn.CAddTable()):add(nn.Sigmoid())
end

function LSTM:buildInputGate()
   self.inputGate = self:buildGate()
   return self.inputGate
end

function LSTM:buildForgetGate()
   self.forgetGate = self:buildGate()
   return self.forgetGate
end

function LSTM:buildOutputGate()
   self.outputGate = self:buildGate()
   return self.outputGate
end

-- What is written into the cell, from {input, output, cell}.
function LSTM:buildHidden()
   self.hiddenLayer = sequence(nn.NarrowTable(1, 2), parallel(unpack(sources(self))), nn.CAddTable(), nn.Tanh())
   return self.hiddenLayer
end

-- The next cell, from {input, output, cell}.
function LSTM:buildCell()
   self:buildInputGate()
   self:buildForgetGate()
   self:buildHidden()
   local kept = sequence(fan_out(self.forgetGate, nn.SelectTable(3)), nn.CMulTable())
   local written = sequence(fan_out(self.inputGate, self.hiddenLayer), nn.CMulTable())
   self.cellLayer = sequence(fan_out(kept, written), nn.CAddTable())
   return self.cellLayer
end

-- The module of a step: {input, output before, cell before} -> {output, cell}.
function LSTM:buildModel()
   self:buildCell()
   self:buildOutputGate()
   local squashed = sequence(nn.SelectTable(3), nn.Tanh())
   local output = sequence(fan_out(self.outputGate, squashed), nn.CMulTable())
   return sequence(
      fan_out(nn.NarrowTable(1, 2), self.cellLayer),
      nn.FlattenTable(),
      fan_out(output, nn.SelectTable(3)))
end

----------------------------------------------------------------------------------------

local FastLSTM = torch.class('nn.FastLSTM', 'nn.LSTM')

FastLSTM.usenngraph = false  -- is a step an nn.gModule?
FastLSTM.bn = false          -- are the sums batch-normalised (Cooijmans et al., 2016)?

function FastLSTM:__init(inputSize, outputSize, rho, eps, momentum, affine, p, mono)
   self.eps, self.momentum = eps, momentum
   self.affine = affine == nil or affine
   LSTM.__init(self, inputSize, outputSize, rho, nil, p, mono)
end

-- Gates come in the order input, write, forget, output.
function FastLSTM:buildModel()
   building.make_gate_sums(self, 4)
   if self.usenngraph or self.bn then
      require 'nngraph'
      return self:nngraphModel()
   end
   local gates = sequence(
      nn.NarrowTable(1, 2), parallel(self.i2g, self.o2g), nn.CAddTable(), nn.Reshape(4, self.outputSize),
      nn.SplitTable(1, 2), parallel(nn.Sigmoid(), nn.Tanh(), nn.Sigmoid(), nn.Sigmoid()))
   local written = sequence(nn.NarrowTable(1, 2), nn.CMulTable())
   local kept = sequence(fan_out(nn.SelectTable(3), nn.SelectTable(5)), nn.CMulTable())
   local cell = sequence(fan_out(written, kept), nn.CAddTable())
   local squashed = sequence(nn.SelectTable(1), nn.Tanh())
   local output = sequence(fan_out(squashed, nn.SelectTable(2)), nn.CMulTable())
   return sequence(
      fan_out(gates, nn.SelectTable(3)), nn.FlattenTable(),
      fan_out(cell, nn.SelectTable(4)), nn.FlattenTable(),
      fan_out(output, nn.SelectTable(1)))
end

local function normalization(self, size)
   local layer = nn.BatchNormalization(size, self.eps, self.momentum, self.affine)
   layer.weight:fill(0.1)
   return layer
end

function FastLSTM:nngraphModel()
   local size = self.outputSize
   local x, before, cell_before = nn.Identity()(), nn.Identity()(), nn.Identity()()
   local from_input = self.i2g(x):annotate {name = 'i2h'}
   local from_output = self.o2g(before):annotate {name = 'h2h'}
   local normalize_cell
   if self.bn then
      local normalize_input, normalize_output = normalization(self, 4 * size), normalization(self, 4 * size)
      normalize_cell = normalization(self, size)
      from_input = normalize_input(from_input):annotate {name = 'bn_wx'}
      from_output = normalize_output(from_output):annotate {name = 'bn_wh'}
      from_output = nn.Add(4 * size)(from_output)
   end
   local sums = nn.CAddTable()({from_input, from_output})
   local input, write, forget, output = nn.SplitTable(2)(nn.Reshape(4, size)(sums)):split(4)
   input, write, forget, output = nn.Sigmoid()(input), nn.Tanh()(write), nn.Sigmoid()(forget), nn.Sigmoid()(output)
   local cell = nn.CAddTable()({nn.CMulTable()({forget, cell_before}), nn.CMulTable()({input, write})})
   local squashed = self.bn and normalize_cell(cell):annotate {name = 'bn_c'} or cell
   local hidden = nn.CMulTable()({output, nn.Tanh()(squashed)})
   return nn.gModule({x, before, cell_before}, {hidden, cell})
end
