-- nn.SeqLSTM(inputs, hidden [, outputs]): an LSTM without peepholes over a whole sequence. The
-- weight is (inputs + outputs) x (4 * hidden), gates in the order input, forget, output, write.
local derived = require 'nn.derived'
local sequence_layer = require 'rnn.sequence_layer'
local op = derived.op

local CELL = {
   first = 'c0', steps = 'cell', user_first = 'userPrevCell', user_gradient = 'userNextGradCell',
   first_gradient = 'userGradPrevCell',
}
local SHUT = -1e30  -- added to a gate, it shuts it whatever the weights say

local SeqLSTM = sequence_layer.class('nn.SeqLSTM', {CELL, sequence_layer.OUTPUT}, {'weight', 'bias', 'weightO'})

function SeqLSTM:__init(inputsize, hiddensize, outputsize)
   sequence_layer.init(self)
   if outputsize then
      self.weightO, self.gradWeightO = torch.Tensor(hiddensize, outputsize), torch.Tensor(hiddensize, outputsize)
   end
   self.inputsize, self.hiddensize, self.outputsize = inputsize, hiddensize, outputsize or hiddensize
   sequence_layer.make_parameters(self, inputsize + self.outputsize, 4 * hiddensize)
   self:reset()
   self.cell = torch.Tensor()
end

-- Lengths of the input, of the cell and of the output.
function SeqLSTM:sizes()
   return {self.inputsize, self.hiddensize or self.outputsize, self.outputsize}
end

function SeqLSTM:reset(std)
   local inputs, hidden, outputs = unpack(self:sizes())
   self.bias:zero()
   self.bias:narrow(1, outputs + 1, outputs):fill(1)
   self.weight:normal(0, std or 1 / math.sqrt(hidden + inputs))
   if self.weightO then self.weightO:normal(0, std or 1 / math.sqrt(outputs + hidden)) end
   return self
end

function SeqLSTM:parameters()
   local parameters, gradients = {self.weight, self.bias}, {self.gradWeight, self.gradBias}
   parameters[3], gradients[3] = self.weightO, self.gradWeightO
   return parameters, gradients
end

-- The parts of a parameter for the gates, `size` long along a dimension (from 0), in another order.
local function in_order(parameter, dim, size, order)
   local parts = {}
   for i, gate in ipairs(order) do parts[i] = op.narrow(parameter, dim, gate * size, size) end
   return op.cat(parts, dim)
end

local AS_CORE = {0, 1, 3, 2}

-- One more input, 1 where states become zero; its weights shut all gates.
local function with_shutter(sequence, weight, is_zero, size)
   local shutter = weight.new(4 * size, 1):fill(SHUT)
   shutter:narrow(1, 2 * size + 1, size):zero()  -- what is written is no gate
   return op.cat({sequence, is_zero}, 2), op.cat({weight, shutter}, 1)
end

-- With a projection the output of a step is that of the step before times it: step by step.
local function projected(sequence, cell, hidden, from_input, from_output, bias, projection)
   local cells, outputs = {}, {}
   local input, back = op.t(from_input), op.t(from_output)
   for step = 1, tonumber(sequence._shape[0]) do
      local x = op.matmul(op.select(sequence, 0, step - 1), input)
      local sums = op.add(op.add(x, op.matmul(hidden, back)), bias)
      local size = tonumber(cell._shape[1])
      local function gate(i) return op.narrow(sums, 1, i * size, size) end
      local kept = op.mul(op.sigmoid(gate(1)), cell)
      cell = op.add(kept, op.mul(op.sigmoid(gate(0)), op.tanh(gate(2))))
      hidden = op.matmul(op.mul(op.sigmoid(gate(3)), op.tanh(cell)), projection)
      cells[step], outputs[step] = cell, hidden
   end
   return op.stack(cells, 0), op.stack(outputs, 0), cell, hidden
end

function SeqLSTM:run(sequence, first, is_zero, weight, bias, projection)
   local cell, hidden = first[1], first[2]
   local time, batch = tonumber(sequence._shape[0]), tonumber(sequence._shape[1])
   local inputs, size = self:sizes()[1], self:sizes()[2]
   weight = op.t(in_order(weight, 1, size, AS_CORE))
   bias = in_order(bias, 0, size, AS_CORE)
   local from_input = op.narrow(weight, 1, 0, inputs)
   local from_output = op.narrow(weight, 1, inputs, tonumber(weight._shape[1]) - inputs)
   if is_zero then sequence, from_input = with_shutter(sequence, from_input, is_zero, size) end
   if projection then
      local cells, outputs, last_cell, last = projected(
         sequence, cell, hidden, from_input, from_output, bias, projection)
      return {cells, outputs}, {last_cell, last}
   end
   local sizes = {}
   for i = 1, time do sizes[i] = batch end
   local rows = op.reshape(sequence, {time * batch, tonumber(sequence._shape[2])})
   local output, last, last_cell, _, cells = op.lstm_layer(
      rows, hidden, cell, from_input, from_output, bias, nil, sizes, false)
   cells = op.narrow(cells, 0, 0, time * batch)
   return {op.reshape(cells, {time, batch, size}), op.reshape(output, {time, batch, size})}, {last_cell, last}
end

-- An nn.FastLSTM with the same parameters and gradients.
function SeqLSTM:toFastLSTM()
   if self.weightO then error('an LSTM with a projection has no counterpart that takes one step', 2) end
   local inputs, size = self:sizes()[1], self:sizes()[2]
   local cell = nn.FastLSTM(inputs, size):type(self.weight:type())
   local parameters, gradients = cell:parameters()
   for _, pair in ipairs {{parameters, self.weight, self.bias}, {gradients, self.gradWeight, self.gradBias}} do
      local targets, weight, bias = unpack(pair)
      weight, bias = op.t(in_order(weight, 1, size, {0, 3, 1, 2})), in_order(bias, 0, size, {0, 3, 1, 2})
      targets[1]:copy(weight:narrow(2, 1, inputs))
      targets[2]:copy(bias)
      targets[3]:copy(weight:narrow(2, inputs + 1, size))
   end
   return cell
end

-- An LSTM whose output is a projection of the hidden state (Sak et al., 2014).
local SeqLSTMP = torch.class('nn.SeqLSTMP', 'nn.SeqLSTM')

function SeqLSTMP:toFastLSTM() error('nn.SeqLSTMP has no counterpart that takes one step', 2) end

