-- Sample text from a char-rnn checkpoint.
--
--    relume lua examples/sample_charrnn.lua examples/models/shakespeare.t7 200
--
-- `sample_charrnn.py` is the same in Python; from the same seed both write the same text.

require 'torch'
require 'nn'
require 'nngraph'

local checkpoint, length, write = ...
length = tonumber(length) or 600
local prime, temperature, seed = 'ROMEO:', 0.7, 123

-- A layer of char-rnn itself, not of nn: the row of a unit matrix that each index names.
if not rawget(_G, 'OneHot') then
   local OneHot = torch.class('OneHot', 'nn.Module')

   function OneHot:updateOutput(input)
      self.output = self._eye:index(1, input:long())
      return self.output
   end
end

if type(checkpoint) == 'string' then checkpoint = torch.load(checkpoint) end
local is_alone = not write  -- not called by another program, which takes the text
write = write or function(text) io.write(text) io.flush() end
if is_alone then write(prime) end

local network = checkpoint.protos.rnn
network:evaluate()
local character_of = {}
for character, index in pairs(checkpoint.vocab) do character_of[index] = character end

local state = {}
for i = 1, 2 * checkpoint.opt.num_layers do
   state[i] = torch.zeros(1, checkpoint.opt.rnn_size):double()
end

-- Shows the network one character; returns the log probabilities of the next one.
local function read(index)
   local outputs = network:forward{torch.Tensor{index}, unpack(state)}
   for i = 1, #state do state[i] = outputs[i] end
   return outputs[#outputs]
end

torch.manualSeed(seed)
local log_probabilities
for character in prime:gmatch('.') do
   log_probabilities = read(checkpoint.vocab[character])
end
for _ = 1, length do
   log_probabilities:div(temperature)
   local probabilities = torch.exp(log_probabilities):squeeze()
   probabilities:div(torch.sum(probabilities))
   local index = torch.multinomial(probabilities:float(), 1)[1]
   write(character_of[index])
   log_probabilities = read(index)
end
if is_alone then print() end
