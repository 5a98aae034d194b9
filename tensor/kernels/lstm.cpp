// One layer of LSTM in one direction, over a whole sequence (Hochreiter and Schmidhuber, 1997).
#include "tensor/kernels/recurrent.h"

namespace relume {
namespace {

// lstm_layer(input, h0, c0, weight_ih, weight_hh, bias_ih, bias_hh, batch_sizes, reverse)
//   -> (output, h_n, c_n, gates, cells)
// `cells` holds the rows of the cells, then those of their tanh.
template <class T>
void lstm_layer(Call& call) {
  const LayerArguments<T> given(call, "lstm", {0, 1, 3, 7}, 4);
  const Steps& steps = given.steps;
  const int64_t hidden = given.hidden, gates = given.gates;
  const RecurrentLayer<T> layer = given.layer();
  const Tensor c0 = given.of_samples(call, 2), bias_ih = given.bias_ih(call), bias_hh = given.bias_hh(call);

  T* output = matrix_output<T>(call, 0, steps.total, hidden);
  T* last_hidden = matrix_output<T>(call, 1, steps.batch, hidden);
  T* last_cell = matrix_output<T>(call, 2, steps.batch, hidden);
  T* all_gates = matrix_output<T>(call, 3, steps.total, gates);
  T* cells = matrix_output<T>(call, 4, 2 * steps.total, hidden);
  T* tanh_cells = cells + steps.total * hidden;

  layer.input_gates(given.input(), given.weight_ih(), data_or_null<T>(bias_ih), data_or_null<T>(bias_hh), all_gates);
  const PackedMatrix<T> recurrent(given.weight_hh(), hidden, gates, 1, hidden);
  const Buffer<T> scratch(steps.batch * hidden);
  layer.over_samples([&](int64_t first, int64_t last) {
    T* own_scratch = scratch.data() + first * hidden;
    for (int64_t step = 0; step < steps.count(); step++) {
      steps.for_each(step, first, last, [&](const StepRows& rows) {
        const bool begins = rows.before < 0;
        const int64_t before = (begins ? rows.sample : rows.before) * hidden, at = rows.row * hidden;
        const T* hidden_before = (begins ? given.initial() : output) + before;
        const T* cell_before = (begins ? c0.data_as<const T>() : cells) + before;
        T* row_gates = all_gates + rows.row * gates;
        recurrent.add_product(hidden_before, rows.count, row_gates, own_scratch);
        recurrent_loops<T>().lstm_cell(rows.count, hidden, row_gates, cell_before, cells + at, tanh_cells + at,
                                       output + at);
      });
    }
  });
  layer.final_state(output, last_hidden);
  layer.final_state(cells, last_cell);
}

void lstm_layer_cpu(Call& call) {
  call.tensor(0).dtype() == DType::float64 ? lstm_layer<double>(call) : lstm_layer<float>(call);
}

// lstm_layer_backward(grad_output, grad_h_n, grad_c_n, input, h0, c0, weight_ih, weight_hh, output, gates, cells,
//                     batch_sizes, reverse, input_needed)
//   -> gradients of (input, h0, c0, weight_ih, weight_hh, bias)
template <class T>
void lstm_layer_backward(Call& call) {
  const LayerArguments<T> given(call, "lstm", {3, 4, 6, 11}, 4);
  const Steps& steps = given.steps;
  const int64_t hidden = given.hidden, gates = given.gates;
  const RecurrentLayer<T> layer = given.layer();
  const Tensor c0 = given.of_samples(call, 5);
  const Tensor output = given.of_steps(call, 8, hidden), saved_gates = given.of_steps(call, 9, gates);
  const Tensor saved_cells = matrix_argument<T>(call, 10, 2 * steps.total, hidden);
  const T* all_gates = saved_gates.data_as<const T>();
  const T* cells = saved_cells.data_as<const T>();
  const T* tanh_cells = cells + steps.total * hidden;
  const Tensor grad_output = gradient_argument<T>(call, 0, steps.total, hidden);

  const bool input_needed = call.boolean(13);
  T* grad_input = matrix_output<T>(call, 0, input_needed ? steps.total : 0, given.inputs);
  T* grad_hidden = matrix_output<T>(call, 1, steps.batch, hidden);
  T* grad_cell = matrix_output<T>(call, 2, steps.batch, hidden);
  T* grad_weight_ih = matrix_output<T>(call, 3, gates, given.inputs);
  T* grad_weight_hh = matrix_output<T>(call, 4, gates, hidden);
  T* grad_bias = vector_output<T>(call, 5, gates);
  copy_or_zero(gradient_argument<T>(call, 1, steps.batch, hidden), steps.batch * hidden, grad_hidden);
  copy_or_zero(gradient_argument<T>(call, 2, steps.batch, hidden), steps.batch * hidden, grad_cell);

  const Buffer<T> grad_gates(steps.total * gates);
  const PackedMatrix<T> recurrent(given.weight_hh(), gates, hidden, hidden, 1);
  const Buffer<T> scratch(steps.batch * gates);
  layer.over_samples([&](int64_t first, int64_t last) {
    T* own_scratch = scratch.data() + first * gates;
    for (int64_t step = steps.count() - 1; step >= 0; step--) {
      steps.for_each(step, first, last, [&](const StepRows& rows) {
        const bool begins = rows.before < 0;
        const int64_t before = (begins ? rows.sample : rows.before) * hidden, at = rows.row * hidden;
        const T* cell_before = (begins ? c0.data_as<const T>() : cells) + before;
        const T* from_output = grad_output.defined() ? grad_output.data_as<const T>() + at : nullptr;
        T* row_grad = grad_gates.data() + rows.row * gates;
        T* state_grad = grad_hidden + rows.sample * hidden;
        recurrent_loops<T>().lstm_cell_backward(rows.count, hidden, all_gates + rows.row * gates, cell_before,
                                                tanh_cells + at, from_output, state_grad,
                                                grad_cell + rows.sample * hidden, row_grad);
        std::fill_n(state_grad, rows.count * hidden, T(0));
        recurrent.add_product(row_grad, rows.count, state_grad, own_scratch);
      });
    }
  });
  if (input_needed) layer.input_gradient(grad_gates.data(), given.weight_ih(), grad_input);
  layer.weight_gradient(grad_gates.data(), given.input(), grad_weight_ih);
  layer.recurrent_weight_gradient(grad_gates.data(), output.data_as<const T>(), given.initial(), grad_weight_hh);
  layer.bias_gradient(grad_gates.data(), grad_bias);
}

void lstm_layer_backward_cpu(Call& call) {
  call.tensor(3).dtype() == DType::float64 ? lstm_layer_backward<double>(call) : lstm_layer_backward<float>(call);
}

const Register register_lstm_layer{
    "lstm_layer(Tensor input, Tensor h0, Tensor c0, Tensor weight_ih, Tensor weight_hh, Tensor? bias_ih, Tensor? "
    "bias_hh, int[] batch_sizes, bool reverse) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    "One layer of lstm in one direction: output, last hidden state and cell; and the gates and cells.",
    {Trait::internal}, lstm_layer_cpu};
// Called with the tape off only: what is recorded instead runs the layer again in ops.
const Register register_lstm_layer_backward{
    "lstm_layer_backward(Tensor? grad_output, Tensor? grad_hidden, Tensor? grad_cell, Tensor input, Tensor h0, "
    "Tensor c0, Tensor weight_ih, Tensor weight_hh, Tensor output, Tensor gates, Tensor cells, int[] batch_sizes, "
    "bool reverse, bool input_needed) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
    "Gradients of lstm_layer with respect to its tensors (one for both biases).",
    {Trait::internal, Trait::not_differentiable}, lstm_layer_backward_cpu};

}  // namespace
}  // namespace relume
