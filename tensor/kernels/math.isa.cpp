// Elementary functions. Those of math.h run on vectors; the others call the C library,
// for each element.
#include "tensor/kernels/float_functions.h"
#include "tensor/kernels/loops.h"

namespace relume {
namespace RELUME_ISA {
namespace {

#define RELUME_OWN(Name, function)                            \
  template <class T>                                          \
  struct Name {                                               \
    T operator()(T x) const { return math::function(x); }     \
  };
RELUME_OWN(Exp, exp)
RELUME_OWN(Expm1, expm1)
RELUME_OWN(Log, log)
RELUME_OWN(Log1p, log1p)
RELUME_OWN(Log2, log2)
RELUME_OWN(Log10, log10)
RELUME_OWN(Tanh, tanh)
RELUME_OWN(Sigmoid, sigmoid)
RELUME_OWN(Sinh, sinh)
RELUME_OWN(Cosh, cosh)
#undef RELUME_OWN

template <class T>
struct Erf {
  T operator()(T x) const {
    if constexpr (std::is_same_v<T, float>) return math::erf(x);
    return math::full_erf(x);
  }
};

#define RELUME_LIBRARY(Name, function)                                     \
  template <class T>                                                       \
  struct Name {                                                            \
    T operator()(T x) const {                                              \
      if constexpr (std::is_same_v<T, float>) return __builtin_##function##f(x); \
      return __builtin_##function(x);                                      \
    }                                                                      \
  };
RELUME_LIBRARY(LibrarySin, sin)
RELUME_LIBRARY(LibraryCos, cos)
RELUME_LIBRARY(LibraryTan, tan)
#undef RELUME_LIBRARY

// Functions of which only that for float is our own.
#define RELUME_OWN_FOR_FLOAT(Name, function)                               \
  template <class T>                                                       \
  struct Name {                                                            \
    T operator()(T x) const {                                              \
      if constexpr (std::is_same_v<T, float>) return math::function(x);    \
      return __builtin_##function(x);                                      \
    }                                                                      \
  };
RELUME_OWN_FOR_FLOAT(Asin, asin)
RELUME_OWN_FOR_FLOAT(Acos, acos)
RELUME_OWN_FOR_FLOAT(Atan, atan)
#undef RELUME_OWN_FOR_FLOAT

// x = n * pi / 2 + r in double, right to the last place for |x| up to kTrigonometricLimit: the first
// two parts of pi / 2 have 33 digits, so that their products with n are exact.
inline math::Angle reduce_exactly(double x) {
  const double shifted = x * 0x1.45f306dc9c883p-1 + math::kRound;
  const double n = shifted - math::kRound;
  const double rest = (x - n * 0x1.921fb54400000p0) - n * 0x1.0b4611a600000p-34;
  return {math::bits_as<uint64_t>(shifted), rest - n * 0x1.3198a2e037073p-69};
}
// As math::sine_in_quarter, by Taylor's series with as many terms as double needs.
inline double full_sine_in_quarter(uint64_t quarter, double r) {
  const double square = r * r;
  const double sine_rest =
      square * math::polynomial(square, 1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800,
                                -1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6);
  const double cosine_rest =
      square * math::polynomial(square, 1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800,
                                1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5);
  const double sine = r == 0 ? r : r + r * sine_rest;  // the sum loses the sign of zero
  const double cosine = 1 + cosine_rest;
  const double value = quarter & 1 ? cosine : sine;
  return math::bits_as<double>(math::bits_as<uint64_t>(value) ^ (quarter & 2) << 62);
}

// Large angles are left to the library.
template <template <class> class Function, template <class> class Library, class T>
struct Trigonometric : Function<T> {
  static bool rare(T x) { return !(__builtin_fabs(static_cast<double>(x)) <= math::kTrigonometricLimit); }
  static T slow(T x) { return Library<T>()(x); }
};
template <class T>
struct OwnSin {
  T operator()(T x) const {
    if constexpr (std::is_same_v<T, float>) return math::sin(x);
    const math::Angle angle = reduce_exactly(x);
    return full_sine_in_quarter(angle.quarter, angle.r);
  }
};
template <class T>
struct OwnCos {
  T operator()(T x) const {
    if constexpr (std::is_same_v<T, float>) return math::cos(x);
    const math::Angle angle = reduce_exactly(x);
    return full_sine_in_quarter(angle.quarter + 1, angle.r);
  }
};
template <class T>
struct OwnTan {
  T operator()(T x) const { return math::tan(x); }
};
template <class T>
struct Sin : Trigonometric<OwnSin, LibrarySin, T> {};
template <class T>
struct Cos : Trigonometric<OwnCos, LibraryCos, T> {};
template <class T>
struct Tan : LibraryTan<T> {};
template <>
struct Tan<float> : Trigonometric<OwnTan, LibraryTan, float> {};

// Loops that only call the C library gain nothing from another instruction set.
using FloatOnly = std::conditional_t<kIsBaseline, FloatingTypes, Types<float>>;

}  // namespace

void add_math_loops(LoopTable& table) {
  fill<Exp, 1>(table, Function::exp, FloatingTypes{});
  fill<Expm1, 1>(table, Function::expm1, FloatingTypes{});
  fill<Log, 1>(table, Function::log, FloatingTypes{});
  fill<Log1p, 1>(table, Function::log1p, FloatingTypes{});
  fill<Log2, 1>(table, Function::log2, FloatingTypes{});
  fill<Log10, 1>(table, Function::log10, FloatingTypes{});
  fill<Tanh, 1>(table, Function::tanh, FloatingTypes{});
  fill<Sigmoid, 1>(table, Function::sigmoid, FloatingTypes{});
  fill<Sin, 1>(table, Function::sin, FloatingTypes{});
  fill<Cos, 1>(table, Function::cos, FloatingTypes{});
  fill<Tan, 1>(table, Function::tan, FloatOnly{});
  fill<Asin, 1>(table, Function::asin, FloatOnly{});
  fill<Acos, 1>(table, Function::acos, FloatOnly{});
  fill<Atan, 1>(table, Function::atan, FloatOnly{});
  fill<Sinh, 1>(table, Function::sinh, FloatOnly{});
  fill<Cosh, 1>(table, Function::cosh, FloatOnly{});
  fill<Erf, 1>(table, Function::erf, FloatingTypes{});
}

}  // namespace RELUME_ISA
}  // namespace relume
