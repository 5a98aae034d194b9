// Arithmetic of two elements. Integers wrap around; dividing one by zero gives 0.
#include "tensor/kernels/float_functions.h"
#include "tensor/kernels/loops.h"

namespace relume {
namespace RELUME_ISA {
namespace {

// Integers are added and multiplied as unsigned numbers, which may overflow.
template <class T>
using Wrapping = std::conditional_t<
    std::is_integral_v<T>, std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>, T>;

template <class T>
struct Add {
  T operator()(T a, T b) const { return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b)); }
};
template <class T>
struct Sub {
  T operator()(T a, T b) const { return static_cast<T>(Wrapping<T>(a) - Wrapping<T>(b)); }
};
template <class T>
struct Mul {
  T operator()(T a, T b) const { return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b)); }
};
template <class T>
struct Div {
  T operator()(T a, T b) const { return a / b; }
};
template <class T>
struct AddScaled {
  T alpha;
  T operator()(T a, T b) const {
    return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(alpha) * Wrapping<T>(b));
  }
};

inline float c_fmod(float a, float b) { return __builtin_fmodf(a, b); }
inline double c_fmod(double a, double b) { return __builtin_fmod(a, b); }

// The remainder of C, with the sign of the dividend.
template <class T>
struct Fmod {
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == T(0) || b == static_cast<T>(-1)) return std::is_signed_v<T> || b == T(0) ? T(0) : a % b;
      return static_cast<T>(a % b);
    } else {
      return c_fmod(a, b);
    }
  }
};
// The remainder of Python, with the sign of the divisor.
template <class T>
struct Remainder {
  T operator()(T a, T b) const {
    const T remainder = Fmod<T>()(a, b);
    if (remainder != T(0)) return (remainder < T(0)) != (b < T(0)) ? remainder + b : remainder;
    if constexpr (std::is_floating_point_v<T>) return static_cast<T>(__builtin_copysign(0.0, b));
    return remainder;
  }
};
// The quotient that goes with Python's remainder.
template <class T>
struct FloorDivide {
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == T(0)) return 0;
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(a));
      const T quotient = static_cast<T>(a / b);
      return (a % b != 0) && ((a < T(0)) != (b < T(0))) ? quotient - 1 : quotient;
    } else {
      if (b == T(0)) return a / b;
      const T remainder = Remainder<T>()(a, b);
      // Exact up to rounding: settle on the nearest integer.
      const T quotient = static_cast<T>(__builtin_rint(static_cast<double>((a - remainder) / b)));
      return quotient == T(0) ? static_cast<T>(__builtin_copysign(0.0, a / b)) : quotient;
    }
  }
};

template <class T>
T integer_power(T base, T exponent) {
  if (exponent < T(0)) {
    const bool odd = exponent & 1;
    return base == T(1) ? T(1) : base == static_cast<T>(-1) ? (odd ? base : T(1)) : T(0);
  }
  Wrapping<T> result = 1, factor = static_cast<Wrapping<T>>(base);
  for (; exponent != 0; exponent = static_cast<T>(exponent >> 1)) {
    if (exponent & 1) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(result);
}
template <class T>
struct Pow {
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) return integer_power(a, b);
    if constexpr (std::is_same_v<T, float>) return math::pow(a, b);
    return static_cast<T>(__builtin_pow(a, b));
  }
};
template <class T>
struct Atan2 {
  T operator()(T a, T b) const {
    if constexpr (std::is_same_v<T, float>) return __builtin_atan2f(a, b);
    return __builtin_atan2(a, b);
  }
};
template <class T>
struct Maximum {
  T operator()(T a, T b) const { return (a > b) | (a != a) ? a : b; }
};
template <class T>
struct Minimum {
  T operator()(T a, T b) const { return (a < b) | (a != a) ? a : b; }
};

using LibraryTypes = std::conditional_t<kIsBaseline, NumberTypes, Types<>>;

template <class T>
struct Cube {
  T operator()(T x) const { return x * x * x; }
};
// One exponent for all is repeated: constants in the loop would keep the compiler from vectors.
inline void repeated_power_loop(char* const* data, const int64_t* strides, int64_t count, const void* parameters) {
  constexpr int64_t kRepeated = 256;
  float exponents[kRepeated];
  for (float& exponent : exponents) exponent = *reinterpret_cast<const float*>(data[2]);
  const int64_t steps[] = {strides[0], strides[1], sizeof(float)};
  for (int64_t i = 0; i < count; i += kRepeated) {
    char* const at[] = {data[0] + i * steps[0], data[1] + i * steps[1], reinterpret_cast<char*>(exponents)};
    binary_loop<Pow<float>, float, float>(at, steps, count - i < kRepeated ? count - i : kRepeated, parameters);
  }
}
template <class T>
void pow_loop(char* const* data, const int64_t* strides, int64_t count, const void* parameters) {
  const bool same = strides[2] == 0;
  if (same && *reinterpret_cast<const T*>(data[2]) == 3) {
    return unary_loop<Cube<T>, T, T>(data, strides, count, parameters);
  }
  if constexpr (std::is_same_v<T, float>) {
    if (same && count >= 8) return repeated_power_loop(data, strides, count, parameters);
  }
  binary_loop<Pow<T>, T, T>(data, strides, count, parameters);
}

using PowTypes = std::conditional_t<kIsBaseline, NumberTypes, Types<float>>;
using LibraryFloats = std::conditional_t<kIsBaseline, FloatingTypes, Types<>>;

}  // namespace

void add_arithmetic_loops(LoopTable& table) {
  fill<Add, 2>(table, Function::add, AllTypes{});
  fill<Sub, 2>(table, Function::sub, NumberTypes{});
  fill<Mul, 2>(table, Function::mul, AllTypes{});
  fill<Div, 2>(table, Function::div, FloatingTypes{});
  fill<AddScaled, 2>(table, Function::add_scaled, NumberTypes{});
  fill<FloorDivide, 2>(table, Function::floor_divide, LibraryTypes{});
  fill<Remainder, 2>(table, Function::remainder, LibraryTypes{});
  fill<Fmod, 2>(table, Function::fmod, LibraryTypes{});
  fill<Pow, 2>(table, Function::pow, PowTypes{});
  table.loops[static_cast<int>(Function::pow)][static_cast<int>(DType::float32)] = pow_loop<float>;
  table.loops[static_cast<int>(Function::pow)][static_cast<int>(DType::float64)] = pow_loop<double>;
  fill<Atan2, 2>(table, Function::atan2, LibraryFloats{});
  fill<Maximum, 2>(table, Function::maximum, AllTypes{});
  fill<Minimum, 2>(table, Function::minimum, AllTypes{});
}

}  // namespace RELUME_ISA
}  // namespace relume
