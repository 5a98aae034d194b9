-- Package rnn in Lua: recurrent layers, what applies them to sequences, and masks.
require 'nn'
require 'dpnn'

rnn = require 'rnn.recursive'
nn.rnn = rnn

require 'rnn.module_methods'
require 'rnn.Dropout'
require 'rnn.AbstractRecurrent'
require 'rnn.small_layers'
require 'rnn.recurrence'
require 'rnn.LSTM'
require 'rnn.GRU'
require 'rnn.sequencer'
require 'rnn.masking'
require 'rnn.criterions'
require 'rnn.bidirectional'
require 'rnn.attention'
require 'rnn.SeqLSTM'
require 'rnn.SeqGRU'
require 'rnn.old_layouts'
-- those of its last years
require('relume.in_python').package 'rnn'

return rnn
