-- Recurrent modules of files that other versions of package rnn wrote: what the rows of
-- legacy_nn/tables/layout_changes.json call.
local upgrades = require('nn.old_layouts').upgrades
local sequencer = require 'rnn.sequencer'

local function first_module(self)
   return rawget(self, 'modules') and self.modules[1]
end

-- The first versions had fewer tables; the last one has its module in `modules` alone.
function upgrades.complete_recurrent(self)
   self.recurrentModule = rawget(self, 'recurrentModule') or first_module(self)
   for _, name in ipairs {'outputs', 'gradInputs', '_gradOutputs', 'gradOutputs', 'sharedClones'} do
      if type(rawget(self, name)) ~= 'table' then self[name] = {} end
   end
   self.step = rawget(self, 'step') or 1
   self.rho = rawget(self, 'rho') or rawget(self, 'seqlen') or 99999
end

-- Sequencers of 2015 held any module; today it is a recurrent one.
function upgrades.complete_sequencer(self)
   local module = rawget(self, 'module') or rawget(self, 'rnn') or first_module(self)
   self.module = sequencer.as_recurrent(module)
   self.modules = {self.module}
   self.tableoutput = rawget(self, 'tableoutput') or {}
   self._output = rawget(self, '_output') or {}
   self._remember = rawget(self, '_remember') or 'neither'
end

-- Files may leave out the first states: there are none to remember.
function upgrades.complete_sequence_layer(self)
   for _, name in ipairs {'h0', 'c0', 'cell', '_output'} do
      self[name] = rawget(self, name) or torch.getconstructortable(self._type)()
   end
   self._remember = rawget(self, '_remember') or 'neither'
end

-- The last version has its criterion as the first of its clones alone.
function upgrades.complete_stepwise_criterion(self)
   self.criterion = rawget(self, 'criterion') or self.clones[1]
end
