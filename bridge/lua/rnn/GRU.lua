-- nn.GRU(inputs, outputs): gated recurrent units that take one step per call.
local building = require 'rnn.building'
local stateful = require 'rnn.stateful'

local sequence, fan_out, parallel = building.sequence, building.fan_out, building.parallel
local AbstractRecurrent = torch.getmetatable 'nn.AbstractRecurrent'

local GRU = stateful.class('nn.GRU', {stateful.OUTPUT})

function GRU:__init(inputSize, outputSize, rho, p, mono)
   AbstractRecurrent.__init(self, rho or 9999)
   self.p = p or 0
   self.mono = mono or false
   self.inputSize, self.outputSize = inputSize, outputSize
   self.zeroTensor = torch.Tensor()
   self.cells, self.gradCells = {}, {}
   self.recurrentModule = self:buildModel()
   self.modules[1] = self.recurrentModule
   self.sharedClones[1] = self.recurrentModule
end

-- What is written, from {input, before, reset, ...}.
local function candidate(self)
   local from_input = sequence(nn.SelectTable(1))
   local from_output = sequence(nn.NarrowTable(2, 2), nn.CMulTable())
   if self.p ~= 0 then
      from_input:add(building.dropout(self))
      from_output:add(building.dropout(self))
   end
   from_input:add(nn.Linear(self.inputSize, self.outputSize))
   from_output:add(nn.LinearNoBias(self.outputSize, self.outputSize))
   return sequence(fan_out(from_input, from_output), nn.CAddTable(), nn.Tanh())
end

-- The module of a step: {input, output before} -> output.
function GRU:buildModel()
   building.make_gate_sums(self, 2)
   local gates = sequence(
      parallel(self.i2g, self.o2g), nn.CAddTable(), nn.Reshape(2, self.outputSize), nn.SplitTable(1, 2),
      parallel(nn.Sigmoid(), nn.Sigmoid()))
   local one_minus_update = sequence(nn.SelectTable(4), nn.SAdd(-1, true))
   local written = sequence(fan_out(candidate(self), one_minus_update), nn.CMulTable())
   local kept = sequence(nn.NarrowTable(4, 2), nn.CMulTable())
   return sequence(
      fan_out(nn.Identity(), gates),
      nn.FlattenTable(),  -- input, before, reset, update
      fan_out(nn.NarrowTable(1, 4), nn.SelectTable(2)),
      nn.FlattenTable(),  -- input, before, reset, update, before
      sequence(fan_out(written, kept), nn.CAddTable()))
end

-- Takes over the six parameters of a GRU without dropout; this one has dropout.
function GRU:migrate(parameters)
   local targets = self:parameters()
   if self.p == 0 or #parameters ~= 6 then
      error('migrate takes the 6 parameters of a GRU into one with p > 0', 2)
   end
   local size = self.outputSize
   local function parts(tensor) return tensor:narrow(1, 1, size), tensor:narrow(1, size + 1, size) end
   local reset, update = parts(parameters[1])
   local reset_bias, update_bias = parts(parameters[2])
   local reset_back, update_back = parts(parameters[3])
   local values = {reset, reset_bias, update, update_bias, reset_back, update_back,
      parameters[4], parameters[5], parameters[6]}
   for i, target in ipairs(targets) do target:copy(values[i]) end
end

function GRU:__tostring__()
   return ('%s(%d -> %d, %.2f)'):format(torch.type(self), self.inputSize, self.outputSize, self.p)
end

----------------------------------------------------------------------------------------
-- nn.MuFuRu: a unit that weighs several ways to combine the old state with new features
-- (Weissenborn and Rocktäschel, 2016).

local MuFuRu = torch.class('nn.MuFuRu', 'nn.GRU')

local function extreme(name)
   return function() return sequence(nn.MapTable(nn.Unsqueeze(1)), nn.JoinTable(1), nn[name](1)) end
end

-- From {state before, new features} to a next state.
local OPERATIONS = {
   {'keep', function() return nn.SelectTable(1) end},
   {'replace', function() return nn.SelectTable(2) end},
   {'mul', function() return nn.CMulTable() end},
   {'diff', function() return nn.CSubTable() end},
   {'forget', function() return sequence(nn.SelectTable(1), nn.MulConstant(0)) end},
   {'sqrt_diff', function() return sequence(nn.CSubTable(), nn.Abs(), nn.Sqrt(), nn.MulConstant(0.25)) end},
   {'max', extreme 'Max'},
   {'min', extreme 'Min'},
}

function MuFuRu:__init(inputSize, outputSize, ops, rho)
   local by_name, all = {}, {}
   for i, row in ipairs(OPERATIONS) do by_name[row[1]], all[i] = row[2], row[1] end
   self.ops = ops or all
   self.num_ops = #self.ops
   self.operations = {}
   for i, name in ipairs(self.ops) do
      if not by_name[name] then error('nn.MuFuRu: there is no operation ' .. tostring(name), 2) end
      self.operations[i] = by_name[name]()
   end
   GRU.__init(self, inputSize, outputSize, rho)
end

function MuFuRu:buildModel()
   local inputs, size, total = self.inputSize, self.outputSize, self.num_ops
   local reset = sequence(parallel(nn.Linear(inputs, size), nn.Linear(size, size)), nn.CAddTable(), nn.Sigmoid())
   local features = sequence(
      fan_out(nn.SelectTable(1), sequence(nn.NarrowTable(2, 2), nn.CMulTable())),
      nn.JoinTable(2), nn.Linear(inputs + size, size), nn.Sigmoid())
   local weights = sequence(
      nn.NarrowTable(1, 2), nn.JoinTable(2), nn.Linear(inputs + size, total * size),
      nn.View(total, size):setNumInputDims(1), nn.Transpose({1, 2}), nn.SoftMax())
   local results = sequence(
      nn.NarrowTable(1, 2), fan_out(unpack(self.operations)), nn.MapTable(nn.Unsqueeze(1)), nn.JoinTable(1, 3))
   return sequence(
      fan_out(nn.SelectTable(1), nn.SelectTable(2), reset),
      fan_out(nn.SelectTable(2), features, weights),
      sequence(fan_out(results, nn.SelectTable(3)), nn.CMulTable(), nn.Sum(1, 3)))
end

function MuFuRu:__tostring__()
   return ('%s(%d -> %d) { %s }'):format(torch.type(self), self.inputSize, self.outputSize,
      table.concat(self.ops, ' '))
end
