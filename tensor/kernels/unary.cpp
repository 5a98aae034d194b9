// Functions of one element: exp, abs, floor, ...
#include <cmath>
#include <cstdlib>

#include "tensor/elementwise.h"
#include "tensor/ops.h"

namespace relume {
namespace {

template <Function function>
constexpr Kernel numeric = elementwise_kernel<function, TypeRule::numeric, 1>;
template <Function function>
constexpr Kernel floating = elementwise_kernel<function, TypeRule::floating, 1>;

// Halves go to the even one; `decimals` may be negative.
void round_cpu(Call& call) {
  const int64_t decimals = call.integer(1);
  if (decimals == 0) return numeric<Function::round>(call);
  check<TypeError>(is_floating(call.body(0)->dtype), "round(): decimals are for floating tensors, not ",
                   name(call.body(0)->dtype));
  const double factor = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  const Tensor input = call.tensor(0);
  call.set_output(0, decimals > 0 ? OpFunction{"round"}(input * factor) / factor
                                  : OpFunction{"round"}(input / factor) * factor);
}

// The result for complex elements is real.
template <Function function>
void real_of_complex(Call& call) {
  const DType compute = common_type(call.arguments, 1);
  apply(call, {function, compute, real_type(compute), call.arguments, 1});
}

const Register unary_functions[] = {
    {"neg(Tensor input) -> Tensor", "The element with the other sign.", {Trait::elementwise},
     numeric<Function::neg>},
    {"abs(Tensor input) -> Tensor", "The absolute value.", {Trait::elementwise, Trait::not_holomorphic},
     real_of_complex<Function::abs>},
    {"sign(Tensor input) -> Tensor",
     "-1, 0 or 1: the sign of the element; of a complex one the number of size 1 with its angle.",
     {Trait::elementwise, Trait::not_holomorphic},
     numeric<Function::sign>},
    {"square(Tensor input) -> Tensor", "The element times itself.", {Trait::elementwise},
     numeric<Function::square>},
    {"reciprocal(Tensor input) -> Tensor", "1 divided by the element.", {Trait::elementwise},
     floating<Function::reciprocal>},
    {"sqrt(Tensor input) -> Tensor", "The square root.", {Trait::elementwise},
     floating<Function::sqrt>},
    {"rsqrt(Tensor input) -> Tensor", "1 divided by the square root.", {Trait::elementwise},
     floating<Function::rsqrt>},
    {"exp(Tensor input) -> Tensor", "e to the power of the element.", {Trait::elementwise},
     floating<Function::exp>},
    {"expm1(Tensor input) -> Tensor", "exp(input) - 1, exact near zero.", {Trait::elementwise},
     floating<Function::expm1>},
    {"log(Tensor input) -> Tensor", "The natural logarithm.", {Trait::elementwise},
     floating<Function::log>},
    {"log1p(Tensor input) -> Tensor", "log(1 + input), exact near zero.", {Trait::elementwise},
     floating<Function::log1p>},
    {"log2(Tensor input) -> Tensor", "The logarithm to base 2.", {Trait::elementwise},
     floating<Function::log2>},
    {"log10(Tensor input) -> Tensor", "The logarithm to base 10.", {Trait::elementwise},
     floating<Function::log10>},
    {"sin(Tensor input) -> Tensor", "The sine of an angle in radians.", {Trait::elementwise},
     floating<Function::sin>},
    {"cos(Tensor input) -> Tensor", "The cosine of an angle in radians.", {Trait::elementwise},
     floating<Function::cos>},
    {"tan(Tensor input) -> Tensor", "The tangent of an angle in radians.", {Trait::elementwise},
     floating<Function::tan>},
    {"asin(Tensor input) -> Tensor", "The angle whose sine is the element.", {Trait::elementwise},
     floating<Function::asin>},
    {"acos(Tensor input) -> Tensor", "The angle whose cosine is the element.", {Trait::elementwise},
     floating<Function::acos>},
    {"atan(Tensor input) -> Tensor", "The angle whose tangent is the element.", {Trait::elementwise},
     floating<Function::atan>},
    {"sinh(Tensor input) -> Tensor", "The hyperbolic sine.", {Trait::elementwise},
     floating<Function::sinh>},
    {"cosh(Tensor input) -> Tensor", "The hyperbolic cosine.", {Trait::elementwise},
     floating<Function::cosh>},
    {"tanh(Tensor input) -> Tensor", "The hyperbolic tangent.", {Trait::elementwise},
     floating<Function::tanh>},
    {"sigmoid(Tensor input) -> Tensor", "1 / (1 + exp(-input)).", {Trait::elementwise},
     floating<Function::sigmoid>},
    {"erf(Tensor input) -> Tensor", "The error function.", {Trait::elementwise},
     floating<Function::erf>},
    {"floor(Tensor input) -> Tensor", "The largest whole number that is not larger.", {Trait::elementwise},
     numeric<Function::floor>},
    {"ceil(Tensor input) -> Tensor", "The smallest whole number that is not smaller.", {Trait::elementwise},
     numeric<Function::ceil>},
    {"round(Tensor input, *, int decimals=0) -> Tensor",
     "The nearest whole number, or number with so many decimals; halves go to the even one.",
     {Trait::elementwise}, round_cpu},
    {"trunc(Tensor input) -> Tensor", "The whole part.", {Trait::elementwise},
     numeric<Function::trunc>},
    {"frac(Tensor input) -> Tensor", "What is left without the whole part.", {Trait::elementwise},
     floating<Function::frac>},
};

}  // namespace
}  // namespace relume
