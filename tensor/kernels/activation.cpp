// Activation functions of neural networks, and the fused gradients of the common ones.
#include <cmath>

#include "tensor/dims.h"
#include "tensor/elementwise.h"
#include "tensor/ops.h"

namespace relume {
namespace {

template <Function function, int parameters>
constexpr Kernel activation = elementwise_kernel<function, TypeRule::floating, 1, parameters>;
template <Function function, int parameters>
constexpr Kernel gradient = elementwise_kernel<function, TypeRule::floating, 2, parameters>;

// A bound beyond what an integer type can hold is no bound, not a wrapped number.
Value bound_for(const Value& bound, DType dtype) {
  if (bound.is_none() || !is_integer(dtype)) return bound;
  if (bound.type == Value::Type::real && std::abs(bound.real) >= 0x1p62) {
    return Value(saturated(bound.real < 0 ? INT64_MIN : INT64_MAX, dtype));
  }
  return Value(saturated(bound.as_int(), dtype));
}

// The bounds as tensors, which broadcast.
void clamp_between_tensors(Call& call, DType compute) {
  const Tensor raised = call.has(1) ? ops::maximum(call.value(0), call.value(1)) : call.tensor(0);
  const Value operands[] = {raised, call.value(2)};
  if (call.has(2)) return apply(call, {Function::minimum, compute, compute, operands, 2});
  apply(call, {Function::maximum, compute, compute, call.arguments, 2});
}

// Bounds of a clamp count when its type is chosen, as operands do.
void clamp_cpu(Call& call) {
  const DType compute = common_type(call.arguments, 3);
  if (call.value(1).is_tensor() || call.value(2).is_tensor()) {
    return clamp_between_tensors(call, compute);
  }
  const Value bounds[] = {bound_for(call.value(1), compute), bound_for(call.value(2), compute)};
  if (call.has(1) && call.has(2)) {
    apply(call, {Function::clamp, compute, compute, call.arguments, 1, bounds, 2});
  } else if (call.has(1)) {
    apply(call, {Function::clamp_min, compute, compute, call.arguments, 1, bounds, 1});
  } else {
    check(call.has(2), "clamp(): at least one of min and max must be given");
    apply(call, {Function::clamp_max, compute, compute, call.arguments, 1, bounds + 1, 1});
  }
}

void hardtanh_cpu(Call& call) {
  const DType compute = call.body(0)->dtype;
  const Value bounds[] = {bound_for(call.value(1), compute), bound_for(call.value(2), compute)};
  apply(call, {Function::clamp, compute, compute, call.arguments, 1, bounds, 2});
}

// The weight along dimension 1 of the input, so that it broadcasts.
Tensor prelu_weight(const Tensor& input, const Tensor& weight) {
  if (input.ndim() == 0 && weight.numel() == 1) return make_view(weight->storage, weight->offset, {}, {}, weight.dtype());
  if (weight.ndim() != 1 || weight.numel() == 1 || input.ndim() < 2) return weight;
  check(weight.size(0) == input.size(1), "prelu(): the weight has ", weight.size(0),
        " elements, but dimension 1 of the input of shape ", input.shape(), " has ",
        input.size(1));
  Dims shape, strides;
  for (int i = 1; i < input.ndim(); ++i) {
    shape.push(i == 1 ? weight.size(0) : 1);
    strides.push(i == 1 ? weight.stride(0) : 1);
  }
  return make_view(weight->storage, weight->offset, shape, strides, weight.dtype());
}

void prelu_cpu(Call& call) {
  const Tensor weight = prelu_weight(call.tensor(0), call.tensor(1));
  const Value operands[] = {call.value(0), weight};
  const DType compute = floating_type(common_type(operands, 2));
  apply(call, {Function::prelu, compute, compute, operands, 2});
}

const Register register_relu{
    "relu(Tensor input) -> Tensor", "The element where it is positive, otherwise 0.",
    {Trait::elementwise}, elementwise_kernel<Function::relu, TypeRule::numeric, 1>};
const Register register_leaky_relu{
    "leaky_relu(Tensor input, float negative_slope=0.01) -> Tensor",
    "The element where it is positive, otherwise negative_slope times it.", {Trait::elementwise},
    activation<Function::leaky_relu, 1>};
const Register register_elu{
    "elu(Tensor input, float alpha=1.0) -> Tensor",
    "The element where it is positive, otherwise alpha * (exp(input) - 1).", {Trait::elementwise},
    activation<Function::elu, 1>};
const Register register_softplus{
    "softplus(Tensor input, float beta=1, float threshold=20) -> Tensor",
    "log(1 + exp(beta * input)) / beta; the element itself where beta * input > threshold.",
    {Trait::elementwise}, activation<Function::softplus, 2>};
const Register register_hardtanh{
    "hardtanh(Tensor input, float min_val=-1, float max_val=1) -> Tensor",
    "The element, kept between min_val and max_val.", {Trait::elementwise},
    hardtanh_cpu};
const Register register_threshold{
    "threshold(Tensor input, float threshold, float value) -> Tensor",
    "The element where it is larger than threshold, otherwise value.", {Trait::elementwise},
    elementwise_kernel<Function::threshold, TypeRule::numeric, 1, 2>};
const Register register_clamp{
    "clamp(Tensor input, Tensor|Scalar? min=None, Tensor|Scalar? max=None) -> Tensor",
    "The element, kept between min and max: numbers or tensors.", {Trait::elementwise}, clamp_cpu};
const Register register_prelu{
    "prelu(Tensor input, Tensor weight) -> Tensor",
    "The element where it is positive, otherwise weight times it: one weight for all, or one "
    "for each index of dimension 1.",
    {}, prelu_cpu};

const Register register_tanh_backward{
    "tanh_backward(Tensor grad, Tensor out) -> Tensor", "grad * (1 - out^2).",
    {Trait::elementwise, Trait::internal}, gradient<Function::tanh_backward, 0>};
const Register register_sigmoid_backward{
    "sigmoid_backward(Tensor grad, Tensor out) -> Tensor", "grad * out * (1 - out).",
    {Trait::elementwise, Trait::internal}, gradient<Function::sigmoid_backward, 0>};
const Register register_sqrt_backward{
    "sqrt_backward(Tensor grad, Tensor out) -> Tensor", "grad / (2 * out).",
    {Trait::elementwise, Trait::internal}, gradient<Function::sqrt_backward, 0>};
const Register register_square_backward{
    "square_backward(Tensor grad, Tensor input) -> Tensor", "2 * grad * input.",
    {Trait::elementwise, Trait::internal}, gradient<Function::square_backward, 0>};
const Register register_relu_backward{
    "relu_backward(Tensor grad, Tensor out) -> Tensor", "grad where out > 0, otherwise 0.",
    {Trait::elementwise, Trait::internal}, gradient<Function::relu_backward, 0>};
const Register register_threshold_backward{
    "threshold_backward(Tensor grad, Tensor input, float threshold) -> Tensor",
    "grad where input > threshold, otherwise 0.", {Trait::elementwise, Trait::internal},
    gradient<Function::threshold_backward, 1>};
const Register register_leaky_relu_backward{
    "leaky_relu_backward(Tensor grad, Tensor input, float negative_slope) -> Tensor",
    "grad where input > 0, otherwise negative_slope * grad.",
    {Trait::elementwise, Trait::internal}, gradient<Function::leaky_relu_backward, 1>};
const Register register_elu_backward{
    "elu_backward(Tensor grad, Tensor input, float alpha) -> Tensor",
    "grad where input > 0, otherwise grad * alpha * exp(input).",
    {Trait::elementwise, Trait::internal}, gradient<Function::elu_backward, 1>};
const Register register_softplus_backward{
    "softplus_backward(Tensor grad, Tensor input, float beta, float threshold) -> Tensor",
    "grad * sigmoid(beta * input); grad where beta * input > threshold.",
    {Trait::elementwise, Trait::internal}, gradient<Function::softplus_backward, 2>};
const Register register_clamp_backward{
    "clamp_backward(Tensor grad, Tensor input, float min, float max, bool ends) -> Tensor",
    "grad where min < input < max, and at min and max too when `ends`; otherwise 0.",
    {Trait::elementwise, Trait::internal}, gradient<Function::clamp_backward, 3>};

}  // namespace
}  // namespace relume
