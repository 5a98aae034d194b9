// Recurrent layers in terms of other ops, step by step: slower than the fused ones, but their
// gradients can be recorded, and a projection of the hidden state is possible.
#pragma once
#include <vector>

#include "tensor/ops.h"

namespace relume {

enum class Cell { lstm, gru, tanh, relu };

// What a layer in one direction is made of; an undefined tensor is one that is not given.
struct RecurrentTensors {
  Tensor input;   // (rows of all steps, inputs), see recurrent.h
  Tensor h0, c0;  // (batch, hidden); c0 of an LSTM only
  Tensor weight_ih, weight_hh, bias_ih, bias_hh;
  Tensor weight_hr;  // projects the hidden state of an LSTM
};

struct RecurrentResult {
  Tensor output, h_n, c_n;
  std::vector<Tensor> saved;  // what the fused layer keeps for its gradient, where it is asked for
};

RecurrentResult composed_layer(Cell cell, const RecurrentTensors& tensors, IntSpan batch_sizes, bool reverse,
                               bool with_saved = false);

}  // namespace relume
