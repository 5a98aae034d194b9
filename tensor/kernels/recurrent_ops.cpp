// lstm, gru and rnn: layers on layers, in one or both directions, over dense sequences or
// packed ones, in terms of the fused layers; and single cells.
#include <string>

#include "tensor/kernels/recurrent_composed.h"

namespace relume {
namespace {

const OpFunction lstm_layer{"lstm_layer"}, gru_layer{"gru_layer"}, rnn_layer{"rnn_layer"}, dropout{"dropout"};

int gates_of(Cell cell) { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }

RecurrentTensors converted(RecurrentTensors t, DType dtype) {
  for (Tensor* tensor : {&t.input, &t.h0, &t.c0, &t.weight_ih, &t.weight_hh, &t.bias_ih, &t.bias_hh, &t.weight_hr}) {
    if (tensor->defined()) *tensor = ops::to_dtype(*tensor, dtype);
  }
  return t;
}

RecurrentResult run_layer(Cell cell, const RecurrentTensors& t, IntSpan batch_sizes, bool reverse) {
  const DType dtype = t.input.dtype();
  if (item_size(dtype) == 2) {  // sums over many steps need more bits
    RecurrentResult result = run_layer(cell, converted(t, DType::float32), batch_sizes, reverse);
    for (Tensor* tensor : {&result.output, &result.h_n, &result.c_n}) {
      if (tensor->defined()) *tensor = ops::to_dtype(*tensor, dtype);
    }
    return result;
  }
  if (t.weight_hr.defined()) return composed_layer(cell, t, batch_sizes, reverse);
  if (cell == Cell::lstm) {
    const Outputs result = lstm_layer.all(t.input, t.h0, t.c0, t.weight_ih, t.weight_hh, t.bias_ih, t.bias_hh,
                                          batch_sizes, reverse);
    return {result[0], result[1], result[2], {}};
  }
  if (cell == Cell::gru) {
    const Outputs result = gru_layer.all(t.input, t.h0, t.weight_ih, t.weight_hh, t.bias_ih, t.bias_hh, batch_sizes,
                                         reverse);
    return {result[0], result[1], {}, {}};
  }
  const Outputs result = rnn_layer.all(t.input, t.h0, t.weight_ih, t.weight_hh, t.bias_ih, t.bias_hh, batch_sizes,
                                       reverse, cell == Cell::relu);
  return {result[0], result[1], {}, {}};
}

Tensor joined(const std::vector<Tensor>& parts, int dim) {
  if (parts.size() == 1) return parts[0];
  std::vector<TensorBody*> bodies;
  for (const Tensor& part : parts) bodies.push_back(part.body());
  return ops::cat(Value(bodies.data(), static_cast<int>(bodies.size())), dim);
}

// The arguments that lstm, gru and rnn share, by position; hx is the second.
constexpr int kInput = 0, kHidden = 1, kParameters = 2, kHasBiases = 3, kLayers = 4, kDropout = 5, kTrain = 6,
              kBidirectional = 7, kBatchFirst = 8, kBatchSizes = 9;

class Stack {
 public:
  Stack(Call& call, Cell cell, const Tensor& h0, const Tensor& c0)
      : call_(call), cell_(cell), parameters_(call.tensors(kParameters)), layers_(call.integer(kLayers)),
        directions_(call.boolean(kBidirectional) ? 2 : 1), h0_(h0), c0_(c0) {
    check(layers_ >= 1, name(), ": num_layers must be at least 1, not ", layers_);
    const double p = call.real(kDropout);
    check(p >= 0 && p <= 1, name(), ": dropout must be between 0 and 1, not ", p);
    check(layers_ <= static_cast<int64_t>(parameters_.size()), name(), ": ", layers_,
          " layers need as many groups of parameters, not ", parameters_.size(), " tensors");
    const int64_t parts = layers_ * directions_;
    per_layer_ = call.boolean(kHasBiases) ? 4 : 2;
    projected_ = cell == Cell::lstm && static_cast<int64_t>(parameters_.size()) == parts * (per_layer_ + 1);
    per_layer_ += projected_ ? 1 : 0;
    check(static_cast<int64_t>(parameters_.size()) == parts * per_layer_, name(), ": ", parts, " layers and directions "
          "need ", parts * per_layer_, " parameters, not ", parameters_.size());
    read_input();
    check_parameters();
    check_state("h0", h0_, projected_ ? parameters_[per_layer_ - 1].size(0) : hidden());
    if (c0_.defined()) check_state("c0", c0_, hidden());
  }

