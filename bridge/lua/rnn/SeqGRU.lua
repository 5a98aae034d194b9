-- nn.SeqGRU(inputs, outputs): gated recurrent units over a whole sequence. The weight is
-- (inputs + outputs) x (3 * outputs), gates in the order reset, update, write.
local derived = require 'nn.derived'
local sequence_layer = require 'rnn.sequence_layer'
local op = derived.op

local SeqGRU = sequence_layer.class('nn.SeqGRU', {sequence_layer.OUTPUT}, {'weight', 'bias'})

function SeqGRU:__init(inputSize, outputSize)
   sequence_layer.init(self)
   self.inputSize, self.outputSize = inputSize, outputSize
   self.seqLength, self.miniBatch = 1, 1
   sequence_layer.make_parameters(self, inputSize + outputSize, 3 * outputSize)
   self:reset()
end

function SeqGRU:sizes() return {self.inputSize, self.outputSize} end

function SeqGRU:reset(std)
   local size = self.outputSize
   self.bias:zero()
   self.bias:narrow(1, size + 1, size):fill(1)
   self.weight:normal(0, std or 1 / math.sqrt(size + self.inputSize))
   return self
end

function SeqGRU:run(sequence, first, is_zero, weight, bias)
   local state, inputs, size = first[1], self.inputSize, self.outputSize
   local from_output = op.narrow(weight, 0, inputs, size)
   local gate_weight = op.narrow(from_output, 1, 0, 2 * size)
   local write_weight = op.narrow(from_output, 1, 2 * size, size)
   local sums = op.add(op.matmul(sequence, op.narrow(weight, 0, 0, inputs)), bias)
   local keeps = is_zero and op.rsub(is_zero, 1)
   local outputs = {}
   for step = 1, tonumber(sequence._shape[0]) do
      local own = op.select(sums, 0, step - 1)
      local gates = op.sigmoid(op.add(op.narrow(own, 1, 0, 2 * size), op.matmul(state, gate_weight)))
      local reset, update = op.narrow(gates, 1, 0, size), op.narrow(gates, 1, size, size)
      local back = op.matmul(op.mul(reset, state), write_weight)
      local written = op.tanh(op.add(op.narrow(own, 1, 2 * size, size), back))
      state = op.add(written, op.mul(update, op.sub(state, written)))
      if keeps then state = op.mul(state, op.select(keeps, 0, step - 1)) end
      outputs[step] = state
   end
   return {op.stack(outputs, 0)}, {state}
end

-- An nn.GRU with the same parameters and gradients.
function SeqGRU:toGRU()
   local inputs, size = self.inputSize, self.outputSize
   local cell = nn.GRU(inputs, size):type(self.weight:type())
   local parameters, gradients = cell:parameters()
   for _, pair in ipairs {{parameters, self.weight, self.bias}, {gradients, self.gradWeight, self.gradBias}} do
      local targets, weight, bias = unpack(pair)
      for i, part in ipairs {{1, 2 * size}, {2 * size + 1, size}} do
         local rows = weight:narrow(2, part[1], part[2]):t()
         targets[3 * i - 2]:copy(rows:narrow(2, 1, inputs))
         targets[3 * i - 1]:copy(bias:narrow(1, part[1], part[2]))
         targets[3 * i]:copy(rows:narrow(2, inputs + 1, size))
      end
   end
   return cell
end
