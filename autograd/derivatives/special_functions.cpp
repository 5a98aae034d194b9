// Derivatives of the special functions.
#include "autograd/derivative.h"
#include "tensor/error.h"

namespace relume {
namespace {

constexpr double kLn2 = 0.69314718055994530942;
constexpr double kPi = 3.14159265358979323846;
constexpr double kRootPi = 1.77245385090551602730;
constexpr double kRootTwoPi = 2.50662827463100050242;
constexpr double kLogRootTwoPi = 0.91893853320467274178;

const OpFunction digamma{"digamma"}, polygamma{"polygamma"}, zeta{"zeta"}, lgamma{"lgamma"},
    log1p{"log1p"}, xlogy{"xlogy"}, xlog1py{"xlog1py"};
const OpFunction i0{"i0"}, i1{"i1"}, i0e{"i0e"}, i1e{"i1e"};
const OpFunction bessel_j0{"bessel_j0"}, bessel_j1{"bessel_j1"}, bessel_y0{"bessel_y0"},
    bessel_y1{"bessel_y1"};

[[noreturn]] void refuse(const char* op, const char* argument) {
  throw NotImplementedError(message("the derivative of ", op, "() with respect to its argument '",
                                    argument, "' is not known here; detach that argument"));
}

// `value` / x, with a number where x is 0.
Tensor over(const Tensor& value, const Tensor& x, double at_zero) {
  const Tensor zero = ops::eq(x, 0);
  return ops::where(zero, at_zero, value / ops::where(zero, 1, x));
}

// ---- exponentials, logarithms and hyperbolic functions ----

const Derive derive_exp2{"exp2", {
    {0, saves_output(), [](Backward& b) { return b.grad() * b.out() * kLn2; }}}};
const Derive derive_asinh{"asinh", {
    {0, saves(0), [](Backward& b) { return b.grad() * ops::rsqrt(ops::square(b.in(0)) + 1); }}}};
const Derive derive_acosh{"acosh", {
    // Two roots, which for complex numbers have other branches than the root of their product.
    {0, saves(0), [](Backward& b) { return b.grad() * ops::rsqrt(b.in(0) - 1) * ops::rsqrt(b.in(0) + 1); }}}};
const Derive derive_atanh{"atanh", {
    {0, saves(0), [](Backward& b) { return b.grad() / (1 - ops::square(b.in(0))); }}}};
const Derive derive_logit{"logit", {
    {0, saves(0), [](Backward& b) {
       const Tensor p = b.in(0);
       const Tensor slope = b.grad() / (p * (1 - p));
       if (b.value(1).is_none()) return slope;
       const double eps = b.real(1);
       return ops::where(ops::logical_and(ops::ge(p, eps), ops::le(p, 1 - eps)), slope, 0);
     }}}};
const Derive derive_entr{"entr", {
    {0, saves(0), [](Backward& b) { return b.grad() * (-ops::log(b.in(0)) - 1.0); }}}};
const Derive derive_sinc{"sinc", {
    {0, saves(0) | saves_output(), [](Backward& b) {
       return b.grad() * over(ops::cos(b.in(0) * kPi) - b.out(), b.in(0), 0);
     }}}};

// 0 where x is 0, as the function itself.
const Derive derive_xlogy{"xlogy", {
    {0, saves(0, 1), [](Backward& b) {
       const Tensor stays = ops::logical_and(ops::eq(b.in(0), 0), ops::le(b.operand(1), 0));
       return ops::where(stays, 0, b.grad() * ops::log(b.is_tensor(1) ? b.in(1) : scalar(b.real(1), b.dtype(0))));
     }},
    {1, saves(0, 1), [](Backward& b) { return b.grad() * ops::div(b.operand(0), b.in(1)); }}}};
const Derive derive_xlog1py{"xlog1py", {
    {0, saves(0, 1), [](Backward& b) {
       const Tensor stays = ops::logical_and(ops::eq(b.in(0), 0), ops::le(b.operand(1), -1));
       return ops::where(stays, 0, b.grad() * log1p(b.is_tensor(1) ? b.in(1) : scalar(b.real(1), b.dtype(0))));
     }},
    {1, saves(0, 1), [](Backward& b) { return b.grad() * ops::div(b.operand(0), b.in(1) + 1); }}}};

// How much of the sum of exponentials is the argument's.
template <int argument>
Tensor share_of_sum(Backward& b) {
  return b.grad() * ops::exp(b.in(argument) - b.out());
}
const Derive derive_logaddexp{"logaddexp", {
    {0, saves(0) | saves_output(), share_of_sum<0>},
    {1, saves(1) | saves_output(), share_of_sum<1>}}};
template <int argument>
Tensor share_of_binary_sum(Backward& b) {
  return b.grad() * ops::exp((b.in(argument) - b.out()) * kLn2);
}
const Derive derive_logaddexp2{"logaddexp2", {
    {0, saves(0) | saves_output(), share_of_binary_sum<0>},
    {1, saves(1) | saves_output(), share_of_binary_sum<1>}}};

// ---- the error function and the normal distribution ----

const Derive derive_erfc{"erfc", {
    {0, saves(0), [](Backward& b) {
       return b.grad() * ops::exp(-ops::square(b.in(0))) * (-2 / kRootPi);
     }}}};
const Derive derive_erfcx{"erfcx", {
    {0, saves(0) | saves_output(), [](Backward& b) {
       return b.grad() * (b.in(0) * b.out() * 2.0 - 2 / kRootPi);
     }}}};
const Derive derive_erfinv{"erfinv", {
    {0, saves_output(), [](Backward& b) {
       return b.grad() * ops::exp(ops::square(b.out())) * (kRootPi / 2);
     }}}};
const Derive derive_ndtr{"ndtr", {
    {0, saves(0), [](Backward& b) {
       return b.grad() * ops::exp(ops::square(b.in(0)) * -0.5) * (1 / kRootTwoPi);
     }}}};
const Derive derive_log_ndtr{"log_ndtr", {
    {0, saves(0) | saves_output(), [](Backward& b) {
       return b.grad() * ops::exp(ops::square(b.in(0)) * -0.5 - b.out() - kLogRootTwoPi);
     }}}};
const Derive derive_ndtri{"ndtri", {
    {0, saves_output(), [](Backward& b) {
       return b.grad() * ops::exp(ops::square(b.out()) * 0.5) * kRootTwoPi;
     }}}};

// ---- gamma functions ----

const Derive derive_lgamma{"lgamma", {
    {0, saves(0), [](Backward& b) { return b.grad() * digamma(b.in(0)); }}}};
const Derive derive_digamma{"digamma", {
    {0, saves(0), [](Backward& b) { return b.grad() * polygamma(1, b.in(0)); }}}};
const Derive derive_polygamma{"polygamma", {
    {1, saves(1), [](Backward& b) { return b.grad() * polygamma(b.integer(0) + 1, b.in(1)); }}}};
const Derive derive_zeta{"zeta", {
    {0, saves_nothing, [](Backward&) -> Tensor { refuse("zeta", "input"); }},
    {1, saves(0, 1), [](Backward& b) {
       const Value power = b.operand(0);
       return -(b.grad() * ops::mul(power, zeta(ops::add(power, 1), b.in(1))));
     }}}};

// x^(a-1) * exp(-x) / gamma(a): the density of the gamma distribution.
Tensor gamma_density(Backward& b) {
  const Tensor x = b.in(1);
  const Tensor a = b.is_tensor(0) ? b.in(0) : scalar(b.real(0), x.dtype());
  return ops::exp(xlogy(a - 1.0, x) - x - lgamma(a));
}
const Derive derive_gammainc{"gammainc", {
    {0, saves_nothing, [](Backward&) -> Tensor { refuse("gammainc", "input"); }},
    {1, saves(0, 1), [](Backward& b) { return b.grad() * gamma_density(b); }}}};
const Derive derive_gammaincc{"gammaincc", {
    {0, saves_nothing, [](Backward&) -> Tensor { refuse("gammaincc", "input"); }},
    {1, saves(0, 1), [](Backward& b) { return -(b.grad() * gamma_density(b)); }}}};
const Derive derive_betainc{"betainc", {
    {0, saves_nothing, [](Backward&) -> Tensor { refuse("betainc", "a"); }},
    {1, saves_nothing, [](Backward&) -> Tensor { refuse("betainc", "b"); }},
    {2, saves(0, 1, 2), [](Backward& b) {
       const Tensor x = b.in(2);
       const auto tensor = [&](int i) { return b.is_tensor(i) ? b.in(i) : scalar(b.real(i), x.dtype()); };
       const Tensor first = tensor(0), second = tensor(1);
       const Tensor log_beta = lgamma(first) + lgamma(second) - lgamma(first + second);
       const Tensor log_density = xlogy(first - 1.0, x) + xlog1py(second - 1.0, -x) - log_beta;
       return b.grad() * ops::exp(log_density);
     }}}};

// ---- Bessel functions ----

const Derive derive_i0{"i0", {
    {0, saves(0), [](Backward& b) { return b.grad() * i1(b.in(0)); }}}};
const Derive derive_i0e{"i0e", {
    {0, saves(0) | saves_output(), [](Backward& b) {
       return b.grad() * (i1e(b.in(0)) - ops::sign(b.in(0)) * b.out());
     }}}};
const Derive derive_i1{"i1", {
    {0, saves(0) | saves_output(), [](Backward& b) {
       return b.grad() * (i0(b.in(0)) - over(b.out(), b.in(0), 0.5));
     }}}};
const Derive derive_i1e{"i1e", {
    {0, saves(0) | saves_output(), [](Backward& b) {
       const Tensor x = b.in(0);
       return b.grad() * (i0e(x) - ops::sign(x) * b.out() - over(b.out(), x, 0.5));
     }}}};
const Derive derive_bessel_j0{"bessel_j0", {
    {0, saves(0), [](Backward& b) { return -(b.grad() * bessel_j1(b.in(0))); }}}};
const Derive derive_bessel_j1{"bessel_j1", {
    {0, saves(0) | saves_output(), [](Backward& b) {
       return b.grad() * (bessel_j0(b.in(0)) - over(b.out(), b.in(0), 0.5));
     }}}};
const Derive derive_bessel_y0{"bessel_y0", {
    {0, saves(0), [](Backward& b) { return -(b.grad() * bessel_y1(b.in(0))); }}}};
const Derive derive_bessel_y1{"bessel_y1", {
    {0, saves(0) | saves_output(), [](Backward& b) {
       return b.grad() * (bessel_y0(b.in(0)) - b.out() / b.in(0));
     }}}};

}  // namespace
}  // namespace relume
