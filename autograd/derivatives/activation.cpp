// Derivatives of the activation functions, and of the fused kernels of those derivatives.
#include <limits>

#include "autograd/derivative.h"

namespace relume {
namespace {

const Derive derive_tanh{"tanh", {
    {0, saves_output(), [](Backward& b) { return ops::tanh_backward(b.grad(), b.out()); }}}};
const Derive derive_tanh_backward{"tanh_backward", {
    {0, saves(1), [](Backward& b) { return ops::tanh_backward(b.grad(), b.in(1)); }},
    {1, saves(0, 1), [](Backward& b) { return b.grad() * b.in(0) * b.in(1) * -2.0; }}}};

const Derive derive_sigmoid{"sigmoid", {
    {0, saves_output(), [](Backward& b) { return ops::sigmoid_backward(b.grad(), b.out()); }}}};
const Derive derive_sigmoid_backward{"sigmoid_backward", {
    {0, saves(1), [](Backward& b) { return ops::sigmoid_backward(b.grad(), b.in(1)); }},
    {1, saves(0, 1), [](Backward& b) { return b.grad() * b.in(0) * (1 - b.in(1) * 2.0); }}}};

const Derive derive_relu{"relu", {
    {0, saves_output(), [](Backward& b) { return ops::relu_backward(b.grad(), b.out()); }}}};
const Derive derive_relu_backward{"relu_backward", {
    {0, saves(1), [](Backward& b) { return ops::relu_backward(b.grad(), b.in(1)); }}}};

const Derive derive_leaky_relu{"leaky_relu", {
    {0, saves(0), [](Backward& b) {
       return ops::leaky_relu_backward(b.grad(), b.in(0), b.value(1));
     }}}};
const Derive derive_leaky_relu_backward{"leaky_relu_backward", {
    {0, saves(1), [](Backward& b) {
       return ops::leaky_relu_backward(b.grad(), b.in(1), b.value(2));
     }}}};

const Derive derive_elu{"elu", {
    {0, saves(0), [](Backward& b) { return ops::elu_backward(b.grad(), b.in(0), b.value(1)); }}}};
const Derive derive_elu_backward{"elu_backward", {
    {0, saves(1), [](Backward& b) { return ops::elu_backward(b.grad(), b.in(1), b.value(2)); }},
    {1, saves(1) | saves_output(), [](Backward& b) {
       // Where it is not straight it is an exponential: its own derivative.
       return b.grad() * ops::where(ops::gt(b.in(1), 0), 0, b.out());
     }}}};

const Derive derive_softplus{"softplus", {
    {0, saves(0), [](Backward& b) {
       return ops::softplus_backward(b.grad(), b.in(0), b.value(1), b.value(2));
     }}}};
const Derive derive_softplus_backward{"softplus_backward", {
    {0, saves(1), [](Backward& b) {
       return ops::softplus_backward(b.grad(), b.in(1), b.value(2), b.value(3));
     }},
    {1, saves(0, 1), [](Backward& b) {
       const Tensor scaled = b.in(1) * b.value(2);
       const Tensor curvature =
           ops::sigmoid_backward(b.grad() * b.in(0) * b.value(2), ops::sigmoid(scaled));
       return ops::where(ops::gt(scaled, b.value(3)), 0, curvature);
     }}}};

const Derive derive_threshold{"threshold", {
    {0, saves(0), [](Backward& b) {
       return ops::threshold_backward(b.grad(), b.in(0), b.value(1));
     }}}};
const Derive derive_threshold_backward{"threshold_backward", {
    {0, saves(1), [](Backward& b) {
       return ops::threshold_backward(b.grad(), b.in(1), b.value(2));
     }}}};

// Between the bounds, and at them, clamp follows its input; hardtanh is flat at them.
double bound(const Value& value, double otherwise) {
  return value.is_none() ? otherwise : value.as_double();
}
Tensor clamp_by_input(Backward& b) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!b.is_tensor(1) && !b.is_tensor(2)) {
    return ops::clamp_backward(b.grad(), b.in(0), bound(b.value(1), -infinity),
                               bound(b.value(2), infinity), true);
  }
  Tensor gradient = b.grad();
  if (!b.value(1).is_none()) gradient = ops::where(ops::ge(b.in(0), b.operand(1)), gradient, 0);
  if (!b.value(2).is_none()) gradient = ops::where(ops::le(b.in(0), b.operand(2)), gradient, 0);
  return gradient;
}
// A bound that was reached gets the gradient; the upper one where they cross.
Tensor clamp_by_min(Backward& b) {
  Tensor reached = ops::lt(b.in(0), b.operand(1));
  if (!b.value(2).is_none()) {
    reached = ops::logical_and(reached, ops::lt(b.operand(1), b.operand(2)));
  }
  return ops::where(reached, b.grad(), 0);
}
Tensor clamp_by_max(Backward& b) {
  const Tensor raised = b.value(1).is_none() ? b.in(0) : ops::maximum(b.in(0), b.operand(1));
  return ops::where(ops::gt(raised, b.operand(2)), b.grad(), 0);
}
const Derive derive_clamp{"clamp", {
    {0, saves(0, 1, 2), clamp_by_input},
    {1, saves(0, 1, 2), clamp_by_min},
    {2, saves(0, 1, 2), clamp_by_max}}};
const Derive derive_hardtanh{"hardtanh", {
    {0, saves(0), [](Backward& b) {
       return ops::clamp_backward(b.grad(), b.in(0), b.value(1), b.value(2), false);
     }}}};
const Derive derive_clamp_backward{"clamp_backward", {
    {0, saves(1), [](Backward& b) {
       return ops::clamp_backward(b.grad(), b.in(1), b.value(2), b.value(3), b.value(4));
     }}}};

// The weight with its elements along dimension 1 of the input, as the op itself uses it.
Tensor aligned_weight(const Tensor& weight, int input_ndim) {
  if (input_ndim == 0) return ops::reshape(weight, IntSpan{});
  if (weight.ndim() != 1 || weight.numel() == 1 || input_ndim < 2) return weight;
  std::vector<int64_t> shape(input_ndim - 1, 1);
  shape[0] = weight.size(0);
  return ops::reshape(weight, shape);
}
void prelu_backward(Backward& b) {
  const Tensor input = b.in(0);
  const Tensor weight = aligned_weight(b.in(1), input.ndim());
  const Tensor positive = ops::gt(input, 0);
  if (b.needs(0)) {
    b.set(0, ops::sum_to(ops::where(positive, b.grad(), b.grad() * weight), b.shape(0)));
  }
  if (b.needs(1)) {
    const Tensor slope = ops::where(positive, 0, b.grad() * input);
    b.set(1, ops::reshape(ops::sum_to(slope, weight.shape()), b.shape(1)));
  }
}
const Derive derive_prelu{"prelu", saves(0, 1), prelu_backward};

}  // namespace
}  // namespace relume
