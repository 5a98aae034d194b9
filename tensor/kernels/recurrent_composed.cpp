#include "tensor/kernels/recurrent_composed.h"

#include "tensor/kernels/recurrent.h"

namespace relume {
namespace {

const OpFunction linear{"linear"}, relu{"relu"};

Tensor joined(const std::vector<Tensor>& parts, int dim = 0) {
  if (parts.size() == 1) return parts[0];
  std::vector<TensorBody*> bodies;
  for (const Tensor& part : parts) bodies.push_back(part.body());
  return ops::cat(Value(bodies.data(), static_cast<int>(bodies.size())), dim);
}

Tensor rows(const Tensor& tensor, int64_t first, int64_t count) {
  if (first == 0 && count == tensor.size(0)) return tensor;
  return ops::narrow(tensor, 0, first, count);
}

// Part `index` of `count` equal ones along the last dimension.
Tensor gate(const Tensor& gates, int64_t index, int64_t count) {
  const int64_t width = gates.size(1) / count;
  return ops::narrow(gates, 1, index * width, width);
}

// The first rows replaced; the others are of samples that have ended, or have yet to begin.
Tensor with_first_rows(const Tensor& state, const Tensor& fresh) {
  const int64_t count = fresh.size(0), all = state.size(0);
  return count == all ? fresh : joined({fresh, rows(state, count, all - count)});
}

struct State {
  Tensor hidden, cell;
  std::vector<Tensor> gates;  // squashed
  Tensor extra;               // of an LSTM tanh of the cell, of a GRU the hidden state's part of the gates
};

State lstm_step(const RecurrentTensors& t, const Tensor& from_input, const State& before) {
  const Tensor gates = from_input + linear(before.hidden, t.weight_hh, t.bias_hh);
  const Tensor input = ops::sigmoid(gate(gates, 0, 4)), forget = ops::sigmoid(gate(gates, 1, 4));
  const Tensor fresh = ops::tanh(gate(gates, 2, 4)), open = ops::sigmoid(gate(gates, 3, 4));
  const Tensor cell = forget * before.cell + input * fresh;
  const Tensor squashed = ops::tanh(cell), hidden = open * squashed;
  return {t.weight_hr.defined() ? linear(hidden, t.weight_hr) : hidden, cell, {input, forget, fresh, open}, squashed};
}

State gru_step(const RecurrentTensors& t, const Tensor& from_input, const State& before) {
  const Tensor from_hidden = linear(before.hidden, t.weight_hh, t.bias_hh);
  const Tensor reset = ops::sigmoid(gate(from_input, 0, 3) + gate(from_hidden, 0, 3));
  const Tensor update = ops::sigmoid(gate(from_input, 1, 3) + gate(from_hidden, 1, 3));
  const Tensor fresh = ops::tanh(gate(from_input, 2, 3) + reset * gate(from_hidden, 2, 3));
  return {fresh + update * (before.hidden - fresh), {}, {reset, update, fresh}, from_hidden};
}

State step_of(Cell cell, const RecurrentTensors& t, const Tensor& from_input, const State& before) {
  if (cell == Cell::lstm) return lstm_step(t, from_input, before);
  if (cell == Cell::gru) return gru_step(t, from_input, before);
  const Tensor sum = from_input + linear(before.hidden, t.weight_hh, t.bias_hh);
  return {cell == Cell::tanh ? ops::tanh(sum) : relu(sum), {}, {}, {}};
}

}  // namespace

RecurrentResult composed_layer(Cell cell, const RecurrentTensors& t, IntSpan batch_sizes, bool reverse,
                               bool with_saved) {
  const Steps steps("recurrent layer", batch_sizes, reverse);
  const Tensor from_input = linear(t.input, t.weight_ih, t.bias_ih);
  State state{t.h0, t.c0, {}, {}};
  std::vector<Tensor> outputs(steps.count()), cells(steps.count()), gates(steps.count()), extras(steps.count());
  for (int64_t step = 0; step < steps.count(); step++) {
    const int64_t time = steps.time(step), count = steps.sizes[time];
    State before{rows(state.hidden, 0, count), {}, {}, {}};
    if (state.cell.defined()) before.cell = rows(state.cell, 0, count);
    const State after = step_of(cell, t, rows(from_input, steps.offsets[time], count), before);
    outputs[time] = after.hidden;
    state.hidden = with_first_rows(state.hidden, after.hidden);
    if (after.cell.defined()) state.cell = with_first_rows(state.cell, after.cell);
    if (!with_saved) continue;
    cells[time] = after.cell;
    gates[time] = joined(after.gates, 1);
    extras[time] = after.extra;
  }
  RecurrentResult result{joined(outputs), state.hidden, state.cell, {}};
  if (with_saved) {
    const Tensor extra = joined(extras);
    result.saved = {joined(gates), cell == Cell::lstm ? joined({joined(cells), extra}) : extra};
  }
  return result;
}

}  // namespace relume
