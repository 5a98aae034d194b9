// One layer of gated recurrent units in one direction, over a whole sequence (Cho et al., 2014).
#include "tensor/kernels/recurrent.h"

namespace relume {
namespace {

// gru_layer(input, h0, weight_ih, weight_hh, bias_ih, bias_hh, batch_sizes, reverse)
//   -> (output, h_n, gates, from_hidden)
// `from_hidden` holds what the hidden state adds to the gates.
template <class T>
void gru_layer(Call& call) {
  const LayerArguments<T> given(call, "gru", {0, 1, 2, 6}, 3);
  const Steps& steps = given.steps;
  const int64_t hidden = given.hidden, gates = given.gates;
  const RecurrentLayer<T> layer = given.layer();
  const Tensor bias_ih = given.bias_ih(call), bias_hh = given.bias_hh(call);

  T* output = matrix_output<T>(call, 0, steps.total, hidden);
  T* last_hidden = matrix_output<T>(call, 1, steps.batch, hidden);
  T* all_gates = matrix_output<T>(call, 2, steps.total, gates);
  T* from_hidden = matrix_output<T>(call, 3, steps.total, gates);

  layer.input_gates(given.input(), given.weight_ih(), data_or_null<T>(bias_ih), nullptr, all_gates);
  layer.fill_rows(data_or_null<T>(bias_hh), from_hidden);
  const PackedMatrix<T> recurrent(given.weight_hh(), hidden, gates, 1, hidden);
  const Buffer<T> scratch(steps.batch * hidden);
  layer.over_samples([&](int64_t first, int64_t last) {
    T* own_scratch = scratch.data() + first * hidden;
    for (int64_t step = 0; step < steps.count(); step++) {
      steps.for_each(step, first, last, [&](const StepRows& rows) {
        const T* before = rows.before < 0 ? given.initial() + rows.sample * hidden : output + rows.before * hidden;
        T* recurrent_gates = from_hidden + rows.row * gates;
        recurrent.add_product(before, rows.count, recurrent_gates, own_scratch);
        recurrent_loops<T>().gru_cell(rows.count, hidden, all_gates + rows.row * gates, recurrent_gates, before,
                                      output + rows.row * hidden);
      });
    }
  });
  layer.final_state(output, last_hidden);
}

void gru_layer_cpu(Call& call) {
  call.tensor(0).dtype() == DType::float64 ? gru_layer<double>(call) : gru_layer<float>(call);
}

// gru_layer_backward(grad_output, grad_h_n, input, h0, weight_ih, weight_hh, output, gates, from_hidden, batch_sizes,
//                    reverse, input_needed)
//   -> gradients of (input, h0, weight_ih, weight_hh, bias_ih, bias_hh)
template <class T>
void gru_layer_backward(Call& call) {
  const LayerArguments<T> given(call, "gru", {2, 3, 4, 9}, 3);
  const Steps& steps = given.steps;
  const int64_t hidden = given.hidden, gates = given.gates;
  const RecurrentLayer<T> layer = given.layer();
  const Tensor output = given.of_steps(call, 6, hidden);
  const Tensor all_gates = given.of_steps(call, 7, gates), from_hidden = given.of_steps(call, 8, gates);
  const Tensor grad_output = gradient_argument<T>(call, 0, steps.total, hidden);

  const bool input_needed = call.boolean(11);
  T* grad_input = matrix_output<T>(call, 0, input_needed ? steps.total : 0, given.inputs);
  T* grad_hidden = matrix_output<T>(call, 1, steps.batch, hidden);
  T* grad_weight_ih = matrix_output<T>(call, 2, gates, given.inputs);
  T* grad_weight_hh = matrix_output<T>(call, 3, gates, hidden);
  T* grad_bias_ih = vector_output<T>(call, 4, gates);
  T* grad_bias_hh = vector_output<T>(call, 5, gates);
  copy_or_zero(gradient_argument<T>(call, 1, steps.batch, hidden), steps.batch * hidden, grad_hidden);

  const Buffer<T> grad_gates(steps.total * gates), grad_from_hidden(steps.total * gates);
  const PackedMatrix<T> recurrent(given.weight_hh(), gates, hidden, hidden, 1);
  const Buffer<T> scratch(steps.batch * gates);
  layer.over_samples([&](int64_t first, int64_t last) {
    T* own_scratch = scratch.data() + first * gates;
    for (int64_t step = steps.count() - 1; step >= 0; step--) {
      steps.for_each(step, first, last, [&](const StepRows& rows) {
        const int64_t at = rows.row * hidden;
        const T* before = rows.before < 0 ? given.initial() + rows.sample * hidden
                                          : output.data_as<const T>() + rows.before * hidden;
        const T* from_output = grad_output.defined() ? grad_output.data_as<const T>() + at : nullptr;
        T* state_grad = grad_hidden + rows.sample * hidden;
        T* recurrent_grad = grad_from_hidden.data() + rows.row * gates;
        recurrent_loops<T>().gru_cell_backward(
            rows.count, hidden, all_gates.data_as<const T>() + rows.row * gates,
            from_hidden.data_as<const T>() + rows.row * gates, before, from_output, state_grad,
            grad_gates.data() + rows.row * gates, recurrent_grad);
        recurrent.add_product(recurrent_grad, rows.count, state_grad, own_scratch);
      });
    }
  });
  if (input_needed) layer.input_gradient(grad_gates.data(), given.weight_ih(), grad_input);
  layer.weight_gradient(grad_gates.data(), given.input(), grad_weight_ih);
  layer.recurrent_weight_gradient(grad_from_hidden.data(), output.data_as<const T>(), given.initial(), grad_weight_hh);
  layer.bias_gradient(grad_gates.data(), grad_bias_ih);
  layer.bias_gradient(grad_from_hidden.data(), grad_bias_hh);
}

void gru_layer_backward_cpu(Call& call) {
  call.tensor(2).dtype() == DType::float64 ? gru_layer_backward<double>(call) : gru_layer_backward<float>(call);
}

const Register register_gru_layer{
    "gru_layer(Tensor input, Tensor h0, Tensor weight_ih, Tensor weight_hh, Tensor? bias_ih, Tensor? bias_hh, int[] "
    "batch_sizes, bool reverse) -> (Tensor, Tensor, Tensor, Tensor)",
    "One layer of gru in one direction: output and last hidden state; and the gates and the hidden state's part of "
    "them.",
    {Trait::internal}, gru_layer_cpu};
// Called with the tape off only: what is recorded instead runs the layer again in ops.
const Register register_gru_layer_backward{
    "gru_layer_backward(Tensor? grad_output, Tensor? grad_hidden, Tensor input, Tensor h0, Tensor weight_ih, Tensor "
    "weight_hh, Tensor output, Tensor gates, Tensor from_hidden, int[] batch_sizes, bool reverse, bool input_needed) "
    "-> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
    "Gradients of gru_layer with respect to its tensors.", {Trait::internal, Trait::not_differentiable},
    gru_layer_backward_cpu};

}  // namespace
}  // namespace relume