  void run() {
    Tensor sequence = sequence_;
    std::vector<Tensor> last_hidden, last_cell;
    for (int64_t layer = 0; layer < layers_; layer++) {
      std::vector<Tensor> outputs;
      for (int64_t direction = 0; direction < directions_; direction++) {
        const int64_t part = layer * directions_ + direction;
        const RecurrentResult result = run_layer(cell_, tensors(part, sequence), sizes_, direction == 1);
        outputs.push_back(result.output);
        last_hidden.push_back(as_part(result.h_n));
        if (result.c_n.defined()) last_cell.push_back(as_part(result.c_n));
      }
      sequence = joined(outputs, 1);
      if (layer + 1 < layers_ && call_.boolean(kTrain) && call_.real(kDropout) > 0) {
        sequence = dropout(sequence, call_.real(kDropout), true);
      }
    }
    call_.set_output(0, in_the_shape_of_the_input(sequence));
    call_.set_output(1, joined(last_hidden, 0));
    if (c0_.defined()) call_.set_output(2, joined(last_cell, 0));
  }

 private:
  const std::string& name() const { return call_.op.name(); }
  int64_t hidden() const { return parameters_[1].size(0) / gates_of(cell_); }

  // As rows of all steps, see recurrent.h.
  void read_input() {
    const Tensor input = call_.tensor(kInput);
    packed_ = call_.has(kBatchSizes);
    if (packed_) {
      check(input.ndim() == 2, name(), ": with batch_sizes the input must have shape (rows of all steps, inputs), not ",
            input.shape());
      sizes_ = call_.integers(kBatchSizes).vector();
      check(!sizes_.empty(), name(), ": batch_sizes must hold at least one step");
      batch_ = sizes_[0];
      sequence_ = input;
      return;
    }
    check(input.ndim() == 3, name(), ": the input must have shape (time, batch, inputs), or (batch, time, inputs) with "
          "batch_first, not ", input.shape());
    const Tensor by_time = call_.boolean(kBatchFirst) ? ops::transpose(input, 0, 1) : input;
    time_ = by_time.size(0);
    batch_ = by_time.size(1);
    check(time_ > 0, name(), ": the sequence must have at least one step, but the input has shape ", input.shape());
    sizes_.assign(time_, batch_);
    sequence_ = ops::reshape(by_time, IntSpan({time_ * batch_, by_time.size(2)}));
  }

  Tensor in_the_shape_of_the_input(const Tensor& sequence) const {
    if (packed_) return sequence;
    const Tensor output = ops::reshape(sequence, IntSpan({time_, batch_, sequence.size(1)}));
    return call_.boolean(kBatchFirst) ? ops::transpose(output, 0, 1) : output;
  }

  void check_parameters() const {
    for (std::size_t i = 0; i < parameters_.size(); i++) {
      const int64_t place = static_cast<int64_t>(i) % per_layer_;
      const bool matrix = place < 2 || (projected_ && place == per_layer_ - 1);
      check(parameters_[i].ndim() == (matrix ? 2 : 1), name(), ": parameter ", i, " must have ", matrix ? 2 : 1,
            " dimensions, not shape ", parameters_[i].shape());
      check(parameters_[i].dtype() == sequence_.dtype() && is_floating(sequence_.dtype()), name(),
            ": input and parameters must have one floating-point type, not ", relume::name(sequence_.dtype()), " and ",
            relume::name(parameters_[i].dtype()));
    }
    check(hidden() * gates_of(cell_) == parameters_[1].size(0), name(), ": weight_hh must have ", gates_of(cell_),
          " times as many rows as the hidden state has elements, not shape ", parameters_[1].shape());
  }

