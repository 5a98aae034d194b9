// Functions of one element: exp, abs, floor, ...
#include "tensor/elementwise.h"

namespace relume {
namespace {

template <Function function>
constexpr Kernel numeric = elementwise_kernel<function, TypeRule::numeric, 1>;
template <Function function>
constexpr Kernel floating = elementwise_kernel<function, TypeRule::floating, 1>;

// One row per function.
#define RELUME_UNARY(rule, op, documentation)                                            \
  const Register register_##op{#op "(Tensor input) -> Tensor", documentation,            \
                               {Trait::elementwise}, rule<Function::op>};
RELUME_UNARY(numeric, neg, "The element with the other sign.")
RELUME_UNARY(numeric, abs, "The absolute value.")
RELUME_UNARY(numeric, sign, "-1, 0 or 1: the sign of the element.")
RELUME_UNARY(numeric, square, "The element times itself.")
RELUME_UNARY(floating, reciprocal, "1 divided by the element.")
RELUME_UNARY(floating, sqrt, "The square root.")
RELUME_UNARY(floating, rsqrt, "1 divided by the square root.")
RELUME_UNARY(floating, exp, "e to the power of the element.")
RELUME_UNARY(floating, expm1, "exp(input) - 1, exact near zero.")
RELUME_UNARY(floating, log, "The natural logarithm.")
RELUME_UNARY(floating, log1p, "log(1 + input), exact near zero.")
RELUME_UNARY(floating, log2, "The logarithm to base 2.")
RELUME_UNARY(floating, log10, "The logarithm to base 10.")
RELUME_UNARY(floating, sin, "The sine of an angle in radians.")
RELUME_UNARY(floating, cos, "The cosine of an angle in radians.")
RELUME_UNARY(floating, tan, "The tangent of an angle in radians.")
RELUME_UNARY(floating, asin, "The angle whose sine is the element.")
RELUME_UNARY(floating, acos, "The angle whose cosine is the element.")
RELUME_UNARY(floating, atan, "The angle whose tangent is the element.")
RELUME_UNARY(floating, sinh, "The hyperbolic sine.")
RELUME_UNARY(floating, cosh, "The hyperbolic cosine.")
RELUME_UNARY(floating, tanh, "The hyperbolic tangent.")
RELUME_UNARY(floating, sigmoid, "1 / (1 + exp(-input)).")
RELUME_UNARY(floating, erf, "The error function.")
RELUME_UNARY(numeric, floor, "The largest whole number that is not larger.")
RELUME_UNARY(numeric, ceil, "The smallest whole number that is not smaller.")
RELUME_UNARY(numeric, round, "The nearest whole number; halves go to the even one.")
RELUME_UNARY(numeric, trunc, "The whole part.")
RELUME_UNARY(floating, frac, "What is left without the whole part.")
#undef RELUME_UNARY

}  // namespace
}  // namespace relume
