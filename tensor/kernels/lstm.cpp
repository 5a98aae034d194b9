// One layer of LSTM in one direction, over a whole sequence (Hochreiter and Schmidhuber, 1997).
#include "tensor/copy.h"
#include "tensor/kernels/recurrent.h"
#include "tensor/kernels/window.h"

namespace relume {
namespace {

// lstm_layer(input, h0, c0, weight_ih, weight_hh, bias_ih, bias_hh, batch_sizes, reverse)
//   -> (output, h_n, c_n, gates, cells)
// `cells` holds the rows of the cells, then those of their tanh.
template <class T>
void lstm_layer(Call& call) {
  check_matrices(call, 0, 1);
  const Steps steps("lstm", call.integers(7), call.boolean(8));
  const int64_t inputs = call.tensor(0).size(1), hidden = call.tensor(1).size(1), gates = 4 * hidden;
  const RecurrentLayer<T> layer{steps, inputs, hidden, gates};
  const Tensor input = matrix_argument<T>(call, 0, steps.total, inputs);
  const Tensor h0 = matrix_argument<T>(call, 1, steps.batch, hidden);
  const Tensor c0 = matrix_argument<T>(call, 2, steps.batch, hidden);
  const Tensor weight_ih = matrix_argument<T>(call, 3, gates, inputs);
  const Tensor weight_hh = matrix_argument<T>(call, 4, gates, hidden);
  const Tensor bias_ih = bias_argument<T>(call, 5, gates), bias_hh = bias_argument<T>(call, 6, gates);

  constexpr DType dtype = DTypeOf<T>::value;
  T* output = dense_output(call, 0, {steps.total, hidden}, dtype).template data_as<T>();
  T* last_hidden = dense_output(call, 1, {steps.batch, hidden}, dtype).template data_as<T>();
  T* last_cell = dense_output(call, 2, {steps.batch, hidden}, dtype).template data_as<T>();
  T* all_gates = dense_output(call, 3, {steps.total, gates}, dtype).template data_as<T>();
  T* cells = dense_output(call, 4, {2 * steps.total, hidden}, dtype).template data_as<T>();
  T* tanh_cells = cells + steps.total * hidden;

  layer.input_gates(input.data_as<const T>(), weight_ih.data_as<const T>(),
                    data_or_null<T>(bias_ih), data_or_null<T>(bias_hh), all_gates);
  const PackedMatrix<T> recurrent(weight_hh.data_as<const T>(), hidden, gates, 1, hidden);
  const Buffer<T> scratch(steps.batch * hidden);
  layer.over_samples([&](int64_t first, int64_t last) {
    T* own_scratch = scratch.data() + first * hidden;
    for (int64_t step = 0; step < steps.count(); step++) {
      steps.for_each(step, first, last, [&](const StepRows& rows) {
        const bool begins = rows.before < 0;
        const int64_t before = (begins ? rows.sample : rows.before) * hidden, at = rows.row * hidden;
        const T* hidden_before = (begins ? h0.data_as<const T>() : output) + before;
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
  check_matrices(call, 3, 4);
  const Steps steps("lstm", call.integers(11), call.boolean(12));
  const int64_t inputs = call.tensor(3).size(1), hidden = call.tensor(4).size(1), gates = 4 * hidden;
  const RecurrentLayer<T> layer{steps, inputs, hidden, gates};
  const Tensor input = matrix_argument<T>(call, 3, steps.total, inputs);
  const Tensor h0 = matrix_argument<T>(call, 4, steps.batch, hidden);
  const Tensor c0 = matrix_argument<T>(call, 5, steps.batch, hidden);
  const Tensor weight_ih = matrix_argument<T>(call, 6, gates, inputs);
  const Tensor weight_hh = matrix_argument<T>(call, 7, gates, hidden);
  const Tensor output = matrix_argument<T>(call, 8, steps.total, hidden);
  const Tensor saved_gates = matrix_argument<T>(call, 9, steps.total, gates);
  const Tensor saved_cells = matrix_argument<T>(call, 10, 2 * steps.total, hidden);
  const T* all_gates = saved_gates.data_as<const T>();
  const T* cells = saved_cells.data_as<const T>();
  const T* tanh_cells = cells + steps.total * hidden;
  const Tensor grad_output = gradient_argument<T>(call, 0, steps.total, hidden);

  constexpr DType dtype = DTypeOf<T>::value;
  const bool input_needed = call.boolean(13);
  T* grad_input = dense_output(call, 0, {input_needed ? steps.total : 0, inputs}, dtype).template data_as<T>();
  T* grad_hidden = dense_output(call, 1, {steps.batch, hidden}, dtype).template data_as<T>();
  T* grad_cell = dense_output(call, 2, {steps.batch, hidden}, dtype).template data_as<T>();
  T* grad_weight_ih = dense_output(call, 3, {gates, inputs}, dtype).template data_as<T>();
  T* grad_weight_hh = dense_output(call, 4, {gates, hidden}, dtype).template data_as<T>();
  T* grad_bias = dense_output(call, 5, {gates}, dtype).template data_as<T>();
  copy_or_zero(gradient_argument<T>(call, 1, steps.batch, hidden), steps.batch * hidden, grad_hidden);
  copy_or_zero(gradient_argument<T>(call, 2, steps.batch, hidden), steps.batch * hidden, grad_cell);

  const Buffer<T> grad_gates(steps.total * gates);
  const PackedMatrix<T> recurrent(weight_hh.data_as<const T>(), gates, hidden, hidden, 1);
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
  if (input_needed) layer.input_gradient(grad_gates.data(), weight_ih.data_as<const T>(), grad_input);
  layer.weight_gradient(grad_gates.data(), input.data_as<const T>(), grad_weight_ih);
  layer.recurrent_weight_gradient(grad_gates.data(), output.data_as<const T>(), h0.data_as<const T>(), grad_weight_hh);
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
