// Derivatives of what losses and distances are made of.
#include <cmath>

#include "autograd/derivative.h"

namespace relume {
namespace {

// cross_entropy_of_bits(x, t): (x - t) / (x (1 - x)), which stays finite at both ends.
const Derive derive_cross_entropy_of_bits{"cross_entropy_of_bits", {
    {0, saves(0, 1), [](Backward& b) {
       const Tensor x = b.in(0);
       return b.grad() * (x - b.in(1)) / ops::clamp((1 - x) * x, 1e-12);
     }},
    {1, saves(0), [](Backward& b) {
       const Tensor x = b.in(0);
       return b.grad() * (ops::clamp(ops::log(1 - x), -100.0) - ops::clamp(ops::log(x), -100.0));
     }}}};

// huber_of_elements(input, target, limit): the difference, clamped.
Tensor huber_slope(Backward& b) {
  return b.grad() * ops::clamp(b.in(0) - b.in(1), -b.real(2), b.real(2));
}
const Derive derive_huber{"huber_of_elements", {
    {0, saves(0, 1), huber_slope}, {1, saves(0, 1), [](Backward& b) { return -huber_slope(b); }}}};

// The gradients of all distances d(i, j) of rows x1[i] and x2[j]. For p = 2 they are made of
// matrix products: sum_j ratio(i, j) (x1[i] - x2[j]) with ratio = gradient / d.
Tensor distance_gradient(const Tensor& ratio, const Tensor& x1, const Tensor& x2) {
  return ops::sum(ratio, IntSpan({-1}), true) * x1 - ops::matmul(ratio, x2);
}
void cdist_backward(Backward& b) {
  const Tensor x1 = b.in(0), x2 = b.in(1), distance = b.out();
  const double p = b.real(2);
  if (p == 2) {
    // Rows that are equal have no slope: a gradient of 0, not of 0 / 0.
    const Tensor zero = ops::eq(distance, 0);
    const Tensor ratio = ops::where(zero, 0, b.grad() / ops::where(zero, 1, distance));
    if (b.needs(0)) b.set(0, ops::sum_to(distance_gradient(ratio, x1, x2), b.shape(0)));
    if (b.needs(1)) b.set(1, ops::sum_to(distance_gradient(ops::transpose(ratio, -2, -1), x2, x1), b.shape(1)));
    return;
  }
  const Tensor difference = ops::unsqueeze(x1, -2) - ops::unsqueeze(x2, -3);
  const Tensor size = ops::abs(difference), far = ops::unsqueeze(distance, -1);
  Tensor slope;
  if (p == 0) {
    slope = ops::zeros_like(difference);
  } else if (p == 1) {
    slope = ops::sign(difference);
  } else if (std::isinf(p)) {
    const Tensor chosen = ops::to_dtype(ops::eq(size, far), difference.dtype());
    slope = ops::sign(difference) * chosen / ops::sum(chosen, IntSpan({-1}), true);
  } else {
    const Tensor none = ops::eq(size, 0);
    const Tensor ratio = ops::where(none, 1, size) / ops::where(ops::eq(far, 0), 1, far);
    slope = ops::where(none, 0, ops::sign(difference) * ops::pow(ratio, p - 1));
  }
  const Tensor gradient = ops::unsqueeze(b.grad(), -1) * slope;
  if (b.needs(0)) b.set(0, ops::sum_to(ops::sum(gradient, IntSpan({-2})), b.shape(0)));
  if (b.needs(1)) b.set(1, ops::sum_to(-ops::sum(gradient, IntSpan({-3})), b.shape(1)));
}
const Derive derive_cdist{"cdist", saves(0, 1) | saves_output(), cdist_backward};

// nll_loss is linear in its input, and its gradient is its transpose.
const OpFunction nll_loss{"nll_loss"}, nll_loss_backward{"nll_loss_backward"};
Value optional_tensor(Backward& b, int argument) {
  return b.is_tensor(argument) ? Value(b.in(argument)) : Value();
}
const Derive derive_nll_loss{"nll_loss", {
    {0, saves(1, 2), [](Backward& b) {
       return nll_loss_backward(b.grad(), b.in(1), optional_tensor(b, 2), b.shape(0), b.value(3), b.value(4));
     }}}};
const Derive derive_nll_loss_backward{"nll_loss_backward", {
    {0, saves(1, 2), [](Backward& b) {
       return nll_loss(b.grad(), b.in(1), optional_tensor(b, 2), b.value(4), b.value(5));
     }}}};

}  // namespace
}  // namespace relume
