-- Sequences in both directions: nn.BiSequencer, nn.BiSequencerLM, nn.SeqBRNN.
local building = require 'rnn.building'
local recursive = require 'rnn.recursive'
local zeros_like = require('relume.tape').zeros_like

local sequence, fan_out = building.sequence, building.fan_out
local Container = torch.getmetatable 'nn.Container'
local Decorator = torch.getmetatable 'nn.Decorator'

local function check_modules(self, ...)
   for i = 1, select('#', ...) do
      local module = select(i, ...)
      if not torch.isTypeOf(module, 'nn.Module') then
         error(('%s: expected a module, got %s'):format(torch.type(self), torch.type(module)), 3)
      end
   end
end

local function set_modules(self, forward, backward, merge)
   Container.__init(self)
   check_modules(self, forward)
   if not backward then
      backward = forward:clone()
      backward:reset()
   end
   if merge == nil or type(merge) == 'number' then merge = nn.JoinTable(1, merge or 1) end
   check_modules(self, backward, merge)
   self.forwardModule, self.backwardModule, self.mergeModule = forward, backward, merge
   self.output, self.gradInput = {}, {}
end

----------------------------------------------------------------------------------------

local BiSequencer = torch.class('nn.BiSequencer', 'nn.AbstractSequencer')

function BiSequencer:__init(forward, backward, merge)
   set_modules(self, forward, backward, merge)
   self.fwdSeq = nn.Sequencer(self.forwardModule)
   self.bwdSeq = nn.Sequencer(self.backwardModule)
   self.mergeSeq = nn.Sequencer(self.mergeModule)
   local reverse = sequence(nn.ReverseTable(), self.bwdSeq, nn.ReverseTable())
   self.module = sequence(fan_out(self.fwdSeq, reverse), nn.ZipTable(), self.mergeSeq)
   self.modules[1] = self.module
end

for _, method in ipairs {'updateOutput', 'updateGradInput', 'accGradParameters', 'accUpdateGradParameters'} do
   BiSequencer[method] = Decorator[method]
end

function BiSequencer:__tostring__() return torch.type(self) .. ' @ ' .. tostring(self.modules[1]) end

----------------------------------------------------------------------------------------
-- For language models: a step sees the steps before it and after it, not itself.

local BiSequencerLM = torch.class('nn.BiSequencerLM', 'nn.AbstractSequencer')

local function as_sequencer(module)
   return torch.isTypeOf(module, 'nn.AbstractRecurrent') and nn.Sequencer(module) or module
end

function BiSequencerLM:__init(forward, backward, merge)
   set_modules(self, forward, backward, merge)
   self.fwdSeq, self.bwdSeq = as_sequencer(self.forwardModule), as_sequencer(self.backwardModule)
   self.mergeSeq = nn.Sequencer(self.mergeModule)
   self._fwd = self.fwdSeq
   self._bwd = sequence(nn.ReverseTable(), self.bwdSeq, nn.ReverseTable())
   self._merge = sequence(nn.ZipTable(), self.mergeSeq)
   self.modules = {self._fwd, self._bwd, self._merge}
end

local function slice(list, first, last) return {unpack(list, first, last)} end

-- The steps that go forward (all but the last) and back (all but the first).
local function parts(input)
   if #input < 2 then error('nn.BiSequencerLM needs at least two steps', 3) end
   return slice(input, 1, #input - 1), slice(input, 2, #input)
end

function BiSequencerLM:updateOutput(input)
   local first, last = parts(input)
   local before = slice(self._fwd:updateOutput(first), 1, #first)
   local after = slice(self._bwd:updateOutput(last), 1, #last)
   table.insert(before, 1, zeros_like(before[1]))
   table.insert(after, zeros_like(after[1]))
   self._mergeInput = {before, after}
   self.output = self._merge:updateOutput(self._mergeInput)
   return self.output
end

function BiSequencerLM:updateGradInput(input, gradOutput)
   local first, last = parts(input)
   local merged = self._merge:updateGradInput(self._mergeInput, gradOutput)
   local count = #input
   local forward = self._fwd:updateGradInput(first, slice(merged[1], 2, count))
   local backward = self._bwd:updateGradInput(last, slice(merged[2], 1, count - 1))
   self.gradInput = {forward[1]}
   for i = 2, count - 1 do self.gradInput[i] = recursive.recursiveSum(forward[i], backward[i - 1]) end
   self.gradInput[count] = backward[count - 1]
   return self.gradInput
end

for _, method in ipairs {'accGradParameters', 'accUpdateGradParameters'} do
   BiSequencerLM[method] = function(self, input, gradOutput, amount)
      local first, last = parts(input)
      self._merge[method](self._merge, self._mergeInput, gradOutput, amount)
      local merged = self._merge.gradInput
      self._fwd[method](self._fwd, first, slice(merged[1], 2, #input), amount)
      self._bwd[method](self._bwd, last, slice(merged[2], 1, #input - 1), amount)
   end
end

function BiSequencerLM:clearState()
   self._mergeInput = nil
   return Container.clearState(self)
end

function BiSequencerLM:__tostring__()
   local lines = {torch.type(self) .. ' {'}
   for _, part in ipairs {{'(  fwd  )', self._fwd}, {'(  bwd  )', self._bwd}, {'( merge )', self._merge}} do
      lines[#lines + 1] = '  ' .. part[1] .. ': ' .. tostring(part[2]):gsub('\n', '\n    |    ')
   end
   lines[#lines + 1] = '}'
   return table.concat(lines, '\n')
end

----------------------------------------------------------------------------------------
-- Two SeqLSTM, one for each direction of a sequence, merged.

local SeqBRNN = torch.class('nn.SeqBRNN', 'nn.Decorator')

function SeqBRNN:__init(inputDim, hiddenDim, batchFirst, merge)
   self.forwardModule, self.backwardModule = nn.SeqLSTM(inputDim, hiddenDim), nn.SeqLSTM(inputDim, hiddenDim)
   self.merge = merge or nn.CAddTable()
   self.dim = 1
   local reverse = sequence(nn.SeqReverseSequence(self.dim), self.backwardModule, nn.SeqReverseSequence(self.dim))
   local module = sequence(fan_out(self.forwardModule, reverse), self.merge)
   if batchFirst then
      module:insert(nn.Transpose({1, 2}), 1)
      module:insert(nn.Transpose({1, 2}))
   end
   Decorator.__init(self, module)
   self.module = module
end
