// Derivatives of the arithmetic and elementary functions.
#include <cmath>

#include "autograd/derivative.h"

namespace relume {
namespace {

constexpr double kLn2 = 0.69314718055994530942;
constexpr double kLn10 = 2.30258509299404568402;
constexpr double kTwoOverRootPi = 1.12837916709551257390;
constexpr double kDegree = 3.14159265358979323846 / 180;

const OpFunction full_op{"full"};

Tensor pass(Backward& b) { return b.grad(); }
// Steps are flat nearly everywhere.
Tensor flat(Backward& b) { return ops::zeros_like(b.grad()); }

// How much of the gradient of a maximum or minimum goes to `taken`: all where it was chosen,
// half where both are equal.
Tensor share(const Value& taken, const Value& other, const OpFunction& compare) {
  return ops::where(ops::eq(taken, other), 0.5, compare(taken, other));
}

// ---- arithmetic ----

const Derive derive_add{"add", {
    {0, saves_nothing, pass},
    {1, saves_nothing, [](Backward& b) {
       return b.real(2) == 1 ? b.grad() : b.grad() * b.value(2);
     }}}};
const Derive derive_sub{"sub", {
    {0, saves_nothing, pass},
    {1, saves_nothing, [](Backward& b) {
       return b.real(2) == 1 ? -b.grad() : b.grad() * -b.real(2);
     }}}};
const Derive derive_mul{"mul", {
    {0, saves(1), [](Backward& b) { return b.grad() * b.operand(1); }},
    {1, saves(0), [](Backward& b) { return b.grad() * b.operand(0); }}}};
// A rounded quotient is flat nearly everywhere.
const Derive derive_div{"div", {
    {0, saves(1), [](Backward& b) {
       return b.value(2).is_none() ? b.grad() / b.operand(1) : flat(b);
     }},
    {1, saves(1) | saves_output(), [](Backward& b) {
       return b.value(2).is_none() ? -(b.grad() * b.out() / b.in(1)) : flat(b);
     }}}};
const Derive derive_remainder{"remainder", {
    {0, saves_nothing, pass},
    {1, saves(0, 1), [](Backward& b) {
       return -(b.grad() * ops::floor_divide(b.operand(0), b.operand(1)));
     }}}};
const Derive derive_fmod{"fmod", {
    {0, saves_nothing, pass},
    {1, saves(0, 1), [](Backward& b) {
       return -(b.grad() * ops::trunc(ops::div(b.operand(0), b.operand(1))));
     }}}};

// A power of 0 is constant 1, also where the other factor of its derivative is infinite.
Tensor pow_by_base(Backward& b) {
  const Value exponent = b.operand(1);
  if (exponent.is_real_number()) {
    const double power = exponent.as_double();
    if (power == 0) return ops::zeros_like(b.grad());
    if (power == 2) return ops::square_backward(b.grad(), b.in(0));
    return b.grad() * (power * ops::pow(b.in(0), power - 1));
  }
  const Tensor slope = ops::mul(exponent, ops::pow(b.in(0), ops::sub(exponent, 1)));
  return b.grad() * ops::where(ops::eq(exponent, 0), 0, slope);
}
Tensor logarithm(const Value& base, DType dtype) {
  const Tensor number = base.is_tensor() ? Tensor::borrow(base.tensor) : full_op(IntSpan(), base);
  return ops::log(is_complex(dtype) ? ops::to_dtype(number, promote(dtype, number.dtype())) : number);
}
// 0 to a positive power stays 0 when the power changes.
Tensor pow_by_exponent(Backward& b) {
  const Value base = b.operand(0);
  if (base.is_real_number() && (base.as_double() >= 0 || !is_complex(b.dtype(1)))) {
    const double number = base.as_double();
    return number == 0 ? ops::zeros_like(b.grad()) : b.grad() * b.out() * std::log(number);
  }
  const Tensor at_zero = ops::eq(base, 0);
  const Tensor stays = is_complex(b.dtype(1)) ? at_zero : ops::logical_and(at_zero, ops::ge(b.in(1), 0));
  return b.grad() * ops::where(stays, 0, b.out() * logarithm(base, b.dtype(1)));
}
const Derive derive_pow{"pow", {
    {0, saves(0, 1), pow_by_base},
    {1, saves(0, 1) | saves_output(), pow_by_exponent}}};

Tensor squared_radius(Backward& b) {
  return ops::add(ops::mul(b.operand(0), b.operand(0)), ops::mul(b.operand(1), b.operand(1)));
}
const Derive derive_atan2{"atan2", {
    {0, saves(0, 1), [](Backward& b) { return b.grad() * b.operand(1) / squared_radius(b); }},
    {1, saves(0, 1), [](Backward& b) { return -(b.grad() * b.operand(0) / squared_radius(b)); }}}};
const Derive derive_maximum{"maximum", {
    {0, saves(0, 1), [](Backward& b) { return b.grad() * share(b.operand(0), b.operand(1), ops::gt); }},
    {1, saves(0, 1), [](Backward& b) { return b.grad() * share(b.operand(1), b.operand(0), ops::gt); }}}};
const Derive derive_minimum{"minimum", {
    {0, saves(0, 1), [](Backward& b) { return b.grad() * share(b.operand(0), b.operand(1), ops::lt); }},
    {1, saves(0, 1), [](Backward& b) { return b.grad() * share(b.operand(1), b.operand(0), ops::lt); }}}};

const Derive derive_addcmul{"addcmul", {
    {0, saves_nothing, pass},
    {1, saves(2), [](Backward& b) { return b.grad() * b.in(2) * b.value(3); }},
    {2, saves(1), [](Backward& b) { return b.grad() * b.in(1) * b.value(3); }}}};
const Derive derive_addcdiv{"addcdiv", {
    {0, saves_nothing, pass},
    {1, saves(2), [](Backward& b) { return b.grad() / b.in(2) * b.value(3); }},
    {2, saves(1, 2), [](Backward& b) {
       return b.grad() * b.in(1) / ops::square(b.in(2)) * -b.real(3);
     }}}};
const Derive derive_lerp{"lerp", {
    {0, saves(2), [](Backward& b) { return b.grad() - b.grad() * b.operand(2); }},
    {1, saves(2), [](Backward& b) { return b.grad() * b.operand(2); }},
    {2, saves(0, 1), [](Backward& b) { return b.grad() * (b.in(1) - b.in(0)); }}}};
const Derive derive_where{"where", {
    {1, saves(0), [](Backward& b) { return ops::where(b.in(0), b.grad(), 0); }},
    {2, saves(0), [](Backward& b) { return ops::where(b.in(0), 0, b.grad()); }}}};

// ---- elementary functions ----

const Derive derive_neg{"neg", {{0, saves_nothing, [](Backward& b) { return -b.grad(); }}}};
const Derive derive_floor{"floor", {{0, saves_nothing, flat}}};
const Derive derive_ceil{"ceil", {{0, saves_nothing, flat}}};
const Derive derive_round{"round", {{0, saves_nothing, flat}}};
const Derive derive_trunc{"trunc", {{0, saves_nothing, flat}}};
const Derive derive_frac{"frac", {{0, saves_nothing, pass}}};

const Derive derive_square{"square", {
    {0, saves(0), [](Backward& b) { return ops::square_backward(b.grad(), b.in(0)); }}}};
const Derive derive_square_backward{"square_backward", {
    {0, saves(1), [](Backward& b) { return ops::square_backward(b.grad(), b.in(1)); }},
    {1, saves(0), [](Backward& b) { return ops::square_backward(b.grad(), b.in(0)); }}}};
const Derive derive_reciprocal{"reciprocal", {
    {0, saves_output(), [](Backward& b) { return -(b.grad() * ops::square(b.out())); }}}};
const Derive derive_sqrt{"sqrt", {
    {0, saves_output(), [](Backward& b) { return ops::sqrt_backward(b.grad(), b.out()); }}}};
const Derive derive_sqrt_backward{"sqrt_backward", {
    {0, saves(1), [](Backward& b) { return ops::sqrt_backward(b.grad(), b.in(1)); }},
    {1, saves(1) | saves_output(), [](Backward& b) { return -(b.grad() * b.out() / b.in(1)); }}}};
const Derive derive_rsqrt{"rsqrt", {
    {0, saves_output(), [](Backward& b) { return b.grad() * ops::pow(b.out(), 3) * -0.5; }}}};

const Derive derive_exp{"exp", {
    {0, saves_output(), [](Backward& b) { return b.grad() * b.out(); }}}};
const Derive derive_expm1{"expm1", {
    {0, saves_output(), [](Backward& b) { return b.grad() * (b.out() + 1); }}}};
const Derive derive_log{"log", {
    {0, saves(0), [](Backward& b) { return b.grad() / b.in(0); }}}};
const Derive derive_log1p{"log1p", {
    {0, saves(0), [](Backward& b) { return b.grad() / (b.in(0) + 1); }}}};
const Derive derive_log2{"log2", {
    {0, saves(0), [](Backward& b) { return b.grad() / (b.in(0) * kLn2); }}}};
const Derive derive_log10{"log10", {
    {0, saves(0), [](Backward& b) { return b.grad() / (b.in(0) * kLn10); }}}};

const Derive derive_sin{"sin", {
    {0, saves(0), [](Backward& b) { return b.grad() * ops::cos(b.in(0)); }}}};
const Derive derive_cos{"cos", {
    {0, saves(0), [](Backward& b) { return -(b.grad() * ops::sin(b.in(0))); }}}};
const Derive derive_tan{"tan", {
    {0, saves_output(), [](Backward& b) { return b.grad() * (ops::square(b.out()) + 1); }}}};
const Derive derive_asin{"asin", {
    {0, saves(0), [](Backward& b) { return b.grad() * ops::rsqrt(1 - ops::square(b.in(0))); }}}};
const Derive derive_acos{"acos", {
    {0, saves(0), [](Backward& b) { return -(b.grad() * ops::rsqrt(1 - ops::square(b.in(0)))); }}}};
const Derive derive_atan{"atan", {
    {0, saves(0), [](Backward& b) { return b.grad() / (ops::square(b.in(0)) + 1); }}}};
const Derive derive_sinh{"sinh", {
    {0, saves(0), [](Backward& b) { return b.grad() * ops::cosh(b.in(0)); }}}};
const Derive derive_cosh{"cosh", {
    {0, saves(0), [](Backward& b) { return b.grad() * ops::sinh(b.in(0)); }}}};
const Derive derive_erf{"erf", {
    {0, saves(0), [](Backward& b) {
       return b.grad() * ops::exp(-ops::square(b.in(0))) * kTwoOverRootPi;
     }}}};

// At the origin the distance has no slope: a gradient of 0, not of 0 / 0.
template <int argument>
Tensor hypot_backward(Backward& b) {
  const Tensor out = b.out(), zero = ops::eq(out, 0);
  return ops::where(zero, 0, b.grad() * b.in(argument) / ops::where(zero, 1, out));
}
const Derive derive_hypot{"hypot", {
    {0, saves(0) | saves_output(), hypot_backward<0>},
    {1, saves(1) | saves_output(), hypot_backward<1>}}};

const Derive derive_deg2rad{"deg2rad", {
    {0, saves_nothing, [](Backward& b) { return b.grad() * kDegree; }}}};
const Derive derive_rad2deg{"rad2deg", {
    {0, saves_nothing, [](Backward& b) { return b.grad() * (1 / kDegree); }}}};

}  // namespace
}  // namespace relume
