// One layer of a plain recurrent network in one direction, over a whole sequence (Elman, 1990).
#include "tensor/kernels/recurrent.h"

namespace relume {
namespace {

// rnn_layer(input, h0, weight_ih, weight_hh, bias_ih, bias_hh, batch_sizes, reverse, relu) -> (output, h_n)
template <class T>
void rnn_layer(Call& call) {
  const LayerArguments<T> given(call, "rnn", {0, 1, 2, 6}, 1);
  const Steps& steps = given.steps;
  const int64_t hidden = given.hidden;
  const RecurrentLayer<T> layer = given.layer();
  const Tensor bias_ih = given.bias_ih(call), bias_hh = given.bias_hh(call);
  const bool relu = call.boolean(8);

  T* output = matrix_output<T>(call, 0, steps.total, hidden);
  T* last_hidden = matrix_output<T>(call, 1, steps.batch, hidden);
  layer.input_gates(given.input(), given.weight_ih(), data_or_null<T>(bias_ih), data_or_null<T>(bias_hh), output);
  const PackedMatrix<T> recurrent(given.weight_hh(), hidden, hidden, 1, hidden);
  const Buffer<T> scratch(steps.batch * hidden);
  layer.over_samples([&](int64_t first, int64_t last) {
    T* own_scratch = scratch.data() + first * hidden;
    for (int64_t step = 0; step < steps.count(); step++) {
      steps.for_each(step, first, last, [&](const StepRows& rows) {
        const T* before = rows.before < 0 ? given.initial() + rows.sample * hidden : output + rows.before * hidden;
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
  const LayerArguments<T> given(call, "rnn", {2, 3, 4, 7}, 1);
  const Steps& steps = given.steps;
  const int64_t hidden = given.hidden;
  const RecurrentLayer<T> layer = given.layer();
  const Tensor output = given.of_steps(call, 6, hidden);
  const Tensor grad_output = gradient_argument<T>(call, 0, steps.total, hidden);
  const bool relu = call.boolean(9), input_needed = call.boolean(10);

  T* grad_input = matrix_output<T>(call, 0, input_needed ? steps.total : 0, given.inputs);
  T* grad_hidden = matrix_output<T>(call, 1, steps.batch, hidden);
  T* grad_weight_ih = matrix_output<T>(call, 2, hidden, given.inputs);
  T* grad_weight_hh = matrix_output<T>(call, 3, hidden, hidden);
  T* grad_bias = vector_output<T>(call, 4, hidden);
  copy_or_zero(gradient_argument<T>(call, 1, steps.batch, hidden), steps.batch * hidden, grad_hidden);

  const Buffer<T> grad_sums(steps.total * hidden);
  const PackedMatrix<T> recurrent(given.weight_hh(), hidden, hidden, hidden, 1);
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
  if (input_needed) layer.input_gradient(grad_sums.data(), given.weight_ih(), grad_input);
  layer.weight_gradient(grad_sums.data(), given.input(), grad_weight_ih);
  layer.recurrent_weight_gradient(grad_sums.data(), output.data_as<const T>(), given.initial(), grad_weight_hh);
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
