// The special functions: gamma, error and Bessel functions, and what is built on them.
#include <cmath>

#include "tensor/elementwise.h"
#include "tensor/ops.h"

namespace relume {
namespace {

template <Function function>
constexpr Kernel of_one = elementwise_kernel<function, TypeRule::floating, 1>;
template <Function function>
constexpr Kernel of_two = elementwise_kernel<function, TypeRule::floating, 2>;
template <Function function>
constexpr Kernel of_three = elementwise_kernel<function, TypeRule::floating, 3>;

void polygamma_cpu(Call& call) {
  check(call.integer(0) >= 0, "polygamma(): n must not be negative, got ", call.integer(0));
  const DType compute = floating_type(call.body(1)->dtype);
  apply(call, {Function::polygamma, compute, compute, call.arguments + 1, 1, call.arguments, 1});
}

void logit_cpu(Call& call) {
  const DType compute = floating_type(call.body(0)->dtype);
  const Value eps = call.has(1) ? call.value(1) : Value(-1.0);
  apply(call, {Function::logit, compute, compute, call.arguments, 1, &eps, 1});
}

// The sum of lgamma(input - j / 2), j < p, and what belongs to the constant.
void mvlgamma_cpu(Call& call) {
  const OpFunction lgamma{"lgamma"};
  const Tensor input = call.tensor(0);
  const int64_t p = call.integer(1);
  check(p >= 1 && p <= 10000, "mvlgamma(): p must be between 1 and 10000, got ", p);
  const double number = static_cast<double>(p);
  Tensor sum = lgamma(input) + number * (number - 1) / 4 * std::log(3.14159265358979323846);
  for (int64_t j = 1; j < p; ++j) sum = sum + lgamma(input - 0.5 * static_cast<double>(j));
  call.set_output(0, sum);
}

const Register functions_and_methods[] = {
    {"lgamma(Tensor input) -> Tensor", "The logarithm of the absolute value of the gamma function.",
     {Trait::elementwise}, of_one<Function::lgamma>},
    {"digamma(Tensor input) -> Tensor", "The derivative of lgamma.", {Trait::elementwise},
     of_one<Function::digamma>},
    {"mvlgamma(Tensor input, int p) -> Tensor", "The logarithm of the multivariate gamma function of dimension p.",
     {Trait::composite}, mvlgamma_cpu},
    {"erfc(Tensor input) -> Tensor", "1 - erf(input), exact where that is small.",
     {Trait::elementwise}, of_one<Function::erfc>},
    {"erfinv(Tensor input) -> Tensor", "The inverse of erf.", {Trait::elementwise},
     of_one<Function::erfinv>},
    {"i0(Tensor input) -> Tensor", "The modified Bessel function of the first kind, of order 0.",
     {Trait::elementwise}, of_one<Function::i0>},
    {"sinc(Tensor input) -> Tensor", "sin(pi * input) / (pi * input), 1 at zero.",
     {Trait::elementwise}, of_one<Function::sinc>},
    {"exp2(Tensor input) -> Tensor", "2 to the power of the element.", {Trait::elementwise},
     of_one<Function::exp2>},
    {"asinh(Tensor input) -> Tensor", "The number whose hyperbolic sine is the element.",
     {Trait::elementwise}, of_one<Function::asinh>},
    {"acosh(Tensor input) -> Tensor", "The number >= 0 whose hyperbolic cosine is the element.",
     {Trait::elementwise}, of_one<Function::acosh>},
    {"atanh(Tensor input) -> Tensor", "The number whose hyperbolic tangent is the element.",
     {Trait::elementwise}, of_one<Function::atanh>},
    {"logit(Tensor input, float? eps=None) -> Tensor",
     "log(input / (1 - input)); with eps the element is first kept between eps and 1 - eps.",
     {Trait::elementwise}, logit_cpu},
    {"xlogy(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
     "input * log(other), 0 where input is 0.", {Trait::elementwise}, of_two<Function::xlogy>},
    {"logaddexp(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
     "log(exp(input) + exp(other)), without overflow.", {Trait::elementwise},
     of_two<Function::logaddexp>},
    {"logaddexp2(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
     "log2(2**input + 2**other), without overflow.", {Trait::elementwise},
     of_two<Function::logaddexp2>},
};

const Register functions_only[] = {
    {"erfcx(Tensor input) -> Tensor", "exp(input**2) * erfc(input).",
     {Trait::elementwise, Trait::no_in_place, Trait::no_method}, of_one<Function::erfcx>},
    {"ndtr(Tensor input) -> Tensor", "The distribution function of the standard normal distribution.",
     {Trait::elementwise, Trait::no_in_place, Trait::no_method}, of_one<Function::ndtr>},
    {"log_ndtr(Tensor input) -> Tensor", "The logarithm of ndtr, exact where that is tiny.",
     {Trait::elementwise, Trait::no_in_place, Trait::no_method}, of_one<Function::log_ndtr>},
    {"ndtri(Tensor input) -> Tensor", "The inverse of ndtr: a quantile of the standard normal distribution.",
     {Trait::elementwise, Trait::no_in_place, Trait::no_method}, of_one<Function::ndtri>},
    {"entr(Tensor input) -> Tensor", "-input * log(input): 0 at zero, -inf below.",
     {Trait::elementwise, Trait::no_in_place, Trait::no_method}, of_one<Function::entr>},
    {"i0e(Tensor input) -> Tensor", "exp(-abs(input)) * i0(input).",
     {Trait::elementwise, Trait::no_in_place, Trait::no_method}, of_one<Function::i0e>},
    {"i1(Tensor input) -> Tensor", "The modified Bessel function of the first kind, of order 1.",
     {Trait::elementwise, Trait::no_in_place, Trait::no_method}, of_one<Function::i1>},
    {"i1e(Tensor input) -> Tensor", "exp(-abs(input)) * i1(input).",
     {Trait::elementwise, Trait::no_in_place, Trait::no_method}, of_one<Function::i1e>},
    {"bessel_j0(Tensor input) -> Tensor", "The Bessel function of the first kind, of order 0.",
     {Trait::elementwise, Trait::no_in_place, Trait::no_method}, of_one<Function::bessel_j0>},
    {"bessel_j1(Tensor input) -> Tensor", "The Bessel function of the first kind, of order 1.",
     {Trait::elementwise, Trait::no_in_place, Trait::no_method}, of_one<Function::bessel_j1>},
    {"bessel_y0(Tensor input) -> Tensor", "The Bessel function of the second kind, of order 0.",
     {Trait::elementwise, Trait::no_in_place, Trait::no_method}, of_one<Function::bessel_y0>},
    {"bessel_y1(Tensor input) -> Tensor", "The Bessel function of the second kind, of order 1.",
     {Trait::elementwise, Trait::no_in_place, Trait::no_method}, of_one<Function::bessel_y1>},
    {"polygamma(int n, Tensor input) -> Tensor", "The n-th derivative of digamma.",
     {Trait::elementwise, Trait::no_in_place, Trait::no_method}, polygamma_cpu},
    {"xlog1py(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
     "input * log1p(other), 0 where input is 0.", {Trait::elementwise, Trait::no_in_place, Trait::no_method},
     of_two<Function::xlog1py>},
    {"zeta(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
     "The zeta function of Hurwitz: the sum of (other + k)**-input over k = 0, 1, ...",
     {Trait::elementwise, Trait::no_in_place, Trait::no_method}, of_two<Function::zeta>},
    {"gammainc(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
     "The regularised lower incomplete gamma function P(input, other).",
     {Trait::elementwise, Trait::no_in_place, Trait::no_method}, of_two<Function::gammainc>},
    {"gammaincc(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
     "The regularised upper incomplete gamma function Q(input, other).",
     {Trait::elementwise, Trait::no_in_place, Trait::no_method}, of_two<Function::gammaincc>},
    {"betainc(Tensor|Scalar a, Tensor|Scalar b, Tensor|Scalar x) -> Tensor",
     "The regularised incomplete beta function.", {Trait::elementwise, Trait::no_in_place, Trait::no_method},
     of_three<Function::betainc>},
};

}  // namespace
}  // namespace relume