  void check_state(const char* which, const Tensor& state, int64_t width) const {
    const int64_t expected[] = {layers_ * directions_, batch_, width};
    check(state.shape() == IntSpan(expected, 3), name(), ": ", which, " must have shape ", IntSpan(expected, 3),
          " (layers times directions, batch, hidden), not ", state.shape());
  }

  Tensor state_of(const Tensor& states, int64_t part) const {
    if (!states.defined()) return {};
    if (states.size(0) == 1) return ops::reshape(states, IntSpan({states.size(1), states.size(2)}));
    return ops::select(states, 0, part);
  }

  static Tensor as_part(const Tensor& state) {
    return ops::reshape(state, IntSpan({1, state.size(0), state.size(1)}));
  }

  RecurrentTensors tensors(int64_t part, const Tensor& sequence) const {
    const Tensor* own = &parameters_[part * per_layer_];
    RecurrentTensors t;
    t.input = sequence;
    t.h0 = state_of(h0_, part);
    t.c0 = state_of(c0_, part);
    t.weight_ih = own[0];
    t.weight_hh = own[1];
    if (call_.boolean(kHasBiases)) {
      t.bias_ih = own[2];
      t.bias_hh = own[3];
    }
    if (projected_) t.weight_hr = own[per_layer_ - 1];
    return t;
  }

