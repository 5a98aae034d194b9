// Special functions for float: in double, with as many digits as a float needs, or in float where
// that is exact enough. Without branches, as in math.h; the polynomials were fitted to SciPy's
// values, by least squares with weights that level the relative error.
#pragma once
#include "tensor/kernels/error_functions.h"

namespace relume {
namespace RELUME_ISA {
namespace math {

// erfc(x) * exp(x^2) for x >= 0.
inline double short_scaled_erfc(double x) {
  const double common = 1 / ((x + 3) * (1 + 2 * x));
  const double t = (x - 3) * (1 + 2 * x) * common;
  const double value = polynomial(
      t, 7.576777109158384e-05, -9.292935519214507e-05, -0.0007223991602090252,
      0.0018759847151852901, 0.0024952768988646228, -0.02376431386820302, 0.06831813943278314,
      -0.11927503438302235, 0.12964385622484542, -0.04756218383425502, -0.13562105782385592,
      1.2530080568333464);
  return value * (x + 3) * common;
}

// Twice the upper tail of a normal distribution with variance 1/2, for x given in double.
inline double short_erfc(double x) {
  const double size = clip(__builtin_fabs(x), 0.0, 20.0);
  const double tail = short_exp(-size * size) * short_scaled_erfc(size);
  return x < 0 ? 2 - tail : tail;
}

// log(x) for normal numbers.
inline double short_log(double x) {
  const Split part = split(x);
  const double s = part.fraction / (2 + part.fraction), square = s * s;
  const double series = polynomial(square, 0.09806011211716159, 0.11086991524485645, 0.14286086223949962,
                                   0.19999997415801854, 0.33333333339889415, 0.999999999999973);
  return part.exponent * (kLn2High + kLn2Low) + 2 * s * series;
}

inline float erfc(float x) { return x != x ? x : static_cast<float>(short_erfc(x)); }

inline float ndtr(float x) {
  return x != x ? x : static_cast<float>(0.5 * short_erfc(-static_cast<double>(x) * kRootHalf));
}

inline float log_ndtr(float x) {
  const double scaled = static_cast<double>(x) * kRootHalf;
  const double below = clip(-scaled, 0.0, 1e30), upper = 0.5 * short_erfc(scaled);
  const double logarithm = short_log(x < -1 ? 0.5 * short_scaled_erfc(below) : 1 - upper);
  const double near_zero = -upper * (1 + upper * (0.5 + upper * (1.0 / 3)));
  const double right = upper < 1e-4 ? near_zero : logarithm;
  return x != x ? x : static_cast<float>(x < -1 ? logarithm - scaled * scaled : right);
}

// The inverse of erf in terms of w = -log(1 - x^2): over x where w is small, otherwise by its root.
inline float erfinv_over_argument(float w) {
  return polynomial(w - 2.5f, -8.791056484e-09f, 2.323264433e-08f, 4.661706641e-07f, -3.462704759e-06f,
                    -4.963347855e-06f, 2.183444394e-04f, -1.252741878e-03f, -4.177386781e-03f,
                    2.466402862e-01f, 1.501409359e+00f);
}
inline float erfinv_by_root(float root) {
  return polynomial(root - 3.15f, -1.602978677e-05f, 3.704234739e-05f, 5.723707748e-06f,
                    -2.360783744e-04f, 9.706642534e-04f, -2.810025083e-03f, 5.439915916e-03f,
                    1.004497745e+00f, 2.983344261e+00f);
}
inline float erfinv_by_large_root(float root) {
  return polynomial(root - 7.175f, -2.248782121e-09f, 1.211119038e-08f, -2.530862161e-08f,
                    2.042953948e-07f, -1.428053148e-06f, 4.958455809e-06f, 1.031360668e-05f,
                    -5.085545341e-04f, 1.008416721e+00f, 7.045508268e+00f);
}

inline float erfinv(float x) {
  const float size = __builtin_fabsf(x);
  const float w = -log((1 - size) * (1 + size));
  const float outer = erfinv_by_root(__builtin_sqrtf(clip(w, 4.0f, 17.0f)));
  const float value = w < 5 ? size * erfinv_over_argument(w) : outer;
  const float infinity = static_cast<float>(kInfinity);
  return size < 1 ? __builtin_copysignf(value, x) : size == 1 ? x * infinity : static_cast<float>(kNaN);
}

inline float ndtri(float p) {
  const float q = 1 - p, w = -log(4 * p * q);
  const float root = __builtin_sqrtf(clip(w, 4.0f, 106.0f));
  const float outer = root < 4.05f ? erfinv_by_root(root) : erfinv_by_large_root(root);
  const float middle = (2 * p - 1) * erfinv_over_argument(clip(w, 0.0f, 5.0f));
  const float value = static_cast<float>(kRootTwo) * (w < 5 ? middle : p < 0.5f ? -outer : outer);
  const float infinity = static_cast<float>(kInfinity);
  const float end = p == 0 ? -infinity : p == 1 ? infinity : static_cast<float>(kNaN);
  return p > 0 && p < 1 ? value : end;
}

inline float exp2(float x) {
  const float clipped = clip(x, -152.0f, 129.0f);
  const float n = (clipped + kRoundFloat) - kRoundFloat;
  const float value = 1 + expm1_near_zero((clipped - n) * 0.693147180559945f);
  // In two steps, as exp.
  const int32_t exponent = static_cast<int32_t>(n), half = exponent >> 1;
  const float first = float_power_of_two(half);
  const float second = float_power_of_two(exponent - half);
  return x != x ? x : value * first * second;
}

// For angles up to kTrigonometricLimit.
inline float tan(float x) {
  const Angle angle = reduce_angle(x);
  const double r = angle.r, square = r * r;
  const double sine = r * polynomial(square, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6, 1.0);
  const double cosine = polynomial(square, -1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5, 1.0);
  const bool odd = angle.quarter & 1;
  return static_cast<float>((odd ? -cosine : sine) / (odd ? sine : cosine));
}

constexpr float kHalfPi = 1.57079637f, kHalfPiRest = -4.37113883e-08f;

// asin(x) for |x| <= 0.55, where `square` is x^2; beyond, by half the angle, which is then below 1/2.
inline float asin_near_zero(float x, float square) {
  return x + x * square * polynomial(square, 5.076638386e-02f, 1.881533475e-02f, 4.661551020e-02f,
                                     7.485760713e-02f, 1.666699581e-01f);
}
// acos(x) for 0.55 <= x <= 1; not a number beyond.
inline float acos_near_one(float x) {
  const float square = 0.5f * (1 - x);
  return 2 * asin_near_zero(__builtin_sqrtf(square), square);
}
inline float asin(float x) {
  const float size = __builtin_fabsf(x);
  const float near_one = kHalfPi - (acos_near_one(size) - kHalfPiRest);
  return size <= 0.55f ? asin_near_zero(x, x * x) : __builtin_copysignf(near_one, x);
}
inline float acos(float x) {
  const float size = __builtin_fabsf(x), outer = acos_near_one(size);
  const float turned = 2 * kHalfPi - (outer - 2 * kHalfPiRest);
  const float middle = kHalfPi - (asin_near_zero(x, x * x) - kHalfPiRest);
  return size <= 0.55f ? middle : x < 0 ? turned : outer;
}
inline float atan(float x) {
  const float size = __builtin_fabsf(x);
  const bool steep = size > 1;
  const float t = steep ? 1 / size : size, square = t * t;
  const float angle =
      t + t * square * polynomial(square, -1.793622798e-03f, 1.091461075e-02f, -3.117785544e-02f, 5.795760349e-02f,
                                  -8.403450927e-02f, 1.095218599e-01f, -1.426424172e-01f, 1.999854829e-01f,
                                  -3.333329909e-01f);
  return __builtin_copysignf(steep ? kHalfPi - (angle - kHalfPiRest) : angle, x);
}

// By the logarithm of |base|; the special cases are those of IEEE 754.
inline float pow(float base, float exponent) {
  const double size = __builtin_fabs(static_cast<double>(base)), wide = exponent;
  const double logarithm = size == 0 ? -kInfinity : size == kInfinity ? kInfinity : short_log(size);
  const double power = short_exp(wide * logarithm);
  const double magnitude = (size == 1) | (exponent == 0) ? 1.0 : power;
  const bool whole = wide == __builtin_floor(wide);
  const bool odd = whole & (0.5 * wide != __builtin_floor(0.5 * wide));
  const uint32_t sign = odd ? bits_as<uint32_t>(base) & 0x80000000u : 0u;
  const float value = bits_as<float>(bits_as<uint32_t>(static_cast<float>(magnitude)) | sign);
  const bool no_number = (!whole & (base < 0) & (size != kInfinity)) | ((base != base) & (exponent != 0));
  return no_number ? static_cast<float>(kNaN) : value;
}

}  // namespace math
}  // namespace RELUME_ISA
}  // namespace relume
