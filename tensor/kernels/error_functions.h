// The error function and its relatives in double: without branches, as in math.h, and right to
// a few units in the last place. The polynomials were fitted at Chebyshev's points with 50 digits.
#pragma once
#include "tensor/kernels/math.h"

namespace relume {
namespace RELUME_ISA {
namespace math {

constexpr double kRootPi = 1.77245385090551602730;
constexpr double kRootTwo = 1.41421356237309504880;
constexpr double kRootHalf = 0.70710678118654752440;
constexpr double kLogRootTwoPi = 0.91893853320467274178;

// exp(-x^2), the rounding error of the square included; x^2 splits into an exact part and a
// small one.
[[gnu::always_inline]] inline double exp_of_minus_square(double x) {
  const double clipped = clip(x, -28.0, 28.0);
  const double high = static_cast<double>(static_cast<float>(clipped));
  const double rest = (clipped - high) * (clipped + high);
  return exp(-high * high) * (1 - rest * (1 - rest * (0.5 - rest * (1.0 / 6))));
}

// erfc(x) * exp(x^2) for x >= 0.
[[gnu::always_inline]] inline double scaled_erfc(double x) {
  const double finite = clip(x, 0.0, 1e300);
  const double t = (finite - 3.75) / (finite + 3.75);
  const double value = polynomial(
      t, 4.434959070009628e-10, 3.110310719839165e-10, -5.28428697963142e-09,
      -3.743568033634583e-09, 3.8965452548985966e-08, 2.3261913276696566e-08,
      -2.591069687796658e-07, -5.721597255990987e-08, 1.752057970166318e-06,
      -9.735619015182663e-07, -1.1444412439171722e-05, 2.2384240314224437e-05,
      5.1649211390702855e-05, -0.0002901540809795271, 0.0002937136342850081,
      0.0017556258530017257, -0.009746579552504244, 0.028362277418940665, -0.058693398590212366,
      0.09230432116037876, -0.10880393014171785, 0.08227673849014516, 0.003585415485463775,
      -0.14024059858554697, 1.2375126308378275);
  return x > 1e300 ? 0 : value / (1 + 2 * finite);
}

// erf(x) / x for |x| <= 1.
inline double erf_near_zero(double square) {
  return polynomial(square, 5.957176147748911e-11, -1.1372848856791674e-09,
                    1.4659775274047436e-08, -1.6350312701054695e-07, 1.6461000484121368e-06,
                    -1.4925595266831182e-05, 0.0001205533111164271, -0.000854832698083379,
                    0.0052239776248180145, -0.026866170645076792, 0.11283791670954879,
                    -0.3761263890318375, 1.1283791670955126);
}

[[gnu::always_inline]] inline double erfc(double x) {
  const double size = __builtin_fabs(x);
  const double tail = exp_of_minus_square(size) * scaled_erfc(size);
  const double result = x < 0 ? 2 - tail : tail;
  return x != x ? x : size > 28 ? (x < 0 ? 2.0 : 0.0) : result;
}

inline double full_erf(double x) {
  const double size = __builtin_fabs(x);
  const double near_zero = x * erf_near_zero(clip(x * x, 0.0, 1.0));
  const double far = __builtin_copysign(1 - exp_of_minus_square(size) * scaled_erfc(size), x);
  return x != x ? x : size < 1 ? near_zero : far;
}

inline double erfcx(double x) {
  const double right = scaled_erfc(__builtin_fabs(x));
  const double left = x < -26.7 ? kInfinity : 2 / exp_of_minus_square(x) - right;
  return x != x ? x : x < 0 ? left : right;
}

// The x >= 0 with erfc(x) = q and log(q * (2 - q)) = `log_product`, to three digits:
// S. Winitzki, "A handy approximation for the error function and its inverse" (2008).
[[gnu::always_inline]] inline double inverse_erfc_guess(double log_product) {
  constexpr double a = 0.147;
  const double b = 2 / (3.14159265358979323846 * a) + 0.5 * log_product;
  const double c = -log_product / a;
  return __builtin_sqrt(c / (__builtin_sqrt(b * b + c) + b));
}

// A step of Halley's method to the z with erf(z) = size, which is 1 - complement.
[[gnu::always_inline]] inline double erfinv_step(double z, double size, double complement) {
  const double growth = 1 / exp_of_minus_square(z);
  const double near_zero = (z * erf_near_zero(clip(z * z, 0.0, 1.0)) - size) * growth;
  const double far = complement * growth - scaled_erfc(z);
  const double error = 0.5 * kRootPi * (size < 0.5 ? near_zero : far);
  return z - error / (1 + z * error);
}

// Loops and calls would keep the compiler from vectors: steps are written out, here and below.
[[gnu::always_inline]] inline double erfinv(double x) {
  const double size = __builtin_fabs(x), complement = 1 - size;
  const double inside = clip(size, 1e-150, 1 - 0x1p-53);
  double z = inverse_erfc_guess(log1p(-inside * inside));
  z = erfinv_step(z, size, complement);
  z = erfinv_step(z, size, complement);
  z = size < 1e-100 ? 0.5 * kRootPi * size : z;
  z = size == 1 ? kInfinity : size > 1 ? kNaN : z;
  return x != x ? x : __builtin_copysign(z, x);
}

// A step of Newton's method to the z with log(erfc(z)) = log_q.
[[gnu::always_inline]] inline double inverse_erfc_step(double z, double log_q) {
  const double scaled = scaled_erfc(z);
  return z + (log(scaled) - z * z - log_q) * (0.5 * kRootPi) * scaled;
}

// The x >= 0 with erfc(x) = q, for 0 < q <= 1.
[[gnu::always_inline]] inline double inverse_erfc(double q) {
  const double log_q = log(q);
  double z = inverse_erfc_guess(log_q + log1p(1 - q));
  z = inverse_erfc_step(z, log_q);
  z = inverse_erfc_step(z, log_q);
  return inverse_erfc_step(z, log_q);
}

// The distribution function of the standard normal distribution, its logarithm and its inverse.
inline double ndtr(double x) { return 0.5 * erfc(-x * kRootHalf); }

inline double log_ndtr(double x) {
  const double scaled = x * kRootHalf;
  const double left = log(0.5 * scaled_erfc(clip(-scaled, 0.0, 1e300))) - scaled * scaled;
  const double right = log1p(-0.5 * erfc(scaled));
  return x != x ? x : x < -1 ? left : right;
}

inline double ndtri(double p) {
  const double lower = p < 0.5 ? p : 1 - p;
  const double tail = inverse_erfc(clip(2 * lower, 1e-320, 1.0));
  const double outer = p < 0.5 ? -tail : tail;
  double result = kRootTwo * (lower > 0.25 ? erfinv(2 * p - 1) : outer);
  result = p == 0 ? -kInfinity : p == 1 ? kInfinity : result;
  return p >= 0 && p <= 1 ? result : kNaN;
}

}  // namespace math
}  // namespace RELUME_ISA
}  // namespace relume