  Call& call_;
  const Cell cell_;
  const std::vector<Tensor> parameters_;
  const int64_t layers_, directions_;
  int64_t per_layer_ = 0;  // parameters of one layer in one direction
  bool projected_ = false, packed_ = false;
  const Tensor h0_, c0_;
  Tensor sequence_;
  std::vector<int64_t> sizes_;
  int64_t time_ = 0, batch_ = 0;
};

void lstm_cpu(Call& call) {
  const std::vector<Tensor> states = call.tensors(kHidden);
  check(states.size() == 2, "lstm: hx must hold two tensors, h0 and c0, not ", states.size());
  Stack(call, Cell::lstm, states[0], states[1]).run();
}

template <Cell cell>
void recurrent_cpu(Call& call) {
  Stack(call, cell, call.tensor(kHidden), {}).run();
}

// A cell is a layer over a sequence of one step; an input without a batch is a batch of one.
template <Cell cell>
RecurrentResult one_step(Call& call, const Tensor& h, const Tensor& c) {
  const Tensor input = call.tensor(0);
  check(input.ndim() == 1 || input.ndim() == 2, call.op.name(), ": the input must have shape (batch, inputs) or "
        "(inputs), not ", input.shape());
  const bool batched = input.ndim() == 2;
  const auto as_batch = [&](const Tensor& tensor, const char* which) {
    check(tensor.ndim() == input.ndim(), call.op.name(), ": ", which, " must have as many dimensions as the input, not "
          "shape ", tensor.shape());
    return batched ? tensor : ops::unsqueeze(tensor, 0);
  };
  RecurrentTensors t;
  t.input = as_batch(input, "input");
  t.h0 = as_batch(h, "the hidden state");
  if (c.defined()) t.c0 = as_batch(c, "the cell");
  t.weight_ih = call.tensor(2);
  t.weight_hh = call.tensor(3);
  t.bias_ih = call.tensor(4);
  t.bias_hh = call.tensor(5);
  check(t.weight_ih.ndim() == 2 && t.weight_hh.ndim() == 2, call.op.name(), ": weights must be matrices");
  const int64_t size = t.input.size(0);
  RecurrentResult result = run_layer(cell, t, {size}, false);
  if (!batched) {
    result.h_n = ops::select(result.h_n, 0, 0);
    if (result.c_n.defined()) result.c_n = ops::select(result.c_n, 0, 0);
  }
  return result;
}

void lstm_cell_cpu(Call& call) {
  const std::vector<Tensor> states = call.tensors(1);
  check(states.size() == 2, "lstm_cell: hx must hold two tensors, h and c, not ", states.size());
  const RecurrentResult result = one_step<Cell::lstm>(call, states[0], states[1]);
  call.set_output(0, result.h_n);
  call.set_output(1, result.c_n);
}

template <Cell cell>
void recurrent_cell_cpu(Call& call) {
  call.set_output(0, one_step<cell>(call, call.tensor(1), {}).h_n);
}

const Register register_lstm{
    "lstm(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases=True, int num_layers=1, float dropout=0, bool "
    "train=False, bool bidirectional=False, bool batch_first=False, *, int[]? batch_sizes=None) -> (Tensor, Tensor, "
    "Tensor)",
    "Long short-term memory over a sequence (time, batch, inputs): output, last hidden states and last cells "
    "(Hochreiter and Schmidhuber, 1997). params holds weight_ih, weight_hh, bias_ih and bias_hh of every layer and "
    "direction (and weight_hr where the hidden state is projected); gates come in the order input, forget, cell, "
    "output.",
    {Trait::composite, Trait::no_method, Trait::no_out}, lstm_cpu};
const Register register_gru{
    "gru(Tensor input, Tensor hx, Tensor[] params, bool has_biases=True, int num_layers=1, float dropout=0, bool "
    "train=False, bool bidirectional=False, bool batch_first=False, *, int[]? batch_sizes=None) -> (Tensor, Tensor)",
    "Gated recurrent units over a sequence (time, batch, inputs): output and last hidden states (Cho et al., 2014). "
    "Gates come in the order reset, update, new; the rest is as in lstm.",
    {Trait::composite, Trait::no_method, Trait::no_out}, recurrent_cpu<Cell::gru>};
const Register register_rnn_tanh{
    "rnn_tanh(Tensor input, Tensor hx, Tensor[] params, bool has_biases=True, int num_layers=1, float dropout=0, bool "
    "train=False, bool bidirectional=False, bool batch_first=False, *, int[]? batch_sizes=None) -> (Tensor, Tensor)",
    "A recurrent layer h = tanh(weight_ih x + weight_hh h) over a sequence (Elman, 1990); the rest is as in lstm.",
    {Trait::composite, Trait::no_method, Trait::no_out}, recurrent_cpu<Cell::tanh>};
const Register register_rnn_relu{
    "rnn_relu(Tensor input, Tensor hx, Tensor[] params, bool has_biases=True, int num_layers=1, float dropout=0, bool "
    "train=False, bool bidirectional=False, bool batch_first=False, *, int[]? batch_sizes=None) -> (Tensor, Tensor)",
    "rnn_tanh with relu in place of tanh.", {Trait::composite, Trait::no_method, Trait::no_out},
    recurrent_cpu<Cell::relu>};
const Register register_lstm_cell{
    "lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, "
    "Tensor)",
    "One step of lstm: the next hidden state and cell.", {Trait::composite, Trait::no_method, Trait::no_out},
    lstm_cell_cpu};
const Register register_gru_cell{
    "gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
    "One step of gru: the next hidden state.", {Trait::composite, Trait::no_method}, recurrent_cell_cpu<Cell::gru>};
const Register register_rnn_tanh_cell{
    "rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
    "One step of rnn_tanh: the next hidden state.", {Trait::composite, Trait::no_method},
    recurrent_cell_cpu<Cell::tanh>};
const Register register_rnn_relu_cell{
    "rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
    "One step of rnn_relu: the next hidden state.", {Trait::composite, Trait::no_method},
    recurrent_cell_cpu<Cell::relu>};

}  // namespace
}  // namespace relume
