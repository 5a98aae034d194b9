// Elementary functions without branches and calls, so that the compiler can run a loop over
// them on vectors. Right for every input: NaN, infinities, subnormal numbers, both zeros.
//
// Largest errors seen, in units in the last place: float exp, log 1, tanh 1.3, expm1 1.4,
// sigmoid 2.4, erf 1.1, the others 0.55; double exp, log, log1p 1, expm1 1.9, tanh 2.6, sigmoid 2.4.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tensor/kernels/function_table.h"

namespace relume {
namespace RELUME_ISA {
namespace math {

constexpr double kInfinity = __builtin_inf();
constexpr double kNaN = __builtin_nan("");

template <class To, class From>
inline To bits_as(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  std::memcpy(&result, &value, sizeof result);
  return result;
}

template <class T>
inline T clip(T x, T low, T high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

// The value of a polynomial: coefficients from the highest power down.
template <class T>
inline T polynomial(T, T last) {
  return last;
}
template <class T, class... More>
inline T polynomial(T x, T first, T second, More... more) {
  return polynomial(x, first * x + second, more...);
}

// Adding and taking away 1.5 * 2^(mantissa bits) rounds to an integer, which then also
// stands in the low bits of the sum.
constexpr double kRound = 0x1.8p52;
constexpr float kRoundFloat = 0x1.8p23f;

constexpr double kLn2High = 0x1.62e42fefa38p-1;  // its product with an exponent is exact
constexpr double kLn2Low = 0x1.ef35793c7673p-45;
constexpr double kLog2E = 0x1.71547652b82fep0;

// ---- double ----

// x = n * ln 2 + r with |r| <= ln 2 / 2.
struct Reduced {
  double n, r;
};
inline Reduced reduce(double x) {
  const double n = (x * kLog2E + kRound) - kRound;
  return {n, (x - n * kLn2High) - n * kLn2Low};
}

// exp(r) - 1 for |r| <= ln 2 / 2, by its Taylor series.
inline double expm1_near_zero(double r) {
  const double tail = polynomial(
      r, 1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
      1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5);
  return r + r * r * tail;
}

// 2^n for an integer n in [-1022, 1023].
inline double power_of_two(double n) {
  return bits_as<double>(bits_as<uint64_t>(n + (kRound + 1023)) << 52);
}

inline double exp(double x) {
  const double clipped = clip(x, -750.0, 710.0);
  const Reduced part = reduce(clipped);
  // Results near and below the smallest normal number, and near the largest, are made
  // with another exponent and scaled once.
  const bool small = clipped < -708, large = clipped > 709;
  const double shift = small ? 128.0 : large ? -1.0 : 0.0;
  const double rescale = small ? 0x1p-128 : large ? 2.0 : 1.0;
  const double value = 1 + expm1_near_zero(part.r);
  const double result = value * power_of_two(part.n + shift) * rescale;
  return x != x ? x : result;
}

inline double expm1(double x) {
  const double clipped = clip(x, -40.0, 710.0);
  const Reduced part = reduce(clipped);
  const double half_power = power_of_two(part.n - 1);
  const double near_zero = expm1_near_zero(part.r);
  const double result = 2 * (half_power * near_zero + (half_power - 0.5));
  // The sum loses the sign of zero.
  return x != x ? x : __builtin_fabs(x) < 0x1p-54 ? x : result;
}

// x = 2^exponent * (1 + fraction), sqrt(1/2) <= 1 + fraction < sqrt(2), for x > 0.
struct Split {
  double exponent, fraction;
};
inline Split split(double x) {
  const bool subnormal = x < 0x1p-1022;
  const uint64_t bits = bits_as<uint64_t>(subnormal ? x * 0x1p54 : x);
  // Moves the cut between exponents from 1 to sqrt(1/2).
  constexpr uint64_t offset = 0x3ff0000000000000u - 0x3fe6a09e667f3bcdu;
  const uint64_t moved = bits + offset;
  const double mantissa = bits_as<double>((moved & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu);
  const double biased = bits_as<double>((moved >> 52) | 0x4330000000000000u) - 0x1p52;
  return {biased - (subnormal ? 1023.0 + 54 : 1023.0), mantissa - 1};
}

// log(1 + f) - f, by the series of the inverse hyperbolic tangent of f / (2 + f).
inline double log1p_minus_argument(double f) {
  const double s = f / (2 + f), square = s * s;
  const double series =
      square * polynomial(square, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11,
                          2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3);
  return s * (series - f);
}

inline double log_special_cases(double x, double result) {
  result = x == 0 ? -kInfinity : result;
  result = x < 0 ? kNaN : result;
  return x != x || x == kInfinity ? x : result;
}

inline double log(double x) {
  const Split part = split(x);
  const double correction = log1p_minus_argument(part.fraction) + part.exponent * kLn2Low;
  return log_special_cases(x, part.exponent * kLn2High + (part.fraction + correction));
}

inline double log1p(double x) {
  const double sum = 1 + x;
  const Split part = split(sum);
  // What the sum lost to rounding, relative to it.
  const double lost = sum == kInfinity ? 0.0 : (x < 1 ? x - (sum - 1) : 1 - (sum - x)) / sum;
  const double correction = log1p_minus_argument(part.fraction) + (part.exponent * kLn2Low + lost);
  const double result = part.exponent * kLn2High + (part.fraction + correction);
  return __builtin_fabs(x) < 0x1p-54 ? x : log_special_cases(sum, result);
}

// By the exponential of a negative number, which cannot overflow.
inline double sigmoid(double x) {
  const double e = exp(-__builtin_fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

inline double tanh(double x) {
  const double t = expm1(-2 * __builtin_fabs(x));
  return __builtin_copysign(t / (t + 2), x);
}

// ---- float ----

struct ReducedFloat {
  float n, r;
};
inline ReducedFloat reduce(float x) {
  const float n = (x * 1.44269504088896341f + kRoundFloat) - kRoundFloat;
  return {n, (x - n * 0x1.62ep-1f) - n * 0x1.0bfbe8p-15f};
}

// exp(r) - 1 for |r| <= ln 2 / 2.
inline float expm1_near_zero(float r) {
  return r + r * r * polynomial(r, 1.991867906e-04f, 1.394629123e-03f, 8.333263829e-03f,
                                4.166626692e-02f, 1.666666686e-01f, 5.000000079e-01f);
}

// 2^n for an integer n in [-126, 127]; unsigned, so that what NaN becomes overflows harmlessly.
inline float float_power_of_two(uint32_t n) { return bits_as<float>((n + 127) << 23); }

inline float exp(float x) {
  const ReducedFloat part = reduce(clip(x, -104.0f, 89.0f));
  const float value = 1 + expm1_near_zero(part.r);
  // In two steps: subnormal results and infinity come out right.
  const int32_t exponent = static_cast<int32_t>(part.n), half = exponent >> 1;
  const float first = float_power_of_two(half);
  const float second = float_power_of_two(exponent - half);
  return x != x ? x : value * first * second;
}

inline float log(float x) {
  const bool subnormal = x < 0x1p-126f;
  const int32_t bits = bits_as<int32_t>(subnormal ? x * 0x1p23f : x);
  constexpr int32_t root_half = 0x3f3504f3;
  const int32_t moved = static_cast<int32_t>(static_cast<uint32_t>(bits) + (0x3f800000u - root_half));
  const float f = bits_as<float>((moved & 0x007fffff) + root_half) - 1;
  const float exponent =
      static_cast<float>((moved >> 23) - 127) - (subnormal ? 23.0f : 0.0f);
  const float square = f * f;
  float series = polynomial(f, 6.915650350e-02f, -1.179411612e-01f, 1.187506374e-01f, -1.238379492e-01f, 1.421832761e-01f, -1.666927031e-01f, 2.000224223e-01f, -2.499998644e-01f, 3.333331023e-01f);
  series = series * f * square - exponent * 0x1.bd0106p-13f;
  float result = exponent * 0x1.63p-1f + (f + (series - 0.5f * square));
  result = x == 0 ? -static_cast<float>(kInfinity) : result;
  result = x < 0 ? static_cast<float>(kNaN) : result;
  return x != x || x == static_cast<float>(kInfinity) ? x : result;
}

inline float sigmoid(float x) {
  const float e = exp(-__builtin_fabsf(x));
  return (x < 0 ? e : 1) / (1 + e);
}

inline float expm1(float x) {
  const ReducedFloat part = reduce(clip(x, -18.0f, 89.0f));
  const float half_power = float_power_of_two(static_cast<uint32_t>(static_cast<int32_t>(part.n)) - 1);
  const float result = 2 * (half_power * expm1_near_zero(part.r) + (half_power - 0.5f));
  return x != x || __builtin_fabsf(x) < 0x1p-24f ? x : result;
}

// Double has digits to spare for these: one rounding at the end.
inline float log1p(float x) {
  const double wide = x;
  const double near_zero = wide * (1 - wide * (0.5 - wide * (1.0 / 3)));
  return static_cast<float>(__builtin_fabs(wide) < 1e-4 ? near_zero : log(1 + wide));
}

// A polynomial near zero, where the exponential would lose digits.
inline float tanh(float x) {
  const float magnitude = __builtin_fabsf(x), square = x * x;
  const float near_zero =
      x + x * square * polynomial(square, -5.717044512e-03f, 2.065058679e-02f, -5.374349792e-02f, 1.333149128e-01f, -3.333328393e-01f);
  const float far = 1 - 2 / (exp(2 * magnitude) + 1);
  return __builtin_copysignf(magnitude < 0.625f ? near_zero : far, x);
}

// exp in double, as exact as a float needs it.
inline double short_exp(double x) {
  const Reduced part = reduce(clip(x, -200.0, 200.0));
  const double tail = polynomial(part.r, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24,
                                 1.0 / 6, 0.5, 1.0);
  return (1 + part.r * tail) * power_of_two(part.n);
}

inline float cosh(float x) {
  const double e = short_exp(__builtin_fabs(static_cast<double>(x)));
  return x != x ? x : static_cast<float>(0.5 * (e + 1 / e));
}
inline float sinh(float x) {
  const double wide = x, e = short_exp(wide);
  const double near_zero = wide * (1 + wide * wide * (1.0 / 6));
  const double result = __builtin_fabs(wide) < 0.01 ? near_zero : 0.5 * (e - 1 / e);
  return x != x ? x : static_cast<float>(result);
}
inline double cosh(double x) { return __builtin_cosh(x); }
inline double sinh(double x) { return __builtin_sinh(x); }

// Two polynomials, fitted by weighted minimax: of erf(x) / x - 1 in x^2, and beyond 0.85, where erf is
// near 1, of -log(1 - erf(x)) / x in x. From 4 on it is 1.
inline float erf(float x) {
  const float size = clip(__builtin_fabsf(x), 0.0f, 4.0f), square = x * x;
  const float near_zero =
      x + x * polynomial(square, -6.315156029e-04f, 5.051100170e-03f, -2.680255167e-02f, 1.128271753e-01f,
                         -3.761257185e-01f, 1.283791602e-01f);
  const float exponent =
      -size * polynomial(size, 8.214855879e-06f, -2.931340831e-04f, 3.524073398e-03f, -2.351669460e-02f,
                         1.059581141e-01f, 6.353160369e-01f, 1.128608905e+00f);
  const ReducedFloat part = reduce(exponent);
  const float power = float_power_of_two(static_cast<uint32_t>(static_cast<int32_t>(part.n)));
  const float far = (1 - power) - power * expm1_near_zero(part.r);
  return size < 0.85f ? near_zero : __builtin_copysignf(far, x);
}
inline double erf(double x) { return __builtin_erf(x); }

// x = n * pi / 2 + r, exact enough for |x| up to this limit.
constexpr float kTrigonometricLimit = 1e5f;
struct Angle {
  uint64_t quarter;  // n, in its last two bits
  double r;
};
inline Angle reduce_angle(double x) {
  const double shifted = x * 0x1.45f306dc9c883p-1 + kRound;
  const double n = shifted - kRound;
  return {bits_as<uint64_t>(shifted), (x - n * 0x1.921fb54400000p0) - n * 0x1.0b4611a626331p-34};
}
// The sine for even quarters, the cosine for odd ones, with the sign of the second half turn.
inline float sine_in_quarter(uint64_t quarter, double r) {
  const double square = r * r;
  const double sine =
      r * polynomial(square, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6, 1.0);
  const double cosine = polynomial(square, -1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5, 1.0);
  const double value = quarter & 1 ? cosine : sine;
  return static_cast<float>(bits_as<double>(bits_as<uint64_t>(value) ^ (quarter & 2) << 62));
}
inline float sin(float x) {
  const Angle angle = reduce_angle(x);
  return sine_in_quarter(angle.quarter, angle.r);
}
inline float cos(float x) {
  const Angle angle = reduce_angle(x);
  return sine_in_quarter(angle.quarter + 1, angle.r);
}

// The logarithms to other bases, rounded once from double.
inline double log2(double x) { return std::log2(x); }
inline double log10(double x) { return std::log10(x); }
inline float log2(float x) { return static_cast<float>(log(static_cast<double>(x)) * kLog2E); }
inline float log10(float x) {
  return static_cast<float>(log(static_cast<double>(x)) * 0x1.bcb7b1526e50ep-2);
}

}  // namespace math
}  // namespace RELUME_ISA
}  // namespace relume
