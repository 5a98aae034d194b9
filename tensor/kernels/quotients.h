// Remainders, rounded quotients and angles of pairs of floats, computed in double without
// branches. A remainder is exact while the quotient is short; the C library does the rest.
#pragma once
#include "tensor/kernels/loops.h"
#include "tensor/kernels/math.h"

namespace relume {
namespace RELUME_ISA {

// Quotients from here on (or NaN), and infinite divisors, are left to the library. Below, a
// double neither rounds a quotient of floats to a whole number nor loses a digit of the product
// of its whole part and the divisor.
struct ShortQuotient {
  static bool rare(float a, float b) {
    const double quotient = static_cast<double>(a) / static_cast<double>(b);
    return !(__builtin_fabs(quotient) < 0x1p29) | !(__builtin_fabsf(b) < __builtin_inff());
  }
};

template <class T>
struct QuickFmod : ShortQuotient {
  T operator()(T a, T b) const {
    const double x = a, y = b;
    return static_cast<T>(__builtin_copysign(x - __builtin_trunc(x / y) * y, x));
  }
};
template <class T>
struct QuickRemainder : ShortQuotient {
  T operator()(T a, T b) const {
    const double x = a, y = b;
    const double remainder = x - __builtin_floor(x / y) * y;
    return static_cast<T>(__builtin_copysign(remainder, y));
  }
};
template <class T>
struct QuickFloorDivide : ShortQuotient {
  T operator()(T a, T b) const {
    return static_cast<T>(__builtin_floor(static_cast<double>(a) / static_cast<double>(b)));
  }
};

template <class F>
bool any_rare_pair(const char* left, const char* right, const int64_t* strides, int64_t count) {
  constexpr int64_t size = sizeof(float);
  int found = 0;
  if (strides[1] == size && strides[2] == size) {
    const float* a = reinterpret_cast<const float*>(left);
    const float* b = reinterpret_cast<const float*>(right);
    for (int64_t i = 0; i < count; ++i) found |= F::rare(a[i], b[i]);
  } else if (strides[1] == size && strides[2] == 0) {
    const float* a = reinterpret_cast<const float*>(left);
    const float b = *reinterpret_cast<const float*>(right);
    for (int64_t i = 0; i < count; ++i) found |= F::rare(a[i], b);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      found |= F::rare(element<float>(left, strides[1], i), element<float>(right, strides[2], i));
    }
  }
  return found != 0;
}

// Chunk by chunk: quick where no pair is rare.
template <class Quick, class Library>
void guarded_loop(char* const* data, const int64_t* strides, int64_t count, const void* parameters) {
  char* at[3] = {data[0], data[1], data[2]};
  for (; count > 0; count -= kChunk) {
    const int64_t here = count < kChunk ? count : kChunk;
    if (any_rare_pair<Quick>(at[1], at[2], strides, here)) {
      binary_loop<Library, float, float>(at, strides, here, parameters);
    } else {
      binary_loop<Quick, float, float>(at, strides, here, parameters);
    }
    for (int i = 0; i < 3; ++i) at[i] += here * strides[i];
  }
}

// The angle of the point (x, y): of the smaller by the larger coordinate first, which a
// polynomial in its square gives, then turned into its eighth of the circle.
inline double angle_of(double y, double x) {
  const double high = __builtin_fabs(y), wide = __builtin_fabs(x);
  const double larger = high > wide ? high : wide, smaller = high > wide ? wide : high;
  const double ratio = smaller == larger ? (larger == 0 ? 0.0 : 1.0) : smaller / larger;
  double angle = ratio * math::polynomial(
      ratio * ratio, 0.00041922786011272897, -0.0031954252407363944, 0.011427633277375594,
      -0.02600599597760862, 0.04364658944281667, -0.06022196387937433, 0.07495262378099696,
      -0.09049179093720577, 0.11105306732424464, -0.1428522560816021, 0.19999978336217084,
      -0.3333333295165722, 0.9999999999887381);
  angle = high > wide ? 1.57079632679489661923 - angle : angle;
  angle = __builtin_copysign(1.0, x) < 0 ? 3.14159265358979323846 - angle : angle;
  return x != x || y != y ? x + y : __builtin_copysign(angle, y);
}
template <class T>
struct QuickAtan2 {
  T operator()(T y, T x) const { return static_cast<T>(angle_of(y, x)); }
};

}  // namespace RELUME_ISA
}  // namespace relume
