// gelu, silu, mish and other relatives of relu, with fused gradients.
#include <cstring>

#include "tensor/elementwise.h"

namespace relume {
namespace {

template <Function function, int parameters = 0>
constexpr Kernel activation = elementwise_kernel<function, TypeRule::floating, 1, parameters>;
template <Function function, int parameters = 0>
constexpr Kernel gradient = elementwise_kernel<function, TypeRule::floating, 2, parameters>;

bool is_tanh_form(const Call& call, int argument) {
  const char* text = call.text(argument);
  const bool tanh = std::strcmp(text, "tanh") == 0;
  check(tanh || std::strcmp(text, "none") == 0, call.op.name(), "(): approximate must be 'none' or 'tanh', not '",
        text, "'");
  return tanh;
}
void gelu_cpu(Call& call) {
  is_tanh_form(call, 1) ? activation<Function::gelu_tanh>(call) : activation<Function::gelu>(call);
}
void gelu_backward_cpu(Call& call) {
  is_tanh_form(call, 2) ? gradient<Function::gelu_tanh_backward>(call) : gradient<Function::gelu_backward>(call);
}

const Register register_gelu{
    "gelu(Tensor input, *, str approximate='none') -> Tensor",
    "The element times the probability that a standard normal number is below it (Hendrycks and "
    "Gimpel, 2016); with approximate='tanh' that probability is computed by a tanh.",
    {Trait::elementwise}, gelu_cpu};
const Register register_silu{
    "silu(Tensor input) -> Tensor", "The element times its sigmoid, also called swish.",
    {Trait::elementwise}, activation<Function::silu>};
const Register register_mish{
    "mish(Tensor input) -> Tensor", "The element times tanh(softplus(input)) (Misra, 2020).",
    {Trait::elementwise}, activation<Function::mish>};
const Register register_logsigmoid{
    "logsigmoid(Tensor input) -> Tensor", "The logarithm of the sigmoid, exact at both ends.",
    {Trait::elementwise}, activation<Function::logsigmoid>};
const Register register_hardswish{
    "hardswish(Tensor input) -> Tensor",
    "The element times (input + 3) / 6 kept between 0 and 1 (Howard et al., 2019).",
    {Trait::elementwise}, activation<Function::hardswish>};
const Register register_hardsigmoid{
    "hardsigmoid(Tensor input) -> Tensor", "(input + 3) / 6, kept between 0 and 1.",
    {Trait::elementwise}, activation<Function::hardsigmoid>};
const Register register_hardshrink{
    "hardshrink(Tensor input, float lambd=0.5) -> Tensor",
    "The element where its size is larger than lambd, otherwise 0.",
    {Trait::elementwise}, activation<Function::hardshrink, 1>};
const Register register_softshrink{
    "softshrink(Tensor input, float lambd=0.5) -> Tensor",
    "The element moved towards 0 by lambd; 0 where its size is smaller than that.",
    {Trait::elementwise}, activation<Function::softshrink, 1>};

const Register register_gelu_backward{
    "gelu_backward(Tensor grad, Tensor input, str approximate) -> Tensor", "Gradient of gelu.",
    {Trait::elementwise, Trait::internal}, gelu_backward_cpu};
const Register register_silu_backward{
    "silu_backward(Tensor grad, Tensor input) -> Tensor", "Gradient of silu.",
    {Trait::elementwise, Trait::internal}, gradient<Function::silu_backward>};
const Register register_mish_backward{
    "mish_backward(Tensor grad, Tensor input) -> Tensor", "Gradient of mish.",
    {Trait::elementwise, Trait::internal}, gradient<Function::mish_backward>};
const Register register_hardswish_backward{
    "hardswish_backward(Tensor grad, Tensor input) -> Tensor", "Gradient of hardswish.",
    {Trait::elementwise, Trait::internal}, gradient<Function::hardswish_backward>};
const Register register_hardsigmoid_backward{
    "hardsigmoid_backward(Tensor grad, Tensor input) -> Tensor", "Gradient of hardsigmoid.",
    {Trait::elementwise, Trait::internal}, gradient<Function::hardsigmoid_backward>};
const Register register_shrink_backward{
    "shrink_backward(Tensor grad, Tensor input, float lambd) -> Tensor",
    "grad where the size of input is larger than lambd, otherwise 0.",
    {Trait::elementwise, Trait::internal}, gradient<Function::softshrink_backward, 1>};

}  // namespace
}  // namespace relume
