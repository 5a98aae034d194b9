// One layer of gated recurrent units in one direction, over a whole sequence (Cho et al., 2014).
#include "tensor/copy.h"
#include "tensor/kernels/recurrent.h"
#include "tensor/kernels/window.h"

namespace relume {
namespace {

// gru_layer(input, h0, weight_ih, weight_hh, bias_ih, bias_hh, batch_sizes, reverse)
//   -> (output, h_n, gates, from_hidden)
// `from_hidden` holds what the hidden state adds to the gates.
template <class T>
void gru_layer(Call& call) {
  check_matrices(call, 0, 1);
  const Steps steps("gru", call.integers(6), call.boolean(7));
  const int64_t inputs = call.tensor(0).size(1), hidden = call.tensor(1).size(1), gates = 3 * hidden;
  const RecurrentLayer<T> layer{steps, inputs, hidden, gates};
  const Tensor input = matrix_argument<T>(call, 0, steps.total, inputs);
  const Tensor h0 = matrix_argument<T>(call, 1, steps.batch, hidden);
  const Tensor weight_ih = matrix_argument<T>(call, 2, gates, inputs);
  const Tensor weight_hh = matrix_argument<T>(call, 3, gates, hidden);
  const Tensor bias_ih = bias_argument<T>(call, 4, gates), bias_hh = bias_argument<T>(call, 5, gates);

  constexpr DType dtype = DTypeOf<T>::value;
  T* output = dense_output(call, 0, {steps.total, hidden}, dtype).template data_as<T>();
  T* last_hidden = dense_output(call, 1, {steps.batch, hidden}, dtype).template data_as<T>();
  T* all_gates = dense_output(call, 2, {steps.total, gates}, dtype).template data_as<T>();
  T* from_hidden = dense_output(call, 3, {steps.total, gates}, dtype).template data_as<T>();

  layer.input_gates(input.data_as<const T>(), weight_ih.data_as<const T>(), data_or_null<T>(bias_ih), nullptr,
                    all_gates);
  layer.fill_rows(data_or_null<T>(bias_hh), from_hidden);
  const PackedMatrix<T> recurrent(weight_hh.data_as<const T>(), hidden, gates, 1, hidden);
  const Buffer<T> scratch(steps.batch * hidden);
  layer.over_samples([&](int64_t first, int64_t last) {
    T* own_scratch = scratch.data() + first * hidden;
    for (int64_t step = 0; step < steps.count(); step++) {
      steps.for_each(step, first, last, [&](const StepRows& rows) {
        const T* before = rows.before < 0 ? h0.data_as<const T>() + rows.sample * hidden : output + rows.before * hidden;
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
  check_matrices(call, 2, 3);
  const Steps steps("gru", call.integers(9), call.boolean(10));
  const int64_t inputs = call.tensor(2).size(1), hidden = call.tensor(3).size(1), gates = 3 * hidden;
  const RecurrentLayer<T> layer{steps, inputs, hidden, gates};
  const Tensor input = matrix_argument<T>(call, 2, steps.total, inputs);
  const Tensor h0 = matrix_argument<T>(call, 3, steps.batch, hidden);
  const Tensor weight_ih = matrix_argument<T>(call, 4, gates, inputs);
  const Tensor weight_hh = matrix_argument<T>(call, 5, gates, hidden);
  const Tensor output = matrix_argument<T>(call, 6, steps.total, hidden);
  const Tensor all_gates = matrix_argument<T>(call, 7, steps.total, gates);
  const Tensor from_hidden = matrix_argument<T>(call, 8, steps.total, gates);
  const Tensor grad_output = gradient_argument<T>(call, 0, steps.total, hidden);

  constexpr DType dtype = DTypeOf<T>::value;
  const bool input_needed = call.boolean(11);
  T* grad_input = dense_output(call, 0, {input_needed ? steps.total : 0, inputs}, dtype).template data_as<T>();
  T* grad_hidden = dense_output(call, 1, {steps.batch, hidden}, dtype).template data_as<T>();
  T* grad_weight_ih = dense_output(call, 2, {gates, inputs}, dtype).template data_as<T>();
  T* grad_weight_hh = dense_output(call, 3, {gates, hidden}, dtype).template data_as<T>();
  T* grad_bias_ih = dense_output(call, 4, {gates}, dtype).template data_as<T>();
  T* grad_bias_hh = dense_output(call, 5, {gates}, dtype).template data_as<T>();
  copy_or_zero(gradient_argument<T>(call, 1, steps.batch, hidden), steps.batch * hidden, grad_hidden);

  const Buffer<T> grad_gates(steps.total * gates), grad_from_hidden(steps.total * gates);
  const PackedMatrix<T> recurrent(weight_hh.data_as<const T>(), gates, hidden, hidden, 1);
  const Buffer<T> scratch(steps.batch * gates);
  layer.over_samples([&](int64_t first, int64_t last) {
    T* own_scratch = scratch.data() + first * gates;
    for (int64_t step = steps.count() - 1; step >= 0; step--) {
      steps.for_each(step, first, last, [&](const StepRows& rows) {
        const int64_t at = rows.row * hidden;
        const T* before = rows.before < 0 ? h0.data_as<const T>() + rows.sample * hidden
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
  if (input_needed) layer.input_gradient(grad_gates.data(), weight_ih.data_as<const T>(), grad_input);
  layer.weight_gradient(grad_gates.data(), input.data_as<const T>(), grad_weight_ih);
  layer.recurrent_weight_gradient(grad_from_hidden.data(), output.data_as<const T>(), h0.data_as<const T>(),
                                  grad_weight_hh);
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
