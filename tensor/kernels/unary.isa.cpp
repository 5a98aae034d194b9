// Functions of one element that need a few instructions.
#include "tensor/kernels/loops.h"

namespace relume {
namespace RELUME_ISA {
namespace {

// Integers wrap around; C++ leaves that to unsigned types.
template <class T>
T wrapping_negate(T x) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(x));
  } else {
    return -x;
  }
}

template <class T>
struct Negate {
  T operator()(T x) const { return wrapping_negate(x); }
};
template <class T>
struct Abs {
  T operator()(T x) const {
    if constexpr (std::is_same_v<T, float>) return __builtin_fabsf(x);
    if constexpr (std::is_same_v<T, double>) return __builtin_fabs(x);
    return x < T(0) ? wrapping_negate(x) : x;
  }
};
template <class T>
struct Sign {
  T operator()(T x) const {
    const T sign = static_cast<T>((x > T(0)) - (x < T(0)));
    return x != x ? x : sign;
  }
};
template <class T>
struct Square {
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(x));
    } else {
      return x * x;
    }
  }
};
template <class T>
struct Reciprocal {
  T operator()(T x) const { return T(1) / x; }
};

inline float square_root(float x) { return __builtin_sqrtf(x); }
inline double square_root(double x) { return __builtin_sqrt(x); }
template <class T>
struct Sqrt {
  T operator()(T x) const { return square_root(x); }
};
template <class T>
struct Rsqrt {
  T operator()(T x) const { return T(1) / square_root(x); }
};

// Rounding leaves integers as they are.
#define RELUME_ROUNDING(Name, builtin)                                   \
  template <class T>                                                     \
  struct Name {                                                          \
    T operator()(T x) const {                                            \
      if constexpr (std::is_same_v<T, float>) return builtin##f(x);      \
      if constexpr (std::is_same_v<T, double>) return builtin(x);        \
      return x;                                                          \
    }                                                                    \
  };
RELUME_ROUNDING(Floor, __builtin_floor)
RELUME_ROUNDING(Ceil, __builtin_ceil)
RELUME_ROUNDING(Round, __builtin_rint)
RELUME_ROUNDING(Trunc, __builtin_trunc)
#undef RELUME_ROUNDING
template <class T>
struct Frac {
  T operator()(T x) const { return x - Trunc<T>()(x); }
};

template <class T>
struct LogicalNot {
  bool operator()(T x) const { return x == T(0); }
};
template <class T>
struct BitwiseNot {
  T operator()(T x) const { return static_cast<T>(~x); }
};
// A bool as the byte that it is: compilers compute on vectors of those.
struct NotOfByte {
  uint8_t operator()(uint8_t x) const { return x ^ 1; }
};
template <class T>
struct IsNan {
  bool operator()(T x) const { return x != x; }
};
template <class T>
struct IsInf {
  bool operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return Abs<T>()(x) == T(__builtin_inf());
    return false;
  }
};
template <class T>
struct IsFinite {
  bool operator()(T x) const { return !IsNan<T>()(x) && !IsInf<T>()(x); }
};

}  // namespace

void add_unary_loops(LoopTable& table) {
  fill<Negate, 1>(table, Function::neg, NumberTypes{});
  fill<Abs, 1>(table, Function::abs, NumberTypes{});
  fill<Sign, 1>(table, Function::sign, NumberTypes{});
  fill<Square, 1>(table, Function::square, NumberTypes{});
  fill<Reciprocal, 1>(table, Function::reciprocal, FloatingTypes{});
  fill<Sqrt, 1>(table, Function::sqrt, FloatingTypes{});
  fill<Rsqrt, 1>(table, Function::rsqrt, FloatingTypes{});
  fill<Floor, 1>(table, Function::floor, NumberTypes{});
  fill<Ceil, 1>(table, Function::ceil, NumberTypes{});
  fill<Round, 1>(table, Function::round, NumberTypes{});
  fill<Trunc, 1>(table, Function::trunc, NumberTypes{});
  fill<Frac, 1>(table, Function::frac, FloatingTypes{});
  fill<LogicalNot, 1, ToBool>(table, Function::logical_not, AllTypes{});
  fill<BitwiseNot, 1>(table, Function::bitwise_not, IntegerTypes{});
  table.loops[static_cast<int>(Function::bitwise_not)][static_cast<int>(DType::boolean)] =
      unary_loop<NotOfByte, uint8_t, uint8_t>;
  fill<IsNan, 1, ToBool>(table, Function::isnan, AllTypes{});
  fill<IsInf, 1, ToBool>(table, Function::isinf, AllTypes{});
  fill<IsFinite, 1, ToBool>(table, Function::isfinite, AllTypes{});
}

}  // namespace RELUME_ISA
}  // namespace relume
