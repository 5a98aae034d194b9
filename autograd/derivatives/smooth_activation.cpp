// Derivatives of gelu, silu, mish and their relatives, and of the fused kernels of those.
#include <cstring>
#include <limits>

#include "autograd/derivative.h"

namespace relume {
namespace {

const OpFunction gelu_backward{"gelu_backward"}, silu_backward{"silu_backward"}, mish_backward{"mish_backward"},
    hardswish_backward{"hardswish_backward"}, hardsigmoid_backward{"hardsigmoid_backward"},
    shrink_backward{"shrink_backward"}, softplus{"softplus"};

// The row of a function whose fused gradient takes (grad, input), and that gradient's own:
// linear in grad, and with the second derivative of the function for its input.
using Curvature = Tensor (*)(const Tensor& input);

template <const OpFunction& backward>
Tensor first(Backward& b) { return backward(b.grad(), b.in(0)); }
template <const OpFunction& backward>
Tensor by_gradient(Backward& b) { return backward(b.grad(), b.in(1)); }
template <Curvature curvature>
Tensor by_input(Backward& b) { return b.grad() * b.in(0) * curvature(b.in(1)); }

const Derive derive_silu{"silu", {{0, saves(0), first<silu_backward>}}};
Tensor silu_curvature(const Tensor& x) {
  const Tensor s = ops::sigmoid(x);
  return s * (1 - s) * (2 + x * (1 - s * 2.0));
}
const Derive derive_silu_backward{"silu_backward", {
    {0, saves(1), by_gradient<silu_backward>}, {1, saves(0, 1), by_input<silu_curvature>}}};

const Derive derive_mish{"mish", {{0, saves(0), first<mish_backward>}}};
Tensor mish_curvature(const Tensor& x) {
  const Tensor s = ops::sigmoid(x), t = ops::tanh(softplus(x));
  return (1 - t * t) * s * (2 + x * (1 - s - s * t * 2.0));
}
const Derive derive_mish_backward{"mish_backward", {
    {0, saves(1), by_gradient<mish_backward>}, {1, saves(0, 1), by_input<mish_curvature>}}};

const Derive derive_gelu{"gelu", {
    {0, saves(0), [](Backward& b) { return gelu_backward(b.grad(), b.in(0), b.value(1)); }}}};
Tensor gelu_curvature(const Tensor& x) {
  constexpr double density_at_zero = 0.39894228040143267794;  // 1 / sqrt(2 pi)
  const Tensor square = x * x;
  return ops::exp(square * -0.5) * density_at_zero * (2 - square);
}
Tensor gelu_tanh_curvature(const Tensor& x) {
  constexpr double scale = 0.79788456080286535588, cubic = 0.044715;  // sqrt(2 / pi)
  const Tensor square = x * x;
  const Tensor t = ops::tanh((x + square * x * cubic) * scale);
  const Tensor slope = (1 + square * (3 * cubic)) * scale, bend = x * (6 * cubic * scale);
  return (1 - t * t) * (slope + x * 0.5 * (bend - t * 2.0 * slope * slope));
}
const Derive derive_gelu_backward{"gelu_backward", {
    {0, saves(1), [](Backward& b) { return gelu_backward(b.grad(), b.in(1), b.value(2)); }},
    {1, saves(0, 1), [](Backward& b) {
       const bool tanh_form = std::strcmp(b.value(2).text, "tanh") == 0;
       const Tensor curvature = tanh_form ? gelu_tanh_curvature(b.in(1)) : gelu_curvature(b.in(1));
       return b.grad() * b.in(0) * curvature;
     }}}};

// The derivative of log(sigmoid(x)) is sigmoid(-x), which is the derivative of softplus at -x.
const Derive derive_logsigmoid{"logsigmoid", {
    {0, saves(0), [](Backward& b) {
       return ops::softplus_backward(b.grad(), -b.in(0), 1.0, std::numeric_limits<double>::infinity());
     }}}};

const Derive derive_hardswish{"hardswish", {{0, saves(0), first<hardswish_backward>}}};
Tensor hardswish_curvature(const Tensor& x) {
  return ops::to_dtype(ops::lt(ops::abs(x), 3), x.dtype()) / 3.0;
}
const Derive derive_hardswish_backward{"hardswish_backward", {
    {0, saves(1), by_gradient<hardswish_backward>}, {1, saves(0, 1), by_input<hardswish_curvature>}}};

const Derive derive_hardsigmoid{"hardsigmoid", {{0, saves(0), first<hardsigmoid_backward>}}};
const Derive derive_hardsigmoid_backward{"hardsigmoid_backward", {{0, saves(1), by_gradient<hardsigmoid_backward>}}};

const Derive derive_hardshrink{"hardshrink", {
    {0, saves(0), [](Backward& b) { return shrink_backward(b.grad(), b.in(0), b.value(1)); }}}};
const Derive derive_softshrink{"softshrink", {
    {0, saves(0), [](Backward& b) { return shrink_backward(b.grad(), b.in(0), b.value(1)); }}}};
const Derive derive_shrink_backward{"shrink_backward", {
    {0, saves(1), [](Backward& b) { return shrink_backward(b.grad(), b.in(1), b.value(2)); }}}};

}  // namespace
}  // namespace relume
