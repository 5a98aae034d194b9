// One layer of a plain recurrent network in one direction, over a whole sequence (Elman, 1990).
#include "tensor/copy.h"
#include "tensor/kernels/recurrent.h"
#include "tensor/kernels/window.h"

namespace relume {
namespace {

// rnn_layer(input, h0, weight_ih, weight_hh, bias_ih, bias_hh, batch_sizes, reverse, relu) -> (output, h_n)
template <class T>
void rnn_layer(Call& call) {
  check_matrices(call, 0, 1);
  const Steps steps("rnn", call.integers(6), call.boolean(7));
  const int64_t inputs = call.tensor(0).size(1), hidden = call.tensor(1).size(1);
  const RecurrentLayer<T> layer{steps, inputs, hidden, hidden};
  const Tensor input = matrix_argument<T>(call, 0, steps.total, inputs);
  const Tensor h0 = matrix_argument<T>(call, 1, steps.batch, hidden);
  const Tensor weight_ih = matrix_argument<T>(call, 2, hidden, inputs);
  const Tensor weight_hh = matrix_argument<T>(call, 3, hidden, hidden);
  const Tensor bias_ih = bias_argument<T>(call, 4, hidden), bias_hh = bias_argument<T>(call, 5, hidden);
  const bool relu = call.boolean(8);

  constexpr DType dtype = DTypeOf<T>::value;
  T* output = dense_output(call, 0, {steps.total, hidden}, dtype).template data_as<T>();
  T* last_hidden = dense_output(call, 1, {steps.batch, hidden}, dtype).template data_as<T>();
  layer.input_gates(input.data_as<const T>(), weight_ih.data_as<const T>(), data_or_null<T>(bias_ih),
                    data_or_null<T>(bias_hh), output);
  const PackedMatrix<T> recurrent(weight_hh.data_as<const T>(), hidden, hidden, 1, hidden);
  const Buffer<T> scratch(steps.batch * hidden);
  layer.over_samples([&](int64_t first, int64_t last) {
    T* own_scratch = scratch.data() + first * hidden;
    for (int64_t step = 0; step < steps.count(); step++) {
      steps.for_each(step, first, last, [&](const StepRows& rows) {
        const T* before = rows.before < 0 ? h0.data_as<const T>() + rows.sample * hidden : output + rows.before * hidden;
        T* here = output + rows.row * hidden;
        recurrent.add_product(before, rows.count, here, own_scratch);
        recurrent_loops<T>().rnn_cell(rows.count * hidden, relu, here);
      });
    }
  });
  layer.final_state(output, last_hidden);
}

void rnn_layer_cpu(Call& call) {
  call.tensor(0).dtype() == DType::float64 ? rnn_layer<double>(call) : rnn_layer<float>(call);
}

// rnn_layer_backward(grad_output, grad_h_n, input, h0, weight_ih, weight_hh, output, batch_sizes, reverse, relu,
//                    input_needed)
//   -> gradients of (input, h0, weight_ih, weight_hh, bias)
template <class T>
void rnn_layer_backward(Call& call) {
  check_matrices(call, 2, 3);
  const Steps steps("rnn", call.integers(7), call.boolean(8));
  const int64_t inputs = call.tensor(2).size(1), hidden = call.tensor(3).size(1);
  const RecurrentLayer<T> layer{steps, inputs, hidden, hidden};
  const Tensor input = matrix_argument<T>(call, 2, steps.total, inputs);
  const Tensor h0 = matrix_argument<T>(call, 3, steps.batch, hidden);
  const Tensor weight_ih = matrix_argument<T>(call, 4, hidden, inputs);
  const Tensor weight_hh = matrix_argument<T>(call, 5, hidden, hidden);
  const Tensor output = matrix_argument<T>(call, 6, steps.total, hidden);
  const Tensor grad_output = gradient_argument<T>(call, 0, steps.total, hidden);
  const bool relu = call.boolean(9), input_needed = call.boolean(10);

  constexpr DType dtype = DTypeOf<T>::value;
  T* grad_input = dense_output(call, 0, {input_needed ? steps.total : 0, inputs}, dtype).template data_as<T>();
  T* grad_hidden = dense_output(call, 1, {steps.batch, hidden}, dtype).template data_as<T>();
  T* grad_weight_ih = dense_output(call, 2, {hidden, inputs}, dtype).template data_as<T>();
  T* grad_weight_hh = dense_output(call, 3, {hidden, hidden}, dtype).template data_as<T>();
  T* grad_bias = dense_output(call, 4, {hidden}, dtype).template data_as<T>();
  copy_or_zero(gradient_argument<T>(call, 1, steps.batch, hidden), steps.batch * hidden, grad_hidden);

  const Buffer<T> grad_sums(steps.total * hidden);
  const PackedMatrix<T> recurrent(weight_hh.data_as<const T>(), hidden, hidden, hidden, 1);
  const Buffer<T> scratch(steps.batch * hidden);
  layer.over_samples([&](int64_t first, int64_t last) {
    T* own_scratch = scratch.data() + first * hidden;
    for (int64_t step = steps.count() - 1; step >= 0; step--) {
      steps.for_each(step, first, last, [&](const StepRows& rows) {
        const int64_t at = rows.row * hidden;
        const T* from_output = grad_output.defined() ? grad_output.data_as<const T>() + at : nullptr;
        T* state_grad = grad_hidden + rows.sample * hidden;
        recurrent_loops<T>().rnn_cell_backward(rows.count * hidden, relu, output.data_as<const T>() + at, from_output,
                                               state_grad, grad_sums.data() + at);
        std::fill_n(state_grad, rows.count * hidden, T(0));
        recurrent.add_product(grad_sums.data() + at, rows.count, state_grad, own_scratch);
      });
    }
  });
  if (input_needed) layer.input_gradient(grad_sums.data(), weight_ih.data_as<const T>(), grad_input);
  layer.weight_gradient(grad_sums.data(), input.data_as<const T>(), grad_weight_ih);
  layer.recurrent_weight_gradient(grad_sums.data(), output.data_as<const T>(), h0.data_as<const T>(), grad_weight_hh);
  layer.bias_gradient(grad_sums.data(), grad_bias);
}

void rnn_layer_backward_cpu(Call& call) {
  call.tensor(2).dtype() == DType::float64 ? rnn_layer_backward<double>(call) : rnn_layer_backward<float>(call);
}

const Register register_rnn_layer{
    "rnn_layer(Tensor input, Tensor h0, Tensor weight_ih, Tensor weight_hh, Tensor? bias_ih, Tensor? bias_hh, int[] "
    "batch_sizes, bool reverse, bool relu) -> (Tensor, Tensor)",
    "One layer of rnn_tanh or rnn_relu in one direction: output and last hidden state.", {Trait::internal},
    rnn_layer_cpu};
// Called with the tape off only: what is recorded instead runs the layer again in ops.
const Register register_rnn_layer_backward{
    "rnn_layer_backward(Tensor? grad_output, Tensor? grad_hidden, Tensor input, Tensor h0, Tensor weight_ih, Tensor "
    "weight_hh, Tensor output, int[] batch_sizes, bool reverse, bool relu, bool input_needed) -> (Tensor, Tensor, "
    "Tensor, Tensor, Tensor)",
    "Gradients of rnn_layer with respect to its tensors (one for both biases).",
    {Trait::internal, Trait::not_differentiable}, rnn_layer_backward_cpu};

}  // namespace
}  // namespace relume
