// Derivatives of recurrent layers: a fused pass backwards, or, where it is recorded itself,
// the layer again in ops.
#include "autograd/replay.h"
#include "tensor/kernels/recurrent_composed.h"
#include "tensor/thread_state.h"

namespace relume {
namespace {

const OpFunction lstm_layer_backward{"lstm_layer_backward"}, gru_layer_backward{"gru_layer_backward"},
    rnn_layer_backward{"rnn_layer_backward"};

bool is_recorded() { return thread_state().grad_mode; }
Value gradient_or_none(Backward& b, int output) { return b.has_grad(output) ? Value(b.grad(output)) : Value(); }

// lstm_layer(input, h0, c0, weight_ih, weight_hh, bias_ih, bias_hh, batch_sizes, reverse)
//   -> (output, h_n, c_n, gates, cells)
std::vector<Tensor> lstm_again(Backward& b, const std::vector<Tensor>& in) {
  const RecurrentTensors tensors{in[0], in[1], in[2], in[3], in[4], in[5], in[6], {}};
  const RecurrentResult result = composed_layer(Cell::lstm, tensors, b.integers(7), b.boolean(8), true);
  return {result.output, result.h_n, result.c_n, result.saved[0], result.saved[1]};
}

void lstm_gradients(Backward& b) {
  if (is_recorded() || b.has_grad(3) || b.has_grad(4)) return replay_gradients(b, {0, 1, 2, 3, 4, 5, 6}, lstm_again);
  const Outputs gradients = lstm_layer_backward.all(
      gradient_or_none(b, 0), gradient_or_none(b, 1), gradient_or_none(b, 2), b.in(0), b.in(1), b.in(2), b.in(3),
      b.in(4), b.out(0), b.out(3), b.out(4), b.integers(7), b.boolean(8), b.needs(0));
  for (int argument = 0; argument < 7; argument++) {
    if (b.needs(argument)) b.set(argument, gradients[argument < 5 ? argument : 5]);
  }
}
const Derive derive_lstm_layer{
    "lstm_layer", saves(0, 1, 2, 3, 4, 5, 6) | saves_output(0) | saves_output(3) | saves_output(4), lstm_gradients};

// gru_layer(input, h0, weight_ih, weight_hh, bias_ih, bias_hh, batch_sizes, reverse)
//   -> (output, h_n, gates, from_hidden)
std::vector<Tensor> gru_again(Backward& b, const std::vector<Tensor>& in) {
  const RecurrentTensors tensors{in[0], in[1], {}, in[2], in[3], in[4], in[5], {}};
  const RecurrentResult result = composed_layer(Cell::gru, tensors, b.integers(6), b.boolean(7), true);
  return {result.output, result.h_n, result.saved[0], result.saved[1]};
}

void gru_gradients(Backward& b) {
  if (is_recorded() || b.has_grad(2) || b.has_grad(3)) return replay_gradients(b, {0, 1, 2, 3, 4, 5}, gru_again);
  const Outputs gradients =
      gru_layer_backward.all(gradient_or_none(b, 0), gradient_or_none(b, 1), b.in(0), b.in(1), b.in(2), b.in(3),
                             b.out(0), b.out(2), b.out(3), b.integers(6), b.boolean(7), b.needs(0));
  for (int argument = 0; argument < 6; argument++) {
    if (b.needs(argument)) b.set(argument, gradients[argument]);
  }
}
const Derive derive_gru_layer{
    "gru_layer", saves(0, 1, 2, 3, 4, 5) | saves_output(0) | saves_output(2) | saves_output(3), gru_gradients};

// rnn_layer(input, h0, weight_ih, weight_hh, bias_ih, bias_hh, batch_sizes, reverse, relu) -> (output, h_n)
std::vector<Tensor> rnn_again(Backward& b, const std::vector<Tensor>& in) {
  const RecurrentTensors tensors{in[0], in[1], {}, in[2], in[3], in[4], in[5], {}};
  const Cell cell = b.boolean(8) ? Cell::relu : Cell::tanh;
  const RecurrentResult result = composed_layer(cell, tensors, b.integers(6), b.boolean(7));
  return {result.output, result.h_n};
}

void rnn_gradients(Backward& b) {
  if (is_recorded()) return replay_gradients(b, {0, 1, 2, 3, 4, 5}, rnn_again);
  const Outputs gradients =
      rnn_layer_backward.all(gradient_or_none(b, 0), gradient_or_none(b, 1), b.in(0), b.in(1), b.in(2), b.in(3),
                             b.out(0), b.integers(6), b.boolean(7), b.boolean(8), b.needs(0));
  for (int argument = 0; argument < 6; argument++) {
    if (b.needs(argument)) b.set(argument, gradients[argument < 4 ? argument : 4]);
  }
}
const Derive derive_rnn_layer{"rnn_layer", saves(0, 1, 2, 3, 4, 5) | saves_output(0), rnn_gradients};

}  // namespace
}  // namespace relume
